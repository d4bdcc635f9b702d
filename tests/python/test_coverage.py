"""The names of PyTorch: they exist, and those without an implementation say so after the checks of their arguments."""

import os
import subprocess
import sys

import pytest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import opdb  # noqa: E402

PENDING = [e for e in opdb.catalog().entries if e.variants and not e.has_impl]
VALUES = {
    "Tensor": lambda torch: torch.ones(2, 2),
    "Scalar": lambda torch: 1,
    "int": lambda torch: 1,
    "float": lambda torch: 1.0,
    "bool": lambda torch: True,
    "str": lambda torch: "mean",
    "ScalarType": lambda torch: torch.float32,
    "Device": lambda torch: torch.device("cpu"),
}


def value(torch, type_):
    one = VALUES[type_.base](torch)
    return [one] * (type_.size or 1) if type_.is_list else one


def arguments(torch, entry):
    required = [a for a in entry.schema.args if a.default is None]
    positional = [value(torch, a.type) for a in required if not a.keyword_only]
    return positional, {a.name: value(torch, a.type) for a in required if a.keyword_only}


@pytest.mark.minitorch_only(reason="PyTorch has an implementation")
@pytest.mark.parametrize("entry", PENDING, ids=lambda e: e.schema.full_name)
def test_pending(torch, entry):
    table = getattr(torch._C, "_" + entry.space) if entry.space else torch._C._VariableFunctions
    function = getattr(table, entry.name, None) or getattr(torch.Tensor, entry.name)
    args, kwargs = arguments(torch, entry)
    names = sorted(torch._C._unimplemented_ops())
    if entry.name in names:
        with pytest.raises(NotImplementedError, match=entry.name):
            function(*args, **kwargs)
    for wrong in ([object()] * len(args), args + [object()] * 30):
        with pytest.raises(TypeError):
            function(*wrong, **kwargs)

    class Seen:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return "seen"

    if args and args[0].__class__ is torch.Tensor and "function" in entry.variants:
        assert function(Seen(), *args[1:], **kwargs) == "seen"


def test_names(torch, lib_name):
    from minitorch import coverage

    absent = []
    for path, names in coverage.names_in_scope().items():
        space = torch
        for part in path.split(".")[1:]:
            space = getattr(space, part)
        absent += [
            "%s.%s" % (path, name) for name in names if name not in dir(space) and not hasattr(space, name)
        ]
    assert absent == []


def test_command():
    run = subprocess.run(
        [sys.executable, "-m", "minitorch.coverage", "--list"], capture_output=True, text=True
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert "torch.special" in run.stdout and "linalg, not implemented" in run.stdout
    totals = [int(n) for n in run.stdout.split("\nall")[1].split("\n")[0].split()]
    assert totals[0] == totals[1] > totals[2] > 1300


@pytest.mark.minitorch_only(reason="PyTorch has them")
def test_out_of_scope(torch):
    with pytest.raises(NotImplementedError, match="quantized"):
        torch.quantize_per_tensor(torch.ones(2), 1.0, 0, None)
    with pytest.raises(NotImplementedError, match="sparse"):
        torch.ones(2).coalesce()
    assert torch.ones(2).to_dense().tolist() == [1.0, 1.0] and not torch.is_distributed(torch.ones(1))
    with pytest.raises(AttributeError):
        torch.no_such_name
