# SPDX-License-Identifier: BSD-3-Clause
"""Mixed precision: torch.autocast, and GradScaler against gradients that vanish in float16."""

from minitorch.amp.autocast_mode import (
    _enter_autocast,
    _exit_autocast,
    autocast,
    custom_bwd,
    custom_fwd,
    is_autocast_available,
)
from minitorch.amp.grad_scaler import GradScaler

__all__ = ["autocast", "custom_bwd", "custom_fwd", "is_autocast_available", "GradScaler"]
