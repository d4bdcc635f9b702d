# SPDX-License-Identifier: BSD-3-Clause
"""The name of an algorithm for sparse gradients, which this library does not have."""

from minitorch.optim.optimizer import Optimizer

__all__ = ["SparseAdam"]


class SparseAdam(Optimizer):
    """Not supported: there are no sparse gradients."""

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, maximize=False):
        raise NotImplementedError("SparseAdam needs sparse tensors, which are not supported; use Adam")
