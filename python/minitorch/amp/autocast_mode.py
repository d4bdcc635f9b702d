# SPDX-License-Identifier: BSD-3-Clause
"""autocast: a block, or a function, in which ops take their float arguments in the dtype that suits them.  Which op wants what
is in the catalog of ops; the casts are made by the dispatcher."""

import collections.abc
import functools
import warnings

import minitorch as torch

__all__ = ["autocast", "autocast_decorator", "custom_bwd", "custom_fwd", "is_autocast_available"]

_CPU_DTYPES = (torch.bfloat16, torch.float16)


def _check_type(device_type):
    if not isinstance(device_type, str):
        raise ValueError("Expected `device_type` of type `str`, got: `%s`" % type(device_type))


def is_autocast_available(device_type):
    """Is there an autocast for this type of device ("cpu", "cuda", ...)?

    >>> torch.amp.is_autocast_available("cpu"), torch.amp.is_autocast_available("meta")
    (True, False)
    """
    return torch.device(device_type).type != "meta"


def autocast_decorator(autocast_instance, func):
    """`func`, run inside the block."""

    @functools.wraps(func)
    def decorate_autocast(*args, **kwargs):
        with autocast_instance:
            return func(*args, **kwargs)

    return decorate_autocast


class autocast:
    """autocast(device_type, dtype=None, enabled=True, cache_enabled=None)

    A block, or a decorator, in which products and convolutions of float tensors on this type of device run in `dtype`
    (bfloat16 on the CPU and float16 on CUDA, unless given), losses and other ops that need it in float32, and the rest in
    the dtypes it is given.  Tensors of float64 are left alone.  Casts of parameters are kept until the outermost block
    ends, unless cache_enabled is False.  Call backward() outside of the block.

    ValueError for a device_type that is no str, RuntimeError for one that has no autocast.

    >>> a = torch.ones(2, 2)
    >>> with torch.autocast("cpu", dtype=torch.bfloat16):
    ...     product = a @ a
    ...     loss = torch.nn.functional.mse_loss(product, a)
    >>> product.dtype, loss.dtype
    (torch.bfloat16, torch.float32)
    """

    _listed = True  # torch.overrides counts this class among the functions

    def __init__(self, device_type, dtype=None, enabled=True, cache_enabled=None):
        _check_type(device_type)
        self.fast_dtype = torch.get_autocast_dtype(device_type) if dtype is None else dtype
        self.device = device_type
        if not is_autocast_available(device_type):
            raise RuntimeError("User specified an unsupported autocast device_type '%s'" % device_type)
        self._cache_enabled = torch.is_autocast_cache_enabled() if cache_enabled is None else cache_enabled
        if enabled and device_type == "cuda" and not torch.cuda.is_available():
            warnings.warn("CUDA is not available or torch_xla is imported. Disabling autocast.", stacklevel=2)
            enabled = False
        if enabled and device_type == "cpu" and self.fast_dtype not in _CPU_DTYPES:
            warnings.warn(
                "In CPU autocast, but the target dtype is not supported. Disabling autocast.\n"
                "CPU Autocast only supports dtypes of %s currently." % ", ".join(map(str, _CPU_DTYPES)),
                stacklevel=2,
            )
            enabled = False
        self._enabled = enabled

    def __enter__(self):
        self.prev_cache_enabled = torch.is_autocast_cache_enabled()
        self.prev = torch.is_autocast_enabled(self.device)
        self.prev_fastdtype = torch.get_autocast_dtype(self.device)
        torch.set_autocast_enabled(self.device, self._enabled)
        torch.set_autocast_dtype(self.device, self.fast_dtype)
        torch.autocast_increment_nesting()
        torch.set_autocast_cache_enabled(self._cache_enabled)
        return self

    def __exit__(self, exc_type, exc_value, traceback):
        if torch.autocast_decrement_nesting() == 0:
            torch.clear_autocast_cache()
        torch.set_autocast_enabled(self.device, self.prev)
        torch.set_autocast_dtype(self.device, self.prev_fastdtype)
        torch.set_autocast_cache_enabled(self.prev_cache_enabled)
        return False

    def __call__(self, func):
        return autocast_decorator(self, func)


def _enter_autocast(*values):
    mode = autocast(*values)
    mode.__enter__()
    return mode


def _exit_autocast(mode):
    mode.__exit__(None, None, None)


# --- custom Functions ---


def _cast(value, device_type, dtype):
    if isinstance(value, torch.Tensor):
        wanted = (
            value.is_floating_point()
            and value.device.type == device_type
            and value.dtype is not torch.float64
        )
        return value.to(dtype) if wanted else value
    if isinstance(value, collections.abc.Mapping):
        return {_cast(k, device_type, dtype): _cast(v, device_type, dtype) for k, v in value.items()}
    if isinstance(value, collections.abc.Iterable) and not isinstance(value, (str, bytes)):
        items = (_cast(v, device_type, dtype) for v in value)
        return type(value)(items) if isinstance(value, (list, tuple)) else items
    return value


def custom_fwd(fwd=None, *, device_type, cast_inputs=None):
    """Decorates `forward` of a torch.autograd.Function: with cast_inputs its float tensors on the device are cast to that
    dtype and it runs without autocast, when autocast is on; without, it runs as it is.  ValueError for a device_type that is
    no str.

    >>> class Double(torch.autograd.Function):
    ...     @staticmethod
    ...     @torch.amp.custom_fwd(device_type="cpu", cast_inputs=torch.float32)
    ...     def forward(ctx, x):
    ...         return x * 2
    ...
    ...     @staticmethod
    ...     @torch.amp.custom_bwd(device_type="cpu")
    ...     def backward(ctx, grad):
    ...         return grad * 2
    >>> with torch.autocast("cpu"):
    ...     y = Double.apply(torch.ones(1).bfloat16())
    >>> y.dtype
    torch.float32
    """
    _check_type(device_type)
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def decorate_fwd(*args, **kwargs):
        context = args[0]
        context._dtype = torch.get_autocast_dtype(device_type)
        if cast_inputs is None:
            context._fwd_used_autocast = torch.is_autocast_enabled(device_type)
            return fwd(*args, **kwargs)
        on = torch.is_autocast_enabled(device_type)
        context._fwd_used_autocast = False
        if not on:
            return fwd(*args, **kwargs)
        with autocast(device_type=device_type, enabled=False):
            return fwd(*_cast(args, device_type, cast_inputs), **_cast(kwargs, device_type, cast_inputs))

    return decorate_fwd


def custom_bwd(bwd=None, *, device_type):
    """Decorates `backward` of a torch.autograd.Function whose forward has custom_fwd: it runs with autocast as forward did.
    See custom_fwd for an example.  ValueError for a device_type that is no str."""
    _check_type(device_type)
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def decorate_bwd(*args, **kwargs):
        context = args[0]
        with autocast(device_type=device_type, enabled=context._fwd_used_autocast, dtype=context._dtype):
            return bwd(*args, **kwargs)

    return decorate_bwd
