# SPDX-License-Identifier: BSD-3-Clause
"""Several processes that run one function, and the failure of one of them in the parent."""

import multiprocessing
import multiprocessing.connection
import os
import pickle
import signal
import sys
import tempfile


class ProcessException(Exception):
    """The failure of a process: its index and its process id."""

    def __init__(self, msg, error_index, pid):
        super().__init__(msg)
        self.msg, self.error_index, self.pid = msg, error_index, pid

    def __reduce__(self):
        return type(self), (self.msg, self.error_index, self.pid)


class ProcessRaisedException(ProcessException):
    """A process ended with an exception."""


class ProcessExitedException(ProcessException):
    """A process ended with a signal or an exit code."""

    def __init__(self, msg, error_index, error_pid, exit_code, signal_name=None):
        super().__init__(msg, error_index, error_pid)
        self.exit_code, self.signal_name = exit_code, signal_name

    def __reduce__(self):
        return type(self), (self.msg, self.error_index, self.pid, self.exit_code, self.signal_name)


def _run(fn, i, args, error_file):
    try:
        fn(i, *args)
    except KeyboardInterrupt:
        pass
    except Exception:
        import traceback

        with open(error_file, "wb") as f:
            pickle.dump(traceback.format_exc(), f)
        sys.exit(1)


class ProcessContext:
    """The processes that `start_processes` started."""

    def __init__(self, processes, error_files):
        self.processes, self.error_files = processes, error_files
        self.sentinels = {process.sentinel: i for i, process in enumerate(processes)}

    def pids(self):
        """Their process ids."""
        return [int(process.pid) for process in self.processes]

    def join(self, timeout=None, grace_period=None):
        """Waits for some of them; True when all have ended well. The first failure ends the others and is raised."""
        if not self.sentinels:
            return True
        ready = multiprocessing.connection.wait(self.sentinels.keys(), timeout=timeout)
        failed = None
        for sentinel in ready:
            i = self.sentinels.pop(sentinel)
            self.processes[i].join()
            if self.processes[i].exitcode != 0:
                failed = i
                break
        if failed is None:
            return not self.sentinels
        for process in self.processes:
            if process.is_alive():
                process.terminate()
        for process in self.processes:
            process.join(grace_period if grace_period is not None else 30)
            if process.is_alive():
                process.kill()
                process.join()
        self._raise(failed)

    def _raise(self, i):
        process = self.processes[i]
        if os.path.exists(self.error_files[i]) and os.path.getsize(self.error_files[i]):
            with open(self.error_files[i], "rb") as f:
                text = pickle.load(f)
            message = "\n\n-- Process %d terminated with the following error:\n%s" % (i, text)
            raise ProcessRaisedException(message, i, process.pid)
        code = process.exitcode
        if code < 0:
            name = signal.Signals(-code).name
            raise ProcessExitedException(
                "process %d terminated with signal %s" % (i, name), i, process.pid, code, name
            )
        raise ProcessExitedException(
            "process %d terminated with exit code %d" % (i, code), i, process.pid, code
        )


class SpawnContext(ProcessContext):
    """The same for `spawn`."""


def start_processes(fn, args=(), nprocs=1, join=True, daemon=False, start_method="spawn"):
    """start_processes(fn, args=(), nprocs=1): runs fn(i, *args) in nprocs processes; waits for them unless join is False."""
    context = multiprocessing.get_context(start_method)
    processes, error_files = [], []
    for i in range(nprocs):
        handle, path = tempfile.mkstemp(prefix="minitorch-", suffix=".pickle")
        os.close(handle)
        process = context.Process(target=_run, args=(fn, i, args, path), daemon=daemon)
        process.start()
        processes.append(process)
        error_files.append(path)
    result = SpawnContext(processes, error_files)
    if not join:
        return result
    try:
        while not result.join():
            pass
    finally:
        for path in error_files:
            if os.path.exists(path):
                os.remove(path)
    return None


def spawn(fn, args=(), nprocs=1, join=True, daemon=False, start_method="spawn"):
    """spawn(fn, args=(), nprocs=1, join=True): `start_processes` with fresh interpreters."""
    return start_processes(fn, args, nprocs, join, daemon, start_method="spawn")
