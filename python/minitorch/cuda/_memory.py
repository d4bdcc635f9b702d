# SPDX-License-Identifier: BSD-3-Clause
"""What the caching allocator holds."""

from collections import OrderedDict

from minitorch.cuda._device import index_of, module, need


def memory_stats(device=None):
    """memory_stats(device=None) -> dict: counters of the allocator, empty before CUDA is used."""
    ext = module()
    if ext is None or ext.device_count() == 0:
        return OrderedDict()
    return OrderedDict(sorted(ext.memory_stats(index_of(device)).items()))


def memory_allocated(device=None):
    """memory_allocated(device=None) -> int: bytes that tensors hold."""
    return memory_stats(device).get("allocated_bytes.all.current", 0)


def max_memory_allocated(device=None):
    """max_memory_allocated(device=None) -> int: the most that memory_allocated has been."""
    return memory_stats(device).get("allocated_bytes.all.peak", 0)


def memory_reserved(device=None):
    """memory_reserved(device=None) -> int: bytes that the allocator holds, used or not."""
    return memory_stats(device).get("reserved_bytes.all.current", 0)


def max_memory_reserved(device=None):
    """max_memory_reserved(device=None) -> int: the most that memory_reserved has been."""
    return memory_stats(device).get("reserved_bytes.all.peak", 0)


def reset_peak_memory_stats(device=None):
    """reset_peak_memory_stats(device=None): the greatest values so far become the present ones."""
    need().reset_peak(index_of(device))


def empty_cache():
    """empty_cache(): gives unused memory back to the driver."""
    ext = module()
    if ext is not None and ext.device_count():
        ext.empty_cache()


def mem_get_info(device=None):
    """mem_get_info(device=None) -> (int, int): free and total bytes of the device."""
    return need().memory_info(index_of(device))
