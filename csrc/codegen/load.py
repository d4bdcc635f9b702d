"""Reads the YAML files into entries and validates each entry on its own.

What concerns several entries (names, duplicates) is in check.py; formulas are validated by compiling them.
"""

import glob
import os
import re
from dataclasses import replace

import yaml

import schema as schema_module
from located import convert, flag_of, text_of, words_of
from model import (
    ABSENT,
    AUTOCAST,
    AUTOCAST_DEVICES,
    DTYPE_CLASSES,
    DTYPES,
    FIT,
    JVPS,
    KINDS,
    POINTWISE,
    PROMOTES,
    REDUCE_PROMOTES,
    SPACES,
    VARIANTS,
    Entry,
    Gradient,
)
from schema import CatalogError

TEXT = (
    "kind",
    "kernel",
    "expr",
    "each",
    "impl",
    "view",
    "meta",
    "promote",
    "formula",
    "cost",
    "node",
    "jvp",
    "struct",
    "doc",
    "cname",
)
WORDS = ("variants", "check", "dtypes", "operands", "params", "contiguous", "numbers", "alias", "autocast")
FLAGS = (
    "promote_params",
    "row_major",
    "any_memory",
    "identity",
    "index_out",
    "scalars_ok",
    "factory",
    "random",
    "unlisted",
    "stand_in",
    "silent",
)
FIELDS = ("op", "grad", "absent", "fit", "deprecated", "samples") + TEXT + WORDS + FLAGS
BODIES = ("kind", "kernel", "expr", "each", "impl", "view")
OPERAND_COUNT = {"unary": 1, "binary": 2, "compare": 2, "ternary": 3}
MAX_ARGS, MAX_OUTS, MAX_PARAMS = 20, 6, 4
_C_IDENT = re.compile(r"[A-Za-z][A-Za-z0-9]*(_[A-Za-z0-9]+)*$")


