# SPDX-License-Identifier: BSD-3-Clause
"""Moving values between channels and space."""

from minitorch.nn import functional as F
from minitorch.nn.modules.module import Module

__all__ = ["PixelShuffle", "PixelUnshuffle"]


class PixelShuffle(Module):
    """PixelShuffle(upscale_factor): channels become space."""

    __constants__ = ["upscale_factor"]

    def __init__(self, upscale_factor):
        super().__init__()
        self.upscale_factor = upscale_factor

    def forward(self, input):
        return F.pixel_shuffle(input, self.upscale_factor)

    def extra_repr(self):
        return "upscale_factor=%s" % self.upscale_factor


class PixelUnshuffle(Module):
    """PixelUnshuffle(downscale_factor): space becomes channels."""

    __constants__ = ["downscale_factor"]

    def __init__(self, downscale_factor):
        super().__init__()
        self.downscale_factor = downscale_factor

    def forward(self, input):
        return F.pixel_unshuffle(input, self.downscale_factor)

    def extra_repr(self):
        return "downscale_factor=%s" % self.downscale_factor
