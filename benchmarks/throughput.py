"""How fast large tensors are worked through.

python benchmarks/throughput.py [CASE ...]
"""

import os
import subprocess
import tempfile

from harness import HERE, Statement, main

CASES = {}
FLOORS = {}
UNLOCKED = {}  # floors against PyTorch with MKL's fast paths
M1, M16 = 1 << 20, 1 << 24


def add_case(name, source, shape=(M1,), floor=None, dtype="float32", prepare="pass", unlocked=None):
    def make(lib):
        lib.manual_seed(0)
        names = {
            "lib": lib,
            "x": lib.randn(*shape, dtype=getattr(lib, dtype)),
            "y": lib.randn(*shape, dtype=getattr(lib, dtype)),
            "out": lib.empty(shape, dtype=getattr(lib, dtype)),
        }
        exec(prepare, names)
        names["F"] = lib.nn.functional
        names.pop("__builtins__")
        return Statement(source, names)

    CASES[name] = make
    if floor:
        FLOORS[name] = floor
    if unlocked is not None:
        UNLOCKED[name] = unlocked


add_case("add out= 1M", "lib.add(x, y, out=out)")
add_case("add out= 16M", "lib.add(x, y, out=out)", (M16,), 0.95)
add_case("add new 16M", "x + y", (M16,), 3)
add_case("to bf16 new 16M", "x.to(lib.bfloat16)", (M16,), 3)
add_case("to float64 new 16M", "x.to(lib.float64)", (M16,))
add_case("exp 1M", "lib.exp(x, out=out)", floor=3, unlocked=0.9)
add_case("tanh 1M", "lib.tanh(x, out=out)", floor=3, unlocked=0.9)
add_case("log 1M", "lib.log(x, out=out)", prepare="x = x.abs()", unlocked=0)
add_case("sin 1M", "lib.sin(x, out=out)", unlocked=0)
add_case("erf 1M", "lib.erf(x, out=out)", unlocked=0)
add_case("sqrt 1M", "lib.sqrt(x, out=out)", prepare="x = x.abs()", unlocked=0)
add_case("pow 1M", "lib.pow(x, 1.7, out=out)", prepare="x = x.abs()")
add_case("gelu 1M", "F.gelu(x)", floor=1.0)
add_case("silu 1M", "F.silu(x)")
add_case("sigmoid 1M", "lib.sigmoid(x)")
add_case("where 1M", "lib.where(c, x, y)", prepare="c = x > 0")
add_case("a>b 1M", "x > y")
add_case("sum 1M", "x.sum()")
add_case("sum 16M", "x.sum()", (M16,), 0.95)
add_case("sum(0) 1024x1024", "x.sum(0)", (1024, 1024))
add_case("sum(1) 1024x1024", "x.sum(1)", (1024, 1024))
add_case("max 1M", "x.max()")
add_case("argmax(1) 1024x1024", "x.argmax(1)", (1024, 1024))
add_case("var 1M", "x.var()")
add_case("softmax rows of 1024", "lib.softmax(x, 1)", (1024, 1024), 1.3)
add_case("log_softmax rows of 1024", "lib.log_softmax(x, 1)", (1024, 1024))
add_case("layer_norm 1024x1024", "F.layer_norm(x, (1024,))", (1024, 1024), 1.3)
add_case("cumsum(1) 1024x1024", "x.cumsum(1)", (1024, 1024))
add_case("sort rows 1024x1024", "x.sort(1)", (1024, 1024))
add_case("topk 10 rows 1024x1024", "x.topk(10, 1)", (1024, 1024))
add_case("transpose copy 1024x1024", "x.t().contiguous()", (1024, 1024))
add_case("matmul 1024", "x @ y", (1024, 1024), 1.7, unlocked=0.9)
add_case("matmul 256", "x @ y", (256, 256), unlocked=0)
add_case("matmul 64", "x @ y", (64, 64), unlocked=0)
add_case("matmul 1024 float64", "x @ y", (1024, 1024), dtype="float64", unlocked=0)
add_case("matmul 1024 bfloat16", "x @ y", (1024, 1024), dtype="bfloat16")
add_case("gemv 1x1024x1024", "x[:1] @ y", (1024, 1024))
add_case("bmm 512x(16x32x16)", "lib.bmm(x, y)", (512, 16, 32), prepare="y = lib.randn(512, 32, 16)")
add_case(
    "conv 64->64 56x56", "F.conv2d(x, w, padding=1)", (1, 64, 56, 56), prepare="w = lib.randn(64, 64, 3, 3)"
)
add_case("max_pool2d 8x64x56x56", "F.max_pool2d(x, 2)", (8, 64, 56, 56))
add_case(
    "index_select rows 1M", "x.index_select(0, i)", (16384, 64), prepare="i = lib.randint(0, 16384, (16384,))"
)
add_case("gather 1M", "x.gather(0, i)", prepare="i = lib.randint(0, 1 << 20, (1 << 20,))")
add_case("masked_select 1M", "x.masked_select(c)", prepare="c = x > 0")
add_case("rand 1M", "lib.rand(1 << 20)")
add_case("randn 1M", "lib.randn(1 << 20)")
add_case("bernoulli_ 1M", "out.bernoulli_(0.5)")
add_case("dropout 1M", "F.dropout(x, 0.5)")
add_case("randperm 1M", "lib.randperm(1 << 20)")


def multiply_adds():
    """GFLOP/s of one core in 256-bit and in 512-bit registers; zeros without a compiler."""
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "limits")
        try:
            subprocess.run(
                [
                    os.environ.get("CC", "gcc"),
                    "-O2",
                    "-march=native",
                    os.path.join(HERE, "limits.c"),
                    "-o",
                    program,
                ],
                check=True,
            )
            return [float(word) for word in subprocess.check_output([program]).split()]
        except (OSError, subprocess.CalledProcessError):
            return [0.0, 0.0]


def remark(rows):
    """How near the product comes to what the processor can do."""
    for row in rows:
        if row[0] == "matmul 1024" and len(row) > 2 and max(LIMITS):
            least = 2 * 1024**3 / max(LIMITS)
            print(
                "\nmatmul 1024: %.0f of %.0f GFLOP/s; at the limit of this processor the ratio would be %.2f"
                % (2 * 1024**3 / row[1], max(LIMITS), row[2] / least)
            )


if __name__ == "__main__":
    LIMITS = multiply_adds()
    if LIMITS[1] < 1.7 * LIMITS[0]:  # units of half the width: nothing to win over 256 bits
        FLOORS["matmul 1024"] = 1.0
    raise SystemExit(main("throughput", __doc__.split("\n")[0], FLOORS, unlocked=UNLOCKED, remark=remark))
