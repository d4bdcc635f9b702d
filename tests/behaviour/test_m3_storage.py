"""Storages: owners and deleters, files, memory shared between processes, what PyTorch does not survive."""

import gc
import io
import os
import subprocess
import sys
import weakref

import pytest


class Exporter(bytearray):
    """Memory whose owner can be watched."""


@pytest.mark.item("M3.01")
def test_the_owner_goes_with_the_last_storage(torch):
    owner = Exporter(16)
    alive = weakref.ref(owner)
    t = torch.frombuffer(owner, dtype=torch.float32)
    view, alias, storage = t[1:], t.detach(), t.untyped_storage()
    moved = torch.zeros(1).set_(storage)
    del owner, t
    for name in ("view", "alias", "storage", "moved"):
        gc.collect()
        assert alive() is not None, name
        if name == "view":
            view = None
        elif name == "alias":
            alias = None
        elif name == "storage":
            storage = None
        else:
            moved = None
    gc.collect()
    assert alive() is None and view is alias is storage is moved is None


@pytest.mark.item("M3.01")
def test_deleters_run_once(torch):
    np = pytest.importorskip("numpy")
    calls = []

    class Producer:
        def __init__(self):
            self.array = np.arange(4.0)
            weakref.finalize(self.array, calls.append, 1)

        def __dlpack__(self, **kwargs):
            return self.array.__dlpack__(**kwargs)

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

    t = torch.from_dlpack(Producer())
    gc.collect()
    assert calls == []
    u = t[2:].view(2, 1)
    del t
    gc.collect()
    assert calls == [] and u.tolist() == [[2.0], [3.0]]
    del u
    gc.collect()
    assert calls == [1]
    for _ in range(3):
        a = np.ones(3)
        weakref.finalize(a, calls.append, 2)
        t = torch.from_numpy(a)
        del a
        s = t.untyped_storage()
        t.data = torch.zeros(1, dtype=torch.float64)
        gc.collect()
        assert calls.count(2) == _
        del s, t
        gc.collect()
        assert calls.count(2) == _ + 1


@pytest.mark.item("M3.01", "M3.12")
def test_borrowed_memory_keeps_its_size(torch):
    owner = bytearray(16)
    t = torch.frombuffer(owner, dtype=torch.int32)
    for call in (lambda: t.resize_(5), lambda: t.untyped_storage().resize_(0)):
        with pytest.raises(RuntimeError, match="not resizable"):
            call()
    t[0] = 258
    assert owner[:2] == b"\2\1" and not t.untyped_storage().resizable()


@pytest.mark.item("M3.01", "M3.12")
@pytest.mark.minitorch_only(reason="PyTorch lets go of the buffer and points at freed memory")
def test_owners_of_lent_memory_keep_its_size(torch):
    owner = bytearray(16)
    t = torch.frombuffer(owner, dtype=torch.int32)
    with pytest.raises(BufferError):
        owner.extend(b"more")
    del t
    gc.collect()
    owner.extend(b"more")


class Holder:
    pass


@pytest.mark.item("M3.01")
@pytest.mark.minitorch_only(reason="PyTorch's collector does not see what keeps a storage alive")
def test_a_storage_that_leads_back_to_its_tensor_is_collected(torch):
    for direct in True, False:
        x, h = torch.ones(2), Holder()
        x.untyped_storage().owner = x if direct else h
        h.x = x
        dead = weakref.ref(x)
        del x, h
        gc.collect()
        assert dead() is None


@pytest.mark.item("M3.01")
def test_what_refers_to_a_storage_keeps_its_attributes(torch):
    x = torch.ones(2)
    s = x.untyped_storage()
    s.owner = x
    del x
    gc.collect()
    assert s.owner.tolist() == [1, 1]
    y = s.owner[1:]
    del s
    gc.collect()
    assert y.untyped_storage().owner.tolist() == [1, 1]
    del y.untyped_storage().owner
    z = torch.tensor(0.0).set_(y.untyped_storage())
    z.untyped_storage().other = y
    del y
    gc.collect()
    assert z.untyped_storage().other.tolist() == [1]


@pytest.mark.item("M3.05")
def test_records_in_files(torch, tmp_path):
    path = str(tmp_path / "record")
    s = torch.UntypedStorage([1, 2, 3, 4])
    stream = io.BytesIO()
    s._write_file(stream, False, True, 2)
    assert stream.getvalue() == b"\2\0\0\0\0\0\0\0\1\2\3\4"
    stream = io.BytesIO()
    s._write_file(stream, False, False, 1)
    assert stream.getvalue() == b"\1\2\3\4"
    with open(path, "wb") as f:
        s._write_file(f, True, True, 1)
    with open(path, "rb") as f:
        assert torch.UntypedStorage._new_with_file(f, 1).tolist() == [1, 2, 3, 4]
    for offset in (0, None):
        with open(path, "rb") as f:
            into = torch.UntypedStorage(4)
            assert into._set_from_file(f, offset, True, 1) is into and into.tolist() == [1, 2, 3, 4]
    with open(path, "rb") as f, pytest.raises(RuntimeError):
        torch.UntypedStorage(3)._set_from_file(f, 0, True, 1)


