"""Tensors from Python objects: warnings that come once, files, and objects that lie, raise or change while they are read."""

import gc
import io
import os
import pickle
import subprocess
import sys
import warnings

import pytest

ONCE = """
import warnings
import numpy as np
import {0} as torch

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    for _ in range(2):
        {1}
caught = [w for w in caught if issubclass(w.category, UserWarning)]
assert len(caught) == {2}, [str(w.message) for w in caught]
"""


@pytest.mark.item("M2.12", "M2.11", "M2.21", "M2.22", "M2.23")
@pytest.mark.parametrize(
    "call, times",
    [
        ("torch.tensor([np.ones(2), np.ones(2)])", 1),
        ("torch.tensor(np.frombuffer(b'12345678'))", 0),
        ("torch.as_tensor(np.frombuffer(b'12345678'))", 1),
        ("torch.from_numpy(np.frombuffer(b'12345678'))", 1),
        ("torch.from_numpy(np.broadcast_to(np.ones(1), 3))", 1),
        ("torch.frombuffer(b'12345678', dtype=torch.int16)", 1),
        ("torch.frombuffer(bytearray(8), dtype=torch.int16)", 0),
    ],
)
def test_warnings_that_come_once(torch, call, times):
    pytest.importorskip("numpy")
    script = ONCE.format(torch.__name__, call, times)
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


@pytest.mark.item("M2.21", "M2.22")
def test_owners_live_as_long_as_the_tensor(torch):
    np = pytest.importorskip("numpy")
    t = torch.from_numpy(np.arange(100000.0))
    u = torch.frombuffer(bytearray(b"abcdefgh" * 1000), dtype=torch.uint8)
    view = t[99998:]
    del t
    gc.collect()
    assert view.tolist() == [99998.0, 99999.0] and u[-1] == ord("h")


@pytest.mark.item("M2.25")
def test_from_file(torch, tmp_path):
    path = str(tmp_path / "data")
    with open(path, "wb") as f:
        f.write(bytes(range(16)))
    t = torch.from_file(path, shared=True, size=4, dtype=torch.int32)
    u = torch.from_file(path, shared=True, size=16, dtype=torch.uint8)
    private = torch.from_file(path, shared=False, size=16, dtype=torch.uint8)
    t[0] = 0x01010101
    assert u[:5].tolist() == [1, 1, 1, 1, 4]
    private[4] = 99
    assert u[4] == 4 and private[4] == 99
    with open(path, "rb") as f:
        assert f.read(5) == bytes([1, 1, 1, 1, 4])
    assert torch.from_file(path, size=2).dtype == torch.float32 and t.shape == (4,)
    with pytest.raises(RuntimeError):
        torch.from_file(path, shared=False, size=100)
    with pytest.raises(RuntimeError):
        torch.from_file(str(tmp_path / "none"), size=4)
    with pytest.raises(RuntimeError):
        torch.from_file(path, size=-1)


# --- hostile objects ---


class Lies:
    """A sequence whose length, items and conversions are what the test says."""

    def __init__(self, length, item):
        self.length, self.item = length, item

    def __len__(self):
        return self.length() if callable(self.length) else self.length

    def __getitem__(self, i):
        return self.item(i) if callable(self.item) else self.item


def raise_(*_):
    raise KeyError("mine")


class Index:
    def __init__(self, f):
        self.f = f

    def __index__(self):
        return self.f()

    def __float__(self):
        return self.f()

    def __bool__(self):
        return bool(self.f())


class ArrayLike:
    def __init__(self, f):
        self.f = f

    def __array__(self, *args, **kwargs):
        return self.f()


def cyclic():
    x = []
    x.append([x, 1])
    return x


def growing():
    items = [1, 2]

    def grow():
        items.append(Index(grow))
        return 1

    items.append(Index(grow))
    return items


def shrinking():
    items = [1.0] * 100

    def clear():
        del items[:]
        return 1.0

    items[50] = Index(clear)
    return items


def changing_rows():
    rows = [[1, 2], [3, 4], [5, 6]]

    def clear():
        for row in rows:
            del row[:]
        return 1

    rows[1][0] = Index(clear)
    return rows


def endless(_=None):
    return Lies(1, endless)


