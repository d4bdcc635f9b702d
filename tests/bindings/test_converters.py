# SPDX-License-Identifier: BSD-3-Clause
"""as_tensor, asarray, from_numpy, frombuffer, from_file."""

import array
import gc
import warnings

import numpy as np
import pytest


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def raises(call, kind, text=""):
    with pytest.raises(kind) as info:
        call()
    assert type(info.value) is kind and text in str(info.value), repr(info.value)


# --- as_tensor ---


def test_as_tensor_keeps(torch):
    x, leaf = torch.ones(2, 3), torch.ones(2, requires_grad=True)
    assert torch.as_tensor(x) is x and torch.as_tensor(leaf) is leaf
    assert torch.as_tensor(x, dtype=torch.float32, device="cpu") is x
    y = torch.as_tensor(leaf, dtype=torch.float64)
    assert y.dtype is torch.float64 and y.grad_fn is not None
    y.sum().backward()
    assert leaf.grad.tolist() == [1.0, 1.0]
    assert torch.as_tensor([1, 2]).tolist() == [1, 2] and torch.as_tensor(3).shape == ()
    assert torch.as_tensor(x, device="meta").is_meta


def test_as_tensor_subclass(torch):
    class Sub(torch.Tensor):
        pass

    x = torch.ones(2).as_subclass(Sub)
    assert torch.as_tensor(x) is x
    assert type(torch.as_tensor(x, dtype=torch.float64)) is torch.Tensor


def test_as_tensor_array(torch):
    a = np.arange(6.0).reshape(2, 3)
    t = torch.as_tensor(a)
    a[0, 0] = 7
    assert t[0, 0].item() == 7.0
    assert torch.as_tensor(a, dtype=torch.int32).tolist() == [[7, 1, 2], [3, 4, 5]]
    assert torch.as_tensor(a, device="meta").shape == (2, 3)


def test_as_tensor_arguments(torch):
    raises(
        lambda: torch.as_tensor(), TypeError, 'as_tensor() missing 1 required positional arguments: "data"'
    )
    raises(
        lambda: torch.as_tensor([1], torch.float64), TypeError, "takes 1 positional argument but 2 were given"
    )
    raises(
        lambda: torch.as_tensor([1], requires_grad=True),
        TypeError,
        "unexpected keyword argument 'requires_grad'",
    )


# --- asarray ---


def test_asarray_keeps(torch):
    x, leaf = torch.ones(3), torch.ones(2, requires_grad=True)
    result = leaf * 2
    assert torch.asarray(x) is x and torch.asarray(x, copy=False) is x
    assert torch.asarray(x, copy=True).data_ptr() != x.data_ptr()
    assert torch.asarray(leaf) is leaf and leaf.requires_grad
    assert (
        torch.asarray(result).requires_grad and not torch.asarray(result, requires_grad=False).requires_grad
    )
    assert result.requires_grad
    assert torch.asarray(leaf, dtype=torch.float64).requires_grad
    assert torch.asarray(leaf, copy=True).grad_fn is not None
    assert not torch.asarray(leaf, copy=True, requires_grad=False).requires_grad and leaf.requires_grad
    assert torch.asarray(leaf, requires_grad=False) is leaf and not leaf.requires_grad  # the documented quirk
    assert torch.asarray(x, requires_grad=True) is x and x.requires_grad


def test_asarray_sources(torch):
    a = np.arange(4.0)
    t = torch.asarray(a)
    t[0] = 5
    assert a[0] == 5.0 and torch.asarray(a, copy=False).data_ptr() == a.ctypes.data
    c = torch.asarray(a, copy=True)
    c[1] = 50
    assert a[1] == 1.0
    assert torch.asarray([1, 2.5]).tolist() == [1.0, 2.5] and torch.asarray(3).shape == ()
    assert torch.asarray(np.float64(1)).dtype is torch.float64
    assert torch.asarray(np.float32(1), copy=True).dtype is torch.float32
    assert torch.asarray(bytearray(b"\1\2"), dtype=torch.uint8).tolist() == [1, 2]
    assert torch.asarray(array.array("d", [1.5]), dtype=torch.float64).tolist() == [1.5]
    assert torch.asarray(bytearray(8)).dtype is torch.float32
    assert torch.asarray(memoryview(np.arange(6.0).reshape(2, 3)), dtype=torch.float64).shape == (6,)
    capsule = torch.utils.dlpack.to_dlpack(torch.ones(2))
    assert torch.asarray(capsule, copy=False).tolist() == [1.0, 1.0]
    assert torch.asarray([1.0], requires_grad=True).requires_grad
    assert torch.asarray(a, requires_grad=True).requires_grad
    assert torch.asarray(torch.arange(3.0).untyped_storage(), dtype=torch.float32).tolist() == [0.0, 1.0, 2.0]


