"""Names of torch.autograd and its neighbours that old programs and rare ones import."""

import importlib
import subprocess
import sys
import warnings

import pytest


def module(torch, name):
    return importlib.import_module(torch.__name__ + "." + name)


@pytest.mark.item("M5.83")
def test_switches_can_be_asked(torch):
    autograd = torch.autograd
    assert autograd.is_multithreading_enabled() is True and autograd.is_view_replay_enabled() is False
    with autograd.set_multithreading_enabled(False):
        assert autograd.is_multithreading_enabled() is False
    assert autograd._is_checkpoint_valid() is True
    assert autograd.NestedIOFunction is autograd.function.NestedIOFunction
    assert isinstance(autograd.kineto_available(), bool)


@pytest.mark.item("M5.116")
def test_variable_is_called_in_vain(torch):
    autograd = torch.autograd
    assert autograd.variable.Variable is autograd.Variable
    with pytest.raises(RuntimeError, match="variable.* is deprecated, use torch.tensor"):
        autograd.variable(torch.ones(1))


@pytest.mark.item("M5.90")
def test_functions_of_c(torch):
    functions = torch._C._functions
    x = torch.ones(2, requires_grad=True)
    y = functions.UndefinedGrad()(x)
    assert torch.equal(y, x) and y is not x and y.grad_fn.name().endswith("UndefinedGradBackward")
    assert (
        type(y.grad_fn).__name__ == "UndefinedGradBackward" and y.grad_fn.next_functions[0][0].variable is x
    )
    y.sum().backward()
    assert x.grad is None
    assert functions.UndefinedGrad()(None) is None and functions.DelayedError("a", 2)(x, None)[1] is None
    for bad, text in (((3,), "argument 0 is not a Variable"), ((x, x), "expected 1 arguments, got 2")):
        with pytest.raises(TypeError, match=text):
            functions.UndefinedGrad()(*bad)
    z = functions.DelayedError("too late", 1)(x)
    assert type(z.grad_fn).__name__ == "Error"
    with pytest.raises(RuntimeError, match="^too late$"):
        z.sum().backward()
    for arguments, text in (
        ((), "Requires two arguments, got 0"),
        (("a",), "Requires two arguments, got 1"),
        ((1, 2), "'msg' must be a string"),
        (("a", "b"), "'num_inputs' must be an int"),
    ):
        with pytest.raises(RuntimeError, match=text):
            functions.DelayedError(*arguments)
    with pytest.raises(TypeError, match="expected 2 arguments, got 1"):
        functions.DelayedError("a", 2)(x)
    assert isinstance((x * 1).grad_fn.next_functions[0][0], functions.AccumulateGrad)


@pytest.mark.item("M5.90")
def test_old_functions(torch):
    old = module(torch, "autograd._functions")
    x = torch.arange(6.0, requires_grad=True)
    y = old.Resize.apply(x, (2, 3))
    y.backward(torch.ones(2, 3))
    assert y.shape == (2, 3) and x.grad.tolist() == [1] * 6
    with pytest.raises(
        RuntimeError, match=r"requested resize to 4 \(4 elements in total\).* size of 6 \(6 elements\)"
    ):
        old.Resize.apply(x, (4,))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert old.Type.apply(x, torch.float64).dtype == torch.float64
    assert [w.category for w in caught] == [FutureWarning]


@pytest.mark.item("M5.28")
def test_settings_of_the_graph_module(torch):
    graph = torch.autograd.graph
    assert set(graph.__all__) <= set(dir(graph))
    for name in ("set_override_stale_capture_stream", "set_warn_on_accumulate_grad_stream_mismatch"):
        assert getattr(graph, name)(True) is None
        with pytest.raises(RuntimeError, match="enabled must be a bool, but got int"):
            getattr(graph, name)(1)
    for budget, error in ((0.5, RuntimeError), (2, ValueError), ("a", TypeError)):
        with pytest.raises(error, match="region_activation_memory_budget"):
            graph.region_activation_memory_budget(budget).__enter__()


@pytest.mark.item("M5.115")
def test_selective_checkpoints(torch):
    import functools

    module = importlib.import_module(torch.__name__ + ".utils.checkpoint")
    names = [p.name for p in module.CheckpointPolicy]
    assert names[:4] == ["MUST_SAVE", "PREFER_SAVE", "MUST_RECOMPUTE", "PREFER_RECOMPUTE"]
    context = module.SelectiveCheckpointContext(is_recompute=False)
    assert context.is_recompute is False and context.op_output is None
    make = module.create_selective_checkpoint_contexts
    for policy in (lambda ctx, op, *a, **k: module.CheckpointPolicy.PREFER_RECOMPUTE, []):
        x = torch.ones(2, 2, requires_grad=True)
        y = module.checkpoint(
            lambda t: (t @ t).exp(), x, use_reentrant=False, context_fn=functools.partial(make, policy)
        )
        y.sum().backward()
        (g,) = torch.autograd.grad((x @ x).exp().sum(), x)
        assert torch.equal(x.grad, g)
    with pytest.raises(ValueError, match="Expected op in `op_list` to be an OpOverload"):
        make([torch.mm])
    with pytest.raises(TypeError, match="must be either a function or a list of ops"):
        make(3)


LEAVING = """
import warnings
import {name} as torch
t = torch.tensor(2.0, requires_grad=True)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    with torch.no_grad():
        float(t)
    int(t), bool(t), t.item(), f"{{t:.1f}}", t.tolist(), float(t.detach())
    print(len(caught))
    {first}
    print(len(caught), caught[0].category.__name__, str(caught[0].message).split("(Triggered")[0].replace(chr(10), " ").strip())
    float(t), complex(t)
    print(len(caught))
"""


@pytest.mark.item("M5.80")
@pytest.mark.parametrize(
    "first", ["float(t * 1)", "complex(t)", "torch.tensor([t])", "__import__('math').sqrt(t)"]
)
def test_numbers_leave_the_graph_with_a_word(torch, first):
    program = LEAVING.format(name=torch.__name__, first=first)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.stdout.splitlines() == [
        "0",
        "1 UserWarning Converting a tensor with requires_grad=True to a scalar may lead to unexpected behavior. "
        "Consider using tensor.detach() first.",
        "1",
    ], done.stderr


@pytest.mark.item("M5.83")
def test_small_private_names(torch):
    """Names with an underscore that libraries use."""
    utils, graph, modes = torch._utils, torch.autograd.graph, torch.autograd.grad_mode
    flat = utils._flatten_dense_tensors([torch.ones(2, 2).t(), torch.zeros(1)])
    assert flat.tolist() == [1, 1, 1, 1, 0]
    like = [torch.ones(2, 2), torch.ones(0, 3), torch.tensor(1.0)]
    parts = utils._unflatten_dense_tensors(torch.arange(5.0), like)
    assert type(parts) is tuple and [p.tolist() for p in parts] == [[[0, 1], [2, 3]], [], 4]
    x = torch.ones(2, requires_grad=True)
    assert graph._get_grad_fn_or_grad_acc(x) is (x * 1).grad_fn.next_functions[0][0]
    with pytest.raises(AssertionError, match="Expected gradient function to be set"):
        graph._get_grad_fn_or_grad_acc(torch.ones(1))
    assert graph.save_on_cpu.__module__ == graph.__name__
    context = modes._enter_inference_mode(True)
    assert torch.is_inference_mode_enabled()
    modes._exit_inference_mode(context)
    assert not torch.is_inference_mode_enabled()
    y = x * x
    assert isinstance(y.grad_fn._raw_saved_self, torch.autograd.SavedTensor)
