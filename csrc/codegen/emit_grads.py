"""grads_<family>.c: the gradient lines of the catalog as C functions, and the mt_grad records.

What a node saves is inferred from the formulas: a tensor where a formula computes with it, only its shape or
dtype where nothing else is asked for.
"""

import ast
import re

from cfunc import TAGS, Code, Value
from ctypes_map import c_name, c_type, getter
from formula import Compiler
from formula_builtins import METADATA
from results import into_list, into_tensors
from schema import CatalogError

HEAD = """#include "core/formula.h"
#include "core/frame.h"

#include "ops.h"
#include "tables.h"

"""
ZEROS = """/* The gradient of output k, zeros when none arrived. */
static int grad_of(mt_tensor **out, mt_node *node, mt_tensor *const *grads, int k)
{
    if (!grads[k])
        return mt_node_zeros(out, node, k);
    *out = mt_tensor_ref(grads[k]);
    return 0;
}

"""
# attribute: (saved kind, suffix of the saved name, tag)
SAVED = {
    "shape": ("SIZES", "_sym_sizes", "ints"),
    "strides": ("STRIDES", "_sym_strides", "ints"),
    "dtype": ("DTYPE", "_scalar_type", "dtype"),
    "device": ("DEVICE", "_device", "device"),
    "storage_offset": ("OFFSET", "_storage_offset", "int"),
    "shapes": ("LIST_SIZES", "_sizes", "ints"),
}
ALIKE = {
    "size": "shape",
    "ndim": "shape",
    "dim": "shape",
    "numel": "shape",
    "stride": "strides",
    "is_complex": "dtype",
    "is_floating_point": "dtype",
}
IN_TERMS_OF = {
    "ndim": ("int", "(int64_t)%s.n"),
    "dim": ("int", "(int64_t)%s.n"),
    "numel": ("int", "mt_ints_product(%s)"),
    "is_complex": ("bool", "mt_dtype_is_complex(%s)"),
    "is_floating_point": ("bool", "mt_dtype_is_float(%s)"),
}


class SavedSet:
    """What the node of one op keeps."""

    def __init__(self):
        self.items = {}  # (kind, index) -> [name, needed_by mask]

    def add(self, kind, index, name, mask):
        item = self.items.setdefault((kind, index), [name, 0])
        item[1] |= mask
        return list(self.items).index((kind, index))


def computed_with(text):
    """Names of which a formula needs more than metadata."""
    try:
        tree = ast.parse(text.strip())
    except SyntaxError:
        return set()  # reported when the formula is compiled
    skip = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in METADATA and isinstance(node.value, ast.Name):
            skip.add(node.value)
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.Is, ast.IsNot)):
            skip.add(node.left)
    return {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and n not in skip}


