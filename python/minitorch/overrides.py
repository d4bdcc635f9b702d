# SPDX-License-Identifier: BSD-3-Clause
"""The `__torch_function__` protocol as Python code sees it.

The checks themselves (`has_torch_function*`) and the override dispatch of C functions live in the extension.
Here are the dispatch for functions written in Python, the function modes, and (computed on first use, in
`_overridable`) the lists of what can be overridden.
"""

import minitorch as torch
from minitorch import _C
from minitorch._C import (
    _get_function_stack_at,
    _has_torch_function as has_torch_function,
    _has_torch_function_unary as has_torch_function_unary,  # noqa: F401
    _has_torch_function_variadic as has_torch_function_variadic,  # noqa: F401
    _is_torch_function_mode_enabled,
    _len_torch_function_stack,
    _pop_torch_function_stack,
    _push_on_torch_function_stack,
)

__all__ = [
    "get_ignored_functions",
    "get_overridable_functions",
    "get_testing_overrides",
    "handle_torch_function",
    "has_torch_function",
    "resolve_name",
    "is_tensor_like",
    "is_tensor_method_or_property",
    "wrap_torch_function",
    "enable_reentrant_dispatch",
    "redispatch_function",
]


def _get_overloaded_args(relevant_args, get_type_fn=type):
    """The arguments whose types override, one per type; subclasses come before their superclasses, otherwise
    the order is from left to right."""
    if get_type_fn is None:
        get_type_fn = type
    if not _C._is_torch_function_enabled():
        return []
    seen = []
    chosen = []
    for arg in relevant_args:
        kind = get_type_fn(arg)
        if any(kind is other for other in seen):
            continue
        if not hasattr(kind, "__torch_function__"):
            continue
        if kind.__torch_function__ is _C._disabled_torch_function_impl:
            continue
        for place, other in enumerate(seen):
            if issubclass(kind, other):
                break
        else:
            place = len(seen)
        seen.insert(place, kind)
        chosen.insert(place, arg)
    return chosen


def _is_plain_method(handler, arg):
    return getattr(handler, "__self__", None) is arg and handler is not _C._disabled_torch_function_impl


def handle_torch_function(public_api, relevant_args, /, *args, **kwargs):
    """handle_torch_function(public_api, relevant_args, *args, **kwargs)

    Calls the active mode, then the `__torch_function__` of the overriding arguments, for a function written
    in Python; the first answer that is not NotImplemented is the result.  TypeError when nobody answers.

    Example::

        >>> def double(input):
        ...     if has_torch_function((input,)):
        ...         return handle_torch_function(double, (input,), input)
        ...     return input * 2
        >>> class Text(str):
        ...     @classmethod
        ...     def __torch_function__(cls, func, types, args=(), kwargs=None):
        ...         return "%s of %s" % (func.__name__, *args)
        >>> double(torch.ones(1)), double(Text("words"))
        (tensor([2.]), 'double of words')
    """
    overloaded = _get_overloaded_args(relevant_args)
    types = tuple([type(arg) for arg in overloaded])
    if _is_torch_function_mode_enabled():
        mode = _pop_torch_function_stack()
        try:
            result = mode.__torch_function__(public_api, types, args, kwargs)
        finally:
            _push_on_torch_function_stack(mode)
        if result is not NotImplemented:
            return result
    for arg in overloaded:
        handler = arg.__torch_function__
        if _is_plain_method(handler, arg):
            import warnings

            warnings.warn(
                "Defining your `__torch_function__ as a plain method is deprecated and will be an error in "
                "future, please define it as a classmethod.",
                DeprecationWarning,
                stacklevel=2,
            )
        result = _C._call_handler(arg, handler, public_api, types, args, kwargs)
        if result is not NotImplemented:
            return result
    # Members of Tensor that are slots in C have no module of their own.
    name = "%s.%s" % (getattr(public_api, "__module__", None) or "torch._tensor", public_api.__name__)
    if name.startswith("minitorch."):
        name = name[4:]  # printed names say torch
    message = "no implementation found for '%s' on types that implement __torch_function__: %s" % (
        name,
        list(types),
    )
    if _is_torch_function_mode_enabled():
        message += " nor in mode %s" % (_get_current_function_mode(),)
    raise TypeError(message)


def wrap_torch_function(dispatcher):
    """wrap_torch_function(dispatcher)

    Decorator: makes a Python function overridable.  `dispatcher` takes the same arguments and returns those
    that may carry an override.

    Example::

        >>> @wrap_torch_function(lambda a, b: (a, b))
        ... def difference(a, b):
        ...     return a - b
        >>> class Zero:
        ...     @classmethod
        ...     def __torch_function__(cls, func, types, args=(), kwargs=None):
        ...         return 0
        >>> difference(3, 1), difference(3, Zero())
        (2, 0)
    """

    def decorate(func):
        from functools import wraps

        @wraps(func)
        def wrapped(*args, **kwargs):
            relevant_args = dispatcher(*args, **kwargs)
            if has_torch_function(relevant_args):
                return handle_torch_function(wrapped, relevant_args, *args, **kwargs)
            return func(*args, **kwargs)

        return wrapped

    return decorate


