"""Type stubs: _C.pyi, __init__.pyi. What is not in the catalog stands in stubs/."""

import os
import re

from emit_methods import TABLES, functions

STUBS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "stubs")
_TYPES = {
    "Tensor": "Tensor",
    "Scalar": "_Number",
    "int": "_int",
    "float": "_float",
    "bool": "_bool",
    "str": "str",
    "ScalarType": "_dtype",
    "Layout": "_layout",
    "Device": "Union[_device, str, _int]",
    "MemoryFormat": "_memory_format",
    "Generator": "Generator",
    "Storage": "object",
}
_KEYWORDS = (
    "from",
    "lambda",
    "in",
    "is",
    "not",
    "and",
    "or",
    "def",
    "class",
    "global",
    "pass",
    "None",
    "True",
    "False",
)


def type_text(type_):
    text = _TYPES[type_.base]
    if type_.element_optional:
        text = "Optional[%s]" % text
    if type_.is_list:
        text = "Sequence[%s]" % text
        if type_.size:
            text = "Union[%s, %s]" % (_TYPES[type_.base], text)
    return "Optional[%s]" % text if type_.optional else text


def _default(text):
    return text if text[0] in "-0123456789\"'" or text in ("None", "True", "False") else "..."


def signature(entry, func):
    parts, star = ["self"] if func.is_method else [], False
    for i, arg in enumerate(entry.schema.args[func.is_method :]):
        if arg.keyword_only and not star:
            parts.append("*")
            star = True
        name = "input" if not func.is_method and i == 0 and arg.name == "self" else arg.name
        name += "_" if name in _KEYWORDS else ""
        kind = type_text(arg.type)
        if arg.name in entry.numbers:
            kind = "Union[%s, _Number]" % kind
        parts.append("%s: %s%s" % (name, kind, "" if arg.default is None else " = " + _default(arg.default)))
    if func.has_out and entry.out_ok:
        parts += ([] if star else ["*"]) + ["out: Any = None"]
    if entry.factory:
        parts += ([] if star or func.has_out else ["*"]) + ["requires_grad: _bool = False"]
    returns = [type_text(t) for t, _ in entry.schema.returns]
    result = "None" if not returns else returns[0] if len(returns) == 1 else "Tuple[%s]" % ", ".join(returns)
    return "def %s(%s) -> %s: ..." % (func.name, ", ".join(parts), result.replace("Sequence[", "Tuple["))


def head(name):
    with open(os.path.join(STUBS, name), encoding="utf-8") as f:
        return f.read()


def spread_signature(entry, func):
    """zeros(2, 3): the form of an overload whose only list of sizes may be spread, or None."""
    args = entry.schema.args[func.is_method :]
    lists = [i for i, a in enumerate(args) if not a.keyword_only and a.type.is_list and a.type.base == "int"]
    first = 1 if args and args[0].name == "self" else 0
    if lists != [first] or any(not a.keyword_only for a in args[first + 1 :]):
        return None
    spread = "*%s: _int" % args[first].name
    text = signature(entry, func)
    head, tail = text.split("%s: " % args[first].name, 1)
    rest = tail.split(", *, ", 1)
    return head + spread + (", " + rest[1] if len(rest) > 1 else tail[tail.index(") ->") :])


def definitions(funcs, indent, static):
    """The stubs of functions, overload by overload."""
    out = []
    for func in funcs:
        forms = []
        for entry in func.entries:
            forms += [signature(entry, func), spread_signature(entry, func)]
        forms = [f for f in forms if f]
        for form in forms:
            if len(forms) > 1:
                out.append(indent + "@overload")
            if static:
                out.append(indent + "@staticmethod")
            out.append(indent + form)
    return out


def dtype_constants():
    with open(os.path.join(STUBS, os.pardir, os.pardir, "core", "dtypes.def"), encoding="utf-8") as f:
        names = re.findall(r'^MT_DTYPE\(\w+, +"(\w+)"', f.read(), re.M)
    aliases = "half float double short int long cfloat cdouble".split()
    return ["%s: _dtype" % name for name in names + aliases]


def emit(writer, catalog):
    funcs = functions(catalog)
    tables = {table: [f for f in funcs if f.table == table] for table in TABLES}
    core, package = head("_C_head.pyi"), head("init_head.pyi")
    given = set(re.findall(r"^    (?:def )?(\w+)", core[core.index("class TensorBase") :], re.M))
    methods = [f for f in tables["methods"] if f.name not in given]
    parts = [core, "\n".join(definitions(methods, "    ", False)), "\n\n_TensorBase = TensorBase\n"]
    for table in TABLES:
        if table != "methods":
            name = "_VariableFunctionsClass" if table == "functions" else "_%s" % table
            body = definitions(tables[table], "    ", True) or ["    ..."]
            parts.append("\nclass %s:\n%s\n" % (name, "\n".join(body)))
    parts.append("\n_VariableFunctions: _VariableFunctionsClass\n")
    writer.add_plain("_C.pyi", "".join(parts))
    given = set(re.findall(r"^def (\w+)| as (\w+)", package, re.M))
    given = {name for pair in given for name in pair}
    public = [f for f in tables["functions"] if f.name not in given]
    lines = dtype_constants() + [""] + definitions(public, "", False)
    writer.add_plain("__init__.pyi", package + "\n" + "\n".join(lines) + "\n")
