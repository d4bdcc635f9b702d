# SPDX-License-Identifier: BSD-3-Clause
"""torch.save and torch.load: PyTorch's files, read and written.

The container is in `_archive`, the stream of files before PyTorch 1.6 in `_legacy_serialization`, the
unpickler that runs no code of the file in `_weights_only_unpickler`.
"""

import io
import os
import pickle
import sys
import threading
import warnings
from enum import Enum

import minitorch as torch
from minitorch import _weights_only_unpickler
from minitorch._archive import ArchiveReader, ArchiveWriter, folder_of
from minitorch._pickle_names import FramedPickler, dispatch_table, our_module, rename_globals
from minitorch._storage_places import (  # noqa: F401
    _get_restore_location,
    _is_meta_location,
    _package_registry,
    default_restore_location,
    location_tag,
    register_package,
    validate_cuda_device,
)
from minitorch.storage import TypedStorage, _get_dtype_from_pickle_storage_type
from minitorch.utils.serialization import config

__all__ = [
    "save",
    "load",
    "LoadEndianness",
    "SourceChangeWarning",
    "StorageType",
    "add_safe_globals",
    "check_module_version_greater_or_equal",
    "clear_safe_globals",
    "default_restore_location",
    "get_crc32_options",
    "get_default_load_endianness",
    "get_default_mmap_options",
    "get_safe_globals",
    "get_unsafe_globals_in_checkpoint",
    "location_tag",
    "normalize_storage_type",
    "register_package",
    "safe_globals",
    "set_crc32_options",
    "set_default_load_endianness",
    "set_default_mmap_options",
    "skip_data",
    "storage_to_tensor_type",
    "validate_cuda_device",
]

DEFAULT_PROTOCOL = 2
MAP_SHARED, MAP_PRIVATE = 1, 2

_UNSAFE = (
    "In PyTorch 2.6, we changed the default value of the `weights_only` argument in `torch.load` from "
    "`False` to `True`. Re-running `torch.load` with `weights_only` set to `False` will likely succeed, "
    "but it can result in arbitrary code execution. Do it only if you got the file from a trusted source."
)
_DOCS = (
    "\n\nCheck the documentation of torch.load to learn more about types accepted by default with "
    "weights_only https://pytorch.org/docs/stable/generated/torch.load.html."
)


class SourceChangeWarning(Warning):
    """Kept for programs that filter it; sources are not compared."""


class _Local(threading.local):
    skip_data = False
    materialize_fake_tensors = False
    map_location = None


_serialization_tls = _Local()


# --- settings ---


class LoadEndianness(Enum):
    """Byte orders to assume for files that do not say theirs."""

    NATIVE = 1
    LITTLE = 2
    BIG = 3


def get_default_load_endianness():
    """get_default_load_endianness() -> LoadEndianness or None"""
    return config.load.endianness


def set_default_load_endianness(endianness):
    """set_default_load_endianness(endianness): the byte order of files that do not say theirs."""
    if endianness is not None and not isinstance(endianness, LoadEndianness):
        raise TypeError("Invalid argument type in function set_default_load_endianness")
    config.load.endianness = endianness


def get_crc32_options():
    """get_crc32_options() -> bool: whether `save` computes checksums."""
    return config.save.compute_crc32


def set_crc32_options(compute_crc32):
    """set_crc32_options(compute_crc32): whether `save` computes checksums."""
    config.save.compute_crc32 = compute_crc32


def get_default_mmap_options():
    """get_default_mmap_options() -> int: MAP_PRIVATE or MAP_SHARED."""
    return config.load.mmap_flags


class set_default_mmap_options:
    """set_default_mmap_options(flags): the flags of `load(mmap=True)`, for good or for a `with` block."""

    def __init__(self, flags):
        if flags not in (MAP_PRIVATE, MAP_SHARED):
            raise ValueError(
                "Invalid argument in function set_default_mmap_options, expected mmap.MAP_PRIVATE or "
                "mmap.MAP_SHARED, but got %s" % (flags,)
            )
        self.prev = config.load.mmap_flags
        config.load.mmap_flags = flags

    def __enter__(self):
        pass

    def __exit__(self, exc_type, exc_value, traceback):
        config.load.mmap_flags = self.prev


class skip_data:
    """Context manager: `save` leaves room for the data of storages, `load` leaves their memory unset."""

    def __init__(self, materialize_fake_tensors=False):
        self.materialize_fake_tensors = materialize_fake_tensors

    def __enter__(self):
        self._old = _serialization_tls.skip_data
        _serialization_tls.skip_data = True

    def __exit__(self, exc_type, exc_value, traceback):
        _serialization_tls.skip_data = self._old


