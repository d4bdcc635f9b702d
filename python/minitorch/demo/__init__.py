# SPDX-License-Identifier: BSD-3-Clause
"""A demonstration: `python -m minitorch.demo` trains a small network on handwritten digits."""
