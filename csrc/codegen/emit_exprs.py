"""composites.c: the expressions of `expr` entries as C functions mt_expr_<op>."""

import ast
from dataclasses import replace

from cfunc import TAGS, Code, Value
from ctypes_map import c_name, out_names, out_params, param, result_kind
from formula import Compiler
from inplace import in_place_expr
from results import into_list, into_tensors, into_value
from schema import CatalogError, Type

HEAD = """#include "core/formula.h"

#include "ops.h"
#include "tables.h"

"""


class ExprScope:
    """Names of an expression: the arguments of its op. `writes`: it is the in-place form."""

    def __init__(self, entry, writes=False):
        self.args = {
            a.name: Value(
                TAGS[a.type.base, a.type.is_list],
                c_name(a.name),
                optional=a.type.optional or a.type.element_optional,
                source=a.name,
                writable=(writes or (entry.each and entry.name.endswith("_"))) and a.name == "self",
            )
            for a in entry.schema.args
        }

    def lookup(self, name):
        found = self.args.get(name)
        return replace(found, items=[]) if found else None

    def presence(self, name):
        return self.lookup(name)

    def metadata(self, name, attr):
        return None

    def names(self):
        return list(self.args)


def head_of(entry, prefix="int mt_expr"):
    return "%s_%s(%s)" % (
        prefix,
        entry.c,
        ", ".join(out_params(entry.schema) + [param(a) for a in entry.schema.args]),
    )


EACH = """int mt_expr_%(c)s(%(params)s)
{
    const int lengths[] = {%(lengths)s};
    int n = %(first)s.n;

%(init)s    if (mt_each_check("%(name)s", lengths, %(n_lists)d) < 0%(more)s)
        return -1;
%(rehearsal)s    for (int i = 0; i < n; i++) {
%(before)s        if (%(call)s < 0)
            goto fail;
%(after)s    }
    return 0;
fail:
%(cleanup)s    return -1;
}
"""


# A list is written as a whole or not at all: elements unlike the first are tried on stand-ins before anything is written.
REHEARSAL = """    if (mt_each_writable(%(first)s) < 0)
        return -1;
    for (int i = 1; i < n; i++) {
        mt_tensor *const first[] = {%(firsts)s}, *const now[] = {%(nows)s};
        mt_tensor *shadow[%(count)d] = {NULL}, *done = NULL;
        int rc = 0;

        if (mt_each_alike(first, now, %(count)d))
            continue;
        if (mt_each_shadows(shadow, now, %(count)d) < 0 || %(call)s < 0)
            rc = -1;
        for (int k = 0; k < %(count)d; k++)
            mt_tensor_clear(&shadow[k]);
        mt_tensor_clear(&done);
        if (rc < 0)
            return -1;
    }
"""


def rehearsal(entry, lists):
    tensors = [a for a in lists if a.type.base == "Tensor"]
    texts = []
    for a in entry.schema.args:
        if a in tensors:
            texts.append("shadow[%d]" % tensors.index(a))
        else:
            texts.append(c_name(a.name) + (".data[i]" if a in lists else ""))
    return REHEARSAL % {
        "first": c_name(tensors[0].name),
        "firsts": ", ".join(c_name(a.name) + ".data[0]" for a in tensors),
        "nows": ", ".join(c_name(a.name) + ".data[i]" for a in tensors),
        "count": len(tensors),
        "call": "each_%s(%s)" % (entry.c, ", ".join(["&done"] + texts)),
    }


def compile_each(catalog, entry):
    """A composite for lists: a function for one element and the loop."""
    args = entry.schema.args
    lists = [a for a in args if a.type.is_list and a.type.base in ("Tensor", "Scalar")]
    one = tuple(replace(a, type=Type(a.type.base)) if a in lists else a for a in args)
    element = replace(entry, schema=replace(entry.schema, args=one, returns=((Type("Tensor"), None),)))
    makes_list = bool(entry.schema.returns)
    names = [c_name(a.name) + (".data[i]" if a in lists else "") for a in args]
    destination = "&out->data[i]" if makes_list else "&done"
    text = EACH % {
        "c": entry.c,
        "name": entry.schema.name,
        "params": ", ".join(out_params(entry.schema) + [param(a) for a in args]),
        "lengths": ", ".join(c_name(a.name) + ".n" for a in lists),
        "n_lists": len(lists),
        "first": c_name(lists[0].name),
        "init": "    *out = (mt_tensor_list){NULL, 0};\n" if makes_list else "",
        "rehearsal": "" if makes_list else rehearsal(entry, lists),
        "more": " || mt_tensor_list_new(out, n) < 0" if makes_list else "",
        "before": "" if makes_list else "        mt_tensor *done = NULL;\n\n",
        "call": "each_%s(%s)" % (entry.c, ", ".join([destination] + names)),
        "after": "" if makes_list else "        mt_tensor_clear(&done);\n",
        "cleanup": "    mt_tensor_list_clear(out);\n" if makes_list else "",
    }
    return compile_expr(catalog, element, "static int each") + "\n" + text


def compile_expr(catalog, entry, prefix="int mt_expr"):
    """The C text of one composite."""
    code = Code()
    compiler = Compiler(catalog, ExprScope(entry), code)
    kind, outs = result_kind(entry.schema), out_names(entry.schema)

    def finish(node):
        if kind == "list":
            into_list(compiler, node, "out")
        elif kind == "value":
            into_value(compiler, node, "out", entry.schema.returns[0][0])
        else:
            into_tensors(compiler, node, outs)

    try:
        compiler.run(entry.expr, finish)
    except CatalogError as e:
        raise CatalogError("expr of %s: %s" % (entry.schema.full_name, e.message), entry.expr_where) from None
    before = ["    *%s = NULL;" % o for o in outs] if kind == "tensors" else []
    before += ["    *out = (mt_tensor_list){NULL, 0};"] if kind == "list" else []
    text = code.function(head_of(entry, prefix), before, [c_name(a.name) for a in entry.schema.args])
    return "/* %s */\n%s" % (entry.where, text)


def in_place_head(entry):
    return "int mt_expr_%s_inplace(%s)" % (entry.c, ", ".join(param(a) for a in entry.schema.args))


def compile_in_place(catalog, entry, expr):
    """The C text of the in-place form of a composite."""
    code = Code()
    compiler = Compiler(catalog, ExprScope(entry, True), code)

    def finish(node):
        if isinstance(node, ast.IfExp):
            compiler.branches(node, finish)
        else:
            compiler.value(node)

    compiler.run(expr, finish)
    return code.function(in_place_head(entry), [], [c_name(a.name) for a in entry.schema.args])


def emit(writer, catalog, errors):
    parts = []
    for entry in catalog.entries:
        if not entry.expr:
            continue
        try:
            parts.append((compile_each if entry.each else compile_expr)(catalog, entry))
            in_place = in_place_expr(catalog, entry)
            if in_place:
                parts.append(compile_in_place(catalog, entry, in_place))
        except CatalogError as e:
            errors.append((e.where, e.message))
    writer.add("composites.c", "emit_exprs.py from the expr lines of the catalog", HEAD + "\n".join(parts))
