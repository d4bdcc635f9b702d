# SPDX-License-Identifier: BSD-3-Clause
"""What a checkpointed function depends on besides its arguments: random streams, autocast, the default device.  Taken in the
first run, put back for the second."""

import contextlib

import minitorch as torch
from minitorch.overrides import TorchFunctionMode, _get_current_function_mode_stack, resolve_name

_AUTOCAST_DEVICES = ("cpu", "cuda")


class DefaultDeviceType:
    """The type of device whose random state checkpoints keep when the arguments do not say it."""

    _device_type = None

    @staticmethod
    def set_device_type(device="cuda"):
        """set_device_type(device='cuda'): sets it."""
        DefaultDeviceType._device_type = device

    @staticmethod
    def get_device_type():
        """get_device_type() -> str: what it is; where nothing was set, "cuda" with a device and "cpu" without."""
        if DefaultDeviceType._device_type is None:
            return "cuda" if torch.cuda.is_available() else "cpu"
        return DefaultDeviceType._device_type


def get_device_states(*args):
    """get_device_states(*args) -> (indices, states): random states of the CUDA devices of the tensors in `args`."""
    indices = sorted({a.get_device() for a in _tensors(args) if a.device.type == "cuda"})
    return indices, [torch.cuda.get_rng_state(index) for index in indices]


def _tensors(nest):
    if isinstance(nest, torch.Tensor):
        yield nest
    elif isinstance(nest, (list, tuple, dict)):
        for item in nest.values() if isinstance(nest, dict) else nest:
            yield from _tensors(item)


def set_device_states(devices, states, *, device_type=None):
    """set_device_states(devices, states, *, device_type=None): puts random states back that get_device_states gave."""
    for index, state in zip(devices, states):
        torch.cuda.set_rng_state(state, index)


class Surroundings:
    """Taken when it is made; a block of it runs the same way.  Random streams and switches are put back at its end."""

    def __init__(self, preserve_rng_state, args):
        self.preserve = preserve_rng_state
        self.cpu_state = torch.get_rng_state() if preserve_rng_state else None
        self.devices, self.device_states = get_device_states(*args) if preserve_rng_state else ([], [])
        self.autocast = _autocast()
        modes = [m for m in _get_current_function_mode_stack() if type(m).__name__ == "DeviceContext"]
        self.device_mode = modes[-1] if modes else contextlib.nullcontext()
        self._blocks = []

    def __enter__(self):
        before = (_autocast(), None, None)
        if self.preserve:
            states = [torch.cuda.get_rng_state(index) for index in self.devices]
            before = (before[0], torch.get_rng_state(), states)
            torch.set_rng_state(self.cpu_state)
            set_device_states(self.devices, self.device_states)
        _set_autocast(self.autocast)
        self.device_mode.__enter__()
        self._blocks.append(before)

    def __exit__(self, *exception):
        self.device_mode.__exit__(*exception)
        autocast, cpu_state, states = self._blocks.pop()
        _set_autocast(autocast)
        if self.preserve:
            torch.set_rng_state(cpu_state)
            set_device_states(self.devices, states)


def _autocast():
    switches = [(torch.is_autocast_enabled(d), torch.get_autocast_dtype(d)) for d in _AUTOCAST_DEVICES]
    return switches, torch.is_autocast_cache_enabled()


def _set_autocast(state):
    switches, cache = state
    for device, (enabled, dtype) in zip(_AUTOCAST_DEVICES, switches):
        torch.set_autocast_enabled(device, enabled)
        torch.set_autocast_dtype(device, dtype)
    torch.set_autocast_cache_enabled(cache)


class RecordOps(TorchFunctionMode):
    """Lists the functions that are called inside."""

    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        name = resolve_name(func) or getattr(func, "__name__", str(func))
        shapes = ", ".join([str(tuple(arg.shape)) for arg in args if isinstance(arg, torch.Tensor)])
        self.names.append("%s(%s)" % (name, shapes))
        return func(*args, **(kwargs or {}))

    def __str__(self):
        return "\n".join(self.names)
