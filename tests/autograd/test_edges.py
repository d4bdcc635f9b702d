# SPDX-License-Identifier: BSD-3-Clause
"""Gradients where a formula would divide by zero, overflow or meet NaN, and of random ops."""

import pytest

inf, nan = float("inf"), float("nan")


def gradients(torch, f, *values):
    leaves = [torch.tensor(v, requires_grad=True) for v in values]
    f(*leaves).sum().backward()
    return [x.grad.tolist() for x in leaves]


def test_flip_along_nothing(torch):
    x = torch.arange(4.0).reshape(2, 2).requires_grad_()
    (torch.flip(x, []) * torch.arange(4.0).reshape(2, 2)).sum().backward()
    assert x.grad.tolist() == [[0, 1], [2, 3]]


def test_atan2_at_the_origin(torch):
    assert gradients(torch, torch.atan2, [0.0, 0.0, 3.0], [0.0, 2.0, 4.0]) == [
        [0, 0.5, pytest.approx(4 / 25)],
        [0, 0, pytest.approx(-3 / 25)],
    ]


def test_logcumsumexp(torch):
    assert gradients(torch, lambda x: x.logcumsumexp(0), [-128.0, 3.5, 255.0]) == [[1, 1, 1]]
    weight = torch.tensor([1.0, -2.0, 3.0, 0.0])
    x = torch.tensor([1.0, 2.0, 3.0, 1.0], dtype=torch.float64, requires_grad=True)
    p = torch.exp(x.detach())
    q = p.cumsum(0)
    want = [sum(weight[i].item() * p[k].item() / q[i].item() for i in range(k, 4)) for k in range(4)]
    (x.logcumsumexp(0) * weight).sum().backward()
    assert x.grad.tolist() == pytest.approx(want, abs=1e-12)


def test_random_ops_record(torch):
    assert gradients(torch, lambda x: torch.normal(x, 1.0), [1.0, 2.0]) == [[0, 0]]
    assert gradients(torch, torch.normal, [1.0, 2.0], [1.0, 2.0]) == [[0, 0], [0, 0]]
    x = torch.full((2,), 0.5, requires_grad=True)
    assert type(torch.normal(0.0, x).grad_fn).__name__ == "NormalBackward2"
    y = torch.bernoulli(x, 0.5)
    assert y.requires_grad
    with pytest.raises(RuntimeError, match="not implemented"):
        y.sum().backward()


def test_more_gradients_than_outputs(torch):
    x = torch.ones(2, requires_grad=True)
    y = (x * 2).sum()
    assert torch.autograd.grad(y, x, [torch.tensor(1.0), torch.tensor(2.0)])[0].tolist() == [2, 2]
