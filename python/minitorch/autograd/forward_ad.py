# SPDX-License-Identifier: BSD-3-Clause
"""torch.autograd.forward_ad: derivatives along a direction, computed together with the values."""

from collections import namedtuple

import minitorch as torch
from minitorch import _C
from minitorch.utils._contextlib import _DecoratorContextManager

__all__ = [
    "UnpackedDualTensor",
    "enter_dual_level",
    "exit_dual_level",
    "make_dual",
    "unpack_dual",
    "dual_level",
]

_current_level = -1

_is_fwd_grad_enabled = _C._is_fwd_grad_enabled


class UnpackedDualTensor(namedtuple("UnpackedDualTensor", ["primal", "tangent"])):
    """UnpackedDualTensor(primal, tangent): what `unpack_dual` gives; `tangent` is None for tensors without one."""

    __slots__ = ()


def enter_dual_level():
    """enter_dual_level() -> int: opens the level in which tensors have tangents.

    There is one level at a time: RuntimeError inside another one. `dual_level` is the same as a block.

    Example::
        >>> level = torch.autograd.forward_ad.enter_dual_level()
        >>> torch.autograd.forward_ad.exit_dual_level(level=level)
    """
    global _current_level
    level = _C._enter_dual_level()
    if level != _current_level + 1:
        raise RuntimeError("Entering a new forward AD level but the current level is out of step.")
    _current_level = level
    return level


def exit_dual_level(*, level=None):
    """exit_dual_level(*, level=None): closes the level; all tangents are gone.

    RuntimeError when no level, or another one, is open.

    Example::
        >>> torch.autograd.forward_ad.enter_dual_level()
        0
        >>> torch.autograd.forward_ad.exit_dual_level()
    """
    global _current_level
    level = _current_level if level is None else level
    if level < 0:
        raise RuntimeError("Dual level must be a positive number.")
    if level != _current_level:
        raise RuntimeError(
            "Trying to exit a forward AD level that was not the last one that was created. This is not supported."
        )
    _C._exit_dual_level(level=level)
    _current_level = level - 1


def make_dual(tensor, tangent, *, level=None):
    """make_dual(tensor, tangent, *, level=None) -> Tensor: a view of `tensor` that carries `tangent`.

    Both are of a floating or complex dtype (ValueError otherwise) and of one shape (RuntimeError). What is computed
    from the result carries the derivative along `tangent`. RuntimeError outside `dual_level`.

    Example::
        >>> import minitorch.autograd.forward_ad as fwAD
        >>> with fwAD.dual_level():
        ...     x = fwAD.make_dual(torch.tensor([3.0]), torch.tensor([1.0]))
        ...     print(fwAD.unpack_dual(x * x).tangent)
        tensor([6.])
    """
    level = _current_level if level is None else level
    if level < 0:
        raise RuntimeError(
            "Trying to create a dual Tensor for forward AD but no level exists, make sure to enter_dual_level() first."
        )
    for name, t in (("primal", tensor), ("tangent", tangent)):
        if not (t.is_floating_point() or t.is_complex()):
            raise ValueError("Expected %s to be floating point or complex, but got: %s" % (name, t.dtype))
    return torch._make_dual(tensor, tangent, level=level)


def unpack_dual(tensor, *, level=None):
    """unpack_dual(tensor, *, level=None) -> UnpackedDualTensor: the value and the tangent of a dual tensor.

    The primal is a view without tangent; the tangent is None when there is none.

    Example::
        >>> import minitorch.autograd.forward_ad as fwAD
        >>> fwAD.unpack_dual(torch.tensor([1.0]))
        UnpackedDualTensor(primal=tensor([1.]), tangent=None)
    """
    level = _current_level if level is None else level
    if level < 0:
        return UnpackedDualTensor(tensor, None)
    return UnpackedDualTensor(*torch._unpack_dual(tensor, level=level))


class dual_level(_DecoratorContextManager):
    """dual_level(): a block (or decorator) in which tensors can have tangents; its value is the number of the level.

    Example::
        >>> import minitorch.autograd.forward_ad as fwAD
        >>> with fwAD.dual_level():
        ...     x = fwAD.make_dual(torch.tensor([1.0]), torch.tensor([2.0]))
        ...     print(x.exp())
        tensor([2.7183], tangent=tensor([5.4366]))
    """

    def __enter__(self):
        return enter_dual_level()

    def __exit__(self, exc_type, exc_value, traceback):
        exit_dual_level()


class _set_fwd_grad_enabled(_DecoratorContextManager):
    """_set_fwd_grad_enabled(mode): whether operations of this thread compute tangents; a switch or a block."""

    def __init__(self, mode):
        self.prev = _C._is_fwd_grad_enabled()
        _C._set_fwd_grad_enabled(mode)

    def __enter__(self):
        pass

    def __exit__(self, exc_type, exc_value, traceback):
        _C._set_fwd_grad_enabled(self.prev)
