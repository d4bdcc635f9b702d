"""The frozen model of the catalog: entries, their C names, and lookups. Built by load.py."""

import os
import re
from dataclasses import dataclass, field

from schema import Schema

POINTWISE = ("unary", "binary", "compare", "ternary", "special")
KINDS = POINTWISE + ("reduce",)
VARIANTS = ("function", "method", "inplace", "inplace_function", "out", "nn", "linalg", "fft", "special")
SPACES = ("nn", "linalg", "fft", "special")
PROMOTES = (
    "default",
    "float",
    "compare",
    "bool",
    "real",
    "none",
    "first",
    "where",
    "masked",
    "complex",
    "float_real",
)
JVPS = ("elementwise", "linear", "multilinear", "transpose")
REDUCE_PROMOTES = ("same", "sum", "float", "bool", "index", "real")
AUTOCAST = ("lower", "float32", "widest", "banned")
AUTOCAST_DEVICES = ("cpu", "cuda")
FIT = ("any", "compute", "element")
ABSENT = {
    "zero": "ZERO",
    "lowest": "LOWEST",
    "highest": "HIGHEST",
    "-inf": "NEG_INF",
    "inf": "INF",
    "-1": "MINUS_ONE",
}


def _tokens(macro):
    here = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(os.path.dirname(here), "core", "dtypes.def")) as f:
        return tuple(re.findall(r"^%s\((\w+)," % macro, f.read(), re.M))


LOOP_DTYPES, SHELL_DTYPES = _tokens("MT_DTYPE"), _tokens("MT_SHELL")
DTYPES = LOOP_DTYPES + SHELL_DTYPES
DTYPE_CLASSES = {
    "bool": ("b8",),
    "int": ("u8", "i8", "i16", "i32", "i64"),
    "float": ("f16", "bf16", "f32", "f64"),
    "complex": ("c64", "c128"),
    # shells: the wider unsigned integers, the floats of eight bits, everything that has elements
    "unsigned": ("u16", "u32", "u64"),
    "float8": tuple(d for d in SHELL_DTYPES if d.startswith("f8")),
    "shell": SHELL_DTYPES,
}


@dataclass(frozen=True)
class Gradient:
    """One line of a `grad` map: the inputs it serves (several for a grouped line) and the expression."""

    inputs: tuple
    text: str
    where: str


@dataclass(frozen=True)
class Entry:
    schema: Schema
    where: str  # "binary.yaml:12"
    family: str  # stem of the file
    variants: frozenset = frozenset()
    kind: str = None
    kernel: str = None
    expr: str = None
    expr_where: str = None
    each: bool = False  # expr is about one element of every list argument
    impl: str = None
    view: str = None
    meta: str = None
    check: tuple = ()
    dtypes: tuple = ()
    promote: str = None
    formula: str = None
    operands: tuple = ()  # argument indices
    params: tuple = ()  # argument indices of the numbers handed to the loop
    absent: tuple = ()  # one token per param
    autocast: tuple = ("none", "none")  # the policy of each of AUTOCAST_DEVICES
    fit: tuple = ()  # what each param must fit: any compute element
    promote_params: bool = False
    identity: bool = False
    index_out: bool = False
    contiguous: tuple = ()  # argument indices
    cost: str = "1"
    grad: str = "parts"  # formulas, none, not_implemented, parts (differentiable through its parts)
    grads: tuple = ()
    node: str = None
    jvp: str = None
    alias: tuple = ()
    deprecated: tuple = ()  # of Schema
    numbers: tuple = ()
    scalars_ok: bool = False
    row_major: bool = False
    any_memory: bool = False
    factory: bool = False
    random: bool = False
    unlisted: bool = False  # not among what torch.overrides lists
    stand_in: bool = False  # among its stand-ins, under no public name
    silent: bool = False  # cannot be overridden
    struct: str = None
    doc: str = ""
    samples: tuple = ()
    c: str = ""  # C name, filled by the catalog
    problems: tuple = field(default=(), compare=False)

    @property
    def name(self):
        return self.schema.name

    @property
    def forward(self):
        """How tangents go through: the field `jvp`, or what holds for the kind of entry."""
        if self.jvp:
            return self.jvp
        return (
            "elementwise" if self.kind and self.kind != "reduce" else "linear" if self.view else "transpose"
        )

    @property
    def only_inplace(self):
        """copy_, uniform_: an op that writes its first argument."""
        return self.name.endswith("_") and not self.name.endswith("__") and not self.writes_list

    @property
    def writes_list(self):
        """_foreach_add_, _fused_adam_: an op that writes the tensors of its first argument, a list. Those of the
        first kind return it."""
        return self.name.endswith("_") and bool(self.schema.args) and self.schema.args[0].type.is_tensor_list

    @property
    def is_composite(self):
        return bool(self.expr or self.impl)

    @property
    def runs_parts(self):
        """A composite without a gradient of its own: the ops it calls record themselves."""
        return self.is_composite and self.grad == "parts"

    @property
    def has_impl(self):
        return bool(self.kind or self.kernel or self.expr or self.impl or self.view)

    @property
    def row_key(self):
        return self.formula

    @property
    def inplace_ok(self):
        return "inplace" in self.variants

    @property
    def out_ok(self):
        return "out" in self.variants

    @property
    def space(self):
        for space in SPACES:
            if space in self.variants:
                return space
        return ""

    @property
    def op_id(self):
        return "MT_OP_" + self.c

    def input_indices(self):
        """Arguments that get an edge, in argument order."""
        names = {n for g in self.grads for n in g.inputs}
        return [i for i, a in enumerate(self.schema.args) if a.name in names]


def plain_c_name(name, overload):
    """mt_<this> is the typed C function; see the README of this folder."""
    dunder = re.match(r"__(\w+?)__$", name)
    if dunder:
        base = "dunder_" + dunder.group(1)
    elif name.endswith("_"):
        base = name.strip("_") + "_inplace"
    else:
        base = name.lstrip("_")
    return re.sub(r"_+", "_", base + ("_" + overload if overload else ""))


class Catalog:
    def __init__(self, entries):
        self.entries = tuple(entries)
        self.by_name = {}
        for entry in self.entries:
            self.by_name.setdefault(entry.name, []).append(entry)
        self.families = tuple(dict.fromkeys(e.family for e in self.entries))

    def family(self, name):
        return [e for e in self.entries if e.family == name]

    def overloads(self, name):
        return self.by_name.get(name, [])

    def python_names(self):
        """Yields (name, [entries]) of what Python sees, aliases included, in catalog order."""
        names = {}
        for entry in self.entries:
            if entry.variants & {"function", "method", "nn", "linalg", "fft", "special", "inplace"}:
                names.setdefault(entry.name, []).append(entry)
        for entry in self.entries:
            for alias in entry.alias:
                names.setdefault(alias, []).append(entry)
        return names
