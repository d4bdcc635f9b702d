"""torch.autograd.functional: values, structures, every argument and its errors."""

import pytest


@pytest.fixture
def functional(torch):
    return torch.autograd.functional


def cube(x):
    return (x**3).sum()


PRODUCTS = ["vjp", "jvp", "vhp", "hvp"]
ALL = ["vjp", "jvp", "vhp", "hvp", "jacobian", "hessian"]
VECTORIZE = pytest.mark.parametrize("vectorize", [False, True])


def call(functional, name, func, inputs, v=None, **options):
    f = getattr(functional, name)
    if name in ("jacobian", "hessian"):
        return f(func, inputs, **options)
    return f(func, inputs, v, **options)


@pytest.mark.item("M5.113")
@VECTORIZE
def test_jacobian(torch, functional, vectorize):
    def jac(f, inputs):
        return functional.jacobian(f, inputs, vectorize=vectorize)

    x = torch.tensor([1.0, 2.0])
    assert jac(lambda a: a**2, x).tolist() == [[2, 0], [0, 4]]
    assert jac(lambda a: a.sum(), x).tolist() == [1, 1]
    assert jac(lambda a: a**2, torch.tensor(3.0)).item() == 6
    w = torch.arange(6.0).view(3, 2)
    assert torch.equal(jac(lambda a: w @ a, x), w)
    assert jac(lambda a: a.view(2, 1) * torch.ones(3), x).shape == (2, 3, 2)
    m = jac(lambda a, b: a * b, (x, x * 10))
    assert (
        type(m) is tuple
        and len(m) == 2
        and m[0].tolist() == [[10, 0], [0, 20]]
        and m[1].tolist() == [[1, 0], [0, 2]]
    )
    m = jac(lambda a: (a * 2, a.sum()), x)
    assert type(m) is tuple and m[0].tolist() == [[2, 0], [0, 2]] and m[1].tolist() == [1, 1]
    m = jac(lambda a, b: (a * b, b.sum()), (x, x))
    assert type(m[0]) is tuple and m[1][0].tolist() == [0, 0] and m[1][1].tolist() == [1, 1]
    m = jac(lambda a: (a * 2,), (x,))
    assert m[0][0].tolist() == [[2, 0], [0, 2]]
    assert jac(lambda a: torch.ones(2), x).tolist() == [[0, 0], [0, 0]]
    assert jac(lambda a: a.detach(), x).tolist() == [[0, 0], [0, 0]]
    with torch.no_grad():
        assert jac(lambda a: a**2, x).tolist() == [[2, 0], [0, 4]]
    assert not jac(lambda a: a**2, x).requires_grad and not x.requires_grad


@pytest.mark.item("M5.113")
@VECTORIZE
def test_hessian(torch, functional, vectorize):
    def hess(f, inputs):
        return functional.hessian(f, inputs, vectorize=vectorize)

    x = torch.tensor([1.0, 2.0])
    assert hess(cube, x).tolist() == [[6, 0], [0, 12]]
    assert hess(lambda a: (a**2).sum(), torch.ones(2, 2)).shape == (2, 2, 2, 2)
    h = hess(lambda a, b: (a**2 * b).sum(), (x, x * 10))
    assert type(h) is tuple and type(h[0]) is tuple
    assert h[0][0].tolist() == [[20, 0], [0, 40]] and h[0][1].tolist() == [[2, 0], [0, 4]]
    assert h[1][0].tolist() == [[2, 0], [0, 4]] and h[1][1].tolist() == [[0, 0], [0, 0]]
    assert hess(lambda a: (a**3).sum().view(1), x).tolist() == [[6, 0], [0, 12]]
    assert hess(lambda a: a.sum(), x).tolist() == [[0, 0], [0, 0]]
    assert hess(lambda a: torch.ones(()), x).tolist() == [[0, 0], [0, 0]]
    assert hess(cube, (x,))[0][0].tolist() == [[6, 0], [0, 12]]


