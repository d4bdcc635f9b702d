# SPDX-License-Identifier: BSD-3-Clause
"""Copies: every pair of dtypes and layouts, overlap, conversions, resize_, set_, fill_."""

import itertools
import random

import movement
import numpy as np
import pytest

pytestmark = pytest.mark.filterwarnings("ignore")
DTYPES = [
    "bool",
    "uint8",
    "int8",
    "int16",
    "int32",
    "int64",
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "complex64",
    "complex128",
]


@pytest.mark.parametrize("expression,want", movement.recorded("copy"))
def test_recorded(torch, expression, want):
    movement.check(torch, expression, want)


def numbers(torch, dtype, n):
    """n small numbers that every dtype holds."""
    t = torch.arange(n).remainder(101)
    return (t.remainder(2) if dtype == "bool" else t).to(getattr(torch, dtype))


def layouts(torch, t):
    """The same values under other strides."""
    yield t
    yield t.transpose(0, 1).contiguous().transpose(0, 1)
    wide = torch.zeros(t.shape[0], t.shape[1] * 2 + 1, dtype=t.dtype)[:, 1::2]
    yield wide.copy_(t)
    offset = torch.zeros(t.numel() + 1, dtype=t.dtype)[1:].view(t.shape)
    yield offset.copy_(t)


@pytest.mark.parametrize("source,target", list(itertools.product(DTYPES, DTYPES)))
def test_pairs(torch, source, target):
    """Any dtype to any dtype, any layout to any layout."""
    for shape in ((3, 5), (37, 29), (1, 70), (70, 1)):
        x = numbers(torch, source, shape[0] * shape[1]).reshape(shape)
        listed = x.tolist() if not x.is_complex() else x.real.tolist()
        want = [[bool(v) if target == "bool" else v for v in row] for row in listed]
        assert (
            x.to(getattr(torch, target)).real if "complex" in target else x.to(getattr(torch, target))
        ).tolist() == want
        for s in layouts(torch, x):
            for d in layouts(torch, torch.zeros(shape, dtype=getattr(torch, target))):
                assert d.copy_(s).tolist() == want


@pytest.mark.parametrize("seed", range(30))
def test_strided(torch, seed):
    """Random permutations, steps and broadcasts of both sides, with element sizes 1 to 16."""
    rng = random.Random(seed)
    n = rng.randint(1, 4)
    shape = [rng.choice([1, 2, 3, 5, 8, 17, 40]) for _ in range(n)]
    for dtype in ("uint8", "int16", "float32", "int64", "complex128"):
        order, other = rng.sample(range(n), n), rng.sample(range(n), n)
        steps = [rng.randint(1, 2) for _ in range(n)]
        a = np.arange(int(np.prod([s * k for s, k in zip(shape, steps)])), dtype=dtype)
        a = a.reshape([shape[d] * steps[d] for d in order]).transpose(np.argsort(order))
        a = a[tuple(slice(None, None, k) for k in steps)]
        x = torch.from_numpy(a.base if a.base is not None else a)
        x = torch.arange(x.numel()).to(x.dtype).reshape([shape[d] * steps[d] for d in order])
        x = x.permute(*[int(d) for d in np.argsort(order)])[tuple(slice(None, None, k) for k in steps)]
        y = torch.zeros([shape[d] for d in other], dtype=x.dtype).permute(
            *[int(d) for d in np.argsort(other)]
        )
        y.copy_(x)
        assert np.array_equal(y.numpy(), a)
        assert np.array_equal(x.contiguous().numpy(), a) and np.array_equal(x.clone().numpy(), a)
        small = x.select(0, 0)
        assert np.array_equal(y.copy_(small).numpy(), np.broadcast_to(a[0], a.shape))


@pytest.mark.parametrize("shape", [(1000, 1000), (3, 400_000), (400_000, 3), (128, 64, 65)])
@pytest.mark.parametrize("dtype", ["uint8", "float16", "float32", "float64", "complex128"])
def test_large(torch, shape, dtype):
    """Copies that run in several threads."""
    x = (torch.arange(int(np.prod(shape))) % 251).to(getattr(torch, dtype)).reshape(shape)
    flipped = x.transpose(0, -1).contiguous()
    assert flipped.transpose(0, -1).equal(x) and flipped.stride(-1) == 1
    assert np.array_equal(
        flipped.view(torch.uint8).numpy() if dtype == "bfloat16" else flipped.numpy(),
        np.swapaxes(x.numpy(), 0, -1),
    )
    assert x.to(torch.int64).to(x.dtype).equal(x)


