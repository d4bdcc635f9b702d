"""torch.func: what the function of a transform must not do, and arguments that are refused."""

import importlib

import pytest


@pytest.fixture
def func(torch):
    return importlib.import_module(torch.__name__ + ".func")


def transforms(torch, func):
    ones = torch.ones(3)
    yield lambda f: func.grad(lambda x: f(x).sum())(ones)
    yield lambda f: func.vjp(f, ones)
    yield lambda f: func.jvp(f, (ones,), (ones,))
    yield lambda f: func.jacfwd(f)(ones)
    yield lambda f: func.jacrev(f)(ones)
    yield lambda f: func.grad(lambda y: func.jvp(f, (y,), (ones,))[1].sum())(ones)


WRITES = {
    "add_": lambda q, x: q.add_(x),
    "+=": lambda q, x: q.__iadd__(x),
    "number": lambda q, x: q.mul_(2) * x,
    "zero_": lambda q, x: q.zero_() * x,
    "copy_": lambda q, x: q.copy_(x),
    "random": lambda q, x: q.uniform_() * x,
    "view": lambda q, x: q.view(3).add_(x),
    "data": lambda q, x: q.data.add_(1) * x,
    "detach": lambda q, x: q.detach().add_(1) * x,
    "item": lambda q, x: (q.__setitem__(0, x[0]), q + x)[1],
    "slice": lambda q, x: (q.__setitem__(slice(0, 2), x[:2]), q + x)[1],
    "mask": lambda q, x: (q.__setitem__(x > 0, x[0]), q + x)[1],
    "relu_": lambda q, x: q.relu_() * x,
    "resize_": lambda q, x: q.resize_(3) * x,
    "set_": lambda q, x: q.set_(q.new_ones(3)) * x,
}


@pytest.mark.item("M5.113")
@pytest.mark.parametrize("name", WRITES)
def test_captured_tensors_are_not_written(torch, func, name):
    for transform in transforms(torch, func):
        q = torch.full((3,), 2.0)
        version = q._version
        with pytest.raises(RuntimeError, match=r"in-place operation \(aten::.*mutate a captured Tensor"):
            transform(lambda x: WRITES[name](q, x))
        assert q.tolist() == [2, 2, 2] and q._version == version and not q.requires_grad
        q.add_(1)  # outside it may be written
        assert q.tolist() == [3, 3, 3]


@pytest.mark.item("M5.113")
def test_own_tensors_are_written(torch, func):
    x = torch.tensor([1.0, 2.0, 3.0])
    for f, slope in (
        (lambda t: torch.zeros(3).add_(t), 1),
        (lambda t: (t * 2).mul_(3), 6),
        (lambda t: t.clone().view(3).mul_(2), 2),
        (lambda t: torch.zeros(3).index_put_((torch.arange(3),), t), 1),
    ):
        assert func.grad(lambda t: f(t).sum())(x).tolist() == [slope] * 3
        assert func.jvp(f, (x,), (torch.ones(3),))[1].tolist() == [slope] * 3
    inner = lambda y: func.grad(lambda t: (t**3).sum())(y).add_(y).sum()  # noqa: E731
    assert func.grad(inner)(x).tolist() == [7, 13, 19]  # 6 y + 1
    inner = lambda y: func.jvp(lambda t: t**2, (y,), (y,))[1].add_(y).sum()  # noqa: E731
    assert func.grad(inner)(x).tolist() == [5, 9, 13]  # 4 y + 1


@pytest.mark.item("M5.113")
def test_tensors_of_an_outer_transform_are_captured(torch, func):
    def outer(y):
        z = y * 1
        return func.grad(lambda x: z.add_(x).sum())(y).sum()

    with pytest.raises(RuntimeError, match="mutate a captured Tensor"):
        func.grad(outer)(torch.ones(3))


NESTED = {
    "grad": lambda func, g, at: func.grad(g)(at),
    "vjp": lambda func, g, at: func.vjp(g, at),
    "jvp": lambda func, g, at: func.jvp(g, (at,), (at.detach().clone(),)),
    "jacrev": lambda func, g, at: func.jacrev(g)(at),
    "jacfwd": lambda func, g, at: func.jacfwd(g)(at),
}
WRITES_OF_OUTER = {
    "add_": lambda q: q.add_(1),
    "copy_": lambda q: q.copy_(q * 2),
    "view": lambda q: q.view(-1).mul_(2),
    "item": lambda q: q.__setitem__(0, 5.0),
    "zero_": lambda q: q.zero_(),
}


