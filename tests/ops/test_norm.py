"""Normalisation: values against formulas in float64, running statistics, memory orders, half types, error texts."""

import math

import pytest


def double(t):
    return t.detach().double()


def normalised(x, dims, eps):
    mean = x.mean(dims, keepdim=True)
    var = ((x - mean) ** 2).mean(dims, keepdim=True)
    return (x - mean) / (var + eps).sqrt(), mean, var


def close(got, want, tol):
    assert got.shape == want.shape
    diff = (double(got) - double(want)).abs().max().item() if got.numel() else 0.0
    assert diff <= tol, diff


def gradients(torch, f, leaves, grad):
    return torch.autograd.grad(f(*leaves), leaves, grad)


SHAPES = [(3, 4), (5, 17), (2, 1000), (3, 5001), (130, 33), (1100, 16), (7, 1)]


@pytest.mark.parametrize("shape", SHAPES)
def test_layer_norm(torch, shape):
    torch.manual_seed(1)
    n = shape[-1]
    x = torch.randn(shape, dtype=torch.float64) * 3 + 2
    w, b, g = (torch.randn(s, dtype=torch.float64) for s in ((n,), (n,), shape))
    leaves = [t.clone().requires_grad_() for t in (x, w, b)]
    want = normalised(leaves[0], -1, 1e-3)[0] * leaves[1] + leaves[2]
    want_grads = torch.autograd.grad(want, leaves, g)
    for dtype, tol in ((torch.float64, 1e-11), (torch.float32, 3e-4)):
        ours = [t.to(dtype).requires_grad_() for t in (x, w, b)]
        y = torch.layer_norm(ours[0], [n], ours[1], ours[2], 1e-3)
        assert y.dtype == dtype
        close(y, want, tol)
        for a, c in zip(torch.autograd.grad(y, ours, g.to(dtype)), want_grads):
            close(a, c, tol * max(1.0, c.abs().max().item()))


def test_layer_norm_statistics(torch):
    x = torch.randn(2, 3, 4, 5)
    y, mean, rstd = torch.native_layer_norm(x, [4, 5], None, None, 1e-5)
    assert mean.shape == rstd.shape == (2, 3, 1, 1)
    _, want_mean, want_var = normalised(double(x), (2, 3), 0)
    close(mean, want_mean, 1e-6)
    close(rstd, (want_var + 1e-5) ** -0.5, 1e-4)
    assert y.is_contiguous()
    assert torch.layer_norm(x.transpose(0, 3), [2], None, None).is_contiguous()


def test_layer_norm_empty(torch):
    y, mean, rstd = torch.native_layer_norm(torch.zeros(0, 4), [4], torch.ones(4), torch.ones(4), 1e-5)
    assert y.shape == (0, 4) and mean.shape == rstd.shape == (0, 1)
    y, mean, rstd = torch.native_layer_norm(torch.zeros(2, 0), [0], None, None, 1e-5)
    assert y.shape == (2, 0) and mean.tolist() == [[0.0], [0.0]]
    assert all(math.isnan(v) for v in rstd.reshape(-1).tolist())
    w = torch.ones(4, requires_grad=True)
    torch.layer_norm(torch.zeros(0, 4), [4], w).sum().backward()
    assert w.grad.tolist() == [0.0] * 4


def test_layer_norm_large_mean(torch):
    x = torch.randn(4, 256, dtype=torch.float64)
    got = torch.layer_norm((x + 1000).float(), [256])
    close(got, normalised(double((x + 1000).float()), -1, 1e-5)[0], 2e-3)
    assert torch.layer_norm(torch.full((2, 100), 1024.0), [100]).abs().max().item() == 0.0


def test_nan_and_infinity(torch):
    for bad in (math.nan, math.inf):
        x = torch.ones(2, 8)
        x[0, 3] = bad
        y = torch.layer_norm(x, [8])
        assert y[0].isnan().all() and y[1].isfinite().all()


