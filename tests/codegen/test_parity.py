"""The catalog against a running PyTorch: signatures and where each name is visible."""

import ast
import os
import re

import pytest

torch = pytest.importorskip("torch")
if "minitorch" in torch.__name__:
    pytest.skip("needs PyTorch", allow_module_level=True)

from interpreter import read_catalog  # noqa: E402
import schema  # noqa: E402

CATALOG = read_catalog()
THEIRS = {}
for _s in torch._C._jit_get_all_schemas():
    if _s.name.startswith("aten::"):
        _text = (
            str(_s)[len("aten::") :]
            .replace("dtype=4", "dtype=long")
            .replace("memory_format=0", "memory_format=contiguous_format")
        )
        try:
            _parsed = schema.parse(_text)
            THEIRS[_parsed.full_name] = _parsed
        except schema.CatalogError:
            pass
SPACES = {"nn": torch._C._nn, "linalg": torch._C._linalg, "fft": torch._C._fft, "special": torch._C._special}
# Overloads that merge several of PyTorch's: a generator is an optional keyword here, and so are the device and dtype of to.
MERGED = re.compile(r"to\b|rand|randn|randint|randperm|randint_like|randn_like|rand_like|normal")


def normal(text):
    """Numbers by value; a default of one number is the same with and without brackets."""
    text = re.sub(r"=\[(-?\d+)\]", r"=\1", text)
    return re.sub(r"=(-?[\d.]+(e-?\d+)?)", lambda m: "=%g" % float(m.group(1)), text).replace("'", '"')


EXTRA = {"absolute_"}  # a function here, only a method upstream
KNOWN = [e for e in CATALOG.entries if e.schema.full_name in THEIRS and not MERGED.match(e.name)]


@pytest.mark.parametrize("entry", KNOWN, ids=lambda e: e.schema.full_name)
def test_signature(entry):
    assert normal(str(entry.schema)) == normal(str(THEIRS[entry.schema.full_name]))


OPERATORS = {s.name for s in THEIRS.values()}


def test_visible_ops_exist_upstream():
    """What is an operator there has the same overloads here. Some of their functions and methods are none (float, cpu):
    test_names_are_where_pytorch_has_them looks for those."""
    for e in CATALOG.entries:
        if e.variants and e.schema.overload != "method" and not MERGED.match(e.name) and e.name in OPERATORS:
            assert e.schema.full_name in THEIRS, e.where


def test_names_are_where_pytorch_has_them():
    functions, methods = torch._C._VariableFunctions, torch._C.TensorBase
    wrong = []
    for e in CATALOG.entries:
        for name in (e.name,) + e.alias:
            spaced = any(name.startswith(s + "_") for s in ("linalg", "fft", "special"))
            if "method" in e.variants and not spaced and not hasattr(methods, name):
                wrong.append((e.where, name, "method"))
            if (
                "function" in e.variants
                and not spaced
                and not (hasattr(functions, name) or hasattr(torch, name))
            ):
                wrong.append((e.where, name, "function"))
            if e.space and not spaced and not hasattr(SPACES[e.space], name):
                wrong.append((e.where, name, e.space))
            if "inplace_function" in e.variants and not spaced and not hasattr(functions, name + "_"):
                wrong.append((e.where, name + "_", "function"))
            if (
                "inplace" in e.variants
                and "method" in e.variants
                and not spaced
                and not hasattr(methods, name + "_")
            ):
                wrong.append((e.where, name + "_", "method"))
    assert [w for w in wrong if w[1] not in EXTRA] == []


# Overloads without out= here that have it upstream: factories of tensors, lists of results, the parts of normalisation.
NO_OUT = re.compile(
    r"(lin|log)space|native_batch_norm|_log_softmax_backward_data|split.*_copy|unbind_copy|spmm|dsmm"
)


def their_signatures():
    """{function: [(names of the arguments, is there out=)]}, of the stubs that come with PyTorch."""
    path = os.path.join(os.path.dirname(torch.__file__), "_C", "_VariableFunctions.pyi")
    found = {}
    with open(path) as f:
        tree = ast.parse(f.read())
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            names = [a.arg for a in node.args.args + node.args.kwonlyargs]
            found.setdefault(node.name, []).append((argument_names(names), "out" in names))
    return found


def argument_names(names):
    options = ("out", "dtype", "layout", "device", "pin_memory", "requires_grad")
    return tuple("input" if n == "self" else n for n in names if n not in options)


def test_out_is_where_pytorch_has_it():
    theirs, wrong = their_signatures(), []
    for e in CATALOG.entries:
        if "function" not in e.variants or NO_OUT.match(e.name):
            continue
        own = argument_names([a.name for a in e.schema.args])
        upstream = {has for names, has in theirs.get(e.name, ()) if names == own}
        if len(upstream) == 1 and e.out_ok not in upstream:
            wrong.append((e.where, e.schema.full_name, e.out_ok))
    assert wrong == []
