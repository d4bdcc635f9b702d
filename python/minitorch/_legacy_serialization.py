# SPDX-License-Identifier: BSD-3-Clause
"""The file format before PyTorch 1.6, still used for pickled storages: pickles one after the other, then raw
data."""

import io
import os
import pickle
import sys
import tarfile
import warnings

import minitorch as torch
from minitorch import _weights_only_unpickler
from minitorch.serialization import (
    _UNSAFE,
    _check_one_dtype,
    _maybe_decode_ascii,
    _parts_of_storage,
    _pickle,
    _unpickler,
    location_tag,
)
from minitorch.storage import TypedStorage

MAGIC_NUMBER = 0x1950A86A20F9469CFC6C
PROTOCOL_VERSION = 1001


def _is_real_file(f):
    try:
        return type(f).__module__ != "gzip" and f.fileno() >= 0
    except (AttributeError, io.UnsupportedOperation):
        return False


# --- writing ---


def legacy_save(obj, f, pickle_module, protocol):
    """legacy_save(obj, f, pickle_module, protocol)"""
    kinds = (TypedStorage, torch.UntypedStorage)
    storages, seen, modules = {}, {}, set()

    def persistent_id(value):
        if isinstance(value, kinds):
            storage, dtype, storage_type, count = _parts_of_storage(value)
            _check_one_dtype(seen, storage, dtype)
            key = str(storage._cdata)
            storages.setdefault(key, (storage, dtype))
            return ("storage", storage_type, key, location_tag(storage), count, None)
        if isinstance(value, type) and issubclass(value, torch.nn.Module) and value not in modules:
            modules.add(value)
            return ("module", value, *_source_of(value))
        return None

    sizes = {"short": 2, "int": 4, "long": 4}
    system = {
        "protocol_version": PROTOCOL_VERSION,
        "little_endian": sys.byteorder == "little",
        "type_sizes": sizes,
    }
    for value in (MAGIC_NUMBER, PROTOCOL_VERSION, system):
        pickle_module.dump(value, f, protocol=protocol)
    f.write(_pickle(obj, pickle_module, protocol, persistent_id))
    keys = sorted(storages)
    pickle_module.dump(keys, f, protocol=protocol)
    f.flush()
    for key in keys:
        storage, dtype = storages[key]
        storage._write_file(f, _is_real_file(f), True, dtype.itemsize)


def _source_of(cls):
    """The file and text of a class; None and None, with a warning, where there is none."""
    import inspect

    try:
        return inspect.getsourcefile(cls), inspect.getsource(cls)
    except Exception:
        warnings.warn(
            "Couldn't retrieve source code for container of type %s. It won't be checked for correctness "
            "upon loading." % cls.__name__,
            stacklevel=2,
        )
        return None, None


# --- reading ---


class _StreamStorages:
    """The storages of a stream: made when the pickle names them, filled when the data are reached."""

    def __init__(self, restore, limit):
        self.restore = restore
        self.limit = limit
        self.known = {}

    def persistent_load(self, saved_id):
        if not isinstance(saved_id, tuple):
            raise AssertionError("saved_id must be a tuple, got %s" % type(saved_id).__name__)
        kind = _maybe_decode_ascii(saved_id[0]) if saved_id else None
        if kind == "module" and len(saved_id) >= 2:
            return saved_id[1]
        if kind != "storage":
            raise RuntimeError("Unknown saved id type: %s" % (kind,))
        if len(saved_id) != 6:
            raise pickle.UnpicklingError("a storage is described by 6 values, got %d" % len(saved_id))
        storage_type, key, location, count, view = saved_id[1:]
        dtype = torch.uint8 if storage_type is torch.UntypedStorage else storage_type.dtype
        whole = self._storage(key, count, dtype, _maybe_decode_ascii(location))
        return whole if view is None else self._view(whole, dtype, *view)

    def _storage(self, key, count, dtype, location):
        if key in self.known:
            return self.known[key]
        if type(count) is not int or not 0 <= count * dtype.itemsize <= self.limit:
            raise pickle.UnpicklingError("a storage of the file has no valid size")
        storage = self.restore(torch.UntypedStorage(count * dtype.itemsize), location)
        self.known[key] = TypedStorage(wrap_storage=storage, dtype=dtype, _internal=True)
        return self.known[key]

    def _view(self, whole, dtype, key, offset, count):
        if key not in self.known:
            part = whole._untyped_storage[offset * dtype.itemsize : (offset + count) * dtype.itemsize]
            self.known[key] = TypedStorage(wrap_storage=part, dtype=dtype, _internal=True)
        return self.known[key]


def _refuse_archives(f, unpickling):
    """The tar format of the first releases is not read."""
    if not _is_real_file(f) or f.tell() != 0:
        return
    try:
        tarfile.open(fileobj=f, mode="r:").close()
    except tarfile.TarError:
        f.seek(0)
        return
    if unpickling is _weights_only_unpickler:
        raise RuntimeError(
            "Cannot use ``weights_only=True`` with files saved in the legacy .tar format. " + _UNSAFE
        )
    raise RuntimeError(
        "files saved in the legacy .tar format cannot be read; save them again with a newer PyTorch"
    )


def _remaining(f):
    at = f.tell()
    end = f.seek(0, os.SEEK_END)
    f.seek(at)
    return (f.tell() if end is None else end) - at


def legacy_load(f, restore, unpickling, arguments):
    """legacy_load(f, restore, unpickling, arguments): the object of a stream."""
    _refuse_archives(f, unpickling)
    if unpickling.load(f, **arguments) != MAGIC_NUMBER:
        raise RuntimeError("Invalid magic number; corrupt file?")
    version = unpickling.load(f, **arguments)
    if version != PROTOCOL_VERSION:
        raise RuntimeError("Invalid protocol version: %s" % (version,))
    unpickling.load(f, **arguments)
    storages = _StreamStorages(restore, _remaining(f))
    result = _unpickler(unpickling, f, storages.persistent_load, arguments).load()
    keys = unpickling.load(f, **arguments)
    if type(keys) is not list:
        raise pickle.UnpicklingError("the names of the storages must be a list, got %s" % type(keys))
    offset = f.tell() if _is_real_file(f) else None
    for key in keys:
        if key not in storages.known:
            raise AssertionError("storage key %r not found in deserialized_objects" % (key,))
        storage = storages.known[key]
        storage._untyped_storage._set_from_file(f, offset, offset is not None, storage.dtype.itemsize)
        if offset is not None:
            offset = f.tell()
    return result
