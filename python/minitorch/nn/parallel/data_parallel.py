# SPDX-License-Identifier: BSD-3-Clause
"""DataParallel on one device."""

from minitorch.nn.modules.module import Module


class DataParallel(Module):
    """DataParallel(module, device_ids=None, output_device=None, dim=0)

    Calls `module`, on the one device it is on.  Its parameters are named `module....`, as with several
    devices.
    """

    def __init__(self, module, device_ids=None, output_device=None, dim=0):
        super().__init__()
        self.module = module
        self.device_ids = list(device_ids) if device_ids else []
        self.output_device = output_device
        self.dim = dim

    def forward(self, *inputs, **kwargs):
        return self.module(*inputs, **kwargs)


def data_parallel(module, inputs, device_ids=None, output_device=None, dim=0, module_kwargs=None):
    """data_parallel(module, inputs, ...): one call of the module."""
    if not isinstance(inputs, tuple):
        inputs = (inputs,) if inputs is not None else ()
    return module(*inputs, **(module_kwargs or {}))
