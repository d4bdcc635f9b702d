"""inspect.signature, help and the type stubs know every callable."""

import ast
import inspect
import os
import warnings

import pytest

minitorch = pytest.importorskip("minitorch")
coverage = pytest.importorskip("minitorch.coverage")


def callables():
    for path, names in coverage.names_in_scope().items():
        space = coverage.namespace(path)
        for name in names:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = getattr(space, name, None)
            if callable(found):
                yield pytest.param(path, name, found, id="%s.%s" % (path, name))


@pytest.mark.parametrize("path,name,function", callables())
def test_signature(path, name, function):
    signature = inspect.signature(function)
    if path == "torch.Tensor" and not isinstance(
        inspect.getattr_static(minitorch.Tensor, name), (staticmethod, classmethod)
    ):
        assert next(iter(signature.parameters)) in ("self", "args")
    assert function.__doc__


def test_some_signatures():
    say = {
        f.__name__: str(inspect.signature(f))
        for f in (minitorch.add, minitorch.cat, minitorch.clamp, minitorch.max)
    }
    assert say == {
        "add": "(input, other, *, alpha=1, out=None)",
        "cat": "(tensors, dim=0, *, out=None)",
        "clamp": "(input, min=None, max=None, *, out=None)",
        "max": "(input, *args, **kwargs)",
    }
    assert str(inspect.signature(minitorch.Tensor.mul)) == "(self, /, other)"
    assert str(inspect.signature(minitorch.ones(1).add_)) == "(other, *, alpha=1)"
    assert minitorch.max.__doc__.startswith(
        "max(input, *, out=None) -> Tensor\nmax(input, other, *, out=None) -> Tensor\nmax(input, dim"
    )


def stub(name):
    path = os.path.join(os.path.dirname(minitorch.__file__), name)
    with open(path, encoding="utf-8") as f:
        return ast.parse(f.read(), path)


def test_stub_parameters_agree_with_signatures():
    """Where a function has one form, its stub has the parameters that inspect sees."""
    found = {}
    for node in stub("__init__.pyi").body:
        if isinstance(node, ast.FunctionDef):
            found.setdefault(node.name, []).append([a.arg for a in node.args.args + node.args.kwonlyargs])
    checked = 0
    for name, forms in found.items():
        function = getattr(minitorch, name, None)
        if len(forms) == 1 and inspect.isbuiltin(function):
            parameters = list(inspect.signature(function).parameters)
            if "args" not in parameters:
                assert parameters == forms[0], name
                checked += 1
    assert checked > 400
    assert os.path.exists(os.path.join(os.path.dirname(minitorch.__file__), "py.typed"))
