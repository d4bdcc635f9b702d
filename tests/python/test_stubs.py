"""Type stubs: every callable in scope has one that says what it gives; a type checker agrees with programs."""

import ast
import functools
import glob
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import warnings

import pytest

minitorch = pytest.importorskip("minitorch")
coverage = pytest.importorskip("minitorch.coverage")

PACKAGE = os.path.dirname(os.path.abspath(minitorch.__file__))
PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "typed_program.py")

# What these give depends on what they are given: functions of the caller, contents of files, nested lists.
ANY = set(
    """torch.load torch.sym_ite torch.Tensor.tolist torch.Tensor.__dlpack__ torch.Tensor.__torch_function__ torch.Tensor.__torch_dispatch__
    torch.nn.functional.handle_torch_function""".split()
)


# --- the stubs as text ---


@functools.cache
def stub(module):
    """{name: what a stub has for it}: definitions, or (module, name) of what it imports."""
    path = os.path.join(PACKAGE, *module.split(".")[1:])
    path = os.path.join(path, "__init__.pyi") if os.path.isdir(path) else path + ".pyi"
    with open(path, encoding="utf-8") as f:
        tree = ast.parse(f.read(), path)
    found = {}
    for node in tree.body:
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                found.setdefault(alias.asname or alias.name, []).append((node.module, alias.name))
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found.setdefault(node.name, []).append(node)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            found.setdefault(target.id, []).append(node)
    return found


def look_up(module, name):
    """The definitions behind a name of a module, imports, star imports and aliases followed."""
    nodes = stub(module).get(name)
    if nodes is None:
        for source, _ in stub(module).get("*", ()):
            nodes = nodes or look_up(source, name)
        return nodes or []
    if isinstance(nodes[0], tuple):
        source, original = nodes[0]
        if not source.startswith("minitorch"):
            return nodes
        return look_up(source, original) or [source]  # a module of the package
    if isinstance(nodes[0], ast.Assign) and isinstance(nodes[0].value, ast.Name):
        return look_up(module, nodes[0].value.id)
    return nodes


def members(cls, module):
    """{name: nodes} of a class of a stub and of its bases."""
    found = {}
    for node in cls.body:
        name = getattr(node, "name", None) or getattr(getattr(node, "target", None), "id", None)
        found.setdefault(name, []).append(node)
    for base in cls.bases:
        space, _, name = ast.unparse(base).rpartition(".")
        for parent in look_up("minitorch._C" if space == "_C" else module, name):
            if isinstance(parent, ast.ClassDef):
                found = {**members(parent, "minitorch._C" if space == "_C" else module), **found}
    return found


def callables():
    for path, names in coverage.names_in_scope().items():
        space = coverage.namespace(path)
        for name in names:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                if callable(getattr(space, name, None)):
                    yield path, name


def definitions(path, name):
    module = path.replace("torch", "minitorch", 1)
    if path == "torch.Tensor":
        return members(look_up("minitorch", "Tensor")[0], "minitorch._tensor").get(name, [])
    return look_up(module, name)


def test_every_callable_has_a_stub():
    missing = ["%s.%s" % (path, name) for path, name in callables() if not definitions(path, name)]
    assert missing == []


def test_every_stub_says_what_it_gives():
    vague, seen = [], 0
    for path, name in callables():
        for node in definitions(path, name):
            said = getattr(node, "returns", None) or getattr(node, "annotation", None)
            seen += said is not None
            if (
                said is not None
                and ast.unparse(said) == "Any"
                or isinstance(node, ast.FunctionDef)
                and not said
            ):
                vague.append("%s.%s" % (path, name))
    assert seen > 2000
    assert sorted(set(vague) - ANY) == []


# --- the stubs as a type checker reads them ---

needs_mypy = pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="mypy is not installed")


@pytest.fixture(scope="module")
def check(tmp_path_factory):
    """check(*arguments) -> the lines that mypy prints, with a copy of the stubs as the installed package."""
    root = tmp_path_factory.mktemp("site")
    for path in glob.glob(os.path.join(PACKAGE, "**", "*.pyi"), recursive=True):
        target = root / "minitorch" / os.path.relpath(path, PACKAGE)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)

    def run(*arguments):
        command = [
            sys.executable,
            "-m",
            "mypy",
            "--no-error-summary",
            "--cache-dir",
            str(root / "cache"),
            *arguments,
        ]
        found = subprocess.run(
            command, env={**os.environ, "MYPYPATH": str(root)}, cwd=root, capture_output=True, text=True
        )
        assert found.returncode in (0, 1), found.stdout + found.stderr
        return found.stdout.splitlines()

    return run


def about(lines, path):
    return [line for line in lines if line.startswith(str(path))]


@needs_mypy
def test_stubs_are_valid(check):
    # Methods of subclasses take other arguments, and forms of a call overlap, as they do at run time.
    options = [
        f"--disable-error-code={code}"
        for code in ("override", "misc", "overload-overlap", "overload-cannot-match")
    ]
    assert check(*options, "-p", "minitorch") == []


@needs_mypy
def test_program_is_clean(check):
    assert about(check("--strict", PROGRAM), PROGRAM) == []


def test_program_runs():
    spec = importlib.util.spec_from_file_location("typed_program", PROGRAM)
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    x = program.creation()
    assert x.dtype == minitorch.float64 and x.shape == (2, 3)
    assert program.gradients()[0].tolist() == [[3.0, 3.0], [3.0, 3.0]]
    program.main()


