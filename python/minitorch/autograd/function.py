# SPDX-License-Identifier: BSD-3-Clause
"""Custom autograd functions: operations with a derivative written in Python.

>>> import minitorch as torch
>>> class Cube(torch.autograd.Function):
...     @staticmethod
...     def forward(ctx, x):
...         ctx.save_for_backward(x)
...         return x**3
...
...     @staticmethod
...     def backward(ctx, grad):
...         (x,) = ctx.saved_tensors
...         return 3 * x**2 * grad
>>> x = torch.tensor(2.0, requires_grad=True)
>>> Cube.apply(x).backward()
>>> x.grad
tensor(12.)
"""

import functools

import minitorch as torch
from minitorch import _C

__all__ = [
    "FunctionCtx",
    "BackwardCFunction",
    "FunctionMeta",
    "Function",
    "InplaceFunction",
    "once_differentiable",
]


class FunctionCtx:
    """What forward and backward share: `ctx`, their first argument."""

    def save_for_backward(self, *tensors):
        """save_for_backward(*tensors): keeps tensors (or None) for `ctx.saved_tensors` in backward.  To be called
        once, from forward or setup_context; what is saved may not be changed in place afterwards."""
        self.to_save = tensors

    def save_for_forward(self, *tensors):
        """save_for_forward(*tensors): keeps tensors for jvp."""
        for tensor in tensors:
            if not (isinstance(tensor, torch.Tensor) or tensor is None):
                raise TypeError(
                    "save_for_forward expects all arguments to be tensors; you should save non-tensors as "
                    "attributes on ctx."
                )
        self.saved_for_forward = tensors

    def mark_dirty(self, *args):
        """mark_dirty(*tensors): these inputs were changed in place; each of them must be returned."""
        self.dirty_tensors = args

    def mark_non_differentiable(self, *args):
        """mark_non_differentiable(*tensors): these outputs have no gradient."""
        self.non_differentiable = args

    def set_materialize_grads(self, value):
        """set_materialize_grads(value): whether backward gets zeros (True, the default) or None for outputs that no
        gradient reached."""
        self.materialize_grads = value


class BackwardCFunction(_C._FunctionBase, FunctionCtx):
    """The class of contexts and nodes; each Function has a subclass of its own."""

    def apply(self, *args):
        """Called by the engine with the gradients of the outputs."""
        backward, vjp = self._forward_cls.backward, self._forward_cls.vjp
        if backward is not Function.backward and vjp is not Function.vjp:
            raise RuntimeError(
                "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You should only "
                "implement one of them."
            )
        return (vjp if vjp is not Function.vjp else backward)(self, *args)


class FunctionMeta(type):
    """Gives every Function the class of its contexts, named after it."""

    def __init__(cls, name, bases, attrs):
        context = type(
            name + "Backward", (BackwardCFunction,), {"_forward_cls": cls, "__module__": cls.__module__}
        )
        cls._backward_cls = context
        super().__init__(name, bases, attrs)

    @property
    def _has_setup_context(cls):
        return cls.setup_context is not Function.setup_context


class Function(_C._FunctionBase, FunctionCtx, metaclass=FunctionMeta):
    """Base class of custom autograd functions.

    A subclass has static methods `forward(ctx, *args)` and `backward(ctx, *grads)`; or `forward(*args)` and
    `setup_context(ctx, inputs, output)`.  backward gets one gradient for each output and returns one for each input (None
    for inputs that need none, see `ctx.needs_input_grad`).  It is used through `apply`.
    """

    def __init__(self, *args, **kwargs):
        import warnings

        warnings.warn(
            "%s should not be instantiated. Methods on autograd functions are all static, so you should invoke them "
            "on the class itself. Instantiating an autograd function will raise an error in a future version of "
            "PyTorch." % type(self),
            DeprecationWarning,
            stacklevel=2,
        )

    def __call__(self, *args, **kwargs):
        raise RuntimeError(
            "Legacy autograd function with non-static forward method is deprecated. Please use new-style autograd "
            "function with static forward method. (Example: "
            "https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function)"
        )

    @staticmethod
    def forward(*args, **kwargs):
        """forward(ctx, *args) or forward(*args): computes the result.  Nothing in it is recorded."""
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx, inputs, output):
        """setup_context(ctx, inputs, output): fills ctx, when forward does not take it."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx, *grad_outputs):
        """backward(ctx, *grad_outputs): the gradients of the inputs."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom autograd.Function to use it with "
            "backward mode AD."
        )

    vjp = backward

    @staticmethod
    def jvp(ctx, *grad_inputs):
        """jvp(ctx, *grad_inputs): the derivative of the outputs along directions of the inputs."""
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with forward mode AD."
        )

    @classmethod
    def apply(cls, *args, **kwargs):
        """apply(*args): the result of forward, with backward as its gradient."""
        if kwargs:
            args = _bind(cls, args, kwargs)
        return super().apply(*args)


def _bind(cls, args, kwargs):
    """Keyword arguments in the order of forward's parameters (setup_context style only)."""
    import inspect

    if not cls._has_setup_context:
        raise TypeError("%s.apply() takes no keyword arguments" % cls.__name__)
    bound = inspect.signature(cls.forward).bind(*args, **kwargs)
    bound.apply_defaults()
    return bound.args


def once_differentiable(fn):
    """once_differentiable(backward) -> backward: nothing in it is recorded, and a second derivative is an error."""

    @functools.wraps(fn)
    def wrapper(ctx, *args):
        with torch.no_grad():
            outputs = fn(ctx, *args)
        if not torch.is_grad_enabled():
            return outputs
        if not any(isinstance(arg, torch.Tensor) and arg.requires_grad for arg in args):
            return outputs
        single = not isinstance(outputs, tuple)
        refused = _Refusal.apply(*[_fresh(v) for v in ((outputs,) if single else outputs)])
        return refused[0] if single else refused

    return wrapper


def _fresh(value):
    if value is None or not isinstance(value, torch.Tensor):
        return value
    value = value.detach()
    value.requires_grad = value.is_floating_point() or value.is_complex()
    return value


class InplaceFunction(Function):
    """Kept for old programs: a Function with an argument `inplace`."""

    def __init__(self, inplace=False):
        super().__init__()


class _Refusal(Function):
    """Gives its inputs back; a gradient through it is an error."""

    @staticmethod
    def forward(ctx, *args):
        return args if len(args) != 1 else (args[0],)

    @staticmethod
    def backward(ctx, *args):
        raise RuntimeError(
            "trying to differentiate twice a function that was marked with @once_differentiable"
        )
