# SPDX-License-Identifier: BSD-3-Clause
"""Loaders with worker processes: order, seeds, errors, reuse, time limits."""

import os
import time

import numpy as np
import pytest

pytestmark = pytest.mark.filterwarnings("ignore")


class Squares:
    def __len__(self):
        return 11

    def __getitem__(self, i):
        return i * i


class Random:
    """Samples drawn in the worker from all three generators."""

    def __init__(self, torch):
        self.torch = torch

    def __len__(self):
        return 8

    def __getitem__(self, i):
        import random

        return float(self.torch.rand(1)), float(np.random.rand()), random.random()


class Raises:
    def __len__(self):
        return 4

    def __getitem__(self, i):
        if i == 2:
            raise KeyError("bad\nkey")
        return i


class Slow:
    def __len__(self):
        return 2

    def __getitem__(self, i):
        time.sleep(30)
        return i


class Dies:
    def __len__(self):
        return 2

    def __getitem__(self, i):
        os._exit(3)


def loader(torch, dataset, *args, **kwargs):
    return torch.utils.data.DataLoader(dataset, *args, **kwargs)


@pytest.mark.parametrize("workers", [1, 2])
def test_same_batches_as_without_workers(torch, workers):
    data = torch.utils.data.TensorDataset(torch.arange(20.0).reshape(10, 2), torch.arange(10))
    torch.manual_seed(3)
    expected = list(loader(torch, data, 3, shuffle=True))
    torch.manual_seed(3)
    got = list(loader(torch, data, 3, shuffle=True, num_workers=workers))
    assert len(got) == len(expected)
    for mine, theirs in zip(got, expected):
        assert [t.tolist() for t in mine] == [t.tolist() for t in theirs]


def test_without_batches(torch):
    assert list(loader(torch, Squares(), batch_size=None, num_workers=2)) == [i * i for i in range(11)]


def test_seeds_of_workers(torch):
    """Worker i is seeded with base seed + i; the values are PyTorch's."""
    torch.manual_seed(5)
    batches = list(loader(torch, Random(torch), 4, num_workers=2))
    base = torch.manual_seed(5) and int(torch.empty((), dtype=torch.int64).random_().item())
    for worker, batch in enumerate(batches):
        torch.manual_seed(base + worker)
        assert batch[0].tolist() == [float(torch.rand(1)) for _ in range(4)]
    torch.manual_seed(5)
    again = list(loader(torch, Random(torch), 4, num_workers=2))
    assert [[t.tolist() for t in b] for b in again] == [[t.tolist() for t in b] for b in batches]


def test_numpy_seed_is_that_of_pytorch(torch):
    """Recorded with PyTorch: the first numbers of numpy.random in the two workers."""
    torch.manual_seed(5)
    batches = list(loader(torch, Random(torch), 4, num_workers=2))
    assert [b[1][0].item() for b in batches] == pytest.approx([0.48524966518, 0.08072729909], abs=1e-9)


def test_iterable_dataset_knows_its_worker(torch):
    class Part(torch.utils.data.IterableDataset):
        def __iter__(self):
            info = torch.utils.data.get_worker_info()
            return iter(range(info.id, 7, info.num_workers))

    got = [b.tolist() for b in loader(torch, Part(), 2, num_workers=2)]
    assert sorted(sum(got, [])) == list(range(7))
    assert got[0] == [0, 2]
    assert torch.utils.data.get_worker_info() is None


def test_errors_are_raised_again(torch):
    batches = iter(loader(torch, Raises(), 1, num_workers=1))
    assert [next(batches).tolist(), next(batches).tolist()] == [[0], [1]]
    with pytest.raises(KeyError) as caught:
        next(batches)
    assert "Caught KeyError in DataLoader worker process 0.\nOriginal Traceback" in str(caught.value)
    assert next(batches).tolist() == [3]
    with pytest.raises(StopIteration):
        next(batches)


def test_error_of_init_function(torch):
    def fails(worker):
        raise ValueError("no")

    with pytest.raises(ValueError, match="Caught ValueError in DataLoader worker process 0"):
        list(loader(torch, Squares(), 2, num_workers=1, worker_init_fn=fails))


def test_persistent_workers(torch):
    batches = loader(torch, Squares(), 4, num_workers=2, persistent_workers=True)
    expected = [[0, 1, 4, 9], [16, 25, 36, 49], [64, 81, 100]]
    assert [b.tolist() for b in batches] == expected
    assert [b.tolist() for b in batches] == expected
    next(iter(batches))
    assert [b.tolist() for b in batches] == expected
    del batches


def test_time_limit(torch):
    with pytest.raises(RuntimeError, match="DataLoader timed out after 1 seconds"):
        list(loader(torch, Slow(), 1, num_workers=1, timeout=1))


def test_worker_that_dies(torch):
    with pytest.raises(RuntimeError, match="DataLoader worker"):
        list(loader(torch, Dies(), 1, num_workers=1))


def test_stopping_early_ends_the_workers(torch):
    batches = iter(loader(torch, Squares(), 1, num_workers=2))
    next(batches)
    workers = [getattr(w, "process", w) for w in batches._workers]
    assert all(w.is_alive() for w in workers)
    del batches
    deadline = time.monotonic() + 20
    while any(w.is_alive() for w in workers) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(w.is_alive() for w in workers)


def test_a_sampler_of_endless_draws_starts_at_once(torch):
    data = torch.utils.data
    sampler = data.RandomSampler(range(10), replacement=True, num_samples=10**15)
    loader = data.DataLoader(range(10), batch_size=4, sampler=sampler)
    assert next(iter(loader)).shape == (4,) and len(sampler) == 10**15
