# SPDX-License-Identifier: BSD-3-Clause
"""Tensor.numpy, arrays of tensors, tolist, DLPack, the buffer protocol."""

import ctypes
import gc
import subprocess
import sys
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


# --- numpy() ---


def test_numpy_shares(torch):
    x = torch.arange(6.0).reshape(2, 3)
    a = x.numpy()
    a[0, 0] = 9
    assert x[0, 0].item() == 9.0 and a.ctypes.data == x.data_ptr() and a.flags.writeable
    assert x.t().numpy().strides == (4, 12) and x.expand(2, 2, 3).numpy().strides == (0, 12, 4)
    assert x[1, 1:].numpy().tolist() == [4.0, 5.0]
    assert torch.zeros(0, 3).numpy().shape == (0, 3) and torch.tensor(3.0).numpy().shape == ()
    assert type(x.numpy()) is np.ndarray
    del x
    gc.collect()
    assert a.tolist() == [[9.0, 1.0, 2.0], [3.0, 4.0, 5.0]]


def test_numpy_locks_size(torch):
    y = torch.ones(3)
    y.numpy()
    assert not y.untyped_storage().resizable()
    raises(lambda: y.resize_(100), RuntimeError, "Trying to resize storage that is not resizable")


@pytest.mark.minitorch_only(reason="the array of PyTorch points at freed memory")
def test_array_outlives_set(torch):
    y = torch.arange(100000.0)
    a = y.numpy()
    y.set_(torch.ones(3))
    gc.collect()
    assert a[99999] == 99999.0


@pytest.mark.parametrize(
    "name",
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
def test_numpy_dtypes(torch, name):
    assert torch.ones(2, dtype=getattr(torch, name)).numpy().dtype == np.dtype(name)


def test_numpy_refuses(torch):
    leaf = torch.ones(2, requires_grad=True)
    c = torch.ones(2, dtype=torch.complex64)
    raises(
        lambda: leaf.numpy(),
        RuntimeError,
        "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.",
    )
    raises(lambda: c.conj().numpy(), RuntimeError, "Can't call numpy() on Tensor that has conjugate bit set.")
    raises(
        lambda: c.conj().imag.numpy(), RuntimeError, "Can't call numpy() on Tensor that has negative bit set."
    )
    raises(
        lambda: torch.ones(2, device="meta").numpy(),
        TypeError,
        "can't convert meta device type tensor to numpy.",
    )
    raises(
        lambda: torch.ones(2, dtype=torch.bfloat16).numpy(), TypeError, "Got unsupported ScalarType BFloat16"
    )
    raises(lambda: leaf.numpy(True), TypeError, "numpy() takes 0 positional arguments but 1 was given")
    raises(lambda: leaf.numpy(force=1), TypeError, "numpy(): argument 'force' must be bool, not int")
    with torch.no_grad():
        assert leaf.numpy().tolist() == [1.0, 1.0]


def test_numpy_force(torch):
    leaf = torch.ones(2, requires_grad=True)
    c = torch.tensor([1 + 2j])
    assert leaf.numpy(force=True).ctypes.data == leaf.data_ptr()
    assert c.conj().numpy(force=True).tolist() == [1 - 2j]
    assert c.conj().imag.numpy(force=True).tolist() == [-2.0]
    raises(
        lambda: torch.ones(2, device="meta").numpy(force=True),
        NotImplementedError,
        "Cannot copy out of meta tensor",
    )


def test_array_protocol(torch):
    x = torch.arange(6.0).reshape(2, 3)
    leaf = torch.ones(2, requires_grad=True)
    assert np.asarray(x).ctypes.data == x.data_ptr()
    assert np.array(x).ctypes.data != x.data_ptr()
    assert np.asarray(x, dtype=np.float64).tolist() == x.tolist()
    assert x.__array__().tolist() == x.tolist() and x.__array__(np.int32).dtype == np.int32
    if tuple(map(int, np.__version__.split(".")[:2])) >= (
        1,
        24,
    ):  # before, lists of array-likes gave object arrays
        assert np.array([x, x]).shape == (2, 2, 3)
    assert np.stack([x, x]).shape == (2, 2, 3)
    assert np.array([torch.tensor(1), torch.tensor(2)]).tolist() == [1, 2]
    assert np.asarray(torch.tensor([True, False])).dtype == np.bool_
    assert np.asarray(torch.tensor([1, 2])).dtype == np.int64
    raises(lambda: np.asarray(leaf), RuntimeError, "Can't call numpy() on Tensor that requires grad.")
    assert np.allclose(np.exp(torch.tensor([0.0, 1.0])), [1.0, np.e])
    a = np.asarray(x.t())
    a[0, 1] = 70
    assert x[1, 0].item() == 70.0


def test_array_of_a_subclass(torch):
    class Loud(torch.Tensor):
        def __array__(self, dtype=None, copy=None):
            return np.array([42.0])

    assert np.asarray(torch.ones(2).as_subclass(Loud)).tolist() == [42.0]


# --- tolist ---


def test_tolist(torch):
    x = torch.arange(6.0).reshape(2, 3)
    assert x.tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]] and x.t().tolist() == [
        [0.0, 3.0],
        [1.0, 4.0],
        [2.0, 5.0],
    ]
    assert (
        x[:, ::2].tolist() == [[0.0, 2.0], [3.0, 5.0]] and x[1].expand(2, 3).tolist() == [[3.0, 4.0, 5.0]] * 2
    )
    assert torch.tensor(3).tolist() == 3 and torch.tensor(True).tolist() is True
    assert torch.zeros(2, 0, 3).tolist() == [[], []] and torch.zeros(0, 3).tolist() == []
    c = torch.tensor([1 + 2j])
    assert c.conj().tolist() == [1 - 2j] and c.conj().imag.tolist() == [-2.0]
    assert torch.ones(2, requires_grad=True).tolist() == [1.0, 1.0]
    raises(
        lambda: torch.ones(2, device="meta").tolist(),
        NotImplementedError,
        "Cannot copy out of meta tensor; no data!",
    )
    raises(lambda: x.tolist(1), TypeError)


