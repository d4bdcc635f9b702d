# SPDX-License-Identifier: BSD-3-Clause
"""Inner parts of the loader: fetching and collating samples, pinning, worker processes.  Loaded at first
use."""

_MODULES = frozenset(("collate", "fetch", "pin_memory", "tensor_batches", "worker", "worker_iter"))


def __getattr__(name):
    if name in _MODULES:
        import importlib

        return importlib.import_module("minitorch.utils.data._utils." + name)
    raise AttributeError("module 'torch.utils.data._utils' has no attribute '%s'" % name)
