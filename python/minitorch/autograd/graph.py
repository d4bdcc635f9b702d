# SPDX-License-Identifier: BSD-3-Clause
"""Tools for the graph of an autograd run."""

import abc
import collections
import threading

import minitorch as torch
from minitorch import _C
from minitorch.utils.hooks import RemovableHandle

__all__ = ["Node", "GradientEdge", "get_gradient_edge", "increment_version", "register_multi_grad_hook"]


def increment_version(tensor):
    """increment_version(tensor): counts an in-place change that was made behind the library's back.

    tensor: a Tensor, or an iterable of them. A value saved for backward and changed like this is then an error of backward
    instead of a wrong gradient. Nothing happens to inference tensors, which have no counter.

    >>> x = torch.zeros(2)
    >>> torch.autograd.graph.increment_version(x)
    >>> x._version
    1
    """
    if not isinstance(tensor, torch.Tensor) and not hasattr(tensor, "__iter__"):
        raise RuntimeError("increment_version expect a Iterable[Tensor] as input")
    for t in (tensor,) if isinstance(tensor, torch.Tensor) else tensor:
        if not isinstance(t, torch.Tensor):
            raise RuntimeError("increment_version expects each element of the iterable to be a tensor")
        if t.is_inference():
            continue
        _C._unsafe_set_version_counter((t,), ((t._version + 1) % 2**32,))


class Node(abc.ABC):
    """What recorded operations leave behind, `x.grad_fn`: isinstance(x.grad_fn, Node). No node is made by hand."""

    @abc.abstractmethod
    def name(self):
        """name() -> str: of the operation, such as 'AddBackward0'."""

    @property
    @abc.abstractmethod
    def next_functions(self):
        """Tuple of pairs (node or None, which output of it), one per input of the operation."""

    @abc.abstractmethod
    def metadata(self):
        """A dict for whatever a program wants to note."""

    @property
    @abc.abstractmethod
    def _input_metadata(self):
        """For each output of the operation: shape, dtype and device of its gradient."""

    @abc.abstractmethod
    def _sequence_nr(self):
        """Nodes made later have higher numbers and run earlier."""

    @abc.abstractmethod
    def _register_hook_dict(self, tensor):
        """Tells the node of the hooks of a tensor."""

    @abc.abstractmethod
    def register_hook(self, fn):
        """register_hook(fn) -> RemovableHandle

        fn(grad_inputs, grad_outputs) runs after the node, with the gradients it gave and those it got; a tuple that it
        returns takes the place of the first.

        >>> x = torch.tensor([1., 2.], requires_grad=True)
        >>> y = x * 3
        >>> handle = y.grad_fn.register_hook(lambda gi, go: (gi[0] * 10, None))
        >>> y.sum().backward()
        >>> x.grad
        tensor([30., 30.])
        """

    @abc.abstractmethod
    def register_prehook(self, fn):
        """register_prehook(fn) -> RemovableHandle

        fn(grad_outputs) runs before the node; a tuple that it returns takes the place of the gradients.
        """

    @classmethod
    def __subclasshook__(cls, subclass):
        if cls is Node and issubclass(subclass, _C._NodeBase):
            return True
        return NotImplemented


class GradientEdge(
    collections.namedtuple("GradientEdge", ("node", "output_nr", "ownership_token"), defaults=(None,))
):
    """GradientEdge(node, output_nr, ownership_token=None): a place in the graph, which `backward` and `autograd.grad` take
    like the tensor that was computed there. `ownership_token` keeps the graph alive."""

    __slots__ = ()


def _get_grad_fn_or_grad_acc(t):
    """The node that a gradient of a tensor, or of an edge, arrives at."""
    if isinstance(t, GradientEdge):
        return t.node
    if t.requires_grad and t.grad_fn is None:
        with torch.enable_grad():
            return t.view_as(t).grad_fn.next_functions[0][0]
    if t.grad_fn is None:
        raise AssertionError("Expected gradient function to be set")
    return t.grad_fn


def get_gradient_edge(tensor):
    """get_gradient_edge(tensor) -> GradientEdge

    The place where the gradient of `tensor` arrives, for programs that need not keep the tensor. RuntimeError when it
    requires no gradient.

    >>> x = torch.ones(2, requires_grad=True)
    >>> y = x * 3
    >>> edge = torch.autograd.graph.get_gradient_edge(y)
    >>> torch.autograd.grad((y * y).sum(), edge)
    (tensor([6., 6.]),)
    """
    if not tensor.requires_grad:
        raise RuntimeError(
            "It is not possible to get the gradient edge for a Tensor that does not require gradients"
        )
    node, token = _get_grad_fn_or_grad_acc(tensor), None
    if isinstance(node, _C._FunctionBase):  # its Python object does not keep the graph
        with torch.enable_grad():
            token = tensor.view_as(tensor).grad_fn
    return GradientEdge(node, tensor.output_nr, token)