@pytest.mark.parametrize(
    "name,values",
    [
        ("bool", [True, False]),
        ("uint8", [0, 255]),
        ("int8", [-128, 127]),
        ("int16", [-32768, 32767]),
        ("int32", [-(2**31), 2**31 - 1]),
        ("int64", [-(2**63), 2**63 - 1]),
        ("float16", [0.5, -2.0]),
        ("bfloat16", [0.5, -2.0]),
        ("float32", [0.1, float("inf")]),
        ("float64", [0.1, -1e300]),
        ("complex64", [1.5 - 2j, 0j]),
        ("complex128", [0.1 + 0.2j, 1j]),
    ],
)
def test_tolist_dtypes(torch, name, values):
    got = torch.tensor(values, dtype=getattr(torch, name)).tolist()
    want = [float(np.float32(v)) for v in values] if name == "float32" else values
    assert got == want and [type(g) for g in got] == [type(w) for w in want]


def test_tolist_many_dims(torch):
    nest = torch.ones((1,) * 64).tolist()
    for _ in range(64):
        nest = nest[0]
    assert nest == 1.0


# --- DLPack ---


def test_dlpack_round_trip(torch):
    dl = torch.utils.dlpack
    x = torch.arange(41, dtype=torch.int32).reshape(1, 41)
    capsule = dl.to_dlpack(x)
    assert "dltensor" in repr(capsule)
    y = dl.from_dlpack(capsule)
    assert "used_dltensor" in repr(capsule)
    y[0, 5] = -1
    assert x[0, 5].item() == -1
    raises(lambda: dl.from_dlpack(capsule), RuntimeError, "can be consumed only once")
    del x
    gc.collect()
    assert y[0, 40].item() == 40
    for _ in range(50):
        dl.to_dlpack(torch.ones(100000))
    strided = torch.arange(16.0)[1::3]
    assert dl.from_dlpack(dl.to_dlpack(strided)).tolist() == [1.0, 4.0, 7.0, 10.0, 13.0]
    assert dl.from_dlpack(dl.to_dlpack(torch.tensor(2.5))).item() == 2.5
    assert dl.from_dlpack(dl.to_dlpack(torch.zeros(0, 3))).shape == (0, 3)


