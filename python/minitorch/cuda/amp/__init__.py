# SPDX-License-Identifier: BSD-3-Clause
"""Old names of torch.amp for CUDA."""

from minitorch.cuda.amp.autocast_mode import autocast, custom_bwd, custom_fwd
from minitorch.cuda.amp.common import amp_definitely_not_available
from minitorch.cuda.amp.grad_scaler import GradScaler

__all__ = ["amp_definitely_not_available", "autocast", "custom_bwd", "custom_fwd", "GradScaler"]
