"""Which overload does a call in a formula mean, and how does a value become a parameter."""

from cfunc import NUMBERS, TAGS, describe
from schema import CatalogError

_FROM = {"int": "mt_scalar_from_int", "float": "mt_scalar_from_double", "bool": "mt_scalar_from_bool"}


def deref(value):
    """C text of a number that is not None."""
    return "*" + value.c if value.optional and value.tag in NUMBERS else value.c


def to_scalar(value):
    text = deref(value)
    return text if value.tag == "Scalar" else "%s(%s)" % (_FROM[value.tag], text)


def _fit_list(value, type_, narrowed):
    element = {"Tensor": ("Tensor",), "int": ("int",), "float": ("float", "int"), "bool": ("bool",)}[
        type_.base
    ]
    for item in value.items:
        if item.tag == "none" and type_.element_optional:
            continue
        if item.tag not in element:
            return None
        if item.optional and item.source not in narrowed and not type_.element_optional:
            return None
    return 0


def fit(value, type_, narrowed):
    """Cost of the conversion, None when there is none."""
    if value.tag == "none":
        return 0 if type_.optional else None
    optional = value.optional and value.source not in narrowed
    if type_.is_tensor_list:
        if value.tag == "list":
            return _fit_list(value, type_, narrowed)
        return 0 if value.tag == "Tensors" and (type_.element_optional or not value.optional) else None
    if optional and not type_.optional:
        return None
    if type_.is_list:
        if value.tag == "list":
            return _fit_list(value, type_, narrowed)
        if value.tag == "int" and type_.base == "int" and type_.size:
            return 1
        return 0 if value.tag == TAGS[type_.base, True] else None
    if value.tag == TAGS[type_.base, False]:
        return 0
    if value.tag in NUMBERS and (not value.optional or not optional):
        if type_.is_tensor and not type_.optional:
            return 4 if value.tag != "Scalar" else 3
        if type_.base == "Scalar":
            return 1
        if type_.base == "float" and value.tag == "int":
            return 1
    return None


def bind(entry, args, kwargs, narrowed):
    """(cost, values by argument; None: default) or a text that says why the overload does not fit."""
    schema = entry.schema
    if len(args) > schema.n_positional:
        return "takes %d positional arguments, %d given" % (schema.n_positional, len(args))
    values = list(args) + [None] * (len(schema.args) - len(args))
    for name, value in kwargs.items():
        k = schema.arg_index(name)
        if k < 0:
            return "has no argument '%s'" % name
        if values[k] is not None:
            return "argument '%s' is given twice" % name
        values[k] = value
    total = 0
    for arg, value in zip(schema.args, values):
        if value is None:
            if arg.default is None:
                return "lacks the argument '%s'" % arg.name
            continue
        cost = fit(value, arg.type, narrowed)
        if cost is None:
            why = " (may be None here)" if value.optional and value.source not in narrowed else ""
            return "argument '%s' is %s, not %s%s" % (arg.name, arg.type, describe(value), why)
        total += cost
    return total, values


def choose(entries, name, args, kwargs, narrowed):
    """The overload with the cheapest conversions, the earliest of equals."""
    best, reasons = None, []
    for entry in entries:
        result = bind(entry, args, kwargs, narrowed)
        if isinstance(result, str):
            reasons.append("%s %s" % (entry.schema.full_name, result))
        elif best is None or result[0] < best[1][0]:
            best = entry, result
    if best is None:
        raise CatalogError("; ".join(reasons) if reasons else "there is no op '%s'" % name)
    return best[0], best[1][1]


def coerce(code, value, type_):
    """C text of the parameter. May emit statements. Values with temporaries stay owned by the caller."""
    if value.tag == "none":
        return none_text(type_)
    if type_.is_tensor_list:
        if value.tag == "list":
            if not value.items:
                return "(mt_tensors){NULL, 0}"
            items = ", ".join("NULL" if i.tag == "none" else i.c for i in value.items)
            return "(mt_tensors){(mt_tensor *const[]){%s}, %d}" % (items, len(value.items))
        return value.c
    if type_.is_tensor:
        if value.is_tensor:
            return value.c
        name = code.new_tensor()
        code.attempt("mt_tensor_from_scalar(&%s, %s)" % (name, to_scalar(value)))
        value.items.append(type(value)("Tensor", name, temp=name))
        return name
    if type_.is_list:
        if value.tag not in ("list", "int"):
            return value.c
        items = [deref(i) for i in value.items] if value.tag == "list" else [deref(value)] * type_.size
        c_list, c_item = ("mt_floats", "double") if type_.base == "float" else ("mt_ints", "int64_t")
        if not items:
            return "(%s){NULL, 0}" % c_list
        return "(%s){(const %s[]){%s}, %d}" % (c_list, c_item, ", ".join(items), len(items))
    if type_.base not in NUMBERS:
        return value.c
    text = to_scalar(value) if type_.base == "Scalar" else deref(value)
    if not type_.optional:
        return "(double)(%s)" % text if type_.base == "float" and value.tag == "int" else text
    if value.optional and value.tag == type_.base:
        return value.c
    c_type = {"Scalar": "mt_scalar", "int": "int64_t", "float": "double", "bool": "bool"}[type_.base]
    return "(const %s[]){%s}" % (c_type, text)


def none_text(type_):
    tag = TAGS[type_.base, type_.is_list]
    return {
        "Tensors": "(mt_tensors){NULL, -1}",
        "ints": "(mt_ints){NULL, -1}",
        "bools": "(mt_ints){NULL, -1}",
        "floats": "(mt_floats){NULL, -1}",
        "Scalars": "(mt_scalars){NULL, -1}",
        "dtype": "MT_DTYPE_NONE",
        "layout": "-1",
        "format": "-1",
        "device": "MT_DEVICE_NONE",
    }.get(tag, "NULL")
