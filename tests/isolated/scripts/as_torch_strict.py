"""`import minitorch.as_torch` makes torch a name of minitorch; what is missing fails where it is asked for."""

import importlib.metadata
import importlib.util
import inspect
import pickle
import sys

import minitorch

assert "torch" not in sys.modules
import minitorch.as_torch  # noqa: E402

assert importlib.util.find_spec("torch").submodule_search_locations == list(minitorch.__path__)
assert importlib.util.find_spec("torch.nn.init").origin == minitorch.nn.init.__file__
assert importlib.util.find_spec("torch.no_such_module") is None

import torch  # noqa: E402
import torch.backends.cudnn as cudnn  # noqa: E402
import torch.nn.functional as F  # noqa: E402
import torch.optim.lr_scheduler as schedules  # noqa: E402
from torch.utils.data import DataLoader  # noqa: E402

assert torch is minitorch and F is minitorch.nn.functional and schedules is minitorch.optim.lr_scheduler
assert cudnn is minitorch.backends.cudnn and DataLoader is minitorch.utils.data.DataLoader
assert torch.nn.Linear is sys.modules["minitorch.nn"].Linear
assert torch.__spec__.name == "minitorch" and torch.nn.__spec__.name == "minitorch.nn"
assert (
    torch.Tensor.__module__ == "torch"
    and inspect.getmodule(torch.nn.Linear).__name__ == "minitorch.nn.modules.linear"
)
assert importlib.metadata.version("torch") == torch.__version__
assert "torch" in importlib.metadata.packages_distributions()["torch"]

scope = {}
exec("from torch import *", scope)
assert scope["tensor"] is torch.tensor and scope["float32"] is torch.float32 and "sys" not in scope


def fails(kind, code, text):
    try:
        exec(code, {"torch": torch})
    except kind as exc:
        assert type(exc) is kind and text in str(exc), repr(exc)
        return exc
    raise AssertionError("no %s: %s" % (kind, code))


# Unknown names fail where they are asked for.
fails(AttributeError, "torch.no_such_name", "module 'torch' has no attribute 'no_such_name'")
fails(AttributeError, "torch.nn.NoSuchLayer", "has no attribute 'NoSuchLayer'")
fails(ImportError, "from torch import no_such_name", "cannot import name 'no_such_name'")
fails(ImportError, "from torch.nn.functional import no_such_name", "cannot import name 'no_such_name'")
assert fails(ModuleNotFoundError, "import torch.no.such", "No module named 'torch.no'").name == "torch.no"
fails(ModuleNotFoundError, "import torch.nn.functional.x", "not a package")
fails(ModuleNotFoundError, "import torch.distributed.no_such", "No module named 'torch.distributed.no_such'")
assert not hasattr(torch, "no_such_name") and getattr(torch, "no_such_name", 1) == 1
assert not hasattr(torch.Tensor, "no_such_method")

# Modules of PyTorch that are not here are stubs.
import torch.distributed as dist  # noqa: E402
import torch.fx.passes  # noqa: E402
import torch._dynamo.config as config  # noqa: E402
from torch.fx import GraphModule, Node  # noqa: E402

assert (
    dist is torch.distributed and torch.fx.Node is Node and sys.modules["torch.fx"].GraphModule is GraphModule
)
assert hasattr(torch, "xpu") and torch.xpu.is_available() is False and torch.xpu.device_count() == 0
assert dist.is_available() is False and not (dist.is_available() and dist.is_initialized())
assert (
    repr(dist) == "<stub of torch.distributed>"
    and repr(dist.ReduceOp.SUM) == "<stub of torch.distributed.ReduceOp.SUM>"
)
config.suppress_errors = True
assert config.suppress_errors is True
assert (
    not isinstance(torch.ones(1), (Node, int))
    and not issubclass(torch.Tensor, Node)
    and issubclass(Node, Node)
)
fails(
    NotImplementedError,
    "torch.distributed.init_process_group('gloo')",
    "torch.distributed.init_process_group is not in minitorch",
)
fails(NotImplementedError, "torch.fx.symbolic_trace(torch.nn.Linear(1, 1))", "torch.fx.symbolic_trace")
fails(NotImplementedError, "torch.distributed()", "torch.distributed is not")
for code in ("if %s: pass", "%s + 1", "1 - %s", "for x in %s: pass", "len(%s)", "with %s: pass", "int(%s)", "[1, 2][%s]", "3 in %s",
             "%s < 1", "-%s", "%s.__new__(%s)", "type('T', (%s,), {})()", "__import__('copyreg').__newobj__(%s)"):  # fmt: skip
    fails(
        NotImplementedError,
        code.replace("%s", "torch.distributed.ReduceOp.SUM"),
        "torch.distributed.ReduceOp.SUM",
    )


class Tracer(torch.fx.Tracer):
    def __init__(self):
        raise AssertionError("not reached")


class Both(torch.nn.Module, torch.fx.Interpreter):
    pass


def annotated(x: "Node | None", y: list[Node], z: Node[int] = dist.ReduceOp.MAX) -> GraphModule:
    return x


assert inspect.signature(annotated).return_annotation is GraphModule
fails(
    NotImplementedError,
    "import sys; sys.modules['__main__'].Tracer()",
    "torch.fx.Tracer is not in minitorch (Tracer derives from it)",
)
fails(
    NotImplementedError,
    "import sys; sys.modules['__main__'].Both()",
    "torch.fx.Interpreter is not in minitorch (Both",
)
try:
    try:
        1 / 0
    except (torch.fx.proxy.TraceError, dist.DistBackendError):
        raise AssertionError
except ZeroDivisionError:
    pass

# Pickles that PyTorch wrote with the pickle module itself say torch..., and so may ours.
written = (
    b"\x80\x02}q\x00(X\x01\x00\x00\x00sq\x01ctorch\nSize\nq\x02K\x02K\x03\x86q\x03\x85q\x04Rq\x05X\x01\x00\x00\x00dq\x06ctorch\n"
    b"float16\nq\x07X\x01\x00\x00\x00vq\x08ctorch\ndevice\nq\tX\x03\x00\x00\x00cpuq\n\x85q\x0bRq\x0cX\x01\x00\x00\x00cq\r"
    b"ctorch.nn.modules.linear\nLinear\nq\x0ecollections\nOrderedDict\nq\x0f)Rq\x10u."
).replace(b"q\x0ecollections", b"q\x0eX\x01\x00\x00\x00oq\x11ccollections")
read = pickle.loads(written)
assert read["s"] == torch.Size([2, 3]) and read["d"] is torch.float16 and read["v"] == torch.device("cpu")
assert read["c"] is torch.nn.Linear
assert pickle.loads(b"ctorch._utils\n_rebuild_tensor_v2\n.") is minitorch._utils._rebuild_tensor_v2
for value in (torch.ones(2), torch.nn.Linear(1, 2), torch.float64, torch.Tensor, torch.Size([1])):
    assert type(pickle.loads(pickle.dumps(value))) is type(value)

# What was asked for is told, with the places.
missing = {each.name: each for each in minitorch.as_torch.report()}
assert missing["torch.fx.Tracer"].count == 1 and "torch.no_such_name" not in missing
assert list(missing["torch.fx.Tracer"].places) == [
    "%s:%d" % (__file__, Tracer.__init__.__code__.co_firstlineno - 1)
]
assert "torch.distributed.ReduceOp.SUM" in str(minitorch.as_torch.report())

minitorch.as_torch.uninstall()
assert (
    "torch" not in sys.modules
    and not hasattr(minitorch, "distributed")
    and minitorch.Tensor.__module__ == "minitorch"
)
print("ok")