def test_dlpack_protocol(torch):
    x = torch.ones(2, 3)
    assert '"dltensor"' in repr(x.__dlpack__()) and '"dltensor_versioned"' in repr(
        x.__dlpack__(max_version=(1, 0))
    )
    assert '"dltensor"' in repr(x.__dlpack__(max_version=(0, 8)))
    assert tuple(x.__dlpack_device__()) == (1, 0)
    assert torch.from_dlpack(x).data_ptr() == x.data_ptr()
    assert torch.from_dlpack(x.__dlpack__(max_version=(1, 0))).data_ptr() == x.data_ptr()
    assert torch.from_dlpack(x, copy=True).data_ptr() != x.data_ptr()
    for name in ("bool", "uint8", "int8", "int16", "int64", "float16", "bfloat16", "float64", "complex64"):
        t = torch.ones(3).to(getattr(torch, name))
        assert torch.equal(torch.from_dlpack(t), t)
    raises(
        lambda: torch.ones(2, requires_grad=True).__dlpack__(),
        BufferError,
        "Can't export tensors that require gradient",
    )
    raises(lambda: torch.ones(2, dtype=torch.complex64).conj().__dlpack__(), BufferError, "conjugate bit")
    raises(lambda: torch.ones(2, device="meta").__dlpack__(), BufferError)
    raises(lambda: torch.from_dlpack(3), RuntimeError, "invalid capsule")
    raises(
        lambda: torch.utils.dlpack.to_dlpack(3),
        TypeError,
        "_to_dlpack(): argument 'data' (position 1) must be Tensor, not int",
    )


def test_dlpack_numpy(torch):
    a = np.arange(6.0).reshape(2, 3)
    t = torch.from_dlpack(a)
    t[0, 0] = 5
    assert a[0, 0] == 5.0 and torch.from_dlpack(a.T).stride() == (1, 3)
    assert torch.from_dlpack(np.array(3.0)).shape == () and torch.from_dlpack(np.zeros((0, 3))).shape == (
        0,
        3,
    )
    x = torch.arange(6.0).reshape(2, 3).t()
    b = np.from_dlpack(x)
    assert b.tolist() == x.tolist()
    del x
    gc.collect()
    assert b[2, 1] == 5.0


@pytest.mark.minitorch_only(reason="PyTorch ends the process")
def test_dlpack_negative_strides(torch):
    raises(lambda: torch.from_dlpack(np.arange(6.0)[::-1]), BufferError, "negative stride")


@pytest.mark.minitorch_only(reason="PyTorch resizes the memory under the capsule")
def test_dlpack_pins(torch):
    x = torch.ones(4)
    capsule = x.__dlpack__()
    raises(lambda: x.resize_(100000), RuntimeError, "in use")
    del capsule
    x.resize_(100000)


# --- buffers; PyTorch's tensors have none ---

needs_buffer = pytest.mark.minitorch_only(reason="PyTorch has no buffer protocol")


@needs_buffer
def test_buffer_shares(torch):
    x = torch.arange(6.0).reshape(2, 3)
    m = memoryview(x)
    assert m.shape == (2, 3) and m.format == "f" and m.itemsize == 4 and m.nbytes == 24 and not m.readonly
    m[1, 2] = 9.0
    assert x[1, 2].item() == 9.0 and m.tolist() == x.tolist()
    assert memoryview(x.t()).strides == (4, 12) and bytes(memoryview(x)) == x.numpy().tobytes()
    assert bytes(torch.tensor([1, 2], dtype=torch.uint8)) == b"\1\2"
    assert memoryview(torch.tensor(2.5)).tolist() == 2.5 and memoryview(torch.zeros(0)).nbytes == 0
    assert torch.frombuffer(x, dtype=torch.float32).tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 9.0]


