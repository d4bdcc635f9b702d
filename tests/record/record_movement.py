# SPDX-License-Identifier: BSD-3-Clause
"""Runs every sample of tests/ops/samples on PyTorch and writes tests/data/movement.json.gz.

    OMP_NUM_THREADS=1 python tests/record/record_movement.py

Needs torch 2.13.0.
"""

import gzip
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "ops"))
import movement  # noqa: E402


def main():
    import torch

    table = {}
    for family in movement.FAMILIES:
        table[family] = {e: movement.run(torch, e) for e in movement.expressions(family)}
        failed = sum("error" in result for result in table[family].values())
        print("%-8s %4d samples, %d raise" % (family, len(table[family]), failed))
    text = json.dumps(table, sort_keys=True, separators=(",", ":")).encode()
    with open(movement.TABLE, "wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=0) as file:
        file.write(text)


if __name__ == "__main__":
    main()
