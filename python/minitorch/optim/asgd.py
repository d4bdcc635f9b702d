# SPDX-License-Identifier: BSD-3-Clause
"""Averaged stochastic gradient descent."""

import minitorch as torch
from minitorch.optim.optimizer import GroupOptimizer, _new_step, _real, _to_scalar, _zeros, check_lr

__all__ = ["ASGD"]


class ASGD(GroupOptimizer):
    """ASGD(params, lr=1e-2, lambd=1e-4, alpha=0.75, t0=1e6, weight_decay=0, foreach=None, maximize=False,
    differentiable=False, capturable=False)"""

    _later_options = {"foreach": None, "maximize": False, "differentiable": False, "capturable": False}

    def __init__(
        self,
        params,
        lr=1e-2,
        lambd=1e-4,
        alpha=0.75,
        t0=1e6,
        weight_decay=0,
        foreach=None,
        maximize=False,
        differentiable=False,
        capturable=False,
    ):
        check_lr(lr)
        if not 0.0 <= weight_decay:
            raise ValueError("Invalid weight_decay value: %s" % weight_decay)
        defaults = {
            "lr": lr,
            "lambd": lambd,
            "alpha": alpha,
            "t0": t0,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def _new_state(self, group, param):
        step = _new_step(group, param)
        rate = torch.as_tensor(_to_scalar(group["lr"]), device=param.device, dtype=step.dtype)
        return {
            "step": step,
            "eta": rate.clone().detach(),
            "mu": torch.ones_like(rate),
            "ax": _zeros(param),
        }

    def _update(self, group, params, grads, states):
        lr = _to_scalar(group["lr"])
        fading, decay = group["lambd"], group["weight_decay"]
        for param, grad, state in zip(params, grads, states):
            mu, mean, eta, step = state["mu"], state["ax"], state["eta"], state["step"]
            if param.is_complex():
                param, grad, mean = _real(param, grad, mean)
            step += 1
            if decay != 0:
                grad = grad.add(param, alpha=decay)
            rate = eta.item()
            param.mul_(1 - fading * rate)
            param.add_(grad, alpha=-rate)
            if mu.item() != 1:
                mean.add_(param.sub(mean).mul_(mu))
            else:
                mean.copy_(param)
            count = step.item()
            eta.copy_(torch.as_tensor(lr / ((1 + fading * lr * count) ** group["alpha"])))
            mu.copy_(torch.as_tensor(1 / max(1, count - group["t0"])))
