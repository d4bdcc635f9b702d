# SPDX-License-Identifier: BSD-3-Clause
"""Adadelta."""

import minitorch as torch
from minitorch.optim.optimizer import GroupOptimizer, _new_step, _real, _to_scalar, _zeros, check_lr

__all__ = ["Adadelta"]


class Adadelta(GroupOptimizer):
    """Adadelta(params, lr=1.0, rho=0.9, eps=1e-6, weight_decay=0, foreach=None, *, capturable=False,
    maximize=False, differentiable=False)"""

    _later_options = {"foreach": None, "maximize": False, "differentiable": False, "capturable": False}

    def __init__(
        self,
        params,
        lr=1.0,
        rho=0.9,
        eps=1e-6,
        weight_decay=0,
        foreach=None,
        *,
        capturable=False,
        maximize=False,
        differentiable=False,
    ):
        check_lr(lr)
        if not 0.0 <= rho <= 1.0:
            raise ValueError("Invalid rho value: %s" % rho)
        if not 0.0 <= eps:
            raise ValueError("Invalid epsilon value: %s" % eps)
        if not 0.0 <= weight_decay:
            raise ValueError("Invalid weight_decay value: %s" % weight_decay)
        defaults = {
            "lr": lr,
            "rho": rho,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
            "capturable": capturable,
            "foreach": foreach,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _new_state(self, group, param):
        return {
            "step": _new_step(group, param),
            "square_avg": _zeros(param),
            "acc_delta": _zeros(param),
        }

    def _update(self, group, params, grads, states):
        lr = _to_scalar(group["lr"])
        rho, eps, decay = group["rho"], group["eps"], group["weight_decay"]
        for param, grad, state in zip(params, grads, states):
            step = state["step"]
            step += 1
            if decay != 0:
                grad = grad.add(param, alpha=decay)
            square, changes = state["square_avg"], state["acc_delta"]
            is_complex = param.is_complex()
            if is_complex:
                square, changes, grad = _real(square, changes, grad)
            square.mul_(rho).addcmul_(grad, grad, value=1 - rho)
            root = square.add(eps).sqrt_()
            delta = changes.add(eps).sqrt_()
            if group["differentiable"]:
                delta = delta.clone()
            delta.div_(root).mul_(grad)
            changes.mul_(rho).addcmul_(delta, delta, value=1 - rho)
            param.add_(torch.view_as_complex(delta) if is_complex else delta, alpha=-lr)
