"""The catalog against a running PyTorch: signatures and where each name is visible."""

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
    """Numbers by value."""
    return re.sub(r"=(-?[\d.]+(e-?\d+)?)", lambda m: "=%g" % float(m.group(1)), text).replace("'", '"')


EXTRA = {"absolute_"}  # a function here, only a method upstream
KNOWN = [e for e in CATALOG.entries if e.schema.full_name in THEIRS and not MERGED.match(e.name)]


@pytest.mark.parametrize("entry", KNOWN, ids=lambda e: e.schema.full_name)
def test_signature(entry):
    assert normal(str(entry.schema)) == normal(str(THEIRS[entry.schema.full_name]))


def test_visible_ops_exist_upstream():
    for e in CATALOG.entries:
        if e.variants and e.schema.overload != "method" and not MERGED.match(e.name):
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
