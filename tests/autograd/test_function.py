"""Custom Functions: what their gradients may look like, in-place and view outputs."""

import pytest


def leaf(torch, *size, **kw):
    return torch.ones(*size, requires_grad=True, **kw)


def returning(torch, gradient):
    class F(torch.autograd.Function):
        @staticmethod
        def forward(ctx, *xs):
            return xs[0].clone()

        @staticmethod
        def backward(ctx, g):
            return gradient

    return F


def run(torch, gradient, x, n=1):
    returning(torch, gradient).apply(*[x] * n).sum().backward()
    return x.grad


def test_invalid_gradients(torch):
    for shape in ((2,), (1,)):
        with pytest.raises(
            RuntimeError,
            match=r"Function FBackward returned an invalid gradient at index 0 - got "
            rf"\[{shape[0]}\] but expected shape compatible with \[3\]",
        ):
            run(torch, torch.ones(shape), leaf(torch, 3))
    with pytest.raises(RuntimeError, match="invalid gradient at index 1"):
        run(torch, (torch.ones(3), torch.ones(2)), leaf(torch, 3), 2)
    with pytest.raises(RuntimeError, match="invalid gradient at index 0 - expected device cpu but got meta"):
        run(torch, torch.ones(3, device="meta"), leaf(torch, 3))
    with pytest.raises(RuntimeError, match="input_is_complex == grad_is_complex"):
        run(torch, torch.ones(3, dtype=torch.complex64), leaf(torch, 3))
    with pytest.raises(RuntimeError, match=r"incorrect number of gradients \(expected 1, got 2\)"):
        run(torch, (torch.ones(3), torch.ones(3)), leaf(torch, 3))


def test_gradients_that_are_made_to_fit(torch):
    assert run(torch, torch.ones(2, 3), leaf(torch, 3)).tolist() == [2, 2, 2]
    assert run(torch, torch.ones(2, 3), leaf(torch, 2, 1)).tolist() == [[3], [3]]
    for dtype in (torch.int64, torch.bool, torch.float64):
        g = run(torch, torch.ones(3, dtype=dtype), leaf(torch, 3))
        assert g.dtype == torch.float32 and g.tolist() == [1, 1, 1]
    assert run(torch, None, leaf(torch, 3)) is None


def test_gradient_is_taken_over_once(torch):
    class F(torch.autograd.Function):
        pointer = None

        @staticmethod
        def forward(ctx, a, b):
            return a + b

        @staticmethod
        def backward(ctx, g):
            F.pointer = g.data_ptr()
            return g, g

    a, b = leaf(torch, 5), leaf(torch, 5)
    (F.apply(a, b) * torch.ones(5)).sum().backward()
    pointers = [a.grad.data_ptr(), b.grad.data_ptr()]
    assert pointers[0] != pointers[1] and F.pointer in pointers


def test_materialized_gradients(torch):
    class Two(torch.autograd.Function):
        seen = None

        @staticmethod
        def forward(ctx, x, materialize):
            ctx.set_materialize_grads(materialize)
            return x.clone(), x.clone()

        @staticmethod
        def backward(ctx, a, b):
            Two.seen = (None if a is None else a.tolist(), None if b is None else b.tolist())
            return b, None

    x = leaf(torch, 2)
    Two.apply(x, True)[1].sum().backward()
    assert Two.seen == ([0, 0], [1, 1])
    Two.apply(x, False)[1].sum().backward()
    assert Two.seen == (None, [1, 1])
    assert x.grad.tolist() == [2, 2]


def test_dirty_input(torch):
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            x.mul_(2)
            return x

        @staticmethod
        def backward(ctx, g):
            return g * 2

    x = leaf(torch, 3)
    y = x * 1
    z = Double.apply(y)
    assert z is y and y._version == 2 and y.grad_fn.name() == "DoubleBackward"
    y.sum().backward()
    assert x.grad.tolist() == [2, 2, 2]
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        Double.apply(x)
    x.grad = None
    base = x * 1
    Double.apply(base[1:])
    assert base.grad_fn.name() == "torch::autograd::CopySlices"
    base.sum().backward()
    assert x.grad.tolist() == [1, 2, 2]


def test_two_dirty_inputs_and_a_view(torch):
    class Both(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.mark_dirty(x, y)
            return x.mul_(2), y.mul_(2)

        @staticmethod
        def backward(ctx, g, h):
            return g * 2, h * 2

    a, b = leaf(torch, 4) * 1, leaf(torch, 4) * 1
    with pytest.raises(RuntimeError, match="your Function cannot return more than one Tensor"):
        Both.apply(a[:2], b)


def test_views_made_inside(torch):
    text = "This view was created inside a custom Function"

    class View(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.view(2, 2)

        @staticmethod
        def backward(ctx, g):
            return g.view(4)

    class Same(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, g):
            return g

    y = View.apply(leaf(torch, 4) * 1)
    with pytest.raises(
        RuntimeError, match="Output 0 of V.* is a view and is being modified inplace. " + text
    ):
        y.mul_(2)
    base = leaf(torch, 4) * 1
    y = Same.apply(base)
    assert y is not base and y._is_view()
    with pytest.raises(RuntimeError, match="is being modified inplace. " + text):
        y.mul_(2)
    base.mul_(2)
    with pytest.raises(
        RuntimeError, match="its base or another view of its base has been modified inplace. " + text
    ):
        _ = y.grad_fn


def test_saved_result_of_a_function_has_its_history(torch):
    class Exp(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x.exp()
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx, g):
            (y,) = ctx.saved_tensors
            return g * y

    x = torch.tensor([0.5, 1.0], dtype=torch.float64, requires_grad=True)
    (g,) = torch.autograd.grad(Exp.apply(x).sum(), x, create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), x)
    assert torch.allclose(h, x.detach().exp())
    y = Exp.apply(x)
    y.sum().backward()
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        y.sum().backward()
    y = Exp.apply(x)
    y.detach().add_(1)
    with pytest.raises(
        RuntimeError, match="modified by an inplace operation.*output 0 of Exp, is at version 1"
    ):
        y.sum().backward()
