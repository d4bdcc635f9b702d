# SPDX-License-Identifier: BSD-3-Clause
"""Sliding blocks of images as columns, and back."""

from minitorch.nn import functional as F
from minitorch.nn.modules.module import Module

__all__ = ["Fold", "Unfold"]


class Fold(Module):
    """Fold(output_size, kernel_size, dilation=1, padding=0, stride=1)"""

    __constants__ = ["output_size", "kernel_size", "dilation", "padding", "stride"]

    def __init__(self, output_size, kernel_size, dilation=1, padding=0, stride=1):
        super().__init__()
        self.output_size = output_size
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input):
        return F.fold(input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self):
        return "output_size=%s, kernel_size=%s, dilation=%s, padding=%s, stride=%s" % (
            self.output_size,
            self.kernel_size,
            self.dilation,
            self.padding,
            self.stride,
        )


class Unfold(Module):
    """Unfold(kernel_size, dilation=1, padding=0, stride=1)"""

    __constants__ = ["kernel_size", "dilation", "padding", "stride"]

    def __init__(self, kernel_size, dilation=1, padding=0, stride=1):
        super().__init__()
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input):
        return F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self):
        return "kernel_size=%s, dilation=%s, padding=%s, stride=%s" % (
            self.kernel_size,
            self.dilation,
            self.padding,
            self.stride,
        )
