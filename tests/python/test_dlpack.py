"""DLPack 1.3: capsules, flags, lifetimes, and the C exchange table, used as a C library would."""

import ctypes
import gc
import threading
import weakref

import numpy as np
import pytest


class DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class Versioned(ctypes.Structure):
    pass


DELETER = ctypes.PYFUNCTYPE(None, ctypes.POINTER(Versioned))
Versioned._fields_ = [
    ("major", ctypes.c_uint32),
    ("minor", ctypes.c_uint32),
    ("ctx", ctypes.c_void_p),
    ("deleter", DELETER),
    ("flags", ctypes.c_uint64),
    ("tensor", DLTensor),
]
SET_ERROR = ctypes.PYFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p)
ADDRESS = ctypes.POINTER(ctypes.POINTER(Versioned))


class Table(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("previous", ctypes.c_void_p),
        (
            "allocate",
            ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.POINTER(DLTensor), ADDRESS, ctypes.c_void_p, SET_ERROR),
        ),
        ("from_object", ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ADDRESS)),
        (
            "to_object",
            ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.POINTER(Versioned), ctypes.POINTER(ctypes.py_object)),
        ),
        ("borrow", ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(DLTensor))),
        (
            "current_stream",
            ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p)),
        ),
    ]


def pointer_of(capsule, name):
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return get(capsule, name)


@pytest.fixture
def table(torch):
    capsule = torch.Tensor.__dlpack_c_exchange_api__
    return Table.from_address(pointer_of(capsule, b"dlpack_exchange_api"))


def exported(table, tensor):
    out = ctypes.POINTER(Versioned)()
    assert table.from_object(tensor, ctypes.byref(out)) == 0
    return out


def test_version(table):
    assert (table.major, table.minor, table.previous) == (1, 3, None)


def test_from_object(torch, table):
    t = torch.arange(12, dtype=torch.float32).view(3, 4).t()
    out = exported(table, t)
    dl = out.contents.tensor
    assert (out.contents.major, dl.data, dl.device_type, dl.ndim) == (1, t.data_ptr(), 1, 2)
    assert (dl.code, dl.bits, dl.lanes, dl.byte_offset) == (2, 32, 1, 0)
    assert dl.shape[:2] == [4, 3] and dl.strides[:2] == [1, 4]
    out.contents.deleter(out)


def test_to_object(torch, table):
    t = torch.arange(4)
    back = ctypes.py_object()
    assert table.to_object(exported(table, t), ctypes.byref(back)) == 0
    assert back.value.tolist() == [0, 1, 2, 3] and back.value.data_ptr() == t.data_ptr()
    t[0] = 7
    del t
    gc.collect()
    assert back.value.tolist() == [7, 1, 2, 3]


def test_borrow(torch, table):
    t = torch.ones(2, 3, dtype=torch.complex64)[:, 1:]
    dl = DLTensor()
    assert table.borrow(t, ctypes.byref(dl)) == 0
    assert (dl.data + dl.byte_offset, dl.ndim, dl.code, dl.bits) == (t.data_ptr(), 2, 5, 64)
    assert dl.shape[:2] == [2, 2] and dl.strides[:2] == [3, 1]


def test_allocate(torch, table):
    shape = (ctypes.c_int64 * 2)(2, 5)
    prototype = DLTensor(None, 1, 0, 2, 0, 16, 1, shape, None, 0)
    out = ctypes.POINTER(Versioned)()
    assert table.allocate(ctypes.byref(prototype), ctypes.byref(out), None, SET_ERROR()) == 0
    back = ctypes.py_object()
    assert table.to_object(out, ctypes.byref(back)) == 0
    assert back.value.shape == (2, 5) and back.value.dtype == torch.int16


@pytest.mark.minitorch_only(reason="PyTorch ends the process or raises through C")
def test_allocate_reports_errors(torch, table):
    said = []
    report = SET_ERROR(lambda ctx, kind, text: said.append((kind, text)))
    out = ctypes.POINTER(Versioned)()
    huge = (ctypes.c_int64 * 2)(2**62, 2**62)
    for prototype in (
        DLTensor(None, 1, 0, 2, 0, 16, 1, huge, None, 0),
        DLTensor(None, 1, 0, 0, 99, 16, 1, None, None, 0),
    ):
        assert table.allocate(ctypes.byref(prototype), ctypes.byref(out), None, report) == -1
    assert len(said) == 2 and all(kind == b"RuntimeError" for kind, _ in said)


def test_current_stream(table):
    stream = ctypes.c_void_p(5)
    assert table.current_stream(1, 0, ctypes.byref(stream)) == 0 and stream.value is None


def test_table_takes_what_requires_grad(torch, table):
    out = exported(table, torch.ones(1, requires_grad=True))
    out.contents.deleter(out)


def test_table_refuses(torch, table):
    out = ctypes.POINTER(Versioned)()
    with pytest.raises((TypeError, RuntimeError)):
        table.from_object(5, ctypes.byref(out))


