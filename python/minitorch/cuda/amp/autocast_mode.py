# SPDX-License-Identifier: BSD-3-Clause
"""The old name of torch.autocast("cuda")."""

import warnings

import minitorch as torch
from minitorch.amp import autocast_mode

__all__ = ["autocast", "custom_bwd", "custom_fwd"]


class autocast(autocast_mode.autocast):
    """autocast(enabled=True, dtype=torch.float16, cache_enabled=True)

    Deprecated: torch.amp.autocast("cuda", ...), which see."""

    def __init__(self, enabled=True, dtype=torch.float16, cache_enabled=True):
        warnings.warn(
            "`torch.cuda.amp.autocast(args...)` is deprecated. Please use `torch.amp.autocast('cuda', args...)` instead.",
            FutureWarning,
            stacklevel=2,
        )
        super().__init__("cuda", enabled=enabled, dtype=dtype, cache_enabled=cache_enabled)


def _deprecated(name, function, **options):
    warnings.warn(
        "`torch.cuda.amp.%s(args...)` is deprecated. Please use `torch.amp.%s(args..., device_type='cuda')` instead."
        % (name, name),
        FutureWarning,
        stacklevel=3,
    )
    return getattr(autocast_mode, name)(function, device_type="cuda", **options)


def custom_fwd(fwd=None, *, cast_inputs=None):
    """Deprecated: torch.amp.custom_fwd(..., device_type="cuda"), which see."""
    return _deprecated("custom_fwd", fwd, cast_inputs=cast_inputs)


def custom_bwd(bwd=None):
    """Deprecated: torch.amp.custom_bwd(..., device_type="cuda"), which see."""
    return _deprecated("custom_bwd", bwd)
