# SPDX-License-Identifier: BSD-3-Clause
"""Rarely used names of `_C` that need no C: streams of the CPU, weak references, empty sub-modules.

`_C` asks `find` for a name it does not have.
"""

import sys
import threading
import types
import weakref

import minitorch as torch
from minitorch import _C, _dispatch_keys
from minitorch.autograd.variable import _EngineBase, _LegacyVariableBase

# --- weak references ---


class _WeakTensorRef:
    """_WeakTensorRef(tensor): does not keep the tensor alive."""

    def __init__(self, tensor):
        if not isinstance(tensor, torch.Tensor):
            raise TypeError("_WeakTensorRef(): expected a Tensor, not %s" % type(tensor).__name__)
        self._ref = weakref.ref(tensor)

    def expired(self):
        """expired() -> bool: whether the tensor is gone."""
        return self._ref() is None


# --- streams and events: on the CPU there is one stream, and everything on it is done ---

_TYPES = (
    "cpu cuda mkldnn opengl opencl ideep hip fpga maia xla vulkan metal xpu mps meta hpu ve lazy ipu mtia privateuseone"
).split()


def _where(device):
    device = torch.device("cpu" if device is None else device)
    if device.type != "cpu":
        raise RuntimeError("%s backend doesn't support streams here; see torch.cuda.Stream" % device.type)
    return 0, -1


class Stream:
    """Stream(device=None, *, priority=0): a queue of work; the one of the CPU is always empty.

    Stream(stream_id=, device_index=, device_type=) names an existing one.
    """

    def __init__(self, device=None, *, priority=0, stream_id=None, device_index=None, device_type=None):
        if stream_id is None:
            stream_id = 0
            device_type, device_index = _where(device)
        self.stream_id = int(stream_id)
        self.device_index = int(device_index)
        self.device_type = int(device_type)

    @property
    def device(self):
        kind = _TYPES[self.device_type]
        return torch.device(kind) if self.device_index < 0 else torch.device(kind, self.device_index)

    def _id(self):
        return (self.stream_id, self.device_index, self.device_type)

    def __eq__(self, other):
        return isinstance(other, Stream) and self._id() == other._id()

    def __hash__(self):
        return hash(self._id())

    def __repr__(self):
        return "torch.Stream device_type=%s, device_index=%d, stream_id=%d" % (
            _TYPES[self.device_type],
            self.device_index,
            self.stream_id,
        )

    def query(self):
        """query() -> bool: whether everything queued is done."""
        return True

    def synchronize(self):
        """synchronize(): waits for everything queued."""

    def record_event(self, event=None):
        """record_event(event=None) -> Event: RuntimeError, the CPU has no events."""
        _no_events()

    def wait_event(self, event):
        """wait_event(event): RuntimeError, the CPU has no events."""
        _no_events()

    def wait_stream(self, stream):
        """wait_stream(stream): RuntimeError, the CPU has no events."""
        _no_events()


def _no_events():
    raise RuntimeError("cpu backend doesn't support events.")


class Event:
    """Event(device=None, *, enable_timing=False, blocking=False, interprocess=False): a point in a stream."""

    def __init__(self, device=None, *, enable_timing=False, blocking=False, interprocess=False):
        self._type, self._index = _where(device)
        self._flag = int(bool(enable_timing))
        self.event_id = 0

    @property
    def device(self):
        return torch.device(_TYPES[self._type])

    def __repr__(self):
        return "torch.Event device_type=%s, device_index=%d, event_flag=%d, event_id=%d" % (
            _TYPES[self._type],
            self._index,
            self._flag,
            self.event_id,
        )

    def record(self, stream=None):
        """record(stream=None): RuntimeError, the CPU has no events."""
        _no_events()

    def wait(self, stream=None):
        """wait(stream=None): RuntimeError, the CPU has no events."""
        _no_events()

    def query(self):
        """query() -> bool: whether everything before the event is done."""
        return True

    def synchronize(self):
        """synchronize(): waits until everything before the event is done."""

    def elapsed_time(self, end_event):
        """elapsed_time(end_event) -> float: RuntimeError, the CPU has no events."""
        _no_events()


Stream.__module__ = Event.__module__ = "minitorch"


class _Threads(threading.local):
    """Whether backward may use threads, for each thread; nodes run in the calling thread either way."""

    allowed = True


_threads = _Threads()


def _is_multithreading_enabled():
    """_is_multithreading_enabled() -> bool"""
    return _threads.allowed


def _set_multithreading_enabled(enabled):
    """_set_multithreading_enabled(enabled): TypeError for what is no bool."""
    if type(enabled) is not bool:
        raise TypeError(
            "set_multithreading_enabled(): argument 'enabled' (position 1) must be bool, not %s"
            % type(enabled).__name__
        )
    _threads.allowed = enabled


def _current_graph_task_execution_order():
    """_current_graph_task_execution_order() -> list of nodes, as the backward pass that is going on runs them.

    RuntimeError outside of one, and where backward may use threads (`torch.autograd.set_multithreading_enabled`).
    """
    import heapq

    roots = _C._engine_roots()
    if not roots:
        raise RuntimeError(
            "_current_graph_task_execution_order should only be called during the backward pass"
        )
    if _threads.allowed:
        raise RuntimeError(
            "get_current_graph_task_execution_order expects the current backward to be executed with "
            "multithreading disabled, e.g. by running:\n\n"
            ">>> with torch.autograd.set_multithreading_enabled(False):\n...     torch.autograd.grad(...)\n"
        )
    waiting, found = dict.fromkeys(roots, 0), list(roots)
    for node in found:
        for after, _ in node.next_functions:
            if after is not None:
                if after not in waiting:
                    waiting[after] = 0
                    found.append(after)
                waiting[after] += 1
    heap, order, count = [], [], 0

    def push(node):
        nonlocal count
        count += 1
        heapq.heappush(heap, (-node._sequence_nr(), count, node))

    for node in dict.fromkeys(roots):
        if not waiting[node]:
            push(node)
    while heap:
        node = heapq.heappop(heap)[2]
        if _C._engine_wants(node):
            order.append(node)
        for after, _ in node.next_functions:
            if after is not None:
                waiting[after] -= 1
                if not waiting[after]:
                    push(after)
    return order