class _MultiHandle(RemovableHandle):
    """One handle for several hooks."""

    def __init__(self, handles):
        self.handles = handles

    def remove(self):
        for handle in self.handles:
            handle.remove()

    def __getstate__(self):
        return self.handles

    def __setstate__(self, state):
        self.handles = state


def _this_run():
    run = _C._current_graph_task_id()
    assert run != -1, "expected this hook to be called inside a backward call"
    return run


def _hook_for_all(tensors, fn):
    nodes, runs, lock = [_get_grad_fn_or_grad_acc(t) for t in tensors], {}, threading.Lock()
    if None in nodes:
        raise AssertionError("Expected gradient function to be set: a tensor requires no gradient")

    def hook_of(index):
        def hook(grad):
            run = _this_run()
            with lock:
                state = runs.get(run)
                if state is None:
                    waiting = sum(map(_C._will_engine_execute_node, nodes))
                    state = runs[run] = [waiting, [None] * len(nodes)]
                state[0] -= 1
                state[1][index] = grad
                if state[0] == 0:
                    del runs[run]
            if state[0] == 0:
                fn(state[1])

        return hook

    return [t.register_hook(hook_of(i)) for i, t in enumerate(tensors)]


def _hook_for_any(tensors, fn):
    seen, lock = set(), threading.Lock()

    def hook(grad):
        run = _this_run()
        with lock:
            first = run not in seen
            seen.add(run)
        if first:
            fn(grad)

    return [t.register_hook(hook) for t in tensors if t.requires_grad]


def register_multi_grad_hook(tensors, fn, *, mode="all"):
    """register_multi_grad_hook(tensors, fn, *, mode="all") -> RemovableHandle

    One hook for several tensors. mode "all": fn(grads) runs once per backward, when the gradients of all tensors that this
    backward reaches are there; grads has a None for each of the others. mode "any": fn(grad) runs for the first of them.
    ValueError for another mode; AssertionError when a tensor requires no gradient
    and mode is "all".

    >>> a, b = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    >>> seen = []
    >>> handle = torch.autograd.graph.register_multi_grad_hook((a, b), seen.append)
    >>> (a * b).sum().backward()
    >>> seen
    [[tensor([1., 1.]), tensor([1., 1.])]]
    """
    if mode not in ("all", "any"):
        raise ValueError("Expects mode to be one of ('all', 'any') but got %s" % (mode,))
    return _MultiHandle(tuple((_hook_for_all if mode == "all" else _hook_for_any)(tensors, fn)))


# --- settings for compilers and streams, which have no effect here ---


def region_activation_memory_budget(budget):
    """region_activation_memory_budget(budget): for compiled forwards only, of which there are none: RuntimeError."""
    who = "torch.autograd.graph.region_activation_memory_budget"
    if not isinstance(budget, (int, float)):
        raise TypeError("%s: expects a float, got %s" % (who, type(budget).__name__))
    if not 0 <= budget <= 1:
        raise ValueError("%s: must be in [0, 1], got %s" % (who, budget))
    raise RuntimeError(
        "%s can only be used inside a torch.compile region; it has no effect in eager mode." % who
    )


def _check_enabled(enabled):
    if not isinstance(enabled, bool):
        raise RuntimeError("enabled must be a bool, but got %s" % type(enabled).__name__)


def set_warn_on_accumulate_grad_stream_mismatch(enabled):
    """set_warn_on_accumulate_grad_stream_mismatch(enabled): there is no such warning here."""
    _check_enabled(enabled)


def set_override_stale_capture_stream(enabled):
    """set_override_stale_capture_stream(enabled): graphs are not captured here."""
    _check_enabled(enabled)


_LAZY = (
    "saved_tensors_hooks save_on_cpu disable_saved_tensors_hooks allow_mutation_on_saved_tensors "
    "_AllowMutationOnSavedContext"
).split()
__all__ += [
    *_LAZY[:-1],
    "region_activation_memory_budget",
    "set_warn_on_accumulate_grad_stream_mismatch",
    "set_override_stale_capture_stream",
]


def __getattr__(name):
    if name not in _LAZY:
        raise AttributeError("module 'torch.autograd.graph' has no attribute '%s'" % name)
    from minitorch.autograd import _saved_hooks

    value = getattr(_saved_hooks, name)
    value.__module__ = __name__
    globals()[name] = value
    return value


def __dir__():
    return sorted({*globals(), *_LAZY})
