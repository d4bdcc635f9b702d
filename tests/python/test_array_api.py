"""The array API namespace against NumPy, whose main namespace follows the standard."""

import math
import warnings

import numpy as np
import pytest

xp = pytest.importorskip("minitorch.array_api")

ARRAYS = {
    "a": np.array([[1.5, -2.0, 0.0], [4.25, 5.0, -6.5]]),
    "b": np.array([[2.0, 2.0, -1.0]]),
    "f": np.array([1.0, np.nan, np.inf, -0.0, -3.5, 2.5], dtype=np.float32),
    "i": np.array([[3, -1, 2], [0, 7, -5]], dtype=np.int16),
    "k": np.array([0, 2, 1, 2]),
    "u": np.array([3, 200, 7], dtype=np.uint8),
    "t": np.array([[True, False, True], [False, False, True]]),
    "z": np.array([1 + 2j, -0.5j, 3.0], dtype=np.complex64),
    "c": np.array(2, dtype=np.int64),
    "d": np.array(2.5, dtype=np.float64),
    "m": np.arange(24.0).reshape(2, 3, 4),
    "e": np.zeros((0, 3)),
}
EXPRESSIONS = """
xp.abs(a) | xp.abs(i) | xp.abs(z) | xp.acos(b / 4) | xp.asinh(a) | xp.atan2(a, b) | xp.ceil(a) | xp.ceil(i) | xp.conj(z)
xp.exp(b) | xp.expm1(a) | xp.floor(f) | xp.imag(z) | xp.real(z) | xp.isfinite(f) | xp.isinf(f) | xp.isnan(f) | xp.log1p(b + 1)
xp.logical_not(t) | xp.negative(i) | xp.positive(i) | xp.reciprocal(b) | xp.round(f) | xp.round(i) | xp.sign(f) | xp.sign(i) | xp.sign(z)
xp.signbit(f) | xp.sqrt(xp.abs(a)) | xp.square(i) | xp.tanh(z) | xp.trunc(f) | xp.round(z) | xp.sin(a) | xp.cosh(b)
xp.add(a, b) | xp.add(i, c) | xp.add(i, d) | xp.add(u, i[0, :]) | xp.add(a, 1) | xp.add(2, i) | xp.subtract(a, 0.5) | xp.multiply(i, i)
xp.divide(a, b) | xp.pow(xp.abs(a), 2.0) | xp.pow(i, 2) | xp.remainder(a, b) | xp.remainder(i, xp.asarray(3, dtype=xp.int16))
xp.floor_divide(a, b) | xp.floor_divide(i, xp.asarray(-2, dtype=xp.int16)) | xp.maximum(a, b) | xp.minimum(i, c) | xp.hypot(a, b)
xp.copysign(a, b) | xp.nextafter(a, b) | xp.logaddexp(a, b) | xp.bitwise_and(i, c) | xp.bitwise_or(u, u[0]) | xp.bitwise_xor(i, i)
xp.bitwise_invert(i) | xp.bitwise_invert(t) | xp.bitwise_left_shift(u, xp.asarray(1, dtype=xp.uint8)) | xp.bitwise_right_shift(i, 1)
xp.equal(a, b) | xp.not_equal(i, c) | xp.less(a, 0) | xp.greater_equal(a, b) | xp.logical_xor(t, t[0, :]) | xp.logical_or(t, True)
xp.clip(a, -1, 2) | xp.clip(i, min=0) | xp.clip(a, b, 3.0) | xp.clip(u, 5, 100)
xp.sum(a) | xp.sum(i) | xp.sum(i, axis=1) | xp.sum(a, axis=(0, 1), keepdims=True) | xp.sum(t) | xp.sum(z)
xp.prod(i, axis=0) | xp.prod(a, axis=(0, 1)) | xp.mean(a, axis=0) | xp.mean(m, axis=(0, 2), keepdims=True) | xp.var(a) | xp.var(a, axis=1)
xp.std(a, axis=0) | xp.max(m, axis=(0, 1)) | xp.min(i) | xp.max(a, axis=1, keepdims=True)
xp.all(t, axis=0) | xp.any(t, axis=(0, 1)) | xp.all(a) | xp.any(e) | xp.any(xp.asarray(f), axis=0)
xp.cumulative_sum(k) | xp.cumulative_sum(a, axis=1) | xp.cumulative_sum(i, axis=0, include_initial=True) | xp.cumulative_prod(k + 1)
xp.diff(a) | xp.diff(k, n=2) | xp.diff(m, axis=0) | xp.diff(k, prepend=k[:1], append=k[:2])
xp.argmax(a) | xp.argmax(a, axis=1) | xp.argmin(i, axis=0, keepdims=True) | xp.argsort(k, stable=True) | xp.sort(a, axis=0) | xp.sort(i)
xp.count_nonzero(i) | xp.count_nonzero(a, axis=1) | xp.nonzero(t) | xp.searchsorted(xp.sort(k), xp.asarray([1, 2])) | xp.where(t, a, b)
xp.searchsorted(xp.sort(k), xp.asarray([1, 2]), side="right") | xp.take(a, xp.asarray([2, 0]), axis=1) | xp.take(k, xp.asarray([1, -1]))
xp.take_along_axis(a, xp.asarray([[0], [2]]), axis=1) | xp.isin(k, xp.asarray([2, 5])) | xp.isin(k, xp.asarray([2]), invert=True)
xp.unique_all(k) | xp.unique_counts(i) | xp.unique_inverse(k) | xp.sort(xp.unique_values(i))
xp.broadcast_arrays(a, b) | xp.broadcast_to(b, (4, 2, 3)) | xp.concat((a, b)) | xp.concat((a, i), axis=1) | xp.concat((a, b), axis=None)
xp.expand_dims(a, axis=1) | xp.expand_dims(k, axis=(0, 2)) | xp.flip(m) | xp.flip(m, axis=1) | xp.moveaxis(m, 0, -1)
xp.permute_dims(m, (2, 0, 1)) | xp.repeat(k, 2) | xp.repeat(a, 3, axis=1) | xp.repeat(k, xp.asarray([1, 0, 2, 1])) | xp.reshape(m, (4, -1))
xp.roll(a, 1) | xp.roll(m, (1, -1), axis=(0, 2)) | xp.squeeze(b, axis=0) | xp.stack((a, a), axis=1) | xp.stack((k, k)) | xp.tile(k, (2, 2))
xp.unstack(m, axis=1) | xp.matmul(a, a.T) | xp.matmul(m, xp.matrix_transpose(m)) | xp.matrix_transpose(m) | xp.vecdot(a, b) | xp.vecdot(z, z)
xp.tensordot(m, m, axes=((0, 2), (0, 2))) | xp.tensordot(a, xp.matrix_transpose(a), axes=1)
xp.arange(5) | xp.arange(2, 10, 3) | xp.arange(5, 0) | xp.arange(1.0, 2.0, 0.25) | xp.linspace(0, 1, 5) | xp.linspace(0, 1, 4, endpoint=False)
xp.eye(3) | xp.eye(2, 4, k=1) | xp.eye(3, k=-2) | xp.full((2, 3), 7) | xp.full(3, 1.5) | xp.full_like(a, 2) | xp.zeros((2, 0)) | xp.ones(3)
xp.zeros_like(i) | xp.ones_like(a, dtype=xp.int32) | xp.tril(a) | xp.triu(m, k=1) | xp.meshgrid(k, k) | xp.meshgrid(k, k, indexing="ij")
xp.asarray([[1, 2], [3, 4]]) | xp.asarray(3.5) | xp.asarray([True, False]) | xp.astype(a, xp.int32) | xp.astype(i, xp.bool)
xp.broadcast_shapes((2, 1), (3,)) | xp.empty((2, 3)).shape | xp.empty_like(a).shape
"""
CASES = [e.strip() for line in EXPRESSIONS.strip().split("\n") for e in line.split(" | ")]


