# SPDX-License-Identifier: BSD-3-Clause
"""Products of matrices and vectors."""

import minitorch as torch
from minitorch.array_api._elementwise import operands


def matmul(x1, x2, /):
    """matmul(x1, x2, /) -> Tensor: products of matrices, with broadcasting of the dimensions before them."""
    return torch.matmul(*operands("matmul", x1, x2))


def matrix_transpose(x, /):
    """matrix_transpose(x, /) -> Tensor: the last two dimensions exchanged."""
    if x.ndim < 2:
        raise ValueError("matrix_transpose(): an array of at least 2 dimensions is expected, not %d" % x.ndim)
    return x.mT


def tensordot(x1, x2, /, *, axes=2):
    """tensordot(x1, x2, /, *, axes=2) -> Tensor: sums of products over the last and first `axes` dimensions, or over given ones."""
    x1, x2 = operands("tensordot", x1, x2)
    if isinstance(axes, tuple):
        axes = tuple(list(a) for a in axes)
    return torch.tensordot(x1, x2, dims=axes)


def vecdot(x1, x2, /, *, axis=-1):
    """vecdot(x1, x2, /, *, axis=-1) -> Tensor: sums of products of conjugated x1 and x2 along an axis."""
    x1, x2 = operands("vecdot", x1, x2)
    if not -min(x1.ndim, x2.ndim) <= axis < 0:
        raise ValueError("vecdot(): axis must be negative and within both arrays, not %d" % axis)
    if x1.shape[axis] != x2.shape[axis]:
        raise ValueError("vecdot(): sizes %d and %d along the axis differ" % (x1.shape[axis], x2.shape[axis]))
    x1, x2 = torch.broadcast_tensors(x1, x2)
    left = torch.movedim(x1.conj().resolve_conj(), axis, -1).unsqueeze(-2)
    return torch.matmul(left, torch.movedim(x2, axis, -1).unsqueeze(-1)).squeeze(-1).squeeze(-1)
