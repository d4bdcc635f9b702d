"""Parses and prints operator signatures in PyTorch's schema syntax.

    add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
    max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)

Alias annotations such as Tensor(a!) are read and dropped; SymInt is int.
"""

import re
from dataclasses import dataclass

BASES = (
    "Tensor",
    "Scalar",
    "int",
    "float",
    "bool",
    "str",
    "ScalarType",
    "Layout",
    "Device",
    "MemoryFormat",
    "Generator",
    "Storage",
)
LISTS = ("Tensor", "Scalar", "int", "float", "bool")
RETURNS = ("Tensor", "Scalar", "int", "float", "bool", "ScalarType")


class CatalogError(Exception):
    """A mistake in the catalog; `where` is "file:line"."""

    def __init__(self, message, where=None):
        super().__init__(message)
        self.message = message
        self.where = where


@dataclass(frozen=True)
class Type:
    base: str
    is_list: bool = False
    size: int = 0  # N of int[N]
    optional: bool = False  # T? or T[]?
    element_optional: bool = False  # Tensor?[]

    def __str__(self):
        text = self.base + ("?" if self.element_optional else "")
        if self.is_list:
            text += "[%s]" % (self.size or "")
        return text + ("?" if self.optional else "")

    @property
    def is_tensor(self):
        return self.base == "Tensor" and not self.is_list

    @property
    def is_tensor_list(self):
        return self.base == "Tensor" and self.is_list

    @property
    def is_number(self):
        return not self.is_list and self.base in ("Scalar", "int", "float", "bool")


@dataclass(frozen=True)
class Arg:
    name: str
    type: Type
    default: str = None  # as written, None: required
    keyword_only: bool = False

    def __str__(self):
        return "%s %s%s" % (self.type, self.name, "" if self.default is None else "=" + self.default)


@dataclass(frozen=True)
class Schema:
    name: str
    overload: str
    args: tuple
    returns: tuple  # of (Type, name or None)

    def __str__(self):
        parts = []
        for i, arg in enumerate(self.args):
            if arg.keyword_only and (i == 0 or not self.args[i - 1].keyword_only):
                parts.append("*")
            parts.append(str(arg))
        outs = ["%s%s" % (t, " " + n if n else "") for t, n in self.returns]
        result = outs[0] if len(outs) == 1 and not self.returns[0][1] else "(%s)" % ", ".join(outs)
        return "%s(%s) -> %s" % (self.full_name, ", ".join(parts), result)

    @property
    def full_name(self):
        return self.name + ("." + self.overload if self.overload else "")

    @property
    def n_positional(self):
        return sum(not a.keyword_only for a in self.args)

    def arg_index(self, name):
        for i, arg in enumerate(self.args):
            if arg.name == name:
                return i
        return -1


_TYPE = re.compile(r"(\w+)(?:\([a-z]!?(?: -> \*)?\))?(\?)?(?:\[(\d*)\](?:\([a-z]!?\))?(\?)?)?$")
_NAME = re.compile(r"([A-Za-z_]\w*?)(?:\.([A-Za-z]\w*))?$")
_IDENT = re.compile(r"[A-Za-z_]\w*$")


def parse_type(text):
    match = _TYPE.match(text)
    if not match:
        raise CatalogError("cannot read the type '%s'" % text)
    base, mark, size, list_mark = match.groups()
    base = "int" if base == "SymInt" else base
    if base not in BASES:
        raise CatalogError("unknown type '%s'" % text)
    if size is None:
        return Type(base, optional=bool(mark))
    if base not in LISTS:
        raise CatalogError("there are no lists of '%s'" % base)
    if mark and base != "Tensor":
        raise CatalogError("only Tensor?[] may have optional elements, not '%s'" % text)
    return Type(base, True, int(size or 0), bool(list_mark), bool(mark))