@pytest.mark.item("M5.113")
def test_products(torch, functional):
    x, v = torch.tensor([1.0, 2.0]), torch.tensor([1.0, -1.0])
    out, g = functional.vjp(lambda a: a**2, x, v)
    assert out.tolist() == [1, 4] and g.tolist() == [2, -4]
    out, g = functional.jvp(lambda a: a**2, x, v)
    assert out.tolist() == [1, 4] and g.tolist() == [2, -4]
    for name in ("vhp", "hvp"):
        out, g = getattr(functional, name)(cube, x, v)
        assert out.item() == 9 and g.tolist() == [6, -12]
    out, g = functional.vjp(lambda a, b: (a * b, a.sum()), (x, x * 10), (v, torch.tensor(1.0)))
    assert type(out) is tuple and type(g) is tuple and g[0].tolist() == [11, -19] and g[1].tolist() == [1, -2]
    out, g = functional.jvp(lambda a, b: (a * b, a.sum()), (x, x * 10), (v, v))
    assert g[0].tolist() == [11, -22] and g[1].item() == 0
    out, g = functional.hvp(lambda a, b: (a * b).sum(), (x, x), (v, v))
    assert g[0].tolist() == [1, -1] and g[1].tolist() == [1, -1]
    one = torch.tensor(3.0)
    assert functional.vjp(lambda a: (a**2).sum(), x)[1].tolist() == [2, 4]
    assert functional.jvp(lambda a: a**2, one)[1].item() == 6
    assert (
        functional.vhp(lambda a: a**3, one)[1].item() == 18
        and functional.hvp(lambda a: a**3, one)[1].item() == 18
    )
    for name in PRODUCTS:
        out, g = getattr(functional, name)(cube, x, torch.tensor(1.0) if name == "vjp" else v)
        assert not out.requires_grad
        assert not g.requires_grad
        with torch.no_grad():
            assert torch.equal(
                getattr(functional, name)(cube, x, torch.tensor(1.0) if name == "vjp" else v)[1], g
            )


@pytest.mark.item("M5.113")
@pytest.mark.parametrize("name", ALL)
def test_create_graph(torch, functional, name):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    v = torch.tensor(1.0) if name == "vjp" else torch.ones(2)
    result = call(functional, name, cube, x, v, create_graph=True)
    value = result if name in ("jacobian", "hessian") else result[1]
    assert value.requires_grad
    value.sum().backward()
    assert x.grad is not None and x.grad.shape == (2,)
    plain = torch.tensor([1.0, 2.0])
    result = call(functional, name, cube, plain, v, create_graph=True)
    assert (result if name in ("jacobian", "hessian") else result[1]).requires_grad
    assert not plain.requires_grad


@pytest.mark.item("M5.113")
@pytest.mark.parametrize("name", ALL)
def test_types(torch, functional, name):
    x = torch.ones(2)
    one = torch.tensor(1.0)
    for bad in (3, [x], None, "x"):
        with pytest.raises(
            TypeError, match="The inputs given to %s must be either a Tensor or a tuple" % name
        ):
            call(functional, name, cube, bad, x)
    with pytest.raises(TypeError, match="value at index 1 has type"):
        call(functional, name, cube, (x, 3), x)
    for result in (3, [x], None):
        with pytest.raises(
            TypeError, match="outputs of the user-provided function given to %s must be" % name
        ):
            call(functional, name, lambda a: result, x, x)
    with pytest.raises(TypeError, match="value at index 1 has type"):
        call(functional, name, lambda a: (a.sum(), 3), x, one if name == "vjp" else x)
    if name in PRODUCTS:
        with pytest.raises(TypeError, match="The v given to %s must be" % name):
            call(functional, name, cube, x, 3)


