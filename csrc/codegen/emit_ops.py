"""ops.h, kernels.h, tables.h and op_table.c: ids, prototypes, argument specs and records."""

from ctypes_map import arg_kind, c_string, default_value, out_names, out_params, param, result_kind
from emit_exprs import head_of, in_place_head
from inplace import in_place_expr
from model import ABSENT, DTYPES, KINDS, POINTWISE

CONJ_OF = """
static inline int mt_conj_of(mt_tensor **out, mt_tensor *t)
{
    if (mt_dtype_is_complex((mt_dtype)t->dtype))
        return mt_conj(out, t);
    *out = mt_tensor_ref(t);
    return 0;
}
"""
FAMILY_OF = {k: "MT_FAMILY_" + k.upper() for k in POINTWISE}


# --- prototypes ---


def api_prototypes(entry):
    """[(C declarator, variant)] of the typed C API."""
    params = [param(a) for a in entry.schema.args]
    name = "mt_" + entry.c
    if entry.only_inplace:
        return [("int %s(%s)" % (name, ", ".join(params)), "inplace")]
    out = [("int %s(%s)" % (name, ", ".join(out_params(entry.schema) + params) or "void"), "function")]
    if entry.inplace_ok:
        out.append(("int %s_inplace(%s)" % (name, ", ".join(params)), "inplace"))
    if entry.out_ok:
        outs = ["mt_tensor *" + n for n in out_names(entry.schema)]
        out.append(("int %s_out(%s)" % (name, ", ".join(outs + params)), "out"))
    return out


def hand_written(entry):
    """[(C declarator)] of the functions the entry names."""
    params = [param(a) for a in entry.schema.args]
    out = []
    if entry.kernel:
        kind = result_kind(entry.schema)
        if entry.only_inplace:
            outs = []
        elif kind == "list":
            outs = ["mt_tensors out"]
        elif kind == "value":
            outs = out_params(entry.schema)
        else:
            outs = ["mt_tensor *" + n for n in out_names(entry.schema)]
        for device in ("cpu", "cuda"):
            out.append("int mt_%s_%s(%s)" % (device, entry.kernel, ", ".join(outs + params)))
        out.append("typedef int mt_kernel_%s(%s)" % (entry.kernel, ", ".join(outs + params)))
    for prefix, name in (("impl", entry.impl), ("view", entry.view)):
        if name:
            outs = [] if entry.only_inplace else out_params(entry.schema)
            out.append("int mt_%s_%s(%s)" % (prefix, name, ", ".join(outs + params)))
    if entry.meta:
        out.append("int mt_meta_%s(mt_call *call)" % entry.meta)
    out += ["int mt_check_%s(mt_call *call)" % rule for rule in entry.check]
    return out


def _lines(prototypes):
    seen, out = set(), []
    for text in prototypes:
        if text not in seen:
            seen.add(text)
            out.append(text + ";")
    return "\n".join(out) + "\n"


def emit_headers(writer, catalog, plan):
    ids = "".join("    %s,\n" % e.op_id for e in catalog.entries)
    api = _lines(p for e in catalog.entries for p, _ in api_prototypes(e))
    writer.add(
        "ops.h",
        "emit_ops.py from the catalog",
        """#ifndef MT_GEN_OPS_H
#define MT_GEN_OPS_H

#include "kernels.h"

/* Ids: indices into mt_op_table. */
enum {
%s    MT_OP_COUNT
};

/* The typed C API. Results are new references; on failure they are NULL. */
%s
#endif
"""
        % (ids, api),
    )
    writer.add(
        "kernels.h",
        "emit_ops.py from the catalog",
        """#ifndef MT_GEN_KERNELS_H
#define MT_GEN_KERNELS_H

#include "core/op.h"

/* The hand-written functions that the catalog names. */
%s
#endif
"""
        % _lines(p for e in catalog.entries for p in hand_written(e)),
    )
    tables = ["int mt_adapt_meta(mt_call *call)"]
    for e in catalog.entries:
        tables += ["int %s(mt_call *call)" % f for _, f in plan.kernels(e) if f.startswith("mt_adapt_")]
        tables += [head_of(e)] if e.expr else []
        tables += [in_place_head(e)] if in_place_expr(catalog, e) else []
        tables += (
            ["extern const mt_grad mt_grad_%s" % e.c] if e.grad in ("formulas", "not_implemented") else []
        )
    writer.add(
        "tables.h",
        "emit_ops.py from the catalog",
        """#ifndef MT_GEN_TABLES_H
#define MT_GEN_TABLES_H

#include "autograd/node.h"
#include "core/op.h"

#include "ops.h"

int mt_meta_pointwise(mt_call *call);
int mt_meta_reduce(mt_call *call);
int mt_meta_require_dtypes(const mt_call *call, unsigned allowed);
int mt_meta_refuse_shells(const mt_call *call, unsigned allowed);
%s%s
#endif
"""
        % (_lines(tables), CONJ_OF if catalog.overloads("conj") else ""),
    )


