"""Memory that may not be written: its first writer gets a copy, whoever lent it never sees a change."""

import gc
import mmap
import weakref

import numpy as np
import pytest

pytestmark = pytest.mark.minitorch_only(
    reason="PyTorch writes to memory that may not be written, and crashes where it cannot be"
)


def read_only_array():
    a = np.arange(4.0)
    a.flags.writeable = False
    return a


SOURCES = {
    "array": lambda torch: (lambda a: (torch.from_numpy(a), a))(read_only_array()),
    "asarray": lambda torch: (lambda a: (torch.asarray(a), a))(read_only_array()),
    "bytes": lambda torch: (lambda b: (torch.frombuffer(b, dtype=torch.float64), np.frombuffer(b)))(
        np.arange(4.0).tobytes()
    ),
    "dlpack": lambda torch: (lambda a: (torch.from_dlpack(a), a))(read_only_array()),
}
WRITES = {
    "add_": lambda torch, t: t.add_(1),
    "setitem": lambda torch, t: t.__setitem__(0, 9.0),
    "masked": lambda torch, t: t.__setitem__(t > 1, 9.0),
    "fill_": lambda torch, t: t.fill_(9.0),
    "copy_": lambda torch, t: t.copy_(torch.ones(4)),
    "out=": lambda torch, t: torch.add(t, 1, out=t),
    "view": lambda torch, t: t.view(2, 2)[1].mul_(3),
    "random": lambda torch, t: t.uniform_(),
    "index_put_": lambda torch, t: t.index_put_((torch.tensor([1]),), torch.tensor(9.0, dtype=torch.float64)),
    "storage": lambda torch, t: t.untyped_storage().fill_(1),
    "foreach": lambda torch, t: torch._foreach_add_([t], 1),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("source", SOURCES)
def test_first_write(torch, source, write):
    t, lent = SOURCES[source](torch)
    assert t.tolist() == lent.tolist() == [0.0, 1.0, 2.0, 3.0] and t.data_ptr() == lent.ctypes.data
    WRITES[write](torch, t)
    assert (
        lent.tolist() == [0.0, 1.0, 2.0, 3.0]
        and t.tolist() != lent.tolist()
        and t.data_ptr() != lent.ctypes.data
    )


@pytest.mark.filterwarnings("ignore")
def test_the_lender_is_let_go(torch):
    class Array(np.ndarray):
        pass

    a = read_only_array().view(Array)
    gone = weakref.ref(a)
    t = torch.from_numpy(a)
    del a
    assert gone() is not None
    t.add_(1)
    gc.collect()
    assert gone() is None and t.tolist() == [1.0, 2.0, 3.0, 4.0]


@pytest.mark.filterwarnings("ignore")
def test_memory_that_cannot_be_written(torch, tmp_path):
    path = tmp_path / "numbers"
    path.write_bytes(np.arange(4.0).tobytes())
    with open(path, "rb") as f, mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ) as m:
        t = torch.frombuffer(m, dtype=torch.float64)
        t.mul_(2)
        assert t.tolist() == [0.0, 2.0, 4.0, 6.0]
        del t
        t = torch.from_numpy(np.memmap(path, mode="r", dtype=np.float64))
        t[1:] = 5
        assert t.tolist() == [0.0, 5.0, 5.0, 5.0]
    assert np.frombuffer(path.read_bytes()).tolist() == [0.0, 1.0, 2.0, 3.0]


@pytest.mark.filterwarnings("ignore")
def test_what_is_handed_on_is_read_only(torch):
    t = torch.from_numpy(read_only_array())
    assert not t.numpy().flags.writeable and memoryview(t).readonly
    with pytest.raises((BufferError, ValueError)):
        np.frombuffer(t, dtype=np.float64)[0] = 1
    assert t.clone().numpy().flags.writeable and not torch._C._is_cow_tensor(t)
