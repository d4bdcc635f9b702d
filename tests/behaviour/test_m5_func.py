"""torch.func: transforms, alone and nested, nests of tensors, auxiliary results, modules as functions."""

import pytest


@pytest.fixture
def func(torch):
    import importlib

    return importlib.import_module(torch.__name__ + ".func")


def close(torch, a, b):
    return torch.allclose(torch.as_tensor(a).double(), torch.as_tensor(b).double(), rtol=1e-4, atol=1e-6)


@pytest.mark.item("M5.113")
def test_grad(torch, func):
    x = torch.tensor(0.5)
    g = func.grad(torch.sin)(x)
    assert close(torch, g, x.cos()) and not g.requires_grad and not x.requires_grad
    assert close(torch, func.grad(func.grad(torch.sin))(x), -x.sin())
    assert close(torch, func.grad(func.grad(func.grad(torch.sin)))(x), -x.cos())
    f = lambda a, b, k=1: (a * a * b * k).sum()  # noqa: E731
    a, b = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])
    assert func.grad(f)(a, b).tolist() == [6, 16]
    assert func.grad(f, argnums=1)(a, b).tolist() == [1, 4] and func.grad(f, argnums=-1)(a, b).tolist() == [
        1,
        4,
    ]
    both = func.grad(f, argnums=(0, 1))(a, b, k=2)
    assert type(both) is tuple and both[0].tolist() == [12, 32] and both[1].tolist() == [2, 8]
    tree = func.grad(lambda d: (d["p"] * d["q"][0]).sum())({"p": a, "q": [b]})
    assert tree["p"].tolist() == [3, 4] and tree["q"][0].tolist() == [1, 2]
    g, aux = func.grad(lambda t: (t.sum(), {"twice": t * 2}), has_aux=True)(a)
    assert g.tolist() == [1, 1] and aux["twice"].tolist() == [2, 4] and not aux["twice"].requires_grad
    g, v = func.grad_and_value(lambda t: (t * t).sum())(a)
    assert g.tolist() == [2, 4] and v.item() == 5 and not v.requires_grad
    g, (v, aux) = func.grad_and_value(lambda t: ((t * t).sum(), t), has_aux=True)(a)
    assert g.tolist() == [2, 4] and v.item() == 5 and aux.tolist() == [1, 2]
    assert func.grad(lambda t: torch.ones(()))(a).tolist() == [0, 0]


@pytest.mark.item("M5.113")
def test_grad_within_ordinary_autograd(torch, func):
    x = torch.tensor(0.5, requires_grad=True)
    g = func.grad(torch.sin)(x)
    g.backward()
    assert close(torch, x.grad, -x.detach().sin())
    w = torch.tensor(2.0, requires_grad=True)
    g = func.grad(lambda t: t * t * w)(torch.tensor(3.0))
    assert g.requires_grad
    g.backward()
    assert w.grad.item() == 6
    with torch.no_grad():
        g = func.grad(lambda t: t * t * w)(torch.tensor(3.0))
    assert g.item() == 12 and not g.requires_grad
    y = torch.tensor(1.0)

    def inner_no_grad(t):
        with torch.no_grad():
            c = t * 2
        return t * c

    assert func.grad(inner_no_grad)(y).item() == 2


@pytest.mark.item("M5.113")
def test_errors_of_grad(torch, func):
    x = torch.ones(2)
    with pytest.raises(RuntimeError, match="scalar Tensor, got tensor with 1 dims"):
        func.grad(lambda t: t * 2)(x)
    with pytest.raises(RuntimeError, match="(?i)to return a tensor, got"):
        func.grad(lambda t: 3)(x)
    with pytest.raises(RuntimeError, match="if has_aux is True"):
        func.grad(lambda t: t.sum(), has_aux=True)(x)
    for argnums in (1, (0, 0), "x"):
        with pytest.raises(RuntimeError):
            func.grad(lambda t: t.sum(), argnums=argnums)(x)


@pytest.mark.item("M5.113")
def test_vjp(torch, func):
    x, y = torch.tensor([0.1, 0.2]), torch.tensor([1.0, 2.0])
    out, product = func.vjp(lambda a, b: (a * b, a.sum()), x, y)
    assert type(out) is tuple and not out[0].requires_grad
    for _ in range(2):
        ga, gb = product((torch.ones(2), torch.tensor(3.0)))
        assert close(torch, ga, y + 3) and close(torch, gb, x)
    out, product, aux = func.vjp(lambda a: (a.sin(), a), x, has_aux=True)
    assert torch.equal(aux, x) and close(torch, product(torch.ones(2))[0], x.cos())
    with pytest.raises(RuntimeError, match="structure"):
        product((torch.ones(2),))