def test_rounding(torch):
    """Narrowing conversions round to nearest even; fractions are cut; complex numbers lose their imaginary part."""
    x = torch.tensor([1.0 + 2**-11, 1.0 + 3 * 2**-11, 65519.0, 65520.0, 2**-25, 1e-9, -0.0])
    assert x.half().tolist() == [1.0, 1.0 + 2**-9, 65504.0, float("inf"), 0.0, 0.0, 0.0]
    assert torch.tensor([1.0 + 2**-8, 1.0 + 3 * 2**-8]).bfloat16().tolist() == [1.0, 1.0 + 2**-6]
    assert torch.tensor([2.9, -2.9, 0.5]).long().tolist() == [2, -2, 0]
    assert torch.tensor([0.0, -0.0, 0.1, float("nan")]).bool().tolist() == [False, False, True, True]
    assert torch.tensor([1 + 2j]).float().tolist() == [1.0] and torch.tensor([2j]).bool().tolist() == [True]
    assert torch.tensor([300, -1]).to(torch.uint8).tolist() == [44, 255]
    assert torch.tensor([2**53 + 1]).double().tolist() == [2.0**53]


def test_conjugates(torch):
    """Copies from and into conjugated and negated views."""
    c = torch.tensor([1 + 2j, 3 - 4j])
    d = torch.zeros(2, dtype=torch.complex64)
    assert d.copy_(c.conj()).tolist() == [1 - 2j, 3 + 4j]
    d.conj().copy_(c)
    assert d.tolist() == [1 - 2j, 3 + 4j]
    assert torch.zeros(2).copy_(c.conj().imag).tolist() == [-2, 4]
    assert c.conj().clone().tolist() == [1 - 2j, 3 + 4j]
    assert torch.zeros(2, dtype=torch.complex128).copy_(c.conj()).tolist() == [1 - 2j, 3 + 4j]


def test_overlap(torch):
    """Source and destination in the same memory."""
    for n in (10, 100_000):
        x = torch.arange(float(n))
        x[1:].copy_(x[:-1].clone())
        assert x.tolist() == [0.0] + list(map(float, range(n - 1)))
        assert x.copy_(x) is x
    with pytest.raises(RuntimeError, match="single memory location"):
        torch.zeros(1).expand(3).copy_(torch.ones(3))
    with pytest.raises(RuntimeError):
        torch.zeros(3)[1:].copy_(torch.zeros(3))


def test_to_returns_itself(torch):
    """to copies only where something changes."""
    x = torch.ones(2, 3)
    for same in (
        x.to(torch.float32),
        x.to("cpu"),
        x.to(x),
        x.to(device="cpu", dtype=torch.float32),
        x.float(),
        x.cpu(),
        x.contiguous(),
        x.type(torch.float32),
        x.type_as(x),
        x.to(x.device, x.dtype, False, False),
    ):
        assert same is x
    for other in (x.to(torch.float32, copy=True), x.double(), x.t().contiguous(), x.clone()):
        assert other is not x and other.data_ptr() != x.data_ptr()
    t = torch.zeros(2, 3, 4, 5).to(memory_format=torch.channels_last)
    assert t.stride() == (60, 1, 15, 3) and t.is_contiguous(memory_format=torch.channels_last)
    assert t.double().stride() == t.stride() and t.contiguous().stride() == (60, 20, 5, 1)


