# SPDX-License-Identifier: BSD-3-Clause
"""Sequences of different lengths: packed (all first elements, all second elements, ...) and padded."""

from collections import namedtuple

import minitorch as torch

__all__ = [
    "PackedSequence",
    "invert_permutation",
    "pack_padded_sequence",
    "pad_packed_sequence",
    "pad_sequence",
    "unpad_sequence",
    "pack_sequence",
    "unpack_sequence",
]

PackedSequence_ = namedtuple("PackedSequence_", "data batch_sizes sorted_indices unsorted_indices")
PackedSequence_.__annotations__ = {
    "data": torch.Tensor,
    "batch_sizes": torch.Tensor,
    "sorted_indices": torch.Tensor,
    "unsorted_indices": torch.Tensor,
}


class PackedSequence(PackedSequence_):
    """PackedSequence: `data` of all elements, time first, and `batch_sizes`, how many sequences have each
    step.

    Made by `pack_sequence` and `pack_padded_sequence`.
    """

    def __new__(cls, data, batch_sizes=None, sorted_indices=None, unsorted_indices=None):
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        if batch_sizes is None:
            if not (isinstance(data, (list, tuple)) and len(data) == 2):
                raise AssertionError("Expected data to be a list or tuple of length 2")
            data, batch_sizes = data
        elif batch_sizes.device.type != "cpu":
            raise ValueError(
                "batch_sizes should always be on CPU. Instances of PackedSequence should never be created "
                "manually. They should be instantiated by functions like pack_sequence and "
                "pack_padded_sequences in nn.utils.rnn. "
                "https://pytorch.org/docs/stable/nn.html#torch.nn.utils.rnn.pack_sequence"
            )
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def _map(self, data, function):
        indices = [i if i is None else function(i) for i in (self.sorted_indices, self.unsorted_indices)]
        return type(self)(data, self.batch_sizes, *indices)

    def pin_memory(self):
        """pin_memory() -> PackedSequence"""
        return self._map(self.data.pin_memory(), lambda t: t.pin_memory())

    def to(self, *args, **kwargs):
        """to(...) -> PackedSequence: as Tensor.to; the batch sizes stay where they are."""
        data = self.data.to(*args, **kwargs)
        if data is self.data:
            return self
        return self._map(data, lambda t: t.to(data.device))

    def cuda(self, *args, **kwargs):
        """cuda() -> PackedSequence"""
        kwargs.setdefault("device", "cuda") if not args else None
        return self.to(*args, **kwargs)

    def cpu(self, *args, **kwargs):
        """cpu() -> PackedSequence"""
        return self.to(*args, **{**kwargs, "device": "cpu"})

    def double(self):
        return self.to(dtype=torch.double)

    def float(self):
        return self.to(dtype=torch.float)

    def half(self):
        return self.to(dtype=torch.half)

    def long(self):
        return self.to(dtype=torch.long)

    def int(self):
        return self.to(dtype=torch.int)

    def short(self):
        return self.to(dtype=torch.short)

    def char(self):
        return self.to(dtype=torch.int8)

    def byte(self):
        return self.to(dtype=torch.uint8)

    @property
    def is_cuda(self):
        return self.data.is_cuda

    def is_pinned(self):
        return self.data.is_pinned()


def invert_permutation(permutation):
    """invert_permutation(permutation): where each index went; None stays None."""
    if permutation is None:
        return None
    positions = torch.arange(0, permutation.numel(), device=permutation.device)
    return torch.empty_like(permutation).scatter_(0, permutation, positions)


def _batch_sizes(lengths):
    """For every step the number of sequences that reach it; lengths fall."""
    sizes, count = [], len(lengths)
    for step in range(lengths[0] if lengths else 0):
        while lengths[count - 1] <= step:
            count -= 1
        sizes.append(count)
    return sizes


def _check_lengths(input, lengths, batch_first):
    if input.numel() == 0:
        raise RuntimeError("Cannot pack empty tensors.")
    batch = input.size(0) if batch_first else input.size(1)
    if lengths.dim() != 1 or lengths.size(0) != batch:
        raise RuntimeError(
            "Expected `len(lengths)` to be equal to batch_size, but got %d (batch_size=%d)"
            % (lengths.numel(), batch)
        )
    values = lengths.tolist()
    if values[-1] <= 0:
        raise RuntimeError(
            "Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0"
        )
    if any(a < b for a, b in zip(values, values[1:])):
        raise RuntimeError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass "
            "`enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep this "
            "requirement if you do not need ONNX exportability."
        )
    return values


