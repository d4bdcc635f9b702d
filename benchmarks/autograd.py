"""What gradients cost: recording a node, running a node, custom Functions, a small GPT; memory of graphs.

    python benchmarks/autograd.py [CASE ...]

The loop is subtracted on both sides; of a backward pass, the forward pass.
"""

import os
import subprocess
import sys

from harness import CHECKOUT, Statement, main

CASES = {}
FLOORS = {}
MEMORY_BARS = {"bytes of a recorded add, kept": 0.65, "GPT, peak MB of a step": 0.9}
CHAIN = 200


def case(name, floor=None):
    def register(prepare):
        CASES[name] = prepare
        if floor:
            FLOORS[name] = floor
        return prepare

    return register


def leaves(lib):
    lib.manual_seed(0)
    return {
        "lib": lib,
        "r": lib.rand(1, requires_grad=True),
        "q": lib.rand(1, requires_grad=True),
        "c": lib.rand(1),
        "m": lib.rand(2, 2, requires_grad=True),
        "no_grad": lib.no_grad,
        "rounds": range(CHAIN),
    }


def record(name, source, floor=10):
    @case("record " + name, floor)
    def prepare(lib):
        return Statement(source, leaves(lib), minus="pass")


record("add", "r + q")
record("mul", "r * q")
record("view", "m.view(4)")


def node(name, step, floor=12):
    """The backward pass of a chain."""

    @case("run " + name, floor)
    def prepare(lib):
        chain = "t = r\nfor _ in rounds:\n    t = %s\n" % step
        return Statement(chain + "t.backward()", leaves(lib), minus=chain + "pass")


node("add", "t + c")
node("mul", "t * c")
node("view", "t.view(1)")
node("tanh", "t.tanh()")


@case("(r*q).backward()", 12)
def product(lib):
    return Statement("(r * q).backward()", leaves(lib), minus="pass")


@case("no_grad", 5)
def modes(lib):
    return Statement("with no_grad():\n    pass", leaves(lib), minus="pass")


@case("custom Function, forward and backward", 4)
def custom(lib):
    class Double(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return grad * 2

    names = dict(leaves(lib), apply=Double.apply)
    return Statement("apply(r).backward()", names, minus="pass")


@case("grad with create_graph, twice")
def second_order(lib):
    names = dict(leaves(lib), grad=lib.autograd.grad)
    return Statement("(g,) = grad(r * r * r, r, create_graph=True)\ngrad(g, r)", names, minus="pass")


@case("forward mode: a product and its tangent")
def dual(lib):
    forward_ad = lib.autograd.forward_ad
    forward_ad.enter_dual_level()
    names = dict(leaves(lib))
    names["d"] = forward_ad.make_dual(lib.rand(1), lib.rand(1))
    return Statement("d * c", names, minus="pass")


def gpt(lib, layers=4, heads=4, width=128, length=64, batch=12, vocabulary=65):
    """(parameters, function that gives the loss) of a character GPT with learned positions."""
    lib.manual_seed(0)
    F = lib.nn.functional
    p = {"tokens": (vocabulary, width), "positions": (length, width), "head": (vocabulary, width)}
    for i in range(layers):
        p.update(
            {
                "qkv%d" % i: (3 * width, width),
                "out%d" % i: (width, width),
                "up%d" % i: (4 * width, width),
                "down%d" % i: (width, 4 * width),
            }
        )
    p = {name: (lib.randn(size) * 0.02).requires_grad_() for name, size in p.items()}
    for i in range(2 * layers + 1):
        p["gain%d" % i] = lib.ones(width, requires_grad=True)
        p["shift%d" % i] = lib.zeros(width, requires_grad=True)
    text = lib.randint(0, vocabulary, (batch, length + 1))
    seen, wanted = text[:, :-1], text[:, 1:].reshape(-1)

    def norm(x, i):
        return F.layer_norm(x, (width,), p["gain%d" % i], p["shift%d" % i])

    def loss():
        x = F.embedding(seen, p["tokens"]) + p["positions"]
        for i in range(layers):
            q, k, v = F.linear(norm(x, 2 * i), p["qkv%d" % i]).chunk(3, dim=-1)
            q, k, v = (t.view(batch, length, heads, width // heads).transpose(1, 2) for t in (q, k, v))
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + F.linear(y.transpose(1, 2).reshape(batch, length, width), p["out%d" % i])
            x = x + F.linear(F.gelu(F.linear(norm(x, 2 * i + 1), p["up%d" % i])), p["down%d" % i])
        logits = F.linear(norm(x, 2 * layers), p["head"])
        return F.cross_entropy(logits.view(-1, vocabulary), wanted)

    return list(p.values()), loss


@case("GPT, backward", 1.2)
def gpt_backward(lib):
    parameters, loss = gpt(lib)
    clear = "for t in parameters:\n    t.grad = None\n"
    names = {"loss": loss, "parameters": parameters}
    return Statement(clear + "loss().backward()", names, minus=clear + "loss()")


# --- memory, each in a process of its own ---

KEPT = """
import os, sys
import {lib} as lib
r = lib.rand(1, requires_grad=True)
def rss():
    return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
x = [r + r for _ in range(1000)]
keep = [None] * 200000
before = rss()
for i in range(200000):
    keep[i] = r + r
print((rss() - before) / 200000)
"""
PEAK = """
import sys
sys.path.insert(0, {here!r})
import {lib} as lib
import autograd
lib.set_num_threads(1)
parameters, loss = autograd.gpt(lib)
def kb(what):
    return int([l for l in open("/proc/self/status") if l.startswith(what)][0].split()[1])
lib.ones(2, requires_grad=True).sum().backward()
before = kb("VmRSS")
for _ in range(3):
    for t in parameters:
        t.grad = None
    loss().backward()
print((kb("VmHWM") - before) / 1024)
"""


def measure(source, lib):
    env = dict(os.environ, OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")
    env["PYTHONPATH"] = os.pathsep.join(filter(None, [CHECKOUT, env.get("PYTHONPATH")]))
    here = os.path.dirname(os.path.abspath(__file__))
    source = source.format(lib=lib, here=here)
    return float(
        subprocess.run(
            [sys.executable, "-c", source], capture_output=True, text=True, check=True, env=env
        ).stdout
    )


def memory():
    """Rows of the bars of memory; the names of those that are missed."""
    print("\n| memory | ours | torch | part | at most |\n|---|---:|---:|---:|---:|")
    missed = []
    for name, source in zip(MEMORY_BARS, (KEPT, PEAK)):
        ours, theirs = measure(source, "minitorch"), measure(source, "torch")
        print("| %s | %.1f | %.1f | %.2f | %s |" % (name, ours, theirs, ours / theirs, MEMORY_BARS[name]))
        if ours / theirs > MEMORY_BARS[name]:
            missed.append(name)
    return missed


if __name__ == "__main__":
    status = main("autograd", __doc__, FLOORS)
    if not [a for a in sys.argv[1:] if not a.startswith("-")]:
        status = bool(memory()) or status
    raise SystemExit(status)
