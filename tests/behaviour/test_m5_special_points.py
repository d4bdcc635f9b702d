"""Gradients where values are NaN, infinite, tied or zero."""

import cmath
import math

import pytest

nan, inf = math.nan, math.inf


def same(got, want):
    return len(got) == len(want) and all(
        a == b or (a != a and b != b) or abs(a - b) <= 1e-5 for a, b in zip(got, want)
    )


def slopes(torch, f, values, dtype=None):
    """First derivatives of the sum of f, and the second ones of their sum."""
    x = torch.tensor(values, dtype=dtype or torch.float64, requires_grad=True)
    (first,) = torch.autograd.grad(f(x).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x, allow_unused=True)
    return first.tolist(), (torch.zeros_like(x) if second is None else second.clone()).tolist()


@pytest.mark.item("M5.72")
def test_losses_keep_nan(torch):
    F = torch.nn.functional
    ones = torch.ones(5, dtype=torch.float64)
    values = [nan, 0.5, 2.0, 0.0, 4.0]
    for dtype in (torch.float32, torch.float64):
        first, second = slopes(
            torch, lambda x: F.smooth_l1_loss(x, ones.to(x.dtype), reduction="none"), values, dtype
        )
        assert same(first, [nan, -0.5, 1, -1, 1]) and same(second, [0, 1, 0, 0, 0])
        first, second = slopes(
            torch, lambda x: F.huber_loss(x, ones.to(x.dtype), reduction="none"), values, dtype
        )
        assert same(first, [nan, -0.5, 1, -1, 1]) and same(second, [0, 1, 0, 0, 0])


@pytest.mark.item("M5.72")
@pytest.mark.parametrize(
    "p, values, first, second",
    [
        (3, [0, 0, 0], [0, 0, 0], [0, 0, 0]),
        (5, [0, 0, 0], [0, 0, 0], [0, 0, 0]),
        (2, [0, 0, 0], [0, 0, 0], [nan, nan, nan]),
        (0.5, [1, -1, 0], [2, -2, 0], [-1, -1, nan]),
        (1.5, [1, -1, 0], [0.7937005, -0.7937005, 0], [0.3968503, 0.3968503, nan]),
        (0.5, [inf, 1, 0], [nan, inf, nan], [nan, nan, nan]),
        (3, [inf, 1, 0], [nan, 0, 0], [nan, nan, nan]),
        (3, [1, 2, 2], [0.1512519, 0.6050074, 0.6050074], [0.1423547, -0.0355886, -0.0355886]),
        (inf, [nan, 1, 2], [0, 0, 0], [0, 0, 0]),
        (-inf, [nan, 1, 2], [0, 0, 0], [0, 0, 0]),
        (inf, [1, -2, 2], [0, -0.5, 0.5], [0, 0, 0]),
    ],
)
def test_norms(torch, p, values, first, second):
    for norm in (lambda x: x.norm(p), lambda x: torch.linalg.vector_norm(x, p)):
        got = slopes(torch, norm, [float(v) for v in values])
        assert same(got[0], first) and same(got[1], second), got


@pytest.mark.item("M5.72")
def test_norm_0_has_no_gradient(torch):
    x = torch.tensor([1.0, 0.0, 2.0], requires_grad=True)
    y = x.norm(0)
    assert y.requires_grad
    y.backward()
    assert x.grad is None


@pytest.mark.item("M5.72")
@pytest.mark.parametrize(
    "values, first, weighted, second",
    [
        ([nan, 0.5, 2], [nan, nan, nan], [nan, nan, nan], [nan, nan, nan]),
        ([inf, 2, 0], [nan, inf, inf], None, None),
        ([0, inf, 3], [inf, 0, 0], None, None),
        ([2, nan, 3], [nan, nan, nan], [nan, nan, nan], [nan, nan, nan]),
        ([2, 0, nan], [1, nan, 0], [nan, nan, 0], [nan, nan, 4]),
        ([0, 0, nan], [1, 0, 0], [nan, nan, 0], [nan, nan, 0]),
        ([2, 3, 4], [16, 10, 6], [27, 18, 12], [15, 13, 10]),
        ([2, 0, 4], [1, 10, 0], [0, 18, 0], [9, 13, 4]),
    ],
)
def test_running_products(torch, values, first, weighted, second):
    x = torch.tensor([float(v) for v in values], requires_grad=True)
    x.cumprod(0).sum().backward()
    assert same(x.grad.tolist(), first), x.grad
    if (
        weighted is None
    ):  # products of zero and infinity: PyTorch's second order depends on how they are grouped
        return
    got = slopes(
        torch, lambda t: t.cumprod(0) * torch.tensor([0.0, 1, 2]), [float(v) for v in values], torch.float32
    )
    assert same(got[0], weighted) and same(got[1], second), got


