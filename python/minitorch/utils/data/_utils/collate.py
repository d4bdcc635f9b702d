# SPDX-License-Identifier: BSD-3-Clause
"""From a list of samples to a batch: tensors are stacked, numbers become tensors, containers are kept."""

import copy
import sys
from collections.abc import Mapping, MutableMapping, MutableSequence, Sequence

import minitorch as torch

_NOT_NUMERIC = frozenset("SaUO")  # kinds of NumPy dtypes that no tensor can hold

default_collate_err_msg_format = (
    "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"
)


def _is_not_numeric(dtype):
    return not _NOT_NUMERIC.isdisjoint(dtype.str)


def _rebuild_mapping(old, items):
    """A mapping like `old` with these items; a dict where its class does not take them."""
    try:
        if isinstance(old, MutableMapping):
            new = copy.copy(old)
            new.update(items())
            return new
        return type(old)(items())
    except TypeError:
        return items()


def _rebuild_sequence(old, items):
    try:
        if isinstance(old, MutableSequence):
            new = copy.copy(old)
            for i, item in enumerate(items()):
                new[i] = item
            return new
        return type(old)(list(items()))
    except TypeError:
        return list(items())


def default_convert(data):
    """default_convert(data): NumPy arrays and numbers as tensors, inside containers too; the rest
    unchanged."""
    kind = type(data)
    if isinstance(data, torch.Tensor):
        return data
    if kind.__module__ == "numpy" and kind.__name__ not in ("str_", "string_"):
        if kind.__name__ == "ndarray" and _is_not_numeric(data.dtype):
            return data
        return torch.as_tensor(data)
    if isinstance(data, Mapping):
        return _rebuild_mapping(data, lambda: {key: default_convert(data[key]) for key in data})
    if isinstance(data, tuple):
        items = [default_convert(item) for item in data]
        return kind(*items) if hasattr(data, "_fields") else items
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        return _rebuild_sequence(data, lambda: (default_convert(item) for item in data))
    return data


def collate(batch, *, collate_fn_map=None):
    """collate(batch, *, collate_fn_map=None): the batch of these samples.

    `collate_fn_map` has, per type, a function of the list of values; its order decides between base classes.
    """
    first = batch[0]
    kind = type(first)
    if collate_fn_map is not None:
        function = collate_fn_map.get(kind)
        if function is None:
            function = next((f for base, f in collate_fn_map.items() if isinstance(first, base)), None)
        if function is not None:
            return function(batch, collate_fn_map=collate_fn_map)

    def together(values):
        return collate(values, collate_fn_map=collate_fn_map)

    if isinstance(first, Mapping):
        return _rebuild_mapping(first, lambda: {key: together([d[key] for d in batch]) for key in first})
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return kind(*[together(values) for values in zip(*batch)])
    if isinstance(first, Sequence):
        rows = iter(batch)
        size = len(next(rows))
        if not all(len(row) == size for row in rows):
            raise RuntimeError("each element in list of batch should be of equal size")
        columns = list(zip(*batch))
        if isinstance(first, tuple):
            return [together(values) for values in columns]
        return _rebuild_sequence(first, lambda: (together(values) for values in columns))
    raise TypeError(default_collate_err_msg_format.format(kind))


def collate_tensor_fn(batch, *, collate_fn_map=None):
    """Stacks tensors."""
    first = batch[0]
    if first.layout is not torch.strided:
        raise RuntimeError(
            "Batches of sparse tensors are not currently supported by the default collate_fn; please "
            "provide a custom collate_fn to handle them appropriately."
        )
    return torch.stack(batch, 0)


def collate_numpy_array_fn(batch, *, collate_fn_map=None):
    """Stacks NumPy arrays as tensors."""
    first = batch[0]
    if _is_not_numeric(first.dtype):
        raise TypeError(default_collate_err_msg_format.format(first.dtype))
    return collate([torch.as_tensor(array) for array in batch], collate_fn_map=collate_fn_map)


def collate_numpy_scalar_fn(batch, *, collate_fn_map=None):
    """A tensor of NumPy numbers."""
    return torch.as_tensor(batch)


def collate_float_fn(batch, *, collate_fn_map=None):
    """Floats keep their precision: a float64 tensor."""
    return torch.tensor(batch, dtype=torch.float64)


def collate_int_fn(batch, *, collate_fn_map=None):
    """A tensor of ints or bools."""
    return torch.tensor(batch)


def collate_str_fn(batch, *, collate_fn_map=None):
    """Strings stay in their list."""
    return batch


default_collate_fn_map = {
    torch.Tensor: collate_tensor_fn,
    float: collate_float_fn,
    int: collate_int_fn,
    str: collate_str_fn,
    bytes: collate_str_fn,
}


def _add_numpy(numpy):
    """NumPy's types come before float, which some of its numbers derive from."""
    table = default_collate_fn_map
    rest = [(kind, table.pop(kind)) for kind in list(table) if kind is not torch.Tensor]
    table[numpy.ndarray] = collate_numpy_array_fn
    table[(numpy.bool_, numpy.number, numpy.object_)] = collate_numpy_scalar_fn
    table.update(rest)


def default_collate(batch):
    """default_collate(batch): what DataLoader does with a list of samples.

    Example::

        >>> default_collate([(torch.tensor(1), 2.0), (torch.tensor(3), 4.0)])
        [tensor([1, 3]), tensor([2., 4.], dtype=torch.float64)]
    """
    numpy = sys.modules.get("numpy")
    if numpy is not None and hasattr(numpy, "ndarray") and numpy.ndarray not in default_collate_fn_map:
        _add_numpy(numpy)
    return collate(batch, collate_fn_map=default_collate_fn_map)
