# SPDX-License-Identifier: BSD-3-Clause
"""Order, places and sets of elements."""

from collections import namedtuple

import minitorch as torch
from minitorch import Tensor
from minitorch.array_api._dtypes import promote
from minitorch.array_api._elementwise import operands

UniqueAll = namedtuple("UniqueAll", "values indices inverse_indices counts")
UniqueCounts = namedtuple("UniqueCounts", "values counts")
UniqueInverse = namedtuple("UniqueInverse", "values inverse_indices")


def argmax(x, /, *, axis=None, keepdims=False):
    """argmax(x, /, *, axis=None, keepdims=False) -> Tensor: where the largest element is, the first of several."""
    return extreme_place(torch.argmax, x, axis, keepdims)


def argmin(x, /, *, axis=None, keepdims=False):
    """argmin(x, /, *, axis=None, keepdims=False) -> Tensor: where the smallest element is, the first of several."""
    return extreme_place(torch.argmin, x, axis, keepdims)


def extreme_place(function, x, axis, keepdims):
    if axis is None and keepdims:
        return function(x.reshape(-1)).reshape((1,) * x.ndim)
    return function(x, axis, keepdims) if axis is not None else function(x.reshape(-1))


def argsort(x, /, *, axis=-1, descending=False, stable=True):
    """argsort(x, /, *, axis=-1, descending=False, stable=True) -> Tensor: the places of the elements in order."""
    return torch.sort(x, dim=axis, descending=descending, stable=True).indices


def sort(x, /, *, axis=-1, descending=False, stable=True):
    """sort(x, /, *, axis=-1, descending=False, stable=True) -> Tensor: the elements in order."""
    return torch.sort(x, dim=axis, descending=descending, stable=True).values


def count_nonzero(x, /, *, axis=None, keepdims=False):
    """count_nonzero(x, /, *, axis=None, keepdims=False) -> Tensor: how many elements are not zero."""
    axes = tuple(range(x.ndim)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    nonzeros = (x != 0).to(torch.int64)
    return torch.sum(nonzeros, dim=axes, keepdim=keepdims) if axes else nonzeros


def nonzero(x, /):
    """nonzero(x, /) -> tuple of Tensors: the places of elements that are not zero, one array per axis."""
    if x.ndim == 0:
        raise ValueError("nonzero(): an array without dimensions has no places")
    return torch.nonzero(x, as_tuple=True)


def searchsorted(x1, x2, /, *, side="left", sorter=None):
    """searchsorted(x1, x2, /, *, side="left", sorter=None) -> Tensor: where the elements of x2 fit into the ordered x1."""
    if not isinstance(x2, Tensor):
        x2 = torch.tensor(x2, dtype=x1.dtype, device=x1.device)
    dtype = promote(x1.dtype, x2.dtype)
    if sorter is not None:
        sorter = sorter.to(torch.int64)
    return torch.searchsorted(x1.to(dtype), x2.to(dtype).contiguous(), side=side, sorter=sorter)


def where(condition, x1, x2, /):
    """where(condition, x1, x2, /) -> Tensor: elements of x1 where the condition holds, else of x2."""
    if isinstance(x1, Tensor) or isinstance(x2, Tensor):
        x1, x2 = operands("where", x1, x2)
    return torch.where(condition, x1, x2)


def take(x, indices, /, *, axis=None):
    """take(x, indices, /, *, axis) -> Tensor: the slices at these places of an axis."""
    if axis is None:
        if x.ndim != 1:
            raise ValueError("take(): axis must be given for %d dimensions" % x.ndim)
        axis = 0
    if not -x.ndim <= axis < x.ndim:
        raise IndexError("take(): axis %d is out of range for %d dimensions" % (axis, x.ndim))
    return x[(slice(None),) * (axis % x.ndim) + (indices.to(torch.int64),)]


def take_along_axis(x, indices, /, *, axis=-1):
    """take_along_axis(x, indices, /, *, axis=-1) -> Tensor: elements at the places of an axis that an array of places names."""
    axis = axis % x.ndim
    sizes = torch.broadcast_shapes(
        tuple(n for i, n in enumerate(x.shape) if i != axis),
        tuple(n for i, n in enumerate(indices.shape) if i != axis),
    )
    full = tuple(sizes[:axis]) + (x.shape[axis],) + tuple(sizes[axis:])
    places = tuple(sizes[:axis]) + (indices.shape[axis],) + tuple(sizes[axis:])
    indices = indices.to(torch.int64)
    indices = torch.where(indices < 0, indices + x.shape[axis], indices)
    return torch.gather(x.expand(full), axis, indices.expand(places))


def isin(x1, x2, /, *, invert=False):
    """isin(x1, x2, /, *, invert=False) -> Tensor: whether the elements of x1 are among those of x2."""
    x1, x2 = operands("isin", x1, x2)
    out = torch.zeros(x1.shape, dtype=torch.bool, device=x1.device)
    if x2.numel():
        out = (x1.unsqueeze(-1) == x2.reshape(-1)).any(-1)
    return ~out if invert else out


def unique_all(x, /):
    """unique_all(x, /) -> (values, indices, inverse_indices, counts): NaN differ from each other."""
    values, inverse, counts = distinct(x)
    flat = inverse.reshape(-1)
    first = torch.full((values.shape[0],), flat.shape[0], dtype=torch.int64, device=x.device)
    first = first.scatter_reduce(0, flat, torch.arange(flat.shape[0], device=x.device), "amin")
    return UniqueAll(values, first, inverse, counts)


def unique_counts(x, /):
    """unique_counts(x, /) -> (values, counts)."""
    values, _, counts = distinct(x)
    return UniqueCounts(values, counts)


def unique_inverse(x, /):
    """unique_inverse(x, /) -> (values, inverse_indices)."""
    values, inverse, _ = distinct(x)
    return UniqueInverse(values, inverse)


def unique_values(x, /):
    """unique_values(x, /) -> Tensor: the distinct elements."""
    return distinct(x)[0]


def distinct(x):
    """Values, places of the elements in them, counts; of complex numbers by a pair of real keys."""
    if not x.dtype.is_complex:
        return torch.unique(x, return_inverse=True, return_counts=True)
    flat = x.reshape(-1)
    order = torch.sort(flat.imag, stable=True).indices
    order = order[torch.sort(flat.real[order], stable=True).indices]
    ordered = flat[order]
    fresh = torch.ones(flat.shape, dtype=torch.bool, device=x.device)
    fresh[1:] = ordered[1:] != ordered[:-1]
    group = torch.cumsum(fresh, 0) - 1
    inverse = torch.empty_like(group)
    inverse[order] = group
    return ordered[fresh], inverse.reshape(x.shape), torch.bincount(group, minlength=int(fresh.sum()))


__all__ = [name for name in dir() if not name.startswith("_") and name not in ("torch", "result_type")]