@pytest.mark.item("M5.72")
def test_zeros_in_running_products_of_matrices(torch):
    x = torch.tensor([[1.0, 0.0, 2.0, 3.0], [2.0, 5.0, 0.0, 0.0], [2.0, 1.0, 3.0, 1.0]], dtype=torch.float64)
    for dim in (0, 1):
        a, b = x.clone().requires_grad_(), x.clone().requires_grad_()
        weights = torch.arange(1.0, 13.0, dtype=torch.float64).view(3, 4)
        (a.cumprod(dim) * weights).sum().backward()
        (g,) = torch.autograd.grad((b.cumprod(dim) * weights).sum(), b, create_graph=True)
        assert torch.equal(a.grad, g)


@pytest.mark.item("M5.72")
@pytest.mark.parametrize("name", ["max", "min"])
def test_extremes_that_are_nowhere(torch, name):
    """The values were replaced behind autograd's back."""
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x * 1
    extreme = getattr(y, name)()
    y.data.zero_()
    extreme.backward()
    assert x.grad.tolist() == [0, 0, 0]


@pytest.mark.item("M5.70")
def test_set_has_no_derivative(torch):
    x = torch.ones(3, requires_grad=True)
    makers = (
        lambda: (x * 2).set_(torch.zeros(3)),
        lambda: torch.zeros(3).set_(x),
        lambda: (x * 2).set_(),
        lambda: (x * 2).set_(torch.zeros(3).untyped_storage()),
        lambda: torch.zeros(3).set_(x.detach()).set_(x),
    )
    for make in makers:
        y = make()
        assert y.requires_grad and y.grad_fn.name() == "torch::autograd::NotImplemented"
        with pytest.raises(RuntimeError, match="derivative for set_ is not implemented"):
            y.sum().backward()
    base = x * 2
    base[:2].set_(torch.zeros(2))
    with pytest.raises(RuntimeError, match="derivative for set_ is not implemented"):
        base.sum().backward()
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        torch.ones(3, requires_grad=True).set_(torch.zeros(3))
    with torch.no_grad():
        assert torch.ones(3, requires_grad=True).set_(torch.zeros(4)).requires_grad
    assert not torch.zeros(3).set_(torch.ones(2)).requires_grad


@pytest.mark.item("M5.70")
def test_leaves_that_may_be_written(torch):
    ones = torch.ones(3)
    for name, want in (("logical_and", 1), ("logical_or", 1), ("logical_xor", 0)):
        x = torch.ones(3, requires_grad=True)
        assert (
            getattr(x, name + "_")(ones) is x and x.tolist() == [want] * 3 and x.is_leaf and x.requires_grad
        )
    x = torch.ones(3, requires_grad=True)
    assert x.logical_not_().tolist() == [0, 0, 0] and x.requires_grad
    with torch.inference_mode():
        x = torch.ones(3, requires_grad=True).clone()
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    with torch.inference_mode():
        assert x.resize_(2).shape == (2,) and x.requires_grad
        assert x.detach_() is x and x.requires_grad
        assert y.detach_() is y and y.requires_grad
    with pytest.raises(RuntimeError, match="cannot resize variables that require grad"):
        x.resize_(3)


@pytest.mark.item("M5.81")
def test_factories_into_leaves(torch):
    factories = {
        "ones": lambda out: torch.ones(3, out=out),
        "zeros": lambda out: torch.zeros(3, out=out),
        "full": lambda out: torch.full((3,), 2.0, out=out),
        "arange": lambda out: torch.arange(3.0, out=out),
        "linspace": lambda out: torch.linspace(0, 1, 3, out=out),
        "rand": lambda out: torch.rand(3, out=out),
    }
    for name, make in factories.items():
        x = torch.ones(3, requires_grad=True)
        with torch.no_grad():
            assert make(x) is x and not x.requires_grad, name
    x = torch.ones(3, requires_grad=True)
    with torch.no_grad():
        torch.add(torch.ones(3), 1, out=x)
    assert x.requires_grad and x.tolist() == [2, 2, 2]
    y = torch.ones(3)
    assert torch.ones(3, out=y, requires_grad=True) is y and y.requires_grad


