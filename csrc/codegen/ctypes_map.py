"""How schema types look in C: parameters, frame access, initialisers. The table in core/op.h, as code."""

from schema import split_top

# (base, list): (argument kind, C type, C type when optional, suffix of the getter, of the setter)
_TABLE = {
    ("Tensor", False): ("TENSOR", "mt_tensor *", "mt_tensor *", "tensor", "tensor"),
    ("Tensor", True): ("TENSORS", "mt_tensors ", "mt_tensors ", "tensors", "tensors"),
    ("Scalar", False): ("SCALAR", "mt_scalar ", "const mt_scalar *", "scalar", "scalar"),
    ("Scalar", True): ("SCALARS", "mt_scalars ", "mt_scalars ", "scalars", "scalars"),
    ("int", False): ("INT", "int64_t ", "const int64_t *", "int", "int"),
    ("float", False): ("FLOAT", "double ", "const double *", "float", "float"),
    ("bool", False): ("BOOL", "bool ", "const bool *", "bool", "bool"),
    ("int", True): ("INTS", "mt_ints ", "mt_ints ", "ints", "ints"),
    ("float", True): ("FLOATS", "mt_floats ", "mt_floats ", "floats", "floats"),
    ("bool", True): ("BOOLS", "mt_ints ", "mt_ints ", "ints", "bools"),
    ("str", False): ("STR", "const char *", "const char *", "str", "str"),
    ("ScalarType", False): ("DTYPE", "mt_dtype ", "mt_dtype ", "dtype", "dtype"),
    ("Layout", False): ("LAYOUT", "int ", "int ", "enum", "layout"),
    ("Device", False): ("DEVICE", "mt_device ", "mt_device ", "device", "device"),
    ("MemoryFormat", False): ("MEMORY_FORMAT", "int ", "int ", "enum", "memory_format"),
    ("Generator", False): ("GENERATOR", "mt_generator *", "mt_generator *", "generator", "generator"),
    ("Storage", False): ("STORAGE", "mt_storage *", "mt_storage *", "storage", "storage"),
}
_BY_POINTER = ("Scalar", "int", "float", "bool")

# Names that C or the generated code itself uses.
_RESERVED = frozenset(
    """auto break case char const continue default do double else enum extern float for goto if inline int
long register restrict return short signed sizeof static struct switch typedef union unsigned void
volatile while bool true false call node out rc grads fail NULL main y0 y1 yn j0 j1 jn index signbit
isnan isinf isfinite""".split()
)

RESULT_TYPES = {
    "Scalar": ("mt_scalar ", "SCALAR", "scalar"),
    "int": ("int64_t ", "INT", "i"),
    "float": ("double ", "FLOAT", "d"),
    "bool": ("bool ", "BOOL", "b"),
    "ScalarType": ("mt_dtype ", "DTYPE", "i"),
}


def c_name(arg_name):
    return arg_name + "_" if arg_name in _RESERVED else arg_name


def arg_kind(type_):
    return "MT_ARG_" + _TABLE[type_.base, type_.is_list][0]


def c_type(type_):
    """With the space or star that a declarator follows."""
    return _TABLE[type_.base, type_.is_list][2 if type_.optional else 1]


def param(arg):
    return c_type(arg.type) + c_name(arg.name)


def _suffix(type_, position):
    suffix = _TABLE[type_.base, type_.is_list][position]
    return suffix + ("_opt" if type_.optional and not type_.is_list and type_.base in _BY_POINTER else "")


def getter(type_, frame_value):
    return "mt_arg_%s(%s)" % (_suffix(type_, 3), frame_value)


def setter(type_, frame_value, value):
    return "mt_arg_set_%s(%s, %s)" % (_suffix(type_, 4), frame_value, value)


def out_params(schema):
    """Parameters that receive the results of a function, in C."""
    names = out_names(schema)
    kind = result_kind(schema)
    if kind == "list":
        return ["mt_tensor_list *out"]
    if kind == "value":
        return [RESULT_TYPES[schema.returns[0][0].base][0].rstrip() + " *out"]
    return ["mt_tensor **%s" % n for n in names]


