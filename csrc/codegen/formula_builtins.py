"""What is no op in the formula language: literals, numbers, metadata of tensors, small functions."""

import ast
import re

from cfunc import NUMBERS, Value, describe
from ctypes_map import DTYPE_NAMES, c_string
from model import DTYPES
from resolve import deref, to_scalar
from schema import CatalogError, split_top

BINARY = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "div",
    ast.Pow: "pow",
    ast.MatMult: "matmul",
    ast.FloorDiv: "floor_divide",
    ast.Mod: "remainder",
    ast.BitAnd: "bitwise_and",
    ast.BitOr: "bitwise_or",
    ast.BitXor: "bitwise_xor",
}
COMPARE = {ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge"}

# True: an attribute, False: a method.
METADATA = {
    "shape": True,
    "dtype": True,
    "device": True,
    "ndim": True,
    "strides": True,
    "requires_grad": True,
    "numel": False,
    "dim": False,
    "size": False,
    "stride": False,
    "is_complex": False,
    "is_floating_point": False,
    "is_contiguous": False,
    "storage_offset": False,
    "shapes": True,
}

_PYTHON_DTYPES = {
    "bool": "b8",
    "uint8": "u8",
    "int8": "i8",
    "int16": "i16",
    "int32": "i32",
    "int64": "i64",
    "long": "i64",
    "float16": "f16",
    "bfloat16": "bf16",
    "float32": "f32",
    "float64": "f64",
    "double": "f64",
    "complex32": "c32",
    "complex64": "c64",
    "complex128": "c128",
}
_FORMATS = {
    "contiguous_format": "MT_FORMAT_CONTIGUOUS",
    "preserve_format": "MT_FORMAT_PRESERVE",
    "channels_last": "MT_FORMAT_CHANNELS_LAST",
}


def metadata_of(c, attr):
    """Metadata of a tensor that is at hand as the C expression c."""
    tag, text = {
        "shape": ("ints", "mt_sizes_of(%s)"),
        "size": ("ints", "mt_sizes_of(%s)"),
        "strides": ("ints", "mt_strides_of(%s)"),
        "stride": ("ints", "mt_strides_of(%s)"),
        "dtype": ("dtype", "(mt_dtype)%s->dtype"),
        "device": ("device", "%s->device"),
        "ndim": ("int", "(int64_t)%s->ndim"),
        "dim": ("int", "(int64_t)%s->ndim"),
        "numel": ("int", "%s->numel"),
        "requires_grad": ("bool", "mt_tensor_requires_grad(%s)"),
        "storage_offset": ("int", "%s->offset"),
        "is_contiguous": ("bool", "mt_tensor_is_contiguous(%s)"),
        "is_complex": ("bool", "mt_dtype_is_complex((mt_dtype)%s->dtype)"),
        "is_floating_point": ("bool", "mt_dtype_is_float((mt_dtype)%s->dtype)"),
    }.get(attr, (None, None))
    if tag is None:
        raise CatalogError("a Tensor has no attribute '%s'" % attr)
    return Value(tag, text % c)


def constant(v):
    if v is None:
        return Value("none", "NULL")
    if isinstance(v, bool):
        return Value("bool", "true" if v else "false")
    if isinstance(v, int):
        return Value("int", str(v) if abs(v) < 2**31 else "INT64_C(%d)" % v)
    if isinstance(v, float):
        return Value("float", repr(v))
    if isinstance(v, complex):
        return Value("Scalar", "mt_scalar_from_complex(%r, %r)" % (v.real, v.imag))
    if isinstance(v, str):
        return Value("str", c_string(v))
    raise CatalogError("this literal is not part of the formula language")


def literal_default(arg):
    """The default of an argument as a value."""
    return _literal(arg.type, arg.default)


def _literal(type_, text):
    if text == "None":
        return Value("none", "NULL")
    if type_.is_list:
        items = split_top(text[1:-1]) if text.startswith("[") else [text] * type_.size
        element = type(type_)(type_.base)
        return Value("list", items=[_literal(element, i) for i in items])
    if type_.base == "str":
        return Value("str", c_string(text[1:-1]))
    if type_.base == "ScalarType":
        return Value("dtype", "MT_DTYPE_" + DTYPE_NAMES[text])
    if type_.base == "MemoryFormat":
        return Value("format", _FORMATS[text])
    if text in ("True", "False"):
        return Value("bool", text.lower())
    if "inf" in text:
        return Value("float", text.replace("inf", "INFINITY"))
    return (
        Value("int", text)
        if text.lstrip("-").isdigit() and type_.base != "float"
        else Value("float", repr(float(text)))
    )


def dtype_attribute(attr):
    """torch.float64, torch.preserve_format."""
    if attr in _PYTHON_DTYPES and _PYTHON_DTYPES[attr] in DTYPES:
        return Value("dtype", "MT_DTYPE_" + _PYTHON_DTYPES[attr])
    if attr in _FORMATS:
        return Value("format", _FORMATS[attr])
    raise CatalogError("unknown name 'torch.%s'" % attr)


def int_arithmetic(code, op, left, right):
    a, b = deref(left), deref(right)
    plain = {ast.Add: "mt_int_add", ast.Sub: "mt_int_sub", ast.Mult: "mt_int_mul"}.get(type(op))
    if plain:
        return Value("int", "%s(%s, %s)" % (plain, a, b))
    if isinstance(op, ast.Div):
        return Value("float", "((double)%s / (double)%s)" % (a, b))
    fallible = {ast.FloorDiv: "mt_int_floordiv", ast.Mod: "mt_int_mod"}.get(type(op))
    if not fallible:
        raise CatalogError("this operator is not defined for ints")
    local = code.new_local("int")
    code.attempt("%s(&%s, %s, %s)" % (fallible, local, a, b))
    return Value("int", local)


def number_arithmetic(op, left, right):
    if "Scalar" in (left.tag, right.tag):
        name = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div"}.get(type(op))
        if not name:
            raise CatalogError("this operator is not defined for Scalars")
        return Value("Scalar", "mt_scalar_%s(%s, %s)" % (name, to_scalar(left), to_scalar(right)))
    a, b = "(double)" + deref(left), "(double)" + deref(right)
    a, b = [t if v.tag == "int" else deref(v) for t, v in ((a, left), (b, right))]
    if isinstance(op, ast.Pow):
        return Value("float", "pow(%s, %s)" % (a, b))
    sign = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}.get(type(op))
    if not sign:
        raise CatalogError("this operator is not defined for floats")
    return Value("float", "(%s %s %s)" % (a, sign, b))


