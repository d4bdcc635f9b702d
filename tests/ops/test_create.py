# SPDX-License-Identifier: BSD-3-Clause
"""Factories: what PyTorch gives, bit by bit, their keywords, and sizes that cannot be."""

import math
import random
import struct

import movement
import pytest

pytestmark = pytest.mark.filterwarnings("ignore")
FLOATS = ["float16", "bfloat16", "float32", "float64"]
INTEGERS = ["uint8", "int8", "int16", "int32", "int64"]


@pytest.mark.parametrize("expression,want", movement.recorded("create"))
def test_recorded(torch, expression, want):
    movement.check(torch, expression, want)


def single(x):
    """x rounded to float32."""
    return struct.unpack("f", struct.pack("f", x))[0]


@pytest.mark.parametrize("seed", range(20))
def test_arange_points(torch, seed):
    """Element i is start + i * step in double precision, then rounded once; there are ceil((end - start) / step)."""
    rng = random.Random(seed)
    start, step = rng.uniform(-5, 5), rng.choice([0.1, 0.3, -0.7, 1.0, 1 / 3])
    end = start + step * rng.uniform(0, 300)
    t = torch.arange(start, end, step, dtype=torch.float64)
    assert len(t) == math.ceil((end - start) / step)
    assert all(abs(v - (start + i * step)) < 1e-13 for i, v in enumerate(t.tolist()))
    low, high = rng.randrange(-100, 0), rng.randrange(0, 100)
    k = rng.choice([1, 2, 3, 7])
    for dtype in INTEGERS[1:] + FLOATS:
        assert torch.arange(low, high, k, dtype=getattr(torch, dtype)).tolist() == list(range(low, high, k))
        assert torch.arange(high, low, -k, dtype=getattr(torch, dtype)).tolist() == list(range(high, low, -k))


@pytest.mark.parametrize("steps", [1, 2, 3, 7, 50, 1001])
def test_linspace_is_symmetric(torch, steps):
    """The first half counts from the start, the second from the end, so that both are exact."""
    for start, end in ((-3.0, 11.5), (0.1, 0.7), (5.0, -1e6), (1e-30, 1.0)):
        for dtype in FLOATS[2:]:
            t = torch.linspace(start, end, steps, dtype=getattr(torch, dtype))
            back = torch.linspace(end, start, steps, dtype=getattr(torch, dtype)).flip(0)
            assert t[0] == back[0] or steps == 1
            if steps > 1:
                assert t[-1].item() == (end if dtype == "float64" else single(end))
            if steps % 2 == 0:
                assert t.equal(back)


@pytest.mark.parametrize("dtype", FLOATS + INTEGERS)
def test_kinds(torch, dtype):
    """Every factory in every dtype."""
    d = getattr(torch, dtype)
    assert torch.zeros(2, 3, dtype=d).tolist() == [[0, 0, 0]] * 2
    assert torch.ones(3, dtype=d).tolist() == [1, 1, 1]
    assert torch.full((2,), 7, dtype=d).tolist() == [7, 7]
    assert torch.eye(2, 3, dtype=d).tolist() == [[1, 0, 0], [0, 1, 0]]
    assert torch.scalar_tensor(3, dtype=d).item() == 3
    x = torch.ones(2, dtype=d)
    for t in (
        torch.zeros_like(x),
        x.new_zeros(2),
        x.new_full((2,), 0),
        torch.full_like(x, 0),
        x.new_ones(2) - x,
    ):
        assert t.dtype == d and t.tolist() == [0, 0]
    assert torch.empty_like(x).dtype == d and x.new_empty(5).shape == (5,)
    assert torch.linspace(0, 8, 5, dtype=d).tolist() == [0, 2, 4, 6, 8]
    assert torch.logspace(0, 4, 5, 2, dtype=d).tolist() == [1, 2, 4, 8, 16]


def test_inferred_dtype(torch):
    """full and arange infer; the default dtype counts."""
    assert torch.full((1,), 1).dtype == torch.int64 and torch.full((1,), True).dtype == torch.bool
    assert torch.full((1,), 1.0).dtype == torch.float32 and torch.full((1,), 1j).dtype == torch.complex64
    assert torch.arange(3).dtype == torch.int64 and torch.arange(3.0).dtype == torch.float32
    assert torch.arange(0, 3, 0.5).dtype == torch.float32
    torch.set_default_dtype(torch.float64)
    try:
        assert torch.full((1,), 1.0).dtype == torch.float64 and torch.full((1,), 1j).dtype == torch.complex128
        assert torch.arange(3.0).dtype == torch.float64 and torch.zeros(1).dtype == torch.float64
        assert torch.linspace(0, 1, 2).dtype == torch.float64 and torch.eye(1).dtype == torch.float64
    finally:
        torch.set_default_dtype(torch.float32)


