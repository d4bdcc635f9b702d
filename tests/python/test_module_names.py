# SPDX-License-Identifier: BSD-3-Clause
"""A function that shares its name with a module of its package stays callable, whichever is asked for first."""

import json
import pkgutil
import subprocess
import sys

import minitorch

SCRIPT = """
import importlib, json, sys
first, names = sys.argv[1], json.loads(sys.argv[2])
callables = []
for name in names:
    package, _, child = name.rpartition(".")
    importlib.import_module(name if first == "module" else package)
    if callable(getattr(importlib.import_module(package), child, None)):
        callables.append(name)
print(json.dumps(callables))
"""


def callables(first):
    names = [m.name for m in pkgutil.walk_packages(minitorch.__path__, "minitorch.")]
    names = [name for name in names if not name.endswith((".__main__", ".as_torch"))]
    out = subprocess.run(
        [sys.executable, "-c", SCRIPT, first, json.dumps(names)], capture_output=True, text=True, check=True
    )
    return set(json.loads(out.stdout))


def test_functions_are_not_replaced_by_modules():
    names = callables("package")
    assert {"minitorch.nn.utils.weight_norm", "minitorch.autograd.gradcheck"} <= names
    assert callables("module") >= names
