"""What functions written in Python hand on to overrides: args and kwargs as PyTorch's, whatever the call looked like."""

import gzip
import json
import os
import sys

import pytest

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, TESTS)
import override_calls  # noqa: E402
import override_lists  # noqa: E402

# PyTorch loses an argument on the way: the weight, the check for ambiguity.
LOSES = {"nn.functional.l1_loss", "Tensor.dim_order"}


def recorded():
    with gzip.open(os.path.join(TESTS, "data", "overrides.json.gz")) as f:
        return json.load(f)["calls"]


@pytest.mark.item("M6.05", "M6.22")
@pytest.mark.filterwarnings("ignore")
def test_arguments_handed_on(torch):
    wrong, count = [], 0
    for path, name, args, kwargs, *expected in recorded():
        full = ".".join(filter(None, (path, name)))
        function = getattr(override_lists.namespace(torch, path), name, None)
        if function is None:
            assert name.startswith("_"), full
            continue
        if torch.__name__ != "torch" and full in LOSES:
            continue
        count += 1
        given = override_calls.Objects(torch).call(function, args, kwargs)
        if given is None or given[0] is not function or list(given[1:]) != expected:
            wrong.append((full, args, kwargs, given and given[1:], expected))
    assert wrong == []
    assert count > 500


@pytest.mark.item("M6.22")
def test_arguments_are_checked_first(torch):
    """A call that does not fit the parameters is Python's TypeError, whoever overrides."""

    class Duck:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            raise AssertionError

    F, d = torch.nn.functional, Duck()
    for call, words in (
        (lambda: F.l1_loss(d), r"l1_loss\(\) missing 1 required positional argument: 'target'"),
        (lambda: F.dropout2d(d, nonsense=1), r"dropout2d\(\) got an unexpected keyword argument 'nonsense'"),
        (lambda: F.fold(d, 1, 1, output_size=2), r"fold\(\) got multiple values for argument 'output_size'"),
        (lambda: F.unfold(d), r"unfold\(\) missing 1 required positional argument: 'kernel_size'"),
    ):
        with pytest.raises(TypeError, match=words):
            call()


@pytest.mark.item("M6.05")
def test_methods_that_python_restricts(torch):
    class Anything(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return "any"

    class Mixed:
        def __bool__(self):
            return False

        def __len__(self):
            return 7

    t = torch.zeros(3).as_subclass(Anything)
    # Called by name they give what the override gives; Python's own functions insist on a type.
    assert torch.Tensor.__bool__(t) == t.__bool__() == "any"
    assert torch.Tensor.__len__(t) == t.__len__() == "any"
    with pytest.raises(TypeError, match="should return bool"):
        bool(t)
    with pytest.raises(TypeError):
        len(t)
    first = type("First", (Mixed, torch.Tensor), {})
    last = type("Last", (torch.Tensor, Mixed), {})
    one = torch.ones(1)
    assert (bool(one.as_subclass(first)), len(one.as_subclass(first))) == (False, 7)
    assert (bool(one.as_subclass(last)), len(one.as_subclass(last))) == (True, 1)
    last.__len__ = Mixed.__len__
    assert len(one.as_subclass(last)) == 7
    del last.__len__
    assert len(one.as_subclass(last)) == 1
