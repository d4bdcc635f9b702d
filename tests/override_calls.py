"""What functions written in Python hand on to overrides: calls of PyTorch's functions, and the args and kwargs that come of them.

A value of a call is a name, which stands for an object that overrides ("self" is a tensor), a list of names for a tuple of such, or
"", which is itself.
"""

import contextlib
import inspect
import itertools
import types

import override_lists


class Seen(Exception):
    """Ends the call where the override is reached."""


class Objects:
    """Objects by name. `seen` has what overrides were called with: (func, args, kwargs)."""

    def __init__(self, torch):
        self.seen, self.made = [], {}

        def note(cls, func, types, args=(), kwargs=None):
            self.seen.append((func, args, kwargs or {}))
            raise Seen

        handler = classmethod(note)
        self.kind = type("Duck", (), {"__torch_function__": handler, "__iter__": None})
        sub = type("Sub", (torch.Tensor,), {"__torch_function__": handler})
        self.made["self"] = torch.ones(2, 2).as_subclass(sub)

    def of(self, value):
        if isinstance(value, list):
            return tuple(map(self.of, value))
        if value == "":
            return value
        if value not in self.made:
            self.made[value] = self.kind()
        return self.made[value]

    def name(self, value):
        """The other way round; of what is no such object the repr."""
        for name, made in self.made.items():
            if made is value:
                return name
        if type(value) in (tuple, list):
            return [type(value).__name__, *map(self.name, value)]
        return "=" + repr(value)

    def call(self, function, args, kwargs):
        """(func, args, kwargs) as the override saw them, by names; None where it was not reached."""
        self.seen.clear()
        try:
            function(*map(self.of, args), **{k: self.of(v) for k, v in kwargs.items()})
        except Seen:
            func, given, keywords = self.seen[0]
            return func, [self.name(v) for v in given], {k: self.name(v) for k, v in keywords.items()}
        except Exception:
            pass
        return None


def calls(signature):
    """Calls that fit a signature: what is required, everything by position, everything by name."""
    parameters = list(signature.parameters.values())
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    keyword = [p for p in parameters if p.kind is p.KEYWORD_ONLY]
    more = ["v0", "v1"] if any(p.kind is p.VAR_POSITIONAL for p in parameters) else []
    needed = [p.name for p in positional if p.default is p.empty]
    needed_by_name = {p.name: p.name for p in keyword if p.default is p.empty}
    yield needed + more, needed_by_name
    yield [p.name for p in positional] + more, {p.name: p.name for p in keyword}
    if not more:
        rest = {p.name: p.name for p in positional + keyword if p.name not in needed[:1]}
        yield needed[:1], rest
    yield needed[:1] + [""] * (len(needed) - 1), needed_by_name
    yield [[name + "0", name + "1"] for name in needed[:1]] + needed[1:], needed_by_name


def functions(torch):
    """(namespace, name, function); those in C too, for what one library has in C the other may write in Python."""
    for path in override_lists.NAMESPACES:
        for name, value in override_lists.members(torch, path):
            if isinstance(value, types.FunctionType) or not (
                name.startswith("__") or isinstance(value, type)
            ):
                yield path, name, value


def signatures(torch, function):
    """Of the function and of its stand-in: wrappers hide the one, and the other may leave arguments out."""
    for f in (function, torch.overrides.get_testing_overrides().get(function)):
        with contextlib.suppress(TypeError, ValueError):
            yield inspect.signature(f)


def record(torch):
    """[namespace, name, args, kwargs, args handed on, kwargs handed on]"""
    found = []
    for path, name, function in functions(torch):
        for args, kwargs in itertools.chain.from_iterable(map(calls, signatures(torch, function))):
            given = Objects(torch).call(function, args, kwargs)
            if given is None or given[0] is not function:
                continue
            row = [path, name, args, kwargs, *given[1:]]
            if row not in found:
                found.append(row)
    return found
