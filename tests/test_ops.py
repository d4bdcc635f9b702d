"""Every catalog op against what PyTorch gave for the same sample (tests/data/ops.json.gz), for every dtype; then the
other forms of the op (method, in-place, out=), layouts and the meta device against its main form."""

import cmath
import functools
import gzip
import json
import math
import os
import warnings

import pytest

import known_gaps
import opdb

DATA = os.path.join(opdb.ROOT, "tests", "data", "ops.json.gz")
TOLERANCE = {
    "float16": (1e-3, 1e-3),
    "bfloat16": (1.6e-2, 1e-2),
    "float32": (1.3e-6, 1e-5),
    "float64": (1e-7, 1e-9),
    "complex32": (1e-3, 1e-3),
    "complex64": (1.3e-6, 1e-5),
    "complex128": (1e-7, 1e-9),
}


@functools.lru_cache(maxsize=None)
def recorded():
    with gzip.open(DATA, "rt") as f:
        return json.load(f)


def cases():
    return [pytest.param(e, id=e.schema.full_name) for e in opdb.entries() if opdb.samples(e)]


def close(a, b, dtype):
    if isinstance(a, list):
        return close(complex(*a), complex(*b), dtype)
    if a == b:
        return True
    if isinstance(a, complex):
        rtol, atol = TOLERANCE[dtype]
        if cmath.isnan(a) or cmath.isnan(b) or cmath.isinf(a) or cmath.isinf(b):
            return (
                close(a.real, b.real, dtype)
                and close(a.imag, b.imag, dtype)
                or ((cmath.isnan(a) or cmath.isinf(a)) and (cmath.isnan(b) or cmath.isinf(b)))
            )
        return abs(a - b) <= atol + rtol * abs(b)
    if isinstance(a, float) and isinstance(b, float):
        if math.isnan(a) or math.isnan(b):
            return math.isnan(a) and math.isnan(b)
        if math.isinf(a) or math.isinf(b):
            return False
        rtol, atol = TOLERANCE.get(dtype, (1e-6, 1e-6))
        return abs(a - b) <= atol + rtol * abs(b)
    return False


def same(ours, theirs, where):
    """Raises with a short text when two descriptions differ."""
    assert ours.keys() == theirs.keys(), where
    if "value" in ours:
        assert ours == theirs, where
        return
    assert ours["dtype"] == theirs["dtype"], where
    assert ours["shape"] == theirs["shape"], where
    if 0 not in ours["shape"]:
        kept = [i for i, n in enumerate(ours["shape"]) if n != 1]
        assert [ours["stride"][i] for i in kept] == [theirs["stride"][i] for i in kept], where + " strides"
    for i, (a, b) in enumerate(zip(ours["values"], theirs["values"])):
        assert close(a, b, ours["dtype"]), "%s: element %d is %r, expected %r" % (where, i, a, b)


@pytest.mark.parametrize("entry", cases())
def test_value(torch, entry):
    name = entry.schema.full_name
    wrong = []
    for expression in opdb.samples(entry):
        for dtype in opdb.DTYPE_NAMES.values():
            key = "%s|%s|%s" % (name, dtype, expression)
            expected = recorded().get(key)
            if expected is None or key in known_gaps.keys():
                continue
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    results, _ = opdb.call(torch, entry, expression, dtype)
                if "error" in expected:
                    wrong.append("%s: expected %s (%s)" % (key, expected["error"], expected["text"]))
                    continue
                assert len(results) == len(expected["out"]), key
                for r, e in zip(results, expected["out"]):
                    same(opdb.describe(r), e, key)
            except AssertionError as exc:
                wrong.append(str(exc).split("\n")[0])
            except Exception as exc:
                if expected.get("error") != type(exc).__name__:
                    wrong.append(
                        "%s: %s: %s, expected %s"
                        % (key, type(exc).__name__, exc, expected.get("error", "a result"))
                    )
    assert not wrong, "%d differences:\n%s" % (len(wrong), "\n".join(wrong[:12]))