def _ints(value):
    """C text of a list of ints, literal or not."""
    if value.tag == "ints":
        return value.c
    if not value.items or any(i.tag != "int" for i in value.items):
        raise CatalogError("a list of ints is expected")
    return "(mt_ints){(const int64_t[]){%s}, %d}" % (
        ", ".join(deref(i) for i in value.items),
        len(value.items),
    )


def compare_numbers(op, left, right):
    sign = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}[type(op)]
    tags = {left.tag, right.tag}
    equality = sign in ("==", "!=")
    bang = "!" if sign == "!=" else ""
    if tags == {"str"} and equality:
        return Value("bool", "%smt_str_equal(%s, %s)" % (bang, left.c, right.c))
    if tags == {"dtype"} and equality or tags == {"bool"}:
        return Value("bool", "(%s %s %s)" % (deref(left), sign, deref(right)))
    if tags == {"device"} and equality:
        return Value("bool", "%smt_device_equal(%s, %s)" % (bang, left.c, right.c))
    if "ints" in tags and tags <= {"ints", "list"} and equality:
        return Value("bool", "%smt_ints_equal(%s, %s)" % (bang, _ints(left), _ints(right)))
    if not tags <= set(NUMBERS):
        raise CatalogError("%s and %s cannot be compared" % (describe(left), describe(right)))
    if "Scalar" in tags:
        if equality:
            return Value("bool", "%smt_scalar_equal(%s, %s)" % (bang, to_scalar(left), to_scalar(right)))
        return Value(
            "bool",
            "(mt_scalar_to_double(%s) %s mt_scalar_to_double(%s))"
            % (to_scalar(left), sign, to_scalar(right)),
        )
    return Value("bool", "(%s %s %s)" % (deref(left), sign, deref(right)))


BUILTINS = ("len", "prod", "float", "int", "bool", "max", "min", "default_dtype", "recording", "transposing")


def builtin(name, args):
    """len, int, float, bool, max, min, prod of plain values; None when the call means an op."""
    if name == "len" and len(args) == 1:
        if args[0].tag == "list":
            return Value("int", str(len(args[0].items)))
        if args[0].tag in ("ints", "floats", "bools", "Tensors"):
            return Value("int", "(int64_t)(%s).n" % args[0].c)
    if name == "prod" and len(args) == 1 and args[0].tag == "ints":
        return Value("int", "mt_ints_product(%s)" % args[0].c)
    if len(args) == 1 and args[0].tag in NUMBERS:
        text = deref(args[0])
        if name == "float":
            return Value(
                "float",
                "mt_scalar_to_double(%s)" % text if args[0].tag == "Scalar" else "(double)(%s)" % text,
            )
        if name == "int":
            return Value(
                "int", "mt_scalar_to_int(%s)" % text if args[0].tag == "Scalar" else "(int64_t)(%s)" % text
            )
        if name == "bool":
            return Value(
                "bool", "mt_scalar_is_true(%s)" % text if args[0].tag == "Scalar" else "(%s != 0)" % text
            )
    if name in ("max", "min") and len(args) == 2 and all(a.tag in ("int", "float") for a in args):
        a, b = deref(args[0]), deref(args[1])
        tag = "float" if "float" in (args[0].tag, args[1].tag) else "int"
        return Value(tag, "(%s %s %s ? %s : %s)" % (a, ">" if name == "max" else "<", b, a, b))
    if name == "default_dtype" and not args:
        return Value("dtype", "mt_default_dtype()")
    if name == "recording" and not args:  # a second derivative may be asked for
        return Value("bool", "mt_thread.grad_mode")
    if name == "transposing" and not args:  # forward mode wants the formula's transpose
        return Value("bool", "mt_transposing")
    return None


def error_text(message, values):
    """C texts of the format and the values of fail(). Placeholders: %d int, %s str or dtype, %g float."""
    marks = re.findall(r"%(.)", message)
    wanted = {"d": ("int",), "s": ("str", "dtype"), "g": ("float",)}
    if len(marks) != len(values) and values or any(m not in wanted for m in marks if values):
        raise CatalogError(
            "the message has %d placeholders (%%d %%s %%g) for %d values" % (len(marks), len(values))
        )
    if not values:
        return c_string(message.replace("%", "%%")), []
    texts = []
    for mark, value in zip(marks, values):
        if value.tag not in wanted[mark]:
            raise CatalogError("%%%s does not show %s" % (mark, describe(value)))
        texts.append(
            {
                "str": '%s ? %s : "None"' % (value.c, value.c),
                "int": "(long long)" + deref(value),
                "float": deref(value),
                "dtype": "mt_dtype_table[%s].legacy" % value.c,
            }[value.tag]
        )
    return c_string(message.replace("%d", "%lld")), texts
