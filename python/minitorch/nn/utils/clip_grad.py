# SPDX-License-Identifier: BSD-3-Clause
"""Limiting the size of gradients."""

import types
import warnings

import minitorch as torch

__all__ = ["clip_grad_norm", "clip_grad_norm_", "clip_grad_value_"]


def _listed(tensors):
    return [tensors] if isinstance(tensors, torch.Tensor) else list(tensors)


def _get_total_norm(tensors, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """The norm of all tensors together, as if they were one vector."""
    tensors = _listed(tensors)
    norm_type = float(norm_type)
    if not tensors:
        return torch.tensor(0.0)
    with torch.no_grad():
        norms = [torch.linalg.vector_norm(tensor, norm_type) for tensor in tensors]
        device = tensors[0].device
        total = torch.linalg.vector_norm(torch.stack([norm.to(device) for norm in norms]), norm_type)
        if error_if_nonfinite and (total.isnan() or total.isinf()):
            raise RuntimeError(
                "The total norm of order %s for gradients from `parameters` is non-finite, so it cannot be "
                "clipped. To disable this error and scale the gradients by the non-finite norm anyway, set "
                "`error_if_nonfinite=False`" % norm_type
            )
    return total


def _clip_grads_with_norm_(parameters, max_norm, total_norm, foreach=None):
    """Scales the gradients by max_norm / total_norm where that is below 1."""
    grads = [param.grad for param in _listed(parameters) if param.grad is not None]
    if not grads:
        return
    with torch.no_grad():
        factor = torch.clamp(float(max_norm) / (total_norm + 1e-6), max=1.0)
        for grad in grads:
            grad.mul_(factor.to(grad.device))


def clip_grad_norm_(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """clip_grad_norm_(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False, foreach=None) -> Tensor

    Scales the gradients so that their norm together is at most `max_norm`; returns the norm they had.
    """
    listed = _listed(parameters)
    if not listed and isinstance(parameters, types.GeneratorType):
        warnings.warn("`parameters` is an empty generator, no gradient clipping will occur.", stacklevel=2)
    grads = [param.grad for param in listed if param.grad is not None]
    total = _get_total_norm(grads, norm_type, error_if_nonfinite, foreach)
    _clip_grads_with_norm_(listed, max_norm, total, foreach)
    return total


def clip_grad_norm(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """The old name of clip_grad_norm_."""
    warnings.warn(
        "`torch.nn.utils.clip_grad_norm` is now deprecated in favor of `torch.nn.utils.clip_grad_norm_`.",
        FutureWarning,
        stacklevel=2,
    )
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)


def clip_grad_value_(parameters, clip_value, foreach=None):
    """clip_grad_value_(parameters, clip_value, foreach=None)

    Limits every element of the gradients to [-clip_value, clip_value].
    """
    clip_value = float(clip_value)
    with torch.no_grad():
        for param in _listed(parameters):
            if param.grad is not None:
                param.grad.clamp_(min=-clip_value, max=clip_value)