HOSTILE = {
    "length too large": lambda: Lies(2**62, lambda i: 1 if i < 10 else raise_()),
    "length negative": lambda: Lies(-5, 1),
    "length raises": lambda: Lies(raise_, 1),
    "length no number": lambda: Lies(lambda: "a", 1),
    "length overflows": lambda: Lies(lambda: 2**70, 1),
    "item raises": lambda: Lies(3, raise_),
    "item raises later": lambda: Lies(3, lambda i: raise_() if i else 1),
    "item ends": lambda: Lies(3, lambda i: [][0] if i else 1),
    "length grows": lambda: Lies(lambda c=[0]: c.__setitem__(0, c[0] + 1) or c[0], 1),
    "items of other depth": lambda: Lies(3, lambda i: 1 if i else [1]),
    "rows of other length": lambda: Lies(3, lambda i: [1] * (i + 1)),
    "index raises": lambda: [Index(raise_)],
    "index no number": lambda: [Index(lambda: "a")],
    "index huge": lambda: [Index(lambda: 2**100)],
    "array raises": lambda: ArrayLike(raise_),
    "array no array": lambda: ArrayLike(lambda: 3),
    "array itself": lambda: ArrayLike(lambda: ArrayLike(raise_)),
    "cycle": cyclic,
    "growing": growing,
    "shrinking": shrinking,
    "rows cleared": changing_rows,
    "endless depth": endless,
    "deep": lambda: eval("[" * 60 + "]" * 60),
    "class": lambda: Lies,
    "type": lambda: int,
}
CALLS = {
    "tensor": lambda torch, o: torch.tensor(o),
    "tensor int": lambda torch, o: torch.tensor(o, dtype=torch.int64),
    "tensor float": lambda torch, o: torch.tensor(o, dtype=torch.float32),
    "tensor bool": lambda torch, o: torch.tensor(o, dtype=torch.bool),
    "as_tensor": lambda torch, o: torch.as_tensor(o),
    "asarray": lambda torch, o: torch.asarray(o),
    "new_tensor": lambda torch, o: torch.zeros(1).new_tensor(o),
    "Tensor": lambda torch, o: torch.Tensor(o),
    "LongTensor": lambda torch, o: torch.LongTensor(o),
    "new": lambda torch, o: torch.zeros(1).new(o),
    "storage": lambda torch, o: torch.UntypedStorage(o),
    "zeros": lambda torch, o: torch.zeros(o),
    "empty": lambda torch, o: torch.empty(1).expand(o),
    "view": lambda torch, o: torch.zeros(6).view(o),
    "index": lambda torch, o: torch.zeros(6)[o],
    "set": lambda torch, o: torch.zeros(6).__setitem__(slice(None), o),
    "full": lambda torch, o: torch.full((2,), o),
    "frombuffer": lambda torch, o: torch.frombuffer(o, dtype=torch.uint8),
    "from_dlpack": lambda torch, o: torch.from_dlpack(o),
    "permute": lambda torch, o: torch.zeros(2, 3).permute(o),
    "sum": lambda torch, o: torch.zeros(2, 3).sum(o),
    "stack": lambda torch, o: torch.stack(o),
}


@pytest.mark.item("M2.05", "M2.07", "M2.09")
@pytest.mark.minitorch_only(
    reason="PyTorch reads lists that shrink meanwhile, and follows cycles until the stack ends"
)
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_objects_raise_or_convert(torch, name, call):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = CALLS[call](torch, HOSTILE[name]())
        except Exception as e:
            assert not isinstance(e, SystemError), e
            assert str(e) is not None and repr(e)
        else:
            if isinstance(result, torch.Tensor) and result.numel() < 1000:
                result.tolist(), repr(result), result.clone()


