"""Methods of Tensor ask for overrides, those with underscores too. Read from the source; what is public is called by
tests/python/test_override_sweep.py."""

import ast
import os

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SOURCE = os.path.join(ROOT, "python", "minitorch", "_tensor.py")
CHECKS = {"handle_torch_function", "_as_given"}


def mentions(function):
    return {n.id for n in ast.walk(function) if isinstance(n, ast.Name)}


def hands_on(function):
    """Nothing but documentation, a warning and `return call(...)` or `return input.method(...)`: what is called asks. Or it only
    raises."""
    *before, last = function.body
    if isinstance(last, ast.Raise):
        return not before or all(isinstance(s, ast.Expr) for s in before)
    plain = all(isinstance(s, ast.Expr) for s in before)
    return plain and isinstance(last, ast.Return) and isinstance(last.value, ast.Call)


# The protocol itself, iteration (its parts ask), and what pickling does after it has asked.
OBJECTS = {"__torch_function__", "__iter__", "_reduce_ex_internal"}


def test_methods_ask_for_overrides():
    with open(SOURCE, encoding="utf-8") as f:
        tree = ast.parse(f.read(), SOURCE)
    (tensor,) = [n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == "Tensor"]
    silent = []
    for method in tensor.body:
        if not isinstance(method, ast.FunctionDef) or method.name in OBJECTS or hands_on(method):
            continue
        if not mentions(method) & CHECKS and len(method.body) > 1:
            silent.append("_tensor.py:%d %s" % (method.lineno, method.name))
    assert silent == []
