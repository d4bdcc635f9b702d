# SPDX-License-Identifier: BSD-3-Clause
"""Arrays from data, numbers and shapes."""

import minitorch as torch
from minitorch import Tensor
from minitorch.array_api._dtypes import result_type


def asarray(obj, /, *, dtype=None, device=None, copy=None):
    """asarray(obj, /, *, dtype=None, device=None, copy=None) -> Tensor

    An array of nested sequences, numbers, arrays or buffers.  copy=None copies only if it must, copy=False raises ValueError then.
    """
    if isinstance(obj, (bool, int, float, complex)) or (isinstance(obj, (list, tuple)) and copy is not False):
        return torch.tensor(obj, dtype=dtype, device=device)
    if isinstance(obj, (list, tuple)):
        raise ValueError("asarray(): a sequence cannot become an array without a copy")
    return torch.asarray(obj, dtype=dtype, device=device, copy=copy)


def from_dlpack(x, /, *, device=None, copy=None):
    """from_dlpack(x, /, *, device=None, copy=None) -> Tensor: the array of an object with `__dlpack__`, sharing its memory."""
    return torch.from_dlpack(x, device=device, copy=copy)


def arange(start, /, stop=None, step=1, *, dtype=None, device=None):
    """arange(start, /, stop=None, step=1, *, dtype=None, device=None) -> Tensor: numbers from start up to stop, which is left out."""
    if stop is None:
        start, stop = 0, start
    if step == 0:
        raise ValueError("arange(): step must not be zero")
    if (stop - start) / step <= 0:
        if dtype is None:
            whole = all(isinstance(n, int) for n in (start, stop, step))
            dtype = torch.int64 if whole else torch.get_default_dtype()
        return torch.empty(0, dtype=dtype, device=device)
    return torch.arange(start, stop, step, dtype=dtype, device=device)


def linspace(start, stop, /, num, *, dtype=None, device=None, endpoint=True):
    """linspace(start, stop, /, num, *, dtype=None, device=None, endpoint=True) -> Tensor: numbers at equal distances."""
    if dtype is None and (isinstance(start, complex) or isinstance(stop, complex)):
        dtype = torch.get_default_dtype().to_complex()
    if not endpoint:
        return torch.linspace(start, stop, num + 1, dtype=dtype, device=device)[:num]
    return torch.linspace(start, stop, num, dtype=dtype, device=device)


def empty(shape, *, dtype=None, device=None):
    """empty(shape, *, dtype=None, device=None) -> Tensor: an array of any contents."""
    return torch.empty(shape, dtype=dtype, device=device)


def zeros(shape, *, dtype=None, device=None):
    """zeros(shape, *, dtype=None, device=None) -> Tensor: an array of zeros."""
    return torch.zeros(shape, dtype=dtype, device=device)


def ones(shape, *, dtype=None, device=None):
    """ones(shape, *, dtype=None, device=None) -> Tensor: an array of ones."""
    return torch.ones(shape, dtype=dtype, device=device)


def full(shape, fill_value, *, dtype=None, device=None):
    """full(shape, fill_value, *, dtype=None, device=None) -> Tensor: an array of one number."""
    return torch.full((shape,) if isinstance(shape, int) else shape, fill_value, dtype=dtype, device=device)


def empty_like(x, /, *, dtype=None, device=None):
    """empty_like(x, /, *, dtype=None, device=None) -> Tensor: an array of any contents with the shape of x."""
    return torch.empty_like(x, dtype=dtype, device=device)


def zeros_like(x, /, *, dtype=None, device=None):
    """zeros_like(x, /, *, dtype=None, device=None) -> Tensor: zeros with the shape of x."""
    return torch.zeros_like(x, dtype=dtype, device=device)


def ones_like(x, /, *, dtype=None, device=None):
    """ones_like(x, /, *, dtype=None, device=None) -> Tensor: ones with the shape of x."""
    return torch.ones_like(x, dtype=dtype, device=device)


def full_like(x, /, fill_value, *, dtype=None, device=None):
    """full_like(x, /, fill_value, *, dtype=None, device=None) -> Tensor: one number with the shape of x."""
    return torch.full_like(x, fill_value, dtype=dtype, device=device)


def eye(n_rows, n_cols=None, /, *, k=0, dtype=None, device=None):
    """eye(n_rows, n_cols=None, /, *, k=0, dtype=None, device=None) -> Tensor: ones on the k-th diagonal, zeros elsewhere."""
    n_cols = n_rows if n_cols is None else n_cols
    out = torch.zeros(n_rows, n_cols, dtype=dtype, device=device)
    if -n_rows < k < n_cols:
        out.diagonal(k).fill_(1)
    return out


def tril(x, /, *, k=0):
    """tril(x, /, *, k=0) -> Tensor: the elements of matrices on and below the k-th diagonal, zeros elsewhere."""
    return torch.tril(x, k)


def triu(x, /, *, k=0):
    """triu(x, /, *, k=0) -> Tensor: the elements of matrices on and above the k-th diagonal, zeros elsewhere."""
    return torch.triu(x, k)


def meshgrid(*arrays, indexing="xy"):
    """meshgrid(*arrays, indexing="xy") -> tuple of Tensors: coordinates of the points of a grid."""
    if not arrays:
        return ()
    if not all(isinstance(a, Tensor) for a in arrays):
        raise TypeError("meshgrid(): arrays are expected")
    dtype = result_type(*arrays)
    if any(a.dtype != dtype for a in arrays):
        raise ValueError("meshgrid(): all arrays must have the same dtype")
    return tuple(torch.meshgrid(*arrays, indexing=indexing))
