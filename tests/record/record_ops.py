"""Runs every sample of the catalog on PyTorch and writes tests/data/ops.json.gz.

    python tests/record/record_ops.py [NAME ...]

Needs torch 2.13.0 beside PyYAML. With names, only those ops are run again. Run with OMP_NUM_THREADS=1.
"""

import gzip
import json
import os
import sys
import warnings

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import opdb  # noqa: E402

OUT = os.path.join(opdb.ROOT, "tests", "data", "ops.json.gz")


def record(torch, entry, expression, dtype):
    try:
        results, _ = opdb.call(torch, entry, expression, dtype)
        return {"out": [opdb.describe(r) for r in results]}
    except NotImplementedError as exc:
        return {"error": "NotImplementedError", "text": str(exc)[:120]}
    except Exception as exc:
        return {"error": type(exc).__name__, "text": str(exc)[:120]}


def main(names):
    import torch

    warnings.simplefilter("ignore")
    table = {}
    if names and os.path.exists(OUT):
        with gzip.open(OUT, "rt") as f:
            table = json.load(f)
    for entry in opdb.entries():
        if names and entry.name not in names:
            continue
        full = entry.schema.full_name
        if opdb.find(torch, entry) is None and not hasattr(torch.Tensor, entry.name):
            continue
        for expression in opdb.samples(entry):
            for dtype in opdb.DTYPE_NAMES.values():
                table["%s|%s|%s" % (full, dtype, expression)] = record(torch, entry, expression, dtype)
            if not opdb.differentiable(entry):
                continue
            for dtype in ("float64", "complex128"):
                key = "grad|%s|%s|%s" % (full, dtype, expression)
                try:
                    table[key] = opdb.gradients(torch, entry, expression, dtype)
                except Exception as exc:
                    table[key] = {"error": type(exc).__name__, "text": str(exc)[:120]}
    with gzip.GzipFile(OUT, "wb", mtime=0) as f:
        f.write(json.dumps(table, sort_keys=True).encode())
    print("%d records, %d bytes" % (len(table), os.path.getsize(OUT)))


if __name__ == "__main__":
    main(sys.argv[1:])
