"""First and second derivatives with the leaves on a CUDA device, against what PyTorch gave for the same samples."""

import pytest

import known_gaps
import opdb
import test_cuda_ops
import test_grads
from test_ops import recorded, same


def cases():
    return [
        pytest.param(e, id=e.schema.full_name)
        for e in opdb.entries()
        if e.kind and opdb.differentiable(e) and opdb.samples(e)
    ]


@pytest.mark.parametrize("entry", cases())
def test_gradient(torch, entry, monkeypatch):
    monkeypatch.setattr(opdb, "Filler", test_cuda_ops.Filler)
    wrong = []
    for expression in opdb.samples(entry):
        key = "grad|%s|float64|%s" % (entry.schema.full_name, expression)
        expected = recorded().get(key)
        if not expected or "error" in expected or key in known_gaps.keys():
            continue
        try:
            ours = opdb.gradients(torch, entry, expression, "float64")
            for order, (mine, theirs) in enumerate(zip(ours, expected), 1):
                for i, (a, b) in enumerate(zip(mine, theirs)):
                    where = "%s, order %d, input %d" % (key, order, i)
                    if a is None or b is None:
                        other = a or b
                        assert other is None or not any(test_grads._nonzero(v) for v in other["values"]), (
                            where
                        )
                        continue
                    same(a, dict(b, stride=a["stride"]), where)
        except AssertionError as exc:
            wrong.append(str(exc).split("\n")[0])
        except Exception as exc:
            if not test_cuda_ops.is_refusal(exc):  # a formula that needs an op of another family
                wrong.append("%s: %s: %s" % (key, type(exc).__name__, exc))
    assert not wrong, "%d differences:\n%s" % (len(wrong), "\n".join(wrong[:12]))
