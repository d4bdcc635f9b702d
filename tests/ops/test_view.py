# SPDX-License-Identifier: BSD-3-Clause
"""Views: sizes, strides and texts PyTorch gives, what views share, chains of views against NumPy."""

import random

import movement
import numpy as np
import pytest

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.parametrize("expression,want", movement.recorded("view"))
def test_recorded(torch, expression, want):
    movement.check(torch, expression, want)


def random_step(rng, a, t):
    """The same random view of an array and of a tensor."""
    kind = rng.choice(
        [
            "transpose",
            "permute",
            "select",
            "slice",
            "narrow",
            "unsqueeze",
            "squeeze",
            "expand",
            "diagonal",
            "unfold",
            "movedim",
            "reshape",
        ]
    )
    n = a.ndim
    if kind == "unsqueeze":
        d = rng.randint(0, n)
        return np.expand_dims(a, d), t.unsqueeze(d if rng.random() < 0.5 else d - n - 1)
    if kind == "expand":
        k = rng.randint(1, 3)
        return np.broadcast_to(a, (k,) + a.shape), t.expand(k, *[-1] * n)
    if kind == "squeeze":
        return np.squeeze(a), t.squeeze()
    if kind == "reshape":
        return a.reshape(-1), t.reshape(-1)
    if not n:
        return a, t
    d, k = rng.randrange(n), rng.randrange(n)
    size = a.shape[d]
    if kind == "transpose":
        return np.swapaxes(a, d, k), t.transpose(d, k - n)
    if kind == "movedim":
        return np.moveaxis(a, d, k), t.movedim(d, k)
    if kind == "permute":
        order = rng.sample(range(n), n)
        return a.transpose(order), t.permute(order)
    if kind == "diagonal" and n > 1 and d != k:
        offset = rng.randint(-size, size)
        if -size < offset < a.shape[k]:
            return np.diagonal(a, offset, d, k), t.diagonal(offset, d, k)
    if not size:
        return a, t
    if kind == "select":
        i = rng.randrange(-size, size)
        return np.take(a, i, d), t.select(d, i)
    if kind == "narrow":
        start = rng.randrange(size)
        length = rng.randint(0, size - start)
        return a[(slice(None),) * d + (slice(start, start + length),)], t.narrow(d, start, length)
    if kind == "slice":
        cut = slice(
            rng.randint(-size - 1, size + 1),
            rng.choice([None, rng.randint(-size - 1, size + 1)]),
            rng.randint(1, 3),
        )
        index = (slice(None),) * d + (cut,)
        return a[index], t[index]
    if kind == "unfold":
        width, step = rng.randint(1, size), rng.randint(1, 3)
        windows = np.lib.stride_tricks.sliding_window_view(a, width, d)
        return windows[(slice(None),) * d + (slice(None, None, step),)], t.unfold(d, width, step)
    return a, t


@pytest.mark.parametrize("seed", range(60))
def test_chains(torch, seed):
    """Ten random views one of another select the elements that NumPy selects."""
    rng = random.Random(seed)
    shape = [rng.randint(1, 5) for _ in range(rng.randint(1, 4))]
    a = np.arange(int(np.prod(shape))).reshape(shape)
    t = torch.arange(a.size).reshape(shape)
    for _ in range(10):
        if a.ndim < 6 and a.size < 20000:
            a, t = random_step(rng, a, t)
            assert tuple(t.shape) == a.shape
            assert t.tolist() == a.tolist()


VIEWS = {
    "view": lambda x: x.view(4, 3),
    "view_dtype": lambda x: x.view(x.dtype),
    "reshape": lambda x: x.reshape(2, 6),
    "transpose": lambda x: x.transpose(0, 1),
    "permute": lambda x: x.permute(1, 0),
    "t": lambda x: x.t(),
    "select": lambda x: x.select(0, 1),
    "slice": lambda x: x[1:, ::2],
    "narrow": lambda x: x.narrow(1, 1, 2),
    "split": lambda x: x.split(2)[1],
    "chunk": lambda x: x.chunk(2, 1)[0],
    "unbind": lambda x: x.unbind(1)[2],
    "squeeze": lambda x: x.squeeze(),
    "unsqueeze": lambda x: x.unsqueeze(0),
    "expand": lambda x: x.expand(2, 3, 4),
    "diagonal": lambda x: x.diagonal(1),
    "as_strided": lambda x: x.as_strided((2, 2), (1, 2), 3),
    "unfold": lambda x: x.unfold(1, 2, 1),
    "movedim": lambda x: x.movedim(0, 1),
    "detach": lambda x: x.detach(),
    "flatten": lambda x: x.flatten(),
    "unflatten": lambda x: x.unflatten(1, (2, 2)),
}