def add_safe_globals(safe_globals):
    """add_safe_globals(safe_globals): allows these classes and functions in `load(weights_only=True)`."""
    _weights_only_unpickler._add_safe_globals(safe_globals)


def get_safe_globals():
    """get_safe_globals() -> list: what `add_safe_globals` has added."""
    return _weights_only_unpickler._get_safe_globals()


def clear_safe_globals():
    """clear_safe_globals(): forgets what `add_safe_globals` has added."""
    _weights_only_unpickler._clear_safe_globals()


class safe_globals(_weights_only_unpickler._safe_globals):
    """safe_globals(safe_globals): context manager that allows these classes and functions."""


# --- small helpers ---


def normalize_storage_type(storage_type):
    """normalize_storage_type(storage_type): the class of that name in torch."""
    return getattr(torch, storage_type.__name__)


def storage_to_tensor_type(storage):
    """storage_to_tensor_type(storage): the legacy tensor class of a legacy storage class."""
    return getattr(torch, type(storage).__name__.replace("Storage", "Tensor"))


def check_module_version_greater_or_equal(module, req_version_tuple, error_if_malformed=True):
    """check_module_version_greater_or_equal(module, req_version_tuple, error_if_malformed=True) -> bool"""
    try:
        parts = module.__version__.split(".")
        return tuple(type(field)(parts[i]) for i, field in enumerate(req_version_tuple)) >= req_version_tuple
    except Exception as error:
        told = "'%s' module version string is malformed '%s' and cannot be compared with tuple %s" % (
            module.__name__,
            module.__version__,
            req_version_tuple,
        )
        if error_if_malformed:
            raise RuntimeError(told) from error
        warnings.warn(told + ", but continuing assuming that requirement is met", stacklevel=2)
        return True


def _maybe_decode_ascii(text):
    return text.decode("ascii") if isinstance(text, bytes) else text


def _get_layout(name):
    """The layout of a name such as 'torch.strided'."""
    layout = getattr(torch, name.partition(".")[2], None)
    if not isinstance(layout, torch.layout):
        raise KeyError(name)
    return layout


class StorageType:
    """Stands for a legacy storage class inside pickles: a name and a dtype."""

    def __init__(self, name):
        self._dtype = _get_dtype_from_pickle_storage_type(name)

    @property
    def dtype(self):
        return self._dtype

    def __str__(self):
        return "StorageType(dtype=%s)" % self.dtype


def _bytes_of(storage):
    """A view of the memory of a CPU storage."""
    return memoryview(storage._as_bytes())


def _is_path(f):
    return isinstance(f, (str, os.PathLike))


def _is_zipfile(f):
    start = f.tell()
    mark = f.read(4)
    f.seek(start)
    return mark == b"PK\x03\x04"


def _check_seekable(f):
    try:
        f.seek(f.tell())
    except (io.UnsupportedOperation, AttributeError) as error:
        if "seek" in str(error) or "tell" in str(error):
            raise type(error)(
                "%s. You can only torch.load from a file that is seekable. Please pre-load the data into a "
                "buffer like io.BytesIO and try to load from it instead." % error
            ) from None
        raise


def _check_dill_version(module):
    if module is not None and module.__name__ == "dill":
        if not check_module_version_greater_or_equal(module, (0, 3, 1), False):
            raise ValueError(
                "'torch' supports dill >= (0, 3, 1), but you have dill %s. Please upgrade dill or switch "
                "to 'pickle'" % module.__version__
            )


# --- saving ---


def save(
    obj,
    f,
    pickle_module=pickle,
    pickle_protocol=DEFAULT_PROTOCOL,
    _use_new_zipfile_serialization=True,
    _disable_byteorder_record=False,
):
    """save(obj, f, pickle_module=pickle, pickle_protocol=2)

    Writes an object, with the tensors inside it, to a file or a file-like object.  Tensors that share memory
    share it again when loaded.

    Example::

        >>> stream = io.BytesIO()
        >>> torch.save({"weight": torch.ones(2)}, stream)
    """
    _check_dill_version(pickle_module)
    if not _is_path(f) and not hasattr(f, "write"):
        raise AttributeError(
            "expected 'f' to be string, path, or a file-like object with a 'write' attribute"
        )
    if _use_new_zipfile_serialization:
        _save_archive(obj, f, pickle_module, pickle_protocol, _disable_byteorder_record)
        return
    if _serialization_tls.skip_data:
        raise RuntimeError("Cannot use skip_data=True with _use_new_zipfile_serialization=False")
    from minitorch._legacy_serialization import legacy_save

    if _is_path(f):
        with open(f, "wb") as file:
            legacy_save(obj, file, pickle_module, pickle_protocol)
    else:
        legacy_save(obj, f, pickle_module, pickle_protocol)


