# SPDX-License-Identifier: BSD-3-Clause
"""Elementwise functions: made from tables of the standard's names, with the standard's promotion in front."""

import minitorch as torch
from minitorch import Tensor
from minitorch.array_api._dtypes import COMPLEX, REAL, SIGNED, UNSIGNED, promote, with_number

UNARY = (
    "abs acos acosh asin asinh atan atanh ceil conj cos cosh exp expm1 floor imag isfinite isinf isnan log log10 log1p log2 "
    "logical_not negative positive real reciprocal round sign signbit sin sinh sqrt square tan tanh trunc"
).split()
BINARY = (
    "add atan2 bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor copysign divide floor_divide greater "
    "greater_equal hypot less less_equal logaddexp logical_and logical_or logical_xor maximum minimum multiply nextafter "
    "not_equal pow remainder subtract"
).split()
SHIFTS = ("bitwise_left_shift", "bitwise_right_shift")
__all__ = UNARY + BINARY + ["equal", "bitwise_invert", "clip"]


def operands(name, x1, x2):
    """Both arguments as arrays of their common dtype; a number takes the dtype of the array."""
    if isinstance(x1, Tensor) and isinstance(x2, Tensor):
        if x1.dtype == x2.dtype:
            return x1, x2
        dtype = promote(x1.dtype, x2.dtype)
        return x1.to(dtype), x2.to(dtype)
    if isinstance(x1, Tensor):
        dtype = with_number(x1.dtype, x2)
        return x1.to(dtype), torch.tensor(x2, dtype=dtype, device=x1.device)
    if isinstance(x2, Tensor):
        dtype = with_number(x2.dtype, x1)
        return torch.tensor(x1, dtype=dtype, device=x2.device), x2.to(dtype)
    raise TypeError("%s(): at least one argument must be an array" % name)


def unary(name):
    function = getattr(torch, name)
    exact = name in ("ceil", "floor", "round", "trunc", "positive")

    def apply(x, /):
        if not isinstance(x, Tensor):
            raise TypeError("%s(): argument must be an array, not %s" % (name, type(x).__name__))
        if exact and not (x.dtype.is_floating_point or x.dtype.is_complex):
            return x.clone()
        return function(x)

    return named(apply, name, "%s(x, /) -> Tensor: %s of every element." % (name, name))


def binary(name):
    function = getattr(torch, name)

    def apply(x1, x2, /):
        return function(*operands(name, x1, x2))

    return named(apply, name, "%s(x1, x2, /) -> Tensor: %s of the elements of two arrays." % (name, name))


def named(function, name, doc):
    function.__name__ = function.__qualname__ = name
    function.__module__ = "minitorch.array_api"
    function.__doc__ = doc
    return function


for _name in UNARY:
    globals()[_name] = unary(_name)
for _name in BINARY:
    globals()[_name] = binary(_name)


def equal(x1, x2, /):
    """equal(x1, x2, /) -> Tensor: whether the elements of two arrays are equal, as bools."""
    return torch.eq(*operands("equal", x1, x2))


def bitwise_invert(x, /):
    """bitwise_invert(x, /) -> Tensor: every bit inverted."""
    return torch.bitwise_not(x)


def conj(x, /):
    """conj(x, /) -> Tensor: complex conjugates, as memory of their own."""
    return torch.conj(x).resolve_conj()


def imag(x, /):
    """imag(x, /) -> Tensor: imaginary parts; zeros for real arrays."""
    return torch.imag(x) if x.dtype.is_complex else torch.zeros_like(x)


def sign(x, /):
    """sign(x, /) -> Tensor: -1, 0 or 1; of a complex number z / abs(z); NaN stays NaN."""
    out = torch.sgn(x)
    return (
        torch.where(torch.isnan(x), torch.full_like(x, float("nan")), out)
        if x.dtype in REAL + COMPLEX
        else out
    )


def round(x, /):
    """round(x, /) -> Tensor: the nearest whole numbers, halves to even; both parts of complex numbers."""
    if x.dtype.is_complex:
        return torch.complex(torch.round(x.real), torch.round(x.imag))
    return torch.round(x) if x.dtype.is_floating_point else x.clone()


def floor_divide(x1, x2, /):
    """floor_divide(x1, x2, /) -> Tensor: quotients rounded down."""
    x1, x2 = operands("floor_divide", x1, x2)
    out = torch.floor_divide(x1, x2)
    if not out.dtype.is_floating_point:
        return out
    quotient = x1 / x2
    out = torch.where(torch.isinf(x1) & torch.isfinite(x2), quotient, out)
    return torch.where(
        torch.isfinite(x1) & torch.isinf(x2) & (quotient == 0) & torch.signbit(quotient), quotient, out
    )


def clip(x, /, min=None, max=None):
    """clip(x, /, min=None, max=None) -> Tensor: x within bounds, numbers or arrays; the dtype stays that of x."""
    if isinstance(min, Tensor) or isinstance(max, Tensor):
        shape = torch.broadcast_shapes(*(b.shape for b in (x, min, max) if isinstance(b, Tensor)))
        out = x.expand(shape)
        if min is not None:
            low = bound(min, x, shape)
            out = torch.where(out < low, low, out)
            out = torch.where(torch.isnan(low), low, out) if x.dtype.is_floating_point else out
        if max is not None:
            high = bound(max, x, shape)
            out = torch.where(out > high, high, out)
            out = torch.where(torch.isnan(high), high, out) if x.dtype.is_floating_point else out
        return out.clone()
    if min is None and max is None:
        return x.clone()
    return torch.clamp(x, within(min, x.dtype), within(max, x.dtype)).to(x.dtype)


def bound(value, x, shape):
    return (value if isinstance(value, Tensor) else torch.tensor(value)).to(x.dtype).expand(shape)


def within(number, dtype):
    """A bound that the dtype can hold."""
    if number is None or dtype not in SIGNED + UNSIGNED:
        return number
    limits = torch.iinfo(dtype)
    return limits.min if number < limits.min else limits.max if number > limits.max else number
