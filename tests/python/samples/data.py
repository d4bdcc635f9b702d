# SPDX-License-Identifier: BSD-3-Clause
"""torch.utils.data: batches, order, random draws, collating, errors."""

import collections
import sys
import typing

import numpy as np  # noqa: F401

P = collections.namedtuple("P", "x y")
TT = typing.TypeVar("TT")


class MySeq(collections.UserList):
    pass


def td(d):
    torch = sys.modules[d.__name__.partition(".")[0]]
    return d.TensorDataset(torch.arange(30.0).reshape(10, 3), torch.arange(10))


def L(d, *args, **kwargs):
    return list(d.DataLoader(*args, **kwargs))


def twice(sampler):
    return len(sampler), list(sampler), list(sampler)


def epochs(torch, dataset, batch_size, shuffle, drop_last, generator=None):
    """Batches of several passes, some broken off, with the random numbers drawn in between and after."""
    loader = torch.utils.data.DataLoader(
        dataset, batch_size, shuffle=shuffle, drop_last=drop_last, generator=generator
    )
    result = [len(loader), list(loader), torch.rand(1)]
    batches = iter(loader)
    result.append(torch.rand(1))
    for batch in batches:
        result += [batch, torch.rand(1)]
        if generator is not None:
            result.append(generator.get_state().sum())
        break
    result += [list(batches), torch.rand(1), list(loader)]
    if generator is not None:
        result.append(torch.rand(1, generator=generator))
    return result


def iterable(d, n):

    class Rows(d.IterableDataset):
        def __iter__(s):
            return iter(range(n))

        def __len__(s):
            return 3

        def __repr__(s):
            return "I"

    return Rows()


def lengths(d):
    loader = d.DataLoader(iterable(d, 7), 2)
    r = [len(loader)]
    r.append(list(loader))
    loader = d.DataLoader(iterable(d, 7), 2, drop_last=True)
    return r + [len(loader), len(d.DataLoader(iterable(d, 7), None))]


def bad_subset(d):

    class S(d.Subset):
        def __getitem__(s, i):
            return 1

    return S([1], [0])


def attributes(d):
    loader = d.DataLoader(td(d), 4, True)
    return [
        loader.batch_size,
        loader.num_workers,
        loader.drop_last,
        type(loader.sampler).__name__,
        type(loader.batch_sampler).__name__,
        loader.prefetch_factor,
        loader.timeout,
        loader.persistent_workers,
        loader.pin_memory,
        loader.in_order,
        loader.collate_fn.__name__,
        type(iter(loader)).__name__,
        len(iter(loader)),
        loader.multiprocessing_context,
    ]


def set_attribute(d):
    loader = d.DataLoader(td(d))
    loader.num_workers = 0
    loader.generator = None
    loader.batch_size = 3


def generic(d):

    class A(d.Dataset[int]):
        pass

    class B(d.Dataset[TT], typing.Generic[TT]):
        pass

    class C(B[int]):
        pass

    return (A.__mro__[1].__name__, C.__mro__[1].__name__, d.DataLoader[int].__origin__.__name__)


def namespace(torch):
    x = torch.arange(30.0).reshape(10, 3)
    y = torch.arange(10)

    return dict(globals(), torch=torch, d=torch.utils.data, X=x, Y=y)