def test_asarray_errors(torch):
    x, a = torch.ones(3), np.arange(4.0)
    raises(
        lambda: torch.asarray([1, 2], copy=False), ValueError, "can't alias arbitrary sequence into a tensor."
    )
    raises(lambda: torch.asarray(3, copy=False), ValueError, "can't alias arbitrary sequence")
    raises(
        lambda: torch.asarray(a, dtype=torch.float32, copy=False),
        ValueError,
        "can't alias tensor with dtype 'Double' into dtype 'Float'.",
    )
    raises(
        lambda: torch.asarray(x, dtype=torch.float64, copy=False),
        ValueError,
        "can't alias tensor with dtype 'Float' into dtype 'Double'.",
    )
    raises(
        lambda: torch.asarray(x, device="meta", copy=False),
        ValueError,
        "can't alias tensor from device 'cpu' to 'meta'.",
    )
    raises(lambda: torch.asarray(np.float64(1), copy=False), RuntimeError, "can't alias NumPy scalars")
    raises(lambda: torch.asarray([1], requires_grad=True), RuntimeError, "Only Tensors of floating point")
    raises(lambda: torch.asarray(bytearray(5)), ValueError, "must be a multiple of element size (4)")
    raises(lambda: torch.asarray("abcd"), TypeError, "invalid data type 'str'")
    raises(lambda: torch.asarray(None), RuntimeError, "Could not infer dtype of NoneType")
    raises(lambda: torch.asarray(a, copy=1), TypeError, "asarray(): argument 'copy' must be bool, not int")
    raises(lambda: torch.asarray(), TypeError, 'asarray() missing 1 required positional arguments: "obj"')
    raises(lambda: torch.asarray(x, torch.float64), TypeError, "takes 1 positional argument but 2 were given")


# --- from_numpy ---


