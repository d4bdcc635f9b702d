# SPDX-License-Identifier: BSD-3-Clause
"""Indexing, gathering and scattering, against NumPy and against what PyTorch gives."""

import random

import movement
import numpy as np
import pytest

pytestmark = pytest.mark.filterwarnings("ignore")
DTYPES = ["bool", "uint8", "int16", "int32", "float32", "int64", "complex128"]


@pytest.mark.parametrize("expression,want", movement.recorded("index"))
def test_recorded(torch, expression, want):
    movement.check(torch, expression, want)


def pair(torch, shape, dtype="float32", rng=None):
    """An array and a tensor of the same numbers; with a generator, under random strides."""
    a = (np.arange(int(np.prod(shape))).reshape(shape) % 251).astype(dtype)
    t = (torch.arange(a.size).reshape(shape) % 251).to(getattr(torch, dtype))
    if rng and len(shape) > 1:
        d = rng.randrange(len(shape))
        t = t.transpose(0, d).contiguous().transpose(0, d)
    return a, t


def same(t, a):
    return tuple(t.shape) == a.shape and t.tolist() == a.tolist()


def random_index(torch, rng, shape):
    """The same index for an array and a tensor: slices, numbers, None, Ellipsis, index tensors, masks."""
    ours, theirs = [], []
    common = rng.choice([(), (3,), (2, 1), (2, 3)])
    shapes = {(): [()], (3,): [(3,), (1,)], (2, 1): [(2, 1), (1, 1)], (2, 3): [(2, 3), (3,), (2, 1)]}[common]
    d, used_mask = 0, False
    while d < len(shape) and rng.random() < 0.9:
        kind = rng.choice(["slice", "number", "none", "tensor", "tensor", "mask", "all"])
        if kind == "none":
            ours.append(None)
            theirs.append(None)
            continue
        if kind == "mask" and not used_mask and common == (3,):
            # A mask with three true elements stands for index tensors of three elements.
            k = rng.choice([k for k in (1, 2) if d + k <= len(shape)])
            mask = np.zeros(shape[d : d + k], bool)
            if mask.size >= 3:
                mask.reshape(-1)[rng.sample(range(mask.size), 3)] = True
                ours.append(torch.tensor(mask.tolist()))
                theirs.append(mask)
                d, used_mask = d + k, True
            continue
        if kind == "tensor" and shape[d] and (common or not ours):
            a = np.array([rng.randrange(-shape[d], shape[d]) for _ in range(6)])
            this = rng.choice(shapes)
            a = a[: int(np.prod(this))].reshape(this)
            ours.append(torch.tensor(a.tolist(), dtype=rng.choice([torch.int64, torch.int32])).reshape(this))
            theirs.append(a)
        elif kind == "number" and shape[d]:
            ours.append(rng.randrange(-shape[d], shape[d]))
            theirs.append(ours[-1])
        else:
            ours.append(
                slice(rng.randint(-3, 3), None, rng.randint(1, 2)) if kind == "slice" else slice(None)
            )
            theirs.append(ours[-1])
        d += 1
    if rng.random() < 0.2:
        ours.append(Ellipsis)
        theirs.append(Ellipsis)
    return tuple(ours), tuple(theirs)