@pytest.mark.item("M2.47", "M2.46")
@pytest.mark.minitorch_only(reason="PyTorch reads outside of its memory")
def test_geometry_outside_the_storage_is_refused(torch):
    big = 2**62
    t = torch.arange(4.0)
    s = t.untyped_storage()
    for call in (
        lambda: t.as_strided((5,), (1,)),
        lambda: t.as_strided((2, 3), (2, 1)),
        lambda: t.as_strided((2,), (1,), 3),
        lambda: t.as_strided((2,), (big,)),
        lambda: t.as_strided((big,), (big,)),
        lambda: t.as_strided((2,), (1,), big),
        lambda: t.as_strided((2,), (1,), -1),
        lambda: t.as_strided((2,), (-1,), 3),
        lambda: torch.zeros(2).set_(s, 3, (4,), (1,)),
        lambda: torch.zeros(0).set_(s, 0, (big, big), (1, 1)),
        lambda: torch.zeros(0).set_(s, big, (2,), (big,)),
        lambda: torch.empty_strided((big, 2), (2, big)),
        lambda: torch.empty_strided((3,), (2**63 - 1,)),
        lambda: t.unfold(0, big, 1),
        lambda: t.narrow(0, 3, big),
        lambda: t.expand(big, big, 4),
        lambda: t.repeat(big, 4),
        lambda: t.new_empty((2**31, 2**33)),
        lambda: torch._utils._rebuild_tensor_v2(t._typed_storage(), 2, (4,), (1,), False, {}),
    ):
        try:
            result = call()
        except (RuntimeError, TypeError, ValueError, IndexError):
            continue
        # where memory grows instead, it is there
        assert result.untyped_storage().nbytes() >= 4 * (result.storage_offset() + result.numel())
        result.clone()


@pytest.mark.item("M2.22")
@pytest.mark.minitorch_only(reason="PyTorch lets the owner resize memory that it uses")
def test_owners_cannot_resize_lent_memory(torch):
    import array

    for owner, grow in (
        (bytearray(8), lambda o: o.extend(b"x" * 1000)),
        (bytearray(8), lambda o: o.clear()),
        (array.array("b", bytes(8)), lambda o: o.append(1)),
    ):
        t = torch.frombuffer(owner, dtype=torch.uint8)
        u = torch.asarray(owner, dtype=torch.uint8)
        with pytest.raises(BufferError):
            grow(owner)
        t.fill_(3)
        assert u.sum() == 24
        del t, u
        gc.collect()
        grow(owner)


def damaged(data):
    for i in range(len(data)):
        for change in (1, 0x80, 0xFF):
            yield data[:i] + bytes([data[i] ^ change]) + data[i + 1 :]
        yield data[:i]


DAMAGE = """
import io, pickle, sys, warnings
import {0} as torch
sys.path.insert(0, {1!r})
from test_m2_creation import damaged

warnings.simplefilter("ignore")
t = torch.arange(4.0).reshape(2, 2)
stream = io.BytesIO()
if {2!r} == "save":
    torch.save(t, stream)
    data, load = stream.getvalue(), lambda b: torch.load(io.BytesIO(b), weights_only=True)
elif {2!r} == "legacy":
    torch.save(t, stream, _use_new_zipfile_serialization=False)
    data, load = stream.getvalue(), lambda b: torch.load(io.BytesIO(b), weights_only=True)
else:
    data, load = pickle.dumps(t), pickle.loads
bad = 0
for b in damaged(data):
    try:
        r = load(b)
        if isinstance(r, torch.Tensor) and r.numel() < 10000:
            r.tolist(), r.clone()
    except Exception:
        bad += 1
print(bad)
"""


@pytest.mark.item("M3.36", "M3.17")
@pytest.mark.minitorch_only(reason="PyTorch ends the process for some damages")
@pytest.mark.parametrize("kind", ["save", "legacy", "pickle"])
def test_damaged_files_raise(torch, kind):
    script = DAMAGE.format(torch.__name__, os.path.dirname(os.path.abspath(__file__)), kind)
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=600)
    assert run.returncode == 0, run.stderr[-2000:]
    assert int(run.stdout) > 100


@pytest.mark.item("M2.10")
def test_copies_are_apart(torch):
    x = torch.arange(3.0)
    stream = io.BytesIO(pickle.dumps(x))
    for y in (
        torch.tensor(x.tolist()),
        x.clone().detach(),
        pickle.load(stream),
        x.new_tensor([0.0, 1.0, 2.0]),
    ):
        y += 1
        assert x.tolist() == [0, 1, 2] and y.tolist() == [1, 2, 3] and y.is_leaf