def test_from_numpy_shares(torch):
    a = np.arange(6.0).reshape(2, 3)
    t = torch.from_numpy(a)
    t[0, 1] = -1
    a[1, 2] = -2
    assert a[0, 1] == -1.0 and t[1, 2].item() == -2.0 and t.data_ptr() == a.ctypes.data
    odd = np.arange(24.0).reshape(4, 6)[1::2, ::3].T
    s = torch.from_numpy(odd)
    assert s.tolist() == odd.tolist() and s.stride() == tuple(n // 8 for n in odd.strides)
    assert torch.from_numpy(np.array(3.0)).shape == ()
    assert torch.from_numpy(np.zeros((2, 0, 3))).shape == (2, 0, 3)
    b = np.broadcast_to(np.arange(3.0), (2, 3))
    assert torch.from_numpy(b).stride() == (0, 1)
    assert torch.from_numpy(np.ma.array([1.0])).tolist() == [1.0]
    del a, odd
    gc.collect()
    assert t[0, 1].item() == -1.0 and s.shape == (2, 2)


@pytest.mark.parametrize(
    "code",
    [
        "bool",
        "uint8",
        "int8",
        "int16",
        "int32",
        "int64",
        "float16",
        "float32",
        "float64",
        "complex64",
        "complex128",
    ],
)
def test_from_numpy_dtypes(torch, code):
    a = np.array([1, 0, 1], dtype=code)
    t = torch.from_numpy(a)
    assert t.dtype is getattr(torch, code) and t.tolist() == a.tolist()
    back = t.numpy()
    assert back.dtype == a.dtype and back.ctypes.data == a.ctypes.data


def test_from_numpy_c_types(torch):
    assert torch.from_numpy(np.array([1], dtype=np.longlong)).dtype is torch.int64
    assert torch.from_numpy(np.array([1], dtype=np.intc)).dtype is torch.int32


def test_from_numpy_errors(torch):
    a = np.arange(6.0)
    raises(lambda: torch.from_numpy([1]), TypeError, "expected np.ndarray (got list)")
    raises(lambda: torch.from_numpy(torch.ones(1)), TypeError, "expected np.ndarray (got Tensor)")
    raises(lambda: torch.from_numpy(np.float64(1)), TypeError, "expected np.ndarray (got numpy.float64)")
    raises(
        lambda: torch.from_numpy(a[::-1]),
        ValueError,
        "At least one stride in the given numpy array is negative",
    )
    raises(lambda: torch.from_numpy(np.zeros((1, 4, 5))[::-1]), ValueError, "negative")
    raises(
        lambda: torch.from_numpy(a.astype(">f8")),
        ValueError,
        "byte order different from the native byte order",
    )
    odd = np.ndarray((3,), dtype=np.float32, buffer=bytearray(40), strides=(6,))
    raises(lambda: torch.from_numpy(odd), ValueError, "strides not a multiple of the element byte size")
    raises(
        lambda: torch.from_numpy(np.array([None])),
        TypeError,
        "can't convert np.ndarray of type numpy.object_",
    )
    raises(lambda: torch.from_numpy(np.array(["a"])), TypeError, "numpy.str_")
    raises(
        lambda: torch.from_numpy(a).resize_(100),
        RuntimeError,
        "Trying to resize storage that is not resizable",
    )
    raises(lambda: torch.from_numpy(a, 1), TypeError)


def test_readonly_warns_once(torch):
    locked = np.arange(3.0)
    locked.flags.writeable = False
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        torch.from_numpy(locked)
        torch.as_tensor(locked)
        torch.asarray(locked)
    assert len(seen) <= 1  # an earlier test may have used it up
    if seen:
        assert "not writable" in str(seen[0].message)


# --- frombuffer ---


def test_frombuffer_shares(torch):
    data = bytearray(range(16))
    t = torch.frombuffer(data, dtype=torch.uint8)
    data[3] = 200
    t[0] = 77
    assert t[3].item() == 200 and data[0] == 77
    part = torch.frombuffer(data, dtype=torch.int16, count=3, offset=4)
    assert part.tolist() == [4 + 256 * 5, 6 + 256 * 7, 8 + 256 * 9]
    assert torch.frombuffer(bytearray(8), dtype=torch.int32, count=-5).shape == (2,)
    assert torch.frombuffer(bytearray(8), dtype=torch.int32, offset=2, count=1).shape == (1,)
    assert torch.frombuffer(bytearray(8), dtype=torch.float32, requires_grad=True).requires_grad
    t = torch.frombuffer(array.array("d", [1.5, 2.5]), dtype=torch.float64)
    gc.collect()
    assert t.tolist() == [1.5, 2.5]
    assert torch.frombuffer(b"abcd", dtype=torch.uint8).tolist() == [97, 98, 99, 100]


@pytest.mark.minitorch_only(reason="PyTorch lets the memory go")
def test_frombuffer_holds_the_exporter(torch):
    data = bytearray(16)
    t = torch.frombuffer(data, dtype=torch.uint8)
    raises(lambda: data.extend(b"x" * 100000), BufferError)
    del t
    gc.collect()
    data.extend(b"x")


def test_frombuffer_errors(torch):
    def call(n, dtype=torch.int32, **options):
        return lambda: torch.frombuffer(bytearray(n), dtype=dtype, **options)

    raises(
        call(7),
        ValueError,
        "buffer length (7 bytes) after offset (0 bytes) must be a multiple of element size (4)",
    )
    raises(call(0), ValueError, "both buffer length (0) and count (-1) must not be 0")
    raises(call(8, count=0), ValueError, "both buffer length (8) and count (0) must not be 0")
    raises(
        call(8, count=3),
        ValueError,
        "requested buffer length (3 * 4 bytes) after offset (0 bytes) must not be greater "
        "than actual buffer length (8 bytes)",
    )
    for offset in (8, 9, -1):
        raises(
            call(8, offset=offset),
            ValueError,
            "offset (%d bytes) must be non-negative and no greater than buffer "
            "length (8 bytes) minus 1" % offset,
        )
    raises(call(8, offset=2), ValueError, "buffer length (6 bytes) after offset (2 bytes) must be a multiple")
    raises(
        call(8, count=1, offset=6), ValueError, "requested buffer length (1 * 4 bytes) after offset (6 bytes)"
    )
    raises(call(8, requires_grad=True), RuntimeError, "Only Tensors of floating point")
    raises(call(8, None), TypeError, "frombuffer(): argument 'dtype' must be torch.dtype, not NoneType")
    raises(
        lambda: torch.frombuffer(3, dtype=torch.uint8),
        ValueError,
        "does not implement Python buffer protocol",
    )
    raises(
        lambda: torch.frombuffer(bytearray(8)),
        TypeError,
        'frombuffer() missing 1 required positional arguments: "dtype"',
    )
    raises(
        lambda: torch.frombuffer(np.zeros((2, 3)).T, dtype=torch.float64),
        RuntimeError,
        "could not retrieve buffer from object",
    )
    raises(
        lambda: torch.frombuffer(bytearray(4), dtype=torch.uint8).resize_(100), RuntimeError, "not resizable"
    )


@pytest.mark.minitorch_only(reason="PyTorch multiplies without a check")
def test_frombuffer_huge_count(torch):
    with pytest.raises((ValueError, MemoryError)):
        torch.frombuffer(bytearray(8), dtype=torch.int32, count=2**62)


# --- from_file ---


def test_from_file(torch, tmp_path):
    path = str(tmp_path / "data")
    with open(path, "wb") as f:
        f.write(bytes(range(16)))
    t = torch.from_file(path, shared=False, size=4, dtype=torch.int32)
    assert t.tolist() == np.frombuffer(bytes(range(16)), dtype=np.int32).tolist()
    t[0] = 5  # a private map
    a = torch.from_file(path, shared=True, size=16, dtype=torch.uint8)
    b = torch.from_file(path, shared=True, size=20, dtype=torch.uint8)
    a[0] = 99
    assert b[0].item() == 99 and b.shape == (20,)
    with open(path, "rb") as f:
        data = f.read()
    assert data[0] == 99 and len(data) == 20
    raises(
        lambda: torch.from_file(path, size=100, dtype=torch.uint8),
        RuntimeError,
        "size <20> is smaller than the required mapping size <100>",
    )
    raises(lambda: torch.from_file(str(tmp_path / "none"), size=4), RuntimeError, "in read-only mode")
    assert torch.from_file(path, size=2).dtype is torch.float32
