"""Every loop at every ISA level of this machine against the baseline: equal bits for arithmetic, one ulp for elementary
functions between v2 and the levels with fused multiply-add, which agree among themselves."""

import pytest

import opdb

minitorch_only = pytest.mark.minitorch_only(reason="levels are ours")


def cases():
    return [pytest.param(e, id=e.schema.full_name) for e in opdb.entries() if e.kind and opdb.samples(e)]


def values(torch, entry, expression, dtype):
    try:
        return [opdb.describe(r) for r in opdb.call(torch, entry, expression, dtype)[0]]
    except Exception as exc:
        return type(exc).__name__


def near(a, b, dtype):
    """Within a few units in the last place of the dtype (complex functions combine several)."""
    if a == b:
        return True
    eps = {
        "float16": 2**-10,
        "bfloat16": 2**-7,
        "complex32": 2**-10,
        "float32": 2**-23,
        "float64": 2**-52,
        "complex64": 2**-23,
        "complex128": 2**-52,
    }.get(dtype)
    if eps is None:
        return False
    if isinstance(a, list):
        scale = max(abs(v) for v in b) if all(v == v for v in b) else 0
        return all(
            x == y or (x != x and y != y) or abs(x - y) <= 16 * eps * max(scale, 1e-30) for x, y in zip(a, b)
        )
    if a != a or b != b:
        return a != a and b != b
    return abs(a - b) <= 4 * eps * max(abs(b), 1e-30)


@minitorch_only
@pytest.mark.parametrize("entry", cases())
def test_levels_agree(torch, entry):
    testing = torch._C._testing
    levels = [level for level in ("v2", "v3", "v4") if testing.set_isa(level)]
    try:
        for expression in opdb.samples(entry):
            for dtype in opdb.DTYPE_NAMES.values():
                results = {}
                for level in levels:
                    testing.set_isa(level)
                    results[level] = values(torch, entry, expression, dtype)
                base = results["v2"]
                for level in levels[1:]:
                    other = results[level]
                    assert type(base) is type(other), (expression, dtype, base, other)
                    if isinstance(base, str):
                        assert base == other
                        continue
                    for x, y in zip(base, other):
                        assert all(
                            near(p, q, x.get("dtype"))
                            for p, q in zip(x.get("values", []), y.get("values", []))
                        ), (level, expression, dtype)
                if "v4" in results and entry.kind != "reduce":
                    assert repr(results["v3"]) == repr(results["v4"]), (expression, dtype)
    finally:
        testing.set_isa(levels[-1])