def split_top(text, separator=","):
    """Splits at separators that are outside brackets and quotes."""
    parts, depth, quote, start = [], 0, None, 0
    for i, c in enumerate(text):
        if quote:
            quote = None if c == quote else quote
        elif c in "\"'":
            quote = c
        elif c in "([":
            depth += 1
        elif c in ")]":
            depth -= 1
        elif c == separator and depth == 0:
            parts.append(text[start:i].strip())
            start = i + 1
    parts.append(text[start:].strip())
    return [p for p in parts if p] if parts != [""] else []


def _check_default(type_, text):
    """Raises unless the default suits the type."""
    number = re.match(r"-?(\d+(\.\d*)?(e[-+]?\d+)?|\.\d+|inf)$", text)
    ok = text == "None" and type_.optional
    if type_.is_list:
        ok = (
            ok
            or bool(re.match(r"\[.*\]$", text))
            or (type_.size > 0 and bool(number or text in ("True", "False")))
        )
    elif type_.base == "int":
        ok = ok or bool(re.match(r"-?\d+$", text))
    elif type_.base == "float":
        ok = ok or bool(number)
    elif type_.base == "Scalar":
        ok = ok or bool(number) or text in ("True", "False")
    elif type_.base == "bool":
        ok = ok or text in ("True", "False")
    elif type_.base == "str":
        ok = ok or bool(re.match(r"(\"[^\"]*\"|'[^']*')$", text))
    elif type_.base == "MemoryFormat":
        ok = ok or text in ("contiguous_format", "preserve_format")
    elif type_.base == "ScalarType":
        ok = ok or text in ("long", "float", "bool")
    if not ok:
        raise CatalogError("'%s' is no default for the type %s" % (text, type_))


def _parse_arg(text, keyword_only):
    head, sep, default = text.partition("=")
    words = head.split()
    if len(words) < 2 or not _IDENT.match(words[-1]):
        raise CatalogError("cannot read the argument '%s'" % text)
    type_ = parse_type(" ".join(words[:-1]))
    if sep:
        _check_default(type_, default.strip())
    if "__" in words[-1]:
        raise CatalogError("argument name '%s' has a double underscore" % words[-1])
    return Arg(words[-1], type_, default.strip() if sep else None, keyword_only)


def _parse_return(text):
    words = text.rsplit(" ", 1)
    if len(words) == 2 and _IDENT.match(words[1]):
        return parse_type(words[0]), words[1]
    return parse_type(text), None


def _check_returns(returns):
    for type_, _ in returns:
        if type_.base not in RETURNS or type_.optional or (type_.is_list and type_.base != "Tensor"):
            raise CatalogError("no op may return %s" % type_)
    if len(returns) > 1 and any(not t.is_tensor for t, _ in returns):
        raise CatalogError("several results must all be of type Tensor")


def parse(text):
    text = " ".join(text.split())
    open_at = text.find("(")
    match = _NAME.match(text[:open_at]) if open_at > 0 else None
    if not match:
        raise CatalogError("cannot read the signature '%s'" % text)
    depth, close_at = 0, -1
    for i in range(open_at, len(text)):
        depth += {"(": 1, ")": -1}.get(text[i], 0)
        if depth == 0:
            close_at = i
            break
    rest = text[close_at + 1 :].strip() if close_at > 0 else ""
    if not rest.startswith("->"):
        raise CatalogError("the signature '%s' lacks '-> result'" % text)
    args, keyword_only, seen = [], False, set()
    for part in split_top(text[open_at + 1 : close_at]):
        if part == "*":
            keyword_only = True
            continue
        arg = _parse_arg(part, keyword_only)
        if arg.name in seen:
            raise CatalogError("argument '%s' occurs twice" % arg.name)
        if args and not keyword_only and arg.default is None and args[-1].default is not None:
            raise CatalogError("argument '%s' without a default follows one with a default" % arg.name)
        seen.add(arg.name)
        args.append(arg)
    outs = rest[2:].strip()
    outs = split_top(outs[1:-1]) if outs.startswith("(") and outs.endswith(")") else [outs]
    returns = tuple(_parse_return(o) for o in outs)
    _check_returns(returns)
    return Schema(match.group(1), match.group(2) or "", tuple(args), returns)
