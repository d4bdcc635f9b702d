"""ops_reference.md: one line per op for readers; catalog.json: the same for tests and tools."""

import json

from emit_grads import node_name


def body_text(entry):
    for name in ("kind", "kernel", "expr", "impl", "view"):
        value = getattr(entry, name)
        if value:
            return "%s `%s`" % (name, " ".join(value.split()).replace("|", "\\|"))
    return "not implemented"


def gradient_text(catalog, entry):
    if entry.grad == "formulas":
        return node_name(catalog, entry)
    return {"parts": "through its parts", "none": "none", "not_implemented": "raises"}[entry.grad]


def emit_reference(writer, catalog, plan):
    out = ["# Ops\n", "Generated from `csrc/ops`. One section per family.\n"]
    for family in catalog.families:
        out.append("\n## %s\n" % family)
        for entry in catalog.family(family):
            names = "" if not entry.alias else " (also %s)" % ", ".join("`%s`" % a for a in entry.alias)
            state = "" if plan.works(entry) else " **Not implemented yet.**"
            out.append(
                "- `%s`%s\n  %s%s %s; gradient: %s; %s.\n"
                % (
                    entry.schema,
                    names,
                    entry.doc,
                    state,
                    body_text(entry),
                    gradient_text(catalog, entry),
                    entry.where,
                )
            )
    writer.add_plain("ops_reference.md", "".join(out))


def as_json(catalog, plan, entry):
    return {
        "op": str(entry.schema),
        "name": entry.name,
        "overload": entry.schema.overload,
        "where": entry.where,
        "family": entry.family,
        "variants": sorted(entry.variants),
        "kind": entry.kind,
        "dtypes": list(entry.dtypes),
        "promote": entry.promote,
        "body": body_text(entry),
        "works": plan.works(entry),
        "grad": entry.grad,
        "node": node_name(catalog, entry) if entry.grad == "formulas" else None,
        "inputs": [entry.schema.args[i].name for i in entry.input_indices()],
        "alias": list(entry.alias),
        "numbers": list(entry.numbers),
        "samples": list(entry.samples),
        "doc": entry.doc,
        "jvp": entry.jvp,
        "deprecated": [str(d) for d in entry.deprecated],
    }


def emit(writer, catalog, plan):
    emit_reference(writer, catalog, plan)
    rows = [json.dumps(as_json(catalog, plan, e), sort_keys=True) for e in catalog.entries]
    writer.add_plain("catalog.json", "[\n" + ",\n".join(rows) + "\n]\n")
