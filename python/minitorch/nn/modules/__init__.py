# SPDX-License-Identifier: BSD-3-Clause
"""The modules, one file per kind.  The classes themselves are reached through `minitorch.nn` or from here."""


def __getattr__(name):
    from importlib import import_module

    from minitorch import nn

    if name in nn._FILE_OF:
        return getattr(nn, name)
    if name in nn._CLASSES or name in ("lazy", "utils"):
        return import_module("minitorch.nn.modules." + name)
    raise AttributeError("module 'torch.nn.modules' has no attribute %r" % name)


def __dir__():
    from minitorch import nn

    return sorted({*globals(), *nn._FILE_OF, *nn._CLASSES, "lazy", "utils"})