@pytest.mark.item("M5.72")
def test_arguments_without_a_derivative(torch):
    F = torch.nn.functional
    p, ones = torch.full((3,), 0.25, requires_grad=True), torch.ones(3)
    w = torch.ones(3, requires_grad=True)
    for call, what in (
        (lambda: F.binary_cross_entropy(p, ones, weight=w), "weight"),
        (lambda: F.binary_cross_entropy(p.detach(), ones, weight=w), "weight"),
        (lambda: F.binary_cross_entropy_with_logits(p, ones, weight=w), "weight"),
        (lambda: F.binary_cross_entropy_with_logits(p, ones, pos_weight=w), "pos_weight"),
        (lambda: F.soft_margin_loss(p, w), "target"),
    ):
        with pytest.raises(RuntimeError, match="not differentiable with respect to argument '%s'" % what):
            call()
    with torch.no_grad():
        assert F.binary_cross_entropy_with_logits(p, ones, pos_weight=w).item() > 0
    with pytest.raises(
        RuntimeError, match="nan_to_num does not support automatic differentiation for outputs with"
    ):
        torch.ones(2, dtype=torch.complex64, requires_grad=True).nan_to_num()


@pytest.mark.item("M5.83")
def test_switches_are_bools_or_ints(torch):
    x = torch.ones(2, requires_grad=True)
    for name in ("retain_graph", "create_graph"):
        with pytest.raises(TypeError, match="cannot be interpreted as an integer"):
            (x * 2).sum().backward(**{name: "yes"})
        with pytest.raises(TypeError, match="cannot be interpreted as an integer"):
            torch.autograd.grad((x * 2).sum(), x, **{name: "yes"})
    (x * 2).sum().backward(retain_graph=1)
    assert x.grad.tolist() == [2, 2]
    with pytest.raises(RuntimeError, match="can't retain_grad on Tensor that has requires_grad=False"):
        (x * 2).sum().backward(inputs=[torch.ones(1)])
    with pytest.raises(TypeError, match="_register_hook_dict expected a variable"):
        (x * 2).grad_fn._register_hook_dict(3)


@pytest.mark.item("M5.80")
def test_copies_of_grad_mode_objects(torch):
    import copy
    import pickle

    for make in (torch.no_grad, torch.enable_grad):
        for again in (copy.deepcopy(make()), copy.copy(make()), pickle.loads(pickle.dumps(make()))):
            assert type(again) is make
            with torch.set_grad_enabled(make is torch.no_grad):
                with again:
                    assert torch.is_grad_enabled() == (make is torch.enable_grad)


@pytest.mark.item("M5.90")
@pytest.mark.item("M5.92")
def test_named_arguments_and_own_needs(torch):
    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, b=3):
            ctx.needs_input_grad = ("mine",)
            return a * b

        @staticmethod
        def backward(ctx, g):
            assert ctx.needs_input_grad == ("mine",)
            return g * 3

    x = torch.ones(2, requires_grad=True)
    y = Scale.apply(a=x)
    assert y.tolist() == [3, 3]
    y.sum().backward()
    assert x.grad.tolist() == [3, 3]
    y = Scale.apply(x, b=2)
    assert y.tolist() == [2, 2]
    with pytest.raises(RuntimeError, match=r"incorrect number of gradients \(expected 2, got 1\)"):
        y.sum().backward()


@pytest.mark.item("M5.112")
@pytest.mark.parametrize("value", [None, 3, "q"])
def test_gradcheck_of_no_tensors(torch, value):
    x = torch.rand(2, dtype=torch.float64, requires_grad=True)
    for check in (torch.autograd.gradcheck, torch.autograd.gradgradcheck):
        with pytest.raises(AttributeError):
            check(lambda t: value, (x,))
    with pytest.raises(TypeError):
        torch.autograd.gradgradcheck(lambda t: t.detach(), (x,))


@pytest.mark.item("M5.72")
def test_products_with_zeros_and_infinity(torch):
    inf, nan = math.inf, math.nan
    for values, cumulative, total in (
        ([-2.0, 0.0, inf, 0.0], [1, nan, 0, 0], [0, 0, 0, 0]),
        ([-inf, 0.0, -2.0], [nan, inf, 0], [0, inf, nan]),
        ([0.0, -inf, 0.0], [nan, 0, 0], [0, 0, 0]),
        ([2.0, 0.0, inf], [1, inf, 0], [nan, inf, 0]),
        ([-2.0, 0.0, 0.0, 3.0], [1, -4, 0, 0], [0, 0, 0, 0]),
    ):
        x = torch.tensor(values, requires_grad=True)
        weight = torch.arange(1.0, len(values) + 1)
        (g,) = torch.autograd.grad(x.cumprod(0), x, weight)
        assert torch.equal(g.isnan(), torch.tensor(cumulative).isnan()), (values, g)
        assert torch.equal(g.nan_to_num(7.0), torch.tensor(cumulative).float().nan_to_num(7.0)), (values, g)
        (p,) = torch.autograd.grad(x.prod(), x)
        assert torch.equal(p.nan_to_num(7.0), torch.tensor(total).float().nan_to_num(7.0)), (values, p)


