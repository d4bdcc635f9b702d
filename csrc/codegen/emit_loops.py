"""loops_<kind>.c: stanzas that instantiate the loop templates, and the tables of loops.

A stub per ISA level includes the file.
"""

from model import LOOP_DTYPES, POINTWISE
from plan import USUAL_N_IN

LEVELS = ("v2", "v3", "v4")


def macros_of(row, usual_n_in, template):
    """What a skeleton is told; `usual_n_in` and `template` say what it knows by itself."""
    promote = row.entry.promote
    macros = [("OP", row.formula)]
    if row.entry.kind != "reduce":
        macros += [("LOOP", row.stem)] if row.stem != row.formula else []
        macros += [("N_IN", row.n_in)] if row.n_in != usual_n_in else []
        macros += [("N_PARAMS", row.n_params)] if row.n_params or usual_n_in is None else []
        macros += [("OUT_BOOL", 1)] if promote in ("compare", "bool") and template != "compare" else []
        macros += [("OUT_REAL", 1)] if promote in ("real", "float_real") else []
        macros += [("OUT_COMPLEX", 1)] if promote == "complex" else []
        macros += [("IN0_BOOL", 1)] if promote in ("where", "masked") else []
    return macros


def stanza(row):
    template = "reduce" if row.entry.kind == "reduce" else row.template
    lines = ["/* %s */" % row.entry.where]
    macros = macros_of(row, USUAL_N_IN.get(template), template)
    lines += ["#define %s %s" % m for m in macros]
    for dtype in LOOP_DTYPES:
        if dtype in row.dtypes:
            lines += [
                '#include "math/dtype/%s.h"' % dtype,
                '#include "cpu/loop_%s.tmpl.h"' % template,
                '#include "math/dtype/end.h"',
            ]
    lines += ["#undef %s" % name for name, _ in macros]
    return "\n".join(lines) + "\n"


def table(kind, rows):
    is_reduce = kind == "reduce"
    lines = [
        "const %s MT_ISA_NAME(mt_loops_%s)[] = {" % ("mt_reduce_row" if is_reduce else "mt_loop_row", kind)
    ]
    for row in rows:
        cells = [
            "[MT_DTYPE_%s] = %s%s_%s" % (d, "&" if is_reduce else "", row.stem, d)
            for d in LOOP_DTYPES
            if d in row.dtypes
        ]
        lines.append("    {%s}," % ", ".join(cells))
    if not rows:
        lines.append("    {NULL},")
    return "\n".join(lines + ["};", ""])


def emit(writer, plan):
    for kind in POINTWISE + ("reduce",):
        rows = list(plan.rows[kind].values())
        body = '#include "cpu/loops.h"\n\n' + "\n".join(map(stanza, rows)) + "\n" + table(kind, rows)
        writer.add("loops_%s.c" % kind, "emit_loops.py from the %s entries of the catalog" % kind, body)
        for level in LEVELS:
            writer.add(
                "loops_%s_%s.c" % (kind, level),
                "emit_loops.py",
                '#define MT_ISA_SUFFIX _%s\n#include "loops_%s.c"\n' % (level, kind),
            )