# --- sub-modules ---


def _check_arguments(args, count):
    if len(args) != count:
        raise TypeError("expected %d arguments, got %d instead" % (count, len(args)))
    for i, arg in enumerate(args):
        if arg is not None and not isinstance(arg, torch.Tensor):
            raise TypeError("argument %d is not a Variable" % i)


class _UndefinedGrad:
    """_UndefinedGrad(): a function that gives its argument back; no gradient comes through it."""

    def __call__(self, *args):
        from minitorch.autograd.function import _UndefinedGrad

        _check_arguments(args, 1)
        return _UndefinedGrad.apply(*args)


class _DelayedError:
    """_DelayedError(message, num_inputs): a function that gives its arguments back; backward raises RuntimeError(message)."""

    def __init__(self, *args):
        if len(args) != 2:
            raise RuntimeError("Requires two arguments, got %d" % len(args))
        message, count = args
        if not isinstance(message, (str, bytes)):
            raise RuntimeError("argument 'msg' must be a string")
        if not isinstance(count, int):
            raise RuntimeError("argument 'num_inputs' must be an int")
        self.message = message.decode() if isinstance(message, bytes) else message
        self.num_inputs = max(count, 0)

    def __call__(self, *args):
        from minitorch.autograd.function import Error

        _check_arguments(args, self.num_inputs)
        result = Error.apply(self.message, *args)
        return result[0] if len(args) == 1 else result


_DelayedError.__name__ = _DelayedError.__qualname__ = "DelayedError"
_UndefinedGrad.__name__ = _UndefinedGrad.__qualname__ = "UndefinedGrad"
_DelayedError.__module__ = _UndefinedGrad.__module__ = "minitorch._C._functions"

_HOOKS = (
    "_push_saved_tensors_default_hooks _pop_saved_tensors_default_hooks _top_saved_tensors_default_hooks "
    "_saved_tensors_hooks_disable _saved_tensors_hooks_enable _saved_tensors_hooks_is_enabled "
    "_saved_tensors_hooks_get_disabled_error_message _unsafe_set_version_counter"
).split()


def _module(name, **members):
    module = types.ModuleType("minitorch._C." + name)
    vars(module).update(members)
    return module


def _functions():
    leaf = torch.zeros((), requires_grad=True)
    accumulate = type(leaf.view(()).grad_fn.next_functions[0][0])
    return _module(
        "_functions",
        AccumulateGrad=accumulate,
        DelayedError=_DelayedError,
        Error=torch.autograd.function.Error._backward_cls,
        UndefinedGrad=_UndefinedGrad,
        UndefinedGradBackward=torch.autograd.function._UndefinedGrad._backward_cls,
    )


def _has_cuda():
    from importlib.util import find_spec

    return find_spec("minitorch._C_cuda") is not None


# --- switches of the engine that programs set and read; nothing here depends on them ---

_switches = threading.local()


def _switch(name, default):
    def read():
        return getattr(_switches, name, default)

    def write(enabled):
        if not isinstance(enabled, bool):
            raise TypeError("enabled must be a bool (got %s)" % type(enabled).__name__)
        setattr(_switches, name, enabled)

    return read, write


def _engine_switches():
    found = {}
    for name, default in (
        ("view_replay", False),
        ("grad_layout_enforcement", True),
    ):
        found["_is_%s_enabled" % name], found["_set_%s_enabled" % name] = _switch(name, default)
    return found


_MADE = {
    "_autograd": lambda: _module(
        "_autograd",
        SavedTensor=_C._SavedTensor,
        _InputMetadata=_C._InputMetadata,
        _get_sequence_nr=_C._next_sequence_nr,
        _get_current_graph_task_keep_graph=_C._engine_keeps_graph,
        **{name: getattr(_C, name) for name in _HOOKS},
    ),
    "_functions": _functions,
    "_return_types": lambda: _module("_return_types", **_C._result_types()),
    "_nested": lambda: _module("_nested"),
    "_sparse": lambda: _module("_sparse"),
    "_has_cuda": _has_cuda,
}
_NAMES = {
    "_WeakTensorRef": _WeakTensorRef,
    "_ImperativeEngine": _EngineBase,
    "_current_graph_task_execution_order": _current_graph_task_execution_order,
    "_is_multithreading_enabled": _is_multithreading_enabled,
    "_set_multithreading_enabled": _set_multithreading_enabled,
    "_LegacyVariableBase": _LegacyVariableBase,
    "Stream": Stream,
    "Event": Event,
    **_engine_switches(),
}


def find(name):
    """find(name): the value of this name of `_C`, which keeps it from now on; AttributeError."""
    if name in _NAMES:
        value = _NAMES[name]
    elif name in _MADE:
        value = _MADE[name]()
        if isinstance(value, types.ModuleType):
            sys.modules.setdefault(value.__name__, value)
    else:
        value = _dispatch_keys.late(name)
    setattr(_C, name, value)
    return value
