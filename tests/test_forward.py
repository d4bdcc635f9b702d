"""Forward mode of every op of the catalog, against reverse mode, whose values are PyTorch's (test_grads.py): both are the
same bilinear form, <w, J v> = <J^T w, v>. The second order is forward mode of the gradients against reverse mode of them."""

import pytest

import opdb

Plain = opdb.Filler


class Dual(Plain):
    """Every input that requires grad has a tangent as well."""

    def __init__(self, torch, dtype):
        super().__init__(torch, dtype, requires_grad=True)
        self.tangents = []
        self.directions = Plain(torch, dtype)
        self.directions.count = 1000

    def _dual(self, t):
        if not t.requires_grad:
            return t
        n = self.directions
        tangent = n._make(n._numbers(t.numel(), -1, 1), tuple(t.shape), str(t.dtype)[6:])
        self.tangents.append(tangent)
        return self.torch.autograd.forward_ad.make_dual(t, tangent)

    def _make(self, *args, **kwargs):
        return self._dual(super()._make(*args, **kwargs))

    def _special(self, order):
        return self._dual(super()._special(order))


def along(torch, grads, tangents):
    """The inner product of gradients and directions."""
    total = 0.0
    for g, v in zip(grads, tangents):
        if g is not None:
            g = torch.autograd.forward_ad.unpack_dual(g).primal.detach()
            total += (g.conj() * v).sum().real.item() if g.is_complex() else (g * v).sum().item()
    return total


def tangents_of(torch, tensors):
    found = [torch.autograd.forward_ad.unpack_dual(t).tangent for t in tensors]
    return [torch.zeros_like(t) if v is None else v.detach() for t, v in zip(tensors, found)]


def both(torch, entry, expression, dtype, monkeypatch):
    """Pairs (forward, reverse) of first and second order."""
    monkeypatch.setattr(opdb, "Filler", lambda torch, dtype, *rest: Dual(torch, dtype))
    try:
        outputs, filler = opdb.call(torch, entry, expression, dtype)
    finally:
        monkeypatch.undo()
    outputs = [o for o in outputs if hasattr(o, "dtype") and o.requires_grad]
    if not outputs or not filler.made or any(o.dtype in (torch.float16, torch.bfloat16) for o in outputs):
        return
    plain = Plain(torch, dtype)
    total = opdb.weighted_sum(torch, outputs, plain)
    first = torch.autograd.grad(total, filler.made, create_graph=True, allow_unused=True)
    moved = opdb.weighted_sum(torch, tangents_of(torch, outputs), Plain(torch, dtype))
    yield moved.item(), along(torch, first, filler.tangents)
    used = [g for g in first if g is not None and g.requires_grad]
    if not used:
        return
    second = torch.autograd.grad(
        opdb.weighted_sum(torch, used, Plain(torch, dtype)), filler.made, allow_unused=True
    )
    moved = opdb.weighted_sum(torch, tangents_of(torch, used), Plain(torch, dtype))
    yield moved.item(), along(torch, second, filler.tangents)


def agree(ours, theirs):
    if theirs != theirs:  # PyTorch's second derivative is nan there (sinc and copysign at zero)
        return True
    return ours == theirs or abs(ours - theirs) <= 1e-7 * max(1.0, abs(ours), abs(theirs))


def cases():
    return [
        pytest.param(e, id=e.schema.full_name)
        for e in opdb.entries()
        if opdb.differentiable(e) and opdb.samples(e)
    ]


@pytest.mark.parametrize("entry", cases())
def test_forward(torch, entry, monkeypatch):
    wrong = []
    for expression in opdb.samples(entry):
        if "S(" in expression or "S2(" in expression:
            continue  # infinities: sums over them say nothing
        for dtype in ("float64", "complex128"):
            where = "%s, %s" % (expression, dtype)
            try:
                plain = opdb.gradients(torch, entry, expression, dtype)
            except Exception:
                continue  # no such dtype, no such order: test_grads.py knows
            if plain is None:
                continue
            with torch.autograd.forward_ad.dual_level():
                try:
                    for order, (ours, theirs) in enumerate(
                        both(torch, entry, expression, dtype, monkeypatch), 1
                    ):
                        if not agree(ours, theirs):
                            wrong.append(
                                "%s, order %d: forward %r, reverse %r" % (where, order, ours, theirs)
                            )
                except Exception as exc:
                    wrong.append("%s: %s: %s" % (where, type(exc).__name__, exc))
    assert not wrong, "%d differences:\n%s" % (len(wrong), "\n".join(wrong[:12]))


def in_place_cases():
    return [c for c in cases() if "inplace" in c.values[0].variants and c.values[0].name != "t"]


def in_place(torch, entry):
    """The in-place form as a function."""
    name = entry.name + "_"
    return getattr(torch.Tensor, name, None) or getattr(torch._C._nn, name, None) or getattr(torch, name)