@pytest.mark.parametrize("name", ["bfloat16", "float16"])
def test_half_dtypes(torch, name):
    half = getattr(torch, name)
    x, w = torch.randn(4, 64).to(half), torch.randn(64)
    y, mean, _ = torch.native_layer_norm(x, [64], w, w, 1e-5)
    assert y.dtype == half and mean.dtype == torch.float32
    assert torch.native_layer_norm(x, [64], w.to(half), None, 1e-5)[1].dtype == half
    close(y, normalised(double(x), -1, 1e-5)[0] * w + w, 0.05)
    assert torch.native_batch_norm(x, w, w, None, None, True, 0.1, 1e-5)[1].dtype == torch.float32
    assert torch.group_norm(x, 4, w, w).dtype == half
    assert torch.rms_norm(x, [64], w).dtype == half
    leaves = [x.clone().requires_grad_(), w.clone().requires_grad_()]
    grads = gradients(torch, lambda a, b: torch.layer_norm(a, [64], b), leaves, torch.ones_like(x))
    assert [g.dtype for g in grads] == [half, torch.float32]


@pytest.mark.parametrize(
    "dtype,match",
    [
        ("float32", "expect parameter to have scalar type of Float"),
        ("float64", "all inputs must share same datatype"),
    ],
)
def test_mixed_dtypes(torch, dtype, match):
    x = torch.randn(3, 4, dtype=getattr(torch, dtype))
    other = torch.float64 if dtype == "float32" else torch.float32
    w = torch.ones(4, dtype=other)
    for call in (
        lambda: torch.layer_norm(x, [4], w),
        lambda: torch.group_norm(x, 2, w),
        lambda: torch.batch_norm(x, w, None, None, None, True, 0.1, 1e-5, False),
    ):
        with pytest.raises(RuntimeError, match=match):
            call()
    with pytest.raises(RuntimeError, match="expected scalar type"):
        torch.layer_norm(x, [4], w.to(x.dtype), w)


def orders(torch, x):
    yield x
    if x.ndim >= 4:
        yield x.contiguous(memory_format=torch.channels_last if x.ndim == 4 else torch.channels_last_3d)
    yield x.transpose(0, -1).contiguous().transpose(0, -1)


@pytest.mark.parametrize(
    "shape", [(40, 3), (300, 70), (2, 3, 4), (3, 4, 5, 6), (2, 3, 70, 71), (2, 3, 2, 3, 4)]
)
def test_batch_norm_orders(torch, shape):
    torch.manual_seed(2)
    dims = [0] + list(range(2, len(shape)))
    size = [1, shape[1]] + [1] * (len(shape) - 2)
    x, g = torch.randn(shape, dtype=torch.float64) + 3, torch.randn(shape, dtype=torch.float64)
    w, b = torch.randn(shape[1], dtype=torch.float64), torch.randn(shape[1], dtype=torch.float64)
    leaves = [t.clone().requires_grad_() for t in (x, w, b)]
    want = normalised(leaves[0], dims, 1e-3)[0] * leaves[1].reshape(size) + leaves[2].reshape(size)
    want_grads = torch.autograd.grad(want, leaves, g)
    for inner in orders(torch, x):
        a = inner.requires_grad_()
        ours = [a, w.clone().requires_grad_(), b.clone().requires_grad_()]
        y = torch.batch_norm(ours[0], ours[1], ours[2], None, None, True, 0.1, 1e-3, False)
        close(y, want, 1e-10)
        if shape[1] > 1 and len(shape) == 4:
            last = a.is_contiguous(memory_format=torch.channels_last) and not a.is_contiguous()
            assert y.is_contiguous(memory_format=torch.channels_last) == last
        for p, q in zip(torch.autograd.grad(y, ours, g), want_grads):
            close(p, q, 1e-9)


@pytest.mark.parametrize("train", [True, False])
def test_batch_norm_second_order(torch, train):
    x, w, b = (torch.randn(s, dtype=torch.float64, requires_grad=True) for s in ((5, 3, 2), (3,), (3,)))
    mean, var = torch.randn(3, dtype=torch.float64), torch.rand(3, dtype=torch.float64) + 0.5
    c = torch.randn(5, 3, 2, dtype=torch.float64)

    def plain(x, w, b):
        y = normalised(x, (0, 2), 1e-3)[0] if train else (x - mean[:, None]) / (var[:, None] + 1e-3).sqrt()
        return y * w[:, None] + b[:, None]

    def ours(x, w, b):
        return torch.batch_norm(
            x, w, b, None if train else mean, None if train else var, train, 0.1, 1e-3, False
        )

    check_second_order(torch, ours, plain, (x, w, b), c)


