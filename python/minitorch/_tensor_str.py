# SPDX-License-Identifier: BSD-3-Clause
"""Printing of tensors.

Values leave the tensor once, as a nested list (`tolist`); all choices (integer, fixed or scientific form,
width, line breaks) are made on Python numbers, and a row is formatted by one `%` operation.  Only the corners
of a large tensor are read.  The text equals PyTorch's to the character.
"""

import sys

import minitorch as torch
from minitorch import _C


class PrinterOptions:
    """What `set_printoptions` changes."""

    __slots__ = ("precision", "threshold", "edgeitems", "linewidth", "sci_mode")

    def __init__(self):
        self.precision = 4
        self.threshold = 1000
        self.edgeitems = 3
        self.linewidth = 80
        self.sci_mode = None

    def __repr__(self):
        return "PrinterOptions(%s)" % ", ".join("%s=%r" % item for item in get_printoptions().items())


PRINT_OPTS = PrinterOptions()

_PROFILES = {
    "default": (4, 1000, 3, 80),
    "short": (2, 1000, 2, 80),
    "full": (4, float("inf"), 3, 80),
}


def set_printoptions(
    precision=None, threshold=None, edgeitems=None, linewidth=None, profile=None, sci_mode=None
):
    """set_printoptions(precision=None, threshold=None, edgeitems=None, linewidth=None, profile=None,
    sci_mode=None)

    Changes how tensors are printed: digits after the point, the number of elements above which only the edges
    are shown, how many edge items, the line width, one of the profiles "default", "short" and "full", and
    whether scientific notation is used (None: chosen from the data).  Every call sets `sci_mode` anew.
    """
    opts = PRINT_OPTS
    if profile in _PROFILES:
        opts.precision, opts.threshold, opts.edgeitems, opts.linewidth = _PROFILES[profile]
    if precision is not None:
        opts.precision = precision
    if threshold is not None:
        opts.threshold = threshold
    if edgeitems is not None:
        opts.edgeitems = edgeitems
    if linewidth is not None:
        opts.linewidth = linewidth
    opts.sci_mode = sci_mode


def get_printoptions():
    """The options in force, as keyword arguments for `set_printoptions`."""
    return {name: getattr(PRINT_OPTS, name) for name in PrinterOptions.__slots__}


class printoptions:
    """Context manager: the options given hold inside the block."""

    def __init__(self, **kwargs):
        self.kwargs = kwargs

    def __enter__(self):
        self.saved = get_printoptions()
        set_printoptions(**self.kwargs)

    def __exit__(self, *exc):
        set_printoptions(**self.saved)
        return False


def get_summarized_data(self):
    """The elements that the summary of a large tensor shows, as a tensor: both edges along every long
    dimension."""
    edge = PRINT_OPTS.edgeitems
    ndim = self.dim()
    if not edge and ndim > 1:
        return self.new_empty([0] * ndim)
    for dim in range(ndim):
        size = self.size(dim)
        if size > 2 * edge:
            self = torch.cat((self.narrow(dim, 0, edge), self.narrow(dim, size - edge, edge)), dim)
    return self


def _flatten(nested, depth):
    while depth > 1:
        nested = [item for part in nested for item in part]
        depth -= 1
    return nested


def _float_row(values):
    """(width, format of a finite number, format of inf and nan or None when it is the same) for these
    numbers."""
    opts = PRINT_OPTS
    shown = [v for v in values if v and v - v == 0]  # neither zero nor inf nor nan
    digits = opts.precision
    sci = False
    whole = True
    width = 1
    if shown:
        top, bottom = max(shown), min(shown)
        largest = top if top >= -bottom else -bottom
        if bottom > 0:
            smallest = bottom
        elif top < 0:
            smallest = -top
        else:
            smallest = min(map(abs, shown))
        whole = all(map(float.is_integer, shown))
        sci = opts.sci_mode
        if sci is None:
            sci = largest / smallest > 1000.0 or largest > 1.0e8 or smallest < 1.0e-4
        if sci:
            form = "%%.%de" % digits
            width = max([len(form % v) for v in shown])
        else:
            # The text grows with the magnitude, so the two ends decide.
            form = "%.0f." if whole else "%%.%df" % digits
            width = max(len(form % top), len(form % bottom))
    if sci:
        return width, "%%%d.%de" % (width, digits), None
    if whole:
        return width, "%%%d.0f." % (width - 1), "%%%d.0f" % width
    return width, "%%%d.%df" % (width, digits), None


