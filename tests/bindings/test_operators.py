# SPDX-License-Identifier: BSD-3-Clause
"""Operators with arrays and numbers on either side, numbers beyond 64 bits, indices of odd kinds."""

import copy
import pickle
import warnings

import numpy as np
import pytest

inf, nan = float("inf"), float("nan")


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def raises(call, kind, text=""):
    with pytest.raises(kind) as info:
        call()
    assert type(info.value) is kind and text in str(info.value), repr(info.value)


# --- arrays ---


def test_equal_to_an_array(torch):
    t, a = torch.tensor([1, 2]), np.array([1, 3])
    assert (t == a).tolist() == (a == t).tolist() == [True, False]
    assert (t == np.array([1.0, 2.5])).tolist() == [True, False] and (t == np.array(1)).tolist() == [
        True,
        False,
    ]
    raises(lambda: t == np.array([1, 3, 4]), RuntimeError)
    raises(lambda: t == a[::-1], ValueError)
    assert (t == "a") is False and (t == [1, 2]) is False and (t == np.array(["a", "b"])) is False


def test_array_divided_by_a_tensor(torch):
    q = np.array([1.0, 3.0]) / torch.tensor([1, 2])
    assert type(q) is torch.Tensor and q.dtype is torch.float64 and q.tolist() == [1.0, 1.5]
    q = np.array([1.0, 3.0], dtype=np.float32) / torch.tensor([1, 2])
    assert q.dtype is torch.float32 and q.tolist() == [1.0, 1.5]
    raises(lambda: "a" / torch.ones(2), TypeError)
    raises(lambda: [1, 2] / torch.ones(2), TypeError)


def test_number_on_the_left(torch):
    w = torch.tensor([3.0, 49.0], requires_grad=True)
    assert type((2 - w).grad_fn).__name__ == "RsubBackward1"
    assert type((7 / w).grad_fn).__name__ == "MulBackward0"
    assert (7 / w.detach()).tolist() == (w.detach().reciprocal() * 7).tolist()
    assert (2 - torch.tensor([1, 5])).tolist() == [1, -3]
    assert (2.5 - torch.tensor([1, 5])).tolist() == [1.5, -2.5]
    raises(lambda: 3 @ torch.ones(2), TypeError)


# --- large numbers ---


