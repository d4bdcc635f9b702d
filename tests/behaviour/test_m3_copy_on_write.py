"""Lazy clones: shared bytes, the first write through any alias, and reads that never copy."""

import copy
import io
import pickle
import sys
import threading
import warnings

import pytest

import opdb


def is_cow(torch, *tensors):
    answers = {torch._C._is_cow_tensor(t) for t in tensors}
    assert len(answers) == 1, "some are lazy clones, some are not"
    return answers.pop()


def address(torch, t):
    return torch._C._data_address(t)


def storage_address(torch, t):
    return torch._C._storage_address(t)


SIZES = [1, 3, 4, 5, 1000, 100000]  # 4 bytes to 400 KB: small storages are kept elsewhere


@pytest.mark.item("M3.30")
@pytest.mark.parametrize("n", SIZES)
def test_clone_has_another_storage_at_the_same_address(torch, n):
    t = torch.arange(float(n))
    before = address(torch, t)
    assert not is_cow(torch, t)
    clone = torch._lazy_clone(t)
    assert is_cow(torch, t, clone)
    assert address(torch, t) == address(torch, clone) == before
    assert storage_address(torch, t) != storage_address(torch, clone)
    assert clone.tolist() == t.tolist() == list(map(float, range(n)))
    assert clone.untyped_storage().nbytes() == 4 * n
    assert clone.untyped_storage()._cdata != t.untyped_storage()._cdata


@pytest.mark.item("M3.30")
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("order", range(6))
def test_bytes_live_as_long_as_their_last_reader(torch, n, order):
    t = torch.arange(float(n))
    clones = [t, t._lazy_clone()]
    clones.append(clones[1]._lazy_clone())
    del t
    first, second = [(0, 1), (0, 2), (1, 2), (1, 0), (2, 0), (2, 1)][order]
    last = 3 - first - second
    clones[first] = None
    other = [torch.full((n,), 7.0) for _ in range(4)]  # takes the memory, if it was given back
    assert clones[second].tolist() == clones[last].tolist() == list(map(float, range(n)))
    clones[second] = None
    other += [torch.full((n,), 8.0) for _ in range(4)]
    assert is_cow(torch, clones[last])
    before = address(torch, clones[last])
    clones[last].add_(1)
    assert address(torch, clones[last]) == before and not is_cow(torch, clones[last])
    assert clones[last].tolist() == list(map(float, range(1, n + 1)))
    assert all(x[0] in (7, 8) for x in other)


@pytest.mark.item("M3.30")
def test_geometry_of_the_clone(torch):
    t = torch.arange(12.0).reshape(3, 4)
    for view in (t.t(), t[1:, 1:], t[:, ::2], t[0:0], t[2, 3], t.expand(2, 3, 4)):
        clone = view._lazy_clone()
        assert (clone.shape, clone.stride(), clone.storage_offset()) == (
            view.shape,
            view.stride(),
            view.storage_offset(),
        )
        assert clone.tolist() == view.tolist() and clone.untyped_storage().nbytes() == 48
        assert not clone._is_view() and clone._base is None and clone.dtype == view.dtype


@pytest.mark.item("M3.30")
@pytest.mark.parametrize("kind", ["numpy", "buffer", "shared"])
def test_borrowed_memory_is_refused(torch, kind):
    if kind == "numpy":
        t = torch.from_numpy(pytest.importorskip("numpy").zeros(3))
    elif kind == "buffer":
        t = torch.frombuffer(bytearray(12), dtype=torch.float32)
    else:
        t = torch.zeros(3).share_memory_()
    with pytest.raises(RuntimeError):
        t._lazy_clone()
    assert not is_cow(torch, t)


@pytest.mark.item("M3.30")
def test_empty_and_meta(torch):
    empty = torch.zeros(0)
    clone = empty._lazy_clone()
    assert is_cow(torch, empty, clone)
    meta = torch.zeros(3, device="meta")._lazy_clone()
    assert meta.is_meta and meta.shape == (3,)
    meta.add_(1)


@pytest.mark.item("M3.30")
@pytest.mark.minitorch_only(reason="an internal assertion of PyTorch fails")
def test_empty_clones_grow(torch):
    empty = torch.zeros(0)
    clone = empty._lazy_clone()
    assert clone.resize_(3).fill_(1).tolist() == [1, 1, 1] and empty.tolist() == []
    assert empty.resize_(1).fill_(2).tolist() == [2]