def out_names(schema):
    n = len(schema.returns)
    return ["out"] if n == 1 else ["out%d" % i for i in range(n)]


def result_kind(schema):
    """tensors, list or value."""
    if len(schema.returns) == 1:
        type_ = schema.returns[0][0]
        if type_.is_tensor_list:
            return "list"
        if not type_.is_tensor:
            return "value"
    return "tensors"


# --- initialisers of default values ---

DTYPE_NAMES = {"long": "i64", "float": "f32", "bool": "b8"}
_FORMATS = {"contiguous_format": "MT_FORMAT_CONTIGUOUS", "preserve_format": "MT_FORMAT_PRESERVE"}


def c_string(text):
    out = []
    for c in text:
        if c in '"\\':
            out.append("\\" + c)
        elif c == "\n":
            out.append("\\n")
        elif 32 <= ord(c) < 127:
            out.append(c)
        else:
            out.extend("\\%03o" % b for b in c.encode())
    return '"%s"' % "".join(out)


def _double(text):
    if text.endswith("inf"):
        return text.replace("inf", "INFINITY")
    return text if any(c in text for c in ".e") else text + ".0"


def _scalar(text):
    if text in ("True", "False"):
        return "{MT_CAT_BOOL, 0, {.i = %d}}" % (text == "True")
    if any(c in text for c in ".einf"):
        return "{MT_CAT_FLOAT, 0, {.d = %s}}" % _double(text)
    return "{MT_CAT_INT, 0, {.i = %s}}" % text


def _list_items(type_, text):
    if text.startswith("["):
        return split_top(text[1:-1])
    return [text] * type_.size


def none_value(type_):
    base = _TABLE[type_.base, type_.is_list][0]
    field = {
        "TENSORS": ".tensors = {NULL, -1}",
        "INTS": ".ints = {NULL, -1}",
        "BOOLS": ".ints = {NULL, -1}",
        "FLOATS": ".floats = {NULL, -1}",
        "SCALARS": ".scalars = {NULL, -1}",
        "DTYPE": ".i = MT_DTYPE_NONE",
        "LAYOUT": ".i = -1",
        "MEMORY_FORMAT": ".i = -1",
        "DEVICE": ".device = {-1, -1}",
        "INT": ".i = 0",
        "FLOAT": ".d = 0",
        "BOOL": ".b = false",
        "SCALAR": ".scalar = {0, 0, {.i = 0}}",
    }.get(base, ".tensor = NULL")
    return "{MT_ARG_NONE, {%s}}" % field


def default_value(type_, text):
    """A C initialiser of mt_value."""
    kind = arg_kind(type_)
    if text is None or text == "None":
        return none_value(type_)
    if type_.is_list:
        items = _list_items(type_, text)
        if type_.base == "Tensor" or not items:
            field = {"Tensor": "tensors", "float": "floats"}.get(type_.base, "ints")
            return "{%s, {.%s = {NULL, 0}}}" % (kind, field)
        if type_.base == "float":
            return "{%s, {.floats = {(const double[]){%s}, %d}}}" % (
                kind,
                ", ".join(map(_double, items)),
                len(items),
            )
        values = ["1" if i == "True" else "0" if i == "False" else i for i in items]
        return "{%s, {.ints = {(const int64_t[]){%s}, %d}}}" % (kind, ", ".join(values), len(items))
    field = {
        "Scalar": lambda: ".scalar = " + _scalar(text),
        "int": lambda: ".i = " + text,
        "float": lambda: ".d = " + _double(text),
        "bool": lambda: ".b = " + text.lower(),
        "str": lambda: ".str = " + c_string(text[1:-1]),
        "ScalarType": lambda: ".i = MT_DTYPE_" + DTYPE_NAMES[text],
        "MemoryFormat": lambda: ".i = " + _FORMATS[text],
    }[type_.base]()
    return "{%s, {%s}}" % (kind, field)
