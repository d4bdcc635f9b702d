# SPDX-License-Identifier: BSD-3-Clause
"""Padding layers: constant, zero, reflection, replication, circular, in one to three dimensions."""

from minitorch.nn import functional as F
from minitorch.nn.modules.module import Module
from minitorch.nn.modules.utils import _ntuple

__all__ = [
    "CircularPad1d",
    "CircularPad2d",
    "CircularPad3d",
    "ConstantPad1d",
    "ConstantPad2d",
    "ConstantPad3d",
    "ReflectionPad1d",
    "ReflectionPad2d",
    "ReflectionPad3d",
    "ReplicationPad1d",
    "ReplicationPad2d",
    "ReplicationPad3d",
    "ZeroPad1d",
    "ZeroPad2d",
    "ZeroPad3d",
]


class _PadNd(Module):
    __constants__ = ["padding"]
    _dims = None
    _mode = None

    def __init__(self, padding):
        super().__init__()
        self.padding = _ntuple(2 * self._dims)(padding)

    def forward(self, input):
        return F.pad(input, self.padding, self._mode)

    def extra_repr(self):
        return "%s" % (self.padding,)


class _CircularPadNd(_PadNd):
    _mode = "circular"

    def _check_input_dim(self, input):
        dims = self._dims
        if input.dim() not in (dims + 1, dims + 2):
            raise ValueError("expected %dD or %dD input (got %dD input)" % (dims + 1, dims + 2, input.dim()))

    def forward(self, input):
        self._check_input_dim(input)
        return super().forward(input)


class _ConstantPadNd(_PadNd):
    __constants__ = ["padding", "value"]

    def __init__(self, padding, value):
        super().__init__(padding)
        self.value = value

    def forward(self, input):
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self):
        return "padding=%s, value=%s" % (self.padding, self.value)


class _ReflectionPadNd(_PadNd):
    _mode = "reflect"


class _ReplicationPadNd(_PadNd):
    _mode = "replicate"


class CircularPad1d(_CircularPadNd):
    """CircularPad1d(padding)"""

    _dims = 1


class CircularPad2d(_CircularPadNd):
    """CircularPad2d(padding)"""

    _dims = 2


class CircularPad3d(_CircularPadNd):
    """CircularPad3d(padding)"""

    _dims = 3


class ConstantPad1d(_ConstantPadNd):
    """ConstantPad1d(padding, value)"""

    _dims = 1


class ConstantPad2d(_ConstantPadNd):
    """ConstantPad2d(padding, value)"""

    _dims = 2


class ConstantPad3d(_ConstantPadNd):
    """ConstantPad3d(padding, value)"""

    _dims = 3


class ReflectionPad1d(_ReflectionPadNd):
    """ReflectionPad1d(padding)"""

    _dims = 1


class ReflectionPad2d(_ReflectionPadNd):
    """ReflectionPad2d(padding)"""

    _dims = 2


class ReflectionPad3d(_ReflectionPadNd):
    """ReflectionPad3d(padding)"""

    _dims = 3


class ReplicationPad1d(_ReplicationPadNd):
    """ReplicationPad1d(padding)"""

    _dims = 1


class ReplicationPad2d(_ReplicationPadNd):
    """ReplicationPad2d(padding)"""

    _dims = 2


class ReplicationPad3d(_ReplicationPadNd):
    """ReplicationPad3d(padding)"""

    _dims = 3


class _Zero:
    def __init__(self, padding):
        super().__init__(padding, 0.0)

    def extra_repr(self):
        return "%s" % (self.padding,)


class ZeroPad1d(_Zero, ConstantPad1d):
    """ZeroPad1d(padding)"""


class ZeroPad2d(_Zero, ConstantPad2d):
    """ZeroPad2d(padding)"""


class ZeroPad3d(_Zero, ConstantPad3d):
    """ZeroPad3d(padding)"""