def _save_archive(obj, f, pickle_module, protocol, no_byteorder):
    alignment, checksums = config.save.storage_alignment, config.save.compute_crc32
    if not _is_path(f):
        writer = ArchiveWriter(f, "archive", alignment, checksums)
        _save(obj, writer, pickle_module, protocol, no_byteorder)
        writer.finish()
        f.flush()
        return
    path = os.fspath(f)
    folder = folder_of(path)
    parent = os.path.dirname(path)
    if parent and not os.path.isdir(parent):
        raise RuntimeError("Parent directory %s does not exist." % parent)
    try:
        file = open(path, "wb")
    except OSError as error:
        raise RuntimeError("open file failed with strerror: %s" % error.strerror) from error
    with file:
        writer = ArchiveWriter(file, folder, alignment, checksums)
        _save(obj, writer, pickle_module, protocol, no_byteorder)
        writer.finish()


def _parts_of_storage(obj):
    """The bytes, the dtype, the class to name and the number of elements of a storage of either kind."""
    if isinstance(obj, TypedStorage):
        return obj._untyped_storage, obj.dtype, getattr(torch, obj._pickle_storage_type()), obj._size()
    return obj, torch.uint8, torch.UntypedStorage, obj.nbytes()


def _check_one_dtype(seen, storage, dtype):
    """Memory may be saved under one dtype only."""
    if storage.device.type == "meta" or storage._const_data_ptr() == 0:
        return
    if seen.setdefault(storage._const_data_ptr(), dtype) != dtype:
        raise RuntimeError(
            "Cannot save multiple tensors or storages that view the same data as different types"
        )


def _pickle(obj, pickle_module, protocol, persistent_id):
    """The pickle of an object under PyTorch's names."""
    base = pickle_module.Pickler
    framed = protocol >= 4 or protocol < 0
    if framed and base is pickle.Pickler:
        base = FramedPickler

    class Pickler(base):
        def persistent_id(self, value):
            return persistent_id(value)

    stream = io.BytesIO()
    pickler = Pickler(stream, protocol=protocol)
    if pickle_module is pickle:
        pickler.dispatch_table = dispatch_table()
    pickler.dump(obj)
    return stream.getvalue() if framed else rename_globals(stream.getvalue())


def _save(obj, writer, pickle_module, protocol, no_byteorder):
    kinds = (TypedStorage, torch.UntypedStorage)
    storages, key_of, seen = {}, {}, {}

    def persistent_id(value):
        if not isinstance(value, kinds):
            return None
        storage, dtype, storage_type, count = _parts_of_storage(value)
        _check_one_dtype(seen, storage, dtype)
        key = key_of.setdefault(storage._cdata, str(len(key_of)))
        storages[key] = storage
        return ("storage", storage_type, key, location_tag(storage), count)

    writer.write_record("data.pkl", _pickle(obj, pickle_module, protocol, persistent_id))
    writer.write_record(".format_version", b"1")
    writer.write_record(".storage_alignment", b"%d" % writer.alignment)
    if not no_byteorder:
        writer.write_record("byteorder", sys.byteorder.encode())
    for key, storage in storages.items():
        size = storage.nbytes()
        if _serialization_tls.skip_data or storage.device.type == "meta":
            writer.write_record("data/" + key, None, size)
        else:
            writer.write_record("data/" + key, _bytes_of(storage.cpu()._read_only()) if size else b"", size)


# --- loading ---


def _explain(message):
    """The text of an UnpicklingError of `weights_only`, with what to do about it."""
    if "was not an allowed global by default." in message:
        return (
            "Weights only load failed. This file can still be loaded, to do so you have two options, "
            "\033[1mdo those steps only if you trust the source of the checkpoint\033[0m. \n\t(1) %s\n\t(2) "
            "Alternatively, to load with `weights_only=True` please check the recommended steps in the "
            "following error message.\n\tWeightsUnpickler error: %s%s" % (_UNSAFE, message, _DOCS)
        )
    told = "Weights only load failed. %s\n" % _UNSAFE
    if " is blocked" not in message:
        told += (
            "Please file an issue with the following so that we can make `weights_only=True` compatible "
            "with your use case: WeightsUnpickler error: "
        )
    return told + "\n\n" + message + _DOCS


