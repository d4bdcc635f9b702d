"""What inspect.signature says of a function of the catalog: one signature for all its overloads."""

import ast
import keyword


class Parameter:
    def __init__(self, name, default=None, keyword_only=False):
        self.name, self.default, self.keyword_only = name, default, keyword_only

    def __str__(self):
        return self.name if self.default is None else "%s=%s" % (self.name, self.default)


def literal(text):
    """A default that inspect can read; what is no literal (torch.contiguous_format) shows as `...`."""
    try:
        ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return "..."
    return text


def parameters(entry, func):
    """Parameters of one overload, without self."""
    args = entry.schema.args[1:] if func.is_method else entry.schema.args
    out = []
    for i, arg in enumerate(args):
        name = "input" if not func.is_method and i == 0 and arg.name == "self" else arg.name
        out.append(Parameter(name, None if arg.default is None else literal(arg.default), arg.keyword_only))
    if func.has_out and entry.out_ok:
        out.append(Parameter("out", "None", True))
    if entry.factory:
        out.append(Parameter("requires_grad", "False", True))
    return out


def merged(overloads):
    """Parameters that all overloads share in front, then keywords that all have, then *args and **kwargs for the rest."""
    shared = []
    for row in zip(*overloads):
        if len({p.name for p in row}) > 1 or any(p.keyword_only for p in row):
            break
        defaults = [p.default for p in row if p.default is not None]
        shared.append(Parameter(row[0].name, defaults[0] if defaults else None))
    rest = [ps[len(shared) :] for ps in overloads]
    if all({p.name for p in ps} == {p.name for p in rest[0]} for ps in rest):
        by_name = {}
        for ps in rest:
            for p in ps:
                if p.name not in by_name or by_name[p.name].default is None:
                    by_name[p.name] = Parameter(p.name, p.default, True)
        return shared, list(by_name.values()), False
    return shared, [], True


def text_signature(func):
    """`($self, other, *, alpha=1)`, as CPython reads it at the head of a docstring."""
    shared, keywords, more = merged([parameters(e, func) for e in func.entries])
    while shared and keyword.iskeyword(shared[-1].name):
        shared, more = shared[:-1], True
    if any(keyword.iskeyword(p.name) for p in shared + keywords):
        shared, keywords, more = [], [], True
    if more:
        keywords = []
    seen_default = False
    for p in shared:  # a parameter without a default may not follow one with a default
        seen_default = seen_default or p.default is not None
        if seen_default and p.default is None:
            p.default = "..."
    parts = (["$self"] if func.is_method else []) + [str(p) for p in shared]
    if more:
        parts += ["*args", "**kwargs"]
    elif keywords:
        parts += ["*"] + [str(p) for p in keywords]
    return "(%s)" % ", ".join(parts)
