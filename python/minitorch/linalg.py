# SPDX-License-Identifier: BSD-3-Clause
"""torch.linalg: linear algebra.  The functions are ops; their names lose the prefix `linalg_`."""

from minitorch import _C

_PREFIX = "linalg_"

__all__ = sorted(name[len(_PREFIX) :] for name in vars(_C._linalg) if name.startswith(_PREFIX))


LinAlgError = _C._LinAlgError
__all__.append("LinAlgError")

for _name in __all__[:-1]:
    globals()[_name] = getattr(_C._linalg, _PREFIX + _name)