class GradScope:
    """Names of a gradient line: arguments, grad, result."""

    def __init__(self, entry, gradient, saved, code):
        self.entry, self.saved, self.code = entry, saved, code
        inputs = [entry.schema.args[i].name for i in entry.input_indices()]
        self.mask = sum(1 << inputs.index(n) for n in gradient.inputs)
        self.gradient, self.inputs = gradient, inputs
        self.loaded = computed_with(gradient.text)
        self.before, self.known = [], {}
        self.locals = []  # (declaration, cleanup): they outlive trial compilations
        self.grads_used = set()
        n = len(entry.schema.returns)
        self.outs = [name or ("%d" % i) for i, (_, name) in enumerate(entry.schema.returns)]
        self.results = {"result": 0} if n == 1 else {"result%d" % i: i for i in range(n)}
        self.gradients = {"grad": 0} if n == 1 else {"grad%d" % i: i for i in range(n)}
        if entry.schema.returns and entry.schema.returns[0][0].is_list:
            self.gradients, self.results = {}, {}
        for i, (_, name) in enumerate(entry.schema.returns):
            if name:
                self.gradients.setdefault("grad_" + name, i)
                if entry.schema.arg_index(name) < 0:
                    self.results.setdefault(name, i)

    def names(self):
        more = ["grads"] if not self.gradients else []
        more += ["grad_input_mask"] if len(self.gradient.inputs) > 1 else []
        return [a.name for a in self.entry.schema.args] + list(self.gradients) + list(self.results) + more

    def declare(self, declaration, cleanup=None):
        self.locals.append((declaration, cleanup))

    def lookup(self, name):
        if name not in self.known:
            self.known[name] = self._find(name)
        value = self.known[name]
        return Value(value.tag, value.c, value.optional, source=name) if value else None

    def _find(self, name):
        schema = self.entry.schema
        k = schema.arg_index(name)
        if k >= 0:
            return self._argument(k)
        if name in self.gradients:
            return self._gradient(self.gradients[name])
        if name in self.results:
            i = self.results[name]
            saved_name = (
                name
                if not name.startswith("result") or len(schema.returns) == 1
                else (schema.returns[i][1] or name)
            )
            return self._saved_tensor("RESULT", i, saved_name, "result%d_" % i, True)
        if name == "grads" and not self.gradients:
            return Value("Tensors", "(mt_tensors){grads, node->n_inputs}", optional=True)
        if name == "grad_input_mask" and len(self.gradient.inputs) > 1:
            bits = ", ".join("mt_node_needs(node, %s)" % edge_of(self.entry, n) for n in self.gradient.inputs)
            return Value("bools", "(mt_ints){(const int64_t[]){%s}, %d}" % (bits, len(self.gradient.inputs)))
        return None

    def _argument(self, k):
        arg = self.entry.schema.args[k]
        local, tag = c_name(arg.name), TAGS[arg.type.base, arg.type.is_list]
        if arg.type.is_tensor:
            return self._saved_tensor("ARG", k, arg.name, local, not arg.type.optional)
        at = self.saved.add("ARG", k, arg.name, self.mask)
        if arg.type.is_tensor_list:
            self.declare("mt_tensors %s = {NULL, -1};" % local)
            self.declare(
                "mt_tensor **own_%s = NULL;" % local, "mt_saved_tensors_free(own_%s, %s.n);" % (local, local)
            )
            self.before.append("    MT_TRY(mt_saved_tensors(&%s, &own_%s, node, %d));" % (local, local, at))
        else:
            self.declare(
                "%s%s = %s;" % (c_type(arg.type), local, getter(arg.type, "&node->saved[%d].value" % at))
            )
        return Value(tag, local, arg.type.optional or arg.type.element_optional)

    def _saved_tensor(self, kind, k, name, local, always):
        at = self.saved.add(kind, k, name, self.mask)
        self.declare("mt_tensor *%s = NULL;" % local, "mt_tensor_clear(&%s);" % local)
        self.before.append("    MT_TRY(mt_saved_tensor(&%s, node, %d));" % (local, at))
        always = always or name in self.gradient.inputs
        return Value("Tensor", local, optional=not always)

    def _gradient(self, i):
        self.grads_used.add(i)
        if len(self.entry.schema.returns) == 1:
            return Value("Tensor", "grads[0]")
        local = "grad%d_" % i
        if "mt_tensor *%s = NULL;" % local not in [d for d, _ in self.locals]:
            self.declare("mt_tensor *%s = NULL;" % local, "mt_tensor_clear(&%s);" % local)
            self.before.append("    MT_TRY(grad_of(&%s, node, grads, %d));" % (local, i))
        return Value("Tensor", local)

    def presence(self, name):
        """For `x is None`: no tensor is saved for it."""
        k = self.entry.schema.arg_index(name)
        if name in self.gradients and len(self.entry.schema.returns) > 1:
            return Value("Tensor", "grads[%d]" % self.gradients[name], optional=True, source=name)
        if k < 0 or not self.entry.schema.args[k].type.is_tensor or name in self.loaded:
            return self.lookup(name)
        found = self.metadata(name, "shape")
        return Value("ints", found.c, optional=self.entry.schema.args[k].type.optional, source=name)

    def metadata(self, name, attr):
        schema, k = self.entry.schema, self.entry.schema.arg_index(name)
        if k < 0 and name in self.results:
            return self._result_metadata(self.results[name], attr)
        if k < 0 or not schema.args[k].type.base == "Tensor":
            return None
        if (
            attr == "shapes"
            and not schema.args[k].type.is_list
            or attr != "shapes"
            and schema.args[k].type.is_list
        ):
            return None
        if name in self.loaded and attr != "shapes":
            return None
        base = ALIKE.get(attr, attr)
        if base not in SAVED:
            return None
        kind, suffix, tag = SAVED[base]
        local = c_name(name) + suffix
        key = (name, base)
        if key not in self.known:
            at = self.saved.add(kind, k, name + suffix, self.mask)
            c_type, get = {
                "ints": ("mt_ints ", "mt_arg_ints"),
                "dtype": ("mt_dtype ", "mt_arg_dtype"),
                "device": ("mt_device ", "mt_arg_device"),
                "int": ("int64_t ", "mt_arg_int"),
            }[tag]
            self.declare("%s%s = %s(&node->saved[%d].value);" % (c_type, local, get, at))
            self.known[key] = Value(tag, local)
        if attr in IN_TERMS_OF:
            tag, text = IN_TERMS_OF[attr]
            return Value(tag, text % local)
        return Value(tag, local)

    def _result_metadata(self, i, attr):
        if any(n in self.loaded for n, k in self.results.items() if k == i):
            return None
        base = ALIKE.get(attr, attr)
        meta = "node->input[%d]" % i
        text = {
            "shape": ("ints", "(mt_ints){%s.size, %s.ndim}" % (meta, meta)),
            "dtype": ("dtype", "(mt_dtype)%s.dtype" % meta),
            "device": ("device", "%s.device" % meta),
        }.get(base)
        if text is None:
            return None
        if attr in IN_TERMS_OF:
            tag, template = IN_TERMS_OF[attr]
            return Value(tag, template % ("(%s)" % text[1]))
        return Value(*text)


