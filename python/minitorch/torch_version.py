# SPDX-License-Identifier: BSD-3-Clause
"""torch.torch_version: the class of `torch.__version__`."""

from minitorch.version import TorchVersion

__all__ = ["TorchVersion"]
