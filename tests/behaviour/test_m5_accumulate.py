"""Gradients of leaves: when they are taken over, when copied; retained gradients; accumulators."""

import gc
import weakref

import pytest


def giving(torch, make):
    """A Function whose backward gives `make(g)`."""

    class Give(torch.autograd.Function):
        @staticmethod
        def forward(ctx, t):
            return t.clone()

        @staticmethod
        def backward(ctx, g):
            return make(g)

    return Give.apply


# --- the first gradient ---


@pytest.mark.item("M5.40")
def test_gradient_that_nobody_else_has_is_taken_over(torch):
    pointers = []

    def make(g):
        out = torch.ones(3) * 2
        pointers.append(out.data_ptr())
        return out

    x = torch.zeros(3, requires_grad=True)
    giving(torch, make)(x).sum().backward()
    assert x.grad.data_ptr() == pointers[0] and x.grad.tolist() == [2, 2, 2]


@pytest.mark.item("M5.40")
def test_gradient_that_somebody_keeps_is_copied(torch):
    kept = []

    def make(g):
        kept.append(torch.ones(3) * 2)
        return kept[0]

    x = torch.zeros(3, requires_grad=True)
    giving(torch, make)(x).sum().backward()
    assert x.grad.data_ptr() != kept[0].data_ptr()
    x.grad.add_(1)
    assert kept[0].tolist() == [2, 2, 2]


@pytest.mark.item("M5.40")
@pytest.mark.minitorch_only(
    reason="PyTorch takes over a view of memory that others hold, and writes to it later"
)
def test_gradient_whose_memory_is_shared_is_copied(torch):
    kept = []

    def make(g):
        kept.append(torch.ones(4))
        return kept[0][:3]

    x = torch.zeros(3, requires_grad=True)
    giving(torch, make)(x).sum().backward()
    x.grad.add_(1)
    assert kept[0].tolist() == [1, 1, 1, 1] and x.grad.tolist() == [2, 2, 2]


@pytest.mark.item("M5.40")
def test_gradient_of_other_layout_is_copied(torch):
    """Broadcast gradients, transposed ones: .grad has the layout of the leaf."""
    for make in (
        lambda g: torch.ones(1).expand(3, 2),
        lambda g: torch.ones(2, 3).t(),
        lambda g: torch.ones(6, 2)[::2],
    ):
        x = torch.zeros(3, 2, requires_grad=True)
        giving(torch, make)(x).sum().backward()
        assert x.grad.stride() == (2, 1) and x.grad.tolist() == [[1, 1]] * 3
        x.grad.add_(1)
        assert x.grad.sum() == 12


@pytest.mark.item("M5.40")
def test_gradient_given_to_backward_is_copied(torch):
    x, g = torch.zeros(3, requires_grad=True), torch.ones(3)
    x.backward(g)
    x.grad.add_(1)
    assert g.tolist() == [1, 1, 1]
    x.grad = None
    y = torch.zeros(3, requires_grad=True)
    (x + y).backward(g)
    x.grad.add_(1)
    y.grad.add_(2)
    assert g.tolist() == [1, 1, 1] and x.grad is not y.grad
    assert (x.grad.tolist(), y.grad.tolist()) == ([2, 2, 2], [3, 3, 3])


@pytest.mark.item("M5.40")
@pytest.mark.minitorch_only(
    reason="PyTorch takes over a view of memory that others hold, and writes to it later"
)
def test_gradient_given_to_backward_of_a_view_is_copied(torch):
    x, g = torch.zeros(3, requires_grad=True), torch.ones(3)
    x.view(3).backward(g)
    x.grad.add_(1)
    assert g.tolist() == [1, 1, 1]


@pytest.mark.item("M5.40")
def test_leaves_never_share_a_gradient(torch):
    x, y = torch.zeros(3, requires_grad=True), torch.zeros(3, requires_grad=True)
    (x + y).sum().backward()
    assert x.grad.data_ptr() != y.grad.data_ptr()
    x.grad.add_(1)
    assert y.grad.tolist() == [1, 1, 1]
    z = torch.zeros(3, requires_grad=True)
    h = z * 1
    h.retain_grad()
    h.sum().backward()
    z.grad.add_(1)
    assert h.grad.tolist() == [1, 1, 1]


