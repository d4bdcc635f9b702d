# SPDX-License-Identifier: BSD-3-Clause
"""Muon: momentum made orthogonal, for matrices."""

import math

import minitorch as torch
from minitorch.optim.optimizer import GroupOptimizer, _to_scalar

__all__ = ["Muon"]


def _orthogonalized(matrix, coefficients, steps, eps):
    """A matrix with the same singular vectors and singular values near 1, by Newton-Schulz iteration."""
    if steps >= 100:
        raise ValueError("Number of steps must be less than 100 for computational efficiency")
    if len(matrix.shape) != 2:
        raise ValueError("Input tensor gradient must be a 2D matrix")
    if len(coefficients) != 3:
        raise ValueError("Coefficients must be a tuple of exactly 3 values")
    a, b, c = coefficients
    tall = matrix.size(0) > matrix.size(1)
    x = matrix.bfloat16()
    x = x.T if tall else x
    x.div_(x.norm().clamp(min=eps))
    for _ in range(steps):
        gram = x @ x.T
        x = torch.addmm(x, torch.addmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x.T if tall else x


def _adjusted(lr, how, shape):
    rows, columns = shape[:2]
    if how == "match_rms_adamw":
        return lr * 0.2 * math.sqrt(max(rows, columns))
    return lr * math.sqrt(max(1, rows / columns))


class Muon(GroupOptimizer):
    """Muon(params, lr=1e-3, weight_decay=0.1, momentum=0.95, nesterov=True, ns_coefficients=(3.4445, -4.775,
    2.0315), eps=1e-7, ns_steps=5, adjust_lr_fn=None)

    For matrices only; other parameters go to another optimizer.
    """

    _later_options = {}

    def __init__(
        self,
        params,
        lr=1e-3,
        weight_decay=0.1,
        momentum=0.95,
        nesterov=True,
        ns_coefficients=(3.4445, -4.7750, 2.0315),
        eps=1e-7,
        ns_steps=5,
        adjust_lr_fn=None,
    ):
        if isinstance(lr, torch.Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        for word, value in (("Learning rate", lr), ("momentum", momentum), ("weight decay", weight_decay)):
            if not 0.0 <= value:
                raise ValueError("%s should be >= 0 but is: %s" % (word, value))
        if adjust_lr_fn not in (None, "original", "match_rms_adamw"):
            raise ValueError("Adjust learning rate function %s is not supported" % adjust_lr_fn)
        defaults = {
            "lr": lr,
            "weight_decay": weight_decay,
            "momentum": momentum,
            "nesterov": nesterov,
            "ns_coefficients": ns_coefficients,
            "eps": eps,
            "ns_steps": ns_steps,
            "adjust_lr_fn": adjust_lr_fn,
        }
        super().__init__(params, defaults)
        for group in self.param_groups:
            for p in group["params"]:
                if p.ndim != 2:
                    raise ValueError(
                        "Muon only supports 2D parameters whereas we found a parameter with size: %s"
                        % (p.size(),)
                    )

    def _new_state(self, group, param):
        if param.is_complex():
            raise RuntimeError("Muon does not support complex parameters")
        return {"momentum_buffer": torch.zeros_like(param.grad, memory_format=torch.preserve_format)}

    def _update(self, group, params, grads, states):
        lr, momentum = _to_scalar(group["lr"]), group["momentum"]
        for param, grad, state in zip(params, grads, states):
            kept = state["momentum_buffer"].lerp_(grad, 1 - momentum)
            update = grad.lerp(kept, momentum) if group["nesterov"] else kept
            update = _orthogonalized(update, group["ns_coefficients"], group["ns_steps"], group["eps"])
            param.mul_(1 - lr * group["weight_decay"])
            param.add_(update, alpha=-_adjusted(lr, group["adjust_lr_fn"], param.shape))
