# SPDX-License-Identifier: BSD-3-Clause
"""torch.utils.data: datasets, samplers and the loader that turns them into batches.  Names load at first
use."""

_WHERE = {
    "DataLoader": "dataloader",
    "_DatasetKind": "dataloader",
    "default_collate": "_utils.collate",
    "default_convert": "_utils.collate",
    "get_worker_info": "_utils.worker",
    "ChainDataset": "dataset",
    "ConcatDataset": "dataset",
    "Dataset": "dataset",
    "IterableDataset": "dataset",
    "StackDataset": "dataset",
    "Subset": "dataset",
    "TensorDataset": "dataset",
    "random_split": "dataset",
    "DistributedSampler": "distributed",
    "BatchSampler": "sampler",
    "RandomSampler": "sampler",
    "Sampler": "sampler",
    "SequentialSampler": "sampler",
    "SubsetRandomSampler": "sampler",
    "WeightedRandomSampler": "sampler",
}
_MODULES = frozenset(("dataloader", "dataset", "distributed", "sampler", "_utils"))

__all__ = sorted(name for name in _WHERE if not name.startswith("_"))


def __getattr__(name):
    import importlib

    if name in _MODULES:
        return importlib.import_module("minitorch.utils.data." + name)
    if name not in _WHERE:
        raise AttributeError("module 'torch.utils.data' has no attribute '%s'" % name)
    value = getattr(importlib.import_module("minitorch.utils.data." + _WHERE[name]), name)
    globals()[name] = value
    return value


def __dir__():
    return sorted(set(globals()) | set(_WHERE) | _MODULES)
