# SPDX-License-Identifier: BSD-3-Clause
"""Samples of the families that move data: one expression a line in samples/FAMILY.txt, the results of PyTorch in
tests/data/movement.json.gz. They are described and compared by tests/python/sampling.py, here bit by bit."""

import gzip
import json
import os
import sys
import warnings

HERE = os.path.dirname(os.path.abspath(__file__))
TABLE = os.path.join(os.path.dirname(HERE), "data", "movement.json.gz")
FAMILIES = ["view", "create", "copy", "join", "index"]
ONCE = [
    "is in beta",
    "torch.meshgrid",
    "The use of `x.",
    "reduce argument of torch.scatter",
    "TypedStorage",
    "ComplexHalf",
    "casting complex",
    "Casting complex",
]
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "python"))
import sampling  # noqa: E402


def namespace(torch):
    """The names that expressions use."""
    return {
        "torch": torch,
        "F": torch.nn.functional,
        "x": torch.arange(24.0).reshape(2, 3, 4),
        "y": torch.arange(6.0),
        "z": torch.tensor(3.0),
        "c": torch.tensor([[1 + 2j, 2 - 1j, -0.5 + 0j], [0.25j, 3 + 3j, -2 - 1j]], dtype=torch.complex64),
        "i": torch.arange(6),
        "e": torch.zeros(0, 3),
    }


def expressions(family):
    """The samples of a family."""
    with open(os.path.join(HERE, "samples", family + ".txt")) as file:
        return [line for line in file.read().splitlines() if line]


def run(torch, expression):
    """What the expression gives and warns of, in JSON values. Warnings that come once in a process are left out."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = {"value": sampling.describe(torch, eval(expression, namespace(torch)))}
        except Exception as error:
            result = {"error": type(error).__name__, "text": str(error).replace("minitorch", "torch")}
    told = [str(w.message).partition(" (Triggered")[0] for w in caught]
    told = [text for text in told if not any(once in text for once in ONCE)]
    return json.loads(json.dumps(dict(result, warnings=told) if told else result))


def recorded(family):
    """Expressions of a family and what PyTorch gave for them."""
    with gzip.open(TABLE, "rt") as file:
        table = json.load(file)[family]
    return [(expression, table[expression]) for expression in expressions(family)]


def check(torch, expression, want):
    """Raises when the expression gives anything else."""
    got = run(torch, expression)
    assert sampling.agree(got, want, 0), "got  %.1500s\nwant %.1500s" % (json.dumps(got), json.dumps(want))
