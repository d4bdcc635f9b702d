# SPDX-License-Identifier: BSD-3-Clause
"""torch.cpu: the questions that device modules answer, for the processor: one device, one stream, nothing to wait for."""

__all__ = [
    "is_available",
    "is_initialized",
    "synchronize",
    "current_device",
    "current_stream",
    "stream",
    "set_device",
    "device_count",
    "StreamContext",
    "Stream",
]


class Stream:
    """Stream(priority=-1): the stream of the processor."""

    def __init__(self, priority=-1):
        pass

    def wait_stream(self, stream):
        """wait_stream(stream): nothing to wait for."""

    def record_event(self):
        """record_event(): there are no events."""

    def wait_event(self, event):
        """wait_event(event): nothing to wait for."""


_stream = Stream()


def is_available():
    """is_available() -> bool: always True."""
    return True


def is_initialized():
    """is_initialized() -> bool: always True."""
    return True


def synchronize(device=None):
    """synchronize(device=None): nothing to wait for."""


def current_device():
    """current_device() -> str: "cpu"."""
    return "cpu"


def set_device(device):
    """set_device(device): accepted; there is one."""


def device_count():
    """device_count() -> int: 1."""
    return 1


def current_stream(device=None):
    """current_stream(device=None) -> Stream"""
    return _stream


class StreamContext:
    """StreamContext(stream): as a context manager, makes the stream the current one."""

    def __init__(self, stream):
        self.stream = stream

    def __enter__(self):
        global _stream
        if self.stream is not None:
            self._before, _stream = _stream, self.stream

    def __exit__(self, *exc):
        global _stream
        if self.stream is not None:
            _stream = self._before


def stream(stream):
    """stream(stream) -> StreamContext: `with torch.cpu.stream(s):`"""
    return StreamContext(stream)


def __getattr__(name):
    if name == "amp":
        from importlib import import_module

        return import_module("minitorch.cpu.amp")
    raise AttributeError("module 'torch.cpu' has no attribute '%s'" % name)
