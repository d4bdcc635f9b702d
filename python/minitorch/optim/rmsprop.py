# SPDX-License-Identifier: BSD-3-Clause
"""RMSprop."""

from minitorch.optim.optimizer import GroupOptimizer, _new_step, _real, _to_scalar, _zeros, check_lr

__all__ = ["RMSprop"]


class RMSprop(GroupOptimizer):
    """RMSprop(params, lr=1e-2, alpha=0.99, eps=1e-8, weight_decay=0, momentum=0, centered=False,
    capturable=False, foreach=None, maximize=False, differentiable=False)"""

    _later_options = {
        "momentum": 0,
        "centered": False,
        "foreach": None,
        "maximize": False,
        "differentiable": False,
        "capturable": False,
    }

    def __init__(
        self,
        params,
        lr=1e-2,
        alpha=0.99,
        eps=1e-8,
        weight_decay=0,
        momentum=0,
        centered=False,
        capturable=False,
        foreach=None,
        maximize=False,
        differentiable=False,
    ):
        check_lr(lr)
        for word, value in (
            ("epsilon", eps),
            ("momentum", momentum),
            ("weight_decay", weight_decay),
            ("alpha", alpha),
        ):
            if not 0.0 <= value:
                raise ValueError("Invalid %s value: %s" % (word, value))
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "alpha": alpha,
            "eps": eps,
            "centered": centered,
            "weight_decay": weight_decay,
            "capturable": capturable,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _new_state(self, group, param):
        state = {"step": _new_step(group, param), "square_avg": _zeros(param)}
        if group["momentum"] > 0:
            state["momentum_buffer"] = _zeros(param)
        if group["centered"]:
            state["grad_avg"] = _zeros(param)
        return state

    def _update(self, group, params, grads, states):
        lr = _to_scalar(group["lr"])
        alpha, eps = group["alpha"], group["eps"]
        decay, momentum = group["weight_decay"], group["momentum"]
        for param, grad, state in zip(params, grads, states):
            step = state["step"]
            step += 1
            if decay != 0:
                grad = grad.add(param, alpha=decay)
            square = state["square_avg"]
            mean = state["grad_avg"] if group["centered"] else None
            buffer = state["momentum_buffer"] if momentum > 0 else None
            if param.is_complex():
                param, grad, square = _real(param, grad, square)
                mean = None if mean is None else _real(mean)[0]
                buffer = None if buffer is None else _real(buffer)[0]
            square.mul_(alpha).addcmul_(grad, grad, value=1 - alpha)
            if mean is not None:
                mean.lerp_(grad, 1 - alpha)
                root = square.addcmul(mean, mean, value=-1).sqrt_()
            else:
                root = square.sqrt()
            root = root.add(eps) if group["differentiable"] else root.add_(eps)
            if buffer is not None:
                buffer.mul_(momentum).addcdiv_(grad, root)
                param.add_(buffer, alpha=-lr)
            else:
                param.addcdiv_(grad, root, value=-lr)
