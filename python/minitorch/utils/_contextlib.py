# SPDX-License-Identifier: BSD-3-Clause
"""Context managers that also decorate functions, generator functions included."""

import functools
import sys

_GENERATOR = 0x20  # the code flag of generator functions


def _is_generator_function(func):
    while isinstance(func, functools.partial):
        func = func.func
    func = getattr(func, "__func__", func)
    code = getattr(func, "__code__", None)
    return code is not None and bool(code.co_flags & _GENERATOR)


def _wrap_generator(factory, func):
    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        generator = func(*args, **kwargs)
        step, given = generator.send, (None,)
        while True:
            # The mode holds while the body runs and not while its caller does.
            try:
                with factory():
                    value = step(*given)
            except StopIteration as stop:
                return stop.value
            try:
                step, given = generator.send, ((yield value),)
            except GeneratorExit:
                with factory():
                    generator.close()
                raise
            except BaseException:
                step, given = generator.throw, (sys.exc_info()[1],)

    return wrapper


def context_decorator(ctx, func):
    """context_decorator(ctx, func): `func` run inside `ctx`, a context manager or a callable that makes
    one."""
    if callable(ctx) and hasattr(ctx, "__enter__"):
        raise AssertionError(
            "Passed in %s is both callable and also a valid context manager (has __enter__), making it "
            "ambiguous which interface to use.  If you intended to pass a context manager factory, rewrite "
            "your call as context_decorator(lambda: ctx()); if you intended to pass a context manager "
            "directly, rewrite your call as context_decorator(lambda: ctx)" % (ctx,)
        )
    factory = ctx if callable(ctx) else lambda: ctx
    if isinstance(func, type):
        raise RuntimeError(
            "Cannot decorate classes; it is ambiguous whether or not only the constructor or all methods "
            "should have the context manager applied; additionally, decorating a class at definition-site "
            "will prevent use of the identifier as a conventional type.  To specify which methods to "
            "decorate, decorate each of them individually."
        )
    if _is_generator_function(func):
        return _wrap_generator(factory, func)

    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        with factory():
            return func(*args, **kwargs)

    return wrapper


class _DecoratorContextManager:
    """Base of context managers that may be called with a function to decorate it."""

    def __call__(self, orig_func):
        if isinstance(orig_func, type):
            import warnings

            warnings.warn(
                "Decorating classes is deprecated and will be disabled in future versions. You should only "
                "decorate functions or methods. To preserve the current behavior of class decoration, you "
                "can directly decorate the `__init__` method and nothing else.",
                FutureWarning,
                stacklevel=2,
            )
            return context_decorator(self.clone, lambda *args, **kwargs: orig_func(*args, **kwargs))
        return context_decorator(self.clone, orig_func)

    def __enter__(self):
        raise NotImplementedError

    def __exit__(self, exc_type, exc_value, traceback):
        raise NotImplementedError

    def clone(self):
        """clone(): another manager of the same settings; every call of a decorated function uses a fresh
        one."""
        return self.__class__()


class _NoParamDecoratorContextManager(_DecoratorContextManager):
    """The same, usable as a decorator without parentheses."""

    def __new__(cls, orig_func=None):
        if orig_func is None:
            return super().__new__(cls)
        return cls()(orig_func)
