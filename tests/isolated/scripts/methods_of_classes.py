"""A call of a method on a class, without any argument, in code that was called with objects before: TypeError, whatever the
interpreter made of the call."""

import warnings

import minitorch as torch

warnings.simplefilter("ignore")
SOURCE = """
def call(x):
    try:
        return x.{name}()
    except Exception as e:
        return e
"""


def deep(call, cls, depth, *rest):
    """The same from frames of several depths, with other things on the stack."""
    if depth:
        return deep(call, cls, depth - 1, *rest)
    return call(cls)


def check(cls, make):
    for name in dir(cls):
        member = getattr(cls, name)
        if name.startswith("_") or type(member).__name__ != "method_descriptor":
            continue
        space = {}
        exec(SOURCE.format(name=name), space)
        call = space["call"]
        for x in [make() for _ in range(20)] + [cls]:
            call(x)
        for depth in range(0, 40, 3):
            result = deep(call, cls, depth, [1], {2}, (3, depth), object())
            assert isinstance(result, TypeError), (name, result)
            for _ in range(20):
                call(make())


check(torch.Tensor, lambda: torch.ones(1))
check(torch.UntypedStorage, lambda: torch.ones(1).untyped_storage())
check(torch.Generator, torch.Generator)
print("ok")
