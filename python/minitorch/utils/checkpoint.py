# SPDX-License-Identifier: BSD-3-Clause
"""Checkpoints: parts of a model whose saved tensors are dropped and computed again in backward.

Two kinds. Without reentrance, hooks put a placeholder in the place of every saved tensor; the first placeholder that backward
asks for runs the function again, under hooks that collect the same tensors, and stops when all are there. With
reentrance, the function is one custom Function, which runs it again in its backward and calls backward of that.
"""

import contextlib
import enum
import weakref
from collections import defaultdict

import minitorch as torch
from minitorch import _C
from minitorch.utils._checkpoint_state import (
    DefaultDeviceType,
    RecordOps,
    Surroundings,
    get_device_states,
    set_device_states,
)

__all__ = [
    "checkpoint",
    "checkpoint_sequential",
    "CheckpointError",
    "CheckpointFunction",
    "check_backward_validity",
    "detach_variable",
    "get_device_states",
    "set_device_states",
    "noop_context_fn",
    "set_checkpoint_early_stop",
    "set_checkpoint_debug_enabled",
    "DefaultDeviceType",
    "GraphExecGroup",
    "CheckpointPolicy",
    "SelectiveCheckpointContext",
    "create_selective_checkpoint_contexts",
    "SAC_IGNORED_OPS",
]


class CheckpointError(RuntimeError):
    """The second run of a checkpointed function was not like the first."""


_HINT = (
    "\nTip: To see a more detailed error message, either pass `debug=True` to\n"
    "`torch.utils.checkpoint.checkpoint(...)` or wrap the code block\n"
    "with `with torch.utils.checkpoint.set_checkpoint_debug_enabled(True):` to\n"
    "enable checkpoint\u2011debug mode globally.\n"
)
_early_stop = None  # what set_checkpoint_early_stop says, None: what each call says
_debug = None


@contextlib.contextmanager
def set_checkpoint_early_stop(enable):
    """set_checkpoint_early_stop(enable): context manager; whether the second run of checkpoints made inside stops when
    everything is there that backward needs, whatever the argument `early_stop` of the call says.

    Example::

        >>> x = torch.ones(2, requires_grad=True)
        >>> with torch.utils.checkpoint.set_checkpoint_early_stop(False):
        ...     y = torch.utils.checkpoint.checkpoint(torch.exp, x, use_reentrant=False)
    """
    global _early_stop
    before, _early_stop = _early_stop, enable
    try:
        yield
    finally:
        _early_stop = before


@contextlib.contextmanager
def set_checkpoint_debug_enabled(enabled):
    """set_checkpoint_debug_enabled(enabled): context manager; whether checkpoints list their operations in errors, whatever
    their argument `debug` says (None: as it says)."""
    global _debug
    before, _debug = _debug, enabled
    try:
        yield
    finally:
        _debug = before


def noop_context_fn():
    """noop_context_fn() -> two context managers that do nothing: the default of `context_fn`."""
    return contextlib.nullcontext(), contextlib.nullcontext()


# --- selection ---


class CheckpointPolicy(enum.Enum):
    """What a policy may say about an operation: whether its result is kept, computed again, or kept elsewhere."""

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3
    MUST_CPU_OFFLOAD = 4
    PREFER_CPU_OFFLOAD = 5


SAC_IGNORED_OPS = set()  # operations that no policy is asked about


class SelectiveCheckpointContext:
    """What a policy gets to know besides the operation and its arguments."""

    def __init__(self, *, is_recompute, op_output=None):
        self.is_recompute = is_recompute
        self.op_output = op_output


def create_selective_checkpoint_contexts(policy_fn_or_list, allow_cache_entry_mutation=False):
    """create_selective_checkpoint_contexts(policy_fn_or_list, allow_cache_entry_mutation=False) -> two context managers

    For `context_fn` of `checkpoint`.  Operations cannot be watched one by one here, so no policy is asked, everything is
    computed again, and gradients are the same. TypeError for what is neither function nor list; ValueError for a list that
    holds anything, as there are no objects for operations.
    """
    if isinstance(policy_fn_or_list, list):
        for op in policy_fn_or_list:
            raise ValueError(
                "Expected op in `op_list` to be an OpOverload but got: %s of type %s. " % (op, type(op))
            )
    elif not callable(policy_fn_or_list):
        raise TypeError("policy_fn_or_list must be either a function or a list of ops.")
    return noop_context_fn()


# --- without reentrance ---


