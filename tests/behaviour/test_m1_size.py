# SPDX-License-Identifier: BSD-3-Clause
"""torch.Size, and what tensors answer about their sizes."""

import copy
import itertools
import pickle

import pytest


@pytest.mark.item("M1.30")
def test_is_a_tuple(torch):
    s = torch.Size([1, 2])
    assert issubclass(torch.Size, tuple) and isinstance(s, tuple)
    assert repr(s) == str(s) == "torch.Size([1, 2])"
    assert repr(torch.Size()) == repr(torch.Size([])) == "torch.Size([])"
    assert s == (1, 2) and (1, 2) == s and s != (1, 3) and s != [1, 2]
    assert hash(s) == hash((1, 2))
    assert {s: "x"}[(1, 2)] == "x"
    assert s < (1, 3) and s > (1,) and s <= (1, 2) and torch.Size([2]) > s
    assert sorted([torch.Size([3]), torch.Size([1, 5]), (2,)]) == [(1, 5), (2,), (3,)]


@pytest.mark.item("M1.31")
def test_constructor(torch):
    for given in (
        [1, 2, 3],
        (1, 2, 3),
        iter([1, 2, 3]),
        (i for i in (1, 2, 3)),
        range(1, 4),
        {1: 0, 2: 0, 3: 0},
    ):
        assert torch.Size(given) == (1, 2, 3)
    assert torch.Size(torch.Size([4])) == (4,)
    assert torch.Size(torch.tensor([1, 2])) == (1, 2)
    assert torch.Size([-1, 0]) == (-1, 0)
    assert torch.Size([2**40]) == (2**40,)


@pytest.mark.item("M1.31")
def test_items_become_ints(torch):
    numpy = pytest.importorskip("numpy")
    s = torch.Size([True, False, numpy.int64(3), numpy.int32(4), torch.tensor(5), torch.tensor([6])])
    assert s == (1, 0, 3, 4, 5, 6)
    assert type(s[4]) is int and type(s[5]) is int
    assert repr(torch.Size([True, 2])) == "torch.Size([1, 2])"

    class Seven:
        def __index__(self):
            return 7

    assert torch.Size([Seven()]) == (7,)


@pytest.mark.item("M1.31")
@pytest.mark.parametrize("bad", ["ab", [1.5], [1, None], [[1]], ["1"], [1, 2.0]])
def test_bad_items(torch, bad):
    with pytest.raises(TypeError, match="Size") as info:
        torch.Size(bad)
    at = next(i for i, item in enumerate(bad) if not isinstance(item, int))
    assert "item %d" % at in str(info.value)
    assert type(bad[at]).__name__ in str(info.value)


@pytest.mark.item("M1.31")
def test_bad_arguments(torch):
    for bad in (1, 1.5, None):
        with pytest.raises(TypeError):
            torch.Size(bad)
    with pytest.raises(TypeError):
        torch.Size([1], [2])
    with pytest.raises(TypeError):
        torch.Size(iterable=[1])
    for bad in (torch.tensor(1.5), torch.tensor([1, 2]), torch.tensor([1.0])):
        with pytest.raises((TypeError, RuntimeError, ValueError)):
            torch.Size([bad])


@pytest.mark.item("M1.31")
@pytest.mark.parametrize("n", [2**63, -(2**63) - 1, 10**30])
def test_an_integer_too_long(torch, n):
    with pytest.raises(ValueError, match="Overflow"):
        repr(torch.Size([n]))


@pytest.mark.item("M1.31")
def test_an_error_of_the_iterable_comes_through(torch):
    def items():
        yield 1
        raise KeyError("inside")

    with pytest.raises(KeyError, match="inside"):
        torch.Size(items())