def test_numbers_from_two_to_the_63(torch):
    one, n = torch.ones(1), 2**63
    assert torch.gt(one, n).item() is False and (one + n).item() == 2.0**63 and (one * n).item() == 2.0**63
    assert (one // n).item() == 0 and (n - one).item() == 2.0**63
    assert (torch.ones(1, dtype=torch.int64) + n).item() == 1 - 2**63
    assert torch.full((1,), n, dtype=torch.float32).item() == 2.0**63


@pytest.mark.parametrize(
    "call",
    [
        "t.ones(1) + 2**64",
        "t.ones(1) + 2**70",
        "t.eq(t.ones(1), 2**70)",
        "t.ones(1).fill_(2**70)",
        "t.ones(1).clamp(2**70)",
        "t.ones(1) == 2**70",
        "2**70 - t.ones(1)",
        "t.ones(1) + (-2**63 - 1)",
    ],
)
def test_scalars_out_of_range(torch, call):
    raises(lambda: eval(call, {"t": torch}), OverflowError)


@pytest.mark.parametrize(
    "call",
    [
        "t.ones(2).sum(2**70)",
        "t.ones(2).unsqueeze(2**70)",
        "t.ones(2)[2**70]",
        "t.eye(2**70)",
        "t.ones(2).__setitem__(0, 2**70)",
        "t.ones(2).__setitem__(0, 2**63)",
    ],
)
def test_ints_out_of_range(torch, call):
    raises(lambda: eval(call, {"t": torch}), ValueError, "Overflow when unpacking long long")


@pytest.mark.parametrize("call", ["t.zeros(2**70)", "t.zeros((2, 2**70))", "t.ones(2).reshape(2**70)"])
def test_sizes_out_of_range(torch, call):
    raises(lambda: eval(call, {"t": torch}), TypeError, "failed to unpack the object at pos")


# --- indices and sizes ---


class Index:
    def __init__(self, n=2):
        self.n = n

    def __index__(self):
        return self.n


def test_sizes_of_objects_with_index(torch):
    assert torch.zeros((Index(),)).shape == torch.zeros(Index()).shape == (2,)
    assert torch.zeros([Index(), 3]).shape == (2, 3) and torch.ones(4).reshape(Index(), Index()).shape == (
        2,
        2,
    )
    assert torch.ones(4, 3).permute(Index(1), Index(0)).shape == (3, 4)


def test_odd_indices(torch):
    x = torch.ones(2)
    raises(lambda: x["a"], TypeError)
    raises(lambda: x[b"a"], TypeError)
    raises(lambda: x[np.bool_(True)], IndexError)
    for value in (np.float32(2), np.bool_(True), np.complex64(2), np.array(2.0)):
        raises(lambda value=value: x.__setitem__(0, value), TypeError, "can't assign a numpy.")
    x[0], x[1] = np.int64(5), np.float64(7)
    assert x.tolist() == [5, 7]


def test_index_with_an_override(torch):
    class Duck:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func.__name__

    assert torch.ones(2)[Duck()] == torch.ones(2)[0, Duck()] == "__getitem__"
    torch.ones(2)[Duck()] = 1
    torch.ones(2)[0] = Duck()


def test_tensor_overload_of_max(torch):
    x = torch.tensor([1.0, 3.0])
    assert torch.max(x, torch.tensor(2)).tolist() == [2, 3] and torch.min(x, torch.tensor(2)).tolist() == [
        1,
        2,
    ]
    assert x.max(torch.tensor(0)).tolist() == [1, 3] and x.max(0).values.item() == 3


# --- assignment from a part of the tensor itself ---


def test_assign_own_part(torch):
    for key in (..., slice(None), None):
        x = torch.arange(6.0).reshape(2, 3)
        x[key] = x[0]
        assert x.tolist() == [[0, 1, 2], [0, 1, 2]]
    x = torch.arange(4.0)
    raises(lambda: x.__setitem__(slice(1, None), x[:-1]), RuntimeError, "single memory location")
    for index, value in (
        ([0, 1], x[2:]),
        ([0, 1], x[0]),
        ([0, 1, 2, 3], x),
        ([True, True, False, False], x[:2]),
    ):
        raises(lambda: x.__setitem__(index, value), RuntimeError, "single memory location")
    x[[0, 1]] = x[::2]  # strides too complicated to tell
    ints = torch.arange(4)
    raises(lambda: ints.__setitem__(ints, 1), RuntimeError, "single memory location")


def test_assign_drops_leading_ones(torch):
    x = torch.zeros(2, 3)
    x[[0]] = torch.ones(1, 1, 1, 3)
    assert x.tolist() == [[1, 1, 1], [0, 0, 0]]
    x[[0, 1]] = torch.full((1, 1, 2, 3), 2.0)
    x[x == 2] = torch.full((1, 1, 6), 3.0)
    assert x.tolist() == [[3, 3, 3], [3, 3, 3]]
    raises(lambda: x.index_put_((torch.tensor([0]),), torch.ones(1, 1, 1, 3)), RuntimeError, "shape mismatch")


def test_copy_of_a_number(torch):
    assert torch.ones(2).copy_(5).tolist() == [5, 5]
    z = torch.ones(2, dtype=torch.complex64)
    z.real, z.imag = 5, torch.ones(2)
    assert z.tolist() == [5 + 1j, 5 + 1j]


# --- bits and names ---


def test_pickle_of_lazy_bits(torch):
    z = torch.tensor([1 + 2j]).conj()
    for other in (pickle.loads(pickle.dumps(z)), copy.copy(z), copy.deepcopy(z)):
        assert other.tolist() == [1 - 2j]
    assert pickle.loads(pickle.dumps(z.imag)).tolist() == [-2.0]


def test_repr_of_nodes(torch):
    y = torch.ones(1, requires_grad=True) + 1
    assert repr(y.grad_fn).startswith("<AddBackward0 object at 0x")
    assert repr(y.grad_fn.next_functions[0][0]).startswith("<AccumulateGrad object at 0x")


def test_type_names_in_messages(torch):
    raises(lambda: torch.ones(2, device=torch.float32), TypeError, "must be torch.device, not torch.dtype")
    raises(lambda: torch.gather(np.ones(2), 0, torch.ones(1)), TypeError, "not numpy.ndarray")


# --- inference tensors ---


@pytest.mark.parametrize(
    "call",
    [
        "x.add_(1)",
        "t.add(x, 1, out=x)",
        "t.add(t.ones(2), 1, out=x)",
        "x.t_()",
        "x[0].add_(1)",
        "x.__setitem__(0, 1)",
        "x.fill_(1)",
        "x.normal_()",
    ],
)
def test_inference_tensors_are_not_written(torch, call):
    with torch.inference_mode():
        x = torch.ones(2)
        x.add_(1)
    raises(lambda: eval(call, {"t": torch, "x": x}), RuntimeError, "Inplace update to inference tensor")