def _true_in_environment(name):
    return os.getenv(name, "0").lower() in ("1", "y", "yes", "true")


def _decide_weights_only(weights_only, pickle_module):
    given = weights_only is not None
    if not given:
        weights_only = pickle_module is None
    force, force_not = map(
        _true_in_environment, ("TORCH_FORCE_WEIGHTS_ONLY_LOAD", "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD")
    )
    if force and force_not:
        raise RuntimeError(
            "Only one of `TORCH_FORCE_WEIGHTS_ONLY_LOAD` or `TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD` should be "
            "set, but both were set."
        )
    if force:
        weights_only = True
    elif force_not and not given:
        warnings.warn(
            "Environment variable TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD detected, since the`weights_only` "
            "argument was not explicitly passed to `torch.load`, forcing weights_only=False.",
            UserWarning,
            stacklevel=3,
        )
        weights_only = False
    if weights_only and pickle_module is not None:
        raise RuntimeError("Can not safely load weights when explicit pickle_module is specified")
    return weights_only


def load(f, map_location=None, pickle_module=None, *, weights_only=None, mmap=None, **pickle_load_args):
    """load(f, map_location=None, pickle_module=None, *, weights_only=True, mmap=None, **pickle_load_args)

    Reads what `save`, or PyTorch's, has written.  With `weights_only`, the default, only tensors, plain
    containers and allowed classes are made; without it the file can run any code.  `map_location` says where
    storages go: a device, a dict of places, or a function of the storage and its place.

    Example::

        >>> stream = io.BytesIO()
        >>> torch.save([torch.ones(2)], stream)
        >>> position = stream.seek(0)
        >>> torch.load(stream)
        [tensor([1., 1.])]
    """
    weights_only = _decide_weights_only(weights_only, pickle_module)
    if pickle_load_args and weights_only:
        warnings.warn("pickle_load_args only works if `weights_only=False`.", stacklevel=2)
    _check_dill_version(pickle_module)
    pickle_load_args.setdefault("encoding", "utf-8")
    unpickling = _weights_only_unpickler if weights_only else pickle_module or pickle
    mmap = config.load.mmap if mmap is None else mmap
    path = os.fspath(f) if _is_path(f) else None
    if path is None:
        _check_seekable(f)
    file = open(path, "rb") if path is not None else f
    try:
        return _load_file(file, path, map_location, unpickling, mmap, pickle_load_args)
    except pickle.UnpicklingError as error:
        if not weights_only:
            raise
        raise pickle.UnpicklingError(_explain(str(error))) from None
    finally:
        if path is not None:
            file.close()


def _load_file(file, path, map_location, unpickling, mmap, arguments):
    if not _is_zipfile(file):
        if mmap:
            raise RuntimeError(
                "mmap can only be used with files saved with "
                "`torch.save(%s_use_new_zipfile_serialization=True), please torch.save your checkpoint "
                "with this option in order to use mmap." % ("" if path is None else path + ", ")
            )
        from minitorch._legacy_serialization import legacy_load

        return legacy_load(file, _get_restore_location(map_location), unpickling, arguments)
    reader = ArchiveReader(file)
    if reader.has_record("constants.pkl"):
        if unpickling is _weights_only_unpickler:
            raise RuntimeError(
                "Cannot use ``weights_only=True`` with TorchScript archives passed to ``torch.load``. "
                + _UNSAFE
            )
        raise RuntimeError("the file is a TorchScript archive; there is no TorchScript here")
    mapped = None
    if mmap:
        if path is None:
            raise ValueError("f must be a file path in order to use the mmap argument")
        shared = config.load.mmap_flags == MAP_SHARED
        mapped = torch.UntypedStorage.from_file(path, shared, os.path.getsize(path))
    return _load(reader, map_location, unpickling, mapped, arguments)


def _byteorder_of(reader):
    if reader.has_record("byteorder"):
        order = reader.read_record("byteorder").decode("ascii", "replace")
        if order not in ("little", "big"):
            raise ValueError("Unknown endianness type: " + order)
        return order
    chosen = config.load.endianness
    if chosen is LoadEndianness.NATIVE:
        return sys.byteorder
    return "big" if chosen is LoadEndianness.BIG else "little"


