# SPDX-License-Identifier: BSD-3-Clause
"""Names of PyTorch's profiler.  They measure times of blocks that are named with `record_function`, nothing of single
operations, so that programs with them run at full speed."""

import functools
import time

__all__ = ["profile", "record_function", "emit_nvtx", "emit_itt"]

_active = []  # profiles that are running, the innermost last


class _Decorator:
    """A context manager that may decorate a function."""

    def __call__(self, function):
        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            with self._again():
                return function(*args, **kwargs)

        return wrapper

    def _again(self):
        return self


def _refuse(position, name, kind, value):
    raise RuntimeError(
        "profiler::_record_function_enter_new() Expected a value of type '%s' for argument '%s' but instead found type '%s'.\n"
        "Position: %d\nValue: %s\n" % (kind, name, type(value).__name__, position, value)
    )


class record_function(_Decorator):
    """record_function(name, args=None): names a block for the profiles around it; also a decorator.

    Example::

        >>> with torch.autograd.profiler.record_function("block"):
        ...     torch.ones(1) + 1
        tensor([2.])
    """

    def __init__(self, name, args=None):
        self.name = name
        self.args = args
        self._start = 0

    def _again(self):
        return record_function(self.name, self.args)

    def __enter__(self):
        if not isinstance(self.name, str):
            _refuse(0, "name", "str", self.name)
        if self.args is not None and not isinstance(self.args, str):
            _refuse(1, "args", "Optional[str]", self.args)
        self._start = time.perf_counter_ns() if _active else 0
        return self

    def __exit__(self, *exception):
        if _active and self._start:
            _active[-1]._events.append((self.name, time.perf_counter_ns() - self._start))


class EventAvg:
    """The blocks of one name: `key`, `count`, `cpu_time_total` and `cpu_time` (their mean), in microseconds."""

    def __init__(self, key, durations):
        self.key = key
        self.count = len(durations)
        self.cpu_time_total = sum(durations) / 1000
        self.cpu_time = self.cpu_time_total / self.count

    def __repr__(self):
        return "<EventAvg key=%s count=%d cpu_time=%.3fus>" % (self.key, self.count, self.cpu_time)


class EventList(list):
    """Averages by name."""

    def table(self, sort_by=None, row_limit=100, **options):
        """table(sort_by=None, row_limit=100) -> str: name, number of calls, total and mean time of each."""
        rows = sorted(self, key=lambda e: -e.cpu_time_total) if sort_by else self
        lines = ["%-40s %8s %14s %14s" % ("Name", "Calls", "CPU total us", "CPU mean us")]
        for event in rows[:row_limit]:
            lines.append(
                "%-40s %8d %14.3f %14.3f" % (event.key, event.count, event.cpu_time_total, event.cpu_time)
            )
        return "\n".join(lines)


class profile(_Decorator):
    """profile(enabled=True, *, use_cpu=True, record_shapes=False, with_stack=False, ...)

    Context manager that takes the times of the `record_function` blocks inside; `key_averages()` and `table()` tell them.
    The other options of PyTorch are accepted.

    Example::

        >>> with torch.autograd.profiler.profile() as prof:
        ...     with torch.autograd.profiler.record_function("block"):
        ...         torch.ones(1) + 1
        tensor([2.])
        >>> [event.key for event in prof.key_averages()]
        ['block']
    """

    def __init__(self, enabled=True, **options):
        self.enabled = enabled
        self.options = options
        self.entered = False
        self._events = []

    def __enter__(self):
        if not self.enabled:
            return self
        if self.entered:
            raise RuntimeError("Profiler context manager is not reentrant")
        self.entered = True
        self._events = []
        _active.append(self)
        return self

    def __exit__(self, *exception):
        if self.enabled and self in _active:
            _active.remove(self)
            self.entered = False
        return False

    def key_averages(self, *args, **kwargs):
        """key_averages() -> list of EventAvg, by name."""
        found = {}
        for name, duration in self._events:
            found.setdefault(name, []).append(duration)
        return EventList([EventAvg(name, durations) for name, durations in found.items()])

    def total_average(self):
        """total_average() -> EventAvg of all blocks; ValueError when there were none."""
        if not self._events:
            raise ValueError("total_average(): no blocks were recorded")
        return EventAvg("Total", [duration for _, duration in self._events])

    def table(self, *args, **kwargs):
        """table(sort_by=None, row_limit=100) -> str: the averages as text."""
        return self.key_averages().table(*args, **kwargs)

    @property
    def self_cpu_time_total(self):
        return sum([duration for _, duration in self._events]) / 1000

    def export_chrome_trace(self, path):
        """export_chrome_trace(path): the blocks in the format of chrome://tracing."""
        import json

        events = [
            {"name": name, "ph": "X", "ts": 0, "dur": duration / 1000, "pid": 0, "tid": 0}
            for name, duration in self._events
        ]
        with open(path, "w", encoding="utf-8") as f:
            json.dump({"traceEvents": events}, f)

    def __repr__(self):
        return self.table() if self._events else "<unfinished torch.autograd.profile>"


class emit_nvtx(_Decorator):
    """emit_nvtx(enabled=True, record_shapes=False): context manager without effect; there are no NVTX ranges here."""

    def __init__(self, enabled=True, record_shapes=False):
        self.enabled = enabled
        self.entered = False
        self.record_shapes = record_shapes

    def __enter__(self):
        if not self.enabled:
            return None
        if self.entered:
            raise RuntimeError("%s context manager is not reentrant" % self._what)
        self.entered = True
        return self

    def __exit__(self, *exception):
        self.entered = False
        return False

    _what = "NVTX annotation"


class emit_itt(emit_nvtx):
    """emit_itt(enabled=True, record_shapes=False): likewise for ITT."""

    _what = "ITT annotation"


def kineto_available():
    """kineto_available() -> bool: False; there is no such library here."""
    return False