class EntryReader:
    """One entry: from located YAML to a validated Entry."""

    def __init__(self, item, family):
        if not isinstance(item.value, dict) or "op" not in item.value:
            raise CatalogError("an entry is a mapping with the field 'op'", item.where)
        self.raw = item.value
        self.where = item.value["op"].where
        self.family = family
        self.fields = {}

    def fail(self, message, field=None):
        item = self.raw.get(field) if field else None
        raise CatalogError(message, item.where if item else self.where)

    def read(self):
        for name in self.raw:
            if name not in FIELDS:
                raise CatalogError("unknown field '%s'" % name, self.raw[name].where)
        try:
            self.schema = schema_module.parse(text_of(self.raw["op"]))
        except CatalogError as e:
            self.fail(e.message)
        for name in TEXT:
            self.fields[name] = text_of(self.raw[name]) if name in self.raw else None
        for name in WORDS:
            self.fields[name] = words_of(self.raw[name]) if name in self.raw else ()
        for name in FLAGS:
            self.fields[name] = flag_of(self.raw[name]) if name in self.raw else False
        for name in ("expr", "each"):
            if self.fields[name] is not None:
                self.fields[name] = self.raw[name].value.strip()
        self.check_shape()
        self.check_variants()
        self.read_dtypes()
        self.read_body()
        self.read_grad()
        self.read_others()
        f = self.fields
        body = "each" if f["each"] is not None else "expr"
        f["each"], f["expr"] = f["each"] is not None, f[body]
        return Entry(
            schema=self.schema,
            where=self.where,
            family=self.family,
            expr_where=self.raw[body].where if body in self.raw else None,
            c=f.pop("cname") or "",
            variants=frozenset(f.pop("variants")),
            cost=f.pop("cost") or "0.3",
            doc=f.pop("doc"),
            **f,
        )

    def check_shape(self):
        s = self.schema
        if len(s.args) > MAX_ARGS:
            self.fail("more than %d arguments" % MAX_ARGS)
        if len(s.returns) > MAX_OUTS:
            self.fail("more than %d results" % MAX_OUTS)
        if not self.fields["doc"]:
            self.fail("the field 'doc' is missing", "doc")
        given = [b for b in BODIES if self.fields[b]]
        if len(given) > 1:
            self.fail(
                "only one of kind, kernel, expr, impl and view may be given, not %s" % " and ".join(given),
                given[1],
            )
        for name in ("kernel", "impl", "view", "meta", "formula", "check", "cname"):
            words = self.fields[name] or ()
            for word in words if name == "check" else (words,) if words else ():
                if not _C_IDENT.match(word):
                    self.fail("'%s' is no C name" % word, name)
        if self.fields["cost"] and not re.match(r"\d+(\.\d+)?$", self.fields["cost"]):
            self.fail("cost must be a number of nanoseconds", "cost")

    def check_variants(self):
        s, variants = self.schema, self.fields["variants"]
        for token in variants:
            if token not in VARIANTS:
                self.fail("unknown variant '%s'; known: %s" % (token, " ".join(VARIANTS)), "variants")
        if len(set(variants)) != len(variants):
            self.fail("a variant occurs twice", "variants")
        spaces = [v for v in variants if v in SPACES]
        if len(spaces) > 1 or (spaces and "function" in variants):
            self.fail("an op lives in one namespace", "variants")
        for space in spaces:
            if space != "nn" and not s.name.startswith(space + "_"):
                self.fail("an op of the namespace %s is called %s_..." % (space, space), "variants")
        one_tensor = len(s.returns) == 1 and s.returns[0][0].is_tensor
        takes_self = bool(s.args) and s.args[0].type.is_tensor
        if "method" in variants and not (takes_self and s.args[0].name == "self"):
            self.fail("a method needs the first argument 'Tensor self'", "variants")
        only_inplace = s.name.endswith("_") and not s.name.endswith("__")
        lists = self.fields["each"] is not None
        if "inplace" in variants and not lists and not (one_tensor and takes_self and not only_inplace):
            self.fail("an in-place form needs a first argument of type Tensor and one result", "variants")
        if "inplace_function" in variants and "inplace" not in variants:
            self.fail("inplace_function needs inplace", "variants")
        if "out" in variants and not all(t.is_tensor for t, _ in s.returns):
            self.fail("out= needs results of type Tensor", "variants")
        writes_list = bool(s.args) and s.args[0].type.is_tensor_list and not s.returns
        if only_inplace and not (takes_self and one_tensor) and not writes_list:
            self.fail("an op whose name ends in '_' writes its first argument and returns it")

    def read_dtypes(self):
        out = []
        for token in self.fields["dtypes"]:
            if token not in DTYPE_CLASSES and token not in DTYPES:
                self.fail(
                    "unknown dtype '%s'; known: %s" % (token, " ".join(tuple(DTYPE_CLASSES) + DTYPES)),
                    "dtypes",
                )
            out.extend(DTYPE_CLASSES.get(token, (token,)))
        self.fields["dtypes"] = tuple(d for d in DTYPES if d in out)

    def arg_indices(self, field):
        out = []
        for name in self.fields[field]:
            k = self.schema.arg_index(name)
            if k < 0:
                self.fail(
                    "'%s' is no argument; known: %s" % (name, " ".join(a.name for a in self.schema.args)),
                    field,
                )
            out.append(k)
        return tuple(out)

    def read_body(self):
        f, kind = self.fields, self.fields["kind"]
        if kind and kind not in KINDS:
            self.fail("unknown kind '%s'; known: %s" % (kind, " ".join(KINDS)), "kind")
        only = {
            "promote": KINDS,
            "formula": KINDS,
            "operands": POINTWISE,
            "absent": KINDS,
            "fit": POINTWISE,
            "params": KINDS,
            "promote_params": POINTWISE,
            "row_major": POINTWISE,
            "identity": ("reduce",),
            "index_out": ("reduce",),
        }
        for name, kinds in only.items():
            if name in self.raw and kind not in kinds:
                self.fail("'%s' belongs to entries of kind %s" % (name, " ".join(kinds)), name)
        f["contiguous"] = self.arg_indices("contiguous")
        if f["contiguous"] and not f["kernel"]:
            self.fail("'contiguous' belongs to entries with a kernel", "contiguous")
        f["params"] = self.arg_indices("params")
        if kind:
            self.read_kind(kind)
        elif f["kernel"]:
            if not f["meta"] and all(t.base == "Tensor" for t, _ in self.schema.returns):
                self.fail("a kernel needs a meta rule", "kernel")
        elif f["meta"] and f["view"] is None:
            self.fail("'meta' belongs to entries with a kernel", "meta")
        given = self.read_words("absent", ABSENT)
        for i in f["params"]:
            if self.schema.args[i].type.optional and self.schema.args[i].name not in given:
                self.fail("'absent' must say what the loop gets when '%s' is None" % self.schema.args[i].name)
        f["absent"] = tuple(given.get(self.schema.args[i].name, "zero") for i in f["params"])
        given = self.read_words("fit", FIT)
        f["fit"] = tuple(
            given.get(a.name, "compute" if a.type.base == "Scalar" else "any")
            for a in (self.schema.args[i] for i in f["params"])
        )
        f["autocast"] = self.read_autocast()
        if f["jvp"] and f["jvp"] not in JVPS:
            self.fail("unknown jvp '%s'; known: %s" % (f["jvp"], " ".join(JVPS)), "jvp")
        if f["jvp"] and not isinstance(self.raw["grad"].value if "grad" in self.raw else None, dict):
            self.fail("'jvp' belongs to entries with gradient formulas", "jvp")

    def read_autocast(self):
        """The policy of each device: `lower` is for all, `cuda_float32` for one."""
        given = dict.fromkeys(AUTOCAST_DEVICES, "none")
        for word in self.fields["autocast"]:
            device, _, policy = word.partition("_")
            devices, policy = ((device,), policy) if device in AUTOCAST_DEVICES else (AUTOCAST_DEVICES, word)
            if policy not in AUTOCAST:
                self.fail("unknown policy '%s'; known: %s" % (word, " ".join(AUTOCAST)), "autocast")
            given.update(dict.fromkeys(devices, policy))
        return tuple(given.values())

    def read_kind(self, kind):
        f, s = self.fields, self.schema
        if not f["dtypes"]:
            self.fail("the field 'dtypes' is missing")
        f["formula"] = f["formula"] or s.name.strip("_")
        allowed = REDUCE_PROMOTES if kind == "reduce" else PROMOTES
        f["promote"] = f["promote"] or {"reduce": "same", "compare": "compare"}.get(kind, "default")
        if f["promote"] not in allowed:
            self.fail("unknown promote '%s'; known: %s" % (f["promote"], " ".join(allowed)), "promote")
        if f["meta"]:
            self.fail("an op with a kind has its meta rule already", "meta")
        if kind == "reduce":
            f["operands"] = (0,)
            if not (s.args and s.args[0].type.is_tensor) or len(s.returns) > 2:
                self.fail("a reduction has a first argument of type Tensor and one or two results")
            rest = [i for i, a in enumerate(s.args) if i and a.name not in ("dim", "keepdim", "dtype")]
        else:
            if len(s.returns) != 1 or not s.returns[0][0].is_tensor:
                self.fail("a pointwise op has one result of type Tensor")
            f["operands"] = self.arg_indices("operands") or tuple(
                i for i, a in enumerate(s.args) if a.type.is_tensor
            )
            if len(f["operands"]) != OPERAND_COUNT.get(kind, len(f["operands"])) or len(f["operands"]) > 4:
                self.fail(
                    "the kind %s has %s operands, not %d"
                    % (kind, OPERAND_COUNT.get(kind, "at most 4"), len(f["operands"]))
                )
            for i in f["operands"]:
                if s.args[i].type.optional or not (
                    s.args[i].type.is_tensor or str(s.args[i].type) == "Scalar"
                ):
                    self.fail("the operand '%s' must be a Tensor or a Scalar" % s.args[i].name)
            rest = [i for i in range(len(s.args)) if i not in f["operands"]]
        rest = f["params"] or rest
        for i in rest:
            if not s.args[i].type.is_number:
                self.fail(
                    "the argument '%s' of type %s cannot be handed to a loop"
                    % (s.args[i].name, s.args[i].type)
                )
        if len(rest) > MAX_PARAMS:
            self.fail("more than %d numbers for the loop" % MAX_PARAMS)
        f["params"] = tuple(rest)

    def read_words(self, field, known):
        """A field that maps numbers handed to the loop to words."""
        given = {}
        if field not in self.raw:
            return given
        item = self.raw[field]
        if not isinstance(item.value, dict):
            raise CatalogError("'%s' maps arguments to %s" % (field, " ".join(known)), item.where)
        for name, value in item.value.items():
            if self.schema.arg_index(name) not in self.fields["params"]:
                raise CatalogError("'%s' is no number handed to the loop" % name, value.where)
            if text_of(value) not in known:
                raise CatalogError(
                    "unknown value '%s'; known: %s" % (text_of(value), " ".join(known)), value.where
                )
            given[name] = text_of(value)
        return given

    def read_grad(self):
        f, s, raw = self.fields, self.schema, self.raw.get("grad")
        f["grads"] = ()
        if raw is None:
            differentiable = not f["dtypes"] or any(d[0] in "fcb" and d != "b8" for d in f["dtypes"])
            composite = f["expr"] or f["each"] or f["impl"] or not any(f[b] for b in BODIES)
            tensors = any(a.type.base == "Tensor" for a in s.args) and any(
                t.base == "Tensor" for t, _ in s.returns
            )
            if differentiable and tensors and not composite:
                self.fail("give the gradient in 'grad', or 'grad: none'")
            f["grad"] = "parts" if composite else "none"
            return
        if isinstance(raw.value, str):
            if raw.value not in ("none", "not_implemented"):
                raise CatalogError("'grad' is a map, none or not_implemented", raw.where)
            f["grad"] = raw.value
            return
        if not isinstance(raw.value, dict):
            raise CatalogError("'grad' is a map, none or not_implemented", raw.where)
        grads, seen = [], set()
        for key, value in raw.value.items():
            names = tuple(n.strip() for n in key.split(","))
            for name in names:
                k = s.arg_index(name)
                if k < 0 or s.args[k].type.base != "Tensor":
                    raise CatalogError(
                        "'%s' is no tensor argument; known: %s"
                        % (name, " ".join(a.name for a in s.args if a.type.base == "Tensor")),
                        value.where,
                    )
                if name in seen:
                    raise CatalogError("'%s' has two gradients" % name, value.where)
                if len(names) > 1 and s.args[k].type.is_list:
                    raise CatalogError("a list cannot be part of a group", value.where)
                seen.add(name)
            if not isinstance(value.value, str) or not value.value.strip():
                raise CatalogError("a gradient is an expression", value.where)
            grads.append(Gradient(names, value.value.strip(), value.where))
        if sum(s.args[s.arg_index(n)].type.is_list for n in seen) > 1:
            raise CatalogError("only one list argument may have a gradient", raw.where)
        f["grad"], f["grads"] = "formulas", tuple(grads)

    def read_others(self):
        f, s = self.fields, self.schema
        for i in self.arg_indices("numbers"):
            if not s.args[i].type.is_tensor:
                self.fail("'%s' is no Tensor argument" % s.args[i].name, "numbers")
        if f["struct"] and (len(s.returns) < 2 or not all(n for _, n in s.returns)):
            self.fail("a struct needs several named results", "struct")
        f["samples"] = tuple(text_of(i) for i in self._list("samples"))
        deprecated = []
        for item in self._list("deprecated"):
            try:
                old = schema_module.parse(text_of(item))
            except CatalogError as e:
                raise CatalogError(e.message, item.where) from None
            types = {a.name: a.type for a in s.args}
            if old.name != s.name or any(types.get(a.name) != a.type for a in old.args):
                raise CatalogError(
                    "a deprecated signature has the name and some of the arguments of the op", item.where
                )
            deprecated.append(old)
        f["deprecated"] = tuple(deprecated)

    def _list(self, name):
        item = self.raw.get(name)
        if item is None:
            return []
        if not isinstance(item.value, list):
            raise CatalogError("'%s' is a list" % name, item.where)
        return item.value