def first_sample(entry, torch, dtypes=("float32", "int64", "bool", "complex64")):
    """(expression, dtype, results) of the first sample that works."""
    for expression in opdb.samples(entry):
        for dtype in dtypes:
            try:
                results, _ = opdb.call(torch, entry, expression, dtype)
            except Exception:
                continue
            return expression, dtype, results
    return None


def equal(a, b):
    return opdb.describe(a)["values"] == opdb.describe(b)["values"] or all(
        close(x, y, opdb.describe(a)["dtype"])
        for x, y in zip(opdb.describe(a)["values"], opdb.describe(b)["values"])
    )


@pytest.mark.parametrize("entry", cases())
def test_forms_agree(torch, entry):
    """Method, out= and in-place give what the main form gives; in-place returns the very object."""
    if entry.random:
        return
    found = first_sample(entry, torch)
    if found is None:
        return
    expression, dtype, results = found
    function = opdb.find(torch, entry)
    if (
        function is not None
        and "method" in entry.variants
        and callable(getattr(torch.Tensor, entry.name, None))
    ):
        args, kwargs = opdb.Filler(torch, dtype).evaluate(expression)
        for a, b in zip(opdb.flatten(getattr(args[0], entry.name)(*args[1:], **kwargs)), results):
            assert opdb.describe(a) == opdb.describe(b) or equal(a, b)
    if function is not None and "out" in entry.variants:
        args, kwargs = opdb.Filler(torch, dtype).evaluate(expression)
        outs = [torch.empty(0, dtype=r.dtype) for r in results]
        given = outs[0] if len(outs) == 1 else tuple(outs)
        returned = opdb.flatten(function(*args, **kwargs, out=given))
        assert all(r is o for r, o in zip(returned, outs))
        for a, b in zip(outs, results):
            assert list(a.shape) == list(b.shape) and equal(a, b)
    if "inplace" in entry.variants:
        args, kwargs = opdb.Filler(torch, dtype).evaluate(expression)
        # float_power_ casts nothing back: its base has the dtype of the result
        target = args[0].to(results[0].dtype, copy=True) if entry.name == "float_power" else args[0].clone()
        try:
            name = entry.name + "_"
            method = next(
                getattr(space, name) for space in (torch.Tensor, torch, torch._C._nn) if hasattr(space, name)
            )
            returned = method(target, *args[1:], **kwargs)
        except RuntimeError as exc:
            assert "can't be cast" in str(exc) or "doesn't match the broadcast shape" in str(exc), exc
            return
        assert returned is target and target._version > 0
        assert equal(target.to(results[0].dtype), results[0].to(target.dtype).to(results[0].dtype))


@pytest.mark.parametrize("entry", cases())
def test_meta_device(torch, entry):
    """On the meta device: the same shapes, dtypes and strides, and no values."""
    found = first_sample(entry, torch)
    if found is None:
        return
    expression, dtype, results = found
    args, kwargs = opdb.Filler(torch, dtype).evaluate(expression)

    def to_meta(x):
        if isinstance(x, torch.Tensor):
            return x.to("meta")
        if isinstance(x, (list, tuple)):
            return type(x)(to_meta(i) for i in x)
        return x

    if not any(isinstance(a, torch.Tensor) for a in opdb.flatten(list(args))):
        return
    args = [to_meta(a) for a in args]
    kwargs = {k: to_meta(v) for k, v in kwargs.items()}
    function = opdb.find(torch, entry) or getattr(torch.Tensor, entry.name)
    try:
        metas = opdb.flatten(function(*args, **kwargs))
    except (NotImplementedError, RuntimeError):
        return  # the shape depends on values
    for m, r in zip(metas, results):
        if not isinstance(r, torch.Tensor) or r.device.type == "meta":
            continue
        assert m.device.type == "meta", entry.name
        assert (m.dtype, m.shape) == (r.dtype, r.shape)
