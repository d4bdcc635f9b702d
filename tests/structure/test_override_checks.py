"""A public function that takes tensors asks for overrides. Read from the sources; the sweep in tests/behaviour calls them all."""

import ast
import os

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PACKAGE = os.path.join(ROOT, "python", "minitorch")
FILES = ["functional.py", "linalg.py", "fft.py", "special.py", "_checks.py", "nn/functional.py"] + sorted(
    os.path.join("nn", name)
    for name in os.listdir(os.path.join(PACKAGE, "nn"))
    if name.startswith("_") and name.endswith("_functions.py")
)
# Parameters that are tensors, or may be.
TENSORS = set(
    "input tensor tensors other A B a b x x1 x2 input1 input2 query target matrices indices".split()
)
CHECKS = {"handle_torch_function", "_as_given", "overridable", "wrap_torch_function"}


def functions(tree):
    return [node for node in tree.body if isinstance(node, ast.FunctionDef)]


def mentions(function):
    return {n.id for n in ast.walk(function) if isinstance(n, ast.Name)}


def askers(tree):
    """The functions of a file that contain the check, or call a private one of it that does."""
    found = {f.name for f in functions(tree) if mentions(f) & CHECKS}
    imported = {n.name for n in ast.walk(tree) if isinstance(n, ast.alias)}
    helpers = {name for name in found if name.startswith("_")} | (CHECKS & imported)
    return found | {f.name for f in functions(tree) if mentions(f) & helpers}


def takes_tensors(function):
    arguments = function.args.posonlyargs + function.args.args + [function.args.vararg]
    return any(a is not None and a.arg in TENSORS for a in arguments)


def hands_on(function):
    """Nothing but documentation, a warning and `return call(...)` or `return input.method(...)`: what is called asks. Or it only
    raises."""
    *before, last = function.body
    if isinstance(last, ast.Raise):
        return not before or all(isinstance(s, ast.Expr) for s in before)
    plain = all(isinstance(s, ast.Expr) for s in before)
    return plain and isinstance(last, ast.Return) and isinstance(last.value, ast.Call)


def parse(path):
    with open(os.path.join(PACKAGE, path), encoding="utf-8") as f:
        return ast.parse(f.read(), path)


def public(path, tree):
    """Names of the functions that users find; those of the files of nn.functional are imported there."""
    names = {f.name for f in functions(tree) if not f.name.startswith("_")}
    if path.startswith("nn/_"):
        module = "minitorch." + path[:-3].replace("/", ".")
        imports = [
            n for n in parse("nn/functional.py").body if isinstance(n, ast.ImportFrom) and n.module == module
        ]
        taken = {alias.name for node in imports for alias in node.names}
        names = names if "*" in taken else names & taken
    return names


@pytest.mark.parametrize("path", FILES)
def test_functions_ask_for_overrides(path):
    tree = parse(path)
    asks, names = askers(tree), public(path, tree)
    silent = [
        "%s:%d %s" % (path, f.lineno, f.name)
        for f in functions(tree)
        if f.name in names and takes_tensors(f) and f.name not in asks and not hands_on(f)
    ]
    assert silent == []


# The protocol itself, iteration (its parts ask), and what pickling does after it has asked.
OBJECTS = {"__torch_function__", "__iter__", "_reduce_ex_internal"}


def test_methods_ask_for_overrides():
    tree = parse("_tensor.py")
    (tensor,) = [n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == "Tensor"]
    silent = []
    for method in tensor.body:
        if not isinstance(method, ast.FunctionDef) or method.name in OBJECTS or hands_on(method):
            continue
        if not mentions(method) & CHECKS and len(method.body) > 1:
            silent.append("_tensor.py:%d %s" % (method.lineno, method.name))
    assert silent == []


def test_the_rule_notices():
    tree = ast.parse(
        "from minitorch.overrides import handle_torch_function\n"
        "def good(input):\n    if has(input):\n        return handle_torch_function(good, (input,), input)\n    return 1\n"
        "def _help(f, x):\n    return handle_torch_function(f, x)\n"
        "def helped(tensor):\n    y = 1\n    return _help(helped, tensor)\n"
        "def old(input):\n    'words'\n    return good(input)\n"
        "def forgets(input):\n    y = input + 1\n    return y\n"
    )
    asks = askers(tree)
    assert asks == {"good", "_help", "helped"}
    assert [
        f.name for f in functions(tree) if takes_tensors(f) and f.name not in asks and not hands_on(f)
    ] == ["forgets"]
