# SPDX-License-Identifier: BSD-3-Clause
"""What programs that run as torch can notice: the stack, stand-ins, names of modules, pickles."""

import pickle
import subprocess
import sys

import pytest

from test_as_torch import here, program, start  # noqa: F401

pytest.importorskip("minitorch")
pytestmark = pytest.mark.minitorch_only(reason="starts minitorch")

STACK = """
import inspect, logging, sys, traceback, warnings
print([frame.filename for frame in inspect.stack()], sys._getframe().f_back)
try:
    sys._getframe(1)
except ValueError as e:
    print(e)
def f(level):
    warnings.warn("words", stacklevel=level)
    print(traceback.format_stack())
for level in (1, 2, 3, 9):
    f(level)
try:
    1 / 0
except ZeroDivisionError:
    traceback.print_exc()
logging.basicConfig(format="%(filename)s:%(lineno)d %(message)s")
logging.warning("words")
print(sys.flags.interactive, sys.gettrace(), sys.getrecursionlimit(), inspect.getmodule(f).__name__)
def deep(n=0):
    try:
        return deep(n + 1)
    except RecursionError:
        return n
print(deep() > 900)
def steps():
    try:
        yield sys._getframe().f_back is not None
    finally:
        print("closed")
kept = steps()
print(next(kept))
class Last:
    def __del__(self):
        print("freed")
last = Last()
"""


def test_program_is_the_outermost_frame(here):  # noqa: F811
    program(here / "stack.py", STACK)
    expected = start(["stack.py"], here)
    assert expected[0] == 0
    assert start(["stack.py"], here, ["-m", "minitorch"]) == expected


@pytest.mark.parametrize("line", [["-m", "fails"], ["-m", "package.bad"], ["failing"]], ids=" ".join)
def test_tracebacks_of_modules(here, line):  # noqa: F811
    program(here / "package" / "bad.py", "def f():\n    return {}[1]\n\n\nf()\n")
    program(here / "failing" / "__main__.py", "1 / 0\n")
    expected = start(line, here)
    assert expected[0] == 1 and "runpy" in expected[2]
    assert start(line, here, ["-m", "minitorch"]) == expected


ENDS = {
    "group": "raise ExceptionGroup('g', [ValueError(1)])" if sys.version_info >= (3, 11) else "raise OSError",
    "no text": "class E(Exception):\n    def __str__(self): 1 / 0\nraise E",
    "base": "class B(BaseException): pass\nraise B",
    "object": "raise SystemExit([1])",
    "big": "import sys; sys.exit(257)",
    "signal": "import os, signal, time; os.kill(os.getpid(), signal.SIGINT); time.sleep(5)",
    "terminated": "import os, signal, time; os.kill(os.getpid(), signal.SIGTERM); time.sleep(5)",
    "at once": "import os; os._exit(9)",
    "import": "import no_such_module",
}


@pytest.mark.parametrize("name", ENDS)
def test_ends_of_programs(here, name):  # noqa: F811
    program(here / "ends.py", ENDS[name] + "\n")
    assert start(["ends.py"], here, ["-m", "minitorch"]) == start(["ends.py"], here)


@pytest.mark.parametrize(
    "name, words",
    [
        ("torch", "'torch' is a package and cannot be directly executed"),
        ("torch.distributed.run", "torch.distributed.run is not in minitorch"),
        ("torch.no_such_module", "No module named torch.no_such_module"),
    ],
)
def test_modules_of_torch_as_programs(here, name, words):  # noqa: F811
    status, output, error = start(["-m", name], here, ["-m", "minitorch"])
    assert (status, output) == (1, "") and error.strip().endswith(words)


STUBS = """
import collections.abc as c, copy, inspect, pickle, typing
import torch, torch.distributed, torch.fx
stub = torch.fx.Graph
kinds = "Awaitable Iterable Iterator Container Collection Sequence Mapping Reversible AsyncIterable AsyncIterator Coroutine Generator"
print([kind for kind in kinds.split() if isinstance(stub, getattr(c, kind))], inspect.isawaitable(stub), inspect.isclass(stub))
def decorated():
    @torch.fx.wrap
    def f(): pass
def derived():
    class Own(torch.fx.Interpreter): pass
    Own()
def error():
    class Own(torch.distributed.SomeError): pass
    raise Own("words")
async def wait(): await stub
uses = dict(
    iterate=lambda: list(stub), contains=lambda: 1 in stub, unpack=lambda: [*stub], loop=lambda: [x for x in stub], bool=lambda: bool(stub),
    call=lambda: stub(), index=lambda: stub[0], add=lambda: stub + 1, radd=lambda: 1 + stub, compare=lambda: stub < 1, round=lambda: round(stub),
    divmod=lambda: divmod(stub, 1), length=lambda: len(stub), reverse=lambda: reversed(stub), block=lambda: stub.__enter__ and block(),
    sum=lambda: sum(stub), int=lambda: int(stub), place=lambda: [1][stub], decorated=decorated, derived=derived, error=error,
    module=lambda: torch.fx(), chain=lambda: torch.distributed.a.b.c(), delete=lambda: delete(), raised=lambda: throw(),
)
def block():
    with stub: pass
def delete(): del stub[1]
def throw(): raise torch.distributed.SomeError("words")
for name, use in uses.items():
    try:
        print(name, use())
    except NotImplementedError as e:
        assert "is not in minitorch" in str(e)
    except AttributeError as e:
        assert name == "block", e
try:
    wait().send(None)
except TypeError as e:
    print(e)
try:
    raise ValueError
except (torch.distributed.SomeError, ValueError):
    print("caught")
try:
    try: raise ValueError
    except torch.distributed.SomeError: print("wrong")
except ValueError: print("passed")
try:
    try: raise ValueError
    except torch.fx.Graph: print("wrong")
except TypeError as e: print(e)
print(isinstance(3, stub), isinstance(3, (stub, int)), issubclass(int, stub), isinstance(3, typing.Union[stub, int]))
print(stub[int] is stub, typing.Optional[stub], typing.List["stub"], copy.deepcopy(stub) is stub, pickle.loads(pickle.dumps(stub)) is stub)
print(torch.distributed.is_available(), hasattr(torch, "no_such_name"), hasattr(torch.fx, "Graph"), hasattr(torch.fx, "__file__"))
"""