class GraphExecGroup:
    """GraphExecGroup(): context manager; several backward calls inside run a checkpointed function again once only,
    provided that they do not need the same saved tensors."""

    _current = None

    def __enter__(self):
        if GraphExecGroup._current is not None:
            raise RuntimeError(
                "GraphExecGroup contexts cannot be nested. Tried to enter a group inside another one."
            )
        GraphExecGroup._current = self

    def __exit__(self, *exception):
        GraphExecGroup._current = None


class _Handle:
    """The key of a tensor that was computed again; its death frees the tensor."""


class _Placeholder:
    """In the place of a saved tensor: its handle for each run of backward, None when it was taken."""

    def __init__(self):
        self.handles = {}


class _Stop(Exception):
    """The second run has computed everything."""


class _SaveInputs(torch.autograd.Function):
    """Its node keeps the tensors among the arguments, so that hooks around the checkpoint see them as saved."""

    @staticmethod
    def forward(ctx, dummy, *tensors):
        ctx.save_for_backward(*tensors)
        with torch._C.DisableTorchFunction():
            return torch.empty((0,))

    @staticmethod
    def backward(ctx, grad):
        raise AssertionError("the inputs of a checkpoint have no gradient of their own")


class _Frame:
    """One call: how to run it again, its placeholders, and what was computed again for which run of backward."""

    def __init__(self, run_again, early_stop, describe):
        self.run_again = run_again
        self.early_stop = early_stop
        self.describe = describe
        self.placeholders = []
        self.descriptions = []
        self.found = defaultdict(weakref.WeakKeyDictionary)
        self.count = defaultdict(int)
        self.done = set()
        self.is_complete = False  # the first run is over
        self.any_count = False

    def save_inputs(self, args):
        places = [i for i, arg in enumerate(args) if isinstance(arg, torch.Tensor)]
        with torch._C.DisableTorchFunction():
            dummy = torch.empty((0,), requires_grad=True)
        self._keeper = _SaveInputs.apply(dummy, *[args[i] for i in places])  # which owns the node
        self._places = places
        self._args = [None if isinstance(arg, torch.Tensor) else arg for arg in args]

    def inputs(self):
        args = list(self._args)
        for place, tensor in zip(self._places, self._keeper.grad_fn.saved_tensors):
            args[place] = tensor
        return args

    def check(self, group):
        """The second run must have saved tensors like those of the first."""
        if self.any_count:
            return
        if len(self.placeholders) != self.count[group]:
            raise CheckpointError(
                "torch.utils.checkpoint: A different number of tensors was saved during the original forward and "
                "recomputation.\nNumber of tensors saved during forward: %d\nNumber of tensors saved during "
                "recomputation: %d.\n%s" % (len(self.placeholders), self.count[group], _HINT)
            )
        if self.describe is None:
            return
        wrong = []
        for i, (reference, first) in enumerate(zip(self.placeholders, self.descriptions)):
            holder = reference()
            if holder is None:
                continue
            second = self.describe(self.found[group][holder.handles[group]])
            if first != second:
                wrong.append(
                    "tensor at position %d:\nsaved metadata: %s\nrecomputed metadata: %s\n"
                    % (i, first, second)
                )
        if wrong:
            raise CheckpointError(
                "torch.utils.checkpoint: Recomputed values for the following tensors have different metadata than "
                "during the forward pass.\n%s.\n%s" % ("".join(wrong), _HINT)
            )


def _describe(tensor):
    return {"shape": tensor.shape, "dtype": tensor.dtype, "device": tensor.device}


_DETERMINISM = {"default": _describe, "none": None}


def _collecting_hooks(frame, group):
    """The hooks of the second run."""

    def pack(tensor):
        tensor = tensor.detach() if tensor.requires_grad else tensor
        index = frame.count[group]
        frame.count[group] += 1
        if index >= len(frame.placeholders):
            if not frame.is_complete:
                frame.any_count = True  # backward inside the function: the first run is not over
                return tensor
            raise CheckpointError(
                "torch.utils.checkpoint: trying to save more tensors during recomputation than during the original "
                "forward pass.\n%s" % _HINT
            )
        holder = frame.placeholders[index]()
        if holder is not None:
            handle = holder.handles[group] = _Handle()
            frame.found[group][handle] = tensor
        if frame.early_stop and frame.count[group] == len(frame.placeholders):
            raise _Stop
        return tensor

    return torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor)


def _current_group():
    if GraphExecGroup._current is not None:
        return GraphExecGroup._current
    task = _C._current_graph_task_id()
    return object() if task == -1 else task