def check_second_order(torch, ours, plain, leaves, c):
    results = []
    for f in (ours, plain):
        first = torch.autograd.grad((f(*leaves) ** 3 * c).sum(), leaves, create_graph=True)
        results.append(torch.autograd.grad(sum((g**2).sum() for g in first), leaves))
    for p, q in zip(*results):
        close(p, q, 1e-9 * max(1.0, q.abs().max().item()))


def test_layer_norm_second_order(torch):
    leaves = [torch.randn(s, dtype=torch.float64, requires_grad=True) for s in ((4, 3, 5), (3, 5), (3, 5))]
    c = torch.randn(4, 3, 5, dtype=torch.float64)
    check_second_order(
        torch,
        lambda x, w, b: torch.layer_norm(x, [3, 5], w, b, 1e-3),
        lambda x, w, b: normalised(x, (1, 2), 1e-3)[0] * w + b,
        leaves,
        c,
    )


def test_running_statistics(torch):
    x = torch.tensor([[1.0, 0.0], [2.0, 0.0], [3.0, 0.0], [6.0, 4.0]])
    mean, var = torch.zeros(2), torch.ones(2)
    y, save_mean, save_invstd = torch.native_batch_norm(x, None, None, mean, var, True, 0.5, 1e-5)
    close(mean, torch.tensor([1.5, 0.5]), 1e-6)
    close(var, torch.tensor([0.5 + 0.5 * 14 / 3, 0.5 + 0.5 * 4]), 1e-6)
    close(save_mean, torch.tensor([3.0, 1.0]), 1e-6)
    close(save_invstd, torch.tensor([(3.5 + 1e-5) ** -0.5, (3 + 1e-5) ** -0.5]), 1e-6)
    before = mean.tolist(), var.tolist()
    y, save_mean, save_invstd = torch.native_batch_norm(x, None, None, mean, var, False, 0.5, 1e-5)
    assert (mean.tolist(), var.tolist()) == before
    assert save_mean.shape == save_invstd.shape == (0,)
    close(y, (x - mean) / (var + 1e-5).sqrt(), 1e-6)
    torch.batch_norm(torch.ones(1, 2), None, None, mean, var, True, 0.1, 1e-5, False)
    assert all(math.isnan(v) for v in var.tolist())


def test_batch_norm_empty(torch):
    w, b = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
    y = torch.batch_norm(torch.zeros(0, 3, 2), w, b, None, None, True, 0.1, 1e-5, False)
    y.sum().backward()
    assert y.shape == (0, 3, 2) and w.grad.tolist() == b.grad.tolist() == [0.0] * 3
    with pytest.raises(RuntimeError, match="input tensor must have at least one element"):
        torch.native_batch_norm(torch.zeros(0, 3), None, None, None, None, True, 0.1, 1e-5)


def test_batch_norm_errors(torch):
    x, two, three = torch.randn(4, 3), torch.ones(2), torch.ones(3)

    def call(weight=None, bias=None, mean=None, var=None, training=True, x=x):
        torch.batch_norm(x, weight, bias, mean, var, training, 0.1, 1e-5, False)

    for kwargs, match in [
        ({"weight": two}, "weight should contain 3 elements not 2"),
        ({"bias": two}, "bias should contain 3 elements not 2"),
        ({"mean": two, "var": three}, "running_mean should contain 3 elements not 2"),
        ({"mean": three, "var": two}, "running_var should contain 3 elements not 2"),
        ({"training": False}, "running_mean must be defined in evaluation mode"),
        ({"training": False, "mean": three}, "running_var must be defined in evaluation mode"),
        (
            {"mean": three.clone().requires_grad_(), "var": three, "x": x.clone().requires_grad_()},
            "not differentiable with respect to argument 'running_mean'",
        ),
    ]:
        with pytest.raises(RuntimeError, match=match):
            call(**kwargs)
    with pytest.raises(IndexError, match="Dimension out of range"):
        call(x=torch.ones(3))
    with pytest.raises(ValueError, match="must either both be None or neither be None"):
        torch.native_batch_norm(x, None, None, three, None, True, 0.1, 1e-5)
    with pytest.raises(NotImplementedError, match="not implemented for 'Long'"):
        call(x=torch.ones(4, 3, dtype=torch.int64))