def list_position(entry):
    """Position among the inputs of the one list argument, or None."""
    for j, i in enumerate(entry.input_indices()):
        if entry.schema.args[i].type.is_list:
            return j
    return None


def edge_of(entry, name):
    """C text of the (first) edge of an input."""
    indices = entry.input_indices()
    j = [entry.schema.args[i].name for i in indices].index(name)
    at = list_position(entry)
    return str(j) if at is None or j <= at else "node->n_edges - %d" % (len(indices) - j)


def compile_gradient(catalog, entry, gradient, saved):
    """(C function, its name) of one gradient line."""
    code = Code()
    scope = GradScope(entry, gradient, saved, code)
    compiler = Compiler(catalog, scope, code)
    name = "%s_%s" % (entry.c, "_".join(gradient.inputs))
    is_list = entry.schema.args[entry.schema.arg_index(gradient.inputs[0])].type.is_list
    compiler.narrowed = frozenset(gradient.inputs) if len(gradient.inputs) == 1 else frozenset()
    dests = (
        ["out"] if len(gradient.inputs) == 1 else ["&out[%s]" % edge_of(entry, n) for n in gradient.inputs]
    )
    n_outs = len(entry.schema.returns)
    try:
        if gradient.text == "not_implemented":
            code.emit(
                "MT_REQUIRE(false, MT_ERR_NOT_IMPLEMENTED, \"the derivative for '%s' is not implemented.\");"
                % entry.name
            )
        elif is_list:
            code.locals.append(("mt_tensor_list list = {NULL, 0};", "mt_tensor_list_clear(&list);"))
            code.new_spare("mt_tensor_list *into = &list;")
            compiler.run(gradient.text, lambda node: into_list(compiler, node, "into"))
            first, rest = edge_of(entry, gradient.inputs[0]), len(entry.input_indices()) - 1
            code.emit("for (int i = 0; i < list.n && i < node->n_edges - %d; i++)" % rest)
            code.emit("    if (mt_node_needs(node, %s + i))" % first)
            code.emit("        out[i] = mt_tensor_move(&list.data[i]);")
        else:
            compiler.run(gradient.text, lambda node: into_tensors(compiler, node, dests))
            if len(dests) > 1:
                for n, dest in zip(gradient.inputs, dests):
                    code.emit("if (!mt_node_needs(node, %s))" % edge_of(entry, n))
                    code.emit("    mt_tensor_clear(%s);" % dest)
    except CatalogError as e:
        raise CatalogError("grad of %s: %s" % (entry.schema.full_name, e.message), gradient.where) from None
    code.locals = scope.locals + code.locals
    if n_outs > 1 and scope.grads_used:
        guard = " && ".join("!grads[%d]" % i for i in sorted(scope.grads_used))
        scope.before.insert(0, "    if (%s)\n        return 0;" % guard)
    head = "static int %s(mt_tensor **out, mt_node *node, mt_tensor *const *grads)" % name
    text = code.function(head, scope.before, ["out", "node", "grads"])
    return "/* %s */\n%s" % (gradient.where, text), name


def node_name(catalog, entry):
    """AddBackward0: the name in camel case and the index among the overloads that have a gradient."""
    if entry.node:
        return entry.node
    with_grad = [e for e in catalog.overloads(entry.name) if e.grad == "formulas"]
    words = [w[:1].upper() + w[1:] for w in entry.name.strip("_").split("_")]
    camel = re.sub(r"(\d)([a-z])", lambda m: m.group(1) + m.group(2).upper(), "".join(words))
    return "%sBackward%d" % (camel, with_grad.index(entry) if entry in with_grad else 0)


