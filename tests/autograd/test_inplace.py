"""In-place changes: leaves, history, views and their bases."""

import pytest


def leaf(torch, *size, **kw):
    return torch.ones(*size, requires_grad=True, **kw)


LEAF = "a leaf Variable that requires grad is being used in an in-place operation."
VIEW = "a view of a leaf Variable that requires grad is being used in an in-place operation."


def test_leaf_is_refused(torch):
    x = leaf(torch, 3, 2)
    for change in (lambda: x.add_(1), lambda: x.zero_(), lambda: x.eq_(1), lambda: x.t_()):
        with pytest.raises(RuntimeError, match=LEAF):
            change()
    for change in (lambda: x[0].mul_(2), lambda: x.t().zero_(), lambda: x.view(6).add_(1)):
        with pytest.raises(RuntimeError, match=VIEW):
            change()
    assert x.tolist() == [[1, 1]] * 3 and x._version == 0
    with pytest.raises(RuntimeError):
        x[0] = 1.0
    with torch.no_grad():
        x.add_(1)
        x[0] = 5.0
        x.t().mul_(2)
    assert x.is_leaf and x.tolist() == [[10, 10], [4, 4], [4, 4]]


def test_view_that_is_a_leaf_itself(torch):
    x = torch.zeros(4)
    v = x[:2]
    v.requires_grad_()
    assert v.requires_grad and v.grad_fn is None and not x.requires_grad
    with pytest.raises(RuntimeError, match=VIEW):
        v.mul_(2)
    x.mul_(2)
    assert v.grad_fn is None


def test_out_is_refused(torch):
    text = (
        r"add\(\): functions with out=... arguments don't support automatic differentiation, but one of the "
        r"arguments requires grad."
    )
    with pytest.raises(RuntimeError, match=text):
        torch.add(leaf(torch, 3), 1, out=torch.empty(3))
    with pytest.raises(RuntimeError, match=text):
        torch.add(torch.ones(3), 1, out=leaf(torch, 3))
    with torch.no_grad():
        x = leaf(torch, 3)
        torch.add(x, x, out=x)
    assert x.tolist() == [2, 2, 2] and x.requires_grad


def test_history_is_rebased(torch):
    x = leaf(torch, 3)
    y = x * 2
    old = y.grad_fn
    y.mul_(3)
    assert y.grad_fn is not old and y.grad_fn.name() == "MulBackward0"
    assert y.grad_fn.next_functions[0][0] is old
    y.sum().backward()
    assert x.grad.tolist() == [6, 6, 6]


def test_plain_tensor_joins_the_graph(torch):
    w = leaf(torch, 3)
    y = torch.zeros(3)
    y.add_(w, alpha=2)
    assert y.requires_grad and y.grad_fn.next_functions[0] == (None, 0)
    y.sum().backward()
    assert w.grad.tolist() == [2, 2, 2]


def test_formulas_that_use_the_old_value(torch):
    expected = {
        "sin_": lambda v: v.cos(),
        "pow_": lambda v: 3 * v * v,
        "log_": lambda v: 1 / v,
        "abs_": lambda v: v.sign(),
        "exp_": lambda v: v.exp(),
        "sqrt_": lambda v: 0.5 / v.sqrt(),
        "tanh_": lambda v: 1 - v.tanh() ** 2,
        "sigmoid_": lambda v: v.sigmoid() * (1 - v.sigmoid()),
        "neg_": lambda v: -torch.ones(3),
        "reciprocal_": lambda v: -1 / (v * v),
    }
    start = torch.tensor([0.5, 1.5, 2.5])
    for name, gradient in expected.items():
        x = start.clone().requires_grad_()
        y = x * 1
        getattr(y, name)(*([3] if name == "pow_" else []))
        y.sum().backward()
        assert torch.allclose(x.grad, gradient(start)), name


def test_old_value_is_kept_as_a_copy(torch):
    x = leaf(torch, 3)
    y = x * 2
    y.sin_()
    saved = y.grad_fn._saved_self
    assert saved.tolist() == [2, 2, 2] and saved.grad_fn.name() == "CloneBackward0"


def test_product_with_itself_in_place(torch):
    x = leaf(torch, 3)
    y = x * 2
    y.mul_(y)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_writes_that_forget_the_old_value(torch):
    for change in (
        lambda y: y.zero_(),
        lambda y: y.fill_(3),
        lambda y: y.uniform_(),
        lambda y: y.copy_(torch.ones(3)),
    ):
        x = leaf(torch, 3)
        y = x * 2
        change(y)
        y.sum().backward()
        assert x.grad.tolist() == [0, 0, 0]


def test_copy(torch):
    x = leaf(torch, 2)
    d = torch.zeros(3, 2, dtype=torch.float64)
    d.copy_(x)
    assert d.grad_fn.name() == "torch::autograd::CopyBackwards"
    d.sum().backward()
    assert x.grad.dtype == torch.float32 and x.grad.tolist() == [3, 3]


