# SPDX-License-Identifier: BSD-3-Clause
"""Tools for the graph of an autograd run."""

import minitorch as torch
from minitorch import _C

__all__ = ["increment_version"]


def increment_version(tensor):
    """increment_version(tensor): counts an in-place change that was made behind the library's back.

    tensor: a Tensor, or an iterable of them. A value saved for backward and changed like this is then an error of backward
    instead of a wrong gradient. RuntimeError for inference tensors, which have no counter.

    >>> x = torch.zeros(2)
    >>> torch.autograd.graph.increment_version(x)
    >>> x._version
    1
    """
    tensors = (tensor,) if isinstance(tensor, torch.Tensor) else tuple(tensor)
    for t in tensors:
        _C._unsafe_set_version_counter((t,), ((t._version + 1) % 2**32,))


_LAZY = (
    "saved_tensors_hooks save_on_cpu disable_saved_tensors_hooks allow_mutation_on_saved_tensors "
    "_AllowMutationOnSavedContext"
).split()
__all__ += _LAZY[:-1]


def __getattr__(name):
    if name not in _LAZY:
        raise AttributeError("module 'torch.autograd.graph' has no attribute '%s'" % name)
    from minitorch.autograd import _saved_hooks

    value = getattr(_saved_hooks, name)
    globals()[name] = value
    return value
