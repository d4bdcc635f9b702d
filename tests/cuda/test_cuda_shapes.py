"""Sizes around blocks, warps and grids, strides, many dims and orders of threads: the device against the host, whose own
values test_ops.py checks."""

import pytest

SIZES = [0, 1, 31, 32, 33, 255, 256, 257, 1025, 40000]


def pair(torch, *shape, dtype=None):
    """The same numbers on the host and on the device."""
    torch.manual_seed(len(shape) + sum(shape))
    x = torch.randn(*shape) * 3
    x = x.to(dtype) if dtype is not None else x
    return x, x.cuda()


def agree(torch, host, device, tolerance=2e-6):
    assert device.device.type == "cuda"
    assert (host.dtype, host.shape, host.stride()) == (device.dtype, device.shape, device.stride())
    back = device.cpu()
    if host.is_floating_point():
        assert ((host - back).abs() <= tolerance * (1 + host.abs())).all(), (host, back)
    else:
        assert torch.equal(host, back)


@pytest.mark.parametrize("n", SIZES)
def test_pointwise_sizes(torch, n):
    a, x = pair(torch, n)
    b, y = pair(torch, n)
    agree(torch, a + b, x + y)
    agree(torch, a.exp(), x.exp())
    agree(torch, a > b, x > y)
    agree(torch, torch.where(a > 0, a, b), torch.where(x > 0, x, y))
    agree(torch, (a * 7).to(torch.int32), (x * 7).to(torch.int32))


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("dtype", ["float32", "int64", "bfloat16", "bool"])
def test_reductions_of_one_row(torch, n, dtype):
    a, x = pair(torch, n, dtype=getattr(torch, dtype))
    tolerance = 1e-5 if dtype == "float32" else 1e-2
    agree(torch, a.sum(), x.sum(), tolerance)
    agree(torch, a.count_nonzero(), x.count_nonzero())
    agree(torch, a.all(), x.all())
    if n:
        agree(torch, a.amax(), x.amax())
        if dtype != "bool":
            agree(torch, a.argmax(), x.argmax())
    if dtype == "float32" and n > 1:
        agree(torch, a.var(), x.var(), 1e-5)
        agree(torch, a.logsumexp(0), x.logsumexp(0), 1e-5)
        agree(torch, a.norm(), x.norm(), 1e-5)


@pytest.mark.parametrize(
    "shape",
    [(1, 300), (300, 1), (33, 65), (65, 33), (2, 5000), (5000, 2), (7, 11, 13), (3, 1000, 3), (0, 4), (4, 0)],
)
def test_reductions_along_each_dim(torch, shape):
    a, x = pair(torch, *shape)
    for dim in range(len(shape)):
        agree(torch, a.sum(dim), x.sum(dim), 1e-5)
        if shape[dim]:
            for ours, theirs in zip(x.max(dim), a.max(dim)):
                agree(torch, theirs, ours)
    agree(torch, a.sum((0, -1), keepdim=True), x.sum((0, -1), keepdim=True), 1e-5)
    agree(torch, a.t().sum(0) if a.dim() == 2 else a.sum(1), x.t().sum(0) if a.dim() == 2 else x.sum(1), 1e-5)


def test_first_of_equal_values_gives_the_index(torch):
    for n in (5, 300, 5000):
        x = torch.zeros(n, device="cuda")
        assert x.argmax().item() == 0 and x.argmin().item() == 0
        x[n // 2] = float("nan")
        x[n - 1] = float("nan")
        assert x.argmax().item() == n // 2 and x.max(0).indices.item() == n // 2


def test_strides_and_broadcast(torch):
    a, x = pair(torch, 12, 10, 8)
    b, y = pair(torch, 8)
    agree(torch, a.permute(2, 0, 1) + a.permute(2, 0, 1), x.permute(2, 0, 1) + x.permute(2, 0, 1))
    agree(torch, a[::2, 1::3, ::2] * 2, x[::2, 1::3, ::2] * 2)
    agree(torch, a + b, x + y)
    agree(
        torch,
        a.transpose(0, 2)[1:, :, 3:] - b[1:, None, None],
        x.transpose(0, 2)[1:, :, 3:] - y[1:, None, None],
    )
    agree(torch, a.expand(3, 12, 10, 8).sum(0), x.expand(3, 12, 10, 8).sum(0), 1e-5)
    agree(torch, b.expand(5, 8).contiguous(), y.expand(5, 8).contiguous())


def test_many_dims(torch):
    """More dims than a kernel takes, none of which merge."""
    a, x = pair(torch, *[2] * 14)
    order = list(range(0, 14, 2)) + list(range(1, 14, 2))
    a, x = a.permute(order), x.permute(order)
    agree(torch, a + a.permute(order), x + x.permute(order))
    agree(torch, a.sum(3), x.sum(3), 1e-5)
    agree(torch, a.permute(order).contiguous(), x.permute(order).contiguous())


def test_mixed_dtypes_and_numbers(torch):
    a, x = pair(torch, 6, 7)
    b, y = pair(torch, 7, dtype=torch.int16)
    c, z = pair(torch, 6, 7, dtype=torch.float16)
    agree(torch, a + b, x + y)
    agree(torch, c * b, z * y, 1e-3)
    agree(torch, c + 0.1, z + 0.1, 1e-3)
    agree(torch, a + torch.tensor(2), x + torch.tensor(2))
    agree(torch, torch.tensor(3.5) - a, torch.tensor(3.5) - x)
    a.add_(b)
    x.add_(y)
    agree(torch, a, x)
    out, device_out = (
        torch.empty(6, 7, dtype=torch.float64),
        torch.empty(6, 7, dtype=torch.float64, device="cuda"),
    )
    torch.mul(a, b, out=out)
    torch.mul(x, y, out=device_out)
    agree(torch, out, device_out)


def test_lazy_conjugates(torch):
    a = torch.randn(4, 5, dtype=torch.complex64)
    x = a.cuda()
    assert torch.equal(x.conj().resolve_conj().cpu(), a.conj().resolve_conj())
    assert torch.equal((x.conj() * 2).cpu(), a.conj() * 2)
    assert torch.equal(x.conj().imag.resolve_neg().cpu(), a.conj().imag.resolve_neg())
    assert torch.equal(x.conj().cpu().resolve_conj(), a.conj().resolve_conj())
    y = torch.empty_like(x)
    y.conj().copy_(x)
    assert torch.equal(y.cpu(), a.conj().resolve_conj())


@pytest.mark.parametrize("order", [0, 1, 77])
def test_order_of_threads_does_not_matter(torch, emu, order):
    emu(order=order)
    for n in (33, 1025, 40000):
        a, x = pair(torch, n)
        agree(torch, a.sum(), x.sum(), 1e-5)
        agree(torch, a.argmin(), x.argmin())
        agree(torch, a.tanh(), x.tanh())
    a, x = pair(torch, 50, 70)
    agree(torch, a.prod(1), x.prod(1), 1e-5)
    agree(torch, a.std(0), x.std(0), 1e-5)


def test_equal_calls_give_equal_bits(torch):
    x = pair(torch, 40000)[1]
    assert len({x.sum().item() for _ in range(3)}) == 1