class PyBuffer(ctypes.Structure):
    """Py_buffer of the C API."""

    _fields_ = [
        ("buf", ctypes.c_void_p),
        ("obj", ctypes.py_object),
        ("len", ctypes.c_ssize_t),
        ("itemsize", ctypes.c_ssize_t),
        ("readonly", ctypes.c_int),
        ("ndim", ctypes.c_int),
        ("format", ctypes.c_char_p),
        ("shape", ctypes.POINTER(ctypes.c_ssize_t)),
        ("strides", ctypes.POINTER(ctypes.c_ssize_t)),
        ("suboffsets", ctypes.POINTER(ctypes.c_ssize_t)),
        ("internal", ctypes.c_void_p),
    ]


@needs_buffer
@pytest.mark.parametrize("size", [(), (4,), (2, 3), (0, 5)])
def test_buffer_without_a_shape_is_one_row(torch, size):
    """CPython reads the shape of whatever has more than one dimension."""
    x = torch.ones(size)
    view = PyBuffer()
    for flags, has_shape in ((0, False), (1, False), (8, True)):  # SIMPLE, WRITABLE, ND
        assert ctypes.pythonapi.PyObject_GetBuffer(ctypes.py_object(x), ctypes.byref(view), flags) == 0
        assert (view.ndim, bool(view.shape)) == ((len(size), True) if has_shape else (1, False))
        assert view.len == x.numel() * 4 and view.itemsize == 4
        ctypes.pythonapi.PyBuffer_Release(ctypes.byref(view))
    if sys.version_info >= (3, 12):
        assert bytes(x.__buffer__(0)) == x.numpy().tobytes()


@needs_buffer
def test_buffer_pins(torch):
    x = torch.ones(4)
    m = memoryview(x)
    raises(lambda: x.resize_(100000), RuntimeError, "in use")
    raises(lambda: x.set_(torch.ones(2)), RuntimeError, "in use")
    m.release()
    x.resize_(100000)
    y = torch.arange(100000.0)
    m = memoryview(y)
    del y
    gc.collect()
    assert m[99999] == 99999.0


@needs_buffer
def test_buffer_refuses(torch):
    raises(lambda: memoryview(torch.ones(2, requires_grad=True)), BufferError, "requires grad")
    raises(lambda: memoryview(torch.ones(2, device="meta")), BufferError, "CPU")
    raises(lambda: memoryview(torch.ones(2, dtype=torch.bfloat16)), BufferError, "format")
    raises(lambda: memoryview(torch.ones(2, dtype=torch.complex64).conj()), BufferError, "conjugate")
    raises(
        lambda: torch.frombuffer(torch.ones(2, 3).t(), dtype=torch.float32),
        RuntimeError,
        "could not retrieve buffer",
    )


def test_bytes(torch):
    assert bytes(torch.tensor([1, 2], dtype=torch.uint8)) == b"\1\2" and bytes(torch.arange(3)) == b"\0\1\2"
    assert bytes(torch.tensor([3])) == bytes(3)
    raises(lambda: bytes(torch.tensor([300, 1])), ValueError)


@needs_buffer
def test_bytes_of_floats(torch):
    assert bytes(torch.tensor([1.0, 2.0])) == np.array([1.0, 2.0], dtype=np.float32).tobytes()


# --- without NumPy ---


@pytest.mark.minitorch_only(reason="import of the library only")
def test_import_leaves_numpy_alone(torch):
    code = (
        "import sys; import minitorch as torch; t = torch.tensor([1.0]); t.tolist(); torch.as_tensor(object) if 0 else 0;"
        "assert 'numpy' not in sys.modules; assert t.numpy().tolist() == [1.0]; assert 'numpy' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.minitorch_only(reason="hides NumPy from the library")
def test_without_numpy(torch):
    code = (
        "import sys; sys.modules['numpy'] = None; import minitorch as torch\n"
        "t = torch.tensor([[1, 2.5]]); assert t.tolist() == [[1.0, 2.5]]\n"
        "try: t.numpy()\nexcept RuntimeError as e: assert 'Numpy is not available' in str(e)\n"
        "else: raise AssertionError\n"
        "try: torch.from_numpy(3)\nexcept TypeError: pass\n"
        "assert torch.asarray(bytearray(4), dtype=torch.uint8).shape == (4,)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
