"""Custom Functions as nodes of the graph: how long they live, and what apply does where things go wrong around them."""

import functools
import gc
import weakref

import pytest

from custom_functions import leaf, make


@pytest.mark.item("M5.90")
@pytest.mark.parametrize("name", ["forward", "_backward_cls"])
def test_attributes_that_fail(torch, name):
    class Meta(type(torch.autograd.Function)):
        def __getattribute__(cls, key):
            if key == name:
                raise KeyError(name)
            return super().__getattribute__(key)

    F = Meta("F", (torch.autograd.Function,), {"backward": staticmethod(lambda ctx, g: g)})
    with pytest.raises(KeyError):
        F.apply(leaf(torch, 2))
    assert torch.is_grad_enabled()


# --- the node lives as long as its object ---


class Thing:
    """Something to hang on a ctx and to miss."""


def double(torch, seen=None):
    def forward(ctx, x):
        ctx.thing = Thing()
        ctx.save_for_backward(x)
        if seen is not None:
            seen.append(ctx)
        return x * 2

    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 2 * x

    return make(torch, forward, backward, "Double")


def check_node(torch, node, x):
    """Everything a node is for, after its output has died."""
    edge = torch.autograd.graph.GradientEdge(node, 0)
    (follower,) = node.next_functions
    assert follower[0].variable is x
    (saved,) = node.saved_tensors
    assert saved is x or saved.data_ptr() == x.data_ptr()
    assert node.name() == "DoubleBackward"
    assert node._input_metadata[0].shape == [2]
    seen = []
    node.register_hook(lambda gi, go: seen.append((gi[0].tolist(), go[0].tolist())))
    (g,) = torch.autograd.grad((edge,), x, torch.full((2,), 3.0))
    assert g.tolist() == [6, 6] and seen == [([6, 6], [3, 3])]
    with pytest.raises(RuntimeError, match="second time"):
        torch.autograd.grad((edge,), x, torch.ones(2))
    with pytest.raises(RuntimeError, match="second time"):
        node.saved_tensors


@pytest.mark.item("M5.90")
def test_node_outlives_its_output(torch):
    x = leaf(torch, 2)
    check_node(torch, double(torch).apply(x).grad_fn, x)


@pytest.mark.item("M5.90")
@pytest.mark.parametrize("read", [False, True])
def test_node_of_a_ctx_that_was_kept(torch, read):
    x, seen = leaf(torch, 2), []
    y = double(torch, seen).apply(x)
    if read:
        assert y.grad_fn is seen[0]
    del y
    check_node(torch, seen[0], x)


@pytest.mark.item("M5.90")
def test_node_dies_with_its_object(torch):
    x = leaf(torch, 2)
    F = double(torch)
    node = F.apply(F.apply(x)).grad_fn
    inner = node.next_functions[0][0]
    things = [weakref.ref(node.thing), weakref.ref(inner.thing)]
    gc.disable()
    try:
        del inner
        assert None not in [thing() for thing in things]
        del node
        assert [thing() for thing in things] == [None, None]
    finally:
        gc.enable()


@pytest.mark.item("M5.90")
@pytest.mark.parametrize(
    "cycle",
    [
        "output",
        "itself",
        "hook",
        "closed in forward",
        pytest.param("followers", marks=pytest.mark.minitorch_only(reason="PyTorch leaks it")),
    ],
)
@pytest.mark.parametrize("alone", [False, True])
def test_cycles_of_nodes_are_collected(torch, cycle, alone):
    seen = []

    def forward(ctx, x):
        ctx.thing = Thing()
        seen.append(ctx)
        return x * 2

    F = make(torch, forward, lambda ctx, g: g)
    y = F.apply(F.apply(leaf(torch, 2)))
    node = y.grad_fn
    thing = weakref.ref(node.thing)
    if cycle == "output":
        node.y = y
    elif cycle == "itself":
        node.me = node
    elif cycle == "followers":
        node.next_functions[0][0].back = node
    elif cycle == "hook":
        node.register_hook(functools.partial(print, node))
    else:
        seen[-1].thing.ctx = seen[-1]
    seen.clear()
    if alone:  # the object owns its node when it becomes garbage
        y = None
    del node, y
    gc.collect()
    assert thing() is None