# --- argument specs ---


def arg_flags(entry, arg, position):
    flags = []
    if arg.type.optional:
        flags.append("OPTIONAL")
    if arg.keyword_only:
        flags.append("KEYWORD")
    if arg.default is not None:
        flags.append("DEFAULT")
    if arg.name in entry.numbers:
        flags.append("NUMBER")
    if arg.type.element_optional:
        flags.append("ELEMENT_NONE")
    if arg.type.is_list and arg.type.base == "int" and not arg.keyword_only:
        others = [a for a in entry.schema.args if not a.keyword_only and a.name not in ("self", arg.name)]
        if not others:
            flags.append("VARARGS")
    return " | ".join("MT_ARGF_" + f for f in flags) or "0"


def arg_specs(entry, name, args):
    """The array of mt_arg_spec; args are (Arg, frame index)."""
    if not args:
        return ""
    lines = ["static const mt_arg_spec %s[] = {" % name]
    for i, (arg, index) in enumerate(args):
        text = c_string(arg.default) if arg.default is not None else "NULL"
        lines.append(
            "    {%s, %s, %s, %d, %d, %s, %s},"
            % (
                c_string(arg.name),
                arg_kind(arg.type),
                arg_flags(entry, arg, i),
                arg.type.size,
                index,
                text,
                default_value(arg.type, arg.default),
            )
        )
    return "\n".join(lines + ["};", ""])


# --- records ---


def flag_text(entry, plan, more=()):
    flags = list(more)
    kind = result_kind(entry.schema)
    tests = (
        ("VIEW", entry.view),
        ("INPLACE_OK", entry.inplace_ok),
        ("OUT_OK", entry.out_ok),
        ("COMPOSITE", entry.is_composite),
        ("LIST_OUT", kind == "list"),
        ("VALUE_OUT", kind == "value"),
        ("RANDOM", entry.random),
        ("FACTORY", entry.factory),
        ("MUTATES_SELF", entry.only_inplace),
        ("RETURNS_LIST", entry.writes_list and entry.name.startswith("_foreach_")),
        ("SCALARS_OK", entry.scalars_ok),
        ("NO_IMPL", not plan.works(entry)),
        ("CHECKED", plan.is_checked(entry)),
        ("ROW_MAJOR", entry.row_major),
        ("ANY_MEMORY", entry.any_memory),
        ("UNLISTED", entry.unlisted),
        ("STAND_IN", entry.stand_in),
        ("SILENT", entry.silent),
    )
    flags += [name for name, on in tests if on]
    return " | ".join("MT_OPF_" + f for f in flags) or "0"


def dtype_mask(dtypes):
    return " | ".join("1 << MT_DTYPE_" + d for d in DTYPES if d in dtypes) or "0"


def pointwise_spec(entry, plan):
    promote = "MT_PROMOTE_" + entry.promote.upper()
    params = ", ".join(map(str, entry.params)) or "0"
    absent = ", ".join("MT_ABSENT_" + ABSENT[a] for a in entry.absent) or "0"
    fit = ", ".join("MT_FIT_" + word.upper() for word in entry.fit) or "0"
    return (
        "static const mt_pointwise_spec %s_pointwise = {%s, %s, %d, %d, {%s}, %d, {%s},\n"
        "    %s, %sf, %s, {%s}, {%s}};\n"
        % (
            entry.c,
            FAMILY_OF[entry.kind],
            promote,
            plan.row(entry).index,
            len(entry.operands),
            ", ".join(map(str, entry.operands)) or "0",
            len(entry.params),
            params,
            dtype_mask(entry.dtypes),
            entry.cost if "." in entry.cost else entry.cost + ".0",
            str(entry.promote_params).lower(),
            absent,
            fit,
        )
    )


def reduce_spec(entry, plan):
    s = entry.schema
    return (
        "static const mt_reduce_spec %s_reduce = {%d, MT_REDUCE_%s, %d, %d, %d, %d, {%s},\n    %s, %s, %s};\n"
        % (
            entry.c,
            plan.row(entry).index,
            entry.promote.upper(),
            s.arg_index("dim"),
            s.arg_index("keepdim"),
            s.arg_index("dtype"),
            len(entry.params),
            ", ".join(map(str, entry.params)) or "0",
            dtype_mask(entry.dtypes),
            str(entry.identity).lower(),
            str(entry.index_out).lower(),
        )
    )