@pytest.mark.parametrize("name", VIEWS)
def test_views_share(torch, name):
    """A view shows what is written to its base, counts its version, and keeps base and memory alive."""
    x = torch.arange(12.0).reshape(3, 4).clone()
    y = VIEWS[name](x)
    assert y.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
    version = y._version
    x.add_(100)
    assert y._version == version + 1 and y.min() >= 100
    before = y.clone()
    del x
    assert y.equal(before)


@pytest.mark.parametrize("name", sorted(set(VIEWS) - {"detach", "view_dtype", "unfold"}))
def test_write_through_view(torch, name):
    """An in-place change of a view reaches the base and its gradient."""
    leaf = torch.arange(12.0, dtype=torch.float64).reshape(3, 4).requires_grad_()
    x = leaf * 2
    y = VIEWS[name](x)
    if name in ("split", "chunk", "unbind"):
        with pytest.raises(RuntimeError, match="is a view and is being modified inplace"):
            y.mul_(3)
        return
    if name == "expand":
        with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
            y.mul_(3)
        return
    y.mul_(3)
    touched = VIEWS[name](torch.arange(12.0).reshape(3, 4)).flatten().tolist()
    want = [6.0 if i in touched else 2.0 for i in range(12)]
    x.sum().backward()
    assert leaf.grad.flatten().tolist() == want
    assert x.flatten().tolist() == [v * (w // 2 * 2) for v, w in zip(range(12), want)]


def test_in_place_forms(torch):
    """t_, transpose_, squeeze_, unsqueeze_, as_strided_ change the tensor itself."""
    x = torch.arange(6.0).reshape(2, 3).clone()
    start = x.data_ptr()
    assert x.t_() is x and x.shape == (3, 2) and x.stride() == (1, 3)
    assert x.transpose_(0, 1).shape == (2, 3)
    assert x.unsqueeze_(1).shape == (2, 1, 3) and x.squeeze_(1).shape == (2, 3)
    assert x.unsqueeze_(0).unsqueeze_(-1).squeeze_().shape == (2, 3)
    assert x.as_strided_((2, 2), (1, 1), 2).tolist() == [[2, 3], [3, 4]]
    assert x.data_ptr() == start + 2 * 4
    assert x.swapaxes_(0, 1).tolist() == [[2, 3], [3, 4]]


def test_view_of_other_type(torch):
    """Bytes of a tensor under another dtype."""
    x = torch.tensor([[1.0, -2.0], [0.5, 3.0]])
    assert x.view(torch.int32).tolist() == [[0x3F800000, -0x40000000], [0x3F000000, 0x40400000]]
    assert x.view(torch.uint8).shape == (2, 8) and x.view(torch.float64).shape == (2, 1)
    assert x.view(torch.int16).view(torch.float32).equal(x)
    with pytest.raises(RuntimeError):
        x.t().view(torch.uint8)
    with pytest.raises(RuntimeError):
        x[:, :1].view(torch.float64)


def test_conjugate_and_negative_bits(torch):
    """Views of conjugated and negated tensors keep the bit and the values."""
    c = torch.tensor([[1 + 2j, 3 - 4j, 5j], [7 + 0j, -8 + 9j, 0j]])
    for f in (
        lambda t: t.t(),
        lambda t: t[1:],
        lambda t: t.reshape(6),
        lambda t: t.diagonal(),
        lambda t: t.unbind()[1],
    ):
        assert f(c.conj()).is_conj() and f(c.conj()).tolist() == f(c).conj().resolve_conj().tolist()
    assert c.conj().imag.is_neg() and c.conj().imag.tolist() == [[-2, 4, -5], [0, -9, 0]]
    assert torch.view_as_real(c).shape == (2, 3, 2)
    with pytest.raises(RuntimeError, match="view_as_real doesn't work on unresolved conjugated tensors"):
        torch.view_as_real(c.conj())


@pytest.mark.minitorch_only(reason="PyTorch's gradient is not the derivative")
def test_as_strided_scatter_gradient(torch):
    """What is overwritten has gradient 0, the rest keeps it."""
    x = torch.zeros(12, requires_grad=True)
    src = torch.zeros(2, 2, requires_grad=True)
    weights = torch.arange(12.0)
    (x.as_strided_scatter(src, (2, 2), (4, 1), 1) * weights).sum().backward()
    assert x.grad.tolist() == [0, 0, 0, 3, 4, 0, 0, 7, 8, 9, 10, 11]
    assert src.grad.tolist() == [[1, 2], [5, 6]]