def plain(value):
    if isinstance(value, tuple) and not hasattr(value, "dtype"):
        return [plain(v) for v in value]
    return np.asarray(value)


@pytest.mark.parametrize("expression", CASES)
def test_as_numpy(expression):
    tensors = {name: xp.asarray(array.copy()) for name, array in ARRAYS.items()}
    got = plain(eval(expression, {"xp": xp, "np": np, **tensors}))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        want = plain(eval(expression, {"xp": np, "np": np, **{n: a.copy() for n, a in ARRAYS.items()}}))
    for g, w in zip(got, want) if isinstance(want, list) else [(got, want)]:
        assert g.shape == w.shape
        default = not any(
            name in expression
            for name in ("asarray(3.5)", "linspace", "arange", "eye", "zeros((", "ones(3", "full(3")
        )
        if default:
            assert g.dtype == w.dtype, (g.dtype, w.dtype)
        np.testing.assert_allclose(g, w, rtol=1e-6 if g.dtype.itemsize <= 8 else 1e-12, atol=1e-12)


def test_dtypes():
    assert (
        xp.result_type(xp.int8, xp.uint8) == xp.int16
        and xp.result_type(xp.asarray(1, dtype=xp.int8), 3) == xp.int8
    )
    assert xp.result_type(xp.asarray([1.0], dtype=xp.float64), xp.asarray(1, dtype=xp.float32)) == xp.float64
    assert xp.result_type(xp.float32, 2j) == xp.complex64
    assert (
        xp.isdtype(xp.int8, "integral")
        and xp.isdtype(xp.float64, ("bool", "real floating"))
        and not xp.isdtype(xp.bool, "numeric")
    )
    assert xp.can_cast(xp.int8, xp.int32) and not xp.can_cast(xp.float64, xp.float32)
    info = xp.finfo(xp.complex64)
    assert (info.dtype, info.bits, info.eps) == (xp.float32, 32, 2.0**-23) and xp.iinfo(xp.int8).min == -128
    assert xp.__array_api_version__ == "2025.12" and (xp.e, xp.pi, xp.inf) == (math.e, math.pi, math.inf)


