# SPDX-License-Identifier: BSD-3-Clause
"""Custom Functions: both styles, what ctx offers, second derivatives, refusals, lifetimes."""

import gc
import weakref

import pytest


def cube(torch):
    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return 3 * x**2 * g

    return Cube


def test_first_and_second_derivative(torch):
    x = torch.tensor([2.0, -1.0], dtype=torch.float64, requires_grad=True)
    y = cube(torch).apply(x)
    assert y.tolist() == [8, -1] and y.requires_grad and not y.is_leaf
    assert y.grad_fn.name() == "CubeBackward" and type(y.grad_fn).__name__ == "CubeBackward"
    (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    assert g.tolist() == [12, 3]
    (h,) = torch.autograd.grad(g.sum(), x)
    assert h.tolist() == [12, -6]
    assert torch.autograd.gradcheck(cube(torch).apply, (x,))
    assert torch.autograd.gradgradcheck(cube(torch).apply, (x,))


def test_setup_context(torch):
    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(x, factor, name):
            return x * factor, name

        @staticmethod
        def setup_context(ctx, inputs, output):
            x, factor, name = inputs
            assert output[1] == name
            ctx.factor = factor
            ctx.save_for_backward(x)
            ctx.set_materialize_grads(False)

        @staticmethod
        def backward(ctx, g, nothing):
            assert nothing is None
            assert ctx.needs_input_grad == (True, False, False)
            return g * ctx.factor, None, None

    x = torch.ones(2, requires_grad=True)
    y, name = Scale.apply(x, 3.0, "label")
    assert name == "label"
    y.sum().backward()
    assert x.grad.tolist() == [3, 3]


def test_nothing_to_record(torch):
    seen = []

    class F(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            seen.append((ctx.needs_input_grad, torch.is_grad_enabled()))
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            raise AssertionError

    x = torch.ones(2)
    assert not F.apply(x).requires_grad
    with torch.no_grad():
        assert not F.apply(x.clone().requires_grad_()).requires_grad
    assert seen == [((False,), False), ((True,), False)]


def test_non_differentiable_outputs(torch):
    class Top(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            value, index = x.max(0)
            other = x * 2
            ctx.mark_non_differentiable(index, other)
            ctx.save_for_backward(index, x)
            return value, index, other

        @staticmethod
        def backward(ctx, g, g_index, g_other):
            assert g_other.tolist() == [0, 0, 0]
            index, x = ctx.saved_tensors
            out = torch.zeros_like(x)
            out[index] = g
            return out

    x = torch.tensor([1.0, 5.0, 2.0], requires_grad=True)
    value, index, other = Top.apply(x)
    assert value.requires_grad and not index.requires_grad and not other.requires_grad
    value.backward()
    assert x.grad.tolist() == [0, 1, 0]


def test_once_differentiable(torch):
    class F(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx, g):
            assert not torch.is_grad_enabled()
            return 2 * ctx.saved_tensors[0] * g

    x = torch.tensor(3.0, requires_grad=True)
    F.apply(x).backward()
    assert x.grad.item() == 6
    (g,) = torch.autograd.grad(F.apply(x) ** 2, x, create_graph=True)
    with pytest.raises(RuntimeError, match="marked with @once_differentiable"):
        g.backward()


def test_hooks_on_the_node(torch):
    log = []
    x = torch.ones(2, requires_grad=True)
    y = cube(torch).apply(x)
    y.grad_fn.register_prehook(lambda g: log.append(("pre", g[0].tolist())))
    y.grad_fn.register_hook(lambda i, o: log.append(("post", i[0].tolist(), o[0].tolist())))
    assert y.grad_fn.next_functions[0][0].name() == "torch::autograd::AccumulateGrad"
    y.sum().backward()
    assert log == [("pre", [1, 1]), ("post", [3, 3], [1, 1])]


def test_refusals(torch):
    class Bad(torch.autograd.Function):
        result = None

        @staticmethod
        def forward(ctx, x, n):
            return x * n

        @staticmethod
        def backward(ctx, g):
            return Bad.result

    x = torch.ones(2, requires_grad=True)

    def run(result):
        Bad.result = result
        Bad.apply(x, 2).sum().backward()

    one = torch.ones(2)
    with pytest.raises(RuntimeError, match=r"incorrect number of gradients \(expected 2, got 1\)"):
        run(one)
    with pytest.raises(RuntimeError, match="gradient different than None at position 2"):
        run((one, one))
    with pytest.raises(RuntimeError, match="expected Variable or None"):
        run(("text", None))
    run((one, None, None, None))
    assert x.grad.tolist() == [1, 1]

    class NoBackward(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

    with pytest.raises(NotImplementedError, match="You must implement either the backward or vjp"):
        NoBackward.apply(x).sum().backward()

    class Saves(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x, 3)
            return x * 2

    with pytest.raises(TypeError, match="save_for_backward can only save variables, but argument 1"):
        Saves.apply(x)

    class Dirty(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x * 2

    with pytest.raises(RuntimeError, match="marked as dirty during the forward method were not returned"):
        Dirty.apply(x * 1)
    with pytest.warns(DeprecationWarning, match="should not be instantiated"):
        old = Dirty()
    with pytest.raises(RuntimeError, match="Legacy autograd function"):
        old(x)
    assert x.grad.tolist() == [1, 1]


def test_an_exception_leaves_everything_as_it_was(torch):
    class Fails(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, where):
            if where == "forward":
                raise KeyError("forward")
            ctx.where = where
            return x * 2

        @staticmethod
        def backward(ctx, g):
            raise KeyError(ctx.where)

    x = torch.ones(2, requires_grad=True)
    with pytest.raises(KeyError, match="forward"):
        Fails.apply(x, "forward")
    assert torch.is_grad_enabled()
    y = Fails.apply(x, "backward").sum()
    for _ in range(2):
        with pytest.raises(KeyError, match="backward"):
            y.backward()
    assert x.grad is None


def test_what_ctx_holds_dies_with_the_graph(torch):
    class Token:
        pass

    class F(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, token):
            ctx.token = token
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g, None

    token = Token()
    ref = weakref.ref(token)
    x = torch.ones(2, requires_grad=True)
    y = F.apply(x, token)
    del token
    assert ref() is not None
    node = y.grad_fn
    assert node is y.grad_fn and node.token is ref()
    del y, node
    gc.collect()
    assert ref() is None


def test_saved_tensors_are_freed_and_checked(torch):
    x = torch.ones(2, requires_grad=True)
    w = x * 1
    y = cube(torch).apply(w)
    node = y.grad_fn
    assert node.saved_tensors[0].tolist() == [1, 1]
    y.sum().backward()
    with pytest.raises(RuntimeError, match="after they have already been freed"):
        node.saved_tensors
    y = cube(torch).apply(w)
    w.mul_(2)
    with pytest.raises(RuntimeError, match="has been modified by an inplace operation"):
        y.sum().backward()