@pytest.mark.item("M5.113")
@pytest.mark.parametrize("write", WRITES_OF_OUTER)
@pytest.mark.parametrize("inner", NESTED)
def test_arguments_of_an_outer_transform_are_captured(torch, func, inner, write):
    def outer(x):
        def g(z):
            WRITES_OF_OUTER[write](x)
            return z.sum()

        NESTED[inner](func, g, torch.ones(3))
        return x.sum()

    name = {"view": "mul_.Tensor", "item": "copy_", "add_": "add_.Tensor"}.get(write, write)
    text = r"in-place operation \(aten::%s\) that would mutate a captured Tensor" % name
    for run in (
        lambda: func.grad(outer)(torch.ones(3)),
        lambda: func.jvp(outer, (torch.ones(3),), (torch.ones(3),)),
        lambda: func.grad(lambda y: func.grad(outer)(y * 1).sum())(torch.ones(3)),
    ):
        with pytest.raises(RuntimeError, match=text):
            run()


@pytest.mark.item("M5.113")
def test_each_depth_writes_its_own(torch, func):
    def third(c):
        d = c * 1
        return d.mul_(2).sum()

    def second(b):
        c = b * 1
        return (func.grad(third)(c) * c.mul_(3)).sum()

    def first(a):
        b = a * 1
        return (func.grad(second)(b) * b.mul_(5)).sum()

    assert func.grad(first)(torch.ones(2)).tolist() == [30, 30]


@pytest.mark.item("M5.113")
def test_tangents_that_do_not_fit(torch, func):
    x = torch.ones(2)
    for tangent, size in ((torch.ones(3), "[3]"), (torch.ones(()), "[]"), (torch.ones(2, 1), "[2, 1]")):
        with pytest.raises(RuntimeError) as error:
            func.jvp(torch.sin, (x,), (tangent,))
        assert str(error.value) == (
            "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not "
            "supported. Tensor is of size [2] while the given forward gradient is of size %s." % size
        )
    for tangent, name in ((5, "int"), (None, "NoneType")):
        with pytest.raises(
            RuntimeError, match="Expected tangents to only contain Tensors, got <class '%s'>$" % name
        ):
            func.jvp(torch.sin, (x,), (tangent,))


@pytest.mark.item("M5.113")
def test_batch_norm_in_training(torch, func):
    layer = torch.nn.BatchNorm1d(2)
    x = torch.tensor([[1.0, 2.0], [3.0, 5.0]])
    with pytest.raises(RuntimeError, match="mutate a captured Tensor"):
        func.grad(lambda t: layer(t).sum())(x)
    assert layer.num_batches_tracked.item() == 0 and layer.running_mean.tolist() == [0, 0]
    assert func.replace_all_batch_norm_modules_(layer) is layer and layer.running_mean is None
    assert func.grad(lambda t: layer(t).sum())(x).shape == x.shape


