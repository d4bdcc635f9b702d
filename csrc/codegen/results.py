"""Compiles an expression into result parameters: one tensor, several, a list or a plain value."""

import ast

from cfunc import TAGS, describe
from ctypes_map import RESULT_TYPES
from resolve import deref, to_scalar
from schema import CatalogError


def into_tensors(compiler, node, dests):
    """Several tensors: a tuple, or a call of an op with that many results.

    A dest is the C text of a mt_tensor **.
    """
    if len(dests) == 1:
        return compiler.tensor_into(node, dests[0])
    if isinstance(node, ast.IfExp):
        return compiler.branches(node, lambda part: into_tensors(compiler, part, dests))
    if isinstance(node, ast.Tuple):
        if len(node.elts) != len(dests):
            raise CatalogError("%d results are expected, not %d" % (len(dests), len(node.elts)))
        for part, dest in zip(node.elts, dests):
            compiler.tensor_into(part, dest)
        return None
    value = compiler.value(node)
    if value.tag == "never":
        return None
    if value.tag != "tuple" or len(value.items) != len(dests):
        raise CatalogError("%d results are expected, not %s" % (len(dests), describe(value)))
    for item, dest in zip(value.items, dests):
        source = "mt_tensor_move(&%s)" % item.temp if item.temp else "mt_tensor_ref(%s)" % item.c
        compiler.code.emit("%s = %s;" % (dest[1:] if dest.startswith("&") else "*" + dest, source))
    return None


def into_list(compiler, node, dest):
    """A list of tensors; dest is the C text of a mt_tensor_list *."""
    if isinstance(node, ast.IfExp):
        return compiler.branches(node, lambda part: into_list(compiler, part, dest))
    code, value = compiler.code, compiler.value(node)
    if value.tag == "never":
        return None
    if value.tag == "Tensors" and value.temp:
        code.emit("*%s = %s;" % (dest, value.temp))
        code.emit("%s = (mt_tensor_list){NULL, 0};" % value.temp)
    elif value.tag == "Tensors":
        code.attempt("mt_tensor_list_new(%s, %s.n)" % (dest, value.c))
        code.emit("for (int i = 0; i < %s.n; i++)" % value.c)
        code.emit(
            "    %s->data[i] = %s.data[i] ? mt_tensor_ref(%s.data[i]) : NULL;" % (dest, value.c, value.c)
        )
    elif value.tag == "list":
        code.attempt("mt_tensor_list_new(%s, %d)" % (dest, len(value.items)))
        for i, item in enumerate(value.items):
            if not item.is_tensor:
                raise CatalogError("a list of tensors is expected")
            source = "mt_tensor_move(&%s)" % item.temp if item.temp else "mt_tensor_ref(%s)" % item.c
            code.emit("%s->data[%d] = %s;" % (dest, i, source))
    else:
        raise CatalogError("a list of tensors is expected, not %s" % describe(value))
    return None


def into_value(compiler, node, dest, type_):
    """A number, bool or dtype; dest is the C text of the pointer."""
    if isinstance(node, ast.IfExp):
        return compiler.branches(node, lambda part: into_value(compiler, part, dest, type_))
    value = compiler.present(compiler.value(node))
    if value.tag == "never":
        return None
    want = TAGS[type_.base, False]
    if want == "Scalar" and value.is_number:
        text = to_scalar(value)
    elif value.tag == want or (want == "float" and value.tag == "int"):
        text = deref(value)
    else:
        raise CatalogError("the result is %s, not %s" % (describe(value), type_))
    compiler.code.emit("*%s = %s;" % (dest, text))
    return None


def value_c_type(type_):
    return RESULT_TYPES[type_.base][0]
