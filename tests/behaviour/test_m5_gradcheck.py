"""gradcheck and gradgradcheck: right and wrong functions in every mode, the arguments, the errors."""

import importlib
import warnings

import pytest

FAST = pytest.mark.parametrize("fast", [False, True])


@pytest.fixture
def check(torch):
    return torch.autograd.gradcheck


@pytest.fixture
def error(torch):
    torch.autograd.gradcheck  # loads the module
    return importlib.import_module(torch.__name__ + ".autograd.gradcheck").GradcheckError


def leaf(torch, *size, dtype=None):
    torch.manual_seed(0)
    return torch.randn(*size, dtype=dtype or torch.float64).requires_grad_()


def function(torch, forward, backward, jvp=None):
    """A custom Function of one input with these derivatives: backward(x, grad), jvp(x, tangent)."""

    class F(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            ctx.save_for_forward(x)
            return forward(x)

        @staticmethod
        def backward(ctx, g):
            return backward(ctx.saved_tensors[0], g)

    if jvp is not None:
        F.jvp = staticmethod(lambda ctx, t: jvp(ctx.saved_tensors[0], t))
    return F.apply


@pytest.mark.item("M5.112")
@FAST
def test_right_functions(torch, check, fast):
    x, y = leaf(torch, 2, 3), leaf(torch, 3, 2)
    z = leaf(torch, 3, dtype=torch.complex128)
    for f, inputs in (
        (lambda a, b: a @ b, (x, y)),
        (lambda a, b: (a.sin(), (b * b).sum()), (x, y)),
        (torch.exp, (z,)),
        (torch.exp, x),
        (lambda a, n, s: a * n, [x, 3, "text"]),
        (lambda a: (a * a.conj()).real, (z,)),
        (lambda a: (a.real * 1j, a.abs(), a.view(-1)), (z,)),
        (lambda a: torch.complex(a, a * 2), (x,)),
        (lambda a: a.sum(1, keepdim=True).expand(2, 3), (x,)),
    ):
        assert check(f, inputs, fast_mode=fast) is True
        assert check(f, inputs, fast_mode=fast, check_forward_ad=True) is True
        assert check(f, inputs, fast_mode=fast, check_forward_ad=True, check_backward_ad=False) is True
    assert check(lambda a: (a.sin(), a.detach()), (x,), fast_mode=fast)
    assert x.grad is None and x.requires_grad
    empty = torch.ones(0, dtype=torch.float64, requires_grad=True)
    assert check(lambda a: a * 2, (empty,), fast_mode=fast)
    scalar = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
    assert check(lambda a: a**3, (scalar,), fast_mode=fast)


@pytest.mark.item("M5.112")
@FAST
def test_wrong_functions(torch, check, error, fast):
    assert issubclass(error, RuntimeError)
    x = leaf(torch, 3)
    wrong = function(torch, lambda a: a * a, lambda a, g: 3 * a * g)
    with pytest.raises(error, match=r"Jacobian mismatch for output 0 with respect to input 0,\n") as e:
        check(wrong, (x,), fast_mode=fast)
    assert "numerical:" in str(e.value) and "analytical:" in str(e.value)
    if fast:
        assert "The max per-element difference (slow mode) is:" in str(e.value)
    assert check(wrong, (x,), fast_mode=fast, raise_exception=False) is False
    with pytest.raises(error, match="Jacobian mismatch for output 1 with respect to input 0"):
        check(lambda a: (a * 2, wrong(a)), (x,), fast_mode=fast)
    with pytest.raises(error, match="Jacobian mismatch for output 0 with respect to input 1"):
        check(lambda a, n, b: wrong(b) * a, (x, 3, leaf(torch, 3)), fast_mode=fast)
    with pytest.raises(error, match="Jacobian mismatch"):
        check(lambda a: a.detach() * a, (x,), fast_mode=fast)


@pytest.mark.item("M5.112")
@FAST
def test_wrong_complex_functions(torch, check, error, fast):
    z = leaf(torch, 3, dtype=torch.complex128)
    wrong = function(torch, lambda a: a * a, lambda a, g: 2 * a * g)  # the conjugate is missing
    with pytest.raises(
        error, match="While considering the imaginary part of complex outputs only, Jacobian mismatch"
    ):
        check(wrong, (z,), fast_mode=fast)
    with pytest.raises(
        error,
        match="While considering the imaginary part of complex inputs only, Jacobian computed with forward mode mismatch",
    ):
        check(
            function(torch, lambda a: a * 2j, lambda a, g: -2j * g, lambda a, t: t * 2),
            (z,),
            fast_mode=fast,
            check_forward_ad=True,
        )
    real_only = function(torch, lambda a: a.abs(), lambda a, g: (g * a / a.abs()).conj())
    with pytest.raises(error, match="^Jacobian mismatch"):
        check(real_only, (z,), fast_mode=fast)


@pytest.mark.item("M5.112")
@FAST
def test_forward_mode(torch, check, error, fast):
    x = leaf(torch, 3)
    right = function(torch, lambda a: a * a, lambda a, g: 2 * a * g, lambda a, t: 2 * a * t)
    wrong = function(torch, lambda a: a * a, lambda a, g: 2 * a * g, lambda a, t: 3 * a * t)
    assert check(right, (x,), check_forward_ad=True, fast_mode=fast)
    assert check(wrong, (x,), fast_mode=fast)
    with pytest.raises(
        error, match="Jacobian computed with forward mode mismatch for output 0 with respect to input 0"
    ):
        check(wrong, (x,), check_forward_ad=True, fast_mode=fast)
    without = function(torch, lambda a: a * a, lambda a, g: 2 * a * g)
    with pytest.raises(NotImplementedError, match="jvp"):
        check(without, (x,), check_forward_ad=True, fast_mode=fast)
    no_backward = function(torch, lambda a: a * a, lambda a, g: 1 / 0, lambda a, t: 2 * a * t)
    assert check(no_backward, (x,), check_forward_ad=True, check_backward_ad=False, fast_mode=fast)


@pytest.mark.item("M5.112")
def test_inputs(torch, check):
    with pytest.raises(ValueError, match="at least one input tensor to require gradient"):
        check(torch.exp, (torch.ones(2, dtype=torch.float64),))
    with pytest.raises(ValueError, match="at least one input tensor to require gradient"):
        check(lambda n: torch.ones(2), (3,))
    single = torch.ones(2, requires_grad=True)
    with pytest.warns(UserWarning, match="Input #0 requires gradient and is not a double precision"):
        check(lambda a: a * 2, (single,), eps=1e-2, atol=1e-2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check(lambda a, b: a * b, (leaf(torch, 2), torch.ones(2, dtype=torch.float32)))
    for size, stride in (((2, 3), (1, 0)), ((3,), (0,))):
        x = torch.ones(1, dtype=torch.float64).as_strided(size, stride) if size == (3,) else None
        x = x if x is not None else torch.ones(2, 1, dtype=torch.float64).expand(2, 3)
        x = x.detach().requires_grad_()
        with pytest.raises(RuntimeError, match="The 0th input has a dimension with stride 0"):
            check(lambda a: a * 2, (x,))
    scattered = torch.ones(3, 4, dtype=torch.float64).t().requires_grad_()
    assert check(lambda a: a * a, (scattered,))
    assert check(lambda a: a * a, (torch.ones(4, dtype=torch.float64)[::2].requires_grad_(),))


@pytest.mark.item("M5.112")
@FAST
def test_no_differentiable_output(torch, check, error, fast):
    x = leaf(torch, 3)
    assert check(lambda a: torch.ones(2), (x,), fast_mode=fast)
    assert check(lambda a: a.round().detach(), (x,), fast_mode=fast)
    with pytest.raises(error, match="Numerical gradient for function expected to be zero"):
        check(lambda a: a.detach() * 2, (x,), fast_mode=fast)


@pytest.mark.item("M5.112")
@FAST
def test_nondeterminism(torch, check, error, fast):
    x = leaf(torch, 3)
    calls = []

    def backward(a, g):
        calls.append(1)
        return 2 * a * g * (1 + 1e-7 * len(calls))

    drifts = function(torch, lambda a: a * a, backward)
    with pytest.raises(error, match="Backward is not reentrant"):
        check(drifts, (x,), fast_mode=fast)
    calls.clear()
    assert check(drifts, (x,), fast_mode=fast, nondet_tol=1e-4)


@pytest.mark.item("M5.112")
@FAST
def test_dtypes_and_sizes(torch, check, error, fast):
    x = leaf(torch, 3)
    with pytest.raises(RuntimeError):
        check(
            function(torch, lambda a: a * 2, lambda a, g: torch.ones(2, dtype=torch.float64)),
            (x,),
            fast_mode=fast,
        )
    assert check(torch.exp, (x,), check_grad_dtypes=True, fast_mode=fast)
    assert check(lambda a: a.to(torch.complex128).exp(), (x,), check_grad_dtypes=True, fast_mode=fast)
    mixed = function(torch, lambda a: a * 2, lambda a, g: g * 2, lambda a, t: (t * 2).to(torch.complex128))
    with pytest.raises(RuntimeError):
        check(mixed, (x,), check_forward_ad=True, check_grad_dtypes=True, fast_mode=fast)


@pytest.mark.item("M5.112")
@FAST
def test_outputs_that_change(torch, check, fast):
    x = leaf(torch, 3)
    calls = []

    def grows(a):
        calls.append(1)
        return torch.cat([a] * len(calls))

    with pytest.raises((AssertionError, RuntimeError)):
        check(grows, (x,), fast_mode=fast)
    calls.clear()

    def changes(a):
        calls.append(1)
        return a * 2 if len(calls) % 2 else (a * 2).float()

    with pytest.raises(AssertionError, match="Expected `func` to return outputs with the same dtype"):
        check(changes, (x,), fast_mode=fast)


@pytest.mark.item("M5.112")
@FAST
def test_missing_gradients(torch, check, error, fast):
    x = leaf(torch, 3)

    class F(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            ctx.set_materialize_grads(False)
            return a * 2, a * 3

        @staticmethod
        def backward(ctx, g, h):
            return g * 2 + h * 3

    with pytest.raises((error, TypeError)):
        check(F.apply, (x,), fast_mode=fast)

    class One(F):
        @staticmethod
        def forward(ctx, a):
            ctx.set_materialize_grads(False)
            return a * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    with pytest.raises((error, TypeError)):
        check(One.apply, (x,), fast_mode=fast)
    assert check(One.apply, (x,), fast_mode=fast, check_undefined_grad=False)

    class G(One):
        @staticmethod
        def backward(ctx, g):
            if g is None:
                raise RuntimeError("not prepared")
            return g * 2

    with pytest.warns(UserWarning, match="undefined gradient support"):
        with pytest.raises(error, match="Expected backward function to handle undefined output grads"):
            check(G.apply, (x,), fast_mode=fast)

    class H(One):
        @staticmethod
        def backward(ctx, g):
            return torch.ones(3, dtype=torch.float64) if g is None else g * 2

    with pytest.warns(UserWarning, match="undefined gradient support"):
        with pytest.raises(error, match="Expected all input grads to be undefined or zero"):
            check(H.apply, (x,), fast_mode=fast)


@pytest.mark.item("M5.112")
@FAST
def test_gradients_that_do_not_scale(torch, check, error, fast):
    x = leaf(torch, 3)
    careless = function(
        torch, lambda a: a.clone(), lambda a, g: torch.where(g == 0, 1e-9, 1.0) * torch.ones_like(g)
    )
    with pytest.raises(error):
        check(careless, (x,), fast_mode=fast)
    scalar = torch.tensor(1.0, dtype=torch.float64, requires_grad=True)
    offset = function(torch, lambda a: a.clone(), lambda a, g: torch.where(g == 0, 1e-9, g))
    with pytest.raises(error, match="backward not multiplied by grad_output"):
        check(offset, (scalar,), fast_mode=fast)
    assert check(offset, (scalar,), fast_mode=fast, masked=True, check_undefined_grad=False)


@pytest.mark.item("M5.112")
@FAST
def test_batched(torch, check, fast):
    x, y = leaf(torch, 2, 3), leaf(torch, 3, 2)
    assert check(lambda a, b: (a @ b).exp(), (x, y), check_batched_grad=True, fast_mode=fast)
    assert check(
        lambda a: a.sin() * 2,
        (x,),
        check_forward_ad=True,
        check_batched_forward_grad=True,
        fast_mode=fast,
    )


@pytest.mark.item("M5.112")
def test_arguments(torch, check):
    x = leaf(torch, 3)
    for options, text in (
        ({"check_backward_ad": False}, "Expected at least one of check_forward_ad or check_backward_ad"),
        (
            {"check_batched_grad": True, "check_backward_ad": False, "check_forward_ad": True},
            "Setting check_batched_grad=True requires check_backward_ad",
        ),
        (
            {"check_batched_forward_grad": True},
            "Setting check_batched_forward_grad=True requires check_forward_ad",
        ),
    ):
        with pytest.raises(AssertionError, match=text):
            check(torch.exp, (x,), **options)
    for options, text in (
        (
            {"check_rev_over_rev": False, "check_undefined_grad": False},
            "at least one of check_fwd_over_rev or",
        ),
        (
            {"check_rev_over_rev": False, "check_fwd_over_rev": True},
            "Setting check_undefined_grad=True requires",
        ),
    ):
        with pytest.raises(AssertionError, match=text):
            torch.autograd.gradgradcheck(torch.exp, (x,), **options)
    with pytest.raises(TypeError):
        check(torch.exp, (x,), 1e-6)
    near = function(torch, lambda a: a * a, lambda a, g: 2 * a * g * (1 + 1e-3))
    assert check(near, (x,), rtol=1e-2) and check(near, (x,), rtol=0, atol=1e-1)
    assert not check(near, (x,), rtol=0, atol=1e-6, raise_exception=False)
    assert check(torch.exp, (x,), eps=1e-4)


@pytest.mark.item("M5.112")
@FAST
def test_second_derivatives(torch, error, fast):
    check = torch.autograd.gradgradcheck
    x, y = leaf(torch, 2, 3), leaf(torch, 3)
    z = leaf(torch, 2, dtype=torch.complex128)
    assert check(lambda a, b: (a * b).exp(), (x, y), fast_mode=fast)
    assert check(lambda a: a * a * a, (z,), fast_mode=fast)
    assert check(lambda a: (a.sin(), a.sum()), (x,), fast_mode=fast, gen_non_contig_grad_outputs=True)
    assert check(
        lambda a: a * a, (x,), (torch.ones(2, 3, dtype=torch.float64, requires_grad=True),), fast_mode=fast
    )
    assert check(lambda a: (a * a).sin(), (x,), check_fwd_over_rev=True, fast_mode=fast)
    assert check(
        lambda a: (a * a).sin(),
        (x,),
        check_fwd_over_rev=True,
        check_rev_over_rev=False,
        check_undefined_grad=False,
        fast_mode=fast,
    )
    assert check(lambda a: (a * a).sin(), (x,), check_batched_grad=True, fast_mode=fast)
    wrong = function(torch, lambda a: a**3, lambda a, g: (3 * a * a).detach() * g)
    assert torch.autograd.gradcheck(wrong, (x,), fast_mode=fast)
    with pytest.raises(error, match="Jacobian mismatch"):
        check(wrong, (x,), fast_mode=fast)
    assert check(wrong, (x,), fast_mode=fast, raise_exception=False) is False
    once = torch.autograd.function.once_differentiable

    class Once(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            ctx.save_for_backward(a)
            return a * a

        @staticmethod
        @once
        def backward(ctx, g):
            return 2 * ctx.saved_tensors[0] * g

    with pytest.raises(error, match="Jacobian mismatch"):
        check(Once.apply, (x,), fast_mode=fast)


@pytest.mark.item("M5.112")
def test_the_module_and_the_function(torch):
    module = importlib.import_module(torch.__name__ + ".autograd.gradcheck")
    x = leaf(torch, 2)
    assert torch.autograd.gradcheck(torch.exp, (x,)) and module.gradcheck(torch.exp, (x,))
    assert callable(module.gradgradcheck) and torch.autograd.gradgradcheck(torch.exp, (x,))


@pytest.mark.item("M5.112")
def test_the_random_stream_is_left_alone(torch, check):
    x = leaf(torch, 3)
    torch.manual_seed(3)
    expected = torch.rand(1)
    torch.manual_seed(3)
    check(torch.exp, (x,), fast_mode=True)
    check(torch.exp, (x,))
    assert torch.equal(torch.rand(1), expected)
