# SPDX-License-Identifier: BSD-3-Clause
"""Mixing the channels of groups."""

from minitorch.nn import functional as F
from minitorch.nn.modules.module import Module

__all__ = ["ChannelShuffle"]


class ChannelShuffle(Module):
    """ChannelShuffle(groups)"""

    __constants__ = ["groups"]

    def __init__(self, groups):
        super().__init__()
        self.groups = groups

    def forward(self, input):
        return F.channel_shuffle(input, self.groups)

    def extra_repr(self):
        return "groups=%s" % self.groups