@pytest.mark.parametrize("seed", range(150))
def test_index(torch, seed):
    """Reading and writing through any mixture of indices, as in NumPy (numbers count as slices, unlike there)."""
    rng = random.Random(seed)
    shape = [rng.choice([1, 2, 3, 4, 7]) for _ in range(rng.randint(1, 4))]
    a, t = pair(torch, shape, rng.choice(DTYPES), rng)
    ours, theirs = random_index(torch, rng, shape)
    # NumPy takes a number among index arrays for one of them; PyTorch selects first.
    if any(isinstance(i, np.ndarray) for i in theirs):
        theirs = tuple(slice(i, None if i == -1 else i + 1) if isinstance(i, int) else i for i in theirs)
        want = a[theirs]
        got = t[tuple(slice(i, None if i == -1 else i + 1) if isinstance(i, int) else i for i in ours)]
        assert same(got, want)
        assert t[ours].numel() == want.size
        assert t[ours].flatten().tolist() == want.flatten().tolist() or len(shape) > 1
        ours = tuple(slice(i, None if i == -1 else i + 1) if isinstance(i, int) else i for i in ours)
    else:
        assert same(t[ours], a[theirs])
    t = t.clone()
    shape = a[theirs].shape
    values = np.arange(int(np.prod(shape))).reshape(shape).astype(a.dtype)
    flat = np.arange(a.size).reshape(a.shape)[theirs].reshape(-1)
    if len(set(flat.tolist())) == flat.size:
        a[theirs] = values
        t[ours] = torch.tensor(values.tolist(), dtype=t.dtype).reshape(shape)
        assert same(t, a)
    t[ours] = 1
    a[theirs] = 1
    assert same(t, a)


@pytest.mark.parametrize("seed", range(30))
def test_index_put_accumulates(torch, seed):
    rng = random.Random(seed)
    shape = [rng.randint(1, 5) for _ in range(rng.randint(1, 3))]
    a, t = pair(torch, shape, rng.choice(["int64", "float64", "int32", "complex128"]), rng)
    k = rng.randint(1, len(shape))
    index = [np.array([rng.randrange(-s, s) for _ in range(8)]) for s in shape[:k]]
    values = np.arange(int(np.prod([8] + shape[k:]))).reshape([8] + shape[k:]).astype(a.dtype)
    np.add.at(a, tuple(index), values)
    indices = [torch.tensor(i.tolist()) for i in index]
    assert same(t.index_put(indices, torch.tensor(values.tolist(), dtype=t.dtype), accumulate=True), a)
    a[tuple(index)] = 7
    assert same(
        t.index_put_(indices, torch.tensor(7, dtype=t.dtype), accumulate=False),
        np.where(a == 7, 7, t.numpy()),
    )


OUT = {
    "index": lambda torch, t, i: t[i],
    "index_put_": lambda torch, t, i: t.index_put_((i,), torch.tensor(9.0)),
    "index_put_accumulate": lambda torch, t, i: t.index_put_((i,), torch.tensor(9.0), accumulate=True),
    "index_select": lambda torch, t, i: t.index_select(0, i),
    "index_fill_": lambda torch, t, i: t.index_fill_(0, i, 9.0),
    "index_copy_": lambda torch, t, i: t.index_copy_(0, i, torch.full((3,), 9.0)),
    "index_add_": lambda torch, t, i: t.index_add_(0, i, torch.full((3,), 9.0)),
    "index_reduce_": lambda torch, t, i: t.index_reduce_(0, i, torch.full((3,), 9.0), "prod"),
    "gather": lambda torch, t, i: t.gather(0, i),
    "scatter_": lambda torch, t, i: t.scatter_(0, i, 9.0),
    "scatter_src_": lambda torch, t, i: t.scatter_(0, i, torch.full((3,), 9.0)),
    "scatter_add_": lambda torch, t, i: t.scatter_add_(0, i, torch.full((3,), 9.0)),
    "scatter_reduce_": lambda torch, t, i: t.scatter_reduce_(0, i, torch.full((3,), 9.0), "amax"),
    "take": lambda torch, t, i: t.take(i),
    "put_": lambda torch, t, i: t.put_(i, torch.full((3,), 9.0)),
}


@pytest.mark.parametrize("name", OUT)
@pytest.mark.parametrize("bad", [5, -6, 2**40, -(2**63), 2**63 - 1])
def test_bounds(torch, name, bad):
    """An index out of range is an error."""
    t = torch.arange(5.0).clone()
    with pytest.raises((IndexError, RuntimeError)):
        OUT[name](torch, t, torch.tensor([0, 1, bad]))


