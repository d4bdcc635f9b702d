# SPDX-License-Identifier: BSD-3-Clause
"""Samples: expressions of samples/*.py whose results on PyTorch are recorded in
tests/data/python_samples.json.gz.

A sample module has `namespace(torch)`, the names its expressions use, made anew for every expression,
EXPRESSIONS, and may have RTOL, the relative tolerance for floating point results by itemsize of a real number
(default below; 0 compares bits).
"""

import contextlib
import glob
import importlib.util
import io
import os
import re
import warnings

HERE = os.path.dirname(os.path.abspath(__file__))
TABLE = os.path.join(os.path.dirname(HERE), "data", "python_samples.json.gz")
RTOL = {2: 4e-3, 4: 2e-5, 8: 1e-11}
SEED = 5


def areas():
    """Names of the sample modules."""
    return sorted(
        os.path.basename(path)[:-3]
        for path in glob.glob(os.path.join(HERE, "samples", "*.py"))
        if not path.endswith("__init__.py")
    )


def load(area):
    """The sample module of that name."""
    path = os.path.join(HERE, "samples", area + ".py")
    spec = importlib.util.spec_from_file_location("samples_" + area, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _text(value):
    text = str(value).replace("minitorch", "torch")
    # The order of a set of strings differs from run to run.
    return re.sub(r"\{('[^{}:]*')\}", lambda m: "{%s}" % ", ".join(sorted(m[1].split(", "))), text)


def _numbers(torch, t):
    """Values of a tensor as a flat list of JSON values; complex numbers as two."""
    t = t.detach()
    if t.is_complex():
        t = torch.view_as_real(t.resolve_conj())
    wide = t.dtype in (torch.float32, torch.float64)
    values = (t if wide or not t.is_floating_point() else t.float()).reshape(-1).tolist()
    if t.is_floating_point():
        values = [v if v == v and abs(v) != float("inf") else repr(v) for v in values]
        if t.dtype != torch.float64:
            values = [v if isinstance(v, str) else float("%.9g" % v) for v in values]
    return values


def describe(torch, value):
    """A JSON value that says what `value` is."""
    if isinstance(value, torch.Tensor):
        if value.device.type == "meta":
            return {"meta": [str(value.dtype), list(value.shape)]}
        kind = type(value).__name__
        about = [str(value.dtype), list(value.shape), list(value.stride()), value.requires_grad, kind]
        return {"tensor": about, "values": _numbers(torch, value)}
    if isinstance(value, torch.nn.Module):
        return {"module": repr(value)}
    if isinstance(value, dict):
        items = [[describe(torch, k), describe(torch, v)] for k, v in value.items()]
        return {"dict": items, "kind": type(value).__name__}
    if isinstance(value, (list, tuple, set)):
        items = [describe(torch, v) for v in (sorted(value) if isinstance(value, set) else value)]
        return {"items": items, "kind": type(value).__name__}
    if isinstance(value, float):
        return {"float": value if value == value and abs(value) != float("inf") else repr(value)}
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, str):
        return {"str": _text(value)}
    if isinstance(value, type):
        return {"type": value.__name__}
    return {"repr": _text(repr(value)).partition(" at 0x")[0]}


def run(torch, module, expression):
    """What the expression gives, warns of and prints, or the error it raises."""
    torch.manual_seed(SEED)
    printed = io.StringIO()
    with warnings.catch_warnings(record=True) as caught, contextlib.redirect_stdout(printed):
        warnings.simplefilter("always")
        try:
            result = {"value": describe(torch, eval(expression, module.namespace(torch)))}
        except Exception as error:
            result = {"error": type(error).__name__, "text": _text(error)}
    told = [w for w in caught if "oneDNN" not in str(w.message)]
    if told:
        # The beginning of the text: some of PyTorch's end with where to ask for help.
        result["warnings"] = [[w.category.__name__, _text(w.message)[:50]] for w in told]
    if printed.getvalue():
        result["printed"] = printed.getvalue()
    return result


# --- comparison ---


def _close(got, want, rtol):
    if isinstance(got, str) or isinstance(want, str) or not rtol:
        return got == want
    return abs(got - want) <= rtol * max(abs(got), abs(want)) or abs(got - want) <= rtol * 1e-2


def _tensors_agree(got, want, rtol):
    if got["tensor"] != want["tensor"] or len(got["values"]) != len(want["values"]):
        return False
    size = {"16": 2, "32": 4, "64": 8, "128": 8}.get(
        "".join(c for c in want["tensor"][0] if c.isdigit())[-3:], 0
    )
    if want["tensor"][0] == "torch.complex64":
        size = 4
    floating = "float" in want["tensor"][0] or "complex" in want["tensor"][0]
    tolerance = rtol[size] if floating and rtol else 0
    scale = max([abs(v) for v in want["values"] if not isinstance(v, str)], default=1) if floating else 1
    return all(
        _close(g, w, tolerance) or (tolerance and not isinstance(g, str) and abs(g - w) <= tolerance * scale)
        for g, w in zip(got["values"], want["values"])
    )


def agree(got, want, rtol):
    """Whether two descriptions say the same, up to the tolerance for floating point numbers."""
    if type(got) is not type(want):
        return False
    if isinstance(want, dict):
        if set(got) != set(want):
            return False
        if "tensor" in want:
            return _tensors_agree(got, want, rtol)
        if "float" in want:
            return _close(got["float"], want["float"], rtol and rtol[8])
        return all(agree(got[key], want[key], rtol) for key in want)
    if isinstance(want, list):
        return len(got) == len(want) and all(agree(g, w, rtol) for g, w in zip(got, want))
    return got == want
