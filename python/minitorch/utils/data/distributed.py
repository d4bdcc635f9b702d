# SPDX-License-Identifier: BSD-3-Clause
"""The part of a dataset that one of several training processes visits."""

import math

import minitorch as torch
from minitorch.utils.data.sampler import Sampler

__all__ = ["DistributedSampler"]


class DistributedSampler(Sampler):
    """DistributedSampler(dataset, num_replicas, rank, shuffle=True, seed=0, drop_last=False)

    Every `num_replicas`-th index from `rank` on.  All processes shuffle alike; `set_epoch` changes the
    shuffle. There is no process group here, so `num_replicas` and `rank` must be given.
    """

    def __init__(self, dataset, num_replicas=None, rank=None, shuffle=True, seed=0, drop_last=False):
        if num_replicas is None or rank is None:
            raise RuntimeError("Requires distributed package to be available")
        if rank >= num_replicas or rank < 0:
            raise ValueError(
                "Invalid rank %s, rank should be in the interval [0, %d]" % (rank, num_replicas - 1)
            )
        self.dataset = dataset
        self.num_replicas = num_replicas
        self.rank = rank
        self.epoch = 0
        self.drop_last = drop_last
        count = len(dataset)
        if drop_last and count % num_replicas:
            count -= num_replicas
        self.num_samples = math.ceil(count / num_replicas)
        self.total_size = self.num_samples * num_replicas
        self.shuffle = shuffle
        self.seed = seed

    def __iter__(self):
        count = len(self.dataset)
        if self.shuffle:
            generator = torch.Generator()
            generator.manual_seed(self.seed + self.epoch)
            indices = torch.randperm(count, generator=generator).tolist()
        else:
            indices = list(range(count))
        if self.drop_last:
            indices = indices[: self.total_size]
        else:
            missing = self.total_size - count
            indices += (indices * math.ceil(missing / count) if missing > count else indices)[:missing]
        if len(indices) != self.total_size:
            raise AssertionError(
                "Number of indices (%d) does not match total_size (%d)" % (len(indices), self.total_size)
            )
        return iter(indices[self.rank : self.total_size : self.num_replicas])

    def __len__(self):
        return self.num_samples

    def set_epoch(self, epoch):
        """set_epoch(epoch): to be called before each epoch for another shuffle."""
        self.epoch = epoch