@pytest.mark.item("M3.31")
def test_views_share_the_state(torch):
    t = torch.arange(6.0)
    early = t.view(2, 3)
    where = address(torch, t), storage_address(torch, t), t.untyped_storage()
    clone = early._lazy_clone()
    late, of_clone = t[1:], clone[0]
    assert is_cow(torch, t, early, late, clone, of_clone)
    assert address(torch, t) == where[0] and storage_address(torch, t) == where[1]
    assert t.untyped_storage() is where[2]
    assert storage_address(torch, early) == storage_address(torch, late) == where[1]
    assert storage_address(torch, of_clone) == storage_address(torch, clone) != where[1]
    assert t.untyped_storage().nbytes() == 24 and t.untyped_storage()[3] == 0
    t.transpose(0, 0), t.detach(), t.data, t.unbind(), t.split(2), t.requires_grad
    assert t.untyped_storage().tolist()[4:8] == [0, 0, 128, 63]
    assert is_cow(torch, t, early, clone)


@pytest.mark.item("M3.32")
@pytest.mark.parametrize("n", [4, 6, 1000])
def test_a_write_moves_the_writer_only(torch, n):
    t = torch.arange(float(n))
    view = t.view(2, -1)
    clone = t._lazy_clone()
    before = address(torch, t)
    view.add_(1)
    assert not is_cow(torch, t, view) and is_cow(torch, clone)
    assert address(torch, t) == address(torch, view) != before
    assert address(torch, clone) == before
    assert t.tolist() == list(map(float, range(1, n + 1))) and clone.tolist() == list(map(float, range(n)))
    clone.mul_(2)  # the last holder takes the bytes back
    assert address(torch, clone) == before and not is_cow(torch, clone)
    assert clone.tolist() == [2.0 * i for i in range(n)]
    again = clone._lazy_clone()
    assert is_cow(torch, clone, again) and address(torch, again) == before
    again[0] = 9
    assert clone[0] == 0 and again[0] == 9 and address(torch, again) != before


def numpy_of(torch, t):
    pytest.importorskip("numpy")
    return t.numpy()


WRITERS = {
    "add_": lambda torch, t: t.add_(1),
    "iadd": lambda torch, t: t.__iadd__(torch.ones(6)),
    "add_ promoted": lambda torch, t: t.add_(torch.ones(6, dtype=torch.int32)),
    "add_ broadcast": lambda torch, t: t.view(2, 3).add_(torch.ones(3)),
    "fill_": lambda torch, t: t.fill_(3),
    "fill_ tensor": lambda torch, t: t.fill_(torch.tensor(3.0)),
    "zero_": lambda torch, t: t.zero_(),
    "copy_": lambda torch, t: t.copy_(torch.ones(6)),
    "copy_ cast": lambda torch, t: t.copy_(torch.ones(6, dtype=torch.int64)),
    "setitem": lambda torch, t: t.__setitem__(0, 5),
    "setitem tensor": lambda torch, t: t.__setitem__(torch.tensor([0]), 5),
    "setitem mask": lambda torch, t: t.__setitem__(t > 2, 5),
    "set slice": lambda torch, t: t.__setitem__(slice(0, 2), torch.zeros(2)),
    "out": lambda torch, t: torch.add(torch.ones(6), 1, out=t),
    "out cast": lambda torch, t: torch.add(torch.ones(6, dtype=torch.int32), 1, out=t),
    "out reduce": lambda torch, t: torch.sum(torch.ones(2, 6), 0, out=t),
    "out matmul": lambda torch, t: torch.mv(torch.ones(6, 2), torch.ones(2), out=t),
    "out arange": lambda torch, t: torch.arange(6.0, out=t),
    "out cat": lambda torch, t: torch.cat([torch.ones(3), torch.ones(3)], out=t),
    "uniform_": lambda torch, t: t.uniform_(),
    "normal_": lambda torch, t: t.normal_(),
    "index_put_": lambda torch, t: t.index_put_((torch.tensor([1]),), torch.tensor(7.0)),
    "index_add_": lambda torch, t: t.index_add_(0, torch.tensor([1]), torch.ones(1)),
    "scatter_": lambda torch, t: t.scatter_(0, torch.tensor([1]), 4.0),
    "masked_fill_": lambda torch, t: t.masked_fill_(t > 2, 0),
    "masked_scatter_": lambda torch, t: t.masked_scatter_(t > 2, torch.zeros(6)),
    "cumsum_": lambda torch, t: t.cumsum_(0),
    "running mean": lambda torch, t: torch.nn.functional.batch_norm(
        torch.randn(4, 6), t, torch.ones(6), training=True
    ),
    "running var": lambda torch, t: torch.nn.functional.instance_norm(
        torch.randn(2, 6, 5), torch.ones(6), t, use_input_stats=True
    ),
    "data_ptr": lambda torch, t: t.data_ptr(),
    "storage data_ptr": lambda torch, t: t.untyped_storage().data_ptr(),
    "numpy": numpy_of,
    "asarray": lambda torch, t: pytest.importorskip("numpy").asarray(t),
    "dlpack": lambda torch, t: torch.utils.dlpack.to_dlpack(t),
    "storage item": lambda torch, t: t.untyped_storage().__setitem__(0, 1),
    "storage slice": lambda torch, t: t.untyped_storage()[0:4],
    "storage set slice": lambda torch, t: t.untyped_storage().__setitem__(slice(0, 2), 1),
    "storage fill_": lambda torch, t: t.untyped_storage().fill_(0),
    "storage copy_": lambda torch, t: t.untyped_storage().copy_(torch.ones(6).untyped_storage()),
    "storage byteswap": lambda torch, t: t.untyped_storage().byteswap(torch.float32),
    "storage resize_": lambda torch, t: t.untyped_storage().resize_(48),
    "storage shrink": lambda torch, t: t.untyped_storage().resize_(8),
    "typed item": lambda torch, t: t.storage().__setitem__(0, 1.0),
    "share_memory_": lambda torch, t: t.share_memory_(),
    "resize_": lambda torch, t: t.resize_(100),
    "set_": lambda torch, t: t.set_(),
    "data": lambda torch, t: setattr(t, "data", torch.zeros(6)),
}


