"""inspect.signature, help and the type stubs know every callable."""

import ast
import inspect
import os
import re
import sys
import warnings

import pytest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import opdb  # noqa: E402

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


CALLABLES = list(callables())

# Parameters that take any number of arguments in PyTorch's documentation as well, and functions that pass on what they get.
SPREAD = {"size", "sizes", "shape", "dims", "dim", "repeats", "tensors", "shapes", "matrices"}
PASS_ON = """torch.einsum torch.sym_sum torch.set_vital torch.Tensor.new torch.Tensor.__torch_dispatch__
torch.nn.functional.handle_torch_function torch.nn.functional.has_torch_function_variadic torch.nn.functional.grouped_mm
torch.nn.functional.scaled_mm torch.nn.functional.scaled_grouped_mm""".split()


@pytest.mark.parametrize("path,name,function", CALLABLES)
def test_signature(path, name, function):
    parameters = inspect.signature(function).parameters
    if path == "torch.Tensor" and name != "__torch_dispatch__":
        if not isinstance(inspect.getattr_static(minitorch.Tensor, name), (staticmethod, classmethod)):
            assert next(iter(parameters)) == "self"
    elif inspect.isbuiltin(function):
        assert "self" not in parameters and not re.search(r"\bself\b(?!-)", function.__doc__)
    spread = [p.name for p in parameters.values() if p.kind == p.VAR_POSITIONAL]
    assert set(spread) <= SPREAD or "%s.%s" % (path, name) in PASS_ON
    assert function.__doc__


def refuses(function, args, kwargs):
    try:
        function(*args, **kwargs)
    except TypeError:
        return True
    return False


def test_signatures_take_the_samples():
    """What a function takes can be bound, for every overload whose parameters the signature has."""
    checked, refused = 0, []
    for entry in opdb.catalog().entries:
        function = opdb.find(minitorch, entry)
        if function is None or entry.only_inplace:
            continue
        signature = inspect.signature(function)
        names = {"input" if a.name == "self" else a.name for a in entry.schema.args}
        for sample in opdb.samples(entry) if names <= set(signature.parameters) else ():
            args, kwargs = opdb.Filler(minitorch, "float32").evaluate(sample)
            checked += 1
            try:
                signature.bind(*args, **kwargs)
            except TypeError as error:
                if not refuses(
                    function, args, kwargs
                ):  # as count_nonzero does the samples of reductions with keepdim
                    refused.append((entry.name, sample, str(error)))
    assert refused == [] and checked > 1400


def test_some_signatures():
    say = {
        f.__name__: str(inspect.signature(f))
        for f in (
            minitorch.add,
            minitorch.cat,
            minitorch.clamp,
            minitorch.max,
            minitorch.sum,
            minitorch.sort,
            minitorch.where,
            minitorch.polygamma,
            minitorch.repeat_interleave,
            minitorch.zeros,
            minitorch.isin,
        )
    }
    factory = "*, dtype=None, layout=None, device=None, pin_memory=None, out=None, requires_grad=False"
    assert say == {
        "add": "(input, other, *, alpha=1, out=None)",
        "cat": "(tensors, dim=0, *, out=None)",
        "clamp": "(input, min=None, max=None, *, out=None)",
        "max": "(input, dim=Ellipsis, keepdim=False, *, out=None)",
        "sum": "(input, dim=None, keepdim=False, *, dtype=None, out=None)",
        "sort": "(input, dim=-1, descending=False, *, stable=None, out=None)",
        "where": "(condition, input=Ellipsis, other=Ellipsis, *, out=None)",
        "polygamma": "(n, input, *, out=None)",
        "repeat_interleave": "(input, repeats=Ellipsis, dim=None, *, output_size=None)",
        "zeros": "(*size, %s)" % factory.removeprefix("*, "),
        "isin": "(elements, test_elements, *, assume_unique=False, invert=False, out=None)",
    }
    assert str(inspect.signature(minitorch.arange)) == "(start, end=Ellipsis, step=1, %s)" % factory
    assert str(inspect.signature(minitorch.Tensor.mul)) == "(self, /, other)"
    assert str(inspect.signature(minitorch.Tensor.permute)) == "(self, /, *dims)"
    assert str(inspect.signature(minitorch.Tensor.view)) == "(self, /, *size)"
    assert str(inspect.signature(minitorch.ones(1).add_)) == "(other, *, alpha=1)"
    assert str(inspect.signature(minitorch.nn.functional.max_pool2d)).endswith(
        "ceil_mode=False, return_indices=False)"
    )
    assert minitorch.max.__doc__.startswith(
        "max(input, *, out=None) -> Tensor\nmax(input, other, *, out=None) -> Tensor\nmax(input, dim"
    )
    assert minitorch.add.__doc__.endswith("The sum of input and other, which is first multiplied by alpha.")
    assert minitorch.linalg.inv.__doc__.startswith("linalg.inv(A, *, out=None) -> Tensor\n")


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
            assert parameters == forms[0], name
            checked += 1
    assert checked > 400
    assert os.path.exists(os.path.join(os.path.dirname(minitorch.__file__), "py.typed"))
