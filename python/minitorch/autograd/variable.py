# SPDX-License-Identifier: BSD-3-Clause
"""Variable, the name tensors had when only some of them could have gradients."""

import sys
import types

import minitorch as torch
from minitorch import _C


class VariableMeta(type):
    """isinstance(x, Variable) is isinstance(x, Tensor)."""

    def __instancecheck__(cls, other):
        return isinstance(other, torch.Tensor)


class _EngineBase:
    """The engine as an object, for programs that ask for it by its old name."""

    def run_backward(
        self,
        tensors,
        grad_tensors,
        keep_graph,
        create_graph,
        inputs=(),
        allow_unreachable=False,
        accumulate_grad=False,
    ):
        """run_backward(tensors, grad_tensors, keep_graph, create_graph, inputs=(), allow_unreachable=False,
        accumulate_grad=False) -> tuple of Tensors

        Walks the graph backwards from `tensors`. With `accumulate_grad` the gradients go to `.grad`; without, those of
        `inputs` are returned.
        """
        tensors, grads, inputs = tuple(tensors), tuple(grad_tensors), tuple(inputs)
        if len(tensors) != len(grads):
            raise RuntimeError("got %d tensors and %d gradients" % (len(tensors), len(grads)))
        for i, (tensor, grad) in enumerate(zip(tensors, grads)):
            if grad is None and tensor.requires_grad:
                raise RuntimeError(
                    "element %d of gradients tuple is None, but the corresponding Tensor requires grad" % i
                )
        return _C._engine_run(
            tensors,
            grads,
            keep_graph,
            create_graph,
            inputs or None,
            accumulate_grad,
            allow_unreachable,
            False,
        )

    def queue_callback(self, callback):
        """queue_callback(fn): fn() runs when the current backward pass ends; RuntimeError outside one."""
        _C._engine_queue_callback(callback)

    def is_checkpoint_valid(self):
        """is_checkpoint_valid() -> bool: whether reentrant checkpoints may run now."""
        return _C._is_checkpoint_valid()


_EngineBase.__module__ = "minitorch._C"


class _LegacyVariableBase:
    """What Variable derives from."""


_LegacyVariableBase.__module__ = "minitorch._C"


class Variable(_LegacyVariableBase, metaclass=VariableMeta):
    """Variable(data, requires_grad=False, volatile=None): the tensor itself, detached."""

    _execution_engine = _EngineBase()

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


class _Module(types.ModuleType):
    """torch.autograd.variable is called by old programs, in vain."""

    def __call__(self, *args, **kwargs):
        raise RuntimeError("torch.autograd.variable(...) is deprecated, use torch.tensor(...) instead")


sys.modules[__name__].__class__ = _Module