def _as_given(function):
    """Decorator of functions that PyTorch has in C: overrides see the call as it was written, without the defaults."""
    from functools import wraps

    @wraps(function)
    def public(*args, **kwargs):
        if has_torch_function((*args, *kwargs.values()) if kwargs else args):
            import inspect

            inspect.signature(function).bind(*args, **kwargs)
            return _C._override_as_given(public, args, kwargs)
        return function(*args, **kwargs)

    return public


def is_tensor_like(inp):
    """is_tensor_like(inp)

    True for a tensor and for any object that has `__torch_function__`.
    """
    return type(inp) is torch.Tensor or hasattr(inp, "__torch_function__")


def redispatch_function(func, types, args, kwargs):
    """redispatch_function(func, types, args, kwargs)

    Runs the implementation of `func` itself: its own check is skipped once, the calls inside it dispatch as
    usual.
    """
    return _C._skip_one_hop_torch_function(func, types, args, kwargs)


# --- modes ---


class TorchFunctionMode:
    """A block in which every overridable call goes to `__torch_function__(self, func, types, args, kwargs)`
    of this object first.  While that runs the mode is off, so calls inside it reach the next outer mode.
    Modes nest, and the same object may be entered again.

    Example::

        >>> class Names(TorchFunctionMode):
        ...     def __torch_function__(self, func, types, args=(), kwargs=None):
        ...         print(func.__name__)
        ...         return func(*args, **(kwargs or {}))
        >>> with Names():
        ...     x = torch.ones(2).exp()
        ones
        exp
    """

    def __init__(self):
        pass

    def __torch_function__(self, func, types, args=(), kwargs=None):
        raise NotImplementedError

    def __enter__(self):
        _push_on_torch_function_stack(self)
        return self

    def __exit__(self, exc_type, exc_value, traceback):
        _pop_torch_function_stack()

    @classmethod
    def push(cls, *args, **kwargs):
        import warnings

        warnings.warn(
            "`Mode.push()` is no longer necessary and can be replaced with just `with Mode()`", stacklevel=2
        )
        return cls(*args, **kwargs)


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that just calls the function."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


def _get_current_function_mode():
    depth = _len_torch_function_stack()
    return _get_function_stack_at(depth - 1) if depth > 0 else None


def _get_current_function_mode_stack():
    return [_get_function_stack_at(i) for i in range(_len_torch_function_stack())]


def _push_mode(mode):
    _push_on_torch_function_stack(mode)


def _pop_mode():
    return _pop_torch_function_stack()


class _pop_mode_temporarily:
    """Context manager: the innermost mode is off inside the block and given to it."""

    def __enter__(self):
        self.mode = _pop_torch_function_stack()
        return self.mode

    def __exit__(self, *exc):
        _push_on_torch_function_stack(self.mode)


class _enable_torch_function:
    """Context manager: overrides are on inside the block, whatever was disabled outside."""

    def __enter__(self):
        self.state = _C._get_torch_function_state()
        _C._set_torch_function_state(_C._TorchFunctionState.ENABLED)

    def __exit__(self, *exc):
        _C._set_torch_function_state(self.state)


class enable_reentrant_dispatch:
    """Context manager that restores the dispatch state of the caller of `__torch_dispatch__`.  No class has that
    here, so there is none: entering it raises RuntimeError, as it does outside of such a call in PyTorch."""

    def __enter__(self):
        raise RuntimeError("Accessing torch dispatch state outside of '__torch_dispatch__' is not allowed.")

    def __exit__(self, *exc):
        return None


# --- introspection, computed on first use ---


def _unlisted(function):
    """Marks a function that asks for overrides although PyTorch's lists leave it out."""
    function._unlisted = True
    return function


def get_ignored_functions():
    """The set of public functions that cannot be overridden."""
    from minitorch import _overridable

    return _overridable.ignored_functions()


def get_default_nowrap_functions():
    """The set of functions whose results `Tensor.__torch_function__` does not turn into the subclass."""
    from minitorch import _overridable

    return _overridable.nowrap_functions()


def get_overridable_functions():
    """A dictionary from namespace to the functions in it that can be overridden; properties have a key
    each."""
    from minitorch import _overridable

    return _overridable.overridable_functions()[0]


def get_testing_overrides():
    """A dictionary from every overridable function to a stand-in with the same signature that returns -1.

    Example::

        >>> import inspect
        >>> stand_in = get_testing_overrides()[torch.add]
        >>> print(inspect.signature(stand_in), stand_in(1, 2))
        (input, other, out=None) -1
    """
    from minitorch import _overridable

    return _overridable.testing_overrides()


def resolve_name(f):
    """The dotted name of an overridable function as a program writes it, or None.

    Example::

        >>> resolve_name(torch.Tensor.add), resolve_name(torch.Tensor.shape.__get__), resolve_name(len)
        ('torch.Tensor.add', 'torch.Tensor.shape.__get__', None)
    """
    from minitorch import _overridable

    return _overridable.overridable_functions()[1].get(f)


def is_tensor_method_or_property(func):
    """True when `func` is a method of Tensor, or the `__get__` of one of its properties."""
    from minitorch import _overridable

    return func in _overridable.tensor_methods() or func.__name__ == "__get__"


def _get_tensor_methods():
    from minitorch import _overridable

    return _overridable.tensor_methods()
