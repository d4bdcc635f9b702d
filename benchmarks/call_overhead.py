"""What a call costs: operations on one element or 4 x 4, in nanoseconds.

python benchmarks/call_overhead.py [CASE ...]
"""

from harness import Statement, main

CASES = {}
FLOORS = {}
MOST_NS = {"a+b": 80}


def case(name, floor=None):
    def register(prepare):
        CASES[name] = prepare
        if floor:
            FLOORS[name] = floor
        return prepare

    return register


def operands(lib, shape=(1,), grad=False):
    lib.manual_seed(0)
    a, b = lib.rand(*shape), lib.rand(*shape)
    if grad:
        a.requires_grad_()
        b.requires_grad_()
    return a, b


def simple(name, source, shape=(1,), floor=None, grad=False):
    """A case from an expression over a, b, m (4 x 4), lib."""

    @case(name, floor)
    def prepare(lib):
        a, b = operands(lib, shape, grad)
        names = {
            "a": a,
            "b": b,
            "m": lib.rand(4, 4),
            "out": lib.empty(shape),
            "lib": lib,
            "i": lib.tensor([0, 2]),
        }
        return Statement(source, names)


simple("empty loop", "pass")
simple("a+b", "a + b", floor=8)
simple("a.add_(b)", "a.add_(b)", floor=8)
simple("a*2.0", "a * 2.0", floor=8)
simple("exp(a)", "lib.exp(a)", floor=8)
simple("a>b", "a > b", floor=8)
simple("torch.add", "lib.add(a, b)")
simple("add out=", "lib.add(a, b, out=out)")
simple("-a", "-a")
simple("where", "lib.where(a > b, a, b)")
simple("view", "m.view(2, 8)", floor=6)
simple("reshape", "m.reshape(2, 8)")
simple("transpose", "m.transpose(0, 1)", floor=6)
simple("m[0]", "m[0]", floor=6)
simple("m[:,1]", "m[:, 1]", floor=6)
simple("m[0,1]=1.", "m[0, 1] = 1.0")
simple("m[i]", "m[i]")
simple("sum", "a.sum()", floor=6)
simple("sum(1)", "m.sum(1)")
simple("mean", "m.mean()")
simple("max", "m.max()")
simple("4x4 matmul", "m @ m", floor=6)
simple("cat", "lib.cat((a, b))", floor=6)
simple("softmax", "lib.softmax(m, 1)", floor=6)
simple("empty", "lib.empty(1)")
simple("zeros", "lib.zeros(1)")
simple("tensor([1.])", "lib.tensor([1.0])")
simple("item", "a.item()")
simple("shape", "m.shape")
simple("detach", "a.detach()")
simple("clone", "a.clone()")
simple("to(float64)", "a.to(lib.float64)")
simple("rand(1)", "lib.rand(1)")
simple("randn(1)", "lib.randn(1)")
simple("no_grad", "with lib.no_grad(): pass")
simple("add with grad", "a + b", grad=True)
simple("mul with grad", "a * b", grad=True)
simple("(a*b).backward()", "(a * b).backward()", grad=True)


@case("chain of 1000 adds, forward and backward", 8)
def chain(lib):
    a, b = operands(lib, (1,), grad=True)

    def body():
        x = a
        for _ in range(1000):
            x = x + b
        x.backward()

    return body


@case("chain of 1000 adds, forward only")
def chain_forward(lib):
    a, b = operands(lib, (1,), grad=True)

    def body():
        x = a
        for _ in range(1000):
            x = x + b

    return body


@case("nn.Linear(4,4)")
def linear(lib):
    layer, x = lib.nn.Linear(4, 4), lib.rand(4, 4)
    return Statement("layer(x)", {"layer": layer, "x": x})


@case("nn.ReLU")
def relu(lib):
    layer, x = lib.nn.ReLU(), lib.rand(4, 4)
    return Statement("layer(x)", {"layer": layer, "x": x})


if __name__ == "__main__":
    raise SystemExit(main("call_overhead", __doc__.split("\n")[0], FLOORS, MOST_NS))
