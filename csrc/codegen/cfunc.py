"""Values of the formula language as C text, and the body of one C function under construction."""

from dataclasses import dataclass, field

# Tag of a value by schema type (base, is_list).
TAGS = {
    ("Tensor", False): "Tensor",
    ("Tensor", True): "Tensors",
    ("Scalar", False): "Scalar",
    ("Scalar", True): "Scalars",
    ("int", False): "int",
    ("float", False): "float",
    ("bool", False): "bool",
    ("int", True): "ints",
    ("float", True): "floats",
    ("bool", True): "bools",
    ("str", False): "str",
    ("ScalarType", False): "dtype",
    ("Layout", False): "layout",
    ("Device", False): "device",
    ("MemoryFormat", False): "format",
    ("Generator", False): "generator",
    ("Storage", False): "storage",
}
NUMBERS = ("Scalar", "int", "float", "bool")
C_LOCAL = {
    "Scalar": "mt_scalar ",
    "int": "int64_t ",
    "float": "double ",
    "bool": "bool ",
    "str": "const char *",
    "dtype": "mt_dtype ",
    "device": "mt_device ",
    "layout": "int ",
    "format": "int ",
}


@dataclass
class Value:
    tag: str  # a tag above, or: none, list (literal), tuple (several results), never (fail())
    c: str = ""  # the C expression; of an optional number the pointer
    optional: bool = False  # may be None; of Tensors: elements may be None
    temp: str = None  # name of the owning local, cleared once the value is used
    items: list = field(default_factory=list)
    names: tuple = ()  # result names of a tuple
    source: str = None  # name in the formula, for messages and for narrowing
    writable: bool = False  # an argument that the formula may write

    @property
    def is_tensor(self):
        return self.tag == "Tensor"

    @property
    def is_number(self):
        return self.tag in NUMBERS


def describe(value):
    text = {
        "Tensors": "Tensor[]",
        "Scalars": "Scalar[]",
        "ints": "int[]",
        "floats": "float[]",
        "bools": "bool[]",
        "none": "None",
        "list": "list",
    }.get(value.tag, value.tag)
    return text + ("?" if value.optional else "")


class Code:
    """Lines, locals and cleanup of one function. mark() and rollback() undo trial compilations."""

    def __init__(self):
        self.lines = []
        self.locals = []  # (declaration, cleanup line or None)
        self.indent = 1
        self.count = 0

    def mark(self):
        return len(self.lines), len(self.locals), self.indent, self.count

    def rollback(self, mark):
        del self.lines[mark[0] :]
        del self.locals[mark[1] :]
        self.indent, self.count = mark[2], mark[3]

    def emit(self, line):
        self.lines.append("    " * self.indent + line)

    def attempt(self, call):
        self.emit("MT_TRY(%s);" % call)

    def _name(self, prefix):
        self.count += 1
        return "%s%d" % (prefix, self.count)

    def new_tensor(self, prefix="t"):
        name = self._name(prefix)
        self.locals.append(("mt_tensor *%s = NULL;" % name, "mt_tensor_clear(&%s);" % name))
        return name

    def new_list(self):
        name = self._name("list")
        self.locals.append(("mt_tensor_list %s = {NULL, 0};" % name, "mt_tensor_list_clear(&%s);" % name))
        return name

    def new_local(self, tag):
        name = self._name("v")
        init = {
            "Scalar": " = {0}",
            "device": " = MT_DEVICE_NONE",
            "str": " = NULL",
            "dtype": " = MT_DTYPE_NONE",
        }
        self.locals.append(("%s%s%s;" % (C_LOCAL[tag], name, init.get(tag, " = 0")), None))
        return name

    def new_array(self, c_type, n):
        name = self._name("a")
        self.locals.append(("%s%s[%d];" % (c_type, name, n), None))
        return name

    def new_spare(self, declaration):
        self.locals.append((declaration, None))

    def clear(self, value):
        """The value was used: an owned temporary goes."""
        if value.temp:
            is_list = value.tag == "Tensors"
            self.emit("mt_tensor_%sclear(&%s);" % ("list_" if is_list else "", value.temp))
            value.temp = None
        for item in value.items:
            self.clear(item)

    def function(self, head, before=(), unused=()):
        """The text of a function. `before`: lines in front of it; `unused`: parameters that may be idle."""
        lines = list(before) + self.lines
        text = "\n".join(lines)
        fallible = "MT_TRY" in text or "goto fail" in text or "MT_REQUIRE" in text
        out = [head, "{"]
        out += ["    " + declaration for declaration, _ in self.locals]
        if fallible:
            out.append("    int rc = -1;")
        idle = ["    (void)%s;" % p for p in unused if not _mentions(text, p, self.locals)]
        if self.locals or fallible:
            out.append("")
        out += idle + lines
        cleanup = ["    " + line for _, line in self.locals if line]
        if fallible:
            out += ["    rc = 0;", "fail:"] + cleanup + ["    return rc;", "}"]
        else:
            out += cleanup + ["    return 0;", "}"]
        return "\n".join(out) + "\n"


def _mentions(text, name, local_list):
    import re

    pattern = re.compile(r"\b%s\b" % re.escape(name))
    return bool(pattern.search(text)) or any(pattern.search(d) for d, _ in local_list)