@pytest.mark.parametrize("mode", ["--strict", "--lazy"])
def test_stand_ins(here, mode):  # noqa: F811
    program(here / "stubs.py", STUBS)
    status, output, error = start([mode, "stubs.py"], here, ["-m", "minitorch"])
    assert status == 0, error
    assert output.splitlines() == [
        "[] False True",
        "object StubMeta can't be used in 'await' expression",
        "caught",
        "passed",
        "catching classes that do not inherit from BaseException is not allowed",
        "False True False True",
        "True typing.Optional[torch.fx.Graph] typing.List[ForwardRef('stub')] True True",
        "False False True False",
    ]


IMPORTS = """
import importlib, importlib.util, pkgutil, sys
import torch, torch.ops, torch.classes, torch.cuda.amp, torch._C._nn, torch._C._linalg
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader
from torch._C import _nn
assert torch.ops is sys.modules["torch.ops"] and _nn is torch._C._nn is sys.modules["torch._C._nn"]
assert importlib.import_module("torch.nn") is importlib.import_module(".nn", "torch") is nn is torch.nn
assert importlib.util.find_spec("torch").has_location and importlib.util.find_spec("torch.nn.functional").has_location
assert importlib.util.find_spec("torch.no_such_module") is None
assert pkgutil.resolve_name("torch.nn:Linear") is nn.Linear and "nn" in [m.name for m in pkgutil.iter_modules(torch.__path__)]
before = nn.Linear
try:
    importlib.reload(torch)
except ImportError as e:
    print(e)
assert sys.modules["torch"] is torch and nn.Linear is before and (torch.ones(1) + 1).item() == 2
assert isinstance(nn.Linear(1, 1), nn.Module) and F.relu(torch.ones(1)).item() == 1
try:
    torch.ops.aten.add(1, 1)
except NotImplementedError as e:
    print(e)
"""


def test_imports(here):  # noqa: F811
    program(here / "imports.py", IMPORTS)
    status, output, error = start(["imports.py"], here, ["-m", "minitorch"])
    assert status == 0, error
    assert output.splitlines() == [
        "minitorch is loaded already; one interpreter of a process can import it",
        "torch.ops.aten.add is not in minitorch",
    ]


PICKLES = """
import io, pickle, sys, torch
net = torch.nn.Sequential(torch.nn.Linear(1, 2), torch.nn.ReLU())
things = [torch.ones(2), torch.nn.Parameter(torch.ones(1)), net, torch.Tensor, torch.float16, torch.device("cpu"), torch.Size([2]),
          torch.strided, torch.nn.functional.relu, torch.add, torch.Tensor.add, torch.ones(2, 2).max(0), torch.optim.SGD, torch.nn.Parameter]
for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
    data = pickle.dumps(things, protocol)
    assert pickle.loads(data)[3] is torch.Tensor
sys.stdout.buffer.write(data)
saved = io.BytesIO()
torch.save({"class": torch.Tensor, "t": torch.ones(1)}, saved)
assert b"_tensor_class" not in saved.getvalue() and b"minitorch" not in saved.getvalue()
saved.seek(0)
assert torch.load(saved, weights_only=False)["class"] is torch.Tensor
"""


def test_pickles_can_be_read_elsewhere(here):  # noqa: F811
    """Written as torch, read by a program that imports minitorch."""
    import minitorch

    program(here / "pickles.py", PICKLES)
    done = subprocess.run(
        [sys.executable, "-m", "minitorch", "pickles.py"], cwd=here, capture_output=True, timeout=120
    )
    assert done.returncode == 0, done.stderr.decode()
    t, p, net, *rest = pickle.loads(done.stdout)
    assert t.tolist() == [1, 1] and type(p) is minitorch.nn.Parameter
    assert type(net[0]) is minitorch.nn.Linear and net(minitorch.ones(1)).shape == (2,)
    assert rest[:3] == [minitorch.Tensor, minitorch.float16, minitorch.device("cpu")]
    assert (type(rest[3]), rest[4]) == (minitorch.Size, minitorch.strided)
    assert rest[5:8] == [minitorch.nn.functional.relu, minitorch.add, minitorch.Tensor.add]
    assert type(rest[8]).__name__ == "max" and rest[9:] == [minitorch.optim.SGD, minitorch.nn.Parameter]


def test_names_of_pytorch_in_pickles(here):  # noqa: F811
    """What PyTorch writes about classes and dtypes says torch: programs that run as torch find it."""
    names = "torch float32|torch Tensor|torch.nn.modules.linear Linear|torch._utils _rebuild_tensor_v2|torch.storage UntypedStorage"
    names += "|torch.nn.parameter Parameter|torch.optim.sgd SGD|torch.nn.functional relu|torch._C _VariableFunctionsClass|torch Size"
    code = "import pickle\nfor name in %r.split('|'):\n    print(pickle.loads(b'c' + name.replace(' ', '\\n').encode() + b'\\n.').__class__.__name__)"
    status, output, error = start(["-c", code % names], here, ["-m", "minitorch"])
    assert status == 0, error
    assert (
        output.split()
        == "dtype _TensorMeta type function type _ParameterMeta type function type type".split()
    )