EXPRESSIONS = [
    "epochs(torch, td(d), 1, False, False)",
    "epochs(torch, d.random_split(td(d), [7, 3])[0], 1, False, False)",
    "epochs(torch, td(d), 1, False, True)",
    "epochs(torch, d.random_split(td(d), [7, 3])[0], 1, False, True)",
    "epochs(torch, td(d), 1, True, False)",
    "epochs(torch, td(d), 1, True, False, torch.Generator().manual_seed(3))",
    "epochs(torch, d.random_split(td(d), [7, 3])[0], 1, True, False)",
    "epochs(torch, td(d), 1, True, True)",
    "epochs(torch, td(d), 1, True, True, torch.Generator().manual_seed(3))",
    "epochs(torch, d.random_split(td(d), [7, 3])[0], 1, True, True)",
    "epochs(torch, td(d), 3, False, False)",
    "epochs(torch, d.random_split(td(d), [7, 3])[0], 3, False, False)",
    "epochs(torch, td(d), 3, False, True)",
    "epochs(torch, d.random_split(td(d), [7, 3])[0], 3, False, True)",
    "epochs(torch, td(d), 3, True, False)",
    "epochs(torch, td(d), 3, True, False, torch.Generator().manual_seed(3))",
    "epochs(torch, d.random_split(td(d), [7, 3])[0], 3, True, False)",
    "epochs(torch, td(d), 3, True, True)",
    "epochs(torch, td(d), 3, True, True, torch.Generator().manual_seed(3))",
    "epochs(torch, d.random_split(td(d), [7, 3])[0], 3, True, True)",
    "epochs(torch, td(d), 5, False, False)",
    "epochs(torch, d.random_split(td(d), [7, 3])[0], 5, False, False)",
    "epochs(torch, td(d), 5, False, True)",
    "epochs(torch, d.random_split(td(d), [7, 3])[0], 5, False, True)",
    "epochs(torch, td(d), 5, True, False)",
    "epochs(torch, td(d), 5, True, False, torch.Generator().manual_seed(3))",
    "epochs(torch, d.random_split(td(d), [7, 3])[0], 5, True, False)",
    "epochs(torch, td(d), 5, True, True)",
    "epochs(torch, td(d), 5, True, True, torch.Generator().manual_seed(3))",
    "epochs(torch, d.random_split(td(d), [7, 3])[0], 5, True, True)",
    "epochs(torch, td(d), 11, False, False)",
    "epochs(torch, d.random_split(td(d), [7, 3])[0], 11, False, False)",
    "epochs(torch, td(d), 11, False, True)",
    "epochs(torch, d.random_split(td(d), [7, 3])[0], 11, False, True)",
    "epochs(torch, td(d), 11, True, False)",
    "epochs(torch, td(d), 11, True, False, torch.Generator().manual_seed(3))",
    "epochs(torch, d.random_split(td(d), [7, 3])[0], 11, True, False)",
    "epochs(torch, td(d), 11, True, True)",
    "epochs(torch, td(d), 11, True, True, torch.Generator().manual_seed(3))",
    "epochs(torch, d.random_split(td(d), [7, 3])[0], 11, True, True)",
    "L(d, d.Subset(td(d), [-1, 2, 2, 0]), 2, shuffle=True)",
    "L(d, d.Subset(td(d), range(3, 7)), 3)",
    "L(d, d.Subset(td(d), [11, 2]), 1)",
    "L(d, d.Subset(td(d), [1.5, 2]), 2)",
    "L(d, d.Subset(td(d), torch.tensor([1, 2])), 2)",
    "L(d, d.Subset(td(d), np.array([1, 2])), 2)",
    "L(d, d.TensorDataset(X.t().contiguous().t(), Y), 4, shuffle=True)",
    "L(d, d.TensorDataset(X.clone().requires_grad_(), Y), 4, shuffle=True)",
    "L(d, d.TensorDataset(X, Y[:5]))",
    "L(d, d.TensorDataset(X), batch_size=None, shuffle=True)",
    "L(d, list(range(5)), 2, True)",
    "L(d, [1.5, 2, 3], 2)",
    "L(d, [True, False], 2)",
    "L(d, ['a', 'b', 'c'], 2)",
    "L(d, [b'a', b'b'], 2)",
    "L(d, [{'a': 1, 'b': [1, 2.0]}, {'a': 2, 'b': [3, 4.0]}], 2)",
    "L(d, [P(1, torch.ones(2)), P(2, torch.zeros(2))], 2)",
    "L(d, [collections.OrderedDict(a=1), collections.OrderedDict(a=4)], 2)",
    "L(d, [np.float32(1), np.float32(2)], 2)",
    "L(d, [np.float64(1), np.float64(2)], 2)",
    "L(d, [np.ones(2), np.zeros(2)], 2)",
    "L(d, [np.array(['a']), np.array(['b'])], 2)",
    "L(d, [np.int64(3), np.int64(4)], 2)",
    "L(d, [np.bool_(1)], 2)",
    "L(d, [None, None], 2)",
    "L(d, [(1, 2), (3,)], 2)",
    "L(d, [torch.ones(2), torch.ones(3)], 2)",
    "L(d, [object()], 2)",
    "L(d, [range(3), range(3)], 2)",
    "L(d, [1j], 1)",
    "L(d, [MySeq([1, 2]), MySeq([3, 4])], 2)",
    "L(d, [collections.UserDict(a=1), collections.UserDict(a=4)], 2)",
    "L(d, iterable(d, 7), 2)",
    "L(d, iterable(d, 7), 2, drop_last=True)",
    "L(d, iterable(d, 7), None)",
    "L(d, iterable(d, 7), 2, shuffle=False)",
    "L(d, iterable(d, 7), 2, shuffle=True)",
    "L(d, iterable(d, 7), sampler=[1])",
    "L(d, iterable(d, 7), batch_sampler=[[1]])",
    "lengths(d)",
    "L(d, iterable(d, 3) + iterable(d, 2), 2)",
    "len(iterable(d, 3) + iterable(d, 2))",
    "L(d, d.ChainDataset([iterable(d, 3), [1]]), 2)",
    "L(d, td(d) + td(d), 7)",
    "(td(d) + td(d))[-1]",
    "(td(d) + td(d))[-21]",
    "(td(d) + td(d))[20]",
    "(td(d) + td(d)).cummulative_sizes",
    "d.ConcatDataset([])",
    "d.ConcatDataset([iterable(d, 2)])",
    "L(d, d.StackDataset(td(d), list(range(10))), 4)",
    "L(d, d.StackDataset(a=td(d), b=d.Subset(td(d), range(10))), 4, True)",
    "d.StackDataset(td(d), [1])",
    "d.StackDataset()",
    "d.StackDataset([1], a=[1])",
    "d.StackDataset(a=[1], b=[2])[0]",
    "L(d, d.StackDataset(d.Subset(td(d), range(10)), td(d)), 4)",
    "bad_subset(d)",
    "d.Subset(td(d), [4, 5, 6])[[0, 2]]",
    "[s.indices for s in d.random_split(td(d), [0.5, 0.25, 0.25])]",
    "[s.indices for s in d.random_split(td(d), [0.95, 0.05])]",
    "[s.indices for s in d.random_split(range(1), [0.5, 0.5])]",
    "d.random_split(td(d), [1, 2])",
    "d.random_split(td(d), [1.5, -0.5])",
    "[s.indices for s in d.random_split(td(d), [4, 6], torch.Generator().manual_seed(1))]",
    "L(d, td(d), 4, pin_memory=True)",
    "L(d, td(d), 4, pin_memory=True, pin_memory_device='cuda')",
    "L(d, td(d), 4, timeout=2)",
    "L(d, td(d), sampler=[3, 1, 2], batch_size=2)",
    "L(d, td(d), batch_sampler=[[3, 1], [2]])",
    "L(d, td(d), collate_fn=lambda b: len(b), batch_size=3)",
    "L(d, td(d), batch_size=None, sampler=[3, 1])",
    "set_attribute(d)",
    "attributes(d)",
    "d.DataLoader([], 2)",
    "L(d, [], 2)",
    "L(d, [], 2, True)",
    "L(d, d.TensorDataset(X[:0]), 2)",
    "list(d.Sampler())",
    "d.Dataset()[0]",
    "len(d.Dataset())",
    "d.get_worker_info()",
    "[c.__name__ for c in type('Q', (d.Dataset,), {}).__mro__][:2]",
    "generic(d)",
    "d.default_convert(1)",
    "d.default_convert(np.ones(2))",
    "d.default_convert(np.array(['a']))",
    "d.default_convert(np.float64(2))",
    "d.default_convert({'a': np.ones(1)})",
    "d.default_convert((1, np.ones(1)))",
    "d.default_convert(P(1, np.ones(1)))",
    "d.default_convert([np.ones(1), 2])",
    "d.default_convert('a')",
    "d.default_convert(b'b')",
    "d.default_convert(None)",
    "d.default_convert(np.str_('a'))",
    "d.default_convert(range(3))",
    "d.default_convert(MySeq([np.ones(1)]))",
    "d.DataLoader(td(d), num_workers=-1).num_workers",
    "d.DataLoader(td(d), timeout=-1).num_workers",
    "d.DataLoader(td(d), prefetch_factor=2).num_workers",
    "d.DataLoader(td(d), num_workers=1, prefetch_factor=-1).num_workers",
    "d.DataLoader(td(d), persistent_workers=True).num_workers",
    "d.DataLoader(td(d), sampler=[1], shuffle=True).num_workers",
    "d.DataLoader(td(d), batch_sampler=[[1]], batch_size=2).num_workers",
    "d.DataLoader(td(d), batch_sampler=[[1]], drop_last=True).num_workers",
    "d.DataLoader(td(d), batch_size=None, drop_last=True).num_workers",
    "d.DataLoader(td(d), batch_size=0).num_workers",
    "d.DataLoader(td(d), batch_size=-1).num_workers",
    "d.DataLoader(td(d), batch_size=1.5).num_workers",
    "d.DataLoader(td(d), batch_size=True).num_workers",
    "d.DataLoader(td(d), drop_last=1).num_workers",
    "d.DataLoader(td(d), multiprocessing_context='fork').num_workers",
    "d.DataLoader(td(d), num_workers=1, multiprocessing_context='bad').num_workers",
    "d.DataLoader(td(d), num_workers=1, multiprocessing_context=3).num_workers",
    "d.DataLoader(td(d), pin_memory=True).num_workers",
    "d.DataLoader(td(d), timeout=2).num_workers",
    "d.DataLoader(td(d), pin_memory=True, pin_memory_device='cuda').num_workers",
    "twice(d.RandomSampler(td(d)))",
    "twice(d.RandomSampler(td(d), True))",
    "twice(d.RandomSampler(td(d), True, 70))",
    "twice(d.RandomSampler(td(d), False, 25))",
    "twice(d.RandomSampler(td(d), False, 20))",
    "twice(d.RandomSampler(td(d), False, 5))",
    "twice(d.RandomSampler(td(d), 1))",
    "twice(d.RandomSampler(td(d), num_samples=0))",
    "twice(d.RandomSampler(td(d), num_samples=1.5))",
    "twice(d.RandomSampler([]))",
    "twice(d.RandomSampler(td(d), generator=torch.Generator().manual_seed(2)))",
    "twice(d.SequentialSampler(td(d)))",
    "twice(d.SubsetRandomSampler([4, 5, 6]))",
    "twice(d.SubsetRandomSampler([4, 5, 6], torch.Generator().manual_seed(3)))",
    "twice(d.WeightedRandomSampler([0.1, 0.9, 3], 5))",
    "twice(d.WeightedRandomSampler([0.1, 0.9, 3], 3, False))",
    "twice(d.WeightedRandomSampler([0.1, 0.9, 3], 4, False))",
    "twice(d.WeightedRandomSampler([[0.1]], 4))",
    "twice(d.WeightedRandomSampler([0.1], 0))",
    "twice(d.WeightedRandomSampler([0.1], True))",
    "twice(d.WeightedRandomSampler([0.1], 1, 1))",
    "twice(d.BatchSampler(d.SequentialSampler(range(7)), 3, False))",
    "twice(d.BatchSampler(d.SequentialSampler(range(7)), 3, True))",
    "twice(d.BatchSampler(range(6), 3, True))",
    "twice(d.BatchSampler(range(6), 0, True))",
    "twice(d.BatchSampler(range(6), 2, 3))",
    "twice(d.DistributedSampler(range(7), 3, 1))",
    "twice(d.DistributedSampler(range(7), 3, 1, drop_last=True))",
    "twice(d.DistributedSampler(range(2), 5, 4, shuffle=False))",
    "twice(d.DistributedSampler(range(2), 5, 5))",
    "twice(d.DistributedSampler(range(9), 3, 2, shuffle=False, drop_last=True))",
]