def _placeholder_hooks(frame, explain):
    """The hooks of the first run."""

    def pack(tensor):
        holder = _Placeholder()
        frame.placeholders.append(weakref.ref(holder))
        if frame.describe is not None:
            with torch.no_grad():
                frame.descriptions.append(frame.describe(tensor))
        return holder

    def unpack(holder):
        group = _current_group()
        if group not in frame.done:
            args = frame.inputs()
            with contextlib.suppress(_Stop), _collecting_hooks(frame, group), torch.enable_grad():
                frame.run_again(*args)
            frame.done.add(group)
            frame.check(group)
        handle = holder.handles.get(group)
        if handle is None:
            extra = ""
            if GraphExecGroup._current is not None:
                extra = (
                    "Performing two backward calls that overlap (i.e. require the same saved activation in order to "
                    "compute gradients) is not allowed while under the torch.utils.checkpoint.GraphExecGroup "
                    "context. "
                )
            raise CheckpointError(
                "torch.utils.checkpoint: Unpack is being triggered for a tensor that was already unpacked once. %sIf "
                "you are calling ctx.saved_tensors in backward, make sure to do so only once. Otherwise please open "
                "an issue with details on your use case." % extra
            )
        holder.handles[group] = None
        return frame.found[group][handle]

    def unpack_and_explain(holder):
        try:
            return unpack(holder)
        except CheckpointError as error:
            raise CheckpointError("%s\n%s" % (error, explain())) from error

    hooks = torch.autograd.graph.saved_tensors_hooks
    return hooks(pack, unpack if explain is None else unpack_and_explain)


def _without_reentrance(function, preserve, context_fn, determinism_check, debug, early_stop, args, kwargs):
    explain = None
    if debug if _debug is None else _debug:
        if context_fn is not noop_context_fn:
            raise ValueError("debug=True is incompatible with non-default context_fn")
        first, second = RecordOps(), RecordOps()
        context_fn = lambda: (first, second)  # noqa: E731

        def explain():
            return (
                "Operations executed during the original forward:\n%s\nOperations executed during recomputation:\n"
                "%s" % (first, second)
            )

    if determinism_check not in _DETERMINISM:
        raise ValueError(
            "determinism_check should be one of %s, but got %s" % (list(_DETERMINISM), determinism_check)
        )
    forward_context, second_context = context_fn()
    if not torch.is_grad_enabled():
        return function(*args, **kwargs)
    surroundings = Surroundings(preserve, args)

    def run_again(*args):
        with surroundings, second_context:
            function(*args, **kwargs)

    frame = _Frame(
        run_again, early_stop if _early_stop is None else _early_stop, _DETERMINISM[determinism_check]
    )
    frame.save_inputs(args)
    result, returned = None, False
    with _placeholder_hooks(frame, explain), forward_context:
        result, returned = function(*args, **kwargs), True
    if not returned:
        raise RuntimeError(
            "torch.utils.checkpoint: the forward context provided by context_fn suppressed an exception raised during "
            "the checkpointed forward. This is not supported because checkpoint cannot return a value for a failed "
            "forward."
        )
    frame.is_complete = True
    return result


# --- with reentrance ---


def detach_variable(inputs):
    """detach_variable(inputs) -> tuple: the same without history, a gradient wanted where it was; other things as they
    are.  RuntimeError when it is no tuple."""
    if not isinstance(inputs, tuple):
        raise RuntimeError(
            "Only tuple of tensors is supported. Got Unsupported input type: %s" % type(inputs).__name__
        )
    result = []
    for value in inputs:
        if isinstance(value, torch.Tensor):
            wanted, value = value.requires_grad, value.detach()
            value.requires_grad = wanted
        result.append(value)
    return tuple(result)


def check_backward_validity(inputs):
    """check_backward_validity(inputs): warns when no tensor among them requires a gradient."""
    if not any([isinstance(value, torch.Tensor) and value.requires_grad for value in inputs]):
        import warnings

        warnings.warn("None of the inputs have requires_grad=True. Gradients will be None", stacklevel=2)