@pytest.mark.item("M5.40")
def test_hook_that_keeps_the_gradient(torch):
    kept = []
    x = torch.zeros(3, requires_grad=True)
    x.register_hook(kept.append)
    (x * 2).sum().backward()
    x.grad.add_(1)
    assert kept[0].tolist() == [2, 2, 2]
    y = torch.zeros(3, requires_grad=True)
    (y * 2).sum().backward()
    first = y.grad
    y.grad = None
    (y * 3).sum().backward()
    assert first.tolist() == [2, 2, 2]


@pytest.mark.item("M5.40")
@pytest.mark.filterwarnings("ignore:Using backward")
def test_gradient_with_a_graph_is_copied_with_it(torch):
    x = torch.full((2,), 3.0, requires_grad=True)
    (x * x).sum().backward(create_graph=True)
    assert x.grad.tolist() == [6, 6] and x.grad.requires_grad
    assert torch.autograd.grad(x.grad.sum(), x)[0].tolist() == [2, 2]
    x.grad = None


@pytest.mark.item("M5.41")
def test_gradient_in_the_hands_of_a_program_is_added_to_in_place(torch):
    x = torch.zeros(2, requires_grad=True)
    (x * 2).sum().backward()
    alias, view = x.grad.detach(), x.grad[0]
    (x * 3).sum().backward()
    assert alias.tolist() == [5, 5] and view.item() == 5
    with torch.no_grad():
        x.grad.zero_()
    assert alias.tolist() == [0, 0]


@pytest.mark.item("M5.41")
@pytest.mark.filterwarnings("ignore:Using backward")
def test_create_graph_makes_a_new_gradient(torch):
    x = torch.full((2,), 3.0, requires_grad=True)
    x.sum().backward()
    before = x.grad
    (x * x).sum().backward(create_graph=True)
    assert before.tolist() == [1, 1] and x.grad.tolist() == [7, 7]
    x.grad = None


# --- the setter ---


@pytest.mark.item("M5.42")
def test_refused_gradient_changes_nothing(torch):
    x = torch.ones(2, requires_grad=True)
    y = (x * x).sum()
    x.grad = torch.zeros(2)
    before = x.grad
    refs = weakref.ref(before)
    for bad in (
        torch.zeros(3),
        torch.zeros(2, dtype=torch.float64),
        torch.zeros(2, 1),
        x,
        1,
        "grad",
        [0.0, 0.0],
    ):
        with pytest.raises((RuntimeError, TypeError)):
            x.grad = bad
        assert x.grad is before
    y.backward()
    assert x.grad is before and before.tolist() == [2, 2]
    del before
    del x.grad
    assert refs() is None


@pytest.mark.item("M5.42")
def test_gradient_set_by_hand_is_the_very_object(torch):
    class Mine(torch.Tensor):
        pass

    x = torch.ones(2, requires_grad=True)
    g = torch.zeros(2).as_subclass(Mine)
    g.note = "mine"
    x.grad = g
    assert x.grad is g
    del g
    gc.collect()
    assert type(x.grad) is Mine and x.grad.note == "mine"
    x.sum().backward()
    assert type(x.grad) is Mine and x.grad.tolist() == [1, 1]


@pytest.mark.item("M5.42")
@pytest.mark.filterwarnings("ignore:The .grad attribute")
def test_grad_dtype_of_a_result(torch):
    y = torch.ones(2, requires_grad=True) * 2
    with pytest.raises(RuntimeError, match="leaf"):
        y.grad_dtype = torch.float32
    with pytest.raises(RuntimeError):
        y.grad_dtype


@pytest.mark.item("M5.42")
def test_wrong_gradient_set_inside_backward(torch):
    """From a hook, between two accumulations."""
    x = torch.ones(2, requires_grad=True)

    def hook(t):
        with pytest.raises(RuntimeError):
            t.grad = torch.zeros(3)
        t.grad = torch.full((2,), 5.0)

    handle = x.register_post_accumulate_grad_hook(hook)
    (x * 2).sum().backward()
    assert x.grad.tolist() == [5, 5]
    handle.remove()
    (x * 2).sum().backward()
    assert x.grad.tolist() == [7, 7]


# --- non-leaves ---


@pytest.mark.item("M5.43")
def test_warning_names_retain_grad(torch):
    y = torch.ones(2, requires_grad=True) * 2
    with pytest.warns(UserWarning, match=r"not a leaf Tensor.*retain_grad") as caught:
        assert y.grad is None
    assert len(caught) == 1 and caught[0].filename == __file__


@pytest.mark.item("M5.43")
def test_warning_as_an_error(torch):
    import warnings

    y = torch.ones(2, requires_grad=True) * 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning):
            y.grad
        y.retain_grad()
        assert y.grad is None


