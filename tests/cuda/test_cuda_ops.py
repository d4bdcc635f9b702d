"""Every op of the catalog with its operands on a CUDA device, against what PyTorch gave (tests/data/ops.json.gz): pointwise ops
and reductions must work for every dtype; other ops either refuse, naming themselves, or give the recorded values."""

import warnings

import pytest

import known_gaps
import opdb
import test_ops


class Filler(opdb.Filler):
    """Tensors of samples, moved to the device."""

    def _make(self, values, shape, dtype=None, grad=True):
        t = super()._make(values, shape, dtype, grad)
        return self._moved(t)

    def _special(self, order):
        return self._moved(super()._special(order))

    def I(self, *shape, n=3):  # noqa: E743
        return self._moved(super().I(*shape, n=n))

    def _moved(self, t):
        moved = t.detach().to("cuda")
        if t.requires_grad:
            moved.requires_grad_()
            self.made[-1] = moved
        return moved


def call(torch, entry, expression, dtype, requires_grad=False):
    filler = Filler(torch, dtype, requires_grad)
    args, kwargs = filler.evaluate(expression)
    function = opdb.find(torch, entry)
    if function is not None:
        result = function(*args, **kwargs)
    else:
        result = getattr(args[0], entry.name)(*args[1:], **kwargs)
    return opdb.flatten(result), filler


def is_refusal(exc):
    return isinstance(exc, NotImplementedError) and "from the 'CUDA' backend" in str(exc)


def expected_of(entry, expression, dtype):
    key = "%s|%s|%s" % (entry.schema.full_name, dtype, expression)
    expected = None if key in known_gaps.keys() else test_ops.recorded().get(key)
    if expected and any(r.get("dtype") == "complex32" for r in expected.get("out", ())):
        return key, None  # dtypes that mostly store have no copies on this backend
    return key, expected


def difference(torch, entry, expression, dtype):
    """What is wrong with one sample, or None."""
    key, expected = expected_of(entry, expression, dtype)
    if expected is None:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results, _ = call(torch, entry, expression, dtype)
        if "error" in expected and expected["text"] == "ZeroDivisionError":
            return None  # kernels of the device cannot raise; the quotient is not defined
        if "error" in expected:
            return "%s: expected %s (%s)" % (key, expected["error"], expected["text"])
        for r, e in zip(results, expected["out"]):
            assert (
                not isinstance(r, torch.Tensor)
                or r.device.type == "cuda"
                or not r.dim()
                or entry.kind is None
            ), key
            test_ops.same(opdb.describe(r), e, key)
    except AssertionError as exc:
        return str(exc).split("\n")[0]
    except Exception as exc:
        if entry.kind is None and is_refusal(exc):
            return None
        if expected.get("error") != type(exc).__name__:
            return "%s: %s: %s, expected %s" % (
                key,
                type(exc).__name__,
                exc,
                expected.get("error", "a result"),
            )
    return None


def cases():
    return [
        pytest.param(e, id=e.schema.full_name) for e in opdb.entries() if opdb.samples(e) and not e.random
    ]


@pytest.mark.parametrize("entry", cases())
def test_value(torch, entry):
    wrong = [
        difference(torch, entry, expression, dtype)
        for expression in opdb.samples(entry)
        for dtype in opdb.DTYPE_NAMES.values()
    ]
    wrong = [w for w in wrong if w]
    assert not wrong, "%d differences:\n%s" % (len(wrong), "\n".join(wrong[:12]))
