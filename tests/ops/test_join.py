# SPDX-License-Identifier: BSD-3-Clause
"""Joining, padding, repeating and turning, against NumPy and against what PyTorch gives."""

import itertools
import random

import movement
import numpy as np
import pytest

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.parametrize("expression,want", movement.recorded("join"))
def test_recorded(torch, expression, want):
    movement.check(torch, expression, want)


def pair(torch, shape, dtype="float32", rng=None):
    """An array and a tensor of the same numbers; with a generator, under random strides."""
    a = np.arange(int(np.prod(shape))).reshape(shape).astype(dtype)
    t = torch.arange(a.size).reshape(shape).to(getattr(torch, dtype))
    if rng and len(shape) > 1:
        d = rng.randrange(len(shape))
        t = t.transpose(0, d).contiguous().transpose(0, d)
    return a, t


def same(t, a):
    return tuple(t.shape) == a.shape and t.tolist() == a.tolist()


@pytest.mark.parametrize("seed", range(40))
def test_cat_and_stack(torch, seed):
    """Any dimension, any strides, several dtypes, legacy empty tensors, out=, results that threads share."""
    rng = random.Random(seed)
    n = rng.randint(1, 4)
    shape = [rng.choice([1, 2, 5, 20]) for _ in range(n)]
    d = rng.randrange(-n, n)
    dtypes = rng.choice(
        [["float32"], ["int64", "float32"], ["uint8", "int16"], ["complex128"], ["bool", "uint8"]]
    )
    arrays, tensors = [], []
    for _ in range(rng.randint(1, 5)):
        size = list(shape)
        size[d] = rng.choice([0, 1, 3, 40])
        a, t = pair(torch, size, rng.choice(dtypes), rng)
        arrays.append(a)
        tensors.append(t)
    want = np.concatenate(arrays, d)
    got = torch.cat(tensors, d)
    assert same(got, want) and str(got.dtype).split(".")[1] == str(np.result_type(*arrays)).replace(
        "float64", str(got.dtype).split(".")[1]
    )
    assert same(torch.cat([torch.zeros(0, dtype=tensors[0].dtype)] + tensors, d), want)
    out = torch.zeros(0, dtype=torch.complex128)
    assert torch.cat(tensors, d, out=out) is out and same(
        out.real if "complex" not in dtypes[0] else out, want
    )
    shape[d] = 3
    parts = [pair(torch, shape, dtypes[0], rng) for _ in range(3)]
    for k in range(-n - 1, n + 1):
        assert same(torch.stack([t for _, t in parts], k), np.stack([a for a, _ in parts], k))
    for name in ("hstack", "vstack", "dstack"):
        assert same(getattr(torch, name)([t for _, t in parts]), getattr(np, name)([a for a, _ in parts]))


def test_large_cat(torch):
    """Joined in several threads."""
    a, t = pair(torch, (500, 700))
    assert np.array_equal(torch.cat([t, t.t().contiguous().t(), t], 1).numpy(), np.concatenate([a, a, a], 1))
    assert np.array_equal(torch.cat([t.t(), t.t()], 1).numpy(), np.concatenate([a.T, a.T], 1))
    assert np.array_equal(torch.stack([t, t], 2).numpy(), np.stack([a, a], 2))
    assert np.array_equal(torch.cat([t[:, :1]] * 300, 1).numpy(), np.repeat(a[:, :1], 300, 1))


def test_cat_of_views_of_the_result(torch):
    """out= that shares memory with an operand is an error, not a wrong result."""
    x = torch.arange(6.0).clone()
    with pytest.raises(RuntimeError):
        torch.cat([x, x], out=x)
    with pytest.raises(RuntimeError):
        torch.cat([x[:2], x[2:4]], out=x[1:5])


MODES = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("seed", range(12))
def test_pad(torch, mode, seed):
    """Every mode in one, two and three dimensions; negative widths cut."""
    rng = random.Random(seed)
    n = rng.randint(1, 3)
    shape = [2, 3] + [rng.randint(4, 9) for _ in range(n)]
    widths = [[rng.randint(0, 3), rng.randint(0, 3)] for _ in range(n)]
    flat = [w for pairs in reversed(widths) for w in pairs]
    a, t = pair(torch, shape, "float32", rng)
    want = np.pad(a, [[0, 0], [0, 0]] + widths, MODES[mode])
    assert same(torch.nn.functional.pad(t, flat, mode), want)
    if mode == "constant":
        assert same(
            torch.nn.functional.pad(t, flat, mode, -1),
            np.pad(a, [[0, 0], [0, 0]] + widths, constant_values=-1),
        )
        cut = torch.nn.functional.pad(t, [-1, 2])
        assert same(cut, np.pad(a, [[0, 0]] * (n + 1) + [[0, 2]])[..., 1:])
    elif mode != "circular":
        assert torch.nn.functional.pad(t[0], flat, mode).equal(torch.nn.functional.pad(t, flat, mode)[0])


