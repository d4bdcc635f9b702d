# SPDX-License-Identifier: BSD-3-Clause
"""Shapes and order of elements."""

import minitorch as torch
from minitorch import Tensor
from minitorch.array_api._dtypes import result_type


def axis_of(axis, ndim, name):
    if not -ndim <= axis < ndim:
        raise IndexError("%s(): axis %d is out of range for %d dimensions" % (name, axis, ndim))
    return axis % ndim


def broadcast_shapes(*shapes):
    """broadcast_shapes(*shapes) -> tuple: the shape that arrays of these shapes broadcast to; ValueError where there is none."""
    for shape in shapes:
        for size in shape:
            if not isinstance(size, (int, type(None))):
                raise TypeError("broadcast_shapes(): a size is an int, not %s" % type(size).__name__)
    ndim = max((len(s) for s in shapes), default=0)
    out = []
    for i in range(1, ndim + 1):
        sizes = [s[-i] for s in shapes if len(s) >= i]
        known = {n for n in sizes if n is not None and n != 1}
        if len(known) > 1:
            raise ValueError("shapes %s cannot be broadcast together" % ", ".join(map(str, shapes)))
        out.append(known.pop() if known else None if None in sizes else 1)
    return tuple(reversed(out))


def broadcast_to(x, /, shape):
    """broadcast_to(x, /, shape) -> Tensor: x expanded to a shape."""
    return torch.broadcast_to(x, shape)


def broadcast_arrays(*arrays):
    """broadcast_arrays(*arrays) -> tuple of Tensors: expanded to their common shape."""
    shape = broadcast_shapes(*(tuple(a.shape) for a in arrays))
    return tuple(torch.broadcast_to(a, shape) for a in arrays)


def concat(arrays, /, *, axis=0):
    """concat(arrays, /, *, axis=0) -> Tensor: arrays joined along an axis; axis=None flattens them first."""
    dtype = result_type(*arrays)
    arrays = [a.to(dtype) for a in arrays]
    if axis is None:
        arrays, axis = [a.reshape(-1) for a in arrays], 0
    return torch.cat(arrays, axis_of(axis, arrays[0].ndim, "concat"))


def stack(arrays, /, *, axis=0):
    """stack(arrays, /, *, axis=0) -> Tensor: arrays joined along a new axis."""
    dtype = result_type(*arrays)
    return torch.stack([a.to(dtype) for a in arrays], axis)


def unstack(x, /, *, axis=0):
    """unstack(x, /, *, axis=0) -> tuple of Tensors: the slices along an axis."""
    return torch.unbind(x, axis_of(axis, x.ndim, "unstack"))


def expand_dims(x, /, axis=0):
    """expand_dims(x, /, axis=0) -> Tensor: with axes of size 1 at these places of the result."""
    axes = axis if isinstance(axis, tuple) else (axis,)
    ndim = x.ndim + len(axes)
    places = sorted(axis_of(a, ndim, "expand_dims") for a in axes)
    if len(set(places)) != len(places):
        raise ValueError("expand_dims(): an axis is given twice")
    for place in places:
        x = x.unsqueeze(place)
    return x


def squeeze(x, /, axis=None):
    """squeeze(x, /, axis) -> Tensor: without these axes, which are of size 1."""
    if axis is None:
        return torch.squeeze(x)
    axes = tuple(axis_of(a, x.ndim, "squeeze") for a in (axis if isinstance(axis, tuple) else (axis,)))
    for a in axes:
        if x.shape[a] != 1:
            raise ValueError("squeeze(): axis %d has size %d, not 1" % (a, x.shape[a]))
    return torch.squeeze(x, axes) if axes else x


def flip(x, /, *, axis=None):
    """flip(x, /, *, axis=None) -> Tensor: in reverse order along these axes, all by default."""
    axes = tuple(range(x.ndim)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    return torch.flip(x, axes)


def moveaxis(x, source, destination, /):
    """moveaxis(x, source, destination, /) -> Tensor: axes at other places."""
    return torch.movedim(x, source, destination)


def permute_dims(x, /, axes):
    """permute_dims(x, /, axes) -> Tensor: the axes in another order."""
    if len(axes) != x.ndim:
        raise ValueError("permute_dims(): %d axes are expected, not %d" % (x.ndim, len(axes)))
    return torch.permute(x, axes)


def repeat(x, repeats, /, *, axis=None):
    """repeat(x, repeats, /, *, axis=None) -> Tensor: every element along the axis several times; axis=None flattens x."""
    if axis is None:
        x, axis = x.reshape(-1), 0
    if isinstance(repeats, Tensor):
        repeats = repeats.to(torch.int64)
        if repeats.ndim == 1 and repeats.shape[0] == 1:
            repeats = repeats.expand(x.shape[axis])
    return torch.repeat_interleave(x, repeats, dim=axis)


def reshape(x, /, shape, *, copy=None):
    """reshape(x, /, shape, *, copy=None) -> Tensor: another shape; a copy if it must be (None), always (True); ValueError (False)."""
    if copy:
        return torch.reshape(x.clone(), shape)
    out = torch.reshape(x, shape)
    if copy is False and x.numel() and out.data_ptr() != x.data_ptr():
        raise ValueError("reshape(): this shape needs a copy")
    return out


def roll(x, /, shift, *, axis=None):
    """roll(x, /, shift, *, axis=None) -> Tensor: elements moved along axes, around the ends; axis=None flattens x meanwhile."""
    return torch.roll(x, shift, () if axis is None else axis)


def tile(x, repetitions, /):
    """tile(x, repetitions, /) -> Tensor: copies of x side by side."""
    return torch.tile(x, repetitions)