@pytest.mark.minitorch_only(reason="PyTorch takes the remainder")
def test_bounds_of_take_along_dim(torch):
    assert torch.arange(5).take_along_dim(torch.tensor([-1, -5, 4]), 0).tolist() == [4, 0, 4]
    for bad in (5, -6, 2**40):
        with pytest.raises((IndexError, RuntimeError)):
            torch.arange(5).take_along_dim(torch.tensor([0, bad]), 0)


@pytest.mark.minitorch_only(reason="PyTorch has written the elements before the bad one")
@pytest.mark.parametrize("name", [n for n in OUT if n.split("_src")[0].endswith("_")])
def test_bounds_are_checked_first(torch, name):
    """Nothing is written where one index is out of range."""
    for n in (5, 200_000):
        t = torch.arange(float(n)).clone()
        with pytest.raises((IndexError, RuntimeError)):
            OUT[name](torch, t, torch.tensor([0, 1, n]))
        assert t.equal(torch.arange(float(n)))


@pytest.mark.parametrize("seed", range(30))
def test_gather_and_scatter(torch, seed):
    """Indices smaller than the source, any strides, both index types."""
    rng = random.Random(seed)
    n = rng.randint(1, 3)
    shape = [rng.randint(1, 6) for _ in range(n)]
    d = rng.randrange(n)
    a, t = pair(torch, shape, rng.choice(["int64", "float64", "int16", "float32"]), rng)
    size = [rng.randint(1, s) for s in shape]
    size[d] = rng.randint(1, 8)
    index = np.array([rng.randrange(shape[d]) for _ in range(int(np.prod(size)))]).reshape(size)
    i = torch.tensor(index.tolist(), dtype=rng.choice([torch.int64, torch.int32])).reshape(size)
    cut = a[tuple(slice(None) if k == d else slice(size[k]) for k in range(n))]
    assert same(t.gather(d, i), np.take_along_axis(cut, index, d))
    src, values = pair(torch, size, str(a.dtype), rng)
    want = {"add": a.copy(), "multiply": a.copy(), "amax": a.copy(), "amin": a.copy()}
    last, fixed = a.copy(), a.copy()
    sums, products = a.copy(), a.copy()
    touched = np.zeros(a.shape, bool)
    for place in np.ndindex(*size):
        target = tuple(int(index[place]) if k == d else p for k, p in enumerate(place))
        want["add"][target] += src[place]
        want["multiply"][target] *= src[place]
        want["amax"][target] = max(want["amax"][target], src[place])
        want["amin"][target] = min(want["amin"][target], src[place])
        sums[target] = sums[target] + src[place] if touched[target] else src[place]
        products[target] = products[target] * src[place] if touched[target] else src[place]
        touched[target] = True
        last[target] = src[place]
        fixed[target] = 9
    assert same(t.scatter(d, i, 9), fixed) and same(t.scatter_add(d, i, values), want["add"])
    assert same(t.scatter_reduce(d, i, values, "sum"), want["add"])
    assert same(t.scatter_reduce(d, i, values, "amax"), want["amax"])
    assert same(t.scatter_reduce(d, i, values, "amin"), want["amin"])
    assert same(t.scatter_reduce(d, i, values, "sum", include_self=False), sums)
    if a.dtype.kind == "f":
        assert np.allclose(t.scatter_reduce(d, i, values, "prod").numpy(), want["multiply"])
        assert np.allclose(t.scatter_reduce(d, i, values, "prod", include_self=False).numpy(), products)
    if (
        len({tuple(int(index[p]) if k == d else v for k, v in enumerate(p)) for p in np.ndindex(*size)})
        == index.size
    ):
        assert same(t.scatter(d, i, values), last)


