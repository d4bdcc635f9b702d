# SPDX-License-Identifier: BSD-3-Clause
"""UntypedStorage as implemented in C, Tensor.untyped_storage and Tensor.set_."""

import copy
import gc
import io
import weakref

import numpy as np
import pytest


def raises(call, kind, text=""):
    with pytest.raises(kind) as info:
        call()
    assert type(info.value) is kind and text in str(info.value), repr(info.value)


def bytes_of(torch, *values):
    return torch.UntypedStorage(list(values))


def test_construction(torch):
    S = torch.UntypedStorage
    assert (
        S().nbytes() == 0 and S(4).nbytes() == 4 and S(np.int64(3)).nbytes() == 3 and S(size=4).nbytes() == 4
    )
    assert (
        S([1, 2, 300]).tolist() == [1, 2, 44]
        and S((1, 2)).tolist() == [1, 2]
        and S(range(3)).tolist() == [0, 1, 2]
    )
    assert S(b"ab").tolist() == [97, 98] and S(bytearray(b"ab")).tolist() == [97, 98]
    assert S(S([5, 6])).tolist() == [5, 6] and S(torch.tensor(3)).nbytes() == 3
    assert S(4, device="meta").device.type == "meta" and S([1, 2], device="cpu").device.type == "cpu"
    for bad, text in (
        (1.5, "Expected a sequence type, but got float"),
        (True, "but got bool"),
        (None, "but got NoneType"),
        (torch.ones(2), "but got Tensor"),
        ({}, "but got dict"),
        (
            [1.5],
            "tried to construct a storage from a sequence (list), but one of the items was of type float",
        ),
        ("a", "a sequence (str), but one of the items was of type str instead of int"),
        ([[1]], "was of type list instead of int"),
    ):
        raises(lambda: S(bad), RuntimeError, text)
    raises(lambda: S(-1), RuntimeError)
    raises(lambda: S(4, 5), TypeError, "invalid combination of arguments")
    raises(lambda: S(4, dtype=torch.float32), TypeError, "invalid combination of arguments")
    raises(lambda: S(2**62), RuntimeError, "allocate")


def test_base(torch):
    raises(lambda: torch._C.StorageBase(), RuntimeError, "Cannot directly construct StorageBase")

    class Own(torch._C.StorageBase):
        pass

    class Other(torch.UntypedStorage):
        pass

    assert len(Own(3)) == 3 and type(Other(2)) is Other


def test_items(torch):
    s = torch.arange(3.0).untyped_storage()
    assert len(s) == 12 and s[-1] == 64 and s[np.int64(6)] == 128
    for i in (12, -13):
        raises(lambda: s[i], IndexError, "out of range for storage of size 12")
    for bad in ("a", 1.5, True, None):
        raises(lambda: s[bad], TypeError, "can't index a torch.UntypedStorage with " + type(bad).__name__)
    s[0], s[1], s[2], s[3] = 7, 256 + 9, -1, True
    assert s.tolist()[:4] == [7, 9, 255, 1]
    s[0:3] = 5
    assert s.tolist()[:4] == [5, 5, 5, 1]
    for bad in (1.5, "a", [1], np.int64(3)):
        with pytest.raises(RuntimeError, match="can only set storage content with a int types"):
            s[0] = bad
    with pytest.raises(RuntimeError, match="out of bounds"):
        s[100] = 5
    with pytest.raises(RuntimeError, match="can't index a torch.UntypedStorage with str"):
        s["a"] = 5
    with pytest.raises(RuntimeError, match="step of 2, but only a step of 1 is supported"):
        s[0:4:2] = 5


def test_slices_share(torch):
    s = bytes_of(torch, *range(10))
    part = s[2:5]
    part[0] = 99
    assert s[2] == 99 and part.data_ptr() == s.data_ptr() + 2 and s[5:2].nbytes() == 0
    assert type(part) is torch.UntypedStorage
    raises(lambda s=s: s[::2], RuntimeError, "Trying to slice with a step of 2")
    del s
    gc.collect()
    assert part.tolist() == [99, 3, 4]