@pytest.mark.item("M5.72")
@pytest.mark.parametrize("base", [2, 3, 0.1, -2, 1 + 2j, -1 + 0j, "tensor(2)", "tensor(2.)"])
def test_power_of_a_number(torch, base):
    """All digits of float64, and complex logarithms where the exponent is complex."""
    if isinstance(base, str):
        base = eval("torch." + base, {"torch": torch})
    number = base if isinstance(base, (int, float, complex)) else base.item()
    if isinstance(number, complex) or number > 0:
        log = cmath.log(number)
        for f in (lambda x: base**x, lambda x: torch.float_power(base, x)):
            x = torch.tensor(0.7, dtype=torch.float64, requires_grad=True)
            y = f(x)
            y = y.real if y.is_complex() else y
            (first,) = torch.autograd.grad(y, x, create_graph=True)
            (second,) = torch.autograd.grad(first, x)
            want = number**0.7
            assert abs(first.item() - (want * log).real) <= 1e-14
            assert abs(second.item() - (want * log * log).real) <= 1e-14
    z = torch.tensor(0.3 + 0.5j, dtype=torch.complex128, requires_grad=True)
    (first,) = torch.autograd.grad((base**z).real, z)
    want = complex(number) ** (0.3 + 0.5j) * cmath.log(number)
    assert abs(first.item() - want.conjugate()) <= 1e-14


@pytest.mark.item("M5.72")
def test_norms_of_nothing(torch):
    """Orders that would give infinity, or an extreme of nothing, have no value."""
    head = "linalg.vector_norm cannot compute the "
    for p in (inf, -inf, -1, -2.5):
        for shape, dim, where in (
            ((0,), None, "on an empty tensor because"),
            ((2, 0), [], "on an empty tensor because"),
            ((2, 0), -1, "on the dimension -1"),
            ((2, 0), (0, 1), "on the dimension 1"),
        ):
            for norm in (lambda x: x.norm(p, dim), lambda x: torch.linalg.vector_norm(x, p, dim)):
                with pytest.raises(RuntimeError) as e:
                    norm(torch.ones(shape))
                assert str(e.value).startswith("%s%g norm %s" % (head, p, where))
                assert str(e.value).endswith("the operation does not have an identity")
        assert torch.linalg.vector_norm(torch.ones(2, 0), p, 0).shape == (0,)
    for p in (0, 0.5, 1, 2):
        assert torch.linalg.vector_norm(torch.ones(2, 0), p, 1).tolist() == [0, 0]
    with pytest.raises(
        RuntimeError, match="_foreach_norm cannot compute the infinity norm on an empty tensor"
    ):
        torch._foreach_norm([torch.ones(0)], inf)


@pytest.mark.item("M5.72")
def test_tangents_where_deviation_and_norm_vanish(torch):
    fw = torch.autograd.forward_ad

    def tangents(f, values):
        with fw.dual_level():
            out = f(fw.make_dual(torch.tensor(values), torch.tensor([1.0, 2.0, 3.0])))
            return [fw.unpack_dual(o).tangent.item() for o in (out if isinstance(out, tuple) else (out,))]

    assert tangents(torch.std, [1.0, 1.0, 1.0]) == [0]
    assert tangents(torch.std_mean, [1.0, 1.0, 1.0]) == [0, 2]
    for p in (1.5, 2, 3, 4):
        assert tangents(lambda x: x.norm(p), [0.0, 0.0, 0.0]) == [0]
    for p in (inf, -inf):
        assert tangents(lambda x: x.norm(p), [nan, 1.0, 1.0]) == [0]
    assert same(tangents(torch.std, [1.0, 2.0, 4.0]), [0.9819805])
    assert same(tangents(lambda x: x.norm(3), [1.0, 2.0, 2.0]), [1 * 0.1512519 + 5 * 0.6050074])


@pytest.mark.item("M5.72")
@pytest.mark.parametrize("include_self", [True, False])
def test_second_derivative_of_a_scattered_product(torch, include_self):
    """The first one has no terms with two factors left out, so it cannot be differentiated where two are zero."""
    index = torch.tensor([0, 0, 1])
    for values, refused in (([0.0, 0.0, 3.0], True), ([0.0, 2.0, 0.0], False), ([1.0, 2.0, 3.0], False)):
        start = torch.ones(2)
        x = torch.tensor(values, requires_grad=True)
        out = start.scatter_reduce(0, index, x, "prod", include_self=include_self)
        (first,) = torch.autograd.grad(out.sum(), x, create_graph=True)
        assert first.tolist() == [values[1], values[0], 1]
        if refused:
            with pytest.raises(
                RuntimeError, match="Double backward is unsupported for src when >1 zeros in src"
            ):
                first.sum().backward()
        else:
            first.sum().backward()
            assert x.grad.tolist() == [1, 1, 0]