# --- through views ---


def test_change_through_a_view(torch):
    x = leaf(torch, 4)
    base = x * 1
    first, second = base[:2], base[1:3]
    first.mul_(2)
    assert base.grad_fn.name() == "torch::autograd::CopySlices"
    assert first.grad_fn.name() == "AsStridedBackward0"
    assert second.grad_fn.name() == "AsStridedBackward0"
    assert second.grad_fn.next_functions[0][0] is base.grad_fn
    assert base.grad_fn.next_functions[0][0].name() == "MulBackward0"
    assert base._version == 1 and second._version == 1
    (base * torch.tensor([1.0, 2.0, 3.0, 4.0])).sum().backward(retain_graph=True)
    assert x.grad.tolist() == [2, 4, 3, 4]
    x.grad = None
    (second * 10).sum().backward()
    assert x.grad.tolist() == [0, 20, 10, 0]


def test_change_of_the_base_is_seen_by_its_views(torch):
    x = leaf(torch, 4)
    base = x * 1
    view = base[:2]
    base.mul_(3)
    view.sum().backward()
    assert x.grad.tolist() == [3, 3, 0, 0]


def test_view_and_base_alternately(torch):
    x = torch.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    base = x * 1
    view = base.view(2, 2)[:, 1]
    view.mul_(2)
    base.add_(1)
    view.pow_(2)
    base.mul_(10)
    assert base.tolist() == [20, 250, 40, 810]
    base.sum().backward()
    assert x.grad.tolist() == [10, 10 * 2 * 5 * 2, 10, 10 * 2 * 9 * 2]


def test_view_of_a_view(torch):
    x = leaf(torch, 2, 3)
    base = x * 1
    row = base[1]
    item = row[2:]
    item.mul_(5)
    row.add_(1)
    assert row._base is base and item._base is base
    base.sum().backward()
    assert x.grad.tolist() == [[1, 1, 1], [1, 1, 5]]


def test_base_begins_to_require_grad(torch):
    w = leaf(torch, 2)
    base = torch.zeros(4)
    view, other = base[:2], base[2:]
    view.add_(w)
    assert base.requires_grad and view.requires_grad and other.requires_grad
    assert not view.is_leaf and not other.is_leaf
    assert base.grad_fn.next_functions[0] == (None, 0)
    base.sum().backward()
    assert w.grad.tolist() == [1, 1]


def test_flag_of_the_base_set_later(torch):
    x = torch.zeros(4)
    view = x[:2]
    x.requires_grad_()
    assert view.requires_grad and view.grad_fn is None and view.is_leaf
    assert (view * 2).requires_grad


def test_setitem(torch):
    x, v = leaf(torch, 3), leaf(torch, 2)
    y = x * 2
    y[1:] = v * 5
    y.sum().backward()
    assert x.grad.tolist() == [2, 0, 0] and v.grad.tolist() == [5, 5]
    y = x * 2
    y[0] = 7.0
    x.grad = None
    y.sum().backward()
    assert x.grad.tolist() == [0, 2, 2]


def test_broadcast_inside_a_view(torch):
    x, w = leaf(torch, 2, 3), torch.tensor(2.0, requires_grad=True)
    base = x * 1
    base[0].mul_(w)
    base.sum().backward()
    assert x.grad.tolist() == [[2, 2, 2], [1, 1, 1]] and w.grad.item() == 3


def test_transposed_and_strided_views(torch):
    x = torch.arange(12.0).view(3, 4).requires_grad_()
    base = x * 1
    base.t()[1::2].mul_(3)
    base[::2, ::3].add_(10)
    base.diagonal().mul_(2)
    base.sum().backward()
    want = torch.ones(3, 4)
    want.t()[1::2].mul_(3)
    want.diagonal().mul_(2)
    assert x.grad.tolist() == want.tolist()


def test_base_that_is_not_contiguous(torch):
    x = torch.arange(6.0).view(2, 3).requires_grad_()
    base = x.t() * 1
    assert base.stride() == (1, 3)
    base[1].mul_(4)
    (base * 2).sum().backward()
    assert x.grad.tolist() == [[2, 8, 2], [2, 8, 2]]


def test_in_place_view_ops(torch):
    x = torch.arange(6.0).view(2, 3).requires_grad_()
    y = x * 1
    y.t_()
    assert y.shape == (3, 2) and y.grad_fn.name().startswith("TBackward")
    (y * torch.arange(6.0).view(3, 2)).sum().backward()
    assert x.grad.tolist() == [[0, 2, 4], [1, 3, 5]]
    base = x * 1
    view = base[0:1]
    view.squeeze_(0)
    assert view.shape == (3,) and base.grad_fn.name() == "MulBackward0"
    view.mul_(3)
    x.grad = None
    base.sum().backward()
    assert x.grad.tolist() == [[3, 3, 3], [1, 1, 1]]