@pytest.mark.minitorch_only(reason="the slice of PyTorch points at freed memory")
def test_slice_pins_the_whole(torch):
    s = bytes_of(torch, *range(100))
    part = s[10:20]
    raises(lambda: s.resize_(0), RuntimeError, "in use")
    del part
    gc.collect()
    assert s.resize_(0).nbytes() == 0


def test_methods(torch):
    s = torch.arange(3.0).untyped_storage()
    assert (s.nbytes(), s.size(), s.element_size()) == (12, 12, 1)
    assert s.data_ptr() == s.data_ptr() != 0 and s._cdata != 0 and s.device.type == "cpu" and s.resizable()
    assert s.fill_(259) is s and s.tolist() == [3] * 12
    raises(lambda: s.fill_(1.5), RuntimeError, "fill_ expects int, but got float")
    nine = torch.UntypedStorage([9] * 12)
    assert s.copy_(nine) is s and s.copy_(nine, non_blocking=False).tolist() == [9] * 12
    raises(
        lambda: s.copy_(torch.UntypedStorage(11)),
        RuntimeError,
        "size does not match, self was 12 bytes but src was 11 bytes",
    )
    raises(
        lambda: s.copy_([1]),
        TypeError,
        "copy_(): argument 'src' (position 1) must be torch.Storage, not list",
    )
    assert (
        s.new().nbytes() == 0
        and s.clone().tolist() == s.tolist()
        and copy.deepcopy(s).data_ptr() != s.data_ptr()
    )
    assert s == s and s != nine and hash(s) == hash(s)


def test_resize(torch):
    s = bytes_of(torch, *range(16))
    assert s.resize_(4).tolist() == [0, 1, 2, 3] and s.resize_(40).tolist()[:4] == [0, 1, 2, 3]
    assert s.resize_(0).data_ptr() == 0
    raises(lambda: s.resize_("a"), RuntimeError, "resize_ expects an int, but got str")
    raises(lambda: s.resize_(1.5), RuntimeError, "resize_ expects an int, but got float")
    raises(lambda: s.resize_(-1), RuntimeError)
    borrowed = torch.from_numpy(np.ones(3)).untyped_storage()
    assert not borrowed.resizable()
    raises(lambda: borrowed.resize_(100), RuntimeError, "Trying to resize storage that is not resizable")


def test_identity(torch):
    x = torch.arange(6.0).reshape(2, 3)
    s = x.untyped_storage()
    assert s is x.untyped_storage() is x[0].untyped_storage() is x.t().untyped_storage()
    s.note = "kept"
    number, alive = id(s), weakref.ref(s)
    del s
    gc.collect()
    assert x.untyped_storage().note == "kept" and id(x.untyped_storage()) == number and alive() is not None
    view = x[1]
    del x
    gc.collect()
    assert view.untyped_storage().note == "kept"
    del view
    gc.collect()
    assert alive() is None


def test_object_keeps_the_memory(torch):
    s = torch.arange(10000.0).untyped_storage()
    gc.collect()
    assert torch.tensor(s, dtype=torch.float32)[9999].item() == 9999.0


def test_attribute_cycle_is_collected(torch):
    class Tracker:
        pass

    s, t = torch.UntypedStorage(4), Tracker()
    s.me, s.tracker = s, t
    alive = weakref.ref(t)
    del s, t
    gc.collect()
    assert alive() is None


def test_use_count(torch):
    x = torch.randn(10)
    s = x.untyped_storage()
    assert torch._C._storage_Use_Count(s._cdata) == 2
    y = x.view(2, 5)
    assert torch._C._storage_Use_Count(s._cdata) == 3
    del y
    assert torch._C._storage_Use_Count(s._cdata) == 2