def record(entry, plan, args_name, n_args, n_positional, more_flags=(), schema=None):
    s = entry.schema
    lines = [
        "        .name = %s, .overload = %s," % (c_string(s.name), c_string(s.overload)),
        "        .schema = %s," % c_string(str(schema or s)),
        "        .where = %s, .doc = %s," % (c_string(entry.where), c_string(entry.doc)),
        "        .args = %s, .id = %s," % (args_name if n_args else "NULL", entry.op_id),
        "        .n_args = %d, .n_positional = %d, .n_outs = %d,"
        % (n_args, n_positional, len(s.returns) if result_kind(s) == "tensors" else 0),
        "        .flags = %s," % flag_text(entry, plan, more_flags),
    ]
    names = [n for _, n in s.returns]
    if all(names) and len(names) > 1:
        lines.append("        .out_names = (const char *const[]){%s}," % ", ".join(map(c_string, names)))
    if entry.struct:
        lines.append("        .struct_name = %s," % c_string(entry.struct))
    if plan.meta(entry):
        lines.append("        .meta = %s," % plan.meta(entry))
    kernels = ["[MT_KEY_%s] = %s" % pair for pair in plan.kernels(entry)]
    lines.append("        .kernel = {%s}," % (",\n                   ".join(kernels)))
    if entry.kind and plan.works(entry):
        which = "reduce" if entry.kind == "reduce" else "pointwise"
        lines.append("        .%s = &%s_%s," % (which, entry.c, which))
    if entry.grad in ("formulas", "not_implemented") and plan.works(entry):
        lines.append("        .grad = &mt_grad_%s," % entry.c)
    if any(policy != "none" for policy in entry.autocast):
        lines.append(
            "        .autocast = {%s}," % ", ".join("MT_AUTOCAST_" + p.upper() for p in entry.autocast)
        )
    if entry.inplace_ok:
        lines.append("        .inplace_name = %s," % c_string(s.name + "_"))
    return "{\n%s\n    }" % "\n".join(lines)


def deprecated_args(entry, old):
    """Arguments of a deprecated signature in its own order, then those it lacks, as keywords."""
    given = {a.name for a in old.args}
    rest = [type(a)(a.name, a.type, a.default, True) for a in entry.schema.args if a.name not in given]
    return [(a, entry.schema.arg_index(a.name)) for a in list(old.args) + rest]


def emit_table(writer, catalog, plan):
    specs, records, clones = [], [], []
    for entry in catalog.entries:
        args = [(a, i) for i, a in enumerate(entry.schema.args)]
        specs.append("/* %s %s */" % (entry.where, entry.schema.full_name))
        specs.append(arg_specs(entry, entry.c + "_args", args))
        if entry.kind and plan.works(entry):
            specs.append((reduce_spec if entry.kind == "reduce" else pointwise_spec)(entry, plan))
        records.append(
            "    [%s] = %s,\n"
            % (entry.op_id, record(entry, plan, entry.c + "_args", len(args), entry.schema.n_positional))
        )
        for k, old in enumerate(entry.deprecated):
            name = "%s_args_old%d" % (entry.c, k)
            old_args = deprecated_args(entry, old)
            specs.append(arg_specs(entry, name, old_args))
            clones.append(
                "    %s,\n" % record(entry, plan, name, len(old_args), old.n_positional, ["DEPRECATED"], old)
            )
    body = """#include <math.h>

#include "core/dispatch.h"

#include "ops.h"
#include "tables.h"

#define MT_LOOP_TABLES

%s
const mt_op mt_op_table[] = {
%s};
const int mt_op_count = MT_OP_COUNT;

/* Deprecated signatures, by position: see emit_methods.py. */
const mt_op mt_op_deprecated[] = {
%s};
mt_any_fn *mt_cuda_kernels[MT_OP_COUNT];
""" % ("\n".join(specs), "".join(records), "".join(clones) or "    {0},\n")
    writer.add("op_table.c", "emit_ops.py from the catalog", body.replace("#define MT_LOOP_TABLES\n\n", ""))


def emit(writer, catalog, plan):
    emit_headers(writer, catalog, plan)
    emit_table(writer, catalog, plan)


assert set(FAMILY_OF) | {"reduce"} == set(KINDS)
