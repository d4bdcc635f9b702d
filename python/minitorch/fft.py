# SPDX-License-Identifier: BSD-3-Clause
"""torch.fft: discrete Fourier transforms.  The functions are ops; their names lose the prefix `fft_`."""

from minitorch import _C

_PREFIX = "fft_"

__all__ = sorted(name[len(_PREFIX) :] for name in vars(_C._fft) if name.startswith(_PREFIX))

for _name in __all__:
    globals()[_name] = getattr(_C._fft, _PREFIX + _name)
