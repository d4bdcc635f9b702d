# SPDX-License-Identifier: BSD-3-Clause
"""The old name of torch.autocast("cpu")."""

import warnings

import minitorch as torch
from minitorch.amp import autocast_mode

__all__ = ["autocast"]


class autocast(autocast_mode.autocast):
    """autocast(enabled=True, dtype=torch.bfloat16, cache_enabled=True)

    Deprecated: torch.amp.autocast("cpu", ...), which see."""

    def __init__(self, enabled=True, dtype=torch.bfloat16, cache_enabled=True):
        warnings.warn(
            "`torch.cpu.amp.autocast(args...)` is deprecated. Please use `torch.amp.autocast('cpu', args...)` instead.",
            FutureWarning,
            stacklevel=2,
        )
        super().__init__("cpu", enabled=enabled, dtype=dtype, cache_enabled=cache_enabled)
