"""methods.c: what Python sees.

One mt_py_func per name and form, its trampoline, and the PyMethodDef tables.
"""

from ctypes_map import c_string
from model import SPACES, plain_c_name
from signatures import docstring

HEAD = """#include <Python.h>

#include "bindings/bind.h"

#include "ops.h"
#include "tables.h"

/* A METH_FASTCALL | METH_KEYWORDS function in the slot of a PyMethodDef. */
#define SLOT(f) ((PyCFunction)(void (*)(void))(f))
#define CALL(id) \\
    static PyObject *py_##id(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) \\
    { \\
        return mt_py_call(&mt_py_func_table[id], self, args, nargs, kwnames); \\
    }

extern const mt_op mt_op_deprecated[];

"""
TABLES = ("methods", "functions") + SPACES


class Func:
    """One Python-visible callable."""

    def __init__(self, name, entries, table, inplace):
        self.name, self.entries, self.table, self.inplace = name, entries, table, inplace
        self.is_method = table == "methods"
        self.has_out = not self.is_method and not inplace and any(e.out_ok for e in entries)
        self.only_inplace = entries[0].only_inplace

    def spreads(self, entry):
        """Whether a list of sizes may be spread: f(2, 3) for f((2, 3)). It must be the only positional argument."""
        positional = [a for a in entry.schema.args[self.is_method :] if not a.keyword_only]
        return len(positional) == 1 and positional[0].type.is_list and positional[0].type.base == "int"


def _tables_of(entry, name):
    """Which tables list the plain form of an op under this name."""
    space = next((s for s in SPACES if name.startswith(s + "_")), "")
    if name in entry.alias and space and name != entry.name:
        return [space]
    tables = ["methods"] if "method" in entry.variants else []
    if "function" in entry.variants:
        tables.append("functions")
    if entry.space:
        tables.append(entry.space)
    return tables


def functions(catalog):
    """All Func, in catalog order."""
    found = {}
    for name, entries in catalog.python_names().items():
        for entry in entries:
            for table in _tables_of(entry, name):
                found.setdefault((table, name, entry.only_inplace), []).append(entry)
            if entry.inplace_ok and (name == entry.name or not name.startswith(SPACES)):
                tables = ["methods"] if "method" in entry.variants else []
                if "inplace_function" in entry.variants or entry.space:
                    tables.append(entry.space or "functions")
                for table in tables:
                    found.setdefault((table, name + "_", True), []).append(entry)
    return [Func(name, entries, table, inplace) for (table, name, inplace), entries in found.items()]


def deprecated_index(catalog):
    """{id of entry: [positions in mt_op_deprecated]}."""
    out, n = {}, 0
    for entry in catalog.entries:
        out[entry.c] = list(range(n, n + len(entry.deprecated)))
        n += len(entry.deprecated)
    return out


def emit(writer, catalog):
    funcs, old = functions(catalog), deprecated_index(catalog)
    overloads, rows, calls, docs = {}, [], [], []
    for i, func in enumerate(funcs):
        ops = ["&mt_op_table[%s]" % e.op_id for e in func.entries]
        ops += [
            "&mt_op_deprecated[%d]" % k
            for e in func.entries
            for k in old[e.c]
            if func.name.rstrip("_") == e.name
        ]
        array = overloads.setdefault(
            tuple(ops), "overloads_%s_%d" % (plain_c_name(func.name, "").strip("_"), i)
        )
        rows.append(
            "    {%s, %s, %d, MT_VARIANT_%s, %d, %d, %s, %d},"
            % (
                c_string(func.name),
                array,
                len(ops),
                "INPLACE" if func.inplace else "FUNCTION",
                func.is_method,
                func.has_out,
                c_string(func.table if func.table in SPACES else ""),
                i,
            )
        )
        calls.append("CALL(%d)" % i)
        docs.append("static const char doc_%d[] = %s;" % (i, c_string(docstring(func))))
    parts = [HEAD]
    parts += [
        "static const mt_op *const %s[] = {%s};\n" % (name, ", ".join(ops)) for ops, name in overloads.items()
    ]
    parts.append(
        "\nconst mt_py_func mt_py_func_table[] = {\n%s\n};\nconst int mt_py_func_count = %d;\n\n"
        % ("\n".join(rows), len(funcs))
    )
    parts.append("\n".join(calls) + "\n\n" + "\n".join(docs) + "\n")
    for table in TABLES:
        lines = ["\nPyMethodDef mt_py_%s[] = {" % table]
        lines += [
            "    {%s, SLOT(py_%d), METH_FASTCALL | METH_KEYWORDS, doc_%d}," % (c_string(f.name), i, i)
            for i, f in enumerate(funcs)
            if f.table == table
        ]
        parts.append("\n".join(lines + ["    {NULL, NULL, 0, NULL},", "};", ""]))
    writer.add("methods.c", "emit_methods.py from the catalog", "".join(parts))
