# SPDX-License-Identifier: BSD-3-Clause
"""Streams and events."""

import ctypes

import minitorch as torch
from minitorch.cuda._device import _device, current_device, index_of, need


class Stream:
    """Stream(device=None, priority=0): a queue of work of its own; a negative priority goes first.

    Work of different streams runs in any order unless an event, or a wait, orders it.
    """

    def __init__(self, device=None, priority=0, *, stream_id=None):
        ext = need()
        self.device_index = index_of(device)
        self.stream_id = ext.stream_new(self.device_index, priority) if stream_id is None else stream_id
        self.priority = -1 if priority < 0 else 0

    @property
    def device(self):
        return torch.device("cuda", self.device_index)

    @property
    def cuda_stream(self):
        return need().stream_handle(self.device_index, self.stream_id)

    @property
    def _as_parameter_(self):
        return ctypes.c_void_p(self.cuda_stream)

    def query(self):
        """query() -> bool: whether everything queued is done."""
        return need().stream_query(self.device_index, self.stream_id)

    def synchronize(self):
        """synchronize(): waits for everything queued."""
        need().stream_synchronize(self.device_index, self.stream_id)

    def record_event(self, event=None):
        """record_event(event=None) -> Event: an event behind what is queued now."""
        event = Event() if event is None else event
        event.record(self)
        return event

    def wait_event(self, event):
        """wait_event(event): what is queued from now on comes after the event."""
        event.wait(self)

    def wait_stream(self, stream):
        """wait_stream(stream): what is queued from now on comes after what the other stream has queued."""
        self.wait_event(stream.record_event())

    def __eq__(self, other):
        if not isinstance(other, Stream):
            return False
        return (self.device_index, self.stream_id) == (other.device_index, other.stream_id)

    def __hash__(self):
        return hash((self.device_index, self.stream_id))

    def __repr__(self):
        return "<torch.cuda.Stream device=%s cuda_stream=%#x>" % (self.device, self.cuda_stream)


class Event:
    """Event(enable_timing=False, blocking=False): a mark in a stream's queue."""

    def __init__(self, enable_timing=False, blocking=False, interprocess=False):
        if interprocess:
            raise NotImplementedError("torch.cuda.Event(): interprocess events are not supported")
        self._flags = (0 if enable_timing else 2) | (1 if blocking else 0)
        self._handle = None

    def _made(self, index):
        if self._handle is None:
            with _device(index):
                self._handle = need().event_new(self._flags)
        return self._handle

    @property
    def cuda_event(self):
        return 0 if self._handle is None else need().event_handle(self._handle)

    def record(self, stream=None):
        """record(stream=None): marks what is queued on a stream now, by default the current one."""
        stream = current_stream() if stream is None else stream
        need().event_record(self._made(stream.device_index), stream.device_index, stream.stream_id)

    def wait(self, stream=None):
        """wait(stream=None): what is queued on a stream from now on comes after the event."""
        stream = current_stream() if stream is None else stream
        if self._handle is not None:
            need().event_wait(self._handle, stream.device_index, stream.stream_id)

    def query(self):
        """query() -> bool: whether everything before the event is done."""
        return True if self._handle is None else need().event_query(self._handle)

    def synchronize(self):
        """synchronize(): waits for everything before the event."""
        if self._handle is not None:
            need().event_synchronize(self._handle)

    def elapsed_time(self, end_event):
        """elapsed_time(end_event) -> float: milliseconds between two events that were made with enable_timing."""
        if self._handle is None or end_event._handle is None:
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        if (self._flags | end_event._flags) & 2:
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        return need().event_elapsed(self._handle, end_event._handle)

    def __repr__(self):
        return "<torch.cuda.Event %s>" % (
            "uninitialized" if self._handle is None else "%#x" % self.cuda_event
        )


def current_stream(device=None):
    """current_stream(device=None) -> Stream: where kernels of this thread go."""
    index = index_of(device)
    return Stream(index, stream_id=need().stream_current(index))


def default_stream(device=None):
    """default_stream(device=None) -> Stream: the stream that is current at the start."""
    return Stream(index_of(device), stream_id=0)


def set_stream(stream):
    """set_stream(stream): makes a stream, and its device, current."""
    if stream is not None:
        need().set_device(stream.device_index)
        need().stream_set(stream.device_index, stream.stream_id)


class StreamContext:
    """stream(stream): while it is entered, kernels of this thread go to that stream. None changes nothing."""

    def __init__(self, stream):
        self.stream = stream

    def __enter__(self):
        if self.stream is None:
            return
        self.previous_device = current_device()
        self.previous = current_stream(self.stream.device_index)
        set_stream(self.stream)

    def __exit__(self, *exc):
        if self.stream is None:
            return
        set_stream(self.previous)
        need().set_device(self.previous_device)


def stream(stream):
    """stream(stream) -> StreamContext

    Example::

        with torch.cuda.stream(torch.cuda.Stream()):
            y = x + 1
    """
    return StreamContext(stream)