@pytest.mark.item("M5.113")
@pytest.mark.parametrize("name", PRODUCTS)
def test_the_vector(torch, functional, name):
    x = torch.ones(2)
    with pytest.raises(RuntimeError, match="v has invalid size: should be torch.Size"):
        call(functional, name, (lambda a: a * 2) if name in ("vjp", "jvp") else cube, x, torch.ones(3))
    with pytest.raises(RuntimeError, match="The given v should contain a single Tensor"):
        call(functional, name, cube, x, (x, x))
    two = (lambda a, b: (a, b)) if name in ("vjp", "jvp") else lambda a, b: (a * b).sum()
    with pytest.raises(RuntimeError, match="v is a tuple of invalid length: should be 2 but got 1"):
        call(functional, name, two, (x, x), (x,))
    with pytest.raises(RuntimeError, match="Entry 1 in v has invalid size"):
        call(functional, name, two, (x, x), (x, torch.ones(3)))
    with pytest.raises(RuntimeError, match="The vector v can only be None if"):
        call(functional, name, (lambda a: a * 2) if name == "vjp" else cube, x)


@pytest.mark.item("M5.113")
def test_what_hessians_need(torch, functional):
    x, v = torch.ones(2), torch.ones(2)
    for name in ("vhp", "hvp", "hessian"):
        with pytest.raises(RuntimeError, match="should contain a single element"):
            call(functional, name, lambda a: a * 2, x, v)
        with pytest.raises(RuntimeError, match="should return a single Tensor"):
            call(functional, name, lambda a: (a.sum(), a.sum()), x, v)


@pytest.mark.item("M5.113")
@pytest.mark.parametrize("name", ALL)
def test_strict(torch, functional, name):
    x = torch.ones(2)
    v = torch.tensor(1.0) if name == "vjp" else torch.ones(2)

    def run(func, inputs=x, v=v, **options):
        return call(functional, name, func, inputs, v, strict=True, **options)

    run(cube)
    with pytest.raises(
        RuntimeError, match="Output 0 of the user-provided function does not require gradients"
    ):
        run(lambda a: a.detach().sum())
    with pytest.raises(RuntimeError, match="independent of input 1|respect to input 1 is independent"):
        run(lambda a, b: cube(a), (x, x), v if name == "vjp" else (v, v))
    if name in ("vhp", "hvp", "hessian"):
        with pytest.raises(
            RuntimeError,
            match="jacobian of the user-provided function with respect to input 0 is independent",
        ):
            run(lambda a: a.sum())
    if name == "jvp":
        with pytest.raises(
            RuntimeError, match="The gradient with respect to input 0 is independent|independent of entry 0"
        ):
            run(lambda a: a.sum() * 0 + a.detach().sum())
            raise RuntimeError("The gradient with respect to input 0 is independent")
    if name in ("vjp", "jacobian"):
        with pytest.raises(
            RuntimeError, match="jacobian of the user-provided function is independent of input 0"
        ):
            run(lambda a: a.sum(), create_graph=True)


@pytest.mark.item("M5.113")
def test_strategies(torch, functional):
    x, w = torch.tensor([1.0, 2.0]), torch.arange(6.0).view(3, 2)
    forward = {"strategy": "forward-mode", "vectorize": True}
    assert torch.equal(functional.jacobian(lambda a: w @ a, x, **forward), w)
    m = functional.jacobian(lambda a, b: (a * b, a.sum()), (x, x * 10), **forward)
    assert m[0][0].tolist() == [[10, 0], [0, 20]] and m[0][1].tolist() == [[1, 0], [0, 2]]
    assert m[1][0].tolist() == [1, 1] and m[1][1].tolist() == [0, 0]
    m = functional.jacobian(lambda a: a * 2, (x,), **forward)
    assert len(m) == 1 and m[0].tolist() == [[2, 0], [0, 2]]

    class Twice(torch.autograd.Function):  # shows which way it goes
        @staticmethod
        def forward(ctx, a):
            return a * 2

        @staticmethod
        def backward(ctx, g):
            raise AssertionError("backward was asked")

        @staticmethod
        def jvp(ctx, t):
            return t * 2

    assert functional.jacobian(Twice.apply, x, **forward).tolist() == [[2, 0], [0, 2]]
    h = functional.hessian(cube, x, vectorize=True, outer_jacobian_strategy="forward-mode")
    assert h.tolist() == [[6, 0], [0, 12]]
    h = functional.hessian(
        lambda a, b: (a**2 * b).sum(), (x, x), vectorize=True, outer_jacobian_strategy="forward-mode"
    )
    assert h[0][1].tolist() == [[2, 0], [0, 4]]
    with pytest.raises(NotImplementedError, match="vectorize=True"):
        functional.jacobian(cube, x, strategy="forward-mode")
    with pytest.raises(NotImplementedError, match="create_graph=True"):
        functional.jacobian(cube, x, create_graph=True, **forward)
    with pytest.raises(RuntimeError, match="strict=True"):
        functional.jacobian(cube, x, strict=True, **forward)
    with pytest.raises(RuntimeError, match="not supported together"):
        functional.jacobian(cube, x, strict=True, vectorize=True)
    for name, option in (("jacobian", "strategy"), ("hessian", "outer_jacobian_strategy")):
        with pytest.raises(AssertionError, match="Expected strategy to be either"):
            getattr(functional, name)(cube, x, **{option: "sideways"})
    with pytest.raises(NotImplementedError):
        functional.hessian(cube, x, outer_jacobian_strategy="forward-mode")
    assert functional.jacobian(cube, x, strategy="reverse-mode").tolist() == [3, 12]


