"""Which dtypes ops give under autocast on the CPU, where they are others than without."""

import opdb


def _dtypes(torch, entry, sample, dtype):
    try:
        flat = opdb.flatten(opdb.call(torch, entry, sample, dtype)[0])
    except (RuntimeError, TypeError, ValueError, NotImplementedError, IndexError) as e:
        return type(e).__name__
    return [
        str(t.dtype).rpartition(".")[2] if isinstance(t, torch.Tensor) else type(t).__name__ for t in flat
    ]


def differences(torch):
    """{"mm|T(3, 4), T(4, 5)|float32": dtypes of the results}"""
    found = {}
    for entry in opdb.entries():
        if opdb.find(torch, entry) is None or entry.random:
            continue
        name = entry.schema.name + ("." + entry.schema.overload if entry.schema.overload else "")
        for sample in opdb.samples(entry):
            for dtype in ("float32", "bfloat16", "float64"):
                plain = _dtypes(torch, entry, sample, dtype)
                with torch.autocast("cpu", dtype=torch.bfloat16):
                    cast = _dtypes(torch, entry, sample, dtype)
                if cast != plain:
                    found["%s|%s|%s" % (name, sample, dtype)] = cast
    return found
