# SPDX-License-Identifier: BSD-3-Clause
"""torch.autograd: gradients by walking recorded operations backwards.  The walk is in the C engine."""

import minitorch as torch
from minitorch import _C

__all__ = [
    "Variable",
    "Function",
    "backward",
    "grad",
    "detect_anomaly",
    "set_detect_anomaly",
    "grad_mode",
    "gradcheck",
    "gradgradcheck",
    "no_grad",
    "enable_grad",
    "inference_mode",
    "set_grad_enabled",
    "set_multithreading_enabled",
    "enforce_grad_layout_policy",
]

_has_torch_function = _C._has_torch_function
SavedTensor = _C._SavedTensor


def _is_one(value):
    """One tensor, an object that stands for one, or a gradient edge: not a sequence of them."""
    if isinstance(value, torch.Tensor):
        return True
    if hasattr(type(value), "__torch_function__") or hasattr(value, "__torch_function__"):
        return True
    return isinstance(value, tuple) and type(value).__name__ == "GradientEdge"


def _tensors_of(values):
    return tuple(v for v in values if not (isinstance(v, tuple) and type(v).__name__ == "GradientEdge"))


def _inputs_tuple(inputs, who):
    if _is_one(inputs):
        return (inputs,)
    if type(inputs) is dict:
        inputs = tuple(inputs.values())
    elif hasattr(inputs, "keys") and hasattr(inputs, "__getitem__"):
        raise TypeError(
            "`inputs` argument to `%s()` must be a dict, not %s. Other Mapping types are not supported."
            % (who, type(inputs).__name__)
        )
    else:
        inputs = tuple(inputs)
    if not inputs:
        raise RuntimeError("`inputs` argument to `%s()` cannot be empty." % who)
    return inputs


def _grads_tuple(grads, outputs):
    if grads is None:
        return None
    if isinstance(grads, torch.Tensor):
        grads = (grads,)
    return tuple(grads)


def backward(
    tensors, grad_tensors=None, retain_graph=None, create_graph=False, grad_variables=None, inputs=None
):
    """backward(tensors, grad_tensors=None, retain_graph=None, create_graph=False, grad_variables=None,
    inputs=None)

    Adds the gradients of `tensors`, weighted by `grad_tensors`, to `.grad` of the leaves they depend on, or
    of `inputs` only.  The graph is freed unless `retain_graph` (default: `create_graph`) is set; with `create_graph`
    the gradients can be differentiated themselves.  `grad_tensors` have the shapes of `tensors`; one may be None for a
    tensor of one element.  RuntimeError for tensors that nothing recorded, weights of another shape, a graph that
    was freed, saved tensors that were changed in place.

    Example::

        >>> x = torch.tensor([1., 2.], requires_grad=True)
        >>> torch.autograd.backward([x * x, 3 * x], [torch.ones(2), torch.ones(2)])
        >>> x.grad
        tensor([5., 7.])
    """
    if grad_variables is not None:
        import warnings

        warnings.warn(
            "`grad_variables` is deprecated. Use `grad_tensors` instead.", FutureWarning, stacklevel=2
        )
        if grad_tensors is not None:
            raise RuntimeError(
                "`grad_tensors` and `grad_variables` (deprecated) arguments both passed to `backward()`. "
                "Please only use `grad_tensors`."
            )
        grad_tensors = grad_variables
    wanted = None if inputs is None else _inputs_tuple(inputs, "backward")
    tensors = (tensors,) if _is_one(tensors) else tuple(tensors)
    involved = _tensors_of(tensors + wanted if wanted else tensors)
    if _has_torch_function(involved):
        from minitorch.overrides import handle_torch_function

        return handle_torch_function(
            backward,
            involved,
            tensors,
            grad_tensors=grad_tensors,
            retain_graph=retain_graph,
            create_graph=create_graph,
            inputs=wanted,
        )
    if retain_graph is None:
        retain_graph = create_graph
    _C._engine_run(
        tensors, _grads_tuple(grad_tensors, tensors), retain_graph, create_graph, wanted, True, True, False
    )


def grad(
    outputs,
    inputs,
    grad_outputs=None,
    retain_graph=None,
    create_graph=False,
    only_inputs=True,
    allow_unused=None,
    is_grads_batched=False,
    materialize_grads=False,
):
    """grad(outputs, inputs, grad_outputs=None, retain_graph=None, create_graph=False, only_inputs=True,
    allow_unused=None, is_grads_batched=False, materialize_grads=False) -> tuple of Tensors

    The gradients of `outputs`, weighted by `grad_outputs`, with respect to `inputs`; no `.grad` is touched.
    A dict of inputs gives a dict.  `retain_graph` and `create_graph`: as for backward.  An input that the outputs do not
    depend on is a RuntimeError, unless `allow_unused` is set, which gives None for it, or `materialize_grads`, which gives
    zeros.  With `is_grads_batched` the first dimension of each of `grad_outputs` counts several weights, and that of the
    results their gradients.  Other errors: as of backward.

    Example::

        >>> x = torch.tensor(3., requires_grad=True)
        >>> torch.autograd.grad(x * x, x)
        (tensor(6.),)
    """
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: "
            "allow_unused=False."
        )
    if allow_unused is None:
        allow_unused = materialize_grads
    outputs = (outputs,) if _is_one(outputs) else tuple(outputs)
    wanted = _inputs_tuple(inputs, "grad")
    involved = _tensors_of(outputs + wanted)
    if _has_torch_function(involved):
        from minitorch.overrides import handle_torch_function

        result = handle_torch_function(
            grad,
            involved,
            outputs,
            wanted,
            grad_outputs=grad_outputs,
            retain_graph=retain_graph,
            create_graph=create_graph,
            only_inputs=only_inputs,
            allow_unused=allow_unused,
            is_grads_batched=is_grads_batched,
            materialize_grads=materialize_grads,
        )
        return dict(zip(inputs, result)) if type(inputs) is dict else result
    if not only_inputs:
        import warnings

        warnings.warn(
            "only_inputs argument is deprecated and is ignored now (defaults to True). To accumulate "
            "gradient for other parts of the graph, please use torch.autograd.backward.",
            FutureWarning,
            stacklevel=2,
        )
    if retain_graph is None:
        retain_graph = create_graph
    grads = _grads_tuple(grad_outputs, outputs)
    run = _batched if is_grads_batched else _C._engine_run
    result = run(outputs, grads, retain_graph, create_graph, wanted, False, allow_unused, materialize_grads)
    return dict(zip(inputs, result)) if type(inputs) is dict else result