@pytest.mark.item("M3.32")
@pytest.mark.parametrize("which", ["source", "clone", "view"])
@pytest.mark.parametrize("name", WRITERS)
def test_every_way_to_write(torch, name, which):
    t = torch.arange(6.0)
    clone = t._lazy_clone()
    written, kept = (clone, t) if which == "clone" else (t, clone)
    before = address(torch, t)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        alive = WRITERS[name](
            torch, written[:] if which == "view" and name not in ("set_", "data") else written
        )
    assert not is_cow(torch, written) and is_cow(torch, kept)
    assert address(torch, written) != before and address(torch, kept) == before
    assert kept.tolist() == [0, 1, 2, 3, 4, 5]
    kept.add_(1)
    assert address(torch, kept) == before and kept.tolist() == [1, 2, 3, 4, 5, 6]
    del alive


@pytest.mark.item("M3.32")
def test_resize_within_the_storage_is_no_write(torch):
    t = torch.arange(6.0)
    clone = t._lazy_clone()
    assert t.resize_(2).tolist() == [0, 1] and is_cow(torch, t, clone)
    t.copy_(t)
    assert is_cow(torch, t, clone)
    with pytest.raises(RuntimeError):
        t.add_(torch.zeros(7))
    assert is_cow(torch, t, clone)


@pytest.mark.item("M3.32")
def test_gradients_and_optimizers_write_their_own(torch):
    p = torch.nn.Parameter(torch.ones(3))
    kept = p.detach()._lazy_clone()
    p.sum().backward()
    grad = p.grad._lazy_clone()
    assert is_cow(torch, p, kept) and is_cow(torch, p.grad, grad)
    (p * 2).sum().backward()
    assert p.grad.tolist() == [3, 3, 3] and grad.tolist() == [1, 1, 1]
    torch.optim.SGD([p], lr=1.0).step()
    assert p.tolist() == [-2, -2, -2] and kept.tolist() == [1, 1, 1]


@pytest.mark.item("M3.32")
@pytest.mark.minitorch_only(reason="PyTorch lets an array made before the clone write into the clone")
def test_bytes_that_others_can_write_are_copied_at_once(torch):
    np = pytest.importorskip("numpy")
    for export in (lambda t: t.numpy(), memoryview, torch.to_dlpack):
        t = torch.zeros(3)
        outside = export(t)
        clone = t._lazy_clone()
        assert address(torch, clone) != address(torch, t)
        (np.from_dlpack(t) if not hasattr(outside, "__setitem__") else outside)[0] = 5
        assert t[0] == 5 and clone[0] == 0


