# SPDX-License-Identifier: BSD-3-Clause
"""Datasets: things with samples by number (Dataset) or in a row (IterableDataset), and ways to combine
them."""

import types

import minitorch as torch

__all__ = [
    "Dataset",
    "IterableDataset",
    "TensorDataset",
    "StackDataset",
    "ConcatDataset",
    "ChainDataset",
    "Subset",
    "random_split",
]


class Dataset:
    """Base of datasets whose samples are reached by `dataset[index]`.

    Subclasses define `__getitem__`, usually `__len__`, and may define `__getitems__(indices)` to fetch a
    whole batch as a list of samples.
    """

    __class_getitem__ = classmethod(types.GenericAlias)

    def __getitem__(self, index):
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")

    def __add__(self, other):
        return ConcatDataset([self, other])


class IterableDataset(Dataset):
    """Base of datasets whose samples come from `iter(dataset)`."""

    def __add__(self, other):
        return ChainDataset([self, other])


class TensorDataset(Dataset):
    """TensorDataset(*tensors): sample i is the tuple of row i of each tensor."""

    def __init__(self, *tensors):
        if any(tensors[0].size(0) != tensor.size(0) for tensor in tensors):
            raise AssertionError("Size mismatch between tensors")
        self.tensors = tensors

    def __getitem__(self, index):
        return tuple([tensor[index] for tensor in self.tensors])

    def __len__(self):
        return self.tensors[0].size(0)


def _rows_of(dataset, indices):
    """The samples of a member of a StackDataset, in one call where it offers one."""
    fetch = getattr(dataset, "__getitems__", None)
    if not callable(fetch):
        return [dataset[index] for index in indices]
    rows = fetch(indices)
    if len(rows) != len(indices):
        raise ValueError(
            "Nested dataset's output size mismatch. Expected %d, got %d" % (len(indices), len(rows))
        )
    return rows


class StackDataset(Dataset):
    """StackDataset(*datasets) or StackDataset(**datasets): samples are tuples (dicts) of the members'
    samples."""

    def __init__(self, *args, **kwargs):
        if args and kwargs:
            raise ValueError(
                "Supported either ``tuple``- (via ``args``) or``dict``- (via ``kwargs``) like "
                "input/output, but both types are given."
            )
        members = args or tuple(kwargs.values())
        if not members:
            raise ValueError("At least one dataset should be passed")
        self._length = len(members[0])
        if any(self._length != len(dataset) for dataset in members):
            raise ValueError("Size mismatch between datasets")
        self.datasets = args or kwargs

    def __getitem__(self, index):
        if isinstance(self.datasets, dict):
            return {key: dataset[index] for key, dataset in self.datasets.items()}
        return tuple([dataset[index] for dataset in self.datasets])

    def __getitems__(self, indices):
        if isinstance(self.datasets, dict):
            columns = [_rows_of(dataset, indices) for dataset in self.datasets.values()]
            return [dict(zip(self.datasets, row)) for row in zip(*columns)]
        return list(zip(*[_rows_of(dataset, indices) for dataset in self.datasets]))

    def __len__(self):
        return self._length


class ConcatDataset(Dataset):
    """ConcatDataset(datasets): the samples of several datasets one after the other."""

    @staticmethod
    def cumsum(sequence):
        """cumsum(sequence): the running total of the lengths."""
        totals, total = [], 0
        for item in sequence:
            total += len(item)
            totals.append(total)
        return totals

    def __init__(self, datasets):
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("datasets should not be an empty iterable")
        if any(isinstance(dataset, IterableDataset) for dataset in self.datasets):
            raise AssertionError("ConcatDataset does not support IterableDataset")
        self.cumulative_sizes = self.cumsum(self.datasets)

    def __len__(self):
        return self.cumulative_sizes[-1]

    def __getitem__(self, idx):
        from bisect import bisect_right

        if idx < 0:
            if -idx > len(self):
                raise ValueError("absolute value of index should not exceed dataset length")
            idx += len(self)
        which = bisect_right(self.cumulative_sizes, idx)
        before = self.cumulative_sizes[which - 1] if which else 0
        return self.datasets[which][idx - before]

    @property
    def cummulative_sizes(self):
        import warnings

        warnings.warn(
            "`cummulative_sizes` attribute is renamed to `cumulative_sizes`", FutureWarning, stacklevel=2
        )
        return self.cumulative_sizes


class ChainDataset(IterableDataset):
    """ChainDataset(datasets): several iterable datasets one after the other."""

    def __init__(self, datasets):
        self.datasets = datasets

    def _members(self):
        for dataset in self.datasets:
            if not isinstance(dataset, IterableDataset):
                raise AssertionError("ChainDataset only supports IterableDataset")
            yield dataset

    def __iter__(self):
        for dataset in self._members():
            yield from dataset

    def __len__(self):
        return sum(len(dataset) for dataset in self._members())


class Subset(Dataset):
    """Subset(dataset, indices): the samples of `dataset` at `indices`."""

    def __init__(self, dataset, indices):
        self.dataset = dataset
        self.indices = indices
        cls = type(self)
        if cls.__getitem__ is not Subset.__getitem__ and cls.__getitems__ is Subset.__getitems__:
            raise NotImplementedError(
                "%s overrides __getitem__ but not __getitems__. When subclassing Subset and overriding "
                "__getitem__, you must also override __getitems__ to ensure DataLoader works correctly "
                "with your custom logic. A simple implementation:\n\n"
                "def __getitems__(self, indices):\n"
                "    return [self.__getitem__(idx) for idx in indices]" % cls.__name__
            )

    def __getitem__(self, idx):
        if isinstance(idx, list):
            return self.dataset[[self.indices[i] for i in idx]]
        return self.dataset[self.indices[idx]]

    def __getitems__(self, indices):
        chosen = [self.indices[idx] for idx in indices]
        fetch = getattr(self.dataset, "__getitems__", None)
        return fetch(chosen) if callable(fetch) else [self.dataset[idx] for idx in chosen]

    def __len__(self):
        return len(self.indices)


def _lengths_of_fractions(count, fractions):
    """Whole lengths, rounded down; what is left goes one by one to the first parts."""
    import math
    import warnings

    lengths = []
    for i, fraction in enumerate(fractions):
        if fraction < 0 or fraction > 1:
            raise ValueError("Fraction at index %d is not between 0 and 1" % i)
        lengths.append(math.floor(count * fraction))
    for i in range(count - sum(lengths)):
        lengths[i % len(lengths)] += 1
    for i, length in enumerate(lengths):
        if length == 0:
            warnings.warn(
                "Length of split at index %d is 0. This might result in an empty dataset." % i, stacklevel=3
            )
    return lengths


def random_split(dataset, lengths, generator=None):
    """random_split(dataset, lengths, generator=None) -> list of Subset

    Random parts of the given lengths, or of the given fractions when those add up to 1, without overlap.

    Example::

        >>> train, test = random_split(range(10), [0.7, 0.3])
        >>> len(train), len(test)
        (7, 3)
    """
    import math

    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1:
        lengths = _lengths_of_fractions(len(dataset), lengths)
    if sum(lengths) != len(dataset):
        raise ValueError("Sum of input lengths does not equal the length of the input dataset!")
    indices = torch.randperm(sum(lengths), generator=generator).tolist()
    parts, end = [], 0
    for length in lengths:
        end += length
        parts.append(Subset(dataset, indices[end - length : end]))
    return parts