@pytest.mark.minitorch_only(reason="reads beyond the parameters, or ends the process")
def test_batch_norm_unchecked_arguments(torch):
    x, two = torch.randn(4, 3), torch.ones(2)
    for args in (
        (two, None, None, None, True),
        (None, two, None, None, True),
        (None, None, two, two, True),
        (None, None, None, None, False),
    ):
        with pytest.raises(RuntimeError):
            torch.native_batch_norm(x, *args, 0.1, 1e-5)


def test_instance_norm(torch):
    x = torch.randn(2, 3, 4, dtype=torch.float64)
    mean, var = torch.zeros(3, dtype=torch.float64), torch.ones(3, dtype=torch.float64)
    w, b = torch.randn(3, dtype=torch.float64), torch.randn(3, dtype=torch.float64)
    y = torch.instance_norm(x, w, b, mean, var, True, 0.1, 1e-3, False)
    close(y, normalised(x, 2, 1e-3)[0] * w[:, None] + b[:, None], 1e-10)
    close(mean, 0.1 * x.mean((0, 2)), 1e-12)
    close(var, 0.9 + 0.1 * x.var(2).mean(0), 1e-12)
    close(
        torch.instance_norm(x, None, None, mean, var, False, 0.1, 1e-3, False),
        (x - mean[:, None]) / (var[:, None] + 1e-3).sqrt(),
        1e-10,
    )
    with pytest.raises(RuntimeError, match="Expected running_mean and running_var to be defined"):
        torch.instance_norm(x, None, None, None, None, False, 0.1, 1e-5, False)


@pytest.mark.parametrize(
    "shape,groups", [((2, 4, 3), 2), ((3, 6), 3), ((2, 4, 5, 6), 1), ((2, 6, 40, 41), 3)]
)
def test_group_norm(torch, shape, groups):
    torch.manual_seed(3)
    n, c = shape[:2]
    size = [1, c] + [1] * (len(shape) - 2)
    x, g = torch.randn(shape, dtype=torch.float64) + 3, torch.randn(shape, dtype=torch.float64)
    w, b = torch.randn(c, dtype=torch.float64), torch.randn(c, dtype=torch.float64)
    leaves = [t.clone().requires_grad_() for t in (x, w, b)]
    flat = normalised(leaves[0].reshape(n, groups, -1), -1, 1e-3)[0].reshape(shape)
    want = flat * leaves[1].reshape(size) + leaves[2].reshape(size)
    want_grads = torch.autograd.grad(want, leaves, g)
    for inner in orders(torch, x):
        ours = [inner.requires_grad_(), w.clone().requires_grad_(), b.clone().requires_grad_()]
        y = torch.group_norm(ours[0], groups, ours[1], ours[2], 1e-3)
        close(y, want, 1e-10)
        for p, q in zip(torch.autograd.grad(y, ours, g), want_grads):
            close(p, q, 1e-9)


def test_group_norm_errors(torch):
    x, w = torch.randn(2, 4, 3), torch.ones(4)
    for groups, match in (
        (3, "divisible by num_groups"),
        (0, "greater than 0, got 0"),
        (-1, "greater than 0, got -1"),
    ):
        with pytest.raises(RuntimeError, match=match):
            torch.group_norm(x, groups)
    with pytest.raises(
        RuntimeError, match="Expected weight to be a vector of size equal to the number of channels"
    ):
        torch.group_norm(x, 2, torch.ones(3))
    with pytest.raises(
        RuntimeError, match="Expected bias to be a vector of size equal to the number of channels"
    ):
        torch.group_norm(x, 2, w, torch.ones(3))
    with pytest.raises(RuntimeError, match=r"Expected X.numel\(\) == N \* C \* HxW to be true"):
        torch.native_group_norm(x, w, None, 2, 4, 5, 2, 1e-5)
    with pytest.raises(IndexError):
        torch.group_norm(torch.ones(4), 2)
    y, mean, rstd = torch.native_group_norm(torch.zeros(2, 4, 0), None, None, 2, 4, 0, 2, 1e-5)
    assert mean.tolist() == [[0.0, 0.0]] * 2 and all(math.isnan(v) for v in rstd.reshape(-1).tolist())


