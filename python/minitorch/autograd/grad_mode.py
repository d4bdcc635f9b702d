# SPDX-License-Identifier: BSD-3-Clause
"""Switches of gradient recording: no_grad, enable_grad, set_grad_enabled, inference_mode."""

from minitorch import _C


class _Decorator:
    """Calling the manager decorates a function; functools and friends load only then."""

    __slots__ = ()

    def __call__(self, orig_func):
        from minitorch.utils._contextlib import _DecoratorContextManager

        return _DecoratorContextManager.__call__(self, orig_func)

    def clone(self):
        """clone(): another manager of the same settings."""
        return self.__class__()


class no_grad(_C._NoGrad, _Decorator):
    """no_grad()

    Context manager and decorator: operations inside are not recorded for gradients.

    Example::

        >>> x = torch.tensor([1.], requires_grad=True)
        >>> with torch.no_grad():
        ...     y = x * 2
        >>> y.requires_grad
        False
    """

    __slots__ = ()


class enable_grad(_C._EnableGrad, _Decorator):
    """enable_grad(orig_func=None)

    Context manager and decorator: operations inside are recorded again, within a no_grad block.

    Example::

        >>> x = torch.tensor([1.], requires_grad=True)
        >>> with torch.no_grad(), torch.enable_grad():
        ...     y = x * 2
        >>> y.requires_grad
        True
    """

    __slots__ = ()


class set_grad_enabled(_Decorator):
    """set_grad_enabled(mode)

    Turns recording on or off: at once, until the end of a `with` block, or for the calls of a decorated
    function.

    Example::

        >>> with torch.set_grad_enabled(False):
        ...     torch.is_grad_enabled()
        False
    """

    def __init__(self, mode):
        self.prev = _C.is_grad_enabled()
        self.mode = mode
        _C._set_grad_enabled(mode)

    def __call__(self, orig_func):
        _C._set_grad_enabled(self.prev)
        return super().__call__(orig_func)

    def __enter__(self):
        _C._set_grad_enabled(self.mode)

    def __exit__(self, exc_type, exc_value, traceback):
        _C._set_grad_enabled(self.prev)

    def __repr__(self):
        return "torch.autograd.grad_mode.set_grad_enabled(mode=%s)" % (self.mode,)

    def clone(self):
        """clone(): another manager of the same settings."""
        return self.__class__(self.mode)


class inference_mode(_Decorator):
    """inference_mode(mode=True)

    Like no_grad, and tensors made inside carry no version counter: what would have to save them for a gradient refuses (RuntimeError).

    Example::

        >>> with torch.inference_mode():
        ...     y = torch.ones(1) * 2
        >>> y.is_inference()
        True
    """

    def __new__(cls, mode=True):
        if isinstance(mode, bool):
            return super().__new__(cls)
        return cls()(mode)

    def __init__(self, mode=True):
        self.mode = mode

    def __enter__(self):
        self._inference_mode_context = _C._InferenceMode(self.mode)
        self._inference_mode_context.__enter__()

    def __exit__(self, exc_type, exc_value, traceback):
        self._inference_mode_context.__exit__(exc_type, exc_value, traceback)

    def clone(self):
        """clone(): another manager of the same settings."""
        return self.__class__(self.mode)


def _enter_inference_mode(mode):
    """_enter_inference_mode(mode): what _exit_inference_mode takes to end it."""
    context = _C._InferenceMode(mode)
    context.__enter__()
    return context


def _exit_inference_mode(mode):
    """_exit_inference_mode(mode): ends what _enter_inference_mode began."""
    mode.__exit__(None, None, None)


class _switch(_Decorator):
    """A state that is set at once and put back at the end of a `with` block or decorated call."""

    _read = _write = None

    def __init__(self, mode):
        self.prev = getattr(_C, self._read)()
        self.mode = mode
        getattr(_C, self._write)(mode)

    def __call__(self, orig_func):
        getattr(_C, self._write)(self.prev)
        return super().__call__(orig_func)

    def __enter__(self):
        getattr(_C, self._write)(self.mode)

    def __exit__(self, exc_type, exc_value, traceback):
        getattr(_C, self._write)(self.prev)

    def clone(self):
        """clone(): another manager of the same settings."""
        return self.__class__(self.mode)


class set_multithreading_enabled(_switch):
    """set_multithreading_enabled(mode): whether backward may use several threads."""

    _read, _write = "_is_multithreading_enabled", "_set_multithreading_enabled"


class enforce_grad_layout_policy(_switch):
    """enforce_grad_layout_policy(enable=True): whether gradients take the layout of their leaf."""

    _read, _write = "_is_grad_layout_enforcement_enabled", "_set_grad_layout_enforcement_enabled"

    def __init__(self, enable=True):
        super().__init__(enable)


class _force_original_view_tracking(_switch):
    """Whether views are replayed by their own functions instead of by strides."""

    _read, _write = "_is_view_replay_enabled", "_set_view_replay_enabled"


class _unsafe_preserve_version_counter(_Decorator):
    """In-place changes inside the block leave the version numbers of the tensors as they were."""

    def __init__(self, tensors):
        import minitorch

        self.tensors = (tensors,) if isinstance(tensors, minitorch.Tensor) else tensors
        if not isinstance(self.tensors, tuple):
            raise AssertionError("Expected tensors to be a tuple")
        self.prev_versions = tuple(t._version for t in self.tensors)

    def __enter__(self):
        pass

    def __exit__(self, *exception):
        _C._unsafe_set_version_counter(self.tensors, self.prev_versions)