def test_addresses(torch):
    x = torch.arange(6.0)
    assert torch._C._storage_address(x[1:]) == x.untyped_storage()._cdata and torch._C._has_storage(x)
    assert torch._C._data_address(x[1:]) == x.data_ptr()


def test_weak_numbers(torch):
    S = torch.UntypedStorage
    s = S(4)
    n = s._weak_ref()
    assert not S._expired(n) and S._new_with_weak_ptr(n) is s
    del s
    gc.collect()
    assert S._expired(n) and S._new_with_weak_ptr(n) is None
    S._free_weak_ref(n)


def test_meta(torch):
    m = torch.UntypedStorage(8, device="meta")
    assert m.nbytes() == 8 and m.data_ptr() == 0 and m.fill_(3) is m and m.copy_(torch.UntypedStorage(8)) is m
    m[0] = 1
    assert m.resize_(20).nbytes() == 20
    for call in (lambda: m[0], lambda: m[0:2], lambda: m.tolist(), lambda: torch.UntypedStorage(20).copy_(m)):
        with pytest.raises(NotImplementedError):
            call()
    raises(lambda: m._share_fd_cpu_(), RuntimeError, "only available on CPU")


def test_from_buffer(torch):
    S, u8, i16 = torch.UntypedStorage, torch.uint8, torch.int16
    assert S.from_buffer(b"abcd", dtype=u8).tolist() == [97, 98, 99, 100]
    assert S.from_buffer(b"abcd", "native", dtype=i16).tolist() == [97, 98, 99, 100]
    assert S.from_buffer(b"abcd", "big", dtype=i16).tolist() == [98, 97, 100, 99]
    assert S.from_buffer(b"abcdefgh", "big", dtype=torch.complex64).tolist() == [
        100,
        99,
        98,
        97,
        104,
        103,
        102,
        101,
    ]
    assert S.from_buffer(b"abcd", "native", count=1, dtype=i16).tolist() == [97, 98]
    assert S.from_buffer(b"abcd", "native", offset=2, dtype=i16).tolist() == [99, 100]
    assert S.from_buffer(b"abcd", "native", count=0, dtype=i16).nbytes() == 0
    assert S.from_buffer(b"\2\0", "native", dtype=torch.bool).tolist() == [1, 0]
    raises(lambda: S.from_buffer(b"abcd", dtype=i16), RuntimeError, "byte_order")
    raises(lambda: S.from_buffer(b"abcd", "foo", dtype=i16), ValueError, "invalid byte_order 'foo'")
    raises(lambda: S.from_buffer(b"abc", "native", dtype=i16), ValueError, "multiple of element size (2)")
    raises(lambda: S.from_buffer(b"abcd", "native", count=3, dtype=i16), ValueError, "specified a size of 3")
    for offset in (5, -1):
        raises(
            lambda: S.from_buffer(b"abcd", "native", offset=offset, dtype=i16),
            ValueError,
            "offset must be non-negative",
        )
    raises(lambda: S.from_buffer(b"abcd"), RuntimeError, "'dtype' cannot be None")
    raises(lambda: S.from_buffer(b"abcd", dtype=3), RuntimeError, "must be of type torch.dtype")
    raises(lambda: S.from_buffer(3, dtype=u8), TypeError, "a bytes-like object is required, not 'int'")


def test_from_file(torch, tmp_path):
    S, path = torch.UntypedStorage, str(tmp_path / "data")
    with open(path, "wb") as f:
        f.write(bytes(range(16)))
    private, shared = S.from_file(path, False, 16), S.from_file(path, True, 16)
    shared[0] = 77
    private[1] = 88
    with open(path, "rb") as f:
        assert f.read()[:2] == b"\x4d\1"
    assert shared.filename == path and private.filename is None and shared.is_shared()
    assert (
        not shared.resizable()
        and S.from_file(path, nbytes=8).nbytes() == 8
        and S.from_file(path).nbytes() == 0
    )
    raises(
        lambda: S.from_file(path, False, 20), RuntimeError, "is smaller than the required mapping size <20>"
    )
    assert S.from_file(path, True, 20).nbytes() == 20
    raises(lambda: S.from_file("/nonexistent/a", True, 4), RuntimeError, "in read-write mode: No such file")
    raises(lambda: S.from_file("/nonexistent/a", False, 4), RuntimeError, "in read-only mode: No such file")
    raises(lambda: S.from_file(path, False, -4), RuntimeError)


