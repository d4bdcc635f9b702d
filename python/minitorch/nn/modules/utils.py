# SPDX-License-Identifier: BSD-3-Clause
"""Tuples out of numbers: sizes, strides and paddings of layers."""

from collections.abc import Iterable
from itertools import repeat

__all__ = ["consume_prefix_in_state_dict_if_present"]


def _ntuple(n, name="parse"):
    def parse(x):
        return tuple(x) if isinstance(x, Iterable) else tuple(repeat(x, n))

    parse.__name__ = name
    return parse


_single = _ntuple(1, "_single")
_pair = _ntuple(2, "_pair")
_triple = _ntuple(3, "_triple")
_quadruple = _ntuple(4, "_quadruple")


def _reverse_repeat_tuple(t, n):
    """The elements in reverse order, each n times: the padding that belongs to (h, w) is (w, w, h, h)."""
    return tuple([x for x in reversed(t) for _ in range(n)])


def _list_with_default(out_size, defaults):
    """Replaces None by the size of the input."""
    if isinstance(out_size, int):
        return out_size
    if len(defaults) <= len(out_size):
        raise ValueError("Input dimension should be at least %d" % (len(out_size) + 1))
    defaults = defaults[-len(out_size) :]
    return [size if size is not None else default for size, default in zip(out_size, defaults)]


def consume_prefix_in_state_dict_if_present(state_dict, prefix):
    """Takes the prefix off the names of a state dictionary and its metadata, in place."""
    for key in list(state_dict.keys()):
        if key.startswith(prefix):
            state_dict[key[len(prefix) :]] = state_dict.pop(key)
    if hasattr(state_dict, "_metadata"):
        for key in list(state_dict._metadata.keys()):
            if not key:
                continue
            if key == prefix.replace(".", "") or key.startswith(prefix):
                state_dict._metadata[key[len(prefix) :]] = state_dict._metadata.pop(key)