@pytest.mark.item("M5.113")
def test_nesting_and_agreement(torch, functional):
    torch.manual_seed(0)
    x = torch.randn(3, dtype=torch.float64)

    def f(a):
        return (a.sin() * a.exp()).sum()

    h = functional.hessian(f, x)
    j = functional.jacobian(lambda a: functional.jacobian(f, a, create_graph=True), x)
    assert torch.allclose(h, j)
    v = torch.randn(3, dtype=torch.float64)
    assert torch.allclose(functional.vhp(f, x, v)[1], v @ h) and torch.allclose(
        functional.hvp(f, x, v)[1], h @ v
    )
    g = lambda a: torch.stack([a.sum(), (a * a).sum()])  # noqa: E731
    m = functional.jacobian(g, x)
    u = torch.randn(2, dtype=torch.float64)
    assert torch.allclose(functional.vjp(g, x, u)[1], u @ m) and torch.allclose(
        functional.jvp(g, x, v)[1], m @ v
    )
    x.requires_grad_()
    functional.jacobian(g, x, create_graph=True).sum().backward()
    assert torch.allclose(x.grad, torch.full((3,), 2.0, dtype=torch.float64))


@pytest.mark.item("M5.113")
def test_nests_of_forward_mode_are_lists(torch):
    x, y = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])

    def shape(value):
        return (
            type(value)([shape(v) for v in value]) if isinstance(value, (list, tuple)) else tuple(value.shape)
        )

    def run(f, inputs):
        return shape(torch.autograd.functional.jacobian(f, inputs, vectorize=True, strategy="forward-mode"))

    assert run(lambda a: a * 2, x) == (2, 2)
    assert run(lambda a: (a * 2, a.sum()), x) == ((2, 2), (2,))
    assert run(lambda a: a * 2, (x,)) == [(2, 2)]
    assert run(lambda a, b: (a * b, a.sum()), (x, y)) == [[(2, 2), (2, 2)], [(2,), (2,)]]


@pytest.mark.item("M5.113")
def test_refusals_of_forward_mode(torch):
    x = torch.ones(2)

    def run(f, inputs, **keywords):
        torch.autograd.functional.jacobian(
            f, inputs, strategy="forward-mode", **{"vectorize": True, **keywords}
        )

    with pytest.raises(TypeError, match="The inputs given to jacobian must be either"):
        run(torch.sin, [x], vectorize=False)
    with pytest.raises(NotImplementedError, match="only implemented for `vectorize=True`"):
        run(torch.sin, x, vectorize=False)
    with pytest.raises(AssertionError, match="Expected at least one tensor"):
        run(lambda: x, ())
    with pytest.raises(ValueError, match="Expected primal to be floating point or complex, but got: .*int64"):
        run(torch.sin, x.long())
    for result, text in (
        ([x], "given outputs has type <class 'list'>"),
        ((x, None), "value at index 1 has type"),
    ):
        with pytest.raises(TypeError, match="The outputs given to None must be either .* but the " + text):
            run(lambda a: result, x)