def fits_in_place(torch, entry, self, rest, kwargs):
    """Whether the in-place form takes these arguments without tangents."""
    plain = [t.detach() if isinstance(t, torch.Tensor) else t for t in rest]
    try:
        in_place(torch, entry)(self.detach().clone(), *plain, **kwargs)
    except RuntimeError:
        return False
    return True


@pytest.mark.parametrize("entry", in_place_cases())
def test_in_place(torch, entry):
    """The in-place form moves the tangent as the function does, in the memory of the tangent, and so seen by views."""
    unpack = torch.autograd.forward_ad.unpack_dual
    for expression in opdb.samples(entry):
        if "S(" in expression or "S2(" in expression:
            continue
        with torch.autograd.forward_ad.dual_level():
            args, kwargs = Dual(torch, "float64").evaluate(expression)
            self, rest = args[0].detach().clone(), args[1:]
            self = torch.autograd.forward_ad.make_dual(self, torch.full_like(self, 0.5))
            try:
                expected = getattr(self, entry.name)(*rest, **kwargs)
            except Exception:
                continue
            changed, whole = self.clone(), self.clone()
            part = whole[...]
            before = unpack(whole).tangent
            if entry.random:
                torch.manual_seed(5)
                expected = getattr(self, entry.name)(*rest, **kwargs)
            if not fits_in_place(torch, entry, self, rest, kwargs):
                continue
            for t in (changed, part):
                torch.manual_seed(5)
                in_place(torch, entry)(t, *rest, **kwargs)
            want = unpack(expected).tangent
            want = torch.zeros_like(self) if want is None else want
            for t in (changed, whole if changed.shape == whole.shape and not entry.view else changed):
                got = unpack(t).tangent
                assert torch.equal(got.nan_to_num(7.0), want.nan_to_num(7.0)), (expression, got, want)
            if not entry.view and changed.shape == whole.shape:
                assert unpack(whole).tangent.data_ptr() == before.data_ptr()


@pytest.mark.parametrize(
    "change, slope",
    [
        (lambda x: x.mul_(x), lambda x: 2 * x),
        (lambda x: x.div_(x), lambda x: 0 * x),
        (lambda x: x.pow_(x), lambda x: x**x * (x.log() + 1)),
        (lambda x: x.sub_(x), lambda x: 0 * x),
        (lambda x: x.atan2_(x), lambda x: 0 * x),
        (lambda x: x.addcmul_(x, x), lambda x: 1 + 2 * x),
        (lambda x: x.mul_(x.view(3)), lambda x: 2 * x),
    ],
)
def test_in_place_with_itself(torch, change, slope):
    """Formulas read the other argument as it was, although it lies in the memory that is overwritten."""
    forward_ad = torch.autograd.forward_ad
    x = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)
    with forward_ad.dual_level():
        changed = forward_ad.make_dual(x.clone(), torch.ones_like(x))
        change(changed)
        got = forward_ad.unpack_dual(changed).tangent
    assert torch.allclose(got, slope(x)), (got, slope(x))


def mixed_derivatives(torch, f):
    """d2 f / da db at (0, 0), by all four ways: reverse or forward mode of reverse or forward mode."""
    grad, jvp = torch.func.grad, torch.func.jvp
    zero, one = torch.zeros((), dtype=torch.float64), torch.ones((), dtype=torch.float64)
    by_a = {
        "reverse": lambda b: grad(lambda a: f(a, b))(zero),
        "forward": lambda b: jvp(lambda a: f(a, b), (zero,), (one,))[1],
    }
    for inner, derivative in by_a.items():
        yield "reverse of " + inner, grad(derivative)(zero).item()
        yield "forward of " + inner, jvp(derivative, (zero,), (one,))[1].item()


def of_two_numbers(torch, change, args, kwargs, through_view):
    """A function of two numbers, along which all arguments move, that changes argument 0 in place."""
    floats = [i for i, t in enumerate(args) if isinstance(t, torch.Tensor) and t.dtype == torch.float64]
    numbers = Plain(torch, "float64")
    along = {i: [numbers._make(numbers._numbers(args[i].numel(), -1, 1), tuple(args[i].shape), "float64") for _ in "ab"]
             for i in floats}  # fmt: skip

    def f(a, b):
        moved = [t + a * along[i][0] + b * along[i][1] if i in along else t for i, t in enumerate(args)]
        whole = moved[0] * 1
        self = whole[...] if through_view else whole
        change(self, *moved[1:], **kwargs)
        return (self if self.shape != whole.shape else whole).square().sum()

    return f