class CheckpointFunction(torch.autograd.Function):
    """The custom Function of checkpoints with reentrance."""

    @staticmethod
    def forward(ctx, run_function, preserve_rng_state, *args):
        """forward(ctx, run_function, preserve_rng_state, *args): runs it without recording."""
        check_backward_validity(args)
        ctx.run_function = run_function
        ctx.surroundings = Surroundings(preserve_rng_state, args)
        ctx.inputs = [None if isinstance(arg, torch.Tensor) else arg for arg in args]
        ctx.tensor_indices = [i for i, arg in enumerate(args) if isinstance(arg, torch.Tensor)]
        ctx.save_for_backward(*[args[i] for i in ctx.tensor_indices])
        with torch.no_grad():
            return run_function(*args)

    @staticmethod
    def backward(ctx, *grads):
        """backward(ctx, *grads): runs it again, and backward through that."""
        if not _C._is_checkpoint_valid():
            raise RuntimeError(
                "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or passing an `inputs` "
                "parameter to .backward(). To resolve this error, you can either set use_reentrant=False, or call "
                ".backward() without passing the `inputs` argument."
            )
        inputs = list(ctx.inputs)
        for place, tensor in zip(ctx.tensor_indices, ctx.saved_tensors):
            inputs[place] = tensor
        with ctx.surroundings:
            inputs = detach_variable(tuple(inputs))
            with torch.enable_grad():
                outputs = ctx.run_function(*inputs)
        outputs = (outputs,) if isinstance(outputs, torch.Tensor) else outputs
        pairs = [(o, g) for o, g in zip(outputs, grads) if isinstance(o, torch.Tensor) and o.requires_grad]
        if not pairs:
            raise RuntimeError("none of output has requires_grad=True, this checkpoint() is not necessary")
        torch.autograd.backward(*zip(*pairs))
        return (None, None) + tuple(
            [value.grad if isinstance(value, torch.Tensor) else None for value in inputs]
        )


# --- the front doors ---

_UNDECIDED = (
    "torch.utils.checkpoint%s: the use_reentrant parameter should be passed explicitly. Starting in PyTorch 2.9, calling "
    "checkpoint without use_reentrant will raise an exception. use_reentrant=False is recommended, but if you need to "
    "preserve the current default behavior, you can pass use_reentrant=True. Refer to docs for more details on the "
    "differences between the two variants."
)


def _decided(use_reentrant, who):
    if use_reentrant is None:
        import warnings

        warnings.warn(_UNDECIDED % who, stacklevel=3)
        return True
    return use_reentrant


def checkpoint(
    function,
    *args,
    use_reentrant=None,
    context_fn=noop_context_fn,
    determinism_check="default",
    debug=False,
    early_stop=True,
    **kwargs,
):
    """checkpoint(function, *args, use_reentrant=None, context_fn=noop_context_fn, determinism_check='default', debug=False,
    early_stop=True, preserve_rng_state=True, **kwargs)

    `function(*args, **kwargs)`, whose intermediate results are not kept but computed again in backward: less memory for
    more time.  Random numbers are the same in both runs unless `preserve_rng_state` is False.

    use_reentrant=False is the better kind; True (what None means, with a warning) takes no keyword arguments for the
    function (ValueError) and works with `backward()` only, not with `grad` (RuntimeError).  The others are for
    use_reentrant=False: `context_fn()` gives two context managers, for the first and the second run; `determinism_check`
    "none" turns off the comparison of shapes, dtypes and devices of the two runs, whose failure is a CheckpointError;
    `early_stop` ends the second run when everything is there.

    Example::

        >>> x = torch.ones(2, requires_grad=True)
        >>> y = torch.utils.checkpoint.checkpoint(lambda t: t.sin().exp(), x, use_reentrant=False)
        >>> y.sum().backward()
        >>> x.grad
        tensor([1.2534, 1.2534])
    """
    use_reentrant = _decided(use_reentrant, "")
    preserve = kwargs.pop("preserve_rng_state", True)
    if not use_reentrant:
        return _without_reentrance(
            function, preserve, context_fn, determinism_check, debug, early_stop, args, kwargs
        )
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    if context_fn is not noop_context_fn or debug is not False:
        raise ValueError("Passing `context_fn` or `debug` is only supported when use_reentrant=False.")
    return CheckpointFunction.apply(function, preserve, *args)


def checkpoint_sequential(functions, segments, input, use_reentrant=None, **kwargs):
    """checkpoint_sequential(functions, segments, input, use_reentrant=None, preserve_rng_state=True)

    The functions (or the modules of a Sequential) one after the other, in `segments` parts of which all but the last are
    checkpoints.

    Example::

        >>> x = torch.ones(2, requires_grad=True)
        >>> torch.utils.checkpoint.checkpoint_sequential([torch.abs, torch.sqrt, torch.neg], 2, x, use_reentrant=False)
        tensor([-1., -1.], grad_fn=<NegBackward0>)
    """
    use_reentrant = _decided(use_reentrant, ".checkpoint_sequential")
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    if isinstance(functions, torch.nn.Sequential):
        functions = list(functions.children())

    def part(start, end):
        def run(value):
            for function in functions[start : end + 1]:
                value = function(value)
            return value

        return run

    size, end = len(functions) // segments, -1
    for start in range(0, size * (segments - 1), size):
        end = start + size - 1
        input = checkpoint(part(start, end), input, use_reentrant=use_reentrant, preserve_rng_state=preserve)
    return part(end + 1, len(functions) - 1)(input)