def test_keywords(torch):
    """dtype, device, layout, pin_memory, requires_grad, memory_format, out."""
    t = (
        torch.zeros(2, 3, 4, 5, memory_format=torch.channels_last)
        if False
        else torch.empty(2, 3, 4, 5, memory_format=torch.channels_last)
    )
    assert t.stride() == (60, 1, 15, 3)
    assert torch.zeros_like(t).stride() == t.stride()
    assert torch.zeros_like(t, memory_format=torch.contiguous_format).stride() == (60, 20, 5, 1)
    assert torch.ones(2, requires_grad=True).requires_grad
    with pytest.raises(RuntimeError):
        torch.ones(2, dtype=torch.int64, requires_grad=True)
    assert torch.zeros(3, device="meta").device.type == "meta"
    assert torch.arange(2**40, device="meta").shape == (2**40,)
    out = torch.empty(2)
    assert torch.ones(2, out=out) is out and out.tolist() == [1, 1]
    torch.full((3,), 2.0, out=out)
    assert out.tolist() == [2, 2, 2]
    assert torch.empty_strided((2, 3), (1, 2)).stride() == (1, 2)
    assert torch.empty_permuted((2, 3, 4), (2, 0, 1)).stride() == (3, 1, 6)


def test_zeros_are_zero_again(torch):
    """Memory that was used before is zeroed, for every size class of the allocator."""
    for n in (1, 15, 16, 17, 1000, 4096, 100_000, 3_000_000):
        torch.full((n,), 255, dtype=torch.uint8).add_(0)
        assert int(torch.zeros(n, dtype=torch.uint8).sum(dtype=torch.int64)) == 0


@pytest.mark.parametrize("shape", [(0, 0), (1, 1), (3, 5), (5, 3), (2, 3, 4), (40, 70), (0, 3)])
@pytest.mark.parametrize("dtype", ["bool", "uint8", "float32", "complex128"])
def test_triangles(torch, shape, dtype):
    """tril, triu and their indices keep the elements on their side of a diagonal."""
    x = (torch.arange(math.prod(shape)).reshape(shape) % 100 + 1).to(getattr(torch, dtype))
    rows, columns = shape[-2:]
    for diagonal in (-50, -2, -1, 0, 1, 3, 50):
        lower = [[c - r <= diagonal for c in range(columns)] for r in range(rows)]
        mask = torch.tensor(lower, dtype=torch.bool).reshape(rows, columns)
        for source in (x, x.transpose(-1, -2).contiguous().transpose(-1, -2)):
            assert source.tril(diagonal).equal(torch.where(mask, x, torch.zeros_like(x)))
            assert source.triu(diagonal + 1).equal(torch.where(mask, torch.zeros_like(x), x))
            assert source.clone().tril_(diagonal).equal(source.tril(diagonal))
        indices = [[r, c] for r in range(rows) for c in range(columns) if lower[r][c]]
        assert torch.tril_indices(rows, columns, diagonal).t().tolist() == indices
        indices = [[r, c] for r in range(rows) for c in range(columns) if not lower[r][c]]
        assert torch.triu_indices(rows, columns, diagonal + 1).t().tolist() == indices


def test_impossible_sizes(torch):
    """Sizes that overflow or exceed memory are errors, and cost nothing."""
    for make in (torch.empty, torch.zeros, torch.ones):
        for size in ((2**62,), (2**32, 2**32), (2**63 - 1, 2), (-1,), (3, -2)):
            with pytest.raises(RuntimeError):
                make(size)
    with pytest.raises(RuntimeError):
        torch.arange(2**62)
    with pytest.raises(RuntimeError):
        torch.linspace(0, 1, 2**61)
    with pytest.raises(RuntimeError):
        torch.eye(2**31, 2**31)
    assert torch.empty(0, 2**40, 2**20).numel() == 0


FACTORIES = [
    lambda t, **k: t.rand(2, **k),
    lambda t, **k: t.randn(2, **k),
    lambda t, **k: t.randint(3, (2,), **k),
    lambda t, **k: t.randperm(3, **k),
    lambda t, **k: t.normal(0.0, 1.0, (2,), **k),
    lambda t, **k: t.zeros(2, **k),
    lambda t, **k: t.arange(3, **k),
    lambda t, **k: t.eye(2, **k),
]


@pytest.mark.parametrize("factory", range(len(FACTORIES)))
def test_pinned_memory_is_refused_without_a_device(torch, factory):
    if torch.cuda.is_available():
        pytest.skip("this machine can pin memory")
    with pytest.raises(RuntimeError, match="pin_memory=True requires a CUDA or other accelerator backend"):
        FACTORIES[factory](torch, pin_memory=True)
    assert not FACTORIES[factory](torch, pin_memory=False).is_pinned()


def test_negative_sizes(torch):
    """zeros has words of its own; the others speak of the tensor."""
    for call in (lambda: torch.zeros(-1), lambda: torch.zeros((2, -1), dtype=torch.int32)):
        with pytest.raises(RuntimeError, match="^zeros: Dimension size must be non-negative.$"):
            call()
    for call in (
        torch.empty,
        torch.ones,
        torch.randn,
        torch.ones(1).new_zeros,
        lambda n: torch.zeros(n, device="meta"),
    ):
        with pytest.raises(
            RuntimeError, match=r"^Trying to create tensor with negative dimension -1: \[-1\]$"
        ):
            call(-1)