@pytest.mark.item("M1.32")
def test_slices_sums_and_products_keep_the_class(torch):
    s = torch.Size([1, 2, 3])
    for made, expected in (
        (s[1:], (2, 3)),
        (s[::-1], (3, 2, 1)),
        (s[:0], ()),
        (s + (4,), (1, 2, 3, 4)),
        (s + s, (1, 2, 3, 1, 2, 3)),
        (s * 2, (1, 2, 3, 1, 2, 3)),
        (2 * s, (1, 2, 3, 1, 2, 3)),
        (s * 0, ()),
        ((4,) + s, (4, 1, 2, 3)),
        (() + s, (1, 2, 3)),
    ):
        assert type(made) is torch.Size
        assert made == expected
    assert type(s[0]) is int and s[-1] == 3
    with pytest.raises(IndexError):
        s[3]


@pytest.mark.item("M1.32")
def test_sums_with_others(torch):
    s = torch.Size([1, 2])

    class Right:
        def __radd__(self, other):
            return "right"

    assert s + Right() == "right"
    with pytest.raises(TypeError, match="not an acceptable base type"):
        type("Sub", (torch.Size,), {})
    for bad in ([1], "ab", 3, None, range(3)):
        with pytest.raises(TypeError, match="Size"):
            s + bad
        with pytest.raises(TypeError):
            bad + s
    with pytest.raises(TypeError):
        s * 1.5


@pytest.mark.item("M1.33")
def test_numel(torch):
    assert torch.Size([2, 3, 4]).numel() == 24
    assert torch.Size([]).numel() == 1
    assert torch.Size([3, 0]).numel() == 0
    assert torch.Size([-1, 3]).numel() == -3


@pytest.mark.item("M1.33")
def test_tuple_methods(torch):
    s = torch.Size([3, 1, 3])
    assert s.count(3) == 2 and s.index(1) == 1 and len(s) == 3 and 1 in s and 7 not in s
    assert list(s) == [3, 1, 3] and tuple(reversed(s)) == (3, 1, 3) and max(s) == 3 and sum(s) == 7
    a, *rest = s
    assert (a, rest) == (3, [1, 3])
    assert "%d %d %d" % s == "3 1 3"
    assert list(itertools.chain(s, s)) == [3, 1, 3] * 2


@pytest.mark.item("M1.33")
def test_pickle_and_copy(torch):
    s = torch.Size([1, 2])
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        again = pickle.loads(pickle.dumps(s, protocol))
        assert type(again) is torch.Size and again == s
    for again in (copy.copy(s), copy.deepcopy(s)):
        assert type(again) is torch.Size and again == s
    kind, args = s.__reduce__()
    assert kind is torch.Size and args == ((1, 2),) and type(args[0]) is tuple


@pytest.mark.item("M1.34")
def test_sizes_of_a_tensor(torch):
    x = torch.zeros(2, 3)
    assert (
        type(x.shape) is torch.Size and type(x.size()) is torch.Size and type(x.size(dim=None)) is torch.Size
    )
    assert x.shape == x.size() == x.size(None) == (2, 3)
    assert type(x.stride()) is tuple and x.stride() == x.stride(None) == (3, 1)
    assert (x.size(0), x.size(1), x.size(-1), x.size(-2), x.size(dim=1)) == (2, 3, 3, 2, 3)
    assert (x.stride(0), x.stride(1), x.stride(-1), x.stride(-2), x.stride(dim=0)) == (3, 1, 1, 3, 3)
    assert type(x.size(0)) is int and type(x.stride(0)) is int
    assert torch.zeros(()).shape == torch.Size([]) and torch.zeros(()).stride() == ()


@pytest.mark.item("M1.34")
@pytest.mark.parametrize("method", ["size", "stride"])
def test_dimensions_out_of_range(torch, method):
    ask = getattr(torch.zeros(2, 3), method)
    for bad in (2, -3, 100, -(2**40)):
        with pytest.raises(IndexError, match=r"\[-2, 1\]"):
            ask(bad)
    for bad in (0, -1, 1):
        with pytest.raises(IndexError):
            getattr(torch.zeros(()), method)(bad)
    with pytest.raises(IndexError, match="no dimensions"):
        torch.zeros(()).size(0)
    for bad in (1.5, "0", [0]):
        with pytest.raises(TypeError, match=method):
            ask(bad)
