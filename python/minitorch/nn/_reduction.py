# SPDX-License-Identifier: BSD-3-Clause
"""The names of reductions, and the old flags `size_average` and `reduce` that said the same."""

import warnings

_ENUM = {"none": 0, "mean": 1, "sum": 2}


def get_enum(reduction):
    if reduction in _ENUM:
        return _ENUM[reduction]
    if reduction == "elementwise_mean":
        warnings.warn(
            "reduction='elementwise_mean' is deprecated. Please use reduction='mean' instead.", stacklevel=3
        )
        return 1
    raise ValueError("%s is not a valid value for reduction" % (reduction,))


def legacy_get_string(size_average, reduce, emit_warning=True):
    size_average = True if size_average is None else size_average
    reduce = True if reduce is None else reduce
    name = ("mean" if size_average else "sum") if reduce else "none"
    if emit_warning:
        warnings.warn(
            "size_average and reduce args will be deprecated, please use reduction='%s' instead." % name,
            stacklevel=3,
        )
    return name


def legacy_get_enum(size_average, reduce, emit_warning=True):
    return get_enum(legacy_get_string(size_average, reduce, emit_warning))
