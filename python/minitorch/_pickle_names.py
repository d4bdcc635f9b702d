# SPDX-License-Identifier: BSD-3-Clause
"""Names of classes and functions inside pickles.

Files carry PyTorch's names, so that both libraries read both's files.  Writing: an ordinary pickler writes
our names, then the stream is gone through and the GLOBAL instructions are renamed.  Reading: `torch...` is
looked up here.
"""

import copyreg
import pickle
import re

import minitorch as torch

OURS, THEIRS = "minitorch", "torch"

# Instructions by the kind of argument: a fixed number of bytes, a length of so many bytes and then data, or
# lines.
_FIXED = {
    0: b"()]}.012NQRabdeltosu\x81\x85\x86\x87\x88\x89\x8f\x90\x91\x92\x93\x94\x97\x98",
    1: b"Khq\x80\x82",
    2: b"M\x83",
    4: b"Jrj\x84",
    8: b"G\x95",
}
_COUNTED = {1: b"CU\x8a\x8c", 4: b"BTX\x8b", 8: b"\x8d\x8e\x96"}
_LINES = {1: b"FILPSVgp", 2: b"ci"}


def _run_of_fixed():
    kinds = [b"[%s].{%d}" % (re.escape(codes), size) for size, codes in _FIXED.items()]
    return re.compile(b"(?:%s){1,20000}" % b"|".join(kinds), re.DOTALL)


_fixed_run = _run_of_fixed()
_width_of = {code: width for width, codes in _COUNTED.items() for code in codes}
_lines_of = {code: count for count, codes in _LINES.items() for code in codes}


def torch_module(module):
    """torch_module(module): PyTorch's name of one of our modules; other names unchanged."""
    if module == __name__:
        return THEIRS
    if module == OURS or module.startswith(OURS + "."):
        return THEIRS + module[len(OURS) :]
    return module


def our_module(module):
    """our_module(module): our name of one of PyTorch's modules; other names unchanged."""
    if module == THEIRS or module.startswith(THEIRS + "."):
        return OURS + module[len(THEIRS) :]
    return module


def rename_globals(data):
    """rename_globals(data): the pickle with `minitorch` replaced by `torch` in its GLOBAL instructions."""
    ours, here = OURS.encode(), __name__.encode() + b"\n"
    if b"c" + ours not in data:
        return data
    parts, copied, at, end = [], 0, 0, len(data)
    while at < end:
        run = _fixed_run.match(data, at)
        if run:
            at = run.end()
            continue
        code = data[at]
        width = _width_of.get(code)
        if width is not None:
            at += 1 + width + int.from_bytes(data[at + 1 : at + 1 + width], "little")
            continue
        stop = at
        for _ in range(_lines_of[code]):
            stop = data.index(b"\n", stop + 1)
        if code == 99 and data.startswith(here, at + 1):
            parts += (data[copied : at + 1], THEIRS.encode())
            copied = at + len(here)
        elif code == 99 and data.startswith(ours, at + 1) and data[at + 1 + len(ours)] in b".\n":
            parts += (data[copied : at + 1], THEIRS.encode())
            copied = at + 1 + len(ours)
        at = stop + 1
    parts.append(data[copied:])
    return b"".join(parts)


# --- objects of C classes ---


def device(*args):
    """Stands for torch.device in pickles of `save`."""
    return torch.device(*args)


def Size(*args):
    """Stands for torch.Size in pickles of `save`."""
    return torch.Size(*args)


def _reduce_device(value):
    return device, (value.type,) if value.index is None else (value.type, value.index)


def _reduce_size(value):
    return Size, (tuple(value),)


device.__module__ = Size.__module__ = __name__


def dispatch_table():
    """dispatch_table(): reducers for a pickler, ours added to the registered ones; classes go by their names."""
    table = {**copyreg.dispatch_table, torch.device: _reduce_device, torch.Size: _reduce_size}
    table.pop(type(torch.Tensor), None)
    return table


class FramedPickler(pickle._Pickler):
    """For protocols from 4 on, whose names are counted strings: writes the right names at once."""

    dispatch = pickle._Pickler.dispatch.copy()

    def save_global(self, obj, name=None):
        module = getattr(obj, "__module__", None)
        renamed = torch_module(module) if isinstance(module, str) else module
        if renamed == module:
            return pickle._Pickler.save_global(self, obj, name)
        self.save(renamed)
        self.save(name or obj.__qualname__)
        self.write(pickle.STACK_GLOBAL)
        self.memoize(obj)

    for _kind, _function in list(dispatch.items()):
        if _function is pickle._Pickler.save_global:
            dispatch[_kind] = save_global
    del _kind, _function