def test_records(torch, tmp_path):
    S, path = torch.UntypedStorage, str(tmp_path / "record")
    s = bytes_of(torch, 1, 2, 3, 4)
    stream = io.BytesIO()
    s._write_file(stream, False, True, 1)
    assert stream.getvalue() == b"\4\0\0\0\0\0\0\0\1\2\3\4"
    with open(path, "wb") as f:
        s._write_file(f, True, True, 2)
    with open(path, "rb") as f:
        assert f.read() == b"\2\0\0\0\0\0\0\0\1\2\3\4"
    with open(path, "rb") as f:
        assert S._new_with_file(f, 2).tolist() == [1, 2, 3, 4]
    for offset in (0, None):
        with open(path, "rb") as f:
            into = S(4)
            into._set_from_file(f, offset, True, 2)
            assert into.tolist() == [1, 2, 3, 4]
    with open(path, "rb") as f:
        raises(lambda: S(5)._set_from_file(f, 0, True, 2), RuntimeError)


@pytest.mark.minitorch_only(reason="PyTorch reads descriptors only")
def test_damaged_records(torch):
    for data in (b"abc", b"\x08\0\0\0\0\0\0\0abc", b"\xff" * 16, b""):
        raises(lambda: torch.UntypedStorage._new_with_file(io.BytesIO(data), 1), RuntimeError, "corrupted")


def test_byteswap(torch):
    s = bytes_of(torch, 1, 2, 3, 4)
    s._byteswap(2)
    assert s.tolist() == [2, 1, 4, 3]
    s.byteswap(torch.int32)
    assert s.tolist() == [3, 4, 1, 2]
    raises(
        lambda: torch.UntypedStorage(3)._byteswap(2),
        RuntimeError,
        "the length of data is not a multiple of 2",
    )


def test_shared_descriptor(torch):
    S = torch.UntypedStorage
    for n in (8, 100000):
        s = torch.UntypedStorage(n).fill_(5)
        x = torch.tensor(s, dtype=torch.uint8)
        fd, size = s._share_fd_cpu_()
        assert size == n and s.is_shared() and s._share_fd_cpu_()[0] == fd == s._get_shared_fd()
        other = S._new_shared_fd_cpu(fd, size)
        other[0] = 9
        assert s[0] == 9 and x[0].item() == 9 and x[n - 1].item() == 5 and other[n - 1] == 5
    assert S._new_using_fd_cpu(10).is_shared() and S._new_using_fd_cpu(0).nbytes() == 0
    assert s.share_memory_() is s and s.filename is None
    raises(
        lambda: S._new_shared_fd_cpu(-1, 4),
        RuntimeError,
        "could not duplicate a shared memory file descriptor",
    )
    with pytest.raises(TypeError):
        S._new_shared_fd_cpu("a", 4)


@pytest.mark.minitorch_only(reason="PyTorch ends the process when a shared storage is resized")
def test_shared_is_not_resizable(torch):
    s = torch.UntypedStorage(8).share_memory_()
    raises(lambda: s.resize_(100), RuntimeError, "not resizable")
    view = torch.UntypedStorage(100)
    part = view[0:4]
    raises(lambda: view.share_memory_(), RuntimeError, "in use")
    del part


@pytest.mark.minitorch_only(reason="the array of PyTorch points at freed memory")
def test_sharing_leaves_arrays_their_memory(torch):
    for n in (3, 100000):
        x = torch.arange(float(n))
        a = x.numpy()
        x.share_memory_()
        gc.collect()
        assert a[n - 1] == n - 1 and x[n - 1].item() == n - 1
        del x
        gc.collect()
        assert a[n - 1] == n - 1