READERS = {
    "add": lambda torch, t: t + t,
    "add other": lambda torch, t: torch.ones(6) + t,
    "in place from": lambda torch, t: torch.zeros(6).add_(t),
    "copy from": lambda torch, t: torch.zeros(6).copy_(t),
    "sum": lambda torch, t: t.sum(),
    "max": lambda torch, t: t.max(0),
    "matmul": lambda torch, t: t.view(2, 3) @ t.view(3, 2),
    "index": lambda torch, t: t[torch.tensor([0, 5])],
    "mask": lambda torch, t: t[t > 2],
    "take": lambda torch, t: torch.zeros(9)[t.long()],
    "sort": lambda torch, t: t.sort(),
    "softmax": lambda torch, t: t.softmax(0),
    "repr": lambda torch, t: repr(t),
    "item": lambda torch, t: t[3].item(),
    "tolist": lambda torch, t: t.tolist(),
    "bool": lambda torch, t: bool(t[1]),
    "float": lambda torch, t: float(t[1]),
    "iter": lambda torch, t: list(t),
    "equal": lambda torch, t: torch.equal(t, t.clone()),
    "const_data_ptr": lambda torch, t: t.const_data_ptr(),
    "clone": lambda torch, t: t.clone(),
    "contiguous": lambda torch, t: t.contiguous(),
    "to": lambda torch, t: t.to(torch.float64),
    "as_strided": lambda torch, t: t.as_strided((2,), (1,)),
    "tensor": lambda torch, t: t.new_tensor([1.0]),
    "asarray": lambda torch, t: torch.asarray(t, copy=True),
    "deepcopy": lambda torch, t: copy.deepcopy(t),
    "storage": lambda torch, t: t.untyped_storage(),
    "storage item": lambda torch, t: t.untyped_storage()[0],
    "storage tolist": lambda torch, t: t.untyped_storage().tolist(),
    "storage clone": lambda torch, t: t.untyped_storage().clone(),
    "storage copy from": lambda torch, t: torch.zeros(6).untyped_storage().copy_(t.untyped_storage()),
    "set_ from": lambda torch, t: torch.zeros(2).set_(t.untyped_storage()),
    "is_shared": lambda torch, t: t.is_shared(),
    "hash": lambda torch, t: hash(t),
    "requires_grad_": lambda torch, t: t.requires_grad_(),
    "use count": lambda torch, t: torch._C._storage_Use_Count(t.untyped_storage()._cdata),
    "lazy clone": lambda torch, t: t._lazy_clone(),
}


@pytest.mark.item("M3.33", "M3.36")
@pytest.mark.parametrize("name", READERS)
def test_reads_copy_nothing(torch, name):
    t = torch.arange(6.0)
    clone = t._lazy_clone()
    before = address(torch, t)
    READERS[name](torch, t)
    READERS[name](torch, clone)
    assert is_cow(torch, t, clone) and address(torch, t) == address(torch, clone) == before


@pytest.mark.item("M3.33")
@pytest.mark.minitorch_only(reason="PyTorch takes mutable addresses when it saves")
def test_saving_copies_nothing(torch):
    t = torch.arange(6.0)
    clone = t._lazy_clone()
    pickle.dumps(t)
    torch.save([t, clone], io.BytesIO())
    assert is_cow(torch, t, clone) and t.untyped_storage().float().tolist()[0] == 0
    assert is_cow(torch, t, clone)


def lazily(torch, args, kwargs):
    """The same arguments with every tensor a lazy clone of another, and the other ones."""
    kept = []

    def convert(x):
        if isinstance(x, torch.Tensor):
            kept.append(x)
            return x._lazy_clone()
        if isinstance(x, (tuple, list)):
            return type(x)(convert(item) for item in x)
        return x

    return convert(args), {k: convert(v) for k, v in kwargs.items()}, kept


def tensors_in(torch, x):
    if isinstance(x, torch.Tensor):
        return [x]
    return [t for item in x for t in tensors_in(torch, item)] if isinstance(x, (tuple, list)) else []


def late_copies(torch):
    testing = getattr(torch._C, "_testing", None)
    return testing.late_copies() if testing else 0


SWEPT = [pytest.param(e, id=e.schema.full_name) for e in opdb.entries() if opdb.samples(e)]


