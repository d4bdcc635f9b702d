# SPDX-License-Identifier: BSD-3-Clause
"""Runs every sample of tests/python/samples on PyTorch and writes tests/data/python_samples.json.gz.

    OMP_NUM_THREADS=1 python tests/record/record_python.py [AREA ...]

Needs torch 2.13.0 and NumPy. With names, only those areas are run again.
"""

import gzip
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "python"))
import sampling  # noqa: E402


def main(names):
    import torch

    table = {}
    if names and os.path.exists(sampling.TABLE):
        with gzip.open(sampling.TABLE, "rt") as file:
            table = json.load(file)
    for area in names or sampling.areas():
        module = sampling.load(area)
        table[area] = {e: sampling.run(torch, module, e) for e in module.EXPRESSIONS}
        failed = sum("error" in result for result in table[area].values())
        print("%-16s %4d samples, %d raise" % (area, len(table[area]), failed))
    text = json.dumps(table, sort_keys=True, separators=(",", ":")).encode()
    with open(sampling.TABLE, "wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=0) as file:
        file.write(text)


if __name__ == "__main__":
    main(sys.argv[1:])
