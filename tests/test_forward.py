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


def fits_in_place(torch, entry, self, rest, kwargs):
    """Whether the in-place form takes these arguments without tangents."""
    plain = [t.detach() if isinstance(t, torch.Tensor) else t for t in rest]
    try:
        getattr(self.detach().clone(), entry.name + "_")(*plain, **kwargs)
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
                getattr(t, entry.name + "_")(*rest, **kwargs)
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
