# SPDX-License-Identifier: BSD-3-Clause
"""Operators that PyTorch writes in Python, as members of Tensor: they take whatever overrides, and overrides get them as `func`.

`x - y` does not come here: the slots of the base do that as long as a class has these very members.
"""

from minitorch import _C
from minitorch.overrides import handle_torch_function, has_torch_function

_functions = _C._VariableFunctionsClass


def _operator(function):
    """Puts the check in front of an operator; a TypeError says that the other operand may try."""

    def operator(self, *args, **kwargs):
        try:
            operands = self, *args
            if has_torch_function(operands):
                return handle_torch_function(operator, operands, self, *args, **kwargs)
            return function(self, *args, **kwargs)
        except TypeError:
            return NotImplemented

    operator.__name__ = function.__name__
    operator.__qualname__ = "Tensor." + function.__name__
    operator.__doc__ = function.__doc__
    operator.__module__ = "minitorch._tensor"
    operator.__wrapped__ = function
    return operator


@_operator
def __rsub__(self, other):
    """other - self"""
    return _functions.rsub(self, other)


@_operator
def __rdiv__(self, other):
    """other / self"""
    return self.reciprocal() * other


@_operator
def __floordiv__(self, other):
    """self // other"""
    return _functions.floor_divide(self, other)


@_operator
def __rfloordiv__(self, other):
    """other // self"""
    return _functions.floor_divide(other, self)


@_operator
def __rmod__(self, other):
    """other % self"""
    return _functions.remainder(other, self)


@_operator
def __rpow__(self, other):
    """other ** self"""
    return _functions.pow(other, self)


@_operator
def __rlshift__(self, other):
    """other << self"""
    return _functions.bitwise_left_shift(other, self)


@_operator
def __rrshift__(self, other):
    """other >> self"""
    return _functions.bitwise_right_shift(other, self)


@_operator
def __rmatmul__(self, other):
    """other @ self"""
    return _functions.matmul(other, self)


__rtruediv__ = __rdiv__
__neg__, __pos__, __abs__ = _C._TensorBase.neg, _C._TensorBase.positive, _C._TensorBase.abs
__pow__ = _operator(_C._TensorBase.pow)
__ipow__ = _operator(_C._TensorBase.pow_)
