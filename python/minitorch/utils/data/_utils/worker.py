# SPDX-License-Identifier: BSD-3-Clause
"""What runs in a worker process of a loader."""

import os
import sys

_POLL_SECONDS = 5.0  # how often an idle worker looks whether its parent still lives
_MASK = 0xFFFFFFFF

_worker_info = None


class WorkerInfo:
    """What `get_worker_info()` says: `id`, `num_workers`, `seed` and `dataset`, the copy in this process."""

    def __init__(self, id, num_workers, seed, dataset):
        vars(self).update(id=id, num_workers=num_workers, seed=seed, dataset=dataset, rng=None)
        vars(self)["worker_method"] = "multiprocessing"

    def __setattr__(self, name, value):
        raise AttributeError("cannot assign to field %r" % name)

    def __repr__(self):
        return "WorkerInfo(%s)" % ", ".join("%s=%r" % item for item in vars(self).items())


def get_worker_info():
    """get_worker_info() -> WorkerInfo or None: None in the main process."""
    return _worker_info


class EndOfData:
    """Sent by the worker whose part of an iterable dataset is used up."""


def _numpy_seed(base_seed, worker_id):
    """Four words for numpy.random.seed, different for every worker: the mixing of NumPy's SeedSequence."""
    words = [worker_id, base_seed & _MASK, base_seed >> 32, 0]
    constant = 0x43B0D7E5

    def spread(value):
        nonlocal constant
        value ^= constant
        constant = constant * 0x931E8875 & _MASK
        value = value * constant & _MASK
        return value ^ value >> 16

    pool = [spread(word) for word in words]
    for source in range(4):
        for target in range(4):
            if source != target:
                mixed = 0xCA01F9DD * pool[target] - 0x4973F715 * spread(pool[source]) & _MASK
                pool[target] = mixed ^ mixed >> 16
    constant = 0x8B51F9DD
    state = []
    for word in pool:
        word ^= constant
        constant = constant * 0x58F38DED & _MASK
        word = word * constant & _MASK
        state.append(word ^ word >> 16)
    return state


def _seed_all(base_seed, worker_id):
    import random

    import minitorch as torch

    torch.set_num_threads(1)
    random.seed(base_seed + worker_id)
    torch.manual_seed(base_seed + worker_id)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(_numpy_seed(base_seed, worker_id))


def _read_tasks(connection, tasks, parent):
    """Moves tasks from the pipe to a queue, so that the parent never waits for a busy worker."""
    try:
        while os.getppid() == parent:
            if connection.poll(_POLL_SECONDS):
                task = connection.recv()
                tasks.put(task)
                if task is None:
                    return
    except (EOFError, OSError):
        pass
    tasks.put(None)


def worker_loop(connection, parent, worker_id, num_workers, base_seed, init_fn, fetcher_args):
    """worker_loop(...): answers tasks (number, index) with (number, data) until it reads None.

    A task without a number, ("restart",), starts another pass over the dataset.
    """
    global _worker_info

    import queue
    import threading

    from minitorch._utils import ExceptionWrapper
    from minitorch.utils.data.dataloader import _DatasetKind

    where = "in DataLoader worker process %d" % worker_id
    tasks = queue.SimpleQueue()
    threading.Thread(target=_read_tasks, args=(connection, tasks, parent), daemon=True).start()
    fetcher = failure = None
    _seed_all(base_seed, worker_id)
    _worker_info = WorkerInfo(worker_id, num_workers, base_seed + worker_id, fetcher_args[1])
    try:
        if init_fn is not None:
            init_fn(worker_id)
        fetcher = _DatasetKind.create_fetcher(*fetcher_args)
    except Exception:
        failure = ExceptionWrapper(where=where)
    try:
        while True:
            task = tasks.get()
            if task is None:
                return
            if len(task) == 1:
                fetcher = _DatasetKind.create_fetcher(*fetcher_args)
                continue
            number, index = task
            if failure is not None:
                data = failure
            else:
                try:
                    data = fetcher.fetch(index)
                except Exception as error:
                    ended = isinstance(error, StopIteration) and fetcher_args[0] == _DatasetKind.Iterable
                    data = EndOfData() if ended else ExceptionWrapper(where=where)
            _send(connection, number, data, where)
            del data, index, task
    except (BrokenPipeError, KeyboardInterrupt):
        pass


def _send(connection, number, data, where):
    from minitorch._utils import ExceptionWrapper

    try:
        connection.send((number, data))
    except (BrokenPipeError, KeyboardInterrupt):
        raise
    except Exception:
        connection.send((number, ExceptionWrapper(where=where)))
