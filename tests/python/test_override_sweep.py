"""Every public function written in Python asks for overrides, unless PyTorch's lists say that it does not: it is called with objects
that override, so no name of a parameter or of a helper has to be known."""

import gzip
import inspect
import json
import os
import sys
import types

import pytest

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, TESTS)
import override_calls  # noqa: E402
import override_lists  # noqa: E402

import minitorch as torch  # noqa: E402

with gzip.open(os.path.join(TESTS, "data", "overrides.json.gz")) as f:
    RECORDED = json.load(f)


def asks(function):
    """Does a call with nothing but objects that override reach them, with the function itself?"""
    for args, kwargs in override_calls.calls(inspect.signature(function)):
        given = override_calls.Objects(torch).call(function, args, kwargs)
        if given is not None and given[0] is function:
            return True
    return False


def must_ask(path, name):
    """What PyTorch lists, and what it does not know."""
    return name in RECORDED["overridable"][path] or name not in RECORDED["members"][path]


def own(path, name, function):
    """Is it a public function of the namespace, not something that its file imports?"""
    if name.startswith("_") or not isinstance(function, types.FunctionType):
        return False
    home = torch.Tensor if path == "Tensor" else override_lists.namespace(torch, path)
    if path == "Tensor":
        return function.__module__ == "minitorch._tensor"
    return function.__module__ in (home.__name__, "minitorch")


def silent(path):
    return [
        name
        for name, function in override_lists.members(torch, path)
        if own(path, name, function)
        and must_ask(path, name)
        and inspect.signature(function).parameters
        and not asks(function)
    ]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("path", [p for p in override_lists.NAMESPACES if p != "autograd"])
def test_functions_ask(path):
    assert silent(path) == []


def test_the_namespaces_are_not_empty():
    count = {
        path: sum(own(path, name, f) for name, f in override_lists.members(torch, path))
        for path in override_lists.NAMESPACES
    }
    assert count["functional"] > 20 and count["nn.functional"] > 90 and count["nn.init"] > 10
    assert count["Tensor"] > 30


def test_the_rule_notices():
    def by_other_names(signal, window):
        return signal

    def with_default(weight, bias=None):
        return weight

    def of_many(*operands):
        return operands[0]

    def helped(input):
        return by_other_names(input, input)

    def by_methods(x):
        return x.detach().abs()

    def by_functions(x):
        return torch.abs(x)

    for function in (by_other_names, with_default, of_many, helped, by_methods, by_functions):
        assert not asks(function)
    assert (
        asks(torch.functional.norm) and asks(torch.nn.functional.dropout) and asks(torch.functional.nonzero)
    )