@pytest.mark.item("M5.90")
def test_node_that_is_used_again(torch):
    """A saved output brings the history of the node back, whose object then dies and lives on with it."""
    x = leaf(torch, 2)

    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(y)
        ctx.thing = Thing()
        return y

    Exp = make(torch, forward, lambda ctx, g: g * ctx.saved_tensors[0], "Exp")
    for _ in range(3):
        node = Exp.apply(x).grad_fn
        thing = weakref.ref(node.thing)
        (y,) = node.saved_tensors
        del node
        assert thing() is not None
        assert y.grad_fn.thing is thing()
        node = y.grad_fn
        del y
        (y,) = node.saved_tensors
        del node
        (g,) = torch.autograd.grad(y.sum(), x)
        assert torch.equal(g, x.detach().exp())
        y.grad_fn.me = y.grad_fn
        del y
        gc.collect()
        assert thing() is None


@pytest.mark.item("M5.90")
def test_long_chains_die_without_recursion(torch):
    F = make(torch, lambda ctx, x: x.clone(), lambda ctx, g: g)
    y = leaf(torch, 1)
    for _ in range(30_000):
        y = F.apply(y)
    node = y.grad_fn
    del y
    node = node.next_functions[0][0]
    del node
    gc.collect()


# --- views that nothing is recorded of ---

IN_FUNCTION = "created inside a custom Function"


def make_view(torch, kind):
    forward = {
        "identity": lambda ctx, x: x,
        "view": lambda ctx, x: x[1:],
        "two": lambda ctx, x: (x[1:], x[:1]),
    }[kind]
    F = make(torch, forward, lambda ctx, *g: None)

    def apply(x):
        v = F.apply(x)
        return v[0] if isinstance(v, tuple) else v

    return apply


@pytest.mark.item("M5.92")
@pytest.mark.parametrize("kind", ["view", "two"])
def test_views_made_without_recording(torch, kind):
    x = leaf(torch, 2)
    y = x.exp()
    with torch.no_grad():
        v = make_view(torch, kind)(y)
        assert v.requires_grad and v._is_view()
    with pytest.raises(RuntimeError, match=IN_FUNCTION):
        v.mul_(2)
    with torch.no_grad():
        v.mul_(2)
    y.mul_(2)
    with pytest.raises(RuntimeError, match=IN_FUNCTION):
        v.grad_fn


@pytest.mark.item("M5.92")
@pytest.mark.parametrize("kind", ["identity", "view", "two"])
def test_views_of_what_needs_no_gradient(torch, kind):
    x = leaf(torch, 2)
    b = torch.ones(2)
    v = make_view(torch, kind)(b)
    assert not v.requires_grad and v._is_view()
    b.add_(1)
    v.add_(1)
    assert v.grad_fn is None
    with pytest.raises(RuntimeError, match=IN_FUNCTION):
        v.add_(x[: len(v)])
    b.add_(x)
    with pytest.raises(RuntimeError, match=IN_FUNCTION):
        v.grad_fn


@pytest.mark.item("M5.92")
@pytest.mark.parametrize("kind", ["view", "identity"])
def test_views_marked_as_constants(torch, kind):
    x = leaf(torch, 2)

    def forward(ctx, x):
        v = x if kind == "identity" else x[1:]
        ctx.mark_non_differentiable(v)
        return v

    F = make(torch, forward, lambda ctx, g: None)
    b = torch.ones(2)
    v = F.apply(b)
    b.mul_(x)
    with pytest.raises(RuntimeError, match=IN_FUNCTION):
        v.grad_fn


@pytest.mark.item("M5.92")
def test_views_in_inference_mode(torch):
    with torch.inference_mode():
        i = torch.ones(2)
        for kind in ("identity", "view", "two"):
            v = make_view(torch, kind)(i)
            v.mul_(2)
            assert v.is_inference()
