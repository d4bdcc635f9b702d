# SPDX-License-Identifier: BSD-3-Clause
"""Resilient backpropagation: only the signs of the gradients count."""

import minitorch as torch
from minitorch.optim.optimizer import GroupOptimizer, _new_step, _real, _to_scalar, _zeros, check_lr

__all__ = ["Rprop"]


class Rprop(GroupOptimizer):
    """Rprop(params, lr=1e-2, etas=(0.5, 1.2), step_sizes=(1e-6, 50), *, capturable=False, foreach=None,
    maximize=False, differentiable=False)"""

    _later_options = {"foreach": None, "maximize": False, "differentiable": False, "capturable": False}

    def __init__(
        self,
        params,
        lr=1e-2,
        etas=(0.5, 1.2),
        step_sizes=(1e-6, 50),
        *,
        capturable=False,
        foreach=None,
        maximize=False,
        differentiable=False,
    ):
        check_lr(lr)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError("Invalid eta values: %s, %s" % (etas[0], etas[1]))
        defaults = {
            "lr": lr,
            "etas": etas,
            "step_sizes": step_sizes,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def _new_state(self, group, param):
        lr = _to_scalar(group["lr"])
        if param.is_complex():
            lr = complex(lr, lr)
        return {
            "step": _new_step(group, param),
            "prev": _zeros(param),
            "step_size": torch.full_like(param.grad, lr),
        }

    def _update(self, group, params, grads, states):
        smaller, larger = group["etas"]
        lowest, highest = group["step_sizes"]
        for param, grad, state in zip(params, grads, states):
            step, previous, size = state["step"], state["prev"], state["step_size"]
            step += 1
            if param.is_complex():
                param, grad, previous, size = _real(param, grad, previous, size)
            factor = grad.mul(previous.clone() if group["differentiable"] else previous).sign()
            factor[factor.gt(0)] = larger
            factor[factor.lt(0)] = smaller
            factor[factor.eq(0)] = 1
            size.mul_(factor).clamp_(lowest, highest)
            grad = grad.clone(memory_format=torch.preserve_format)
            grad[factor.eq(smaller)] = 0
            param.addcmul_(grad.sign(), size, value=-1)
            previous.copy_(grad)
