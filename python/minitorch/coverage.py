# SPDX-License-Identifier: BSD-3-Clause
"""Which of PyTorch 2.13's names exist here, and which of them have no implementation yet:

python -m minitorch.coverage            counts by namespace
python -m minitorch.coverage --list     the names without an implementation as well
"""

import ast
import inspect
import os
import sys
import textwrap
import warnings

import minitorch


def names_in_scope():
    """Namespace -> names, as coverage.txt lists them."""
    sections, current = {}, None
    with open(os.path.join(os.path.dirname(__file__), "coverage.txt"), encoding="utf-8") as f:
        for line in f:
            if line.startswith("["):
                current = sections.setdefault(line.strip()[1:-1], [])
            elif current is not None:
                current.extend(line.split())
    return sections


def namespace(path):
    """The object behind `torch.nn.functional`."""
    found = minitorch
    for part in path.split(".")[1:]:
        found = getattr(found, part)
    return found


def op_names(path, name):
    """Names that the op behind a function may have: torch.linalg.inv is linalg_inv, x.add_() is add."""
    space = path.rpartition(".")[2]
    base = name if space in ("torch", "Tensor", "functional") else "%s_%s" % (space, name)
    return base, base.rstrip("_") if base.endswith("_") else base


def is_implemented(path, name, missing):
    """Whether the function does more than to refuse."""
    if not missing.isdisjoint(op_names(path, name)):
        return False
    function = inspect.unwrap(getattr(namespace(path), name))
    if not inspect.isfunction(function):
        return True
    return "_unwritten" not in function.__code__.co_names and _last_call(function) not in missing


def _last_call(function):
    """The name of what a Python function returns a call of, or None."""
    try:
        body = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0].body
    except (OSError, SyntaxError):
        return None
    call = body[-1].value if isinstance(body[-1], ast.Return) else None
    target = call.func if isinstance(call, ast.Call) else None
    return getattr(target, "attr", None) or getattr(target, "id", None)


def report():
    """Rows of (namespace, names in scope, that exist, names without an implementation, absent names)."""
    missing, rows = minitorch._C._unimplemented_ops(), []
    for path, names in names_in_scope().items():
        space = namespace(path)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            absent = [n for n in names if not hasattr(space, n)]
        unwritten = [n for n in names if n not in absent and not is_implemented(path, n, missing)]
        rows.append((path, len(names), len(names) - len(absent), unwritten, absent))
    return rows


def main(arguments):
    rows = report()
    print("%-22s %8s %8s %12s" % ("namespace", "in scope", "exist", "implemented"))
    for path, total, exist, unwritten, _ in rows:
        print("%-22s %8d %8d %12d" % (path, total, exist, exist - len(unwritten)))
    totals = [sum(r[1] for r in rows), sum(r[2] for r in rows), sum(r[2] - len(r[3]) for r in rows)]
    print("%-22s %8d %8d %12d" % ("all", *totals))
    if "--list" in arguments:
        for path, _, _, unwritten, absent in rows:
            for title, names in (("not implemented", unwritten), ("absent", absent)):
                if names:
                    print("\n%s, %s: %s" % (path, title, " ".join(names)))
    return 0 if totals[0] == totals[1] else 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
