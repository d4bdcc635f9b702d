"""What inspect.signature and help say of a function of the catalog."""

import ast
import keyword
import re


class Parameter:
    def __init__(self, name, default=None, keyword_only=False, optional=False):
        self.name, self.default, self.keyword_only = name, default, keyword_only
        self.optional = optional  # None is a value of it

    def __str__(self):
        return self.name if self.default is None else "%s=%s" % (self.name, self.default)


def literal(text):
    """A default that inspect can read; what is no literal (torch.contiguous_format) shows as `...`."""
    try:
        ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return "..."
    return text


def python_name(func, name):
    """The name of an argument as Python code sees it."""
    if name == "self" and not func.is_method:
        return "input"
    return name + "_" if keyword.iskeyword(name) else name


def parameters(entry, func):
    """Parameters of one overload, without self."""
    out = []
    for arg in entry.schema.args[1:] if func.is_method else entry.schema.args:
        default = None if arg.default is None else literal(arg.default)
        out.append(Parameter(python_name(func, arg.name), default, arg.keyword_only, arg.type.optional))
    if func.has_out and entry.out_ok:
        out.append(Parameter("out", "None", True))
    if entry.factory:
        out.append(Parameter("requires_grad", "False", True))
    return out


def _names(overload):
    return {p.name for p in overload}


def _positional(overload):
    return [p for p in overload if not p.keyword_only]


def most_telling(overloads):
    """The overload whose parameters include those of most others; of equals the longest, then the first."""

    def rank(i):
        return sum(_names(o) <= _names(overloads[i]) for o in overloads), len(overloads[i]), -i

    return overloads[max(range(len(overloads)), key=rank)]


def joined(overloads):
    """(positional, keyword-only) parameters that stand for all overloads whose parameters one of them has.

    What an overload does without has a default, and what one of them takes by position is positional.
    """
    chosen = most_telling(overloads)
    family = [o for o in overloads if _names(o) <= _names(chosen)]
    default_of = {p.name: p.default for o in family for p in o if p.default is not None}
    by_name = {p.name: p for p in chosen}
    order = max(map(_positional, family), key=len)
    required = min(sum(p.default is None for p in _positional(o)) for o in family)
    positional, keywords = [], []
    for i, p in enumerate(order):
        default = default_of.get(p.name, "None" if by_name[p.name].optional else "...")
        positional.append(Parameter(p.name, default if i >= required else None))
    taken = _names(positional)
    for p in chosen:
        if p.name not in taken:
            everywhere = all(any(q.name == p.name for q in o) for o in family)
            default = p.default or (None if everywhere else "None" if p.optional else "...")
            keywords.append(Parameter(p.name, default, True))
    return positional, keywords


def spread(func, positional):
    """Whether the only positional parameter is a list that may be spread in every overload that has it."""
    with_it = [
        e for e in func.entries if any(python_name(func, a.name) == positional[0].name for a in e.schema.args)
    ]
    return len(positional) == 1 and all(map(func.spreads, with_it))


def text_signature(func):
    """`($self, other, *, alpha=1)`, as CPython reads it at the head of a docstring."""
    positional, keywords = joined([parameters(e, func) for e in func.entries])
    parts = ["$self"] if func.is_method else []
    if positional and spread(func, positional):
        parts.append("*" + positional[0].name)
    else:
        parts += [str(p) for p in positional] + (["*"] if keywords else [])
    return "(%s)" % ", ".join(parts + [str(p) for p in keywords])


def shown_name(func):
    """linalg.norm for linalg_norm."""
    prefix = func.table + "_"
    return func.table + "." + func.name[len(prefix) :] if func.name.startswith(prefix) else func.name


def _untyped(args):
    parts = []
    for i, arg in enumerate(args):
        if arg.keyword_only and (i == 0 or not args[i - 1].keyword_only):
            parts.append("*")
        parts.append(arg.name + ("" if arg.default is None else "=" + arg.default))
    return parts


def python_signature(entry, func):
    """`max(input, dim, keepdim=False, *, out=None) -> (Tensor values, Tensor indices)`"""
    args = [
        type(a)(python_name(func, a.name), a.type, a.default, a.keyword_only)
        for a in entry.schema.args[func.is_method :]
    ]
    parts = _untyped(args)
    if func.has_out and entry.out_ok:
        parts += ([] if any(a.keyword_only for a in args) else ["*"]) + ["out=None"]
    text = str(entry.schema)
    result = text[text.rindex("->") :].replace("Tensor[]", "tuple of Tensors")
    return "%s(%s) %s" % (shown_name(func), ", ".join(parts), result)


def docstring(func):
    """The docstring in C: the signature for inspect, then one line per overload, then what the function does."""
    lines = dict.fromkeys(python_signature(e, func) for e in func.entries)
    says = func.entries[0].doc
    if not func.is_method:
        says = re.sub(r"\b([sS])elf\b(?!-)", lambda m: "Input" if m.group(1) == "S" else "input", says)
    return "%s%s\n--\n\n%s\n\n%s" % (func.name, text_signature(func), "\n".join(lines), says)
