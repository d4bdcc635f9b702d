# SPDX-License-Identifier: BSD-3-Clause
"""Shapes and numbers at the edge: empty dimensions, results written over arguments, huge counts. Nothing here may crash, hang
or read memory that is not the tensor's."""

import math
import warnings

import pytest

EMPTY = [
    ((2, 0, 3), (1, 2)),
    ((2, 3, 0), (1, 2)),
    ((2, 0, 3), (0, 1)),
    ((0, 3), (0,)),
    ((2, 0), (1,)),
    ((3, 0, 2, 0), (1, 3)),
]


@pytest.mark.parametrize("shape,dims", EMPTY)
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int64", "complex64"])
def test_sums_of_nothing(torch, shape, dims, dtype):
    x = torch.ones(shape, dtype=getattr(torch, dtype))
    kept = [n for i, n in enumerate(shape) if i not in dims]
    out = x.sum(dims)
    assert list(out.shape) == kept and not out.any()
    assert x.all(dims).all() and not x.any(dims).any()
    assert not x.count_nonzero(dims).any()
    if dtype.startswith("float"):
        assert x.mean(dims).isnan().all()
        assert x.var(dims).isnan().all() and x.std(dims).isnan().all()
        assert (x.logsumexp(dims) == -float("inf")).all()
        assert not x.norm(dim=dims).any() and not x.nansum(dims).any()


def test_products_of_nothing(torch):
    assert torch.ones(1, 3).expand(0, 3).prod(0).tolist() == [1, 1, 1]
    assert torch.ones(2, 3, 0).prod(2).tolist() == [[1, 1, 1]] * 2


def test_gradients_through_nothing(torch):
    a = torch.ones(2, 0, 3, requires_grad=True)
    b = torch.ones(2, 1, 1, requires_grad=True)
    torch.maximum(a, b).sum().backward()
    assert a.grad.shape == (2, 0, 3) and b.grad.tolist() == [[[0.0]], [[0.0]]]


@pytest.mark.minitorch_only(reason="PyTorch resizes the argument before it reads it")
@pytest.mark.parametrize("shape", [(3, 2), (1, 0)])
def test_results_in_the_place_of_an_argument(torch, shape):
    def argument():
        return torch.arange(float(shape[0] * shape[1])).reshape(shape)

    calls = [
        lambda x, out: torch.sum(x, 0, out=out),
        lambda x, out: torch.amax(x, 0, out=out),
        lambda x, out: torch.mean(x, 0, True, out=out),
        lambda x, out: torch.prod(x, 0, out=out),
        lambda x, out: torch.mm(x, x.t(), out=out),
        lambda x, out: torch.add(x, torch.ones(2, *shape), out=out),
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for call in calls:
            a = argument()
            want = call(argument(), torch.empty(0))
            assert call(a, a) is a
            assert torch.equal(a, want)
        a = argument()
        values, indices = torch.max(argument(), 0)
        torch.max(a, 0, out=(a, torch.empty(0, dtype=torch.int64)))
        assert torch.equal(a, values)


def test_multinomial_of_nothing(torch):
    for replacement in (False, True):
        with pytest.raises(RuntimeError):
            torch.multinomial(torch.ones(3, 0), 3, True)
        with pytest.raises(RuntimeError):
            torch.multinomial(torch.ones(0), 1, replacement)
    assert torch.multinomial(torch.ones(0, 3), 2).shape == (0, 2)


@pytest.mark.parametrize("decimals", [400, 2**31 - 1, -(2**31) + 1, -400])
def test_round_to_extreme_decimals(torch, decimals):
    out = torch.tensor([1.0, 0.0, -2.5]).round(decimals=decimals)
    assert out.shape == (3,)
    assert out[0].isnan() or out[0] in (0.0, 1.0)


def test_triangles_with_few_elements(torch):
    assert torch.triu_indices(2**40, 1).tolist() == [[0], [0]]
    assert torch.triu_indices(2**40, 2, -1).tolist() == [[0, 0, 1, 1, 2], [0, 1, 0, 1, 1]]
    assert torch.tril_indices(5, 2**40, -3).tolist() == [[3, 4, 4], [0, 0, 1]]
    assert torch.triu_indices(3, 3, 5).shape == (2, 0)


def test_gelu_slope(torch):
    """Within a unit of 1 everywhere; a half at zero, 0 and 1 far out, NaN where infinity meets zero."""
    at = [k / 64 for k in range(-960, 961)]
    x = torch.tensor(at).requires_grad_()
    torch.nn.functional.gelu(x).sum().backward()
    for got, v in zip(x.grad.tolist(), at):
        density = math.exp(-v * v / 2) / math.sqrt(2 * math.pi)
        assert abs(got - (math.erfc(-v / math.sqrt(2)) / 2 + v * density)) < 2**-22
    x = torch.tensor([0.0, -0.0, 1e30, -1e30, math.inf, -math.inf, math.nan]).requires_grad_()
    torch.nn.functional.gelu(x).sum().backward()
    assert x.grad[:4].tolist() == [0.5, 0.5, 1.0, 0.0]
    assert x.grad[4:].isnan().all()