def test_shared_name(torch):
    S = torch.UntypedStorage
    s = bytes_of(torch, 1, 2, 3)
    manager, name, size = s._share_filename_cpu_()
    assert size == 3 and isinstance(name, bytes)
    s._shared_incref()
    other = S._new_shared_filename_cpu(manager, name, size)
    s._shared_decref()
    other[0] = 9
    assert s.tolist() == [9, 2, 3]
    del s
    gc.collect()
    assert other.tolist() == [9, 2, 3]
    del other
    gc.collect()
    with pytest.raises(RuntimeError):
        S._new_shared_filename_cpu(manager, name, size)


# --- set_ ---


def test_set(torch):
    z, S = torch.zeros, torch.arange(6.0).untyped_storage()
    assert z(2).set_().shape == (0,)
    t = z(2)
    assert t.set_(S) is t and t.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0] and t.untyped_storage() is S
    assert z(2).set_(S, 1, (2,)).tolist() == [1.0, 2.0] and z(2).set_(S, 0, (2, 2), (1, 2)).tolist() == [
        [0, 2],
        [1, 3],
    ]
    assert z(2).set_(source=S, storage_offset=0, size=(2, 2), stride=(1, 2)).stride() == (1, 2)
    assert z(2).set_(torch.UntypedStorage(7)).shape == (1,) and z(2).set_(
        torch.arange(3.0)._typed_storage()
    ).shape == (3,)
    x = torch.arange(6.0).reshape(2, 3)
    t = z(2).set_(x)
    assert t.shape == (2, 3) and t.data_ptr() == x.data_ptr()
    assert z(2).set_(x, 1, (2,), (2,)).tolist() == [1.0, 3.0]
    version = t._version
    t.set_()
    assert t._version == version + 1


def test_set_grows(torch):
    s = torch.arange(3.0).untyped_storage()
    t = torch.zeros(2).set_(s, 1, (300,))
    assert t.shape == (300,) and s.nbytes() == 301 * 4 and t[0].item() == 1.0


def test_set_errors(torch):
    z, s = torch.zeros, torch.arange(3.0).untyped_storage()
    raises(lambda: z(2).set_(s, -1, (2,)), RuntimeError, "Tensor: invalid storage offset -1")
    raises(lambda: z(2).set_(s, 0, (2,), (-1,)), RuntimeError)
    raises(lambda: z(2).set_(s, 0, (-2,), (1,)), RuntimeError)
    raises(
        lambda: z(2).set_(s, 0, (2,), (1, 1)), RuntimeError, "unequal size length (1) and stride length (2)"
    )
    raises(lambda: z(2).set_(s, 10, (2,)), RuntimeError, "are out of bounds for storage of size 12")
    raises(
        lambda: z(2).set_(torch.arange(3)._typed_storage()),
        RuntimeError,
        "or an UntypedStorage, but got type Long",
    )
    raises(lambda: z(2).set_(torch.arange(3)), RuntimeError, "Could not set tensor of type")
    for source in (z(2, device="meta"), torch.UntypedStorage(4, device="meta")):
        raises(lambda: z(2).set_(source), RuntimeError, 'on different device "meta".')
    raises(
        lambda: z(2).set_(torch.from_numpy(np.ones(2, dtype=np.float32)).untyped_storage(), 0, (5,)),
        RuntimeError,
        "Trying to resize storage that is not resizable",
    )
    raises(
        lambda: torch.ones(2, requires_grad=True).set_(z(2)),
        RuntimeError,
        "a leaf Variable that requires grad",
    )
    for call in (lambda: z(2).set_(3), lambda: z(2).set_(s, 0), lambda: z(2).set_(z(2), 1)):
        raises(call, TypeError, "set_() received an invalid combination of arguments")