def test_layer_norm_errors(torch):
    x = torch.randn(2, 4)
    for args, match in [
        (([3],), r"=\[3\], expected input with shape \[\*, 3\], but got input of size\[2, 4\]"),
        (([],), "normalized_shape to be at least 1-dimensional"),
        (([4], torch.ones(3)), r"Expected weight to be of same shape .* weight of shape \[3\]"),
        (([4], None, torch.ones(3)), r"Expected bias to be of same shape .* bias of shape \[3\]"),
        (([2, 2, 4],), r"expected input with shape \[\*, 2, 2, 4\]"),
    ]:
        with pytest.raises(RuntimeError, match=match):
            torch.layer_norm(x, *args)
    with pytest.raises(NotImplementedError, match="\"LayerNormKernelImpl\" not implemented for 'Long'"):
        torch.layer_norm(torch.ones(2, 4, dtype=torch.int64), [4])
    with pytest.raises(NotImplementedError, match="\"rms_norm\" not implemented for 'Long'"):
        torch.rms_norm(torch.ones(2, 4, dtype=torch.int64), [4])
    with pytest.raises(RuntimeError, match=r"expected input with shape \[\*3\]"):
        torch.rms_norm(x, [3])


def test_rms_norm(torch):
    x = torch.randn(3, 5, dtype=torch.float64)
    close(torch.rms_norm(x, [5], None, 1e-3), x / ((x * x).mean(1, keepdim=True) + 1e-3).sqrt(), 1e-12)
    assert torch.rms_norm(x.float(), [5], torch.ones(5, dtype=torch.float64)).dtype == torch.float32
    assert torch.rms_norm(torch.full((1, 4), 1e-5), [4])[0, 0].item() == pytest.approx(0.02895095, rel=1e-5)


@pytest.mark.parametrize("values", [[2.0, 3.0, 4.0], [0.0, 3.0, 4.0], [2.0, 0.0, 0.0]])
def test_gradient_of_products(torch, values):
    want = [math.prod(v for k, v in enumerate(values) if k != i) for i in range(3)]
    x = torch.tensor(values, dtype=torch.float64, requires_grad=True)
    x.prod().backward()
    assert x.grad.tolist() == want
    m = torch.tensor([values, [1.0, 1.0, 1.0]], dtype=torch.float64, requires_grad=True)
    for keepdim in (True, False):
        (grad,) = torch.autograd.grad(m.prod(1, keepdim).sum(), m)
        assert grad.tolist() == [want, [1.0, 1.0, 1.0]]
    z = torch.zeros((), dtype=torch.float64, requires_grad=True)
    z.prod().backward()
    assert z.grad.item() == 1.0


def test_second_order_without_parameters(torch):
    """The first backward leaves out the gradients of absent weights."""
    x, c = torch.randn(4, 3, dtype=torch.float64, requires_grad=True), torch.randn(4, 3, dtype=torch.float64)
    mean, var = torch.randn(3, dtype=torch.float64), torch.rand(3, dtype=torch.float64) + 0.5
    check_second_order(
        torch,
        lambda x: torch.layer_norm(x, [3], None, None, 1e-3),
        lambda x: normalised(x, 1, 1e-3)[0],
        (x,),
        c,
    )
    check_second_order(
        torch,
        lambda x: torch.batch_norm(x, None, None, None, None, True, 0.1, 1e-3, False),
        lambda x: normalised(x, 0, 1e-3)[0],
        (x,),
        c,
    )
    w = torch.randn(3, dtype=torch.float64, requires_grad=True)
    check_second_order(
        torch,
        lambda x, w: torch.batch_norm(x, w, None, mean, var, False, 0.1, 1e-3, False),
        lambda x, w: (x - mean) / (var + 1e-3).sqrt() * w,
        (x, w),
        c,
    )


@pytest.mark.parametrize("with_weight", [True, False])
def test_group_norm_second_order(torch, with_weight):
    x, c = (
        torch.randn(3, 4, 5, dtype=torch.float64, requires_grad=True),
        torch.randn(3, 4, 5, dtype=torch.float64),
    )
    leaves = (x,) + tuple(
        torch.randn(4, dtype=torch.float64, requires_grad=True) for _ in range(2 * with_weight)
    )

    def plain(x, w=None, b=None):
        y = normalised(x.reshape(3, 2, 10), 2, 1e-3)[0].reshape(3, 4, 5)
        return y * w[:, None] + b[:, None] if with_weight else y

    check_second_order(torch, lambda x, w=None, b=None: torch.group_norm(x, 2, w, b, 1e-3), plain, leaves, c)
