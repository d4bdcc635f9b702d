# SPDX-License-Identifier: BSD-3-Clause
"""Modules without initial values."""

import inspect

from minitorch.nn.modules.module import Module


def skip_init(module_cls, *args, **kwargs):
    """skip_init(module_cls, *args, **kwargs): the module with parameters whose memory is not set."""
    if not issubclass(module_cls, Module):
        raise RuntimeError("Expected a Module; got %s" % module_cls)
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError("Module must support a 'device' arg to skip initialization")
    device = kwargs.pop("device", "cpu")
    return module_cls(*args, device="meta", **kwargs).to_empty(device=device)
