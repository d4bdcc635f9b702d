"""Leaves that are changed between forward and backward: they become results of ops, or get another shape; and tensors that become
leaves."""

import pytest


def leaf(torch, *size):
    return torch.ones(*(size or (2,)), requires_grad=True)


MOVED = "leaf variable has been moved into the graph interior"


@pytest.mark.item("M5.51")
@pytest.mark.parametrize("how", ["requires_grad_", "detach_", "attribute"])
def test_a_leaf_that_became_a_result(torch, how):
    x = leaf(torch)
    y = x * 2
    edge = torch.autograd.graph.get_gradient_edge(x)
    if how == "requires_grad_":
        x.requires_grad_(False)
    elif how == "detach_":
        x.detach_()
    else:
        x.requires_grad = False
    x.mul_(leaf(torch))
    with pytest.raises(RuntimeError, match=MOVED):
        y.sum().backward(retain_graph=True)
    (g,) = torch.autograd.grad((y.sum(),), (edge,), retain_graph=True)
    assert g.tolist() == [2, 2]
    (x * 3).sum().backward()
    with pytest.raises(RuntimeError, match=MOVED):
        edge.node(torch.ones(2))
    assert x.is_leaf is False


@pytest.mark.item("M5.51")
def test_a_leaf_that_needs_no_gradient_any_more(torch):
    x = leaf(torch)
    y = x * 2
    x.requires_grad_(False)
    y.sum().backward(retain_graph=True)
    assert x.grad is None
    x.requires_grad_()
    y.sum().backward()
    assert x.grad.tolist() == [2, 2]


@pytest.mark.item("M5.51")
@pytest.mark.parametrize(
    "change, size",
    [
        (lambda x: x.unsqueeze_(0), (1, 2, 3)),
        (lambda x: x.unsqueeze_(0).unsqueeze_(0), (1, 1, 2, 3)),
        (lambda x: x.t_(), None),
        (lambda x: x.as_strided_((6,), (1,)), None),
    ],
)
def test_a_leaf_with_another_shape(torch, change, size):
    x = leaf(torch, 2, 3)
    y = x * 2
    with torch.no_grad():
        change(x)
    (g,) = torch.autograd.grad(y.sum(), x, retain_graph=True)
    assert g.shape == (2, 3)
    if size is None:
        with pytest.raises(RuntimeError, match="must match the size"):
            y.sum().backward()
        assert x.grad is None
    else:
        y.sum().backward()
        assert x.grad.shape == size and x.grad.unique().tolist() == [2]


@pytest.mark.item("M5.51")
def test_a_square_leaf_turned_over(torch):
    x = leaf(torch, 2, 2)
    w = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    y = x * w
    with torch.no_grad():
        x.t_()
    y.sum().backward()
    assert torch.equal(x.grad, w)


# --- results that become leaves ---


@pytest.mark.item("M5.51")
def test_hooks_stay_with_a_tensor_that_is_detached(torch):
    x = leaf(torch)
    seen = []
    y = x * 2
    z = y * 3
    handle = y.register_hook(lambda g: seen.append(g.tolist()))
    y.detach_()
    assert y._backward_hooks is not None and len(y._backward_hooks) == 1
    y.requires_grad_()
    z.sum().backward(retain_graph=True)
    (y * 5).sum().backward()
    assert seen == [[3, 3], [5, 5]] and x.grad.tolist() == [6, 6] and y.grad.tolist() == [5, 5]
    y.register_hook(lambda g: seen.append("new"))
    z.sum().backward()
    assert seen[2:] == [[3, 3], "new"]
    handle.remove()
    (y * 5).sum().backward()
    assert seen[4:] == ["new"]