def test_either_side_may_go_first(torch):
    t = torch.arange(3)
    a = np.from_dlpack(t)
    del t
    gc.collect()
    assert a.tolist() == [0, 1, 2]
    a = np.arange(3)
    gone = weakref.finalize(a, lambda: None)
    t = torch.from_dlpack(a)
    del a
    gc.collect()
    assert gone.alive and t.tolist() == [0, 1, 2]
    del t
    gc.collect()
    assert not gone.alive


def test_the_last_owner_in_another_thread(torch):
    holder = [np.from_dlpack(torch.arange(1000))]
    thread = threading.Thread(target=holder.clear)
    thread.start()
    thread.join()
    holder = [torch.from_dlpack(np.arange(1000))]
    thread = threading.Thread(target=holder.clear)
    thread.start()
    thread.join()
    assert holder == []


def test_an_unused_capsule_frees_its_tensor(torch):
    t = torch.ones(3)
    capsules = [t.__dlpack__(), t.__dlpack__(max_version=(1, 3))]
    del t
    try:
        raise KeyError("on its way")
    except KeyError:
        del capsules  # the exception is handled while the destructors run


@pytest.mark.minitorch_only(reason="PyTorch makes a read-only array writable")
def test_read_only_arrays(torch):
    a = np.arange(3)
    a.flags.writeable = False
    t = torch.from_dlpack(a)
    versioned = Versioned.from_address(pointer_of(t.__dlpack__(max_version=(1, 3)), b"dltensor_versioned"))
    assert versioned.flags & 1 and t.data_ptr() == a.ctypes.data and not t.numpy().flags.writeable
    t[0] = 5  # a copy is written
    assert t.tolist() == [5, 1, 2] and a.tolist() == [0, 1, 2] and t.data_ptr() != a.ctypes.data


@pytest.mark.minitorch_only(reason="PyTorch does not set the flag")
def test_copies_say_so(torch):
    t = torch.arange(3)
    copied = t.__dlpack__(max_version=(1, 3), copy=True)
    assert Versioned.from_address(pointer_of(copied, b"dltensor_versioned")).flags & 2
    back = torch.from_dlpack(copied)
    assert back.tolist() == [0, 1, 2] and back.data_ptr() != t.data_ptr()


def test_a_newer_major_version(torch):
    capsule = torch.arange(3).__dlpack__(max_version=(1, 3))
    Versioned.from_address(pointer_of(capsule, b"dltensor_versioned")).major = 2
    with pytest.raises((BufferError, RuntimeError)):
        torch.from_dlpack(capsule)


@pytest.mark.minitorch_only(reason="PyTorch ends the process")
def test_negative_strides(torch):
    with pytest.raises((BufferError, RuntimeError, ValueError)):
        torch.from_dlpack(np.arange(4)[::-1])


def test_no_elements(torch):
    for shape in ((0,), (2, 0, 3)):
        assert np.from_dlpack(torch.zeros(shape)).shape == shape
        assert tuple(torch.from_dlpack(np.zeros(shape)).shape) == shape
    assert torch.from_dlpack(np.array(5)).item() == 5


class Producer:
    """Exports a tensor; knows only some keywords of the protocol."""

    def __init__(self, tensor, *known):
        self.tensor, self.known, self.asked = tensor, set(known), []

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, **keywords):
        self.asked.append(sorted(keywords))
        if set(keywords) - self.known:
            raise TypeError("unexpected keyword")
        return self.tensor.__dlpack__()


def test_older_producers_are_asked_again(torch):
    x = torch.arange(3.0)
    for known, asked in (
        (("max_version", "copy", "dl_device"), [["copy", "dl_device", "max_version"]]),
        (("copy", "dl_device"), [["copy", "dl_device", "max_version"], ["copy", "dl_device"]]),
        (("dl_device",), [["copy", "dl_device", "max_version"], ["copy", "dl_device"], ["dl_device"]]),
        ((), [["copy", "dl_device", "max_version"], ["copy", "dl_device"], ["dl_device"], []]),
    ):
        producer = Producer(x, *known)
        got = torch.from_dlpack(producer, device="cpu", copy=True)
        assert producer.asked == asked and torch.equal(got, x)
        assert (got.data_ptr() == x.data_ptr()) is ("copy" in known)  # this one ignores what it knows


@pytest.mark.parametrize("copy", [5, 0, "a", [], 1.5])
def test_copy_that_is_no_bool(torch, copy):
    """Tensors refuse such a keyword, so they are asked without it."""
    x = torch.arange(3.0)
    assert torch.from_dlpack(x, copy=copy).data_ptr() == x.data_ptr()
    with pytest.raises(TypeError, match="must be bool"):
        x.__dlpack__(copy=copy)


@pytest.mark.parametrize("device", [5, 1.5, (1, 0)])
def test_device_that_is_none(torch, device):
    with pytest.raises(
        AssertionError, match="from_dlpack: unsupported device type: <class '%s'>" % type(device).__name__
    ):
        torch.from_dlpack(torch.ones(2), device=device)
