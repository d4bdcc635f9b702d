# SPDX-License-Identifier: BSD-3-Clause
"""Stochastic gradient descent."""

import minitorch as torch
from minitorch.optim.optimizer import GroupOptimizer, _to_scalar, check_fused

__all__ = ["SGD"]


class SGD(GroupOptimizer):
    """SGD(params, lr=1e-3, momentum=0, dampening=0, weight_decay=0, nesterov=False, *, maximize=False,
    foreach=None, differentiable=False, fused=None)"""

    _later_options = {
        "nesterov": False,
        "maximize": False,
        "foreach": None,
        "differentiable": False,
        "fused": False,
    }

    def __init__(
        self,
        params,
        lr=1e-3,
        momentum=0,
        dampening=0,
        weight_decay=0,
        nesterov=False,
        *,
        maximize=False,
        foreach=None,
        differentiable=False,
        fused=None,
    ):
        if isinstance(lr, torch.Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        if lr < 0.0:
            raise ValueError("Invalid learning rate: %s" % lr)
        if momentum < 0.0:
            raise ValueError("Invalid momentum value: %s" % momentum)
        if weight_decay < 0.0:
            raise ValueError("Invalid weight_decay value: %s" % weight_decay)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        check_fused(fused, foreach, differentiable)
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "dampening": dampening,
            "weight_decay": weight_decay,
            "nesterov": nesterov,
            "maximize": maximize,
            "foreach": foreach,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)

    def _has_state(self, group):
        return group["momentum"] != 0

    def _new_state(self, group, param):
        return {"momentum_buffer": None}

    def _update(self, group, params, grads, states):
        lr = _to_scalar(group["lr"])
        decay = group["weight_decay"]
        momentum = group["momentum"]
        keep = 1 - group["dampening"]
        nesterov = group["nesterov"]
        learned_lr = isinstance(lr, torch.Tensor) and lr.requires_grad
        for param, grad, state in zip(params, grads, states):
            if decay != 0:
                if isinstance(decay, torch.Tensor) and decay.requires_grad:
                    grad = grad.addcmul_(param.clone(), decay)
                else:
                    grad = grad.add(param, alpha=decay)
            if momentum != 0:
                buffer = state.get("momentum_buffer")
                if buffer is None:
                    buffer = state["momentum_buffer"] = grad.detach().clone()
                else:
                    buffer.mul_(momentum).add_(grad, alpha=keep)
                grad = grad.add(buffer, alpha=momentum) if nesterov else buffer
            if learned_lr:
                param.addcmul_(grad, lr, value=-1)
            else:
                param.add_(grad, alpha=-lr)