@pytest.mark.item("M3.05")
def test_mapped_files(torch, tmp_path):
    path = str(tmp_path / "data")
    with open(path, "wb") as f:
        f.write(bytes(range(16)))
    private = torch.UntypedStorage.from_file(path, False, 16)
    shared = torch.UntypedStorage.from_file(path, True, 16)
    shared[0] = 77
    private[1] = 88
    assert private.tolist()[:3] == [77, 88, 2] and shared.tolist()[:3] == [77, 1, 2]
    with open(path, "rb") as f:
        assert f.read(3) == bytes([77, 1, 2])
    assert shared.filename == path and private.filename is None
    assert shared.is_shared() and not shared.resizable()
    with pytest.raises(RuntimeError, match="not resizable"):
        shared.resize_(20)
    with pytest.raises(RuntimeError):
        torch.UntypedStorage.from_file(path, False, 20)
    assert torch.UntypedStorage.from_file(path, True, 20).nbytes() == 20 and os.path.getsize(path) == 20
    with pytest.raises(RuntimeError):
        torch.UntypedStorage.from_file(str(tmp_path / "none" / "x"), True, 4)
    typed = torch.FloatStorage.from_file(path, False, 4)
    assert (typed._size(), typed.dtype) == (4, torch.float32)


CHILD = """
import sys
import {0} as torch

s = torch.UntypedStorage._new_shared_filename_cpu({1!r}, {2!r}, {3})
t = torch.tensor(s, dtype=torch.float32)
assert t.tolist() == [1.0, 2.0, 3.0], t
t[1] = 42.0
"""


@pytest.mark.item("M3.18")
@pytest.mark.minitorch_only(reason="PyTorch needs its manager process here")
def test_a_child_writes_into_shared_memory(torch):
    t = torch.tensor([1.0, 2.0, 3.0])
    manager, name, size = t.untyped_storage()._share_filename_cpu_()
    subprocess.run([sys.executable, "-c", CHILD.format(torch.__name__, manager, name, size)], check=True)
    assert t.tolist() == [1.0, 42.0, 3.0]


QUEUES = """
import {0} as torch
import {0}.multiprocessing as mp


def work(inbox, outbox):
    t = inbox.get()
    t.add_(1)
    outbox.put(t.is_shared())
    inbox.get()


if __name__ == "__main__":
    context = mp.get_context("{1}")
    inbox, outbox = context.Queue(), context.Queue()
    child = context.Process(target=work, args=(inbox, outbox))
    child.start()
    t = torch.zeros(3)
    inbox.put(t)
    assert outbox.get(timeout=120)
    assert t.is_shared() and t.tolist() == [1.0, 1.0, 1.0], t
    inbox.put(None)
    child.join(60)
    assert child.exitcode == 0
"""


@pytest.mark.item("M3.18")
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_queues_share_tensors(torch, tmp_path, method):
    script = tmp_path / "queues.py"
    script.write_text(QUEUES.format(torch.__name__, method))
    run = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr


@pytest.mark.item("M3.18")
def test_a_fork_shares_only_what_is_shared(torch):
    shared, private = torch.zeros(2).share_memory_(), torch.zeros(2)
    child = os.fork()
    if child == 0:
        shared[0] = 5
        private[0] = 5
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert shared.tolist() == [5, 0] and private.tolist() == [0, 0]


# --- what PyTorch does not survive ---


@pytest.mark.item("M3.12")
@pytest.mark.minitorch_only(reason="PyTorch ends the process")
def test_shared_storages_keep_their_size(torch):
    s = torch.UntypedStorage(8).share_memory_()
    with pytest.raises(RuntimeError, match="not resizable"):
        s.resize_(100)
    t = torch.zeros(3).share_memory_()
    with pytest.raises(RuntimeError, match="not resizable"):
        t.resize_(1000)
    assert t.tolist() == [0, 0, 0]


