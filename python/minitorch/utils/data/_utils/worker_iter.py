# SPDX-License-Identifier: BSD-3-Clause
"""The iterator of a loader with worker processes.

Every worker has one pipe: tasks (number, index) go down, (number, data) comes back.  Batches travel as
pickles.
"""

import os

from minitorch._utils import ExceptionWrapper
from minitorch.utils.data._utils.worker import EndOfData, worker_loop
from minitorch.utils.data.dataloader import _BaseDataLoaderIter

_JOIN_SECONDS = 5.0


class _Worker:
    """A process with its pipe and the tasks it has not answered."""

    def __init__(self, context, worker_id, it, loader):
        self.connection, theirs = context.Pipe()
        fetcher_args = (it._dataset_kind, it._dataset, it._auto_collation, it._collate_fn, it._drop_last)
        self.process = context.Process(
            target=worker_loop,
            args=(
                theirs,
                os.getpid(),
                worker_id,
                it._num_workers,
                it._base_seed,
                loader.worker_init_fn,
                fetcher_args,
            ),
            daemon=True,
        )
        self.process.start()
        theirs.close()
        self.waiting = set()
        self.exhausted = False

    def send(self, task):
        try:
            self.connection.send(task)
        except OSError:
            pass  # it is dead; the next wait for an answer says so

    def stop(self):
        self.send(None)
        self.process.join(_JOIN_SECONDS)
        if self.process.is_alive():
            self.process.terminate()
            self.process.join(_JOIN_SECONDS)
        self.connection.close()


class _MultiProcessingDataLoaderIter(_BaseDataLoaderIter):
    """Keeps `prefetch_factor` batches per worker under way and hands them out in order."""

    def __init__(self, loader):
        self._workers, self._owner = [], os.getpid()
        super().__init__(loader)
        if not loader.prefetch_factor:
            raise AssertionError("prefetch_factor must be greater than 0 for MultiProcessingDataLoaderIter")
        self._prefetch_factor = loader.prefetch_factor
        self._in_order = loader.in_order
        context = loader.multiprocessing_context
        if context is None:
            import multiprocessing

            context = multiprocessing.get_context()
        for worker_id in range(self._num_workers):
            self._workers.append(_Worker(context, worker_id, self, loader))
        self._begin()

    def _reset(self, loader, first_iter=False):
        super()._reset(loader, first_iter)
        while self._outstanding():
            self._receive()
        for worker in self._workers:
            worker.send(("restart",))
            worker.exhausted = False
        self._begin()

    def _begin(self):
        self._next_task = self._next_result = self._next_worker = 0
        self._done = {}  # number -> data, or None where the worker had no more
        for _ in range(self._prefetch_factor * self._num_workers):
            self._put_task()

    def _outstanding(self):
        return any(worker.waiting for worker in self._workers)

    def _put_task(self):
        """Sends the next index to the next worker that can take it."""
        for _ in range(self._num_workers):
            worker = self._workers[self._next_worker]
            self._next_worker = (self._next_worker + 1) % self._num_workers
            if not worker.exhausted and (self._in_order or len(worker.waiting) < self._prefetch_factor):
                break
        else:
            return
        try:
            index = self._next_index()
        except StopIteration:
            return
        worker.waiting.add(self._next_task)
        worker.send((self._next_task, index))
        self._next_task += 1

    def _receive(self):
        """Waits for an answer of any worker and files it; returns its number."""
        from multiprocessing.connection import wait

        asked = {worker.connection: worker for worker in self._workers if worker.waiting}
        ready = wait(list(asked), self._timeout if self._timeout > 0 else None)
        if not ready:
            raise RuntimeError("DataLoader timed out after %s seconds" % self._timeout)
        worker = asked[ready[0]]
        try:
            number, data = worker.connection.recv()
        except (EOFError, OSError) as error:
            worker.waiting.clear()
            worker.exhausted = True
            worker.process.join(_JOIN_SECONDS)
            raise RuntimeError(
                "DataLoader worker (pid(s) %s) exited unexpectedly" % worker.process.pid
            ) from error
        worker.waiting.discard(number)
        if isinstance(data, EndOfData):
            worker.exhausted = True
            self._done[number] = None
            self._put_task()
        else:
            self._done[number] = (data,)
        return number

    def _take(self, number):
        """The data filed under a number, None if its worker had no more."""
        filed = self._done.pop(number)
        if filed is None:
            return None
        self._put_task()
        data = filed[0]
        if isinstance(data, ExceptionWrapper):
            data.reraise()
        return filed

    def _next_data(self):
        while self._done or self._outstanding():
            if self._in_order:
                number = self._next_result
                while number not in self._done:
                    self._receive()
                self._next_result += 1
            else:
                number = next(iter(self._done)) if self._done else self._receive()
            filed = self._take(number)
            if filed is None:
                continue
            if self._pin_memory:
                from minitorch.utils.data._utils.pin_memory import pin_memory

                return pin_memory(filed[0])
            return filed[0]
        if not self._persistent_workers:
            self._shutdown_workers()
        raise StopIteration

    def _shutdown_workers(self):
        workers, self._workers = self._workers, []
        for worker in workers:
            worker.send(None)
        for worker in workers:
            worker.stop()

    def __del__(self):
        try:
            if os.getpid() == self._owner:  # not a copy in another loader's worker
                self._shutdown_workers()
        except Exception:
            pass  # the interpreter is going down