@pytest.mark.item("M5.113")
def test_what_a_transformed_function_must_not_do(torch, func):
    x, w = torch.ones(3), torch.ones(3, requires_grad=True)

    class OldStyle(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            return a * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    maps = [lambda f: func.grad(lambda t: f(t).sum())(x), lambda f: func.vmap(f)(x)]
    for transform in maps:
        with pytest.raises(RuntimeError, match=r"backward\(\) called inside a functorch transform"):
            transform(lambda t: ((w * 2).sum().backward(), t)[1])
        assert w.grad is None
        with pytest.raises(RuntimeError, match=r"call Tensor.requires_grad_\(\).*inside of a function being"):
            transform(lambda t: t.requires_grad_())
        with pytest.raises(RuntimeError, match="must override the setup_context staticmethod"):
            transform(OldStyle.apply)
    assert func.grad(lambda t: (torch.ones(3, requires_grad=True) * t).sum())(x).tolist() == [1, 1, 1]
    OldStyle.apply(w).sum().backward()  # the refusals are over
    assert w.grad.tolist() == [2, 2, 2] and torch.ones(1).requires_grad_().requires_grad


@pytest.mark.item("M5.113")
def test_refused_arguments(torch, func):
    x, c = torch.ones(3), torch.ones(2, dtype=torch.complex64)
    for name in ("grad", "jacrev"):
        with pytest.raises(
            ValueError, match="Thing passed to transform API must be Tensor, got <class 'float'>"
        ):
            getattr(func, name)(lambda t: t * 2)(2.0)
    with pytest.raises(ValueError, match="Thing passed to transform API must be Tensor"):
        func.vjp(lambda t: t * 2, 2.0)
    for name in ("grad", "jacrev", "jacfwd"):
        with pytest.raises(RuntimeError, match="argnums must be non-empty"):
            getattr(func, name)(lambda t: t.sum(), argnums=())(x)
    with pytest.raises(RuntimeError, match="Only allowed values for randomness are"):
        func.jacfwd(lambda t: t, randomness="q")(x)
    for name in ("jacrev", "jacfwd", "hessian"):
        with pytest.raises(RuntimeError, match="Expected all inputs to be real but received complex tensor"):
            getattr(func, name)(lambda t: (t * t.conj()).real.sum())(c)
    for name in ("jacrev", "jacfwd"):
        with pytest.raises(RuntimeError, match="Expected all outputs to be real but received complex tensor"):
            getattr(func, name)(lambda t: t * 1j)(x)
    with pytest.raises(RuntimeError, match="strict=True.*independent of the inputs"):
        func.jvp(lambda t: torch.ones(1), (x,), (x,), strict=True)
    assert func.jvp(lambda t: torch.ones(1), (x,), (x,))[1].tolist() == [0]


@pytest.mark.item("M5.82")
@pytest.mark.item("M5.113")
def test_inference_tensors(torch, func):
    with torch.inference_mode():
        x = torch.tensor([1.0, 2.0])
    cube = lambda t: t**3  # noqa: E731
    assert func.grad(lambda t: cube(t).sum())(x).tolist() == [3, 12]
    assert func.jvp(cube, (x,), (x,))[1].tolist() == [3, 24]
    assert func.vjp(cube, x)[1](x)[0].tolist() == [3, 24]
    assert func.jacfwd(cube)(x).tolist() == func.jacrev(cube)(x).tolist() == [[3, 0], [0, 12]]
    assert func.hessian(lambda t: cube(t).sum())(x).tolist() == [[6, 0], [0, 12]]
    assert func.vjp(cube, torch.ones(2))[1](x)[0].tolist() == [3, 6]


@pytest.mark.item("M5.113")
def test_buffers_that_a_module_replaces(torch, func):
    class Counter(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("count", torch.zeros(1))

        def forward(self, x):
            self.count = self.count + 1
            return x + self.count

    module, state = Counter(), {"count": torch.full((1,), 5.0)}
    assert func.functional_call(module, state, torch.zeros(1)).tolist() == [6]
    assert module.count.tolist() == [0] and state["count"].tolist() == [6]


@pytest.mark.item("M5.113")
def test_hessian_of_complex_arguments(torch):
    functional = torch.autograd.functional
    f = lambda z: (z * z.conj()).real.sum()  # noqa: E731
    z = torch.ones(2, dtype=torch.complex64)
    assert functional.hessian(f, z, vectorize=True).tolist() == [[2, 0], [0, 2]]
    with pytest.raises(RuntimeError, match="only for real scalar outputs"):
        functional.hessian(f, z)
    x = torch.tensor([1.0, 2.0])
    g = lambda t: (t**3).sum()  # noqa: E731
    assert functional.hessian(g, x, vectorize=True, outer_jacobian_strategy="forward-mode").tolist() == [
        [6, 0],
        [0, 12],
    ]
    assert functional.jacobian(lambda t: t * t, z, vectorize=True, strategy="forward-mode").tolist() == [
        [2, 0],
        [0, 2],
    ]


@pytest.mark.item("M5.114")
def test_tangents_that_are_refused(torch):
    forward_ad = torch.autograd.forward_ad
    x = torch.ones(2)

    def along(out, tangent, constant=False):
        class F(torch.autograd.Function):
            @staticmethod
            def forward(ctx, t):
                result = out(t)
                if constant:
                    ctx.mark_non_differentiable(result)
                return result

            @staticmethod
            def jvp(ctx, t):
                return tangent(t)

        return forward_ad.unpack_dual(F.apply(forward_ad.make_dual(x, x))).tangent

    with forward_ad.dual_level():
        with pytest.raises(RuntimeError, match="itself has a forward gradient at the same level"):
            forward_ad.make_dual(x, forward_ad.make_dual(x, x))
        for out, constant in ((lambda t: t.long(), False), (lambda t: t * 2, True)):
            with pytest.raises(
                RuntimeError, match="jvp returned a gradient at position 0.*not a differentiable"
            ):
                along(out, lambda t: t, constant)
            assert along(out, lambda t: None, constant) is None
        assert along(lambda t: t * 2, lambda t: t * 2).tolist() == [2, 2]


@pytest.mark.item("M5.113")
def test_results_that_are_refused(torch, func):
    x = torch.ones(3)
    reverse, forward = r"vjp\(f, \*primals\)", r"jvp\(f, primals, tangents\)"
    for who, run in (
        (reverse, lambda f, **k: func.vjp(f, x, **k)),
        (reverse, lambda f, **k: func.jacrev(f, **k)(x)),
        (forward, lambda f, **k: func.jvp(f, (x,), (x,), **k)),
        (forward, lambda f, **k: func.jacfwd(f, **k)(x)),
    ):
        for value, shown in ((None, "None"), ((), ""), ([None], "None")):
            with pytest.raises(
                RuntimeError,
                match=r"%s: Expected f .*non-empty output \(got output = \[%s\]\)" % (who, shown),
            ):
                run(lambda t: value)
        for value in (3, (x, 3), {"a": 3}):
            with pytest.raises(
                RuntimeError,
                match=who + ": expected f.* to return only tensors, got unsupported type <class 'int'>",
            ):
                run(lambda t: value)
        with pytest.raises(RuntimeError, match="Expected tensors, got unsupported type <class 'int'>"):
            run(lambda t: (t, 3), has_aux=True)
    for run in (lambda f: func.vjp(f, x), lambda f: func.jacrev(f)(x)):
        with pytest.raises(
            RuntimeError, match="must be floating-point or complex Tensors, got Tensor with dtype .*int64"
        ):
            run(lambda t: t.long())


@pytest.mark.item("M5.113")
def test_arguments_that_are_refused(torch, func):
    x = torch.ones(3)
    for make in (func.grad, func.jacrev, func.jacfwd):
        for argnums, text in (
            ((0, "a"), "argnum must be int, got: <class 'str'>"),
            ([0], "argnums must be int or .*, got: <class 'list'>"),
            ("a", "argnums must be int or .*, got: <class 'str'>"),
        ):
            with pytest.raises(RuntimeError, match=text):
                make(lambda a, b: (a * b).sum(), argnums=argnums)(x, x)
    for run in (lambda f, t: func.grad(f)(t), func.vjp, lambda f, t: func.jacrev(f)(t)):
        with pytest.raises(
            RuntimeError, match="^only Tensors of floating point dtype can require gradients$"
        ):
            run(lambda t: t.sum(), torch.tensor([1, 2]))
    with pytest.raises(RuntimeError, match="Missing key.s.: 'bias'"):
        func.functional_call(torch.nn.Linear(3, 2), {"weight": torch.ones(2, 3)}, (x,), strict=True)


@pytest.mark.item("M5.113")
def test_tangents_of_another_structure(torch, func):
    x = torch.ones(3)
    for tangents, shown in ((x, "*"), (None, "*"), ([x], "TreeSpec(list, None, [*])")):
        with pytest.raises(RuntimeError) as error:
            func.jvp(torch.sin, (x,), tangents)
        assert str(error.value).endswith(
            "Got primals with structure TreeSpec(tuple, None, [*]) and tangents with structure " + shown
        )
    with pytest.raises(RuntimeError, match="Expected primals to be a tuple"):
        func.jvp(torch.sin, x, (x,))


@pytest.mark.item("M5.113")
def test_whole_numbers_within_transforms(torch, func):
    x = torch.ones(3)
    (values, doubled), (flat, slope) = func.jvp(lambda t: ((t > 0).long(), t * 2), (x,), (x,))
    assert values.tolist() == [1, 1, 1] and not flat.any() and slope.tolist() == [2, 2, 2]
    outer = func.jvp(lambda a: func.jvp(lambda t: (t > 0).long(), (a,), (a,))[1].sum() + a.sum(), (x,), (x,))
    assert [v.item() for v in outer] == [3, 3]


@pytest.mark.item("M5.113")
def test_vmap_of_nothing(torch):
    """The function runs once to tell the shapes of the results."""
    vmap = torch.vmap
    assert vmap(lambda a: a * 2)(torch.ones(0, 3)).shape == (0, 3)
    assert vmap(lambda a: a.sum(), in_dims=1)(torch.ones(3, 0)).shape == (0,)
    assert vmap(lambda a: (a, a.long()), out_dims=1)(torch.ones(0, 3))[1].shape == (3, 0)
    assert vmap(lambda a: a.long(), out_dims=-1)(torch.ones(0, 3)).dtype == torch.int64


@pytest.mark.item("M5.113")
def test_vmap_without_dimension(torch):
    """Results that belong to one example need a place for the others."""
    text = r"vmap\(f, \.\.\.\): `f` can not return a BatchedTensor when out_dim is None"
    x = torch.arange(3.0)

    def f(a):
        return a * 2

    with pytest.raises(ValueError, match=text):
        torch.vmap(f, out_dims=None)(x)
    assert torch.vmap(lambda a: (a, torch.ones(2)), out_dims=(0, None))(x)[1].tolist() == [1, 1]


@pytest.mark.item("M5.113")
def test_linearize_checks_tangents(torch):
    _, derivative = torch.func.linearize(torch.sin, torch.ones(2))
    for tangent, what, have, want in (
        (torch.ones(2, dtype=torch.float64), "dtype", "torch.float64", "torch.float32"),
        (torch.ones(3), "shape", "torch.Size([3])", "torch.Size([2])"),
    ):
        with pytest.raises(RuntimeError) as e:
            derivative(tangent)
        assert str(e.value) == (
            "tangent:0 with %s %s in flattened pytree doesn't match the %s %s of the corresponding primal."
            % (what, have, what, want)
        )


@pytest.mark.item("M5.113")
def test_forward_jacobian_of_a_function_that_writes(torch):
    jacobian = torch.autograd.functional.jacobian
    x = torch.tensor([1.0, 2.0])
    result = jacobian(lambda a: a.mul_(3).square(), x, strategy="forward-mode", vectorize=True)
    assert result.tolist() == [[18, 0], [0, 36]] and x.tolist() == [3, 6]


@pytest.mark.item("M5.10")
def test_no_derivative_of_unique(torch):
    x = torch.tensor([1.0, 2.0, 1.0], requires_grad=True)
    for f, node, op in (
        (lambda: x.unique(), "Unique2Backward0", "_unique2"),
        (lambda: torch.unique(x, dim=0), "UniqueDimBackward0", "unique_dim"),
        (lambda: torch.unique_consecutive(x), "UniqueConsecutiveBackward0", "unique_consecutive"),
    ):
        out = f()
        assert type(out.grad_fn).__name__ == node
        with pytest.raises(NotImplementedError) as e:
            out.sum().backward()
        assert str(e.value) == "the derivative for '%s' is not implemented." % op


@pytest.mark.item("M5.10")
def test_names_of_blocks_are_texts(torch):
    record = torch.autograd.profiler.record_function
    for args, kind in ((("a", 1), "Optional[str]"), ((1,), "str")):
        with pytest.raises(RuntimeError, match="_record_function_enter_new") as e:
            record(*args).__enter__()
        assert "Expected a value of type '%s' for argument" % kind in str(e.value)
    with record("a", "b"), record("a", None):
        pass


@pytest.mark.item("M5.113")
def test_cotangents_that_are_no_tensors(torch):
    x = torch.ones(2)
    product = torch.func.vjp(torch.sin, x)[1]
    for wrong, name in ((1, "int"), ("a", "str")):
        with pytest.raises(TypeError, match="gradients can be either Tensors or None, but got " + name):
            product(wrong)
    with pytest.raises(RuntimeError, match="grad can be implicitly created only for scalar outputs"):
        product(None)
    assert torch.func.vjp(torch.sum, x)[1](None)[0].tolist() == [1, 1]


@pytest.mark.item("M5.60")
def test_versions_of_what_has_none(torch):
    count = torch.autograd.graph.increment_version
    x = torch.ones(2)
    for wrong, text in (
        (1, "expect a Iterable[Tensor] as input"),
        ([x, 1], "expects each element of the iterable to be a tensor"),
    ):
        with pytest.raises(RuntimeError) as e:
            count(wrong)
        assert str(e.value) == "increment_version " + text
    with torch.inference_mode():
        y = torch.ones(1)
    count([y, x])
    assert x._version == 2