@pytest.mark.parametrize("seed", range(30))
def test_along_one_dimension(torch, seed):
    """index_select, index_add, index_copy, index_fill, take, put."""
    rng = random.Random(seed)
    n = rng.randint(1, 4)
    shape = [rng.randint(1, 6) for _ in range(n)]
    d = rng.randrange(n)
    a, t = pair(
        torch, shape, rng.choice(["int64", "float64", "int16", "float32", "uint8", "complex128"]), rng
    )
    index = [rng.randrange(shape[d]) for _ in range(rng.randint(0, 9))]
    i = torch.tensor(index, dtype=rng.choice([torch.int64, torch.int32]))
    where = (slice(None),) * d + (np.array(index, int),)
    assert same(t.index_select(d - n, i), a[where])
    size = list(shape)
    size[d] = len(index)
    src, values = pair(torch, size, str(a.dtype), rng)
    want = a.copy()
    np.add.at(want, where, src)
    assert same(t.index_add(d, i, values), want)
    want = a.copy()
    want[where] = 3
    assert same(t.index_fill(d, i.long(), 3), want)
    if len(set(index)) == len(index):
        want[where] = src
        assert same(t.index_copy(d, i.long(), values), want)
    flat = torch.tensor([rng.randrange(-a.size, a.size) for _ in range(5)])
    assert same(t.take(flat), np.take(a, flat.numpy()))
    want = a.copy()
    np.add.at(want.reshape(-1), flat.numpy(), np.arange(5).astype(a.dtype))
    assert same(t.put(flat, torch.arange(5).to(t.dtype), accumulate=True), want)


@pytest.mark.parametrize("shape", [(0,), (1,), (70,), (300, 7), (1000, 1003)])
@pytest.mark.parametrize("dtype", ["bool", "int16", "float32", "complex128"])
def test_masks(torch, shape, dtype):
    """nonzero, masked_select, masked_fill, masked_scatter of every density, small and in threads."""
    a, t = pair(torch, shape, "int64")
    for divisor in (1, 2, 7, 250, 10_000):
        chosen, mask = a * 31 % divisor == 0, t * 31 % divisor == 0
        values = (a % 2 if dtype == "bool" else a).astype(dtype)
        v = (t % 2 if dtype == "bool" else t).to(getattr(torch, dtype))
        assert np.array_equal(mask.nonzero().numpy(), np.argwhere(chosen))
        assert np.array_equal(v.masked_select(mask).numpy(), values[chosen])
        assert np.array_equal(v[mask].numpy(), values[chosen])
        assert np.array_equal(
            v.masked_fill(mask, 1).numpy(), np.where(chosen, np.ones(1, values.dtype), values)
        )
        source = v.flip(0).contiguous()
        want = values.copy()
        want[chosen] = source.numpy().reshape(-1)[: int(chosen.sum())]
        assert np.array_equal(v.masked_scatter(mask, source).numpy(), want)
        if len(shape) == 2:
            assert np.array_equal(mask.t().nonzero().numpy(), np.argwhere(chosen.T))
            assert np.array_equal(v.t()[mask.t()].numpy(), values.T[chosen.T])
    assert np.array_equal(
        (v - v).nonzero().numpy() if dtype != "bool" else (v ^ v).nonzero().numpy(), np.zeros((0, len(shape)))
    )


def test_nonzero_counts_bits_as_values(torch):
    """-0.0 is zero, NaN is not, a complex number is zero where both parts are."""
    assert torch.tensor([0.0, -0.0, float("nan"), 1e-45]).nonzero().flatten().tolist() == [2, 3]
    assert torch.tensor([0j, -0j, 1j, 1 + 0j]).nonzero().flatten().tolist() == [2, 3]
    assert torch.tensor([0.0, -0.0, 6e-8], dtype=torch.float16).nonzero().flatten().tolist() == [2]
    assert torch.tensor(5).nonzero().shape == (1, 0) and torch.tensor(0).nonzero().shape == (0, 0)


