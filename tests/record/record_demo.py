# SPDX-License-Identifier: BSD-3-Clause
"""Runs the demonstration program with PyTorch and writes its losses to tests/data/demo_losses.json.

    OMP_NUM_THREADS=1 python tests/record/record_demo.py

Needs torch 2.13.0; minitorch need not be built.
"""

import json
import os
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
STARTER = os.path.join(ROOT, "python", "minitorch", "demo", "__main__.py")
OUT = os.path.join(ROOT, "tests", "data", "demo_losses.json")


def main():
    names = {"__name__": "starter", "__file__": STARTER}
    with open(STARTER, encoding="utf-8") as file:
        exec(compile(file.read(), STARTER, "exec"), names)
    program = names["load_program"]("torch")
    table = {"torch": program["torch"].__version__}
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "losses.json")
        for dtype in ("float32", "float64"):
            program["main"](["--dtype", dtype, "--losses", path])
            with open(path) as file:
                table[dtype] = json.load(file)
    with open(OUT, "w") as file:
        json.dump(table, file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    main()
