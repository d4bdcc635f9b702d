# SPDX-License-Identifier: BSD-3-Clause
"""The standard multiprocessing, whose queues and pipes carry tensors as shared memory instead of copies.

import minitorch.multiprocessing as mp
"""

import multiprocessing
from multiprocessing import *  # noqa: F403

from minitorch.multiprocessing.reductions import init_reductions
from minitorch.multiprocessing.spawn import (
    ProcessContext,
    ProcessExitedException,
    ProcessRaisedException,
    SpawnContext,
    spawn,
    start_processes,
)

__all__ = [
    "set_sharing_strategy",
    "get_sharing_strategy",
    "get_all_sharing_strategies",
    "spawn",
    "start_processes",
    "ProcessContext",
    "SpawnContext",
    "ProcessExitedException",
    "ProcessRaisedException",
]
__all__ += multiprocessing.__all__

_all_sharing_strategies = {"file_descriptor", "file_system"}
_sharing_strategy = "file_descriptor"


def set_sharing_strategy(new_strategy):
    """How memory travels between processes: 'file_descriptor' or 'file_system' (by a name in /dev/shm)."""
    global _sharing_strategy
    if new_strategy not in _all_sharing_strategies:
        raise AssertionError(
            "invalid sharing strategy %r, expected one of %s"
            % (new_strategy, sorted(_all_sharing_strategies))
        )
    _sharing_strategy = new_strategy


def get_sharing_strategy():
    """The current strategy."""
    return _sharing_strategy


def get_all_sharing_strategies():
    """The strategies of this system."""
    return _all_sharing_strategies


init_reductions()
