"""cuda_<kind>_<n>.cu and cuda_tables.c: the rows of emit_loops.py once more, as kernels of the CUDA extension.

Few kernels per file, because nvcc is slow and files are compiled side by side. Each file fills its part of the tables.
"""

from emit_loops import macros_of
from model import LOOP_DTYPES, POINTWISE

KERNELS_PER_FILE = 48


def stanza(row):
    template = "reduce" if row.entry.kind == "reduce" else "pointwise"
    macros = macros_of(row, None, template)
    lines = ["/* %s */" % row.entry.where] + ["#define %s %s" % m for m in macros]
    for dtype in LOOP_DTYPES:
        if dtype in row.dtypes:
            lines += [
                '#include "math/dtype/%s.h"' % dtype,
                '#include "cuda/loop_%s.tmpl.cuh"' % template,
                '#include "math/dtype/end.h"',
            ]
    return "\n".join(lines + ["#undef %s" % name for name, _ in macros]) + "\n"


def files_of(kind, rows):
    """[(name of the file without suffix, rows)]"""
    out, count = [], KERNELS_PER_FILE
    for row in rows:
        if count + len(row.dtypes) > KERNELS_PER_FILE:
            out.append([])
            count = 0
        out[-1].append(row)
        count += len(row.dtypes)
    return [("cuda_%s_%d" % (kind, i), part) for i, part in enumerate(out)]


def cell_type(kind):
    return "const mt_reduce_loops *" if kind == "reduce" else "mt_loop_fn *"


def fill_head(kind, name):
    return "void mt_%s_fill(%s(*table)[MT_DTYPE_LOOPS])" % (name, cell_type(kind))


def unit(kind, name, rows):
    body = ['#include "cuda/launch.cuh"\n'] + list(map(stanza, rows))
    body.append('extern "C" %s;\n\nextern "C" %s\n{' % (fill_head(kind, name), fill_head(kind, name)))
    for row in rows:
        for dtype in LOOP_DTYPES:
            if dtype in row.dtypes:
                loop = "%s_%s" % (row.stem, dtype)
                cell = "(const mt_reduce_loops *)&" + loop if kind == "reduce" else loop
                body.append("    table[%d][MT_DTYPE_%s] = %s;" % (row.index, dtype, cell))
    return "\n".join(body + ["}", ""])


def tables(catalog, plan, files, sources):
    kinds = POINTWISE + ("reduce",)
    prototypes = ["%s;" % fill_head(kind, name) for kind in kinds for name, _ in files[kind]]
    arrays, calls = [], []
    for kind in kinds:
        arrays.append(
            "static %s%s_table[%d][MT_DTYPE_LOOPS];" % (cell_type(kind), kind, len(plan.rows[kind]) or 1)
        )
        calls += ["    mt_%s_fill(%s_table);" % (name, kind) for name, _ in files[kind]]
    for kind in POINTWISE:
        calls.append("    loops[MT_FAMILY_%s] = (const mt_loop_row *)%s_table;" % (kind.upper(), kind))
    calls.append("    *reductions = (const mt_reduce_row *)reduce_table;")
    for entry in catalog.entries:
        if entry.kernel and plan.works(entry) and sources.has_cuda(entry):
            calls.append("    kernels[%s] = (mt_any_fn *)mt_cuda_%s;" % (entry.op_id, entry.kernel))
    head = '#include "cuda/tables.h"\n\n#include "ops.h"\n\n'
    return head + "%s\n\n%s\n\n%s\n{\n%s\n}\n" % (
        "\n".join(prototypes),
        "\n".join(arrays),
        "void mt_cuda_tables_fill(const mt_loop_row **loops, const mt_reduce_row **reductions, mt_any_fn **kernels)",
        "\n".join(calls),
    )


def emit(writer, catalog, plan, sources):
    files = {kind: files_of(kind, list(plan.rows[kind].values())) for kind in POINTWISE + ("reduce",)}
    for kind, parts in files.items():
        for name, rows in parts:
            writer.add(
                name + ".cu", "emit_cuda.py from the %s entries of the catalog" % kind, unit(kind, name, rows)
            )
    writer.add("cuda_tables.c", "emit_cuda.py from the catalog", tables(catalog, plan, files, sources))
