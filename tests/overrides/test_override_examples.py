"""The classes of this folder at work, on either library."""

import importlib
import os
import sys

import pytest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))


def load(name, torch):
    return importlib.import_module(name).make(torch)


# --- units ---


def test_units_of_products_and_quotients(torch):
    Unit = load("unit_tensor", torch)
    way, time = Unit([6.0, 8.0], m=1), Unit([2.0, 4.0], s=1)
    speed = way / time
    assert repr(speed) == "[3.0, 2.0] m^1 s^-1"
    assert repr(torch.mul(speed, time)) == "[6.0, 8.0] m^1"
    assert repr((way * way).sqrt()) == "[6.0, 8.0] m^1"
    assert repr(way / way) == "[1.0, 1.0] 1"
    assert repr(2 * way) == "[12.0, 16.0] m^1"
    assert repr(way.sum()) == "14.0 m^1"


def test_units_must_agree(torch):
    Unit = load("unit_tensor", torch)
    way, time = Unit([6.0], m=1), Unit([2.0], s=1)
    assert repr(way + way) == "[12.0] m^1"
    for call in (lambda: way + time, lambda: torch.sub(way, time), lambda: way + torch.ones(1)):
        with pytest.raises(ValueError, match="units differ"):
            call()
    with pytest.raises(TypeError, match="no rule for the unit of exp"):
        way.exp()


def test_units_keep_shape_and_gradient(torch):
    Unit = load("unit_tensor", torch)
    leaf = torch.tensor([3.0, 4.0], requires_grad=True)
    area = Unit(leaf, m=1) * Unit(leaf, m=1)
    assert (area.shape, area.dtype, area.numel()) == ((2,), torch.float32, 2)
    with torch._C.DisableTorchFunctionSubclass():
        area.sum().backward()
    assert leaf.grad.tolist() == [6.0, 8.0]


# --- masks ---


def test_masked_sums(torch):
    Masked = load("masked_tensor", torch)
    x = Masked(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([[True, False], [True, True]]))
    assert torch.sum(x).item() == 8
    assert torch.sum(x, 0).tolist() == [4, 4]
    assert torch.sum(x, dim=1).tolist() == [1, 7]
    assert torch.mean(x).item() == pytest.approx(8 / 3)


def test_masked_pointwise(torch):
    Masked = load("masked_tensor", torch)
    x = Masked(torch.tensor([-1.0, 2.0, 3.0]), torch.tensor([True, False, True]))
    assert torch.add(x, 1).tolist() == [0, None, 4]
    assert (x + torch.ones(3)).tolist() == [0, None, 4]
    assert (torch.ones(3) + x).tolist() == [0, None, 4]
    other = Masked(torch.ones(3), torch.tensor([False, True, True]))
    assert (x + other).tolist() == [None, None, 4]
    assert torch.nn.functional.relu(x).tolist() == [0, None, 3]
    assert torch.stack([x, torch.zeros(3)]).tolist() == [-1, None, 3, 0, 0, 0]


def test_masked_refuses_what_it_does_not_know(torch):
    Masked = load("masked_tensor", torch)
    x = Masked(torch.ones(1), torch.tensor([True]))
    with pytest.raises(TypeError, match="Multiple dispatch failed for 'torch.exp'"):
        torch.exp(x)
    with pytest.raises(TypeError, match="no implementation found for 'torch.functional.split'"):
        torch.split(x, 1)


# --- diagonal matrices ---


def test_diagonal_stays_diagonal(torch):
    Diagonal = load("diagonal_matrix", torch)
    a, b = Diagonal(5, 2.0), Diagonal(5, 3.0)
    assert repr(torch.matmul(a, b)) == "Diagonal(n=5, value=6.0)"
    assert repr(torch.add(a, b)) == "Diagonal(n=5, value=5.0)"
    assert repr(torch.linalg.inv(a)) == "Diagonal(n=5, value=0.5)"
    assert torch.mean(a) == pytest.approx(a.tensor().mean().item())


def test_diagonal_meets_tensors(torch):
    Diagonal = load("diagonal_matrix", torch)
    a, x = Diagonal(2, 2.0), torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert torch.matmul(a, x).tolist() == (a.tensor() @ x).tolist()
    assert torch.matmul(x, a).tolist() == (x @ a.tensor()).tolist()
    assert torch.add(x, a).tolist() == [[3, 2], [3, 6]]
    out = torch.empty(2, 2)
    assert torch.add(a, x, out=out) is out
    assert out.tolist() == [[3, 2], [3, 6]]
    assert torch.einsum("ij,jk", a, x).tolist() == [[2, 4], [6, 8]]
    assert x[a].tolist() == [1, 4]


def test_diagonal_refuses(torch):
    Diagonal = load("diagonal_matrix", torch)
    with pytest.raises(TypeError, match="Diagonal"):
        torch.mul(Diagonal(2, 1.0), 2)


# --- logs ---


def test_logging_subclass(torch):
    Logging, _ = load("logging_tensor", torch)
    x = torch.ones(2, 3).as_subclass(Logging)
    y = torch.nn.functional.relu(x.T @ x)
    y.sum(dim=0, keepdim=True)[0]
    assert type(y) is Logging
    assert Logging.log == [
        "torch.Tensor.T.__get__(Logging[2, 3])",
        "torch.Tensor.matmul(Logging[3, 2], Logging[2, 3])",
        "torch.nn.functional.relu(Logging[3, 3], inplace=False)",
        "torch.Tensor.sum(Logging[3, 3], dim=0, keepdim=True)",
        "torch.Tensor.__getitem__(Logging[1, 3], 0)",
    ]


def test_logging_mode(torch):
    _, LoggingMode = load("logging_tensor", torch)
    with LoggingMode() as mode:
        x = torch.zeros(2, dtype=torch.int64)
        torch.stack([x, x + 1])
    torch.ones(1)
    assert mode.log == [
        "torch.zeros(2, dtype=torch.int64)",
        "torch.Tensor.add(Tensor[2], 1)",
        "torch.stack([Tensor[2], Tensor[2]])",
    ]


# --- laziness ---


def test_lazy_runs_once_and_only_what_is_asked_for(torch):
    Lazy = load("lazy_tensor", torch)
    Lazy.calls = 0
    x = Lazy.of(torch.tensor([1.0, 4.0]))
    root = torch.sqrt(x)
    unused = torch.exp(x)
    total = torch.sum(root * 2 + root)
    assert Lazy.calls == 0
    assert total.value().item() == 9
    assert Lazy.calls == 5  # x, root, times, plus, sum
    assert total.value().item() == 9
    assert Lazy.calls == 5
    assert unused.value().tolist() == torch.exp(torch.tensor([1.0, 4.0])).tolist()


def test_lazy_in_lists_methods_and_functions_in_python(torch):
    Lazy = load("lazy_tensor", torch)
    x = Lazy.of(torch.tensor([[1.0, -2.0]]))
    assert torch.cat([x, torch.ones(1, 2)]).value().tolist() == [[1, -2], [1, 1]]
    assert x.abs().sum().value().item() == 3
    assert torch.nn.functional.relu(x).value().tolist() == [[1, 0]]
    assert torch.einsum("ij->j", x).value().tolist() == [1, -2]
    assert x.shape == (1, 2)
    layer = torch.nn.Linear(2, 3)
    assert layer(x).value().tolist() == layer(x.value()).tolist()