@pytest.mark.item("M5.113")
def test_jvp(torch, func):
    x, y = torch.tensor([0.1, 0.2]), torch.tensor([1.0, 2.0])
    out, product = func.jvp(lambda a, b: {"p": a * b}, (x, y), (torch.ones(2), torch.zeros(2)))
    assert torch.equal(out["p"], x * y) and torch.equal(product["p"], y)
    out, product, aux = func.jvp(lambda a: (a.sin(), a * 2), (x,), (y,), has_aux=True)
    assert close(torch, product, x.cos() * y) and torch.equal(aux, x * 2)

    def second(a):
        return func.jvp(torch.sin, (a,), (torch.ones(2),))[1]

    assert close(torch, func.jvp(second, (x,), (torch.ones(2),))[1], -x.sin())
    assert close(torch, func.grad(lambda a: second(a).sum())(x), -x.sin())
    assert close(torch, func.jvp(func.grad(lambda a: a.sin().sum()), (x,), (y,))[1], -x.sin() * y)
    for primals, tangents in (((x,), x), (x, (x,)), ((x,), (x, x)), ((), ()), ((x,), (torch.ones(3),))):
        with pytest.raises(RuntimeError):
            func.jvp(torch.sin, primals, tangents)


@pytest.mark.item("M5.113")
@pytest.mark.parametrize("name", ["jacrev", "jacfwd"])
def test_jacobians(torch, func, name):
    jac = getattr(func, name)
    x, w = torch.tensor([1.0, 2.0]), torch.arange(6.0).view(3, 2)
    assert torch.equal(jac(lambda a: w @ a)(x), w)
    assert jac(lambda a: a.sum())(x).tolist() == [1, 1]
    assert jac(lambda a: a * a)(torch.tensor(3.0)).item() == 6
    assert jac(lambda a, b: a.view(2, 1) * b)(x, torch.ones(3)).shape == (2, 3, 2)
    both = jac(lambda a, b: a * b, argnums=(0, 1))(x, x * 10)
    assert type(both) is tuple and both[1].tolist() == [[1, 0], [0, 2]]
    tree = jac(lambda a: {"s": a.sum(), "t": (a * 2,)})(x)
    assert tree["s"].tolist() == [1, 1] and tree["t"][0].tolist() == [[2, 0], [0, 2]]
    tree = jac(lambda d: d["a"] * d["b"])({"a": x, "b": x * 10})
    assert tree["a"].tolist() == [[10, 0], [0, 20]] and tree["b"].tolist() == [[1, 0], [0, 2]]
    m, aux = jac(lambda a: (a * a, a.sum()), has_aux=True)(x)
    assert m.tolist() == [[2, 0], [0, 4]] and aux.item() == 3
    assert jac(lambda a: torch.ones(3))(x).shape == (3, 2)
    assert not m.requires_grad
    cube = jac(jac(lambda a: a**3))(x)
    assert cube.shape == (2, 2, 2) and cube[1, 1, 1].item() == 12
    if name == "jacrev":
        assert torch.equal(jac(lambda a: w @ a, chunk_size=1)(x), w)
        with pytest.raises(ValueError):
            jac(lambda a: a, chunk_size=0)
    x.requires_grad_()
    jac(lambda a: a**3)(x).sum().backward()
    assert x.grad.tolist() == [6, 12]


@pytest.mark.item("M5.113")
def test_hessian(torch, func):
    x = torch.tensor([1.0, 2.0])
    f = lambda a: (a**3).sum() + a[0] * a[1]  # noqa: E731
    expected = [[6, 1], [1, 12]]
    assert func.hessian(f)(x).tolist() == expected
    for outer in (func.jacrev, func.jacfwd):
        for inner in (func.jacrev, func.jacfwd):
            assert close(torch, outer(inner(f))(x), torch.tensor(expected))
    h = func.hessian(lambda a, b: (a * b).sum(), argnums=(0, 1))(x, x)
    assert h[0][1].tolist() == [[1, 0], [0, 1]] and h[0][0].tolist() == [[0, 0], [0, 0]]
    assert torch.equal(torch.autograd.functional.hessian(f, x), func.hessian(f)(x))


@pytest.mark.item("M5.113")
def test_linearize(torch, func):
    x = torch.tensor([0.1, 0.2])
    out, derivative = func.linearize(lambda a: a.sin(), x)
    assert torch.equal(out, x.sin())
    for t in (torch.ones(2), x):
        assert close(torch, derivative(t), x.cos() * t)
    out, derivative = func.linearize(lambda a, b: (a * b, b), x, x * 2)
    assert close(torch, derivative(torch.ones(2), torch.zeros(2))[0], x * 2)
    with pytest.raises(RuntimeError):
        derivative(torch.ones(2))
    with pytest.raises(RuntimeError):
        derivative(torch.ones(3), torch.ones(2))


