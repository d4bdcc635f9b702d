# SPDX-License-Identifier: BSD-3-Clause
"""torch.testing: comparison of results in tests."""

from minitorch.testing._compare import assert_allclose, assert_close

__all__ = ["assert_allclose", "assert_close"]
