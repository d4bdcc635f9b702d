"""What concerns several entries: duplicate signatures, aliases, C names. Makes the Catalog."""

from dataclasses import replace

from model import Catalog, plain_c_name


def _duplicates(entries, errors):
    seen = {}
    for e in entries:
        key = e.schema.full_name
        if key in seen:
            errors.append((e.where, "%s is declared already at %s" % (key, seen[key].where)))
        seen.setdefault(key, e)
    names = {e.name: e for e in entries}
    aliases = {}
    for e in entries:
        for alias in e.alias:
            if alias in names:
                errors.append(
                    (e.where, "the alias %s is an op of its own at %s" % (alias, names[alias].where))
                )
            if aliases.setdefault(alias, e.name) != e.name:
                errors.append((e.where, "%s is an alias of %s already" % (alias, aliases[alias])))


def _c_names(entries, errors):
    count = {}
    for e in entries:
        count[e.name] = count.get(e.name, 0) + 1
    named, seen = [], {}
    for e in entries:
        c = e.c or plain_c_name(e.name, e.schema.overload if count[e.name] > 1 else "")
        if c in seen:
            errors.append(
                (
                    e.where,
                    "the C name %s is that of %s at %s; give one of them a 'cname'"
                    % (c, seen[c].schema.full_name, seen[c].where),
                )
            )
        named.append(replace(e, c=c))
        seen.setdefault(c, e)
    return named


def _formulas(entries, errors):
    seen = {}
    for e in entries:
        if not e.kind:
            continue
        key = (e.kind, e.formula)
        shape = (
            len(e.operands) + len(e.params),
            e.promote in ("compare", "bool"),
            e.promote == "real",
            e.promote == "complex",
            e.promote in ("where", "masked"),
        )
        first = seen.setdefault(key, (shape, e))
        if first[0] != shape:
            errors.append(
                (e.where, "the formula %s is used in another way at %s" % (e.formula, first[1].where))
            )


def build(entries, errors):
    _duplicates(entries, errors)
    entries = _c_names(entries, errors)
    _formulas(entries, errors)
    return Catalog(entries)
