"""What __torch_function__ costs: an addition of two elements on a plain Tensor, a subclass without and with an override, a
duck type, and under modes.

    python benchmarks/overrides_benchmark.py [CASE ...]

The loop is subtracted. The second table has the least time and the standard deviation over the repeats.
"""

import statistics

import harness
from harness import Statement, main

CASES = {}
FLOORS = {
    "subclass": 5,
    "subclass with an override that calls super()": 4,
    "duck type": 2.3,
    "plain, one mode active": 3,
}


def case(name):
    def register(prepare):
        CASES[name] = prepare
        return prepare

    return register


def classes(lib):
    class Plain(lib.Tensor):
        pass

    class Override(lib.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return super().__torch_function__(func, types, args, kwargs or {})

    class Disabled(lib.Tensor):
        __torch_function__ = lib._C._disabled_torch_function_impl

    class Duck:
        def __init__(self, data):
            self.data = data

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return args[0].data

    class Mode(lib.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    return Plain, Override, Disabled, Duck, Mode


def adding(index, source="add(a, b)"):
    """The addition of two tensors of a class; None: plain tensors."""

    def prepare(lib):
        cls = lib.Tensor if index is None else classes(lib)[index]
        pair = [lib.tensor([float(k)]).as_subclass(cls) for k in (1, 2)]
        return Statement(source, {"add": lib.add, "a": pair[0], "b": pair[1]}, minus="pass")

    return prepare


CASES["plain"] = adding(None)
CASES["plain, operator"] = adding(None, "a + b")
CASES["subclass"] = adding(0)
CASES["subclass, operator"] = adding(0, "a + b")
CASES["subclass with an override that calls super()"] = adding(1)
CASES["subclass, override disabled"] = adding(2)


@case("duck type")
def duck(lib):
    cls = classes(lib)[3]
    return Statement("add(a, b)", {"add": lib.add, "a": cls(1), "b": cls(2)}, minus="pass")


def under_modes(count):
    def prepare(lib):
        modes = [classes(lib)[4]() for _ in range(count)]
        names = {"add": lib.add, "a": lib.tensor([1.0]), "b": lib.tensor([2.0])}
        body = Statement("add(a, b)", names, minus="pass")
        loop = body.loop

        def inside(n):
            for mode in modes:
                mode.__enter__()
            try:
                loop(n)
            finally:
                for mode in reversed(modes):
                    mode.__exit__(None, None, None)

        body.loop = inside
        return body

    return prepare


CASES["plain, one mode active"] = under_modes(1)
CASES["plain, two modes active"] = under_modes(2)


@case("enter and leave a mode")
def enter(lib):
    return Statement("with mode:\n    pass", {"mode": classes(lib)[4]()}, minus="pass")


@case("has_torch_function of two tensors")
def question(lib):
    names = {"ask": lib.overrides.has_torch_function_variadic, "a": lib.tensor([1.0]), "b": lib.tensor([2.0])}
    return Statement("ask(a, b)", names, minus="pass")


def spread(rows):
    """The least time and the standard deviation of both libraries, in nanoseconds."""
    print("\n| case | ours: least | deviation | other: least | deviation |\n|---|---:|---:|---:|---:|")
    for name, (ours, other) in harness.SAMPLES.items():
        row = (min(ours), statistics.stdev(ours), min(other), statistics.stdev(other))
        print("| %s | %.1f ns | %.1f | %.1f ns | %.1f |" % ((name,) + row))


if __name__ == "__main__":
    raise SystemExit(main("overrides_benchmark", __doc__, FLOORS, remark=spread))
