"""How .grad comes about: taken over, cloned, added to."""

import pytest


def leaf(torch, *size, **kw):
    return torch.ones(*size, requires_grad=True, **kw)


def test_added_in_place(torch):
    x = leaf(torch, 2)
    (x * 2).sum().backward()
    g = x.grad
    (x * 3).sum().backward()
    assert x.grad is g and g.tolist() == [5, 5]


def test_added_out_of_place_with_create_graph(torch):
    x = leaf(torch, 2)
    (x * 2).sum().backward()
    g = x.grad
    (x * x * x).sum().backward(create_graph=True)
    assert x.grad is not g and g.tolist() == [2, 2] and x.grad.tolist() == [5, 5]
    assert x.grad.requires_grad
    x.grad = None


def test_gradient_of_the_user_is_not_taken_over(torch):
    x = leaf(torch, 2)
    g = torch.ones(2)
    (x + 0).backward(g)
    assert x.grad.data_ptr() != g.data_ptr()
    (x + 0).backward(g)
    assert g.tolist() == [1, 1] and x.grad.tolist() == [2, 2]


@pytest.mark.minitorch_only(reason="PyTorch lets .grad share memory with the gradient through a view")
def test_gradient_of_the_user_is_not_shared_through_a_view(torch):
    x = leaf(torch, 4)
    g = torch.ones(2, 2)
    x.view(2, 2).backward(g)
    x.grad.mul_(5)
    assert g.tolist() == [[1, 1], [1, 1]]


def test_two_leaves_do_not_share(torch):
    x, y = leaf(torch, 2), leaf(torch, 2)
    (x + y).backward(torch.ones(2))
    x.grad.mul_(5)
    assert y.grad.tolist() == [1, 1]


def test_expanded_gradient_is_made_real(torch):
    x = leaf(torch, 2, 3)
    x.sum().backward()
    assert x.grad.stride() == (3, 1)
    x.grad[0, 0] = 7
    assert x.grad.tolist() == [[7, 1, 1], [1, 1, 1]]


def test_layout_follows_a_dense_leaf(torch):
    w = torch.ones(3, 4).t().requires_grad_()
    w.backward(torch.ones(4, 3))
    assert w.grad.stride() == (1, 4)
    w = torch.ones(4, 3).requires_grad_()
    w.t().backward(torch.ones(3, 4))
    assert w.grad.stride() == (3, 1)
    w = torch.ones(3, 8)[:, ::2].requires_grad_()
    w.backward(torch.ones(4, 3).t())
    assert w.grad.stride() == (4, 1), "a leaf with gaps gets a contiguous gradient"


def test_layout_of_an_existing_gradient_stays(torch):
    w = torch.ones(4, 3).requires_grad_()
    w.grad = torch.zeros(3, 4).t()
    w.sum().backward()
    assert w.grad.stride() == (1, 4) and w.grad.sum().item() == 12


def test_setter(torch):
    x = leaf(torch, 3)
    g = torch.ones(3)
    x.grad = g
    assert x.grad is g
    x.grad = None
    assert x.grad is None
    x.grad = g
    del x.grad
    assert x.grad is None
    with pytest.raises(
        RuntimeError,
        match=r"attempting to assign a gradient of size '\[2\]' to a tensor of size "
        r"'\[3\]'",
    ):
        x.grad = torch.ones(2)
    with pytest.raises(
        RuntimeError,
        match="attempting to assign a gradient with dtype 'double' to a tensor with grad_dtype 'Float'",
    ):
        x.grad = torch.ones(3, dtype=torch.float64)
    with pytest.raises(RuntimeError, match="device type 'meta' to a tensor with device type 'cpu'"):
        x.grad = torch.ones(3, device="meta")
    with pytest.raises(RuntimeError, match="can't assign Variable as its own grad"):
        x.grad = x
    with pytest.raises(TypeError):
        x.grad = 3
    assert x.grad is None


def test_grad_dtype(torch):
    x = leaf(torch, 3)
    assert x.grad_dtype == torch.float32
    x.grad_dtype = torch.float64
    (x * 2).sum().backward()
    assert x.grad.dtype == torch.float64
    with pytest.raises(
        RuntimeError, match="Cannot set grad_dtype to 'Float' because there is already a gradient"
    ):
        x.grad_dtype = torch.float32
    with pytest.raises(RuntimeError, match="grad_dtype can only be set on leaf tensors"):
        (x * 1).grad_dtype = torch.float32


def test_reading_grad_of_a_non_leaf_warns(torch):
    y = leaf(torch, 2) * 2
    with pytest.warns(UserWarning, match="The .grad attribute of a Tensor that is not a leaf"):
        assert y.grad is None


def test_leaf_changed_between_runs(torch):
    x = leaf(torch, 2)
    for step in range(3):
        (x * x).sum().backward()
        with torch.no_grad():
            x.sub_(x.grad * 0.5)
        x.grad = None
    assert x.tolist() == [0, 0]


def test_complex_gradient_of_a_real_leaf(torch):
    x = leaf(torch, 2)
    c = torch.tensor([1 + 2j, 3 - 1j])
    (x * c).real.sum().backward()
    assert x.grad.dtype == torch.float32 and x.grad.tolist() == [1, 3]
