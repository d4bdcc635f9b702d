# SPDX-License-Identifier: BSD-3-Clause
"""Reductions and running reductions."""

import minitorch as torch


def axes_of(x, axis):
    """The axes as a tuple; None is all of them."""
    if axis is None:
        return tuple(range(x.ndim))
    return axis if isinstance(axis, tuple) else (axis,)


def sum_dtype(x, dtype):
    """The dtype of sums: integers get the width of the default integer."""
    if dtype is not None:
        return dtype
    return x.dtype if x.dtype.is_floating_point or x.dtype.is_complex else torch.int64


def sum(x, /, *, axis=None, dtype=None, keepdims=False):
    """sum(x, /, *, axis=None, dtype=None, keepdims=False) -> Tensor: sums along axes."""
    axes, dtype = axes_of(x, axis), sum_dtype(x, dtype)
    return torch.sum(x, dim=axes, keepdim=keepdims, dtype=dtype) if axes else x.to(dtype, copy=True)


def prod(x, /, *, axis=None, dtype=None, keepdims=False):
    """prod(x, /, *, axis=None, dtype=None, keepdims=False) -> Tensor: products along axes."""
    x = x.to(sum_dtype(x, dtype), copy=True)
    for a in sorted((a % x.ndim for a in axes_of(x, axis)), reverse=True):
        x = torch.prod(x, dim=a, keepdim=keepdims, dtype=x.dtype)
    return x


def mean(x, /, *, axis=None, keepdims=False):
    """mean(x, /, *, axis=None, keepdims=False) -> Tensor: means along axes."""
    axes = axes_of(x, axis)
    return torch.mean(x, dim=axes, keepdim=keepdims) if axes else x.clone()


def max(x, /, *, axis=None, keepdims=False):
    """max(x, /, *, axis=None, keepdims=False) -> Tensor: the largest elements along axes."""
    axes = axes_of(x, axis)
    return torch.amax(x, axes, keepdims) if axes else x.clone()


def min(x, /, *, axis=None, keepdims=False):
    """min(x, /, *, axis=None, keepdims=False) -> Tensor: the smallest elements along axes."""
    axes = axes_of(x, axis)
    return torch.amin(x, axes, keepdims) if axes else x.clone()


def var(x, /, *, axis=None, correction=0.0, keepdims=False):
    """var(x, /, *, axis=None, correction=0.0, keepdims=False) -> Tensor: variances along axes, divided by n - correction."""
    axes = axes_of(x, axis)
    if not axes:
        return x - x if correction < 1 else torch.full_like(x, float("nan"))
    return torch.var(x, dim=axes, correction=correction, keepdim=keepdims)


def std(x, /, *, axis=None, correction=0.0, keepdims=False):
    """std(x, /, *, axis=None, correction=0.0, keepdims=False) -> Tensor: standard deviations along axes."""
    return torch.sqrt(var(x, axis=axis, correction=correction, keepdims=keepdims))


def all(x, /, *, axis=None, keepdims=False):
    """all(x, /, *, axis=None, keepdims=False) -> Tensor: whether all elements along axes are true."""
    return truth(torch.all, x, axis, keepdims)


def any(x, /, *, axis=None, keepdims=False):
    """any(x, /, *, axis=None, keepdims=False) -> Tensor: whether an element along axes is true."""
    return truth(torch.any, x, axis, keepdims)


def truth(function, x, axis, keepdims):
    axes, bools = axes_of(x, axis), x.to(torch.bool)
    return function(bools, dim=axes, keepdim=keepdims) if axes else bools.clone()


def cumulative_sum(x, /, *, axis=None, dtype=None, include_initial=False):
    """cumulative_sum(x, /, *, axis=None, dtype=None, include_initial=False) -> Tensor: running sums along an axis."""
    return running(torch.cumsum, 0, x, axis, dtype, include_initial)


def cumulative_prod(x, /, *, axis=None, dtype=None, include_initial=False):
    """cumulative_prod(x, /, *, axis=None, dtype=None, include_initial=False) -> Tensor: running products along an axis."""
    return running(torch.cumprod, 1, x, axis, dtype, include_initial)


def running(function, start, x, axis, dtype, include_initial):
    if axis is None:
        if x.ndim > 1:
            raise ValueError("axis must be given for %d dimensions" % x.ndim)
        x, axis = x.reshape(-1), 0
    out = function(x, axis, dtype=sum_dtype(x, dtype))
    if not include_initial:
        return out
    shape = list(out.shape)
    shape[axis] = 1
    return torch.cat([torch.full(shape, start, dtype=out.dtype, device=out.device), out], axis)


def diff(x, /, *, axis=-1, n=1, prepend=None, append=None):
    """diff(x, /, *, axis=-1, n=1, prepend=None, append=None) -> Tensor: differences of neighbours, n times."""
    parts = [p for p in (prepend, x, append) if p is not None]
    if len(parts) > 1:
        x = torch.cat(parts, axis)
    for _ in range(n):
        length = x.shape[axis]
        high, low = (
            x.narrow(axis, 1 if length else 0, length - 1 if length else 0),
            x.narrow(axis, 0, length - 1 if length else 0),
        )
        x = high ^ low if x.dtype == torch.bool else high - low
    return x
