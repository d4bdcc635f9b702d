# SPDX-License-Identifier: BSD-3-Clause
"""Optimizers and learning-rate schedules. Each algorithm loads its own file at first use."""

from minitorch.optim.optimizer import Optimizer

_FILE_OF = {
    "Adadelta": "adadelta",
    "Adagrad": "adagrad",
    "Adam": "adam",
    "AdamW": "adamw",
    "SparseAdam": "sparse_adam",
    "Adamax": "adamax",
    "ASGD": "asgd",
    "SGD": "sgd",
    "RAdam": "radam",
    "Rprop": "rprop",
    "RMSprop": "rmsprop",
    "NAdam": "nadam",
    "LBFGS": "lbfgs",
    "Adafactor": "_adafactor",
    "Muon": "_muon",
}
_SUBMODULES = ("lr_scheduler", "optimizer", "swa_utils", *_FILE_OF.values())

__all__ = ["Optimizer", "lr_scheduler", *_FILE_OF]


def __getattr__(name):
    from importlib import import_module

    if name in _FILE_OF:
        value = getattr(import_module("minitorch.optim." + _FILE_OF[name]), name)
        globals()[name] = value
        return value
    if name in _SUBMODULES:
        return import_module("minitorch.optim." + name)
    raise AttributeError("module 'torch.optim' has no attribute %r" % name)


def __dir__():
    return sorted({*globals(), *_FILE_OF, *_SUBMODULES})
