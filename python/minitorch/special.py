# SPDX-License-Identifier: BSD-3-Clause
"""torch.special: special functions.  The functions are ops; their names lose the prefix `special_`."""

from minitorch import _C

_PREFIX = "special_"

__all__ = sorted(name[len(_PREFIX) :] for name in vars(_C._special) if name.startswith(_PREFIX))

for _name in __all__:
    globals()[_name] = getattr(_C._special, _PREFIX + _name)
