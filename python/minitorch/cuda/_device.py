# SPDX-License-Identifier: BSD-3-Clause
"""The module _C_cuda, loaded at first need, and devices."""

import importlib

import minitorch as torch


def module():
    """The extension _C_cuda, or None where it was not built."""
    try:
        return importlib.import_module("minitorch._C_cuda")
    except ModuleNotFoundError as exc:
        if exc.name != "minitorch._C_cuda":
            raise
        return None


def need():
    """The extension with a device; AssertionError when it was not built, RuntimeError without a driver or a GPU."""
    ext = module()
    if ext is None:
        raise AssertionError("Torch not compiled with CUDA enabled")
    why = ext.why_none()
    if why is not None:
        raise RuntimeError(why)
    return ext


def index_of(device=None, optional=True):
    """The number of a device given as None (the current one), an int, a string, a torch.device or an object with one."""
    if isinstance(device, (_device_of, _device)):
        device = device.idx
    if device is None and optional:
        return current_device()
    if isinstance(device, int):
        return current_device() if device < 0 else device
    if isinstance(device, str):
        device = torch.device(device)
    if isinstance(device, torch.device):
        if device.type != "cuda":
            raise ValueError("Expected a cuda device, but got: %s" % device)
        return current_device() if device.index is None else device.index
    raise ValueError("Expected a torch.device with a specified index or an integer, but got: %s" % (device,))


def is_available():
    """is_available() -> bool: whether there is a CUDA device that can be used."""
    return device_count() > 0


def device_count():
    """device_count() -> int: the number of CUDA devices; 0 without a CUDA build, driver or GPU."""
    ext = module()
    return 0 if ext is None else ext.device_count()


def current_device():
    """current_device() -> int: the device on which 'cuda' without a number stands for."""
    return need().current_device()


def set_device(device):
    """set_device(device): makes a device the current one of this thread."""
    index = index_of(device, optional=False)
    if index >= 0:
        need().set_device(index)


def synchronize(device=None):
    """synchronize(device=None): waits for everything that was queued on a device."""
    need().synchronize(index_of(device))


class _CudaDeviceProperties:
    def __init__(self, name, major, minor, total_memory, multi_processor_count):
        self.name, self.major, self.minor = name, major, minor
        self.total_memory, self.multi_processor_count = total_memory, multi_processor_count

    def __repr__(self):
        return (
            "_CudaDeviceProperties(name='%s', major=%d, minor=%d, total_memory=%dMB, multi_processor_count=%d)"
            % (
                self.name,
                self.major,
                self.minor,
                self.total_memory >> 20,
                self.multi_processor_count,
            )
        )


def get_device_properties(device=None):
    """get_device_properties(device=None): name, major, minor, total_memory and multi_processor_count of a device."""
    ext = need()
    return _CudaDeviceProperties(*ext.properties(index_of(device)))


def get_device_name(device=None):
    """get_device_name(device=None) -> str"""
    return get_device_properties(device).name


def get_device_capability(device=None):
    """get_device_capability(device=None) -> (int, int): the major and minor number of the chip's generation."""
    properties = get_device_properties(device)
    return properties.major, properties.minor


class _device:
    """device(device): while it is entered, that device is the current one. None and negative numbers change nothing."""

    def __init__(self, device):
        self.idx = (
            -1 if device is None or (isinstance(device, int) and device < 0) else index_of(device, False)
        )

    def __enter__(self):
        self.previous = current_device()
        if self.idx >= 0:
            set_device(self.idx)

    def __exit__(self, *exc):
        need().set_device(self.previous)
        return False


class _device_of(_device):
    """device_of(obj): the same with the device of a tensor or storage."""

    def __init__(self, obj):
        super().__init__(obj.get_device() if obj.is_cuda else -1)
