"""Every op with its first, second, ... allocation failing: an exception, nothing leaked, inputs unchanged, and the op
right afterwards."""

import pytest

import opdb

pytestmark = pytest.mark.minitorch_only(reason="allocations are made to fail through our own hook")


def cases():
    return [
        pytest.param(e, id=e.schema.full_name) for e in opdb.entries() if opdb.samples(e) and not e.random
    ]


def run(torch, entry, args, kwargs):
    function = opdb.find(torch, entry) or getattr(torch.Tensor, entry.name)
    return function(*args, **kwargs)


@pytest.mark.parametrize("grad", [False, True], ids=["plain", "grad"])
@pytest.mark.parametrize("entry", cases())
def test_allocation_failures(torch, entry, grad):
    testing = torch._C._testing
    found = None
    for expression in opdb.samples(entry):
        for dtype in ("float32", "int64", "bool", "complex64"):
            try:
                filler = opdb.Filler(torch, dtype, requires_grad=grad)
                args, kwargs = filler.evaluate(expression)
                before = [opdb.describe(t) for t in opdb.flatten(list(args)) if isinstance(t, torch.Tensor)]
                expected = [opdb.describe(r) for r in opdb.flatten(run(torch, entry, args, kwargs))]
                found = True
                break
            except Exception:
                continue
        if found:
            break
    if not found:
        return
    live = testing.alloc_stats()["live_blocks"]
    for n in range(1, 200):
        testing.fail_at(n)
        try:
            result = run(torch, entry, args, kwargs)
            failed = testing.failed()
        except (RuntimeError, MemoryError):
            failed = testing.failed()
            assert failed
            result = None
        finally:
            testing.fail_at(0)
        if result is not None:
            got = [opdb.describe(r) for r in opdb.flatten(result)]
            assert got == expected or any(
                v != v for d in got for v in d.get("values", []) if not isinstance(v, list)
            )
        del result
        if not failed:
            break
    assert testing.alloc_stats()["live_blocks"] <= live
    assert (
        [opdb.describe(t) for t in opdb.flatten(list(args)) if isinstance(t, torch.Tensor)] == before
        or grad
        or (entry.only_inplace)
    )