def pack_padded_sequence(input, lengths, batch_first=False, enforce_sorted=True):
    """pack_padded_sequence(input, lengths, batch_first=False, enforce_sorted=True) -> PackedSequence

    `input` is (time, batch, ...), or (batch, time, ...) with `batch_first`; `lengths` must fall unless
    `enforce_sorted` is False.
    """
    if isinstance(lengths, torch.Tensor):
        lengths = lengths.to(dtype=torch.int64)
    else:
        lengths = torch.as_tensor(lengths, dtype=torch.int64, device="cpu")
    if lengths.device.type != "cpu":
        raise RuntimeError(
            "'lengths' argument should be a 1D CPU int64 tensor, but got %dD %s Long tensor"
            % (lengths.dim(), lengths.device)
        )
    sorted_indices = None
    if not enforce_sorted:
        lengths, sorted_indices = torch.sort(lengths, descending=True)
        sorted_indices = sorted_indices.to(input.device)
        input = input.index_select(0 if batch_first else 1, sorted_indices)
    values = _check_lengths(input, lengths, batch_first)
    if batch_first:
        input = input.transpose(0, 1)
    if values[0] > input.size(0):
        raise RuntimeError(
            "Expected `len(lengths)` to be at most the length of the input, but got %d" % values[0]
        )
    sizes = _batch_sizes(values)
    data = torch.cat([input[step, :size] for step, size in enumerate(sizes)])
    return PackedSequence(data, torch.tensor(sizes, dtype=torch.int64), sorted_indices, None)


def pad_packed_sequence(sequence, batch_first=False, padding_value=0.0, total_length=None):
    """pad_packed_sequence(sequence, batch_first=False, padding_value=0.0, total_length=None) -> padded,
    lengths"""
    sizes = sequence.batch_sizes.tolist()
    steps = len(sizes)
    if total_length is not None:
        if total_length < steps:
            raise ValueError(
                "Expected total_length to be at least the length of the longest sequence in input, but got "
                "total_length=%s and max sequence length being %d" % (total_length, steps)
            )
        steps = total_length
    batch, data = sizes[0], sequence.data
    rows = []
    for row in data.split(sizes):
        missing = batch - row.shape[0]
        if missing:
            row = torch.cat((row, row.new_full((missing, *row.shape[1:]), padding_value)))
        rows.append(row)
    padded = torch.stack(rows)
    if steps > len(sizes):
        extra = data.new_full((steps - len(sizes), *padded.shape[1:]), padding_value)
        padded = torch.cat((padded, extra))
    lengths = torch.tensor([sum(size > i for size in sizes) for i in range(batch)], dtype=torch.int64)
    if batch_first:
        padded = padded.transpose(0, 1)
    order = sequence.unsorted_indices
    if order is not None:
        return padded.index_select(0 if batch_first else 1, order), lengths[order.cpu()]
    return padded, lengths


def pad_sequence(sequences, batch_first=False, padding_value=0.0, padding_side="right"):
    """pad_sequence(sequences, batch_first=False, padding_value=0.0, padding_side='right') -> Tensor

    Sequences of different lengths in one tensor (time, batch, ...), or (batch, time, ...) with `batch_first`.

    Example::

        >>> pad_sequence([torch.ones(2), torch.ones(1)], batch_first=True)
        tensor([[1., 1.],
                [1., 0.]])
    """
    if not hasattr(sequences, "__iter__"):
        raise RuntimeError(
            "pad_sequence: Expected iterable for input sequences, but got arg of type: %s" % type(sequences)
        )
    sequences = tuple(sequences)
    if not sequences:
        raise RuntimeError("received an empty list of sequences")
    if padding_side not in ("left", "right"):
        raise RuntimeError("Expected padding_side to be one of left or right, but got %s." % (padding_side,))
    longest = max(s.size(0) for s in sequences)
    rest = sequences[0].shape[1:]
    rows = []
    for s in sequences:
        missing = longest - s.size(0)
        if missing:
            filler = sequences[0].new_full((missing, *rest), padding_value)
            s = torch.cat((s, filler) if padding_side == "right" else (filler, s))
        rows.append(s)
    return torch.stack(rows, 0 if batch_first else 1)


def unpad_sequence(padded_sequences, lengths, batch_first=False):
    """unpad_sequence(padded_sequences, lengths, batch_first=False) -> list of Tensors: the inverse of
    padding."""
    if not batch_first:
        padded_sequences = padded_sequences.transpose(0, 1)
    return [s[: int(length)] for s, length in zip(padded_sequences.unbind(0), lengths)]


def pack_sequence(sequences, enforce_sorted=True):
    """pack_sequence(sequences, enforce_sorted=True) -> PackedSequence"""
    lengths = torch.as_tensor([v.size(0) for v in sequences])
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences):
    """unpack_sequence(packed_sequences) -> list of Tensors"""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
