# SPDX-License-Identifier: BSD-3-Clause
"""Orthogonal initial values: the same numbers up to rounding."""


def namespace(torch):
    return {"torch": torch, "nn": torch.nn}


EXPRESSIONS = [
    "nn.init.orthogonal_(torch.empty(3, 5))",
    "nn.init.orthogonal_(torch.empty(5, 3), 2.0)",
    "nn.init.orthogonal_(torch.empty(5))",
    "nn.init.orthogonal_(torch.empty(2, 3, 2, dtype=torch.float64))",
    "nn.init.orthogonal_(torch.empty(0, 3))",
]