@pytest.mark.item("M5.113")
def test_vmap(torch, func):
    a, b = torch.arange(6.0).view(2, 3), torch.arange(12.0).view(3, 4)
    assert torch.equal(func.vmap(torch.sum)(a), a.sum(1))
    assert torch.equal(func.vmap(torch.sum, in_dims=1)(a), a.sum(0))
    assert torch.equal(func.vmap(torch.matmul, in_dims=(0, None))(a, b), a @ b)
    assert torch.equal(func.vmap(lambda v: v * 2, out_dims=1)(a), (a * 2).t())
    p, q = func.vmap(lambda v: (v.sum(), v * 2), out_dims=(0, 1))(a)
    assert torch.equal(p, a.sum(1)) and torch.equal(q, (a * 2).t())
    assert torch.equal(func.vmap(lambda d: d["v"].sum(), in_dims=({"v": 0},))({"v": a}), a.sum(1))
    assert torch.equal(func.vmap(func.vmap(lambda v: v * v))(a), a * a)
    assert torch.equal(func.vmap(func.grad(lambda v: (v * v).sum()))(a), 2 * a)
    assert torch.equal(func.vmap(torch.sum, chunk_size=1)(a), a.sum(1))
    with pytest.raises(ValueError, match="same size in the mapped dimension"):
        func.vmap(torch.add)(a, b)
    with pytest.raises(ValueError):
        func.vmap(torch.add, in_dims=(0,))(a, a)
    with pytest.raises(ValueError):
        func.vmap(torch.sum, in_dims=5)(a)
    with pytest.raises(ValueError):
        func.vmap(torch.sum)()
    with pytest.raises(RuntimeError, match="randomness"):
        func.vmap(lambda v: torch.rand(2) + v.sum())(a)
    same = func.vmap(lambda v: torch.rand(2) + 0 * v.sum(), randomness="same")(a)
    assert torch.equal(same[0], same[1])
    different = func.vmap(lambda v: torch.rand(2) + 0 * v.sum(), randomness="different")(a)
    assert not torch.equal(different[0], different[1])
    with pytest.raises(RuntimeError):
        func.vmap(torch.sum, randomness="some")(a)


@pytest.mark.item("M5.113")
def test_modules_as_functions(torch, func):
    nn = torch.nn
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))
    x = torch.randn(4, 2)
    params = {name: p.detach() * 2 for name, p in model.named_parameters()}
    before = model(x)
    out = func.functional_call(model, params, (x,))
    assert torch.equal(out, func.functional_call(model, params, x)) and not torch.equal(out, before)
    assert torch.equal(model(x), before) and not out.requires_grad
    assert close(torch, func.functional_call(model, {"2.bias": torch.zeros(1)}, x), before - model[2].bias)
    assert torch.equal(func.functional_call(model, ({}, params), x), out)
    assert torch.equal(func.functional_call(model, params, kwargs={"input": x}), out)
    grads = func.grad(lambda p: func.functional_call(model, p, x).sum())(dict(model.named_parameters()))
    before.sum().backward()
    for name, p in model.named_parameters():
        assert close(torch, grads[name], p.grad)
    with pytest.raises(RuntimeError):
        func.functional_call(model, {"2.bias": torch.zeros(1)}, x, strict=True)
    with pytest.raises(ValueError):
        func.functional_call(model, (params, params), x)
    with pytest.raises(ValueError):
        func.functional_call(model, 3, x)
    with pytest.raises(RuntimeError):
        func.functional_call(model, params, torch.randn(4, 5))
    assert torch.equal(model(x), before)
    tied = nn.Sequential(nn.Linear(2, 2, bias=False), nn.Linear(2, 2, bias=False))
    tied[1].weight = tied[0].weight
    out = func.functional_call(tied, {"0.weight": torch.eye(2) * 2}, x)
    assert torch.equal(out, x * 4)
    models = [nn.Linear(2, 1) for _ in range(3)]
    params, buffers = func.stack_module_state(models)
    assert params["weight"].shape == (3, 1, 2) and params["weight"].requires_grad and buffers == {}
    out = func.vmap(lambda p: func.functional_call(models[0], p, (x,)))(params)
    assert close(torch, out, torch.stack([m(x) for m in models]))
    with pytest.raises(RuntimeError):
        func.stack_module_state([])


@pytest.mark.item("M5.113")
def test_custom_functions(torch, func):
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return x * x

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)
            ctx.save_for_forward(*inputs)

        @staticmethod
        def backward(ctx, g):
            return 2 * ctx.saved_tensors[0] * g

        @staticmethod
        def jvp(ctx, t):
            return 2 * ctx.saved_tensors[0] * t

    x = torch.tensor(3.0)
    assert func.grad(Square.apply)(x).item() == 6
    assert func.grad(func.grad(Square.apply))(x).item() == 2
    assert func.jvp(Square.apply, (x,), (torch.tensor(1.0),))[1].item() == 6
