"""composites.c: the expressions of `expr` entries as C functions mt_expr_<op>."""

from cfunc import TAGS, Code, Value
from ctypes_map import c_name, out_names, out_params, param, result_kind
from formula import Compiler
from results import into_list, into_tensors, into_value
from schema import CatalogError

HEAD = """#include "core/formula.h"

#include "ops.h"
#include "tables.h"

"""


class ExprScope:
    """Names of an expression: the arguments of its op."""

    def __init__(self, entry):
        self.args = {
            a.name: Value(
                TAGS[a.type.base, a.type.is_list],
                c_name(a.name),
                optional=a.type.optional or a.type.element_optional,
                source=a.name,
            )
            for a in entry.schema.args
        }

    def lookup(self, name):
        found = self.args.get(name)
        return Value(found.tag, found.c, found.optional, source=name) if found else None

    def presence(self, name):
        return self.lookup(name)

    def metadata(self, name, attr):
        return None

    def names(self):
        return list(self.args)


def head_of(entry):
    return "int mt_expr_%s(%s)" % (
        entry.c,
        ", ".join(out_params(entry.schema) + [param(a) for a in entry.schema.args]),
    )


def compile_expr(catalog, entry):
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
    text = code.function(head_of(entry), before, [c_name(a.name) for a in entry.schema.args])
    return "/* %s */\n%s" % (entry.where, text)


def emit(writer, catalog, errors):
    parts = []
    for entry in catalog.entries:
        if not entry.expr:
            continue
        try:
            parts.append(compile_expr(catalog, entry))
        except CatalogError as e:
            errors.append((e.where, e.message))
    writer.add("composites.c", "emit_exprs.py from the expr lines of the catalog", HEAD + "\n".join(parts))