def test_complex_views(torch):
    x = torch.tensor([1 + 2j, 2 + 0j], requires_grad=True)
    base = x * 1
    torch.view_as_real(base).mul_(2)
    (base * base).real.sum().backward()
    assert x.grad.tolist() == [8 - 16j, 16 + 0j]
    x.grad = None
    base = x * 1
    base.real.mul_(3)
    (base * base).real.sum().backward()
    assert x.grad.tolist() == [18 - 4j, 36 + 0j]
    x.grad = None
    base = x * 1
    base.conj().mul_(3j)
    (base * base).real.sum().backward()
    assert x.grad.tolist() == [-18 + 36j, -36 + 0j]


def test_second_backward_through_a_changed_view(torch):
    x = leaf(torch, 4)
    base = x * 1
    base[:2].add_(1)
    base.sum().backward()
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        base.sum().backward()


# --- views that must not be changed ---


MULTI = (
    "This view is the output of a function that returns multiple views. Such functions do not allow "
    "the output views to be modified inplace. You should replace the inplace operation by an out-of-place one."
)


def test_multi_output_views(torch):
    a, b = (leaf(torch, 4) * 1).split(2)
    with pytest.raises(
        RuntimeError, match="Output 0 of Split is a view and is being modified inplace. " + MULTI
    ):
        a.add_(1)
    c = (leaf(torch, 4) * 1).unbind(0)[1]
    with pytest.raises(
        RuntimeError, match="Output 1 of Unbind is a view and is being modified inplace. " + MULTI
    ):
        c.add_(1)
    with pytest.raises(
        RuntimeError, match="Output 0 of Slice is a view and is being modified inplace. " + MULTI
    ):
        b[0:1].add_(1)
    a = torch.ones(4).split(2)[0]
    a.mul_(2)
    with pytest.raises(RuntimeError, match=MULTI):
        a.mul_(leaf(torch, 2))
    parts = torch.tensor_split(leaf(torch, 4) * 1, 2)
    parts[0].add_(1)


def test_multi_output_views_after_a_change_of_the_base(torch):
    base = leaf(torch, 4) * 1
    a = base.split(2)[0]
    base.add_(1)
    text = (
        "Output 0 of Split is a view and its base or another view of its base has been modified inplace. "
        + MULTI
    )
    with pytest.raises(RuntimeError, match=text):
        _ = a.grad_fn
    with pytest.raises(RuntimeError, match=text):
        _ = a * 2
    assert "grad_fn=<Invalid>" in repr(a)


NO_GRAD = " with grad mode enabled. Given that this use case is ambiguous and error-prone, it is forbidden."


def test_views_made_in_no_grad(torch):
    base = leaf(torch, 4) * 1
    with torch.no_grad():
        view = base[:2]
    assert view.requires_grad and view.grad_fn is None and view.is_leaf and view._is_view()
    with pytest.raises(
        RuntimeError, match="A view was created in no_grad mode and is being modified inplace" + NO_GRAD
    ):
        view.mul_(2)
    child = view[0:1]
    assert child.requires_grad and child.grad_fn.name() == "SliceBackward0"
    text = "Output 0 of Slice is a view of a view which was created in no_grad mode and is being modified"
    with pytest.raises(RuntimeError, match=text + " inplace" + NO_GRAD):
        child.mul_(2)
    plain = torch.ones(4)
    with torch.no_grad():
        view = plain[:2]
    view.mul_(2)
    with pytest.raises(RuntimeError, match="A view was created in no_grad mode"):
        view.mul_(leaf(torch, 2))


def test_change_of_a_no_grad_view_is_noticed_later(torch):
    text = "A view was created in no_grad mode and its base or another view of its base has been "
    text += "modified inplace"
    base = leaf(torch, 4) * 1
    with torch.no_grad():
        view = base[:2]
        view.mul_(2)
    assert base.tolist() == [2, 2, 1, 1]
    with pytest.raises(RuntimeError, match=text + NO_GRAD):
        _ = view.grad_fn
    base = leaf(torch, 4) * 1
    with torch.no_grad():
        view = base[:2]
    base.mul_(2)
    with pytest.raises(RuntimeError, match=text):
        _ = view.grad_fn


def test_changes_in_no_grad_are_not_recorded(torch):
    x = leaf(torch, 4)
    base = x * 1
    view = base[:2]
    with torch.no_grad():
        base.mul_(3)
    assert base.grad_fn.name() == "MulBackward0" and view.grad_fn.name() == "AsStridedBackward0"
    base.sum().backward()
    assert x.grad.tolist() == [1, 1, 1, 1]
    v = x[:2]
    with torch.no_grad():
        x.mul_(3)
    assert v.grad_fn.name() == "AsStridedBackward0" and v.grad_fn.next_functions[0][0].variable is x
