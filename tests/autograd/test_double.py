"""Derivatives of derivatives."""

import pytest


def leaf(torch, values, **kw):
    return torch.tensor(values, dtype=torch.float64, requires_grad=True, **kw)


def test_second_derivative_of_a_polynomial(torch):
    x = leaf(torch, [1.0, 2.0, 3.0])
    (g,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
    assert g.requires_grad and g.tolist() == [3, 12, 27]
    (h,) = torch.autograd.grad(g.sum(), x, create_graph=True)
    assert h.tolist() == [6, 12, 18]
    (t,) = torch.autograd.grad(h.sum(), x)
    assert t.tolist() == [6, 6, 6] and not t.requires_grad


def test_through_backward(torch):
    x = leaf(torch, [2.0])
    (x * x * x).sum().backward(create_graph=True)
    first = x.grad
    x.grad = None
    first.sum().backward()
    assert x.grad.tolist() == [12]


def test_saved_results_keep_their_history(torch):
    x = leaf(torch, [0.5, 1.0])
    for f, second in (
        (lambda v: v.exp(), lambda v: v.exp()),
        (lambda v: v.tanh(), lambda v: -2 * v.tanh() * (1 - v.tanh() ** 2)),
        (lambda v: v.sigmoid(), lambda v: v.sigmoid() * (1 - v.sigmoid()) * (1 - 2 * v.sigmoid())),
        (lambda v: v.sqrt(), lambda v: -0.25 * v**-1.5),
    ):
        (g,) = torch.autograd.grad(f(x).sum(), x, create_graph=True)
        (h,) = torch.autograd.grad(g.sum(), x)
        assert torch.allclose(h, second(x.detach()))


def test_broadcast(torch):
    x, y = leaf(torch, [[2.0], [3.0]]), leaf(torch, [[1.0, 2.0, 3.0]])
    gx, gy = torch.autograd.grad((x * x * y).sum(), [x, y], create_graph=True)
    assert gx.shape == (2, 1) and gy.shape == (1, 3)
    (h,) = torch.autograd.grad(gx.sum(), y, retain_graph=True)
    assert h.tolist() == [[10, 10, 10]]
    (h,) = torch.autograd.grad(gx.sum(), x)
    assert h.tolist() == [[12], [12]]


def test_in_place_with_a_saved_result(torch):
    x = leaf(torch, [1.0, 2.0])
    b = x * 1
    b.exp_()
    (g,) = torch.autograd.grad(b.sum(), x, create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), x)
    assert torch.allclose(h, x.detach().exp())


def test_in_place_through_a_view_with_a_saved_result(torch):
    x = leaf(torch, [1.0, 2.0])
    b = x * 1
    b[:1].exp_()
    (g,) = torch.autograd.grad(b.sum(), x, create_graph=True)
    assert torch.allclose(g, torch.tensor([2.718281828459045, 1.0], dtype=torch.float64))
    (h,) = torch.autograd.grad(g.sum(), x)
    assert torch.allclose(h, torch.tensor([2.718281828459045, 0.0], dtype=torch.float64))


def test_in_place_through_a_view_with_a_saved_input(torch):
    x = leaf(torch, [1.0, 2.0])
    b = x * 1
    b[:1].sin_()
    (g,) = torch.autograd.grad(b.sum(), x, create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), x)
    assert torch.allclose(h, torch.tensor([-0.8414709848078965, 0.0], dtype=torch.float64))


def test_setitem_twice(torch):
    x, v = leaf(torch, [1.0, 2.0, 3.0]), leaf(torch, [5.0])
    b = x * x
    b[1:2] = v * v
    g = torch.autograd.grad((b * b).sum(), [x, v], create_graph=True)
    assert g[0].tolist() == [4, 0, 108] and g[1].tolist() == [500]
    h = torch.autograd.grad(g[0].sum() + g[1].sum(), [x, v])
    assert h[0].tolist() == [12, 0, 108] and h[1].tolist() == [300]


def test_gradient_penalty(torch):
    w = leaf(torch, [0.5, -1.0])
    x = leaf(torch, [1.0, 2.0])
    y = (w * x).tanh().sum()
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    (g * g).sum().backward()
    eps = 1e-6
    for i in range(2):

        def penalty(delta, i=i):
            d = torch.zeros(2, dtype=torch.float64)
            d[i] = delta
            t = ((w.detach() + d) * x.detach()).tanh()
            return ((((w.detach() + d) * (1 - t * t)) ** 2).sum()).item()

        numeric = (penalty(eps) - penalty(-eps)) / (2 * eps)
        assert abs(w.grad[i].item() - numeric) < 1e-6


def test_graph_of_a_gradient_is_not_made_without_asking(torch):
    x = leaf(torch, [1.0])
    (g,) = torch.autograd.grad((x**3).sum(), x)
    with pytest.raises(RuntimeError, match="does not require grad and does not have a grad_fn"):
        torch.autograd.grad(g.sum(), x)


def test_retain_graph_follows_create_graph(torch):
    x = leaf(torch, [2.0])
    y = (x * x).sum()
    torch.autograd.grad(y, x, create_graph=True)
    assert torch.autograd.grad(y, x)[0].tolist() == [4]
