"""Sample calls of every catalog entry, and how to run them on a torch-like module.

A sample is a Python expression for the arguments, "T(3, 4), 1". The tensors in it are filled by a counter-based
generator that knows nothing of any library, so that PyTorch and minitorch see the same numbers. Entries get samples by
their kind; others write them into the catalog (`samples:`).
"""

import functools
import math
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

DTYPE_NAMES = {
    "b8": "bool",
    "u8": "uint8",
    "i8": "int8",
    "i16": "int16",
    "i32": "int32",
    "i64": "int64",
    "f16": "float16",
    "bf16": "bfloat16",
    "f32": "float32",
    "f64": "float64",
    "c64": "complex64",
    "c128": "complex128",
}

BY_KIND = {
    "unary": ["T(3, 4)", "T(4, 3).t()", "T(0, 3)", "T()", "T(21)", "S()"],
    "binary": [
        "T(3, 4), T(3, 4)",
        "T(3, 1), T(4)",
        "T(4, 3).t(), T(3, 4)",
        "T(), T(3)",
        "T(0, 3), T(3)",
        "S(), S2()",
        "T(21), T(21)",
    ],
    "ternary": ["T(3, 4), T(3, 4), T(3, 4)", "T(3, 1), T(4), T()", "T(4, 3).t(), T(3, 4), T(3, 1)"],
    "reduce": ["T(3, 4)", "T(4, 3).t()", "T(2, 3, 4)", "T()", "T(5)"],
}
BY_KIND["compare"] = BY_KIND["binary"]
BY_KIND["special"] = BY_KIND["unary"]
REDUCE_DIM = [
    "T(3, 4), 1",
    "T(4, 3).t(), 0",
    "T(2, 3, 4), 1, True",
    "T(2, 3, 4), -1",
    "T(70, 3), 0",
    "T(3, 70), 1",
]


@functools.lru_cache(maxsize=None)
def catalog():
    """The entries of csrc/ops, through the generator's own reader."""
    sys.path.insert(0, os.path.join(ROOT, "csrc", "codegen"))
    try:
        import check
        import load
    finally:
        sys.path.pop(0)
    errors = []
    result = check.build(load.read_folder(os.path.join(ROOT, "csrc", "ops"), errors), errors)
    assert not errors, errors
    return result


def entries():
    """Entries with a Python name and an implementation."""
    return [e for e in catalog().entries if e.variants and e.has_impl]


def samples(entry):
    """Argument expressions of an entry."""
    if entry.samples:
        return list(entry.samples)
    if entry.only_inplace or entry.kind is None:
        return []
    if entry.kind == "reduce" and any(a.name == "dim" and a.default is None for a in entry.schema.args):
        return REDUCE_DIM
    base = BY_KIND[entry.kind]
    missing = [
        a for a in entry.schema.args[len(entry.operands) :] if a.default is None and not a.keyword_only
    ]
    return [] if missing else base


