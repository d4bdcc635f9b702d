"""Compiles expressions in Python syntax to straight-line C.

One owning temporary per step, cleared after its use; MT_TRY per call; one cleanup block. Names come from a
scope (lookup and metadata), functions and methods are ops of the catalog. Anything else is an error at the
line of the formula. See the README for the language.
"""

import ast
import copy

from cfunc import C_LOCAL, NUMBERS, Value, describe
from formula_builtins import (
    BINARY,
    COMPARE,
    METADATA,
    compare_numbers,
    constant,
    dtype_attribute,
    int_arithmetic,
    metadata_of,
    number_arithmetic,
)
from formula_calls import Calls
from resolve import deref, to_scalar
from schema import CatalogError


def without_parentheses(text):
    """'(a == b)' as 'a == b': clang takes a comparison in two pairs for a mistyped assignment."""
    if not (text.startswith("(") and text.endswith(")")):
        return text
    depth = 0
    for at, char in enumerate(text):
        depth += (char == "(") - (char == ")")
        if depth == 0 and at + 1 < len(text):
            return text
    return text[1:-1]


class Compiler(Calls):
    def __init__(self, catalog, scope, code):
        self.catalog, self.scope, self.code = catalog, scope, code
        self.variables = {}
        self.narrowed = frozenset()

    # --- entry points ---

    def run(self, text, finish):
        """Assignments, then one expression, which is handed to finish(node)."""
        try:
            body = ast.parse(text.strip()).body
        except SyntaxError as e:
            raise CatalogError("not a formula: %s" % e.msg) from None
        if not body or not isinstance(body[-1], ast.Expr):
            raise CatalogError("a formula ends with an expression")
        for statement in body[:-1]:
            if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
                raise CatalogError("only assignments may precede the expression")
            self.assign(statement.targets[0], statement.value)
        finish(body[-1].value)

    def assign(self, target, node):
        value = self.value(node)
        if isinstance(target, ast.Tuple):
            if value.tag != "tuple" or len(value.items) != len(target.elts):
                raise CatalogError(
                    "%s cannot be unpacked into %d names" % (describe(value), len(target.elts))
                )
            pairs = zip(target.elts, value.items)
        else:
            pairs = [(target, value)]
        for name, item in pairs:
            if not isinstance(name, ast.Name):
                raise CatalogError("only names may be assigned to")
            if item.is_number and not item.optional:
                local = self.code.new_local(item.tag)
                self.code.emit("%s = %s;" % (local, item.c))
                item = Value(item.tag, local)
            for part in [item] + (item.items if item.tag == "tuple" else []):
                part.temp = None  # named: lives to the end
            item.source = name.id
            self.variables[name.id] = item

    # --- tensors into a destination ---

    def tensor_into(self, node, dest):
        """Compiles a Tensor (or None) expression; *dest becomes a new reference."""
        if isinstance(node, ast.IfExp):
            return self.branches(node, lambda part: self.tensor_into(part, dest))
        value = self.value(node, dest)
        if value.tag in ("never", "none") or value.c == "*" + dest:
            return
        if value.is_number:
            self.code.attempt("mt_tensor_from_scalar(%s, %s)" % (dest, to_scalar(value)))
        elif not value.is_tensor:
            raise CatalogError("a Tensor is expected, not %s" % describe(value))
        elif value.temp:
            self.code.emit(
                "*%s = mt_tensor_move(&%s);" % (dest, value.temp)
                if not dest.startswith("&")
                else "%s = mt_tensor_move(&%s);" % (dest[1:], value.temp)
            )
        else:
            target = dest[1:] if dest.startswith("&") else "*" + dest
            ref = "mt_tensor_ref(%s)" % value.c
            if value.optional and value.source not in self.narrowed:
                ref = "%s ? %s : NULL" % (value.c, ref)
            self.code.emit("%s = %s;" % (target, ref))

    def branches(self, node, compile_part):
        test, if_true, if_false = self.condition(node.test)
        code, outer = self.code, self.narrowed
        code.emit("if (%s) {" % without_parentheses(test))
        for names, part, closing in ((if_true, node.body, "} else {"), (if_false, node.orelse, "}")):
            code.indent += 1
            self.narrowed = outer | names
            compile_part(part)
            code.indent -= 1
            code.emit(closing)
        self.narrowed = outer
        if code.lines[-2].strip() == "} else {":
            del code.lines[-2:]
            code.emit("}")

    # --- conditions ---

    def condition(self, node):
        """(C text, names that are not None when true, the same when false)."""
        nothing = frozenset()
        if isinstance(node, ast.BoolOp):
            return self.bool_op(node)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            text, if_true, if_false = self.condition(node.operand)
            return "!(%s)" % text, if_false, if_true
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.Is, ast.IsNot)):
            text, name = self.is_none(node)
            names = frozenset([name]) if name else nothing
            if isinstance(node.ops[0], ast.Is):
                return text, nothing, names
            return text, names, nothing
        value = self.value(node)
        if value.tag == "bool":
            return deref(self.present(value)), nothing, nothing
        if value.tag == "int":
            return "%s != 0" % deref(self.present(value)), nothing, nothing
        raise CatalogError("a condition is a bool or an int, not %s" % describe(value))

    def bool_op(self, node):
        is_and = isinstance(node.op, ast.And)
        outer, gathered, parts = self.narrowed, frozenset(), []
        for operand in node.values:
            mark = self.code.mark()
            self.narrowed = outer | gathered
            text, if_true, if_false = self.condition(operand)
            if parts and len(self.code.lines) != mark[0]:
                raise CatalogError(
                    "the right side of and/or may not compute tensors or elements; use x if c else y"
                )
            gathered |= if_true if is_and else if_false
            parts.append("(%s)" % text)
        self.narrowed = outer
        text = (" && " if is_and else " || ").join(parts)
        return (text, gathered, frozenset()) if is_and else (text, frozenset(), gathered)

    def is_none(self, node):
        if not (isinstance(node.comparators[0], ast.Constant) and node.comparators[0].value is None):
            raise CatalogError("'is' compares with None only")
        value = None
        if isinstance(node.left, ast.Name):
            value = self.variables.get(node.left.id) or self.scope.presence(node.left.id)
        value = value or self.value(node.left)
        if not value.optional:
            raise CatalogError("%s is never None" % (value.source or describe(value)))
        text = {
            "ints": "%s.n < 0",
            "bools": "%s.n < 0",
            "floats": "%s.n < 0",
            "Tensors": "%s.n < 0",
            "dtype": "%s == MT_DTYPE_NONE",
            "layout": "%s < 0",
            "format": "%s < 0",
            "device": "mt_device_is_none(%s)",
        }.get(value.tag, "%s == NULL") % value.c
        return (text if isinstance(node.ops[0], ast.Is) else "!(%s)" % text), value.source

    def present(self, value):
        """The value, known not to be None."""
        if value.optional and value.source not in self.narrowed and value.tag != "Tensors":
            raise CatalogError("%s may be None here" % (value.source or "the value"))
        return value

    # --- expressions ---

    def value(self, node, dest=None):
        method = getattr(self, "on_" + type(node).__name__, None)
        if method is None:
            raise CatalogError("'%s' is not part of the formula language" % type(node).__name__)
        return (
            method(node, dest)
            if method
            in (
                self.on_Call,
                self.on_BinOp,
                self.on_UnaryOp,
                self.on_Compare,
                self.on_IfExp,
                self.on_Attribute,
            )
            else method(node)
        )

    def on_Constant(self, node):
        return constant(node.value)

    def on_Name(self, node):
        if node.id in self.variables:
            return copy.copy(self.variables[node.id])
        value = self.scope.lookup(node.id)
        if value is None:
            value = {
                "inf": Value("float", "INFINITY"),
                "nan": Value("float", "NAN"),
                "pi": Value("float", "3.14159265358979323846"),
            }.get(node.id)
        if value is None:
            raise CatalogError(
                "unknown name '%s'; in scope: %s"
                % (node.id, " ".join(list(self.variables) + self.scope.names()))
            )
        if value.optional and value.source in self.narrowed and value.tag != "Tensors":
            value = Value(value.tag, "*" + value.c if value.is_number else value.c, source=value.source)
        return value

    def on_List(self, node):
        return Value("list", items=[self.value(e) for e in node.elts])

    def on_Tuple(self, node):
        return Value("tuple", items=[self.value(e) for e in node.elts])

    def on_BoolOp(self, node):
        return Value("bool", "(%s)" % self.condition(node)[0])

    def on_UnaryOp(self, node, dest):
        if isinstance(node.op, ast.Not):
            return Value("bool", "(%s)" % self.condition(node)[0])
        operand = self.value(node.operand)
        if isinstance(node.op, ast.USub):
            if operand.tag in ("int", "float"):
                return Value(
                    operand.tag,
                    "-%s" % deref(self.present(operand))
                    if operand.tag == "float" or operand.c.isdigit()
                    else "mt_int_sub(0, %s)" % deref(operand),
                )
            if operand.tag == "Scalar":
                return Value("Scalar", "mt_scalar_neg(%s)" % deref(self.present(operand)))
            return self.call_op("neg", [operand], {}, dest)
        if isinstance(node.op, ast.Invert):
            return self.call_op("bitwise_not", [operand], {}, dest)
        raise CatalogError("unary plus is not part of the formula language")

    def on_BinOp(self, node, dest):
        left, right = self.value(node.left), self.value(node.right)
        if left.is_number and right.is_number:
            self.present(left), self.present(right)
            if left.tag == right.tag == "int":
                return int_arithmetic(self.code, node.op, left, right)
            return number_arithmetic(node.op, left, right)
        name = BINARY.get(type(node.op))
        if name is None:
            raise CatalogError("this operator is not part of the formula language")
        return self.call_op(name, [left, right], {}, dest)

    def on_Compare(self, node, dest):
        if len(node.ops) != 1:
            raise CatalogError("comparisons may not be chained")
        if isinstance(node.ops[0], (ast.Is, ast.IsNot)):
            return Value("bool", "(%s)" % self.is_none(node)[0])
        left = self.value(node.left)
        if isinstance(node.ops[0], (ast.In, ast.NotIn)):
            items = self.value(node.comparators[0]).items
            text = " || ".join(compare_numbers(ast.Eq(), left, i).c for i in items)
            return Value("bool", ("(%s)" if isinstance(node.ops[0], ast.In) else "!(%s)") % text)
        right = self.value(node.comparators[0])
        if not left.is_tensor and not right.is_tensor:
            for side in (left, right):
                if side.tag not in ("str", "dtype", "device"):
                    self.present(side)
            return compare_numbers(node.ops[0], left, right)
        return self.call_op(COMPARE[type(node.ops[0])], [left, right], {}, dest)

    def on_IfExp(self, node, dest=None):
        code, outer = self.code, self.narrowed
        mark = code.mark()
        test, if_true, if_false = self.condition(node.test)
        after_test = code.mark()
        found = []
        for names, part in ((if_true, node.body), (if_false, node.orelse)):
            self.narrowed = outer | names
            found.append((self.value(part), len(code.lines) != after_test[0]))
            code.rollback(after_test)
        self.narrowed = outer
        kinds = [v for v, _ in found if v.tag != "never"]
        tags = {v.tag for v in kinds}
        if "Tensor" in tags:
            code.rollback(mark)
            name = code.new_tensor()
            self.tensor_into(node, "&" + name)
            return Value(
                "Tensor", name, optional=any(v.tag == "none" or v.optional for v in kinds), temp=name
            )
        if not tags <= set(C_LOCAL) or any(v.optional and v.is_number for v in kinds):
            if not (len(tags) == 1 and not any(emitted for _, emitted in found)):
                raise CatalogError("the branches give %s" % " and ".join(describe(v) for v, _ in found))
        tag = tags.pop() if len(tags) == 1 else ("float" if tags <= {"int", "float"} else "Scalar")
        if len(tags) > 0 and tag == "Scalar" and not tags <= set(NUMBERS):
            raise CatalogError("the branches give %s" % " and ".join(describe(v) for v, _ in found))
        convert = to_scalar if tag == "Scalar" else deref
        if not any(emitted for _, emitted in found) and len(kinds) == 2:
            texts = [convert(v) for v, _ in found]
            return Value(
                tag, "(%s ? %s : %s)" % (test, texts[0], texts[1]), optional=any(v.optional for v in kinds)
            )
        code.rollback(mark)
        local = code.new_local(tag)

        def part_into(part):
            value = self.value(part)
            if value.tag != "never":
                code.emit("%s = %s;" % (local, convert(value)))

        self.branches(node, part_into)
        return Value(tag, local)

    def on_Attribute(self, node, dest):
        found = self.metadata(node.value, node.attr, None)
        if found is not None:
            return found
        if (
            isinstance(node.value, ast.Name)
            and node.value.id == "torch"
            and self.scope.lookup("torch") is None
        ):
            return dtype_attribute(node.attr)
        base = self.value(node.value)
        if base.tag == "tuple" and node.attr in base.names:
            return self.pick(base, base.names.index(node.attr))
        if base.tag == "dtype" and node.attr in ("is_complex", "is_floating_point"):
            check = "mt_dtype_is_complex" if node.attr == "is_complex" else "mt_dtype_is_float"
            return Value("bool", "%s(%s)" % (check, base.c))
        if base.is_tensor and any(len(e.schema.args) == 1 for e in self.catalog.overloads(node.attr)):
            return self.call_op(node.attr, [base], {}, dest)
        raise CatalogError("%s has no attribute '%s'" % (describe(base), node.attr))

    def metadata(self, base, attr, args):
        """x.shape and the like. args: None for an attribute, values for a call."""
        if attr not in METADATA or (args is None) != METADATA[attr]:
            return None
        if isinstance(base, ast.Name) and base.id not in self.variables:
            found = self.scope.metadata(base.id, attr)
            if found is not None:
                return self.with_args(found, attr, args)
        mark = self.code.mark()
        value = self.value(base)
        if not value.is_tensor:
            if value.tag == "Scalar" and attr == "is_complex":
                return Value("bool", "mt_scalar_is_complex(%s)" % deref(self.present(value)))
            self.code.rollback(mark)
            return None
        self.present(value)
        found = metadata_of(value.c, attr)
        if value.temp and found.tag != "bool":
            value.temp = None  # lives to the end of the function
        return self.with_args(found, attr, args)

    def with_args(self, found, attr, args):
        if attr in ("size", "stride") and args:
            return self.element(found, args[0])
        if args:
            raise CatalogError("'%s' takes no argument" % attr)
        return found

    def element(self, base, index):
        if index.tag != "int":
            raise CatalogError("an index is an int, not %s" % describe(index))
        kind = {
            "ints": ("int", "mt_ints_at"),
            "bools": ("bool", "mt_ints_at"),
            "floats": ("float", "mt_floats_at"),
            "Tensors": ("Tensor", "mt_tensors_at"),
        }.get(base.tag)
        if kind is None:
            raise CatalogError("%s has no elements" % describe(base))
        if kind[0] == "Tensor":
            name = self.code._name("e")
            self.code.new_spare("mt_tensor *%s = NULL;" % name)
            self.code.attempt("mt_tensors_at(&%s, %s, %s)" % (name, base.c, deref(index)))
            return Value("Tensor", name, optional=base.optional)
        local = self.code.new_local("float" if kind[0] == "float" else "int")
        self.code.attempt("%s(&%s, %s, %s)" % (kind[1], local, base.c, deref(index)))
        return Value(kind[0], local if kind[0] != "bool" else "(%s != 0)" % local)

    def on_Subscript(self, node):
        base = self.value(node.value)
        index = self.value(node.slice)
        if base.tag in ("tuple", "list"):
            if not index.c.lstrip("-").isdigit() or int(index.c) >= len(base.items):
                raise CatalogError("an element is chosen by a literal number below %d" % len(base.items))
            return self.pick(base, int(index.c))
        return self.element(self.present(base), self.present(index))

    def pick(self, base, k):
        for i, item in enumerate(base.items):
            if i != k:
                self.code.clear(item)
        return base.items[k]