def test_special_values():
    inf, zero = xp.asarray([xp.inf, -xp.inf]), xp.asarray([1.0, -1.0])
    assert xp.floor_divide(inf, zero).tolist() == [xp.inf, xp.inf]
    assert math.isnan(float(xp.sign(xp.asarray(xp.nan)))) and math.isnan(float(xp.var(xp.asarray(xp.nan))))


def test_namespace_of_an_array():
    x = xp.asarray([1.0])
    assert x.__array_namespace__() is xp and x.__array_namespace__(api_version="2023.12") is xp
    with pytest.raises(ValueError):
        x.__array_namespace__(api_version="1999")
    assert x.to_device("cpu") is x
    info = xp.__array_namespace_info__()
    assert info.dtypes(kind="bool") == {"bool": xp.bool} and info.default_dtypes()["indexing"] == xp.int64
    assert info.capabilities()["boolean indexing"] and info.default_device() in info.devices()
    assert xp.from_dlpack(np.arange(3)).tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    "call,error",
    [
        ("xp.broadcast_shapes((2,), (3,))", ValueError),
        ("xp.result_type(1, 2)", TypeError),
        ("xp.add(1, 2)", TypeError),
        ("xp.squeeze(xp.ones((2, 1)), axis=0)", ValueError),
        ("xp.expand_dims(xp.ones(2), axis=5)", IndexError),
        ("xp.asarray([1, 2], copy=False)", ValueError),
        ("xp.nonzero(xp.asarray(1))", ValueError),
        ("xp.take(xp.ones((2, 2)), xp.asarray([0]))", ValueError),
        ("xp.matrix_transpose(xp.ones(3))", ValueError),
        ("xp.astype(xp.asarray([1j]), xp.float32)", TypeError),
        ("xp.isdtype(xp.int8, 'strange')", ValueError),
        ("xp.permute_dims(xp.ones((2, 3)), (0,))", ValueError),
        ("xp.cumulative_sum(xp.ones((2, 3)))", ValueError),
        ("xp.concat((xp.ones((2, 3)), xp.ones((3, 2))))", RuntimeError),
    ],
)
def test_refusals(call, error):
    with pytest.raises(error):
        eval(call, {"xp": xp})
