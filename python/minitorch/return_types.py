# SPDX-License-Identifier: BSD-3-Clause
"""The types of named results: tuples whose items have names, one type per operation."""

from minitorch import _C

all_return_types = list(_C._result_types().values())
globals().update(_C._result_types())
__all__ = ["all_return_types"] + sorted(name for name in _C._result_types() if not name.startswith("_"))