@pytest.mark.parametrize("rows,width", [(100_000, 1), (100_000, 3), (20_000, 64), (1000, 5000)])
def test_large(torch, rows, width):
    """Reads and writes in several threads; repeated targets add up the same in every run."""
    rng = np.random.default_rng(1)
    a = (np.arange(rows * width, dtype=np.float64) % 1013).reshape(rows, width)
    t = torch.from_numpy(a.copy())
    index = rng.integers(0, rows, rows)
    i = torch.from_numpy(index)
    assert np.array_equal(t[i].numpy(), a[index]) and np.array_equal(t.index_select(0, i).numpy(), a[index])
    assert np.array_equal(t.gather(0, i[:, None].expand(rows, width)).numpy(), a[index])
    want = a.copy()
    np.add.at(want, index, a)
    assert np.array_equal(t.index_add(0, i, t).numpy(), want)
    assert np.array_equal(t.scatter_add(0, i[:, None].expand(rows, width), t).numpy(), want)
    assert np.array_equal(t.index_put((i,), t, accumulate=True).numpy(), want)
    order = rng.permutation(rows)
    want[order] = a
    assert np.array_equal(t.index_put((torch.from_numpy(order),), t).numpy(), want)
    assert np.array_equal(t.index_copy(0, torch.from_numpy(order), t).numpy(), want)


def test_gradients(torch):
    """Repeated indices add up; masked and unused elements have gradient 0."""
    x = torch.arange(5.0, dtype=torch.float64, requires_grad=True)
    i = torch.tensor([1, 1, 3, -1])
    w = torch.tensor([1.0, 10.0, 100.0, 1000.0], dtype=torch.float64)
    want = [0, 11, 0, 100, 1000]
    j = i % 5
    for f in (
        lambda: x[i],
        lambda: x.index_select(0, j),
        lambda: x.gather(0, j),
        lambda: x.take(i),
        lambda: x.take_along_dim(j, 0),
    ):
        (grad,) = torch.autograd.grad((f() * w).sum(), x)
        assert grad.tolist() == want
    mask = torch.tensor([True, False, True, False, False])
    (grad,) = torch.autograd.grad((x[mask] * w[:2]).sum(), x)
    assert grad.tolist() == [1, 0, 10, 0, 0]
    v = torch.ones(4, dtype=torch.float64, requires_grad=True)
    weights = torch.arange(1.0, 6.0, dtype=torch.float64)
    for f, kept, moved in (
        (lambda: x.scatter_add(0, j, v), [1, 2, 3, 4, 5], [2, 2, 4, 5]),
        (lambda: x.index_add(0, j, v, alpha=2), [1, 2, 3, 4, 5], [4, 4, 8, 10]),
        (lambda: x.index_put((i,), v, accumulate=True), [1, 2, 3, 4, 5], [2, 2, 4, 5]),
        (lambda: x.index_copy(0, j[1:], v[1:]), [1, 0, 3, 0, 0], [0, 2, 4, 5]),
        (lambda: x.scatter(0, j[1:], v[1:]), [1, 0, 3, 0, 0], [0, 2, 4, 5]),
        (lambda: x.masked_scatter(mask, v), [0, 2, 0, 4, 5], [1, 3, 0, 0]),
        (lambda: x.index_fill(0, j, v[0]), [1, 0, 3, 0, 0], [11, 0, 0, 0]),
    ):
        a, b = torch.autograd.grad((f() * weights).sum(), (x, v))
        assert a.tolist() == kept and b.tolist() == moved


@pytest.mark.minitorch_only(reason="PyTorch refuses a source larger than the index in backward")
def test_gradients_of_a_larger_source(torch):
    src = torch.ones(3, 3, requires_grad=True)
    index = torch.tensor([[0, 0], [1, 2]])
    for f in (lambda x: x.scatter_add(0, index, src), lambda x: x.scatter_reduce(0, index, src, "sum")):
        (grad,) = torch.autograd.grad((f(torch.zeros(3, 3)) * torch.arange(9.0).reshape(3, 3)).sum(), src)
        assert grad.tolist() == [[0, 1, 0], [3, 7, 0], [0, 0, 0]]