def _shape_of(output):
    if isinstance(output, torch.Tensor):
        return output.shape
    return torch.Size(output.node._input_metadata[output.output_nr].shape)


def _batch_size(outputs, grads):
    sizes = []
    for i, (output, given) in enumerate(zip(outputs, grads)):
        if given is None:
            continue
        if not isinstance(given, torch.Tensor):
            raise TypeError("gradients can be either Tensors or None, but got %s" % type(given).__name__)
        if given.ndim == 0:
            raise IndexError("invalid index of a 0-dim tensor: a batch of gradients has a dimension for them")
        if given.shape[1:] != _shape_of(output):
            raise RuntimeError(
                "If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the "
                "batch dimension. The sizes of the remaining dimensions are expected to match the shape of "
                "corresponding output, but a mismatch was detected: grad_output[%d] has a shape of %s and "
                "output[%d] has a shape of %s. If you only want some tensors in `grad_output` to be "
                "considered batched, consider using vmap." % (i, given.shape[2:], i, _shape_of(output))
            )
        sizes.append(given.shape[0])
    if len(sizes) != len(outputs):
        if any(_shape_of(o).numel() != 1 for o in outputs[len(grads) :]):
            raise RuntimeError("grad can be implicitly created only for scalar outputs")
        raise ValueError("vmap: a gradient of every output is needed, with a dimension for the batch")
    if len(set(sizes)) != 1:
        raise ValueError(
            "vmap: Expected all tensors to have the same size in the mapped dimension, got sizes %s for "
            "the mapped dimension" % sizes
        )
    if sizes[0] == 0:
        raise IndexError("index 0 is out of bounds for dimension 0 with size 0")
    return sizes[0]


def _batched(outputs, grads, retain_graph, create_graph, wanted, accumulate, allow_unused, materialize_grads):
    """One run per index of the first dimension of the gradients, stacked."""
    count = _batch_size(outputs, grads or ())
    rows = []
    for i in range(count):
        row = tuple(None if g is None else g[i] for g in grads)
        keep = retain_graph or i + 1 < count
        rows.append(_C._engine_run(outputs, row, keep, create_graph, wanted, accumulate, allow_unused, False))
    result = [None if column[0] is None else torch.stack(column) for column in zip(*rows)]
    for i, value in enumerate(result):
        if value is None and materialize_grads:  # not batched, as in PyTorch
            if not isinstance(wanted[i], torch.Tensor):
                raise RuntimeError("materialize_grads cannot be used when the given input is a GradientEdge")
            result[i] = torch.zeros_like(wanted[i])
    return tuple(result)


def _is_checkpoint_valid():
    return _C._is_checkpoint_valid()


def is_multithreading_enabled():
    """is_multithreading_enabled() -> bool: what set_multithreading_enabled has set."""
    return _C._is_multithreading_enabled()


def is_view_replay_enabled():
    """is_view_replay_enabled() -> bool: what _force_original_view_tracking has set."""
    return _C._is_view_replay_enabled()


_MODULES = (
    "_functions",
    "anomaly_mode",
    "forward_ad",
    "function",
    "functional",
    "grad_mode",
    "graph",
    "profiler",
    "variable",
)
_LAZY = {
    "Function": "function",
    "NestedIOFunction": "function",
    "kineto_available": "profiler",
    "Variable": "variable",
    "VariableMeta": "variable",
    "detect_anomaly": "anomaly_mode",
    "set_detect_anomaly": "anomaly_mode",
    "gradcheck": "gradcheck",
    "gradgradcheck": "gradcheck",
    "no_grad": "grad_mode",
    "enable_grad": "grad_mode",
    "inference_mode": "grad_mode",
    "set_grad_enabled": "grad_mode",
    "set_multithreading_enabled": "grad_mode",
    "enforce_grad_layout_policy": "grad_mode",
    "_force_original_view_tracking": "grad_mode",
    "_unsafe_preserve_version_counter": "grad_mode",
}


def __getattr__(name):
    import importlib

    if name in _MODULES:
        return importlib.import_module("minitorch.autograd." + name)
    if name not in _LAZY:
        raise AttributeError("module 'torch.autograd' has no attribute '%s'" % name)
    value = getattr(importlib.import_module("minitorch.autograd." + _LAZY[name]), name)
    globals()[name] = value
    return value


def __dir__():
    return sorted({*globals(), *_LAZY, *_MODULES})