@pytest.mark.item("M3.33")
@pytest.mark.minitorch_only(reason="the catalog is minitorch's")
@pytest.mark.parametrize("entry", SWEPT)
def test_no_op_copies_what_it_reads(torch, entry):
    late = late_copies(torch)
    function = opdb.find(torch, entry)
    for expression in opdb.samples(entry):
        for dtype in ("float32", "int64", "bool", "complex64", "float16"):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    sample = opdb.Filler(torch, dtype).evaluate(expression)
                except RuntimeError:
                    continue  # the sample makes its arguments with an op that refuses the dtype
                args, kwargs, kept = lazily(torch, *sample)
                values = [repr(t) for t in kept]
                try:
                    if function is not None:
                        function(*args, **kwargs)
                    else:
                        getattr(args[0], entry.name)(*args[1:], **kwargs)
                except Exception:
                    pass  # a dtype that the op refuses; the tests of values see to what it should take
            given = tensors_in(torch, args) + tensors_in(torch, list(kwargs.values()))
            written = entry.only_inplace or entry.name.endswith("_") or "batch_norm" in entry.name
            for i, (t, k) in enumerate(zip(given, kept)):
                assert repr(k) == values[i], "%s(%s) %s wrote its source" % (entry.name, expression, dtype)
                if not written:
                    assert torch._C._is_cow_tensor(t), "%s(%s) %s" % (entry.name, expression, dtype)
    assert late_copies(torch) == late, "a kernel took an address without asking"


@pytest.mark.item("M3.32")
@pytest.mark.minitorch_only(reason="the catalog is minitorch's")
@pytest.mark.parametrize("entry", [p for p in SWEPT if {"inplace", "out"} & set(p.values[0].variants)])
def test_no_op_writes_into_a_lazy_clone_of_its_output(torch, entry):
    late = late_copies(torch)
    function = opdb.find(torch, entry)
    for expression in opdb.samples(entry)[:3]:
        for dtype in ("float32", "int64", "complex64"):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    results, _ = opdb.call(torch, entry, expression, dtype)
                except Exception:
                    continue
                if "out" in entry.variants and function is not None:
                    outs = [torch.ones_like(r) for r in results]
                    kept = [o._lazy_clone() for o in outs]
                    args, kwargs = opdb.Filler(torch, dtype).evaluate(expression)
                    function(*args, **kwargs, out=outs[0] if len(outs) == 1 else tuple(outs))
                    for o, k, r in zip(outs, kept, results):
                        assert (k == 1).all(), "%s(%s, out=) %s" % (entry.name, expression, dtype)
                        assert torch.allclose(o, r, equal_nan=True) or entry.random
                if "inplace" in entry.variants and hasattr(torch.Tensor, entry.name + "_"):
                    args, kwargs = opdb.Filler(torch, dtype).evaluate(expression)
                    kept = args[0]._lazy_clone()
                    value = repr(kept)
                    try:
                        getattr(args[0], entry.name + "_")(*args[1:], **kwargs)
                    except RuntimeError:
                        continue
                    assert repr(kept) == value, "%s_(%s) %s" % (entry.name, expression, dtype)
    assert late_copies(torch) == late, "a kernel took an address without asking"


@pytest.mark.item("M3.33")
def test_backward_reads_only(torch):
    x = torch.randn(4, 6, requires_grad=True)
    w = torch.randn(6, 3, requires_grad=True)
    a, b = x.detach()._lazy_clone().requires_grad_(), w.detach()._lazy_clone().requires_grad_()
    torch.nn.functional.gelu(a @ b).softmax(1).log().mean().backward()
    torch.nn.functional.gelu(x @ w).softmax(1).log().mean().backward()
    assert is_cow(torch, a, b, x, w)
    assert torch.equal(a.grad, x.grad) and torch.equal(b.grad, w.grad)


@pytest.mark.item("M3.34")
def test_no_copy_inside_a_parallel_region(torch):
    t = torch.arange(100.0)
    assert torch._test_parallel_materialize(t, 4) is not None
    clone = t._lazy_clone()
    for arguments in ((4,), (4, True), (2, False)):
        with pytest.raises(RuntimeError, match="Materializing a storage"):
            torch._test_parallel_materialize(clone, *arguments)
    assert is_cow(torch, t, clone) and clone.tolist() == t.tolist()
    torch._test_parallel_materialize(clone, 0)
    torch._test_parallel_materialize(clone, 1, True)
    assert is_cow(torch, t, clone)


@pytest.mark.item("M3.35")
def test_version_and_gradient(torch):
    t = torch.ones(3)
    t.add_(1)
    clone = t._lazy_clone()
    assert (t._version, clone._version) == (1, 0)
    clone.add_(1)
    assert (t._version, clone._version) == (1, 1)
    x = torch.ones(3, requires_grad=True)
    y = x._lazy_clone()
    assert type(y.grad_fn).__name__ == "LazyCloneBackward0" and y.requires_grad and not y.is_leaf
    (y * torch.tensor([1.0, 2.0, 3.0])).sum().backward()
    assert x.grad.tolist() == [1, 2, 3]
    assert x.detach()._lazy_clone().grad_fn is None
    with torch.no_grad():
        assert not x._lazy_clone().requires_grad
    z = x.exp()
    saved = z._lazy_clone()
    z.detach().mul_(0)
    with pytest.raises(RuntimeError):
        z.sum().backward()
    assert saved.detach().tolist() == [pytest.approx(2.718281828)] * 3


