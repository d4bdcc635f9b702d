# SPDX-License-Identifier: BSD-3-Clause
"""Softmax over very many classes: frequent ones directly, the others by cluster."""

from collections import namedtuple

import minitorch as torch
from minitorch.nn import functional as F
from minitorch.nn.modules.container import ModuleList, Sequential
from minitorch.nn.modules.linear import Linear
from minitorch.nn.modules.module import Module

__all__ = ["AdaptiveLogSoftmaxWithLoss"]

_ASMoutput = namedtuple("_ASMoutput", ["output", "loss"])


def _check_cutoffs(cutoffs, n_classes):
    if not cutoffs:
        raise ValueError("cutoffs should be a sequence of length larger than 0")
    rising = cutoffs == sorted(cutoffs) and len(set(cutoffs)) == len(cutoffs)
    if not rising or min(cutoffs) <= 0 or max(cutoffs) > n_classes - 1 or any(int(c) != c for c in cutoffs):
        raise ValueError(
            "cutoffs should be a sequence of unique, positive integers sorted in an increasing order, "
            "where each value is between 1 and n_classes-1"
        )


class AdaptiveLogSoftmaxWithLoss(Module):
    """AdaptiveLogSoftmaxWithLoss(in_features, n_classes, cutoffs, div_value=4.0, head_bias=False,
    device=None, dtype=None)

    Classes below the first cutoff are in the head; those between two cutoffs form a cluster with a smaller
    inner size.  The forward pass gives (log probability of the target, loss).
    """

    def __init__(
        self, in_features, n_classes, cutoffs, div_value=4.0, head_bias=False, device=None, dtype=None
    ):
        super().__init__()
        factory = {"device": device, "dtype": dtype}
        cutoffs = list(cutoffs)
        _check_cutoffs(cutoffs, n_classes)
        self.in_features = in_features
        self.n_classes = n_classes
        self.cutoffs = cutoffs + [n_classes]
        self.div_value = div_value
        self.head_bias = head_bias
        self.shortlist_size = self.cutoffs[0]
        self.n_clusters = len(self.cutoffs) - 1
        self.head_size = self.shortlist_size + self.n_clusters
        self.head = Linear(in_features, self.head_size, bias=head_bias, **factory)
        self.tail = ModuleList()
        for i in range(self.n_clusters):
            inner = int(in_features // (div_value ** (i + 1)))
            size = self.cutoffs[i + 1] - self.cutoffs[i]
            self.tail.append(
                Sequential(
                    Linear(in_features, inner, bias=False, **factory),
                    Linear(inner, size, bias=False, **factory),
                )
            )

    def reset_parameters(self):
        self.head.reset_parameters()
        for inner, outer in self.tail:
            inner.reset_parameters()
            outer.reset_parameters()

    @staticmethod
    def _check_shapes(input, target):
        if target.dim() > 1:
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
        if target.dim() == 1 and input.size(0) != target.size(0):
            raise RuntimeError("Input and target should have the same size in the batch dimension.")
        if input.dim() != target.dim() + 1:
            raise RuntimeError(
                "%dD target tensor expects %dD input tensors, but found inputs with size %s"
                % (target.dim(), target.dim() + 1, input.size())
            )

    def forward(self, input_, target_):
        self._check_shapes(input_, target_)
        batched = target_.dim() > 0
        input = input_ if batched else input_.unsqueeze(0)
        target = target_ if batched else target_.unsqueeze(0)
        count = target.size(0)
        output = input.new_zeros(count)
        column = target.new_empty(count)
        used, low = 0, 0
        for i, high in enumerate(self.cutoffs):
            mask = (target >= low) & (target < high)
            rows = mask.nonzero().squeeze(1)
            if rows.numel():
                used += rows.numel()
                if i == 0:
                    column.index_copy_(0, rows, target[mask])
                else:
                    log_prob = F.log_softmax(self.tail[i - 1](input.index_select(0, rows)), dim=1)
                    local = log_prob.gather(1, (target[mask] - low).unsqueeze(1))
                    column.index_fill_(0, rows, self.shortlist_size + i - 1)
                    output.index_copy_(0, rows, local.squeeze(1))
            low = high
        if used != count:
            raise RuntimeError(
                "Target values should be in [0, %d], but values in range [%d, %d] were found. "
                % (self.n_classes - 1, target.min().item(), target.max().item())
            )
        head = F.log_softmax(self.head(input), dim=1)
        output = output + head.gather(1, column.unsqueeze(1)).squeeze(1)
        loss = (-output).mean()
        return _ASMoutput(output if batched else output.squeeze(0), loss)

    def _get_full_log_prob(self, input, head_output):
        head = F.log_softmax(head_output, dim=1)
        parts = [head[:, : self.shortlist_size]]
        for i, tail in enumerate(self.tail):
            parts.append(F.log_softmax(tail(input), dim=1) + head[:, self.shortlist_size + i].unsqueeze(1))
        return torch.cat(parts, dim=1)

    def log_prob(self, input):
        """log_prob(input): log probabilities of all classes."""
        return self._get_full_log_prob(input, self.head(input))

    def predict(self, input):
        """predict(input): the most probable class of every row."""
        head_output = self.head(input)
        output = torch.argmax(head_output, dim=1)
        elsewhere = output >= self.shortlist_size
        if elsewhere.any():
            full = self._get_full_log_prob(input[elsewhere], head_output[elsewhere])
            output[elsewhere] = torch.argmax(full, dim=1)
        return output