HEAD = """
import minitorch as torch
import minitorch.nn.functional as F
from minitorch import Tensor, nn
x = torch.ones(2, 3)
"""
NAMED = "tuple[Tensor, Tensor, fallback=return_types.%s]"
TYPES = {
    "x": "Tensor",
    "x[0]": "Tensor",
    "x[0, ..., None, 1:]": "Tensor",
    "x + 1": "Tensor",
    "1 - x": "Tensor",
    "x == 1": "Tensor",
    "x @ x": "Tensor",
    "-x": "Tensor",
    "x.sum(0)": "Tensor",
    "x.add_(1)": "Tensor",
    "x.view(-1, 2)": "Tensor",
    "x.permute(1, 0)": "Tensor",
    "torch.zeros((2, 3))": "Tensor",
    "torch.add(x, 1, alpha=2)": "Tensor",
    "torch.cat([x, x])": "Tensor",
    "x.max()": "Tensor",
    "x.max(0)": NAMED % "max",
    "x.max(0).values": "Tensor",
    "torch.topk(x, 2).indices": "Tensor",
    "torch.linalg.inv(x)": "Tensor",
    "torch.linalg.eigh(x)": NAMED % "linalg_eigh",
    "torch.linalg.qr(x).Q": "Tensor",
    "torch.fft.fft(x)": "Tensor",
    "torch.special.expit(x)": "Tensor",
    "x.split(1)": "tuple[Tensor, ...]",
    "x.unbind()": "tuple[Tensor, ...]",
    "torch.meshgrid(x, x)": "tuple[Tensor, ...]",
    "torch.autograd.grad(x, x)": "tuple[Tensor, ...]",
    "x.shape": "_C.Size",
    "x.size()": "_C.Size",
    "x.size(0)": "int",
    "x.stride()": "tuple[int, ...]",
    "x.dim()": "int",
    "len(x)": "int",
    "x.item()": "int | float",
    "float(x)": "float",
    "bool(x)": "bool",
    "torch.equal(x, x)": "bool",
    "torch.allclose(x, x)": "bool",
    "x.is_contiguous()": "bool",
    "torch.is_tensor(x)": "bool",
    "torch.is_grad_enabled()": "bool",
    "x.dtype": "_C.dtype",
    "torch.float32": "_C.dtype",
    "torch.get_default_dtype()": "_C.dtype",
    "x.device": "_C.device",
    "torch.strided": "_C.layout",
    "torch.finfo(torch.float32).eps": "float",
    "torch.manual_seed(0)": "_C.Generator",
    "x.grad": "Tensor | None",
    "x.grad_fn": "autograd.graph.Node | None",
    "x.backward()": "None",
    "x.type()": "str",
    "x.numpy()": "numpy.ndarray[Any, Any]",
    "x.untyped_storage()": "storage.UntypedStorage",
    "x.untyped_storage().nbytes()": "int",
    "x.register_hook(lambda g: g)": "utils.hooks.RemovableHandle",
    "F.relu(x)": "Tensor",
    "F.conv2d(x, x)": "Tensor",
    "F.cross_entropy(x, x)": "Tensor",
    "F.max_pool2d(x, 2)": "Tensor",
    "F.max_pool2d(x, 2, return_indices=True)": "tuple[Tensor, Tensor]",
    "torch.unique(x)": "Tensor",
    "torch.unique(x, return_counts=True)": "tuple[Tensor, ...]",
    "x.nonzero(as_tuple=True)": "tuple[Tensor, ...]",
    "nn.Linear(3, 4)": "nn.modules.linear.Linear",
    "nn.Linear(3, 4).weight": "nn.parameter.Parameter",
    "nn.Parameter(x)": "nn.parameter.Parameter",
    "list(nn.ReLU().parameters())": "list[nn.parameter.Parameter]",
    "torch.optim.SGD([x], lr=0.1)": "optim.sgd.SGD",
    "torch.overrides.is_tensor_like(x)": "bool",
}
WRONG = [
    'x + "a"',
    'x["a"]',
    'x.sum("a", 1)',
    "x.sum(dims=0)",
    "x.abs(1)",
    "x.reshape(2.5)",
    "x.nothing",
    "torch.nothing",
    "torch.linalg.nothing",
    'torch.zeros("a")',
    "torch.zeros(2, typ=1)",
    "torch.ones(2, dtype=int)",
    "torch.exp(1)",
    "torch.exp(x, 1)",
    "torch.cat(x, x)",
    "torch.matmul(x, 1)",
    "torch.linalg.inv([1])",
    "torch.manual_seed(None)",
    "torch.device(1.5)",
    "torch.no_grad(1, 2)",
    "F.relu(1)",
    "F.relu(x, inplac=True)",
    'F.softmax(x, dim="a")',
    "F.cross_entropy(x)",
    'nn.Linear("a", 4)',
    "nn.Linear(3)",
    "torch.autograd.backward()",
    "x.max(0).value",
    "x.backward(retain=True)",
]


@needs_mypy
def test_types(check, tmp_path):
    path = tmp_path / "kinds.py"
    path.write_text(HEAD + "\n".join("reveal_type(%s)" % text for text in TYPES) + "\n")
    said = [re.search(r'Revealed type is "(.*)"', line) for line in about(check("--strict", str(path)), path)]
    found = {
        text: m and re.sub(r"minitorch\.(_tensor\.)?|builtins\.", "", m.group(1))
        for text, m in zip(TYPES, said)
    }
    assert found == TYPES and len(said) == len(TYPES)


@needs_mypy
def test_wrong_calls_are_found(check, tmp_path):
    path = tmp_path / "wrong.py"
    path.write_text(HEAD + "\n".join(WRONG) + "\n")
    lines = [line for line in about(check(str(path)), path) if " error: " in line]
    found = {int(re.match(r".*?:(\d+): ", line).group(1)) - HEAD.count("\n") - 1 for line in lines}
    assert [text for i, text in enumerate(WRONG) if i not in found] == []
