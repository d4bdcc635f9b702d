# SPDX-License-Identifier: BSD-3-Clause
"""Samplers: the order in which the samples of a dataset are visited.

Which random numbers are drawn, and when, is part of their behaviour: seeded programs see PyTorch's order.
"""

import types
from itertools import chain, islice, repeat

import minitorch as torch

__all__ = [
    "BatchSampler",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "SubsetRandomSampler",
    "WeightedRandomSampler",
]


def _check_positive(value, name):
    if not isinstance(value, int) or isinstance(value, bool) or value <= 0:
        raise ValueError("%s should be a positive integer value, but got %s=%s" % (name, name, value))


class Sampler:
    """Base of samplers: subclasses define `__iter__`, over indices or lists of indices, and usually
    `__len__`."""

    __class_getitem__ = classmethod(types.GenericAlias)

    def __iter__(self):
        raise NotImplementedError


class SequentialSampler(Sampler):
    """SequentialSampler(data_source): 0, 1, 2, ..."""

    def __init__(self, data_source):
        self.data_source = data_source

    def __iter__(self):
        return iter(range(len(self.data_source)))

    def __len__(self):
        return len(self.data_source)


def _private_generator():
    """A generator seeded by one number from the default generator."""
    generator = torch.Generator()
    generator.manual_seed(int(torch.empty((), dtype=torch.int64).random_().item()))
    return generator


class RandomSampler(Sampler):
    """RandomSampler(data_source, replacement=False, num_samples=None, generator=None): a new shuffle every
    time."""

    def __init__(self, data_source, replacement=False, num_samples=None, generator=None):
        self.data_source = data_source
        self.replacement = replacement
        self._num_samples = num_samples
        self.generator = generator
        if not isinstance(replacement, bool):
            raise TypeError("replacement should be a boolean value, but got replacement=%s" % (replacement,))
        if not isinstance(self.num_samples, int) or self.num_samples <= 0:
            raise ValueError(
                "num_samples should be a positive integer value, but got num_samples=%s" % (self.num_samples,)
            )

    @property
    def num_samples(self):
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self):
        count = len(self.data_source)
        generator = _private_generator() if self.generator is None else self.generator
        wanted = self.num_samples
        if self.replacement:
            # Drawn in blocks of 32, the last one perhaps empty.
            for block in chain(repeat(32, wanted // 32), (wanted % 32,)):
                yield from torch.randint(
                    high=count, size=(block,), dtype=torch.int64, generator=generator
                ).tolist()
        else:
            for _ in range(wanted // count):
                yield from torch.randperm(count, generator=generator).tolist()
            # One more shuffle is drawn even when nothing of it is used.
            yield from torch.randperm(count, generator=generator).tolist()[: wanted % count]

    def __len__(self):
        return self.num_samples


class SubsetRandomSampler(Sampler):
    """SubsetRandomSampler(indices, generator=None): the given indices, shuffled."""

    def __init__(self, indices, generator=None):
        self.indices = indices
        self.generator = generator

    def __iter__(self):
        for i in torch.randperm(len(self.indices), generator=self.generator).tolist():
            yield self.indices[i]

    def __len__(self):
        return len(self.indices)


class WeightedRandomSampler(Sampler):
    """WeightedRandomSampler(weights, num_samples, replacement=True, generator=None): indices by
    probability."""

    def __init__(self, weights, num_samples, replacement=True, generator=None):
        _check_positive(num_samples, "num_samples")
        if not isinstance(replacement, bool):
            raise ValueError("replacement should be a boolean value, but got replacement=%s" % (replacement,))
        weights = torch.as_tensor(weights, dtype=torch.double)
        if len(weights.shape) != 1:
            raise ValueError(
                "weights should be a 1d sequence but given weights have shape %s" % (tuple(weights.shape),)
            )
        self.weights = weights
        self.num_samples = num_samples
        self.replacement = replacement
        self.generator = generator

    def __iter__(self):
        drawn = torch.multinomial(self.weights, self.num_samples, self.replacement, generator=self.generator)
        yield from drawn.tolist()

    def __len__(self):
        return self.num_samples


class BatchSampler(Sampler):
    """BatchSampler(sampler, batch_size, drop_last): lists of `batch_size` indices of another sampler."""

    def __init__(self, sampler, batch_size, drop_last):
        _check_positive(batch_size, "batch_size")
        if not isinstance(drop_last, bool):
            raise ValueError("drop_last should be a boolean value, but got drop_last=%s" % (drop_last,))
        self.sampler = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __iter__(self):
        indices = iter(self.sampler)
        size = self.batch_size
        batch = list(islice(indices, size))
        while batch:
            if len(batch) < size and self.drop_last:
                return
            yield batch
            batch = list(islice(indices, size))

    def __len__(self):
        if self.drop_last:
            return len(self.sampler) // self.batch_size
        return (len(self.sampler) + self.batch_size - 1) // self.batch_size