@pytest.mark.item("M3.35")
def test_subclass_and_lazy_bits(torch):
    assert type(torch.nn.Parameter(torch.zeros(2))._lazy_clone()) is torch.Tensor
    z = torch.tensor([1 + 2j]).conj()
    clone = z._lazy_clone()
    assert not clone.is_conj() and clone.tolist() == [1 - 2j]


@pytest.mark.item("M3.36")
def test_values_survive_every_road(torch):
    t = torch.arange(6.0).reshape(2, 3)
    clone = t._lazy_clone()
    for x in (t, clone, clone.t().t(), clone[:, :]):
        assert x[1, 2].item() == 5 and x.tolist() == [[0, 1, 2], [3, 4, 5]]
        assert torch.equal(copy.deepcopy(x), t) and torch.equal(copy.copy(x), t)
        assert torch.equal(pickle.loads(pickle.dumps(x)), t)
        stream = io.BytesIO()
        torch.save(x, stream)
        stream.seek(0)
        assert torch.equal(torch.load(stream), t)
    copied = copy.deepcopy(clone)
    copied.add_(1)
    assert clone.tolist() == [[0, 1, 2], [3, 4, 5]]


@pytest.mark.item("M3.32")
@pytest.mark.minitorch_only(reason="PyTorch's copies race and end the process")
def test_threads_copy_once(torch):
    sys.setswitchinterval(1e-6)
    try:
        for n in (3, 20000):
            for _ in range(20):
                t = torch.zeros(n)
                clones = [t] + [t._lazy_clone() for _ in range(3)]
                start = threading.Barrier(8)

                def work(k):
                    start.wait()
                    for _ in range(5):
                        clones[k % 4][k // 4 :: 2].add_(k % 4 + 1)

                threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
                for k, c in enumerate(clones):
                    assert not torch._C._is_cow_tensor(c) and (c == 5 * (k + 1)).all()
                assert len({torch._C._data_address(c) for c in clones}) == 4
    finally:
        sys.setswitchinterval(0.005)


@pytest.mark.item("M3.32")
@pytest.mark.minitorch_only(reason="PyTorch's copies race and end the process")
def test_writers_do_not_disturb_readers_in_other_threads(torch):
    n = 300000
    source = torch.ones(n)
    shared = source._lazy_clone()
    stop, wrong = [], []

    def read():
        while not stop:
            if float(shared.sum()) != n:
                wrong.append(1)

    reader = threading.Thread(target=read)
    reader.start()
    for _ in range(100):
        mine = shared._lazy_clone()
        mine.mul_(3)
        source = mine._lazy_clone()
        assert source[0] == 3 and shared[0] == 1
    stop.append(1)
    reader.join()
    assert not wrong


@pytest.mark.item("M3.30")
@pytest.mark.minitorch_only(reason="reads minitorch's counters")
def test_memory_and_failed_copies(torch):
    testing = torch._C._testing
    t = torch.ones(1 << 20)
    clones = [t._lazy_clone()]
    before = testing.alloc_stats()["live_bytes"]
    clones += [t._lazy_clone() for _ in range(100)]
    assert testing.alloc_stats()["live_bytes"] - before < 100 * 512
    for writer in (
        lambda: t.add_(1),
        lambda: t.untyped_storage().fill_(0),
        lambda: t.data_ptr(),
        lambda: t.fill_(0),
    ):
        failed = 0
        for n in range(1, 40):
            testing.fail_at(n)
            try:
                writer()
            except (RuntimeError, MemoryError):
                failed += 1
                assert torch._C._is_cow_tensor(t) and t[0] == 1 and clones[0][0] == 1
            else:
                break
            finally:
                testing.fail_at(0)
        assert failed > 0 and not torch._C._is_cow_tensor(t)
        t = clones.pop()
    small = torch.ones(2)
    for n in range(1, 40):
        testing.fail_at(n)
        try:
            small._lazy_clone()
        except (RuntimeError, MemoryError):
            assert small.tolist() == [1, 1]
        else:
            break
        finally:
            testing.fail_at(0)