@pytest.mark.parametrize("seed", range(20))
def test_turns(torch, seed):
    """roll, flip, rot90, fliplr, flipud, tile, repeat."""
    rng = random.Random(seed)
    n = rng.randint(1, 4)
    shape = [rng.randint(1, 6) for _ in range(n)]
    for dtype in ("uint8", "int16", "float32", "float64", "complex128"):
        a, t = pair(torch, shape, dtype, rng)
        dims = rng.sample(range(n), rng.randint(1, n))
        shifts = [rng.randint(-9, 9) for _ in dims]
        assert same(t.roll(shifts, dims), np.roll(a, shifts, dims))
        assert same(t.roll(shifts[0]), np.roll(a, shifts[0]))
        assert same(t.flip(dims), np.flip(a, dims))
        times = [rng.randint(0, 3) for _ in range(n + rng.randint(0, 1))]
        assert same(t.repeat(times), np.tile(a, times)) and same(t.tile(times[:1]), np.tile(a, times[:1]))
        if n > 1:
            assert same(t.rot90(shifts[0], (0, n - 1)), np.rot90(a, shifts[0], (0, n - 1)))
            assert same(t.fliplr(), np.fliplr(a)) and same(t.flipud(), np.flipud(a))


@pytest.mark.parametrize("seed", range(20))
def test_repeat_interleave(torch, seed):
    rng = random.Random(seed)
    n = rng.randint(1, 3)
    shape = [rng.randint(1, 6) for _ in range(n)]
    a, t = pair(torch, shape, "int32", rng)
    d = rng.randrange(n)
    counts = [rng.randint(0, 3) for _ in range(shape[d])]
    assert same(t.repeat_interleave(2), np.repeat(a, 2)) and same(
        t.repeat_interleave(3, d), np.repeat(a, 3, d)
    )
    assert same(t.repeat_interleave(torch.tensor(counts), d), np.repeat(a, counts, d))
    assert (
        torch.repeat_interleave(torch.tensor(counts)).tolist()
        == np.repeat(np.arange(len(counts)), counts).tolist()
    )
    with pytest.raises(RuntimeError):
        t.repeat_interleave(torch.tensor([-1] * shape[d]), d)


def test_grids_and_products(torch):
    """meshgrid, broadcast_tensors, cartesian_prod, combinations, diag, diag_embed."""
    xs = [torch.arange(2), torch.arange(3) * 10, torch.arange(4) * 100]
    for indexing in ("ij", "xy"):
        for got, want in zip(
            torch.meshgrid(*xs, indexing=indexing), np.meshgrid(*[x.numpy() for x in xs], indexing=indexing)
        ):
            assert same(got, want)
    assert [tuple(t.shape) for t in torch.broadcast_tensors(torch.zeros(3, 1), torch.zeros(4))] == [
        (3, 4)
    ] * 2
    with pytest.raises(
        RuntimeError,
        match="must match the size of tensor b|are not broadcastable|must match the existing size",
    ):
        torch.broadcast_tensors(torch.zeros(3), torch.zeros(4))
    assert torch.cartesian_prod(*xs).tolist() == [
        list(p) for p in itertools.product(*[x.tolist() for x in xs])
    ]
    y = torch.arange(5)
    for r in range(4):
        for repeated, function in (
            (False, itertools.combinations),
            (True, itertools.combinations_with_replacement),
        ):
            want = [list(p) for p in function(range(5), r)] if r else []
            assert torch.combinations(y, r, repeated).tolist() == want
    for k in (-2, 0, 1):
        assert same(torch.diag(y, k), np.diag(np.arange(5), k)) and torch.diag(torch.diag(y, k), k).equal(y)
        assert torch.diag_embed(torch.stack([y, y]), k).diagonal(k, -2, -1).equal(torch.stack([y, y]))


def test_gradients(torch):
    """Each copy of an element adds to its gradient."""
    x = torch.arange(6.0, dtype=torch.float64).reshape(2, 3).requires_grad_()
    pad = torch.nn.functional.pad
    for f in (
        lambda t: torch.cat([t, t * 2, t], 1),
        lambda t: torch.stack([t, t]),
        lambda t: t.repeat(2, 3),
        lambda t: t.roll(1, 0),
        lambda t: t.flip(1),
        lambda t: t.rot90(1),
        lambda t: t.repeat_interleave(2, 1),
        lambda t: t.repeat_interleave(torch.tensor([2, 3]), 0),
        lambda t: pad(t, (1, -1, 2, 0)),
        lambda t: pad(t, (2, 1), "reflect"),
        lambda t: pad(t, (2, 1), "replicate"),
        lambda t: pad(t[None], (2, 1), "circular"),
        lambda t: torch.diag_embed(t),
        lambda t: t.tile(2),
    ):
        weights = torch.arange(1.0, f(x).numel() + 1, dtype=torch.float64).reshape(f(x).shape)
        (grad,) = torch.autograd.grad((f(x) * weights).sum(), x)
        for i in range(2):
            for j in range(3):
                unit = torch.zeros(2, 3, dtype=torch.float64)
                unit[i, j] = 1
                assert grad[i, j] == (f(unit) * weights).sum()
