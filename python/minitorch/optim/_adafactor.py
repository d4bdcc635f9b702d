# SPDX-License-Identifier: BSD-3-Clause
"""Adafactor."""

import minitorch as torch
from minitorch.optim.optimizer import GroupOptimizer, _new_step, _to_scalar

__all__ = ["Adafactor"]


class Adafactor(GroupOptimizer):
    """Adafactor(params, lr=1e-2, beta2_decay=-0.8, eps=(None, 1e-3), d=1.0, weight_decay=0.0, *,
    foreach=None, maximize=False)

    Keeps row and column means of the squared gradients of matrices instead of all of them.
    """

    _later_options = {"foreach": None}

    def __init__(
        self,
        params,
        lr=1e-2,
        beta2_decay=-0.8,
        eps=(None, 1e-3),
        d=1.0,
        weight_decay=0.0,
        *,
        foreach=None,
        maximize=False,
    ):
        if isinstance(lr, torch.Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        for fine, text in (
            (0.0 <= lr, "Learning rate should be >= 0 but is: %s" % (lr,)),
            (0.0 >= beta2_decay, "beta2_decay should be <= 0 but is: %s" % beta2_decay),
            (eps[0] is None or 0.0 <= eps[0], "epsilon1 should be >= 0 but is: %s" % eps[0]),
            (0.0 <= eps[1], "epsilon2 should be >= 0 but is: %s" % eps[1]),
            (1.0 <= d, "Clipping threshold d should be >= 1 but is: %s" % d),
            (0.0 <= weight_decay, "weight_decay should be >= 0 but is: %s" % weight_decay),
        ):
            if not fine:
                raise ValueError(text)
        defaults = {
            "lr": lr,
            "beta2_decay": beta2_decay,
            "eps": eps,
            "d": d,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
        }
        super().__init__(params, defaults)

    def _new_state(self, group, param):
        if param.is_complex():
            raise RuntimeError("Adafactor does not support complex parameters")
        grad, state = param.grad, {"step": _new_step(group, param)}
        if grad.dim() > 1:
            state["row_var"] = grad.new_zeros(*grad.shape[:-1], 1)
            state["col_var"] = grad.new_zeros(*grad.shape[:-2], 1, grad.shape[-1])
        else:
            state["variance"] = torch.zeros_like(grad, memory_format=torch.preserve_format)
        return state

    def _update(self, group, params, grads, states):
        lr = _to_scalar(group["lr"])
        eps1, eps2 = group["eps"]
        for param, grad, state in zip(params, grads, states):
            if eps1 is None:
                eps1 = torch.finfo(param.dtype).eps
            state["step"] += 1
            step = state["step"].item()
            share = step ** group["beta2_decay"]
            size = max(eps2, param.norm(2).item() / param.numel() ** 0.5) * min(lr, 1 / step**0.5)
            if group["weight_decay"] != 0:
                param.mul_(1 - lr * group["weight_decay"])
            if grad.dim() > 1:
                row, column = state["row_var"], state["col_var"]
                for kept, dim in ((row, -1), (column, -2)):
                    mean = torch.norm(grad, dim=dim, keepdim=True).square_().div_(grad.size(dim))
                    kept.lerp_(mean, share)
                estimate = row @ column
                estimate.div_(row.mean(dim=-2, keepdim=True).clamp_(min=eps1))
            else:
                estimate = state["variance"].lerp_(grad * grad, share).clone()
            update = estimate.clamp_(min=eps1 * eps1).rsqrt_().mul_(grad)
            excess = max(1.0, update.norm(2).item() / (update.numel() ** 0.5 * group["d"]))
            param.add_(update, alpha=-size / excess)
