"""Graphs too deep for recursion, and wide ones."""

import gc
import weakref


def leaf(torch, *size, **kw):
    return torch.ones(*size, requires_grad=True, **kw)


def test_long_chain_runs_and_dies(torch):
    x = leaf(torch, 1)
    y = x
    for _ in range(200_000):
        y = y + 1
    y.backward()
    assert x.grad.item() == 1
    del y
    gc.collect()


def test_long_chain_dies_without_running(torch):
    x = leaf(torch, 1)
    y = x
    for _ in range(200_000):
        y = y * 1
    del y
    gc.collect()


def test_chain_through_saved_tensors_dies(torch):
    x = leaf(torch, 1)
    y = x
    for _ in range(100_000):
        y = y.exp().log()
    z = y * y
    del y, z
    gc.collect()


def test_ladder(torch):
    x = leaf(torch, 1, dtype=torch.float64)
    a, b = x * 1, x * 1
    for _ in range(20_000):
        a, b = (a + b) * 0.5, (a - b) * 0.5 + b
    (a + b).backward()
    assert abs(x.grad.item() - 2) < 1e-9
    del a, b
    gc.collect()


def test_long_chain_with_grad(torch):
    x = leaf(torch, 1)
    y = x
    for _ in range(100_000):
        y = y + 0
    assert torch.autograd.grad(y, x)[0].item() == 1


def test_chain_of_in_place_changes_through_views(torch):
    x = leaf(torch, 2)
    base = x * 1
    for _ in range(5_000):
        base[0:1].mul_(1.0)
    base.sum().backward()
    assert x.grad.tolist() == [1, 1]
    del base
    gc.collect()


def test_wide_sum(torch):
    x = leaf(torch, 1)
    total = sum((x * i for i in range(2_000)), torch.zeros(1))
    total.backward()
    assert x.grad.item() == 1999 * 1000


def test_many_inputs(torch):
    xs = [leaf(torch, 1) for _ in range(3_000)]
    torch.cat(xs).sum().backward()
    assert all(x.grad.item() == 1 for x in xs)
    grads = torch.autograd.grad(torch.stack(xs).sum(), xs)
    assert len(grads) == 3_000 and all(g.item() == 1 for g in grads)


def test_many_outputs(torch):
    x = leaf(torch, 3_000)
    parts = x.unbind()
    (parts[0] + parts[-1] * 2).backward()
    assert x.grad[0].item() == 1 and x.grad[-1].item() == 2 and x.grad.sum().item() == 3


def test_chain_of_custom_functions_dies(torch):
    class Same(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            return g

    x = leaf(torch, 1)
    y = x
    for _ in range(20_000):
        y = Same.apply(y)
    y.backward()
    assert x.grad.item() == 1
    ref = weakref.ref(y)
    del y
    gc.collect()
    assert ref() is None


def test_deeply_nested_backward(torch):
    class Nest(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            with torch.enable_grad():
                ctx.x = x.detach().requires_grad_() - 1
            return ctx.x.detach()

        @staticmethod
        def backward(ctx, g):
            if ctx.x.item() < 0:
                return g
            with torch.enable_grad():
                Nest.apply(ctx.x).sum().backward()
            return g

    x = torch.tensor(150.0, requires_grad=True)
    Nest.apply(x).sum().backward()
    assert x.grad.item() == 1