@pytest.mark.parametrize("dtype", DTYPES)
def test_fill(torch, dtype):
    """fill_ and zero_ with numbers and tensors, contiguous or not."""
    d = getattr(torch, dtype)
    for make in (
        lambda: torch.zeros(5, 7, dtype=d),
        lambda: torch.zeros(7, 5, dtype=d).t(),
        lambda: torch.zeros(5, 15, dtype=d)[:, ::2][:, :7],
        lambda: torch.zeros(300, 400, dtype=d),
    ):
        x = make()
        assert x.fill_(1) is x and x.tolist() == torch.ones(x.shape).to(d).tolist()
        x.fill_(torch.tensor(0.0))
        assert not x.any()
        assert not x.fill_(1).zero_().any()
    with pytest.raises(RuntimeError, match="fill_ only supports 0-dimension value tensor"):
        torch.zeros(3, dtype=d).fill_(torch.zeros(2))


def test_item(torch):
    """item of every dtype; is_nonzero; of more than one element."""
    assert torch.tensor([[2.5]]).item() == 2.5 and torch.tensor(3, dtype=torch.uint8).item() == 3
    assert torch.tensor(True).item() is True and torch.tensor(1 - 2j).conj().item() == 1 + 2j
    with pytest.raises(RuntimeError, match="a Tensor with 2 elements cannot be converted to Scalar"):
        torch.zeros(2).item()
    with pytest.raises(RuntimeError, match="a Tensor with 0 elements cannot be converted to Scalar"):
        torch.zeros(0).item()


@pytest.mark.parametrize("seed", range(10))
def test_equal(torch, seed):
    """equal under any layout; NaN differs from itself; one element anywhere decides."""
    rng = random.Random(seed)
    shape = (rng.randint(1, 300), rng.randint(1, 300))
    x = torch.arange(shape[0] * shape[1]).reshape(shape).to(getattr(torch, rng.choice(DTYPES[1:])))
    y = x.t().contiguous().t()
    assert x.equal(y) and y.equal(x)
    i, j = rng.randrange(shape[0]), rng.randrange(shape[1])
    y[i, j] = 3 if y[i, j] == 2 else 2
    assert not x.equal(y) and not x.equal(x[:, :0])
    assert not torch.tensor([float("nan")]).equal(torch.tensor([float("nan")]))
    assert torch.tensor([-0.0]).equal(torch.tensor([0.0]))


def test_resize(torch):
    """resize_ keeps the memory there is and grows it where needed."""
    x = torch.arange(6.0).clone()
    assert x.resize_(2, 2).tolist() == [[0, 1], [2, 3]] and x.resize_(6).tolist() == list(range(6))
    assert x.resize_(8)[:6].tolist() == list(range(6))
    assert x.resize_as_(torch.zeros(2, 4)).shape == (2, 4)
    with pytest.raises(RuntimeError, match="cannot resize variables that require grad"):
        torch.zeros(2, requires_grad=True).resize_(3)


@pytest.mark.minitorch_only(reason="PyTorch leaves a size without memory")
def test_failed_resize(torch):
    """A failure changes nothing."""
    x = torch.arange(8.0).reshape(2, 4).clone()
    with pytest.raises(RuntimeError):
        x.resize_(2**62)
    assert x.shape == (2, 4) and x.sum() == 28


def test_set(torch):
    """set_ takes over memory of a tensor or storage."""
    x, y = torch.zeros(0), torch.arange(6.0)
    assert x.set_(y).equal(y) and x.data_ptr() == y.data_ptr()
    assert x.set_(y.untyped_storage(), 1, (2, 2), (1, 2)).tolist() == [[1, 3], [2, 4]]
    assert x.set_().shape == (0,)
    with pytest.raises(RuntimeError):
        x.set_(y.untyped_storage(), -1, (2,), (1,))
    with pytest.raises(RuntimeError):
        torch.zeros(0, dtype=torch.int32).set_(y)


def test_gradients(torch):
    """Gradients come back in the dtype, layout and shape of each side."""
    x = torch.ones(3, requires_grad=True)
    y = torch.zeros(2, 3, dtype=torch.float64, requires_grad=True)
    z = (y * 2).copy_(x)
    z.sum().backward()
    assert x.grad.tolist() == [2, 2, 2] and x.grad.dtype == torch.float32 and not y.grad.any()
    (x.half().to(torch.float64) * 3).sum().backward()
    assert x.grad.tolist() == [5, 5, 5]
    w = torch.zeros(2, requires_grad=True)
    (w * 1).fill_(7).sum().backward()
    assert w.grad.tolist() == [0, 0]
