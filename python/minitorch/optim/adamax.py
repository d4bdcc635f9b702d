# SPDX-License-Identifier: BSD-3-Clause
"""Adamax: Adam with the infinity norm."""

import minitorch as torch
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

__all__ = ["Adamax"]


class Adamax(GroupOptimizer):
    """Adamax(params, lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, foreach=None, *, maximize=False,
    differentiable=False, capturable=False)"""

    _later_options = {"foreach": None, "maximize": False, "differentiable": False, "capturable": False}

    def __init__(
        self,
        params,
        lr=2e-3,
        betas=(0.9, 0.999),
        eps=1e-8,
        weight_decay=0,
        foreach=None,
        *,
        maximize=False,
        differentiable=False,
        capturable=False,
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
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def _new_state(self, group, param):
        return {"step": _new_step(group, param), "exp_avg": _zeros(param), "exp_inf": _zeros(param)}

    def _update(self, group, params, grads, states):
        lr = _to_scalar(group["lr"])
        beta1, beta2 = group["betas"]
        eps, decay = group["eps"], group["weight_decay"]
        for param, grad, state in zip(params, grads, states):
            step = state["step"]
            step += 1
            if decay != 0:
                grad = grad.add(param, alpha=decay)
            mean, largest = state["exp_avg"], state["exp_inf"]
            if param.is_complex():
                param, grad, mean, largest = _real(param, grad, mean, largest)
            mean.lerp_(grad, 1 - beta1)
            if group["differentiable"]:
                pair = [largest.mul_(beta2).unsqueeze(0), grad.abs().add_(eps).unsqueeze_(0)]
                largest.copy_(torch.amax(torch.cat(pair, 0), 0, keepdim=False))
            else:
                torch.maximum(largest.mul_(beta2), grad.abs().add_(eps), out=largest)
            rate = lr / (1 - beta1 ** step.item())
            param.addcdiv_(mean, largest, value=-rate)
