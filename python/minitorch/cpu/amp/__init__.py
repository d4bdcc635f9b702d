# SPDX-License-Identifier: BSD-3-Clause
"""Old names of torch.amp for the CPU."""

from minitorch.cpu.amp.autocast_mode import autocast
from minitorch.cpu.amp.grad_scaler import GradScaler

__all__ = ["autocast", "GradScaler"]