class _ArchiveStorages:
    """The storages of an archive, by the tuples that stand for them in the pickle."""

    def __init__(self, reader, map_location, mapped):
        self.reader = reader
        self.restore = _get_restore_location(map_location)
        self.to_meta = _is_meta_location(map_location)
        self.mapped = mapped
        self.swapped = _byteorder_of(reader) != sys.byteorder
        self.loaded = {}

    def persistent_load(self, saved_id):
        if not isinstance(saved_id, tuple):
            raise AssertionError("saved_id must be a tuple, got %s" % type(saved_id).__name__)
        if len(saved_id) != 5:
            raise pickle.UnpicklingError("a storage is described by 5 values, got %d" % len(saved_id))
        kind = _maybe_decode_ascii(saved_id[0])
        if kind != "storage":
            raise AssertionError(
                "Unknown typename for persistent_load, expected 'storage' but got '%s'" % (kind,)
            )
        storage_type, key, location, count = saved_id[1:]
        if not isinstance(key, str) or type(count) is not int or count < 0:
            raise pickle.UnpicklingError("a storage of the file has no valid name or size")
        if key in self.loaded:
            return self.loaded[key]
        dtype = torch.uint8 if storage_type is torch.UntypedStorage else storage_type.dtype
        storage = self._read("data/" + key, count * dtype.itemsize)
        if self.swapped and not self.to_meta:
            storage.byteswap(dtype)
        if not self.to_meta:
            storage = self.restore(storage, _maybe_decode_ascii(location))
        result = TypedStorage(wrap_storage=storage, dtype=dtype, _internal=True)
        if result._data_ptr() != 0:
            self.loaded[key] = result
        return result

    def _read(self, name, size):
        if self.to_meta:
            storage = torch.UntypedStorage(size, device="meta")
            storage._checkpoint_offset = self.reader.record_offset(name)
            return storage
        if _serialization_tls.skip_data:
            return torch.UntypedStorage(size)
        found = self.reader.record_size(name)
        if found != size:
            raise RuntimeError(
                "record size (%d bytes) does not match expected size (%d bytes = %d elements * 1 "
                "bytes/element) for dtype Byte" % (found, size, size)
            )
        if self.mapped is not None:
            start = self.reader.record_offset(name)
            return self.mapped[start : start + size]
        storage = torch.UntypedStorage(size)
        if size:
            self.reader.read_into(name, _bytes_of(storage))
        return storage


def _unpickler(unpickling, file, persistent_load, arguments):
    """An unpickler of any kind that knows PyTorch's names as ours."""

    class Unpickler(unpickling.Unpickler):
        def find_class(self, module, name):
            if (
                type(name) is str
                and name.endswith("Storage")
                and name not in ("UntypedStorage", "TypedStorage")
            ):
                try:
                    return StorageType(name)
                except KeyError:
                    pass
            if module == "torch.tensor":
                module = "torch._tensor"
            return super().find_class(module if restricted else our_module(module), name)

    restricted = unpickling is _weights_only_unpickler
    result = Unpickler(file, **arguments)
    result.persistent_load = persistent_load
    return result


def _load(reader, map_location, unpickling, mapped, arguments):
    storages = _ArchiveStorages(reader, map_location, mapped)
    stream = io.BytesIO(reader.read_record("data.pkl"))
    unpickler = _unpickler(unpickling, stream, storages.persistent_load, arguments)
    _serialization_tls.map_location = map_location
    try:
        return unpickler.load()
    finally:
        _serialization_tls.map_location = None


def get_unsafe_globals_in_checkpoint(f):
    """get_unsafe_globals_in_checkpoint(f) -> list of str: names in the file that `weights_only` would
    refuse."""
    file = open(f, "rb") if _is_path(f) else f
    try:
        if not _is_zipfile(file):
            raise ValueError("Expected input to be a checkpoint returned by torch.save")
        reader = ArchiveReader(file)
        if reader.has_record("constants.pkl"):
            raise ValueError(
                "Expected input to be a checkpoint returned by torch.save but got a torchscript checkpoint"
            )
        names = _weights_only_unpickler.get_globals_in_pkl(io.BytesIO(reader.read_record("data.pkl")))
    finally:
        if file is not f:
            file.close()
    allowed = set(_weights_only_unpickler._get_allowed_globals())
    return list(names - allowed - set(_weights_only_unpickler._get_user_allowed_globals()))
