# SPDX-License-Identifier: BSD-3-Clause
"""Whether mixed precision can be used with CUDA."""

import minitorch as torch

__all__ = ["amp_definitely_not_available"]


def amp_definitely_not_available():
    """amp_definitely_not_available() -> bool: there is no CUDA."""
    return not torch.cuda.is_available()