@pytest.mark.item("M5.44")
def test_retained_gradient_makes_no_cycle(torch):
    x = torch.ones(2, requires_grad=True)
    gc.collect()
    gc.disable()
    try:
        y = x * 2
        y.retain_grad()
        gone = weakref.ref(y)
        y.sum().backward()
        assert y.grad.tolist() == [1, 1]
        del y
        assert gone() is None
    finally:
        gc.enable()


@pytest.mark.item("M5.44")
def test_tensor_with_a_retained_gradient_dies_before_its_graph(torch):
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    y.retain_grad()
    s = (y + 1).sum()
    del y
    gc.collect()
    s.backward()
    assert x.grad.tolist() == [2, 2]


@pytest.mark.item("M5.44")
def test_retained_gradient_follows_changes_in_place(torch):
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    seen = []
    y.register_hook(lambda g: seen.append(("old", g.tolist())))
    y.retain_grad()
    y.mul_(3)
    y.register_hook(lambda g: seen.append(("new", g.tolist())))
    (y * 5).sum().backward()
    assert y.grad.tolist() == [5, 5]
    assert seen == [("new", [5, 5]), ("old", [15, 15])]
    z = x * 2
    z.retain_grad()
    z.add_(1)
    z.retain_grad()
    z.mul_(2)
    z.sum().backward()
    assert z.grad.tolist() == [1, 1]


@pytest.mark.item("M5.44")
def test_retained_gradient_is_what_the_hooks_leave(torch):
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    y.retain_grad()
    y.register_hook(lambda g: g * 10)
    y.grad_fn.register_prehook(lambda gs: (gs[0] + 1,))
    y.sum().backward()
    assert y.grad.tolist() == [10, 10] and x.grad.tolist() == [22, 22]


# --- leaves without elements ---


@pytest.mark.item("M5.45")
def test_gradient_without_elements_from_a_function(torch):
    x = torch.rand(0, 3, requires_grad=True)
    giving(torch, lambda g: torch.rand(0, 3))(x).sum().backward()
    assert x.grad.shape == (0, 3)
    giving(torch, lambda g: torch.rand(0, 3))(x).sum().backward()
    assert x.grad.shape == (0, 3)


# --- the accumulator ---


@pytest.mark.item("M5.46")
def test_accumulator_is_held_by_the_graph_only(torch):
    x = torch.ones(2, requires_grad=True)
    for factor in (2, 3):
        y = x * factor
        y.sum().backward()
        del y
        gc.collect()
    assert x.grad.tolist() == [5, 5]
    y = x * 2
    gone = weakref.ref(x)
    del x
    gc.collect()
    assert gone() is not None  # the graph holds the leaf
    y.sum().backward()
    assert gone().grad.tolist() == [7, 7]
    del y
    gc.collect()
    assert gone() is None


@pytest.mark.item("M5.46")
def test_hooks_of_a_leaf_outlive_its_accumulator(torch):
    seen = []
    x = torch.ones(2, requires_grad=True)
    x.register_hook(lambda g: seen.append("hook"))
    x.register_post_accumulate_grad_hook(lambda t: seen.append("post"))
    for _ in range(2):
        (x * 2).sum().backward()
        gc.collect()
    assert seen == ["hook", "post"] * 2


@pytest.mark.item("M5.46")
def test_swapped_tensors(torch):
    a, b = torch.ones(2, requires_grad=True), torch.full((3,), 2.0)
    ida, idb = id(a), id(b)
    torch.utils.swap_tensors(a, b)
    assert (id(a), id(b)) == (ida, idb)
    assert a.tolist() == [2, 2, 2] and b.tolist() == [1, 1] and b.requires_grad and not a.requires_grad
    (b * 2).sum().backward()
    assert b.grad.tolist() == [2, 2] and a.grad is None


@pytest.mark.item("M5.46")
def test_swapping_a_leaf_of_a_live_graph(torch):
    """The old accumulator is poisoned, or the swap refused: no gradient goes astray."""
    a, b = torch.ones(2, requires_grad=True), torch.full((2,), 2.0, requires_grad=True)
    y = a * 3
    try:
        torch.utils.swap_tensors(a, b)
    except RuntimeError:
        y.sum().backward()
        assert a.grad.tolist() == [3, 3] and b.grad is None
    else:
        with pytest.raises(RuntimeError):
            y.sum().backward()
        assert a.grad is None and b.grad is None