def inplace_each(entry):
    """The entry of the in-place form: f(self, ...) becomes self.f_(...) for every element."""
    call = re.match(r"(\w+)\(self(?:, )?(.*)\)$", entry.expr)
    if not call:
        raise CatalogError("an 'each' with an in-place form is one call f(self, ...)", entry.expr_where)
    schema = replace(entry.schema, name=entry.schema.name + "_", returns=())
    return replace(
        entry,
        schema=schema,
        variants=frozenset({"function"}),
        expr="self.%s_(%s)" % call.groups(),
        doc=entry.doc.rstrip(".") + ", in place.",
        samples=(),
    )


def read_file(path, errors):
    """Entries of one family file; mistakes are appended to errors as (where, message)."""
    name = os.path.basename(path)
    try:
        with open(path, encoding="utf-8") as f:
            root = yaml.compose(f, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except yaml.MarkedYAMLError as e:
        mark = e.problem_mark or e.context_mark
        errors.append(("%s:%d" % (name, mark.line + 1 if mark else 1), e.problem or "not YAML"))
        return []
    if root is None:
        return []
    if not isinstance(root, yaml.SequenceNode):
        errors.append(("%s:1" % name, "a family file is a list of entries"))
        return []
    entries = []
    for node in root.value:
        try:
            entry = EntryReader(convert(node, name), name[: -len(".yaml")]).read()
            entries.append(entry)
            if entry.each and entry.inplace_ok:
                entries[-1] = replace(entry, variants=entry.variants - {"inplace", "inplace_function"})
                entries.append(inplace_each(entry))
        except CatalogError as e:
            errors.append((e.where, e.message))
    return entries


def read_folder(folder, errors):
    entries = []
    for path in sorted(glob.glob(os.path.join(folder, "*.yaml"))):
        entries.extend(read_file(path, errors))
    return entries
