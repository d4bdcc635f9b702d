"""--explain OP: where is this op implemented? From the YAML line to the tests."""

import glob
import os

from emit_docs import body_text
from emit_exprs import compile_each, compile_expr
from emit_grads import SavedSet, compile_gradient, node_name
from emit_methods import functions
from emit_ops import api_prototypes, hand_written
from model import LOOP_DTYPES

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def _tests(entry):
    pattern = os.path.join(ROOT, "tests", "**", "test_%s.py" % entry.family)
    return [os.path.relpath(p, ROOT) for p in sorted(glob.glob(pattern, recursive=True))]


def explain_entry(catalog, plan, entry):
    out = ["csrc/ops/%s: %s" % (entry.where, entry.schema), "  " + entry.doc]
    names = [
        "%s.%s%s"
        % (
            {"methods": "Tensor", "functions": "torch"}.get(f.table, f.table),
            f.name,
            " (out=)" if f.has_out else "",
        )
        for f in functions(catalog)
        if entry in f.entries
    ]
    out.append("  Python: " + (", ".join(names) or "not visible"))
    out.append("  body: " + body_text(entry))
    out.append("  meta rule: %s" % (plan.meta(entry) or "none, the function makes the results"))
    for key, function in plan.kernels(entry):
        out.append("  kernel[%s] = %s" % (key, function))
    if plan.missing[entry.schema.full_name]:
        out.append("  waits for: " + ", ".join(plan.missing[entry.schema.full_name]))
    for declarator in hand_written(entry):
        out.append("  hand-written: " + declarator)
    for declarator, _ in api_prototypes(entry):
        out.append("  C API: " + declarator)
    if entry.kind and plan.works(entry):
        row = plan.row(entry)
        loops = ", ".join("%s_%s" % (row.stem, d) for d in LOOP_DTYPES if d in entry.dtypes)
        out.append("  loops (loops_%s.c, row %d): %s" % (entry.kind, row.index, loops))
    if entry.expr:
        out.append("\n" + (compile_each if entry.each else compile_expr)(catalog, entry))
    if entry.grad == "formulas":
        saved, texts = SavedSet(), []
        for gradient in entry.grads:
            texts.append(compile_gradient(catalog, entry, gradient, saved)[0])
        keeps = ", ".join(name for name, _ in saved.items.values()) or "nothing"
        out.append("  gradient: %s, saves %s\n" % (node_name(catalog, entry), keeps))
        out += texts
    else:
        out.append(
            "  gradient: %s"
            % {"parts": "through its parts", "none": "none", "not_implemented": "a node that raises"}[
                entry.grad
            ]
        )
    tests = _tests(entry)
    out.append("  tests: %s" % (", ".join(["tests/test_ops.py"] + tests)))
    return "\n".join(out)


def explain(catalog, plan, name):
    base, _, overload = name.partition(".")
    entries = [
        e
        for e in catalog.entries
        if (e.name == base or base in e.alias) and (not overload or e.schema.overload == overload)
    ]
    if not entries:
        return None
    return "\n\n".join(explain_entry(catalog, plan, e) for e in entries)