def compile_entry(catalog, entry):
    """Everything grads_<family>.c holds for one op."""
    saved, parts, calls = SavedSet(), [], []
    indices = entry.input_indices()
    for gradient in entry.grads:
        text, name = compile_gradient(catalog, entry, gradient, saved)
        parts.append(text)
        first = gradient.inputs[0]
        edge = edge_of(entry, first)
        if entry.schema.args[entry.schema.arg_index(first)].type.is_list:
            rest = len(indices) - 1
            calls.append(
                "    for (int i = 0; i < node->n_edges - %d; i++)\n"
                "        if (mt_node_needs(node, %s + i)) {\n"
                "            MT_TRY(%s(&out[%s], node, grads));\n            break;\n        }"
                % (rest, edge, name, edge)
            )
            continue
        test = " || ".join("mt_node_needs(node, %s)" % edge_of(entry, n) for n in gradient.inputs)
        target = "&out[%s]" % edge if len(gradient.inputs) == 1 else "out"
        calls.append("    if (%s)\n        MT_TRY(%s(%s, node, grads));" % (test, name, target))
    parts.append(
        "static int %s_backward_(mt_node *node, mt_tensor *const *grads, mt_tensor **out)\n{\n"
        "    int rc = -1;\n\n"
        "%s\n    rc = 0;\nfail:\n    return rc;\n}\n" % (entry.c, "\n".join(calls))
    )
    parts.append(record(catalog, entry, saved))
    return "\n".join(parts)


def constant_results(entry):
    """Bit set of the results of several whose gradient no formula reads."""
    text, returns = " ".join(g.text for g in entry.grads), entry.schema.returns
    if len(returns) == 1 or "not_implemented" in text:
        return 0
    names = [r"grad%d" % i + (r"|grad_%s" % name if name else "") for i, (_, name) in enumerate(returns)]
    return sum(1 << i for i, name in enumerate(names) if not re.search(r"\b(%s)\b" % name, text))


def is_sized(entry, kind, index):
    """Whether the saved value is a list of numbers."""
    if kind == "ARG":
        arg = entry.schema.args[index].type
        return arg.is_list and not arg.is_tensor_list
    return kind in ("SIZES", "STRIDES", "LIST_SIZES")


def record(catalog, entry, saved):
    out, n = [], len(saved.items)
    if n:
        out.append("static const mt_saved_spec %s_saved[] = {" % entry.c)
        out += [
            '    {MT_SAVE_%s, %d, "%s", %d},' % (kind, index, name, mask)
            for (kind, index), (name, mask) in saved.items.items()
        ]
        out.append("};")
    indices = entry.input_indices()
    out.append("static const uint8_t %s_inputs[] = {%s};" % (entry.c, ", ".join(map(str, indices))))
    out.append(
        'const mt_grad mt_grad_%s = {"%s", %d, %d, %s, %s_inputs, %s_backward_, %d, MT_JVP_%s, %s, %s};'
        % (
            entry.c,
            node_name(catalog, entry),
            n,
            len(indices),
            entry.c + "_saved" if n else "NULL",
            entry.c,
            entry.c,
            constant_results(entry),
            entry.forward.upper(),
            "true" if any(is_sized(entry, kind, index) for kind, index in saved.items) else "false",
            "true" if any(kind == "RESULT" for kind, _ in saved.items) else "false",
        )
    )
    return "\n".join(out) + "\n"


def record_not_implemented(entry):
    """A node that raises when it is run."""
    indices = [i for i, a in enumerate(entry.schema.args) if a.type.base == "Tensor"]
    return (
        "/* %s */\nstatic const uint8_t %s_inputs[] = {%s};\n"
        'const mt_grad mt_grad_%s = {"NotImplemented", 0, %d, NULL, %s_inputs, NULL, 0, MT_JVP_TRANSPOSE, false, false};\n'
        % (entry.where, entry.c, ", ".join(map(str, indices)), entry.c, len(indices), entry.c)
    )


def emit(writer, catalog, errors):
    for family in catalog.families:
        parts = []
        for entry in catalog.family(family):
            try:
                if entry.grad == "formulas":
                    parts.append(compile_entry(catalog, entry))
                elif entry.grad == "not_implemented":
                    parts.append(record_not_implemented(entry))
            except CatalogError as e:
                errors.append((e.where, e.message))
        if parts:
            body = "\n".join(parts)
            writer.add(
                "grads_%s.c" % family,
                "emit_grads.py from %s.yaml" % family,
                HEAD + (ZEROS if "grad_of(" in body else "") + body,
            )
