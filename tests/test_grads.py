"""Every gradient of the catalog, first and second order, against what PyTorch gave for the same sample."""

import pytest

import known_gaps
import opdb
from test_ops import recorded, same


def cases():
    return [
        pytest.param(e, id=e.schema.full_name)
        for e in opdb.entries()
        if opdb.differentiable(e) and opdb.samples(e)
    ]


def by_differences(torch, entry, expression, key):
    """What PyTorch could not say, finite differences do."""
    try:
        slopes = opdb.slopes(torch, entry, expression)
    except Exception as exc:
        return ["%s: %s: %s" % (key, type(exc).__name__, exc)]
    return [
        "%s, order %d: slope %g, by differences %g" % (key, order, ours, theirs)
        for order, (ours, theirs) in enumerate(slopes, 1)
        if abs(ours - theirs) > 1e-4 * max(1.0, abs(ours), abs(theirs))
    ]


@pytest.mark.parametrize("entry", cases())
def test_gradient(torch, entry):
    wrong = []
    for expression in opdb.samples(entry):
        for dtype in ("float64", "complex128"):
            key = "grad|%s|%s|%s" % (entry.schema.full_name, dtype, expression)
            expected = recorded().get(key)
            if key in known_gaps.keys() or (expected and "error" in expected):
                continue
            if not expected:
                visible = "method" in entry.variants or opdb.find(torch, entry) is not None
                if visible and dtype == "float64" and not entry.random and "S" not in expression:
                    wrong += by_differences(torch, entry, expression, key)
                continue
            try:
                ours = opdb.gradients(torch, entry, expression, dtype)
                assert ours is not None, key + ": nothing to differentiate"
                for order, (mine, theirs) in enumerate(zip(ours, expected), 1):
                    for i, (a, b) in enumerate(zip(mine, theirs)):
                        where = "%s, order %d, input %d" % (key, order, i)
                        if a is None or b is None:
                            # No gradient and a gradient of zeros say the same.
                            other = a or b
                            assert other is None or not any(_nonzero(v) for v in other["values"]), where
                            continue
                        b = dict(b, stride=a["stride"])
                        same(a, b, where)
            except AssertionError as exc:
                wrong.append(str(exc).split("\n")[0])
            except Exception as exc:
                wrong.append("%s: %s: %s" % (key, type(exc).__name__, exc))
    assert not wrong, "%d differences:\n%s" % (len(wrong), "\n".join(wrong[:12]))


def _nonzero(v):
    return any(x != 0 for x in v) if isinstance(v, list) else v != 0


# Inputs that have no gradient by definition, and functions that differences do not see.
NOT_BY_DIFFERENCES = {
    "polar": "its gradient takes magnitudes for positive",
    "to.dtype": "a narrower dtype rounds the step away",
    "to.other": "a narrower dtype rounds the step away",
    "type_as": "a narrower dtype rounds the step away",
    "index_put": "of elements written twice one wins, both get the gradient",
    "embedding": "the row of padding_idx gets none",
    "nll_loss": "weights get none",
    "cross_entropy_loss": "weights get none",
    "binary_cross_entropy_with_logits": "weights get none",
}
JUMPS = {"remainder.Tensor", "remainder.Scalar", "fmod.Tensor", "fmod.Scalar"}


@pytest.mark.parametrize("entry", cases())
def test_by_differences(torch, entry):
    """Away from the grid of the samples, so that no kink lies within the step; nan outside of the domain is no slope."""
    wrong = []
    for expression in opdb.samples(entry):
        if (
            entry.random
            or entry.schema.full_name in NOT_BY_DIFFERENCES
            or "S(" in expression
            or "S2(" in expression
        ):
            continue
        if entry.schema.full_name in JUMPS and ".t()" in expression:
            continue  # a quotient is next to an integer
        if (
            "function" not in entry.variants
            and "method" not in entry.variants
            and opdb.find(torch, entry) is None
        ):
            continue  # of formulas only
        try:
            slopes = opdb.slopes(torch, entry, expression, point=0.00371)
        except (RuntimeError, TypeError):
            continue  # not for float64, or not called like this: other tests say so
        for order, (ours, theirs) in enumerate(slopes, 1):
            if theirs == theirs and not abs(ours - theirs) <= 1e-4 * max(1.0, abs(ours), abs(theirs)):
                wrong.append("%s, order %d: slope %g, by differences %g" % (expression, order, ours, theirs))
    assert not wrong, "\n".join(wrong)


def in_place_cases():
    return [c for c in cases() if "inplace" in c.values[0].variants]


def _slopes(torch, entry, expression, dtype, in_place):
    """Gradients of the inputs by the function or by its in-place form of a copy of self; None: this sample has no such form."""
    filler = opdb.Filler(torch, dtype, True, 0.0)
    args, kwargs = filler.evaluate(expression)
    if entry.random:
        torch.manual_seed(1234)
    self = args[0].clone()
    where = torch.Tensor if "method" in entry.variants else torch
    if in_place:
        form = getattr(where, entry.name + "_")
        try:
            form(self.detach().clone(), *args[1:], **kwargs)
        except RuntimeError:
            return None  # the result does not fit into self
        if entry.random:
            torch.manual_seed(1234)
        result = form(self, *args[1:], **kwargs)
        assert result is self
    else:
        result = getattr(where, entry.name)(self, *args[1:], **kwargs)
    total = opdb.weighted_sum(torch, [result], opdb.Filler(torch, dtype, False, 0.0))
    grads = torch.autograd.grad(total, filler.made, allow_unused=True, materialize_grads=True)
    return [g.detach() for g in grads]


@pytest.mark.parametrize("entry", in_place_cases())
def test_in_place_gradient(torch, entry):
    """An in-place form has the gradients of the function: what backward needs of the old self is kept."""
    for expression in opdb.samples(entry):
        for dtype in ("float64", "complex128"):
            try:
                expected = _slopes(torch, entry, expression, dtype, False)
            except Exception:
                continue  # no such dtype, nothing to differentiate: test_gradient knows
            got = _slopes(torch, entry, expression, dtype, True)
            if got is None:
                continue
            for a, b in zip(got, expected):
                assert torch.equal(a.nan_to_num(7.0), b.nan_to_num(7.0)), (expression, dtype, a, b)