def _join_row(row, form, odd_form):
    """The texts of the numbers of one row; odd_form is for inf and nan."""
    if odd_form is None:
        return [form % v for v in row]
    return [form % v if v - v == 0 else odd_form % v for v in row]


def _plan_float(values):
    width, form, odd_form = _float_row(values)
    if odd_form is not None and all([v - v == 0 for v in values]):
        odd_form = None
    return width, lambda row: _join_row(row, form, odd_form), form if odd_form is None else None


def _plan_int(values):
    width = max(len("%d" % max(values)), len("%d" % min(values)))
    form = "%%%dd" % width
    return width, lambda row: [form % v for v in row], form


def _plan_bool(values):
    width = 4 if all(values) else 5
    form = "%%%ds" % width
    return width, lambda row: [form % v for v in row], form


def _plan_complex(values):
    real_width, real_form, real_odd = _float_row([v.real for v in values])
    imag_width, imag_form, imag_odd = _float_row([v.imag for v in values])

    def texts(row):
        reals = _join_row([v.real for v in row], real_form, real_odd)
        imags = _join_row([v.imag for v in row], imag_form, imag_odd)
        out = []
        for real, imag in zip(reals, imags):
            imag = imag.lstrip()
            out.append(real + ("" if imag[0] in "+-" else "+") + imag + "j")
        return out

    return real_width + imag_width + 1, texts, None


