# SPDX-License-Identifier: BSD-3-Clause
"""The default device: `with torch.device("meta"):` and torch.set_default_device.  Both are a mode that gives factories their
`device` argument where it is missing."""

import functools
import threading

import minitorch as torch
from minitorch import _C
from minitorch.overrides import (
    TorchFunctionMode,
    _get_current_function_mode_stack,
    _len_torch_function_stack,
    _pop_mode,
    _push_mode,
)

__all__ = ["DeviceContext", "set_device"]


@functools.lru_cache(maxsize=None)
def _device_constructors():
    """Functions that make a tensor from no tensor: those of the op table that take a device with all their lists of arguments, one
    of which has no tensor, and those that read data."""
    made = {torch.tensor, torch.as_tensor, torch.asarray}
    records = _C._op_records()
    for space, kind, name, _, _, ids in _C._func_records():
        arguments = [records[i][2].partition(") -> ")[0] for i in ids]
        takes_device = all("Device? device" in a for a in arguments)
        if kind == "function" and takes_device and not all("Tensor" in a for a in arguments):
            made.add(getattr(getattr(_C, "_" + (space or "VariableFunctions")), name))
    return frozenset(made)


class DeviceContext(TorchFunctionMode):
    """DeviceContext(device): the mode.  It lies below all others, which then see the device that was given."""

    def __init__(self, device):
        self.device = torch.device(device)

    def __enter__(self):
        above = [_pop_mode() for _ in range(_len_torch_function_stack())]
        _push_mode(self)
        for mode in reversed(above):
            _push_mode(mode)
        return self

    def __exit__(self, exc_type, exc_value, traceback):
        above = []
        while True:
            mode = _pop_mode()
            if mode is self:
                break
            above.append(mode)
        for mode in reversed(above):
            _push_mode(mode)

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func in _device_constructors() and kwargs.get("device") is None:
            kwargs = {**kwargs, "device": self.device}
        return func(*args, **kwargs)


def _enter_device(device):
    context = DeviceContext(device)
    _push_mode(context)
    return device


def _exit_device(device):
    if _len_torch_function_stack() == 0:
        raise RuntimeError("trying to pop from empty mode stack")
    _pop_mode()


_of_thread = threading.local()


def set_default_device(device):
    before = getattr(_of_thread, "context", None)
    if before is not None:
        before.__exit__(None, None, None)
        _of_thread.context = None
    if device is not None:
        _of_thread.context = DeviceContext(device)
        _of_thread.context.__enter__()


def get_default_device():
    for mode in reversed(_get_current_function_mode_stack()):
        if isinstance(mode, DeviceContext):
            return mode.device
    return torch.device(_C._get_default_device())


def set_device(device):
    """set_device(device): a decorator; factories called in the function make tensors on the device."""

    def decorate(function):
        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            with torch.device(device):
                return function(*args, **kwargs)

        return wrapper

    return decorate