@pytest.mark.parametrize("through_view", [False, True], ids=["itself", "view"])
@pytest.mark.parametrize("entry", [c for c in in_place_cases() if not c.values[0].random])
def test_in_place_second_order(torch, entry, through_view):
    """What is saved of overwritten values has the tangents that they had, in every order of the modes."""
    wrong = []
    for expression in opdb.samples(entry):
        if "S(" in expression or "S2(" in expression:
            continue
        args, kwargs = Plain(torch, "float64").evaluate(expression)
        if not isinstance(args[0], torch.Tensor) or args[0].dtype != torch.float64:
            continue
        if not fits_in_place(torch, entry, args[0], args[1:], kwargs):
            continue
        f = of_two_numbers(torch, in_place(torch, entry), args, kwargs, through_view)
        try:
            reverse, *others = mixed_derivatives(torch, f)
        except Exception as exc:
            wrong.append("%s: %s: %s" % (expression, type(exc).__name__, exc))
            continue
        wrong += [
            "%s: %s %r, %s %r" % (expression, *o, *reverse) for o in others if not agree(o[1], reverse[1])
        ]
    assert not wrong, "\n".join(wrong[:8])


@pytest.mark.parametrize(
    "change",
    [
        lambda x: x.__setitem__(slice(1, 3), x[:2].clone() ** 3),
        lambda x: x.__setitem__(0, x[1].clone() ** 3),
        lambda x: x.__setitem__(x > 0.6, x[0].clone() ** 2),
        lambda x: x[1:3].mul_(x[:2].clone()),
        lambda x: x[1:3].exp_(),
        lambda x: x.view(2, 2).t()[0].mul_(x[2].clone()),
        lambda x: x.view(2, 2).diagonal().add_(x[:2].clone() ** 2),
        lambda x: x.as_strided((2,), (2,)).mul_(x[0].clone()),
        lambda x: x.as_strided((3, 2), (1, 1))[0].sin_(),
        lambda x: x.view(2, 2).tril_().square_(),
        lambda x: [x.mul_(x[0].clone()).add_(1).sin_() for _ in range(2)],
        lambda x: x.mul_(x.clone()).cumprod_(0),
    ],
)
def test_in_place_second_order_of_parts(torch, change):
    f = of_two_numbers(torch, change, [torch.tensor([0.5, 0.7, 0.9, 0.4], dtype=torch.float64)], {}, False)
    reverse, *others = mixed_derivatives(torch, f)
    assert reverse[1] != 0 and all(agree(o[1], reverse[1]) for o in others), (reverse, others)


def third_derivatives(torch, f):
    """d3 f / da3 at 0 by seven mixtures of the modes."""
    zero, one = torch.zeros((), dtype=torch.float64), torch.ones((), dtype=torch.float64)
    modes = {
        "r": lambda g: torch.func.grad(g),
        "f": lambda g: lambda a: torch.func.jvp(g, (a,), (one,))[1],
    }
    for names in ("rrr", "frr", "rfr", "rrf", "ffr", "frf", "fff"):
        g = f
        for name in reversed(names):
            g = modes[name](g)
        yield names, g(zero).item()


def norm_layers(torch):
    F = torch.nn.functional
    w, b = [torch.linspace(s, s + 1, 4, dtype=torch.float64) for s in (0.5, -0.3)]
    yield "layer_norm", lambda x: F.layer_norm(x, (6,), eps=0.1)
    yield "layer_norm affine", lambda x: F.layer_norm(x.mT, (4,), w * x.sum(), b).mT
    yield "group_norm", lambda x: F.group_norm(x, 2, w * x.sum(), b)
    yield "batch_norm", lambda x: F.batch_norm(x, None, None, w * x.sum(), b, training=True)
    yield "batch_norm eval", lambda x: F.batch_norm(x, b, w, w * x.sum(), b)
    yield "instance_norm", lambda x: F.instance_norm(x, weight=w * x.sum(), bias=b)
    yield "local_response_norm", lambda x: F.local_response_norm(x, 2)
    yield "rms_norm", lambda x: F.rms_norm(x, (6,))
    yield "logcumsumexp", lambda x: (x * 3).logcumsumexp(1)
    yield "cumprod", lambda x: x.cumprod(1)


@pytest.mark.parametrize("name", [n for n in ("layer_norm", "layer_norm affine", "group_norm", "batch_norm",
    "batch_norm eval", "instance_norm", "local_response_norm", "rms_norm", "logcumsumexp", "cumprod")])  # fmt: skip
def test_third_order(torch, name):
    """The statistics of a norm layer are functions of the input in every order: seven mixtures of the modes agree with
    differences of second derivatives."""
    layer = dict(norm_layers(torch))[name]
    numbers = Plain(torch, "float64")
    x, u, v = [numbers._make(numbers._numbers(48, -1, 1), (2, 4, 6), "float64") for _ in range(3)]

    def f(a):
        return (layer(x + a * u + a * a * v).sin() * v).sum()

    def second(a):
        return torch.func.grad(torch.func.grad(f))(torch.tensor(a, dtype=torch.float64)).item()

    step = 1e-4
    expected = (8 * (second(step) - second(-step)) - second(2 * step) + second(-2 * step)) / (12 * step)
    for names, got in third_derivatives(torch, f):
        assert abs(got - expected) <= 1e-5 * max(1.0, abs(expected)), (names, got, expected)