def _layout(nested, sizes, indent, cut, plan):
    """Brackets, commas and line breaks around the texts. `cut`: dimensions longer than twice this are
    summaries."""
    width, texts, form = plan
    ndim = len(sizes)
    edge = PRINT_OPTS.edgeitems
    if ndim > 1:
        parts = [_layout(part, sizes[1:], indent + 1, cut, plan) for part in nested]
        if cut is not None and sizes[0] > 2 * edge:
            parts.insert(edge, "...")
        return "[" + ("," + "\n" * (ndim - 1) + " " * (indent + 1)).join(parts) + "]"
    per_line = int((PRINT_OPTS.linewidth - indent) // (width + 2))
    if per_line < 1:
        per_line = 1
    summary = cut is not None and sizes[0] > 2 * edge
    if form is not None and not summary and len(nested) <= per_line:
        return "[" + ", ".join([form] * len(nested)) % tuple(nested) + "]"
    row = texts(nested)
    if summary:
        row.insert(edge, " ...")
    if len(row) <= per_line:
        return "[" + ", ".join(row) + "]"
    lines = [", ".join(row[i : i + per_line]) for i in range(0, len(row), per_line)]
    return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"


def _tensor_str(self, indent):
    """The text of the elements, without prefix and suffixes."""
    numel = self.numel()
    if numel == 0:
        return "[]"
    sizes = self.size()  # a class may say that its shape is another
    dtype = self.dtype
    ndim = len(sizes)
    summarize = numel > PRINT_OPTS.threshold and ndim > 0
    if summarize:
        if not PRINT_OPTS.edgeitems:
            return "[...]"
        self = get_summarized_data(self)
    if dtype is torch.float4_e2m1fn_x2:  # an element is a pair of numbers; what is shown are its bytes
        if ndim == 0:
            self.item()
        self, dtype = self.view(torch.uint8).to(torch.float32), torch.float32
    values = self.tolist()
    flat = _flatten(values, ndim) if ndim else [values]
    if dtype.is_floating_point:
        plan = _plan_float(flat)
    elif dtype.is_complex:
        plan = _plan_complex(flat)
    elif dtype is torch.bool:
        plan = _plan_bool(flat)
    else:
        plan = _plan_int(flat)
    if ndim == 0:
        return plan[1](flat)[0]
    return _layout(values, sizes, indent, True if summarize else None, plan)


def _add_suffixes(text, suffixes, indent):
    """Appends ", suffix" for each; one that would pass the line width starts a new line."""
    parts = [text]
    used = len(text) - text.rfind("\n") + 1
    for suffix in suffixes:
        if used + len(suffix) + 2 > PRINT_OPTS.linewidth:
            parts.append(",\n" + " " * indent + suffix)
            used = indent + len(suffix)
        else:
            parts.append(", " + suffix)
            used += len(suffix) + 2
    parts.append(")")
    return "".join(parts)


def _tangent(self):
    forward_ad = sys.modules.get("minitorch.autograd.forward_ad")
    if forward_ad is None or forward_ad._current_level < 0:
        return self, None
    return forward_ad.unpack_dual(self)


def _device_suffix(self):
    device = self.device
    if device.type == _C._get_default_device() and (
        device.type != "cuda" or torch.cuda.current_device() == device.index
    ):
        return None
    return "device='%s'" % device


def _grad_suffix(self):
    try:
        grad_fn = self.grad_fn
    except RuntimeError:  # a view whose history was made invalid by an in-place change
        return "grad_fn=<Invalid>"
    if grad_fn is not None:
        name = type(grad_fn).__name__
        if name == "CppFunction":
            name = grad_fn.name().rsplit("::", 1)[-1]
        return "grad_fn=<%s>" % name
    return "requires_grad=True" if self.requires_grad else None


def _str_intern(inp, tensor_contents):
    kind = type(inp)
    plain = kind is torch.Tensor
    parameter = False
    if not plain:
        loaded = sys.modules.get("minitorch.nn.parameter")
        if loaded is None:
            parameter = getattr(inp, "_is_param", False)
        else:
            parameter = isinstance(inp, loaded.Parameter)
            plain = kind is loaded.Parameter
    prefix = "tensor(" if plain else kind.__name__ + "("
    indent = len(prefix)
    suffixes = []
    self, tangent = _tangent(inp)

    suffix = _device_suffix(self)
    if suffix is not None:
        suffixes.append(suffix)

    dtype = self.dtype
    default_dtype = torch.get_default_dtype()
    if self.is_meta:
        suffixes.append("size=%s" % (tuple(self.shape),))
        if dtype != default_dtype:
            suffixes.append("dtype=%s" % dtype)
        text = "..."
    elif self.numel() == 0:
        if self.dim() != 1:
            suffixes.append("size=%s" % (tuple(self.shape),))
        if dtype != default_dtype:
            suffixes.append("dtype=%s" % dtype)
        text = "[]"
    else:
        if not PRINT_OPTS.edgeitems:
            suffixes.append("size=%s" % (tuple(self.shape),))
        if dtype not in (default_dtype, torch.int64, torch.bool):
            if dtype is not (torch.complex128 if default_dtype is torch.float64 else torch.complex64):
                suffixes.append("dtype=%s" % dtype)
        if tensor_contents is None:
            text = _tensor_str(self.detach() if self.requires_grad else self, indent)
    if tensor_contents is not None:
        text = tensor_contents
    if self.layout != torch.strided:
        suffixes.append("layout=%s" % self.layout)

    suffix = _grad_suffix(inp)
    if suffix is not None:
        suffixes.append(suffix)
    if tangent is not None:
        suffixes.append("tangent=" + format(tangent))
    text = _add_suffixes(prefix + text, suffixes, indent)
    if parameter and not plain:
        text = "Parameter(%s)" % text
    return text


def _str(self, *, tensor_contents=None):
    """The text of a tensor. `tensor_contents` replaces the elements."""
    with _C.DisableTorchFunction():
        return _str_intern(self, tensor_contents)
