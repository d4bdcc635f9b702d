"""The in-place form of a composite that records through its parts.

Where its last op takes self, that op is called in its own in-place form: `self.pow(2)` becomes `self.pow_(2)`, and what backward
needs of the old self is kept as that form keeps it. Elsewhere the result is copied into self (see mt_out_before)."""

import ast

from schema import CatalogError


def _is_self(node):
    """self, or a conversion of it, which does nothing in place: the dtype of self stays."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "to":
        return _is_self(node.func.value)
    return isinstance(node, ast.Name) and node.id == "self"


def _has_form(catalog, name):
    return any(e.inplace_ok for e in catalog.overloads(name))


def _convert(catalog, node):
    if isinstance(node, ast.IfExp):
        return ast.IfExp(node.test, _convert(catalog, node.body), _convert(catalog, node.orelse))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and _is_self(node.func.value):
        if _has_form(catalog, node.func.attr):
            func = ast.Attribute(ast.Name("self"), node.func.attr + "_")
            return ast.Call(func, node.args, node.keywords)
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.args
        and _is_self(node.args[0])
    ):
        if _has_form(catalog, node.func.id):
            return ast.Call(ast.Name(node.func.id + "_"), node.args, node.keywords)
    raise CatalogError("not in place")


def in_place_expr(catalog, entry):
    """The expression that writes self, or None."""
    if not (entry.expr and entry.runs_parts and entry.inplace_ok) or entry.schema.args[0].name != "self":
        return None
    body = ast.parse(entry.expr.strip()).body
    try:
        body[-1] = ast.Expr(_convert(catalog, body[-1].value))
    except CatalogError:
        return None
    return "\n".join(ast.unparse(statement) for statement in body)
