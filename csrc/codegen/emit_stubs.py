"""Type stubs (.pyi) from the catalog and from the sources of the Python layer. What neither says is in stubs/."""

import os
import re
import textwrap

import stub_modules
from emit_methods import TABLES, functions
from model import SPACES
from signatures import python_name
from stub_types import HEAD, STUBS, TYPES_OF_C, Names, of_argument, of_out, of_results

PACKAGE = os.path.join(STUBS, os.pardir, os.pardir, os.pardir, "python", "minitorch")


def _default(text):
    return text if text[0] in "-0123456789\"'" or text in ("None", "True", "False") else "..."


def _parameters(entry, func):
    """(positional, keyword-only) parameters of one overload, without self, as text."""
    positional, keywords = [], []
    for arg in entry.schema.args[func.is_method :]:
        text = "%s: %s%s" % (
            python_name(func, arg.name),
            of_argument(entry, arg),
            "" if arg.default is None else " = " + _default(arg.default),
        )
        (keywords if arg.keyword_only else positional).append(text)
    if func.has_out and entry.out_ok:
        keywords.append("out: %s = None" % of_out(entry))
    if entry.factory:
        keywords.append("requires_grad: _bool = False")
    return positional, keywords


def _definition(name, func, positional, keywords, result):
    star = ["*"] if keywords and not any(p.startswith("*") for p in positional) else []
    parts = ["self"] * func.is_method + positional + star + keywords
    return "def %s(%s) -> %s: ..." % (name, ", ".join(parts), result)


def forms(func, name):
    """The definitions of a function: one per overload, and one for a list of sizes that may be spread."""
    found = []
    for entry in func.entries:
        positional, keywords = _parameters(entry, func)
        result = of_results(entry)
        found.append(_definition(name, func, positional, keywords, result))
        if func.spreads(entry):
            spread = "*%s: _int" % positional[0].partition(":")[0]
            found.append(_definition(name, func, [spread], keywords, result))
    return list(dict.fromkeys(found))


def definitions(func, indent, static, name=None):
    """The lines of the stub of a function."""
    found = forms(func, name or func.name)
    lines = []
    for form in found:
        lines += [indent + "@overload"] if len(found) > 1 else []
        lines += [indent + "@staticmethod"] if static else []
        lines.append(indent + form)
    return lines


def given(name):
    with open(os.path.join(STUBS, name), encoding="utf-8") as f:
        return f.read()


def _dtypes():
    """(name, prefix of the legacy classes) of all dtypes."""
    with open(os.path.join(STUBS, os.pardir, os.pardir, "core", "dtypes.def"), encoding="utf-8") as f:
        return re.findall(r'^(?:MT_DTYPE|MT_SHELL)\(\w+, +"(\w+)".*?"(\w+)"', f.read(), re.M)


def _core(tables):
    """_C.pyi"""
    head = given("_C_head.pyi")
    body = head[head.index("\nclass TensorBase") :]
    known = set(re.findall(r"^    (?:def )?(\w+)", body, re.M))
    parts = [HEAD % "emit_stubs.py", head[: head.index("\nclass TensorBase")]]
    parts += ["%s: _Dtype\n" % name for name, _ in _dtypes()]
    parts += [
        body,
        *("\n".join(definitions(f, "    ", False)) + "\n" for f in tables["methods"] if f.name not in known),
    ]
    parts.append("\n_TensorBase = TensorBase\n")
    for table in TABLES:
        if table == "methods":
            continue
        lines = [line for f in tables[table] for line in definitions(f, "    ", True)]
        if table == "functions":
            own = re.sub("^def ", "@staticmethod\ndef ", given("functions.pyi"), flags=re.M)
            lines.append(textwrap.indent(own.rstrip(), "    "))
        name = "_VariableFunctionsClass" if table == "functions" else "_%s" % table
        parts.append("\nclass %s:\n%s\n" % (name, "\n".join(lines) or "    ..."))
    return "".join(parts) + "\n_VariableFunctions: _VariableFunctionsClass\n"


def _space(space, funcs):
    """linalg.pyi, fft.pyi, special.pyi"""
    lines = [line for f in funcs for line in definitions(f, "", False, f.name[len(space) + 1 :])]
    error = "from minitorch._C import _LinAlgError as LinAlgError\n" if space == "linalg" else ""
    return HEAD % "emit_stubs.py" + TYPES_OF_C + error + "\n".join(lines) + "\n"


def _return_types(catalog):
    """return_types.pyi: a class per named result."""
    parts, seen = [HEAD % "emit_stubs.py", TYPES_OF_C, "all_return_types: list[type[Any]]\n"], set()
    for entry in catalog.entries:
        if not entry.struct or entry.struct in seen:
            continue
        seen.add(entry.struct)
        count = len(entry.schema.returns)
        parts.append("\nclass %s(Tuple[%s]):\n" % (entry.struct, ", ".join(["Tensor"] * count)))
        parts += [
            "    @property\n    def %s(self) -> Tensor: ...\n" % name for _, name in entry.schema.returns
        ]
        parts.append("    n_fields: _int\n    n_sequence_fields: _int\n    n_unnamed_fields: _int\n")
        parts.append("    def __new__(cls, sequence: Iterable[Any], dict: Any = ...) -> Self: ...\n")
    return "".join(parts)


def _package(writer, tables):
    """The stubs of the Python layer."""
    modules = stub_modules.find(PACKAGE)
    classes, names = stub_modules.classes_of(modules), Names()
    found = {
        (f.table, f.name): f
        for f in sorted((f for fs in tables.values() for f in fs), key=lambda f: -f.inplace)
    }
    spaces = {"_VariableFunctions": "functions", "_VariableFunctionsClass": "functions"}
    spaces.update({"_" + space: space for space in SPACES})

    def functions_of(space, name, wanted):
        func = found.get((spaces.get(space), name))
        return definitions(func, "", False, wanted) if func else []

    for module, path in modules.items():
        file = os.path.relpath(path, os.path.dirname(PACKAGE)) + "i"
        file = file.replace(os.sep, "/").partition("/")[2]
        if file in writer.files:  # linalg, fft, special, return_types
            continue
        stub, extra = stub_modules.ModuleStub(module, path, names, classes, functions_of), []
        if module == "minitorch":
            python = stub.python_names()
            extra = [
                li for f in tables["functions"] if f.name not in python for li in definitions(f, "", False)
            ]
            extra += given("functions.pyi").strip().split("\n")
            extra += ["class %sTensor(Tensor): ..." % prefix for _, prefix in _dtypes()]
        if module == "minitorch.storage":
            extra = ["class %sStorage(_LegacyStorage): ..." % prefix for _, prefix in _dtypes()]
        writer.add_plain(file, stub.text(extra))


def emit(writer, catalog):
    funcs = functions(catalog)
    tables = {table: [f for f in funcs if f.table == table] for table in TABLES}
    writer.add_plain("_C.pyi", _core(tables))
    for space in ("linalg", "fft", "special"):
        writer.add_plain(space + ".pyi", _space(space, tables[space]))
    writer.add_plain("return_types.pyi", _return_types(catalog))
    _package(writer, tables)
