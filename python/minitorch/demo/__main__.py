# SPDX-License-Identifier: BSD-3-Clause
"""`python -m minitorch.demo [options]`: runs digits_cnn.py; `--lib torch` runs the same program with
PyTorch."""

import os
import sys

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "digits_cnn.py")


def load_program(lib="minitorch", path=PROGRAM):
    """load_program(lib="minitorch"): the names of the program, its import line naming the given library."""
    with open(path, encoding="utf-8") as file:
        source = file.read()
    if lib != "minitorch":
        source = source.replace("\nimport minitorch as torch\n", "\nimport %s as torch\n" % lib)
    names = {"__name__": "digits_cnn", "__file__": path}
    exec(compile(source, path, "exec"), names)
    return names


def _lib_of(arguments):
    for i, argument in enumerate(arguments):
        if argument.startswith("--lib="):
            return argument[len("--lib=") :]
        if argument == "--lib" and i + 1 < len(arguments):
            return arguments[i + 1]
    return "minitorch"


if __name__ == "__main__":
    lib = _lib_of(sys.argv[1:])
    load_program(lib if lib == "torch" else "minitorch")["main"](sys.argv[1:])
