# SPDX-License-Identifier: BSD-3-Clause
"""Variable, the name tensors had when only some of them could have gradients."""

import minitorch as torch
from minitorch import _C


class VariableMeta(type):
    """isinstance(x, Variable) is isinstance(x, Tensor)."""

    def __instancecheck__(cls, other):
        return isinstance(other, torch.Tensor)


class _Engine:
    """The engine as an object, for programs that ask for it by its old name."""

    @staticmethod
    def queue_callback(callback):
        """queue_callback(fn): fn() runs when the current backward pass ends; RuntimeError outside one."""
        _C._engine_queue_callback(callback)


class Variable(metaclass=VariableMeta):
    """Variable(data, requires_grad=False, volatile=None): the tensor itself, detached."""

    _execution_engine = _Engine()

    def __new__(cls, data=None, requires_grad=False, volatile=None):
        if volatile is not None:
            import warnings

            warnings.warn(
                "volatile was removed and now has no effect. Use `with torch.no_grad():` instead.",
                stacklevel=2,
            )
        if data is None:
            return torch.empty(0, requires_grad=requires_grad)
        if not isinstance(data, torch.Tensor):
            raise TypeError("Variable data has to be a tensor, but got %s" % type(data).__name__)
        result = data.detach()
        if requires_grad:
            result.requires_grad_(True)
        return result
