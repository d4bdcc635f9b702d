"""Calls in formulas: ops, methods, small functions and fail()."""

import ast

from cfunc import Value
from ctypes_map import result_kind
from formula_builtins import BUILTINS, METADATA, builtin, error_text, literal_default
from resolve import choose, coerce, deref
from schema import CatalogError

KINDS = {
    "RuntimeError": "RUNTIME",
    "ValueError": "VALUE",
    "IndexError": "INDEX",
    "TypeError": "TYPE",
    "NotImplementedError": "NOT_IMPLEMENTED",
}


class Calls:
    """Part of the Compiler of formula.py, which has catalog, scope, code, variables and narrowed."""

    def on_Call(self, node, dest):
        args = [] if isinstance(node.func, ast.Attribute) and self.is_metadata_call(node.func) else None
        if args is not None:
            args = [self.value(a) for a in node.args]
            found = self.metadata(node.func.value, node.func.attr, args)
            if found is not None:
                return found
        if isinstance(node.func, ast.Name):
            name, first, entries = node.func.id, [], None
        elif isinstance(node.func, ast.Attribute):
            name, first, entries = self.attribute_call(node.func)
            if isinstance(name, Value):
                return name
        else:
            raise CatalogError("only ops can be called")
        if any(isinstance(a, ast.Starred) for a in node.args) or any(k.arg is None for k in node.keywords):
            raise CatalogError("'*' is not part of the formula language")
        if name == "fail":
            return self.fail_call(node)
        args = first + [self.value(a) for a in node.args]
        kwargs = {k.arg: self.value(k.value) for k in node.keywords}
        if entries is None and not kwargs and name in BUILTINS and not any(a.is_tensor for a in args):
            found = builtin(name, [self.present(a) if a.is_number else a for a in args])
            if found is not None:
                return found
        return self.call_op(name, args, kwargs, dest, entries)

    def is_metadata_call(self, func):
        return METADATA.get(func.attr) is False

    def attribute_call(self, func):
        """x.op(...) or op.overload(...)."""
        if (
            isinstance(func.value, ast.Name)
            and func.value.id not in self.variables
            and self.scope.lookup(func.value.id) is None
        ):
            entries = [e for e in self.catalog.overloads(func.value.id) if e.schema.overload == func.attr]
            if entries:
                return func.value.id, [], entries
        base = self.value(func.value)
        if base.tag == "Scalar" and func.attr in ("conj", "log"):
            return Value("Scalar", "mt_scalar_%s(%s)" % (func.attr, deref(self.present(base)))), None, None
        return func.attr, [base], None

    def fail_call(self, node):
        kind, args = "RuntimeError", list(node.args)
        if args and isinstance(args[0], ast.Name) and args[0].id.endswith("Error"):
            kind = args.pop(0).id
        text = args[0].value if args and isinstance(args[0], ast.Constant) else None
        if kind not in KINDS or not isinstance(text, str):
            raise CatalogError('fail(KindError, "message", values...)')
        message, values = error_text(text, [self.value(a) for a in args[1:]])
        self.code.emit("mt_error_set(MT_ERR_%s, %s);" % (KINDS[kind], ", ".join([message] + values)))
        self.code.emit("goto fail;")
        return Value("never")

    def call_op(self, name, args, kwargs, dest=None, entries=None):
        inplace = False
        if entries is None:
            entries = self.catalog.overloads(name)
            if not entries and name.endswith("_"):
                entries = [e for e in self.catalog.overloads(name[:-1]) if e.inplace_ok]
                inplace = True
        if not entries:
            raise CatalogError("there is no op '%s' in the catalog" % name)
        entry, values = choose(entries, name, args, kwargs, self.narrowed)
        return self.emit_call(entry, values, dest, inplace or entry.only_inplace)

    def emit_call(self, entry, values, dest, inplace):
        code, used, texts = self.code, [], []
        for arg, value in zip(entry.schema.args, values):
            if value is None:
                value = literal_default(arg)
            texts.append(coerce(code, value, arg.type))
            used.append(value)
        if inplace:
            if not (used[0].temp or used[0].writable):
                raise CatalogError("only a fresh result may be written in place")
            code.attempt(
                "mt_%s(%s)" % (entry.c + ("" if entry.only_inplace else "_inplace"), ", ".join(texts))
            )
            result, used = used[0], used[1:]
        else:
            result, outs = self.result_of(entry, dest)
            # conj() of a real tensor is the tensor itself, without a call through the dispatcher.
            function = "mt_conj_of" if entry.name == "conj" else "mt_" + entry.c
            code.attempt("%s(%s)" % (function, ", ".join(outs + texts)))
        for value in used:
            code.clear(value)
        return result

    def result_of(self, entry, dest):
        code, kind = self.code, result_kind(entry.schema)
        if kind == "list":
            name = code.new_list()
            return Value("Tensors", "(mt_tensors){%s.data, %s.n}" % (name, name), temp=name), ["&" + name]
        if kind == "value":
            tag = {"ScalarType": "dtype"}.get(
                entry.schema.returns[0][0].base, entry.schema.returns[0][0].base
            )
            local = code.new_local(tag)
            return Value(tag, local), ["&" + local]
        if len(entry.schema.returns) == 1:
            if dest:
                return Value("Tensor", "*" + dest), [dest]
            name = code.new_tensor()
            return Value("Tensor", name, temp=name), ["&" + name]
        names = [code.new_tensor() for _ in entry.schema.returns]
        items = [Value("Tensor", n, temp=n) for n in names]
        return Value("tuple", items=items, names=tuple(n or "" for _, n in entry.schema.returns)), [
            "&" + n for n in names
        ]
