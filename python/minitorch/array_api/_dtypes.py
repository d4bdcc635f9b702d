# SPDX-License-Identifier: BSD-3-Clause
"""Dtypes of the array API: promotion by the standard's table, casts, limits."""

import minitorch as torch
from minitorch import Tensor

BOOL = (torch.bool,)
SIGNED = (torch.int8, torch.int16, torch.int32, torch.int64)
UNSIGNED = tuple(
    getattr(torch, name) for name in ("uint8", "uint16", "uint32", "uint64") if hasattr(torch, name)
)
REAL = (torch.float32, torch.float64)
COMPLEX = (torch.complex64, torch.complex128)
KINDS = {
    "bool": BOOL,
    "signed integer": SIGNED,
    "unsigned integer": UNSIGNED,
    "integral": SIGNED + UNSIGNED,
    "real floating": REAL + (torch.float16, torch.bfloat16),
    "complex floating": COMPLEX,
    "numeric": SIGNED + UNSIGNED + REAL + (torch.float16, torch.bfloat16) + COMPLEX,
}


def promote(a, b):
    """The dtype that two dtypes promote to; TypeError where the standard has none."""
    if a == b:
        return a
    if a in UNSIGNED and b in UNSIGNED:
        return max(a, b, key=lambda d: d.itemsize)
    if (a in UNSIGNED and b in SIGNED) or (a in SIGNED and b in UNSIGNED):
        unsigned, signed = (a, b) if a in UNSIGNED else (b, a)
        if signed.itemsize > unsigned.itemsize:
            return signed
        if unsigned.itemsize == 8:
            raise TypeError("uint64 and %s have no common dtype" % signed)
        return SIGNED[UNSIGNED.index(unsigned) + 1]
    return torch.promote_types(a, b)


def dtype_of(x):
    return x.dtype if isinstance(x, Tensor) else x


def result_type(*arrays_and_dtypes):
    """result_type(*arrays_and_dtypes) -> dtype: what arrays, dtypes and Python numbers promote to; numbers only raise the kind."""
    dtypes = [dtype_of(x) for x in arrays_and_dtypes if isinstance(x, (Tensor, torch.dtype))]
    if not dtypes:
        raise TypeError("result_type(): at least one array or dtype is needed")
    result = dtypes[0]
    for dtype in dtypes[1:]:
        result = promote(result, dtype)
    for number in arrays_and_dtypes:
        if not isinstance(number, (Tensor, torch.dtype)):
            result = with_number(result, number)
    return result


def with_number(dtype, number):
    """The dtype of an operation between an array and a Python number."""
    if isinstance(number, bool):
        return dtype
    if isinstance(number, int):
        return torch.int64 if dtype == torch.bool else dtype
    if isinstance(number, float):
        return dtype if dtype.is_floating_point or dtype.is_complex else torch.get_default_dtype()
    if isinstance(number, complex):
        if dtype.is_complex:
            return dtype
        return dtype.to_complex() if dtype.is_floating_point else torch.get_default_dtype().to_complex()
    raise TypeError("result_type(): arrays, dtypes and numbers are expected, not %s" % type(number).__name__)


def astype(x, dtype, /, *, copy=True, device=None):
    """astype(x, dtype, /, *, copy=True, device=None) -> Tensor: x as that dtype; a copy unless copy=False and nothing changes."""
    if x.dtype.is_complex and not (dtype.is_complex or dtype == torch.bool):
        raise TypeError("astype(): a complex array has no dtype %s" % dtype)
    return x.to(device=x.device if device is None else device, dtype=dtype, copy=copy)


def can_cast(from_, to, /):
    """can_cast(from_, to, /) -> bool: whether the standard's promotion leads from one dtype to the other."""
    source = dtype_of(from_)
    try:
        return promote(source, to) == to
    except TypeError:
        return False


class Limits:
    """Fields of finfo and iinfo as Python numbers, and the dtype itself."""

    def __init__(self, info, dtype, names):
        self.dtype = dtype
        for name in names:
            setattr(self, name, getattr(info, name))

    def __repr__(self):
        return "%s(%s)" % (
            type(self).__name__,
            ", ".join("%s=%s" % pair for pair in sorted(vars(self).items())),
        )


class finfo_object(Limits):
    """Limits of a real floating point dtype."""


class iinfo_object(Limits):
    """Limits of an integer dtype."""


def finfo(type, /):
    """finfo(type, /) -> object with bits, eps, max, min, smallest_normal, dtype; of a complex dtype those of its parts."""
    dtype = dtype_of(type)
    real = dtype.to_real() if dtype.is_complex else dtype
    return finfo_object(torch.finfo(real), real, ("bits", "eps", "max", "min", "smallest_normal"))


def iinfo(type, /):
    """iinfo(type, /) -> object with bits, max, min, dtype."""
    dtype = dtype_of(type)
    return iinfo_object(torch.iinfo(dtype), dtype, ("bits", "max", "min"))


def isdtype(dtype, kind):
    """isdtype(dtype, kind) -> bool: whether the dtype is `kind`, a dtype, the name of a kind, or a tuple of these."""
    if isinstance(kind, tuple):
        return any(isdtype(dtype, k) for k in kind)
    if isinstance(kind, str):
        if kind not in KINDS:
            raise ValueError("isdtype(): unknown kind %r" % kind)
        return dtype in KINDS[kind]
    if not isinstance(kind, torch.dtype):
        raise TypeError(
            "isdtype(): a kind is a dtype, a string or a tuple of these, not %s" % type(kind).__name__
        )
    return dtype == kind
