# SPDX-License-Identifier: BSD-3-Clause
"""Wrappers that run a module on several devices; here there is one, and they pass through."""

from minitorch.nn.parallel.data_parallel import DataParallel, data_parallel

__all__ = ["DataParallel", "DistributedDataParallel", "data_parallel"]


class DistributedDataParallel:
    """DistributedDataParallel(module, ...): needs processes that work together, which are not part of this
    library."""

    def __init__(self, module, *args, **kwargs):
        raise RuntimeError("DistributedDataParallel needs torch.distributed, which is not available")
