# SPDX-License-Identifier: BSD-3-Clause
"""RAdam: Adam whose adaptive rate sets in when its variance is known."""

from minitorch.optim.optimizer import (
    GroupOptimizer,
    _new_step,
    _real,
    _to_scalar,
    _zeros,
    check,
    check_betas,
    check_lr,
)

__all__ = ["RAdam"]


class RAdam(GroupOptimizer):
    """RAdam(params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, decoupled_weight_decay=False, *,
    foreach=None, maximize=False, capturable=False, differentiable=False)"""

    _later_options = {
        "foreach": None,
        "maximize": False,
        "differentiable": False,
        "decoupled_weight_decay": False,
        "capturable": False,
    }

    def __init__(
        self,
        params,
        lr=1e-3,
        betas=(0.9, 0.999),
        eps=1e-8,
        weight_decay=0,
        decoupled_weight_decay=False,
        *,
        foreach=None,
        maximize=False,
        capturable=False,
        differentiable=False,
    ):
        check_lr(lr)
        check(epsilon_value=eps)
        check_betas(betas)
        if not 0.0 <= weight_decay:
            raise ValueError("Invalid weight_decay value: %s" % weight_decay)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "decoupled_weight_decay": decoupled_weight_decay,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _new_state(self, group, param):
        return {"step": _new_step(group, param), "exp_avg": _zeros(param), "exp_avg_sq": _zeros(param)}

    def _update(self, group, params, grads, states):
        lr = _to_scalar(group["lr"])
        beta1, beta2 = group["betas"]
        eps, decay = group["eps"], group["weight_decay"]
        limit = 2 / (1 - beta2) - 1
        for param, grad, state in zip(params, grads, states):
            mean, square = state["exp_avg"], state["exp_avg_sq"]
            if param.is_complex():
                param, grad, mean, square = _real(param, grad, mean, square)
            step = state["step"]
            step += 1
            count = step.item()
            if decay != 0:
                if group["decoupled_weight_decay"]:
                    param.mul_(1 - lr * decay)
                else:
                    grad = grad.add(param, alpha=decay)
            mean.lerp_(grad, 1 - beta1)
            square.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
            correction = 1 - beta2**count
            corrected = mean / (1 - beta1**count)
            rho = limit - 2 * count * (beta2**count) / correction
            if rho > 5.0:
                root = square.sqrt()
                root = root.add(eps) if group["differentiable"] else root.add_(eps)
                rectify = ((rho - 4) * (rho - 2) * limit / ((limit - 4) * (limit - 2) * rho)) ** 0.5
                param.add_(corrected * lr * ((correction**0.5) / root) * rectify, alpha=-1.0)
            else:
                param.add_(corrected * lr, alpha=-1.0)