class Filler:
    """The names that sample expressions use. One object per evaluation, so that the n-th tensor of a sample always holds
    the same numbers."""

    def __init__(self, torch, dtype, requires_grad=False, shift=0.0):
        self.torch, self.dtype, self.requires_grad, self.shift = torch, dtype, requires_grad, shift
        self.made = []
        self.count = 0

    def _numbers(self, n, low, high):
        self.count += 1
        state = 12345 + 7919 * self.count
        result = []
        for _ in range(n):
            state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
            result.append(low + (high - low) * ((state >> 33) / 2**31))
        return result

    def _make(self, values, shape, dtype=None, grad=True):
        name = dtype or self.dtype
        if name.startswith("complex"):
            imag = self._numbers(len(values), -1.5, 1.5)
            values = [complex(a, b) for a, b in zip(values, imag)]
        elif name == "bool":
            values = [v > 0 for v in values]
        elif name.startswith("uint"):
            values = [int(abs(v) * 20) for v in values]
        elif name.startswith("int"):
            values = [int(v * 4) for v in values]
        else:
            # Exact in every float format, so that conversions in the samples cannot differ.
            values = [round(v * 32) / 32 for v in values]
            if self.shift and grad and dtype is None:
                values = [v + self.shift * d for v, d in zip(values, direction(len(self.made), len(values)))]
        t = self.torch.tensor(values, dtype=getattr(self.torch, name)).reshape(shape)
        if (
            grad
            and self.requires_grad
            and dtype is None
            and (name.startswith("float") or name.startswith("complex"))
        ):
            t.requires_grad_()
            self.made.append(t)
        return t

    @staticmethod
    def _count(shape):
        n = 1
        for size in shape:
            n *= size
        return n

    def T(self, *shape):
        """The tested dtype, values from -2.5 to 2.5."""
        return self._make(self._numbers(self._count(shape), -2.5, 2.5), shape)

    def P(self, *shape):
        """The same, positive."""
        return self._make(self._numbers(self._count(shape), 0.1, 2.5), shape)

    def U(self, *shape):
        """The same, inside (-0.95, 0.95)."""
        return self._make(self._numbers(self._count(shape), -0.95, 0.95), shape)

    def N(self, *shape):
        """The same, away from zero."""
        return self._make(
            [v + (0.4 if v >= 0 else -0.4) for v in self._numbers(self._count(shape), -2.0, 2.0)], shape
        )

    def I(self, *shape, n=3):  # noqa: E743
        """int64 indices below n."""
        values = [min(int(v), n - 1) for v in self._numbers(self._count(shape), 0, n)]
        return self.torch.tensor(values, dtype=self.torch.int64).reshape(shape)

    def B(self, *shape):
        """bool masks."""
        return self._make(self._numbers(self._count(shape), -1, 1), shape, "bool")

    def F(self, *shape):
        """float32, whatever the tested dtype."""
        return self._make(self._numbers(self._count(shape), -2.5, 2.5), shape, "float32", grad=False)

    def _special(self, order):
        if self.dtype == "bool":
            return self._make([1.0, -1.0, 1.0, -1.0], (4,))
        if self.dtype.startswith(("float", "bfloat")):
            values = [
                0.0,
                -0.0,
                float("inf"),
                float("-inf"),
                float("nan"),
                1.0,
                -1.0,
                0.5,
                -0.5,
                2.0,
                100.0,
                -100.0,
            ]
        elif self.dtype.startswith("complex"):
            values = [0.0, 1.0, -1.0, 1j, -1j, complex(1, 1), complex(-2, 0.5), complex(0.5, -3)]
        else:
            top = {"uint8": 255, "int8": 127, "int16": 2**15 - 1, "int32": 2**31 - 1, "int64": 2**63 - 1}[
                self.dtype
            ]
            low = 0 if self.dtype == "uint8" else -top - 1
            values = [0, 1, 2, 3, 7, top, low, top // 2]
        if order:
            values = values[order:] + values[:order]
        t = self.torch.tensor(values, dtype=getattr(self.torch, self.dtype))
        if self.requires_grad and self.dtype.startswith(("float", "complex")):
            t.requires_grad_()
            self.made.append(t)
        return t

    def S(self):
        """Special values of the dtype."""
        return self._special(0)

    def S2(self):
        return self._special(5)

    def evaluate(self, expression):
        """(args, kwargs) of a sample."""
        names = {name: getattr(self, name) for name in "TPUNIBFS"}
        names.update(
            S2=self.S2,
            torch=self.torch,
            inf=float("inf"),
            nan=float("nan"),
            call=lambda *args, **kwargs: (args, kwargs),
        )
        return eval("call(%s)" % expression, names)


def find(torch, entry):
    """The function, or None for methods."""
    name = entry.name
    if "function" in entry.variants:
        return getattr(torch, name, None)
    for space in ("nn", "linalg", "fft", "special"):
        if space in entry.variants:
            return getattr(getattr(torch._C, "_" + space), name, None)
    return None


def direction(number, n):
    """How the elements of the number-th input move in a finite difference."""
    return [math.sin(1.0 + 3 * number + 1.7 * i) for i in range(n)]


def call(torch, entry, expression, dtype, requires_grad=False, shift=0.0):
    """Runs a sample in its main form. Returns (flat list of results, filler)."""
    filler = Filler(torch, dtype, requires_grad, shift)
    args, kwargs = filler.evaluate(expression)
    if entry.random:
        torch.manual_seed(1234)
    function = find(torch, entry)
    if function is not None:
        result = function(*args, **kwargs)
    else:
        result = getattr(args[0], entry.name)(*args[1:], **kwargs)
    return flatten(result), filler


def flatten(result):
    if isinstance(result, (tuple, list)):
        return [x for item in result for x in flatten(item)]
    return [result]


def describe(x):
    """A JSON-ready form of a result: dtype, shape, strides and values."""
    if not hasattr(x, "dtype"):
        return {"value": repr(x)}
    shape = list(x.shape)
    values = x.detach().reshape(-1).tolist() if x.numel() else []
    if str(x.dtype).startswith("torch.complex"):
        values = [[v.real, v.imag] for v in values]
    if str(x.dtype) in ("torch.float32", "torch.float16", "torch.bfloat16"):
        digits = 9 if str(x.dtype) == "torch.float32" else 6
        values = [float("%.*g" % (digits, v)) for v in values]
    return {"dtype": str(x.dtype)[6:], "shape": shape, "stride": list(x.stride()), "values": values}


def differentiable(entry):
    if entry.grads and all(g.text == "not_implemented" for g in entry.grads):
        return False
    return entry.grad in ("formulas", "parts")


def weighted_sum(torch, tensors, weights):
    """A real number made of tensors, each element with a weight of its own."""
    result = None
    for t in tensors:
        weight = weights._make(weights._numbers(t.numel(), -1, 1), tuple(t.shape), str(t.dtype)[6:])
        term = (t * weight).sum()
        term = term.real if t.is_complex() else term
        result = term if result is None else result + term
    return result


def gradients(torch, entry, expression, dtype):
    """First and second order: gradients of a weighted sum of the outputs by the inputs, and of a weighted sum of
    those. None where nothing is differentiable."""
    outputs, filler = call(torch, entry, expression, dtype, requires_grad=True)
    inputs = filler.made
    outputs = [o for o in outputs if hasattr(o, "dtype") and o.requires_grad]
    if not outputs or not inputs:
        return None
    weights = Filler(torch, dtype)
    first = torch.autograd.grad(
        weighted_sum(torch, outputs, weights), inputs, create_graph=True, allow_unused=True
    )
    used = [g for g in first if g is not None and g.requires_grad]
    second = (
        torch.autograd.grad(weighted_sum(torch, used, weights), inputs, allow_unused=True) if used else ()
    )
    return (
        [None if g is None else describe(g) for g in first],
        [None if g is None else describe(g) for g in second],
    )


def slopes(torch, entry, expression, step=1e-6, point=0.0):
    """Of the inputs moved to `point` along one direction: (slope by the gradients, slope by a difference) along it, of the weighted
    sum of the outputs and of that of the gradients. Empty where nothing is differentiable."""

    def at(shift):
        outputs, filler = call(torch, entry, expression, "float64", requires_grad=True, shift=shift)
        outputs = [o for o in outputs if hasattr(o, "dtype") and o.requires_grad]
        if not outputs or not filler.made:
            return None, []
        sums = [weighted_sum(torch, outputs, Filler(torch, "float64"))]
        first = torch.autograd.grad(sums[0], filler.made, create_graph=True, allow_unused=True)
        used = [g for g in first if g is not None and g.requires_grad]
        if used:
            sums.append(weighted_sum(torch, used, Filler(torch, "float64")))
        return filler.made, sums

    inputs, sums = at(point)
    found = []
    if inputs is None:
        return found
    below, above = at(point - step)[1], at(point + step)[1]
    for total, low, high in zip(sums, below, above):
        grads = torch.autograd.grad(total, inputs, retain_graph=True, allow_unused=True)
        slope = 0.0
        for number, (x, g) in enumerate(zip(inputs, grads)):
            if g is not None:
                moved = torch.tensor(direction(number, x.numel()), dtype=torch.float64).reshape(x.shape)
                slope += (g * moved).sum().item()
        found.append((slope, (high.item() - low.item()) / (2 * step)))
    return found
