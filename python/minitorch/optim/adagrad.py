# SPDX-License-Identifier: BSD-3-Clause
"""Adagrad."""

import minitorch as torch
from minitorch.optim.optimizer import GroupOptimizer, _new_step, _real, _to_scalar, check_fused, check_lr

__all__ = ["Adagrad"]


class Adagrad(GroupOptimizer):
    """Adagrad(params, lr=1e-2, lr_decay=0, weight_decay=0, initial_accumulator_value=0, eps=1e-10,
    foreach=None, *, maximize=False, differentiable=False, fused=None)"""

    _later_options = {"foreach": None, "maximize": False, "differentiable": False, "fused": None}

    def __init__(
        self,
        params,
        lr=1e-2,
        lr_decay=0,
        weight_decay=0,
        initial_accumulator_value=0,
        eps=1e-10,
        foreach=None,
        *,
        maximize=False,
        differentiable=False,
        fused=None,
    ):
        check_lr(lr)
        for word, value in (
            ("lr_decay", lr_decay),
            ("weight_decay", weight_decay),
            ("initial_accumulator_value", initial_accumulator_value),
            ("epsilon", eps),
        ):
            if not 0.0 <= value:
                raise ValueError("Invalid %s value: %s" % (word, value))
        check_fused(fused, foreach, differentiable)
        defaults = {
            "lr": lr,
            "lr_decay": lr_decay,
            "eps": eps,
            "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)
        for group in self.param_groups:
            for param in group["params"]:
                self.state[param].update(self._new_state(group, param))

    def _new_state(self, group, param):
        start = self.defaults["initial_accumulator_value"]
        if param.is_complex():
            start = complex(start, start)
        total = torch.full_like(param, start, memory_format=torch.preserve_format)
        return {"step": _new_step(group, param), "sum": total}

    def share_memory(self):
        """Moves the sums to shared memory."""
        for group in self.param_groups:
            for param in group["params"]:
                self.state[param]["sum"].share_memory_()

    def _update(self, group, params, grads, states):
        lr = _to_scalar(group["lr"])
        eps, decay = group["eps"], group["weight_decay"]
        for param, grad, state in zip(params, grads, states):
            step = state["step"]
            step += 1
            if decay != 0:
                grad = grad.add(param, alpha=decay)
            rate = lr / (1 + (step.item() - 1) * group["lr_decay"])
            total = state["sum"]
            if param.is_complex():
                param, grad, total = _real(param, grad, total)
            total.addcmul_(grad, grad, value=1)
            root = total.sqrt() + eps if group["differentiable"] else total.sqrt().add_(eps)
            param.addcdiv_(grad, root, value=-rate)
