"""The lists of `torch.overrides` by name: {list: {namespace: names}}. Names, because an object may have several."""

import types

NAMESPACES = ("", "functional", "nn.functional", "nn.init", "Tensor", "linalg", "fft", "special", "autograd")


def namespace(torch, path):
    for part in path.split(".") if path else ():
        torch = getattr(torch, part)
    return torch


def members(torch, path):
    """(name, object) of what a namespace offers: functions and methods; of properties what reads them."""
    space = namespace(torch, path)
    for name in sorted(set(dir(space)) | set(getattr(space, "__all__", ()))):
        value = getattr(space, name, None)
        if path == "Tensor" and not callable(value) and hasattr(value, "__get__"):
            value = value.__get__
        if callable(value) and not isinstance(value, types.ModuleType):
            yield name, value


def hashable(value):
    try:
        hash(value)
    except TypeError:
        return False
    return True


def lists(torch):
    o = torch.overrides
    overridable = {f for group in o.get_overridable_functions().values() for f in group}
    kinds = {
        "ignored": o.get_ignored_functions(),
        "overridable": overridable,
        "testing": o.get_testing_overrides(),
    }
    table = {
        kind: {
            path: [name for name, value in members(torch, path) if hashable(value) and value in group]
            for path in NAMESPACES
        }
        for kind, group in kinds.items()
    }
    table["members"] = {path: [name for name, _ in members(torch, path)] for path in NAMESPACES}
    return table


def stand_ins(torch):
    """(namespace, name, stand-in) of everything that has one."""
    table = torch.overrides.get_testing_overrides()
    for path in NAMESPACES:
        for name, value in members(torch, path):
            if hashable(value) and value in table:
                yield path, name, table[value]
