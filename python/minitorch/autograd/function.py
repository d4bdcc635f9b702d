# SPDX-License-Identifier: BSD-3-Clause
"""Custom autograd functions: operations with a derivative written in Python."""

import functools

import minitorch as torch
from minitorch import _C

__all__ = [
    "FunctionCtx",
    "BackwardCFunction",
    "FunctionMeta",
    "Function",
    "InplaceFunction",
    "NestedIOFunction",
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
                raise AssertionError(
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

    def mark_shared_storage(self, *pairs):
        """mark_shared_storage(*pairs): does nothing; kept for old programs."""
        _warn(
            "function 'mark_shared_storage' is deprecated. Tensors with shared storages are automatically tracked. Note "
            "that calls to `set_()` are not tracked",
            FutureWarning,
        )

    def set_materialize_grads(self, value):
        """set_materialize_grads(value): whether backward gets zeros (True, the default) or None for outputs that no
        gradient reached."""
        self.materialize_grads = value


class _HookMixin:
    """Kept for old programs."""

    @staticmethod
    def _register_hook(backward_hooks, hook):
        """The dictionary of hooks, made when it is None, and the handle of a hook put into it."""
        from minitorch.utils.hooks import RemovableHandle

        if backward_hooks is None:
            import collections

            backward_hooks = collections.OrderedDict()
        handle = RemovableHandle(backward_hooks)
        backward_hooks[handle.id] = hook
        return backward_hooks, handle


class BackwardCFunction(_C._FunctionBase, FunctionCtx, _HookMixin):
    """The class of contexts and nodes; each Function has a subclass of its own."""

    def _get_user_fn(self):
        backward, vjp = self._forward_cls.backward, self._forward_cls.vjp
        if backward is not Function.backward and vjp is not Function.vjp:
            raise RuntimeError(
                "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You should only "
                "implement one of them."
            )
        return vjp if vjp is not Function.vjp else backward

    def apply(self, *args):
        """apply(*grads): what backward of the Function makes of the gradients of its outputs."""
        if getattr(self._forward_cls, "boxed_grads_call", False):
            args = (list(args),)
        return self._get_user_fn()(self, *args)

    def apply_boxed(self, *args):
        """apply_boxed(grads): the same for a Function with `boxed_grads_call`, which gets one list."""
        return self._get_user_fn()(self, *args)

    def apply_jvp(self, *args):
        """apply_jvp(*tangents): what jvp of the Function makes of the tangents of its inputs."""
        return self._forward_cls.jvp(self, *args)


def _warn(text, category, stacklevel=3):
    import warnings

    warnings.warn(text, category, stacklevel=stacklevel)


class FunctionMeta(type):
    """Gives every Function the class of its contexts, named after it."""

    def __init__(cls, name, bases, attrs):
        cls._backward_cls = type(name + "Backward", (BackwardCFunction,), {"_forward_cls": cls})
        super().__init__(name, bases, attrs)

    @property
    def _has_setup_context(cls):
        return cls.setup_context is not _SingleLevelFunction.setup_context


class _SingleLevelFunction(_C._FunctionBase, FunctionCtx, _HookMixin, metaclass=FunctionMeta):
    """What a Function consists of, without `apply` with keywords."""

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
    boxed_grads_call = False
    clear_saved_tensors_on_access = False

    @staticmethod
    def jvp(ctx, *grad_inputs):
        """jvp(ctx, *grad_inputs): the derivative of the outputs along directions of the inputs."""
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with forward mode AD."
        )


class Function(_SingleLevelFunction):
    """Base class of custom autograd functions.

    A subclass has static methods `forward(ctx, *args)` and `backward(ctx, *grads)`; or `forward(*args)` and
    `setup_context(ctx, inputs, output)`.  backward gets one gradient for each output and returns one for each input (None
    for inputs that need none, see `ctx.needs_input_grad`).  It is used through `apply`.  RuntimeError when backward gives
    another number of gradients, or one of another shape.

    Example::

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
        >>> x = torch.tensor([1., 2.], requires_grad=True)
        >>> Cube.apply(x).sum().backward()
        >>> x.grad
        tensor([ 3., 12.])
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

    generate_vmap_rule = False

    @staticmethod
    def vmap(info, in_dims, *args):
        """vmap(info, in_dims, *args): how to compute forward for a batch; not used here."""
        raise NotImplementedError(
            "To use autograd.Function with vmap, you must either override the vmap staticmethod or set "
            "generate_vmap_rule=True."
        )

    @classmethod
    def apply(cls, *args, **kwargs):
        """apply(*args): the result of forward, with backward as its gradient.  With setup_context, arguments may be
        left out or named, as forward allows; else they may be named.
        RuntimeError inside of a transform of torch.func when setup_context is missing."""
        if cls._has_setup_context:
            if not _is_complete(cls.forward, args, kwargs):
                args, kwargs = _bind(cls.forward, args, kwargs)
        elif _C._are_functorch_transforms_active():
            raise RuntimeError(
                "In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, jacrev, ...), it must "
                "override the setup_context staticmethod. For more details, please see "
                "https://pytorch.org/docs/main/notes/extending.func.html"
            )
        elif kwargs:
            args, kwargs = _place(cls.forward, args, kwargs)
        if kwargs:
            raise TypeError("forward() got an unexpected keyword argument %r" % next(iter(kwargs)))
        return super().apply(*args)


_VARIADIC = 0x04 | 0x08  # flags of code with *args or **kwargs


def _is_complete(forward, args, kwargs):
    """Whether every parameter has its argument, so that nothing is to be filled in."""
    code = getattr(forward, "__code__", None)
    return (
        code is not None
        and not kwargs
        and code.co_argcount == len(args)
        and not code.co_kwonlyargcount
        and not code.co_flags & _VARIADIC
    )


def _bind(forward, args, kwargs):
    import inspect

    bound = inspect.signature(forward).bind(*args, **kwargs)
    bound.apply_defaults()
    return bound.args, bound.kwargs


def _place(forward, args, kwargs):
    """Named arguments of a forward that takes ctx, at their places."""
    import inspect

    bound = inspect.signature(forward).bind(None, *args, **kwargs)
    return bound.args[1:], bound.kwargs


def once_differentiable(fn):
    """once_differentiable(backward) -> backward: nothing in it is recorded, and a second derivative is an error.

    >>> class Square(torch.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x * x
    ...
    ...     @staticmethod
    ...     @torch.autograd.function.once_differentiable
    ...     def backward(ctx, grad):
    ...         return 2 * ctx.saved_tensors[0] * grad
    >>> x = torch.tensor(3.0, requires_grad=True)
    >>> torch.autograd.grad(Square.apply(x), x)
    (tensor(6.),)
    """

    @functools.wraps(fn)
    def wrapper(ctx, *args, **kwargs):
        with torch.no_grad():
            outputs = fn(ctx, *args, **kwargs)
        if not torch.is_grad_enabled():
            return outputs
        if not any(isinstance(arg, torch.Tensor) and arg.requires_grad for arg in args):
            return outputs
        values = outputs if isinstance(outputs, tuple) else (outputs,)
        refuse = _C._functions.DelayedError(
            "trying to differentiate twice a function that was marked with @once_differentiable", len(values)
        )
        return refuse(*[_fresh(v) for v in values])

    return wrapper


def _fresh(value):
    if not isinstance(value, torch.Tensor):
        return value
    value = value.detach()
    value.requires_grad = value.is_floating_point() or value.is_complex()
    return value


class InplaceFunction(Function):
    """Kept for old programs: a Function with an argument `inplace`."""

    def __init__(self, inplace=False):
        super().__init__()
        self.inplace = inplace


def _tensors_in(nest):
    """The tensors in lists, tuples and dicts, one after the other; None counts as nothing."""
    if isinstance(nest, torch.Tensor):
        yield nest
    elif isinstance(nest, (list, tuple, dict)):
        for item in nest.values() if isinstance(nest, dict) else nest:
            yield from _tensors_in(item)
    elif nest is not None:
        raise ValueError(
            "Auto nesting doesn't know how to process an input object of type %s. Accepted types: Tensors, or "
            "lists/tuples of them" % torch.typename(nest)
        )


class NestedIOFunction(Function):
    """Kept for old programs: a Function of nested tuples. Such Functions had methods that are not static, so that none
    can be called any more; PyTorch keeps the name only, too."""

    def _do_forward(self, *input):
        flat = tuple(_tensors_in(input))
        raise AttributeError("'super' object has no attribute '_do_forward' (of %d tensors)" % len(flat))

    def _do_backward(self, gradients, retain_variables):
        raise AttributeError("'super' object has no attribute '_do_backward'")

    __call__ = _do_forward

    def save_for_backward(self, *args):
        """save_for_backward(*nests): keeps the tensors in them."""
        self.to_save = tuple(_tensors_in(args))

    def mark_dirty(self, *args, **kwargs):
        """mark_dirty(*nests): the tensors in them were changed in place."""
        self.dirty_tensors = tuple(_tensors_in((args, kwargs)))

    def mark_non_differentiable(self, *args, **kwargs):
        """mark_non_differentiable(*nests): the tensors in them have no gradient."""
        self.non_differentiable = tuple(_tensors_in((args, kwargs)))

    def forward_extended(self, *input):
        """forward_extended(*input): what the user wrote."""
        raise NotImplementedError

    def backward_extended(self, *grad_output):
        """backward_extended(*grads): what the user wrote."""
        raise NotImplementedError


class Error(Function):
    """Gives its inputs back; a gradient through it is an error. The class of its nodes is named like PyTorch's."""

    @staticmethod
    def forward(ctx, message, *args):
        ctx.message = message
        return args

    @staticmethod
    def backward(ctx, *args):
        raise RuntimeError(ctx.message)


Error._backward_cls.__name__ = Error._backward_cls.__qualname__ = "Error"


class _UndefinedGrad(Function):
    """Gives its input back; its gradient goes nowhere."""

    @staticmethod
    def forward(ctx, x):
        return None if x is None else x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        return None


_UndefinedGrad._backward_cls.__name__ = _UndefinedGrad._backward_cls.__qualname__ = "UndefinedGradBackward"