USES = {
    "read": lambda torch, t: t + 1,
    "write": lambda torch, t: t.add_(1),
    "fill": lambda torch, t: t.fill_(1),
    "out": lambda torch, t: torch.add(torch.ones(6), 1, out=t),
    "print": lambda torch, t: repr(t),
    "tolist": lambda torch, t: t.tolist(),
    "item": lambda torch, t: t[5].item(),
    "bool": lambda torch, t: bool(t[5]),
    "index": lambda torch, t: t[torch.tensor([5])],
    "put": lambda torch, t: t.__setitem__(torch.tensor([5]), 1),
    "set": lambda torch, t: t.__setitem__(5, 1),
    "copy": lambda torch, t: t.copy_(torch.ones(6)),
    "from": lambda torch, t: torch.ones(6).copy_(t),
    "sum": lambda torch, t: t.sum(),
    "matmul": lambda torch, t: t.view(2, 3) @ t.view(3, 2),
    "cat": lambda torch, t: torch.cat([t, t]),
    "sort": lambda torch, t: t.sort(),
    "clone": lambda torch, t: t.clone(),
    "numpy": lambda torch, t: t.numpy(),
    "buffer": lambda torch, t: memoryview(t),
    "dlpack": lambda torch, t: torch.utils.dlpack.to_dlpack(t),
    "tensor": lambda torch, t: torch.tensor([t[5]]),
    "random": lambda torch, t: t.uniform_(),
    "equal": lambda torch, t: torch.equal(t, torch.ones(6)),
    "lazy": lambda torch, t: t._lazy_clone(),
    "double": lambda torch, t: t.double(),
    "pickle": lambda torch, t: __import__("pickle").loads(__import__("pickle").dumps(t)),
    "save": lambda torch, t: torch.load(
        (lambda f: (torch.save(t, f), f.seek(0), f)[2])(io.BytesIO()), weights_only=True
    ),
    "iter": lambda torch, t: [x.item() for x in t],
    "backward": lambda torch, t: (t.requires_grad_() * 2).sum().backward(),
    "softmax": lambda torch, t: t.softmax(0),
    "where": lambda torch, t: torch.where(t > 0, t, 0),
}


@pytest.mark.item("M3.12")
@pytest.mark.minitorch_only(reason="PyTorch reads and writes memory that is not its own")
@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize("name", USES)
def test_shrunk_storages_are_refused(torch, name, lazy):
    t = torch.ones(6)
    kept = t._lazy_clone() if lazy else None
    t.untyped_storage().resize_(8)
    with pytest.raises((RuntimeError, BufferError)):
        USES[name](torch, t)
    assert t.shape == (6,) and (kept is None or kept.tolist() == [1] * 6)
    t.detach().untyped_storage().resize_(24)
    assert t.detach()[:2].tolist() == [1, 1]


@pytest.mark.item("M3.12")
@pytest.mark.minitorch_only(reason="PyTorch resizes memory that is exported")
def test_exported_memory_keeps_its_size(torch):
    t = torch.ones(100)
    for export in (memoryview, torch.utils.dlpack.to_dlpack, lambda t: t.untyped_storage()[4:8]):
        pin = export(t)
        for call in (
            lambda: t.untyped_storage().resize_(0),
            lambda: t.resize_(1000),
            lambda: t.set_(),
            lambda: t.share_memory_(),
            lambda: setattr(t, "data", torch.zeros(2)),
        ):
            with pytest.raises(RuntimeError):
                call()
        assert t.sum() == 100
        del pin
        gc.collect()
    assert t.untyped_storage().resize_(0).nbytes() == 0


@pytest.mark.item("M3.15")
@pytest.mark.minitorch_only(reason="PyTorch ends the process")
def test_a_meta_storage_is_not_byteswapped(torch):
    with pytest.raises(NotImplementedError):
        torch.UntypedStorage(8, device="meta").byteswap(torch.int16)


@pytest.mark.item("M3.05", "M3.11")
@pytest.mark.minitorch_only(reason="PyTorch ends the process or leaves an exception pending")
def test_bad_arguments(torch):
    s = torch.UntypedStorage(4)
    with pytest.raises(TypeError):
        del s[0]
    s[0] = 2**100 + 3
    assert s[0] == 3
    for call in (
        lambda: torch.ShortStorage.from_buffer(b"12345678", "big", 2**62),
        lambda: torch.UntypedStorage._new_using_fd_cpu(-1),
        lambda: torch.UntypedStorage._new_using_fd_cpu(2**62),
        lambda: torch.UntypedStorage(2**63 - 1),
        lambda: s.resize_(2**63 - 1),
        lambda: torch.FloatStorage(2**62),
        lambda: torch.UntypedStorage.from_file("/dev/null", False, 2**62),
        lambda: torch.UntypedStorage._new_shared_fd_cpu(10**6, 4),
    ):
        with pytest.raises((RuntimeError, ValueError, OverflowError)):
            call()
    assert s.nbytes() == 4


@pytest.mark.item("M3.05")
@pytest.mark.minitorch_only(reason="PyTorch fills before it looks")
def test_sequences_that_change_while_read(torch):
    class Growing:
        """An item whose conversion changes the list it is in."""

        def __index__(self):
            items.extend([1] * 1000)
            return 1

    items = [1, Growing(), 2]
    with pytest.raises(RuntimeError):
        torch.UntypedStorage(items)
    with pytest.raises(RuntimeError):
        torch.UntypedStorage(Endless())


class Endless:
    """Says that it has 3 items and never ends."""

    def __len__(self):
        return 3

    def __getitem__(self, i):
        if i > 100000:
            raise IndexError
        return 1.5
