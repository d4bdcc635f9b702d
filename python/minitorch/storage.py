# SPDX-License-Identifier: BSD-3-Clause
"""Storages as Python sees them: UntypedStorage (bytes, on top of the C base), TypedStorage (the same with a
dtype, deprecated but part of the file format), and the legacy classes FloatStorage, LongStorage and so on.

Public members of TypedStorage warn once per process; the members with a leading underscore do not.
"""

import minitorch as torch
from minitorch import _C

__all__ = ["TypedStorage", "UntypedStorage"]


class UntypedStorage(_C.StorageBase):
    """A block of bytes on a device.  UntypedStorage(), UntypedStorage(nbytes), UntypedStorage(sequence of
    ints), each with `device=`."""

    is_sparse = False
    is_sparse_csr = False

    def __init__(self, *args, **kwargs):
        pass

    def __getitem__(self, index):
        if self.device.type == "meta":
            raise NotImplementedError("Not available for 'meta' device type")
        return super().__getitem__(index)

    def __iter__(self):
        return iter([self[i] for i in range(self.size())])

    def __repr__(self):
        return _text_of(self, "[%s(device=%s) of size %d]" % (torch.typename(self), self.device, len(self)))

    def __copy__(self):
        return self.clone()

    def __deepcopy__(self, memo):
        known = memo.setdefault("torch", {})
        if self._cdata not in known:
            known[self._cdata] = self.clone()
        return known[self._cdata]

    def __reduce__(self):
        return _reduce_storage(self)

    def __sizeof__(self):
        return super().__sizeof__() + self.size()

    # --- facts ---

    def size(self):
        return self.nbytes()

    def get_device(self):
        return self.device.index

    def untyped(self):
        return self

    def tolist(self):
        """The bytes as a list of integers."""
        return list(self)

    @property
    def is_cuda(self):
        return self.device.type == "cuda"

    @property
    def is_hpu(self):
        return self.device.type == "hpu"

    @property
    def filename(self):
        """The file behind a storage made by `from_file(..., shared=True)`, or None."""
        return self._get_filename()

    def _as_bytes(self):
        """A uint8 tensor over this storage."""
        with torch._C.DisableTorchFunction():
            return torch.empty((0,), dtype=torch.uint8, device=self.device).set_(self)

    # --- copies and casts ---

    def clone(self):
        """A copy of this storage."""
        return type(self)(self.nbytes(), device=self.device).copy_(self)

    def cpu(self):
        """This storage when it is on the CPU, else a copy there."""
        return self if self.device.type == "cpu" else UntypedStorage(self.nbytes()).copy_(self, False)

    def cuda(self, device=None, non_blocking=False):
        """This storage when it is on that CUDA device, else a copy there."""
        target = torch.device("cuda", device) if device else torch.device("cuda")
        return self.to(device=target, non_blocking=non_blocking)

    def hpu(self, device=None, non_blocking=False):
        return self.to(device=torch.device("hpu", device) if device else torch.device("hpu"))

    def mps(self):
        return self.to(device=torch.device("mps"))

    def to(self, *, device, non_blocking=False):
        """This storage when it is on that device, else a copy there."""
        device = torch.device(device)
        if self.device == device:
            return self
        if self.device.type == "meta":
            raise NotImplementedError("Cannot copy out of meta storage; no data!")
        return UntypedStorage(self.nbytes(), device=device).copy_(self, non_blocking)

    def type(self, dtype=None, non_blocking=False):
        """The dotted name of the class, or the bytes as another storage class."""
        kind = type(self)
        if dtype is None:
            return "%s.%s" % (kind.__module__, kind.__name__)
        if isinstance(dtype, str):
            dtype = _class_named(dtype)
        return self if dtype is kind else dtype(self.size()).copy_(self, non_blocking)

    def _to(self, dtype):
        return _cast(self._as_bytes(), dtype, self._const_data_ptr())

    def byteswap(self, dtype):
        """Exchanges the bytes of every element of that dtype (the halves of complex numbers apart)."""
        if self.device.type == "meta":
            raise NotImplementedError("Not available for 'meta' device type")
        size = _item_size(dtype)
        self._byteswap(max(size // 2, 1) if dtype.is_complex else size)

    # --- pinned and shared memory ---

    def is_pinned(self, device=None):
        """Whether the memory is page-locked."""
        return self._as_bytes().is_pinned()

    def pin_memory(self, device=None):
        """A page-locked copy."""
        if self.device.type != "cpu":
            raise TypeError("cannot pin '%s' only CPU memory can be pinned" % self.type())
        return self._as_bytes().pin_memory().untyped_storage()

    def share_memory_(self):
        """Moves the bytes to memory that other processes can map.  Such a storage cannot be resized."""
        if self.device.type in ("cpu", "meta"):
            self._share_fd_cpu_()
        return self

    @classmethod
    def _new_shared(cls, size, *, device="cpu"):
        device = torch.device(device)
        return cls._new_using_fd_cpu(size) if device.type == "cpu" else cls(size, device=device)

    __module__ = "minitorch.storage"


def _text_of(storage, info):
    if storage.device.type == "meta":
        return "...\n" + info
    return " " + "\n ".join([str(storage[i]) for i in range(storage.size())]) + "\n" + info


def _class_named(dotted):
    first, _, rest = dotted.partition(".")
    obj = torch if first in ("torch", "minitorch") else __import__(first)
    for part in rest.split("."):
        obj = getattr(obj, part)
    return obj


def _cast(tensor, dtype, old_address):
    if not isinstance(dtype, torch.dtype):
        raise TypeError("Argument 'dtype' must be torch.dtype, not %s" % type(dtype))
    storage = tensor.to(dtype)._typed_storage()
    if storage._untyped_storage._const_data_ptr() == old_address:
        storage = storage._new_wrapped_storage(storage._untyped_storage.clone())
    return storage


def _reduce_storage(storage):
    import io

    from minitorch import serialization

    stream = io.BytesIO()
    serialization.save(storage, stream, _use_new_zipfile_serialization=False)
    return (_load_from_bytes, (stream.getvalue(),))


def _load_from_bytes(b):
    """The inverse of pickling a storage."""
    import io

    from minitorch import serialization

    return serialization.load(io.BytesIO(b), weights_only=True)


# --- the deprecation warning ---

_always_warn_typed_storage_removal = False
_has_warned = False


def _get_always_warn_typed_storage_removal():
    return _always_warn_typed_storage_removal


def _set_always_warn_typed_storage_removal(always_warn):
    global _always_warn_typed_storage_removal
    if not isinstance(always_warn, bool):
        raise AssertionError("always_warn must be bool, got %s" % type(always_warn).__name__)
    _always_warn_typed_storage_removal = always_warn


def _reset_warn_typed_storage_removal():
    global _has_warned
    _has_warned = False


def _warn_typed_storage_removal(stacklevel=2):
    global _has_warned
    if _has_warned and not _always_warn_typed_storage_removal:
        return
    _has_warned = True
    import warnings

    warnings.warn(
        "TypedStorage is deprecated. It will be removed in the future and UntypedStorage will be the only "
        "storage class. This should only matter to you if you are using storages directly.  To access "
        "UntypedStorage directly, use tensor.untyped_storage() instead of tensor.storage()",
        UserWarning,
        stacklevel=stacklevel + 1,
    )


# --- dtypes and their legacy names ---

_DTYPE_OF_NAME = {
    "DoubleStorage": torch.float64,
    "FloatStorage": torch.float32,
    "HalfStorage": torch.float16,
    "LongStorage": torch.int64,
    "IntStorage": torch.int32,
    "ShortStorage": torch.int16,
    "CharStorage": torch.int8,
    "ByteStorage": torch.uint8,
    "BoolStorage": torch.bool,
    "BFloat16Storage": torch.bfloat16,
    "ComplexDoubleStorage": torch.complex128,
    "ComplexFloatStorage": torch.complex64,
}
_NAME_OF_DTYPE = {dtype: name for name, dtype in _DTYPE_OF_NAME.items()}


def _get_dtype_from_pickle_storage_type(pickle_storage_type):
    if pickle_storage_type not in _DTYPE_OF_NAME:
        raise KeyError('pickle storage type "%s" is not recognized' % pickle_storage_type)
    return _DTYPE_OF_NAME[pickle_storage_type]


def _is_int(value):
    return isinstance(value, int) or (
        not isinstance(value, (str, list, tuple, torch.Tensor)) and hasattr(value, "__index__")
    )


def _is_sequence(value):
    from collections.abc import Sequence

    return isinstance(value, Sequence)


def _item_size(dtype):
    if not isinstance(dtype, torch.dtype):
        raise RuntimeError("expected torch.dtype, but got %s" % type(dtype))
    return dtype.itemsize


class TypedStorage:
    """A storage seen as elements of one dtype.  TypedStorage(), TypedStorage(size), TypedStorage(sequence),
    each with `device=` and `dtype=`; TypedStorage(wrap_storage=untyped, dtype=dtype)."""

    is_sparse = False

    def __new__(cls, *args, wrap_storage=None, dtype=None, device=None, _internal=False):
        if not _internal:
            _warn_typed_storage_removal()
        if cls is _LegacyStorage:
            raise RuntimeError("Only child classes of _LegacyStorage can be instantiated")
        if cls is TypedStorage:
            return super().__new__(cls)
        return _new_legacy(cls, args, wrap_storage, dtype, device)

    def __init__(self, *args, device=None, dtype=None, wrap_storage=None, _internal=False):
        usage = (
            "TypedStorage.__init__ received an invalid combination of arguments. Expected one of:\n"
            " * (*, torch.device device, torch.dtype dtype)\n"
            " * (int size, *, torch.device device, torch.dtype dtype)\n"
            " * (Sequence data, *, torch.device device, torch.dtype dtype)\n"
            " * (*, UntypedStorage wrap_storage, torch.dtype dtype)"
        )
        if wrap_storage is not None:
            _require(
                not args,
                RuntimeError,
                usage,
                "No positional arguments should be given when using 'wrap_storage'",
            )
            _require(dtype is not None, RuntimeError, usage, "Argument 'dtype' must be specified")
            _require(
                isinstance(dtype, torch.dtype),
                TypeError,
                usage,
                "Argument 'dtype' must be torch.dtype, not %s" % type(dtype),
            )
            _require(
                device is None,
                RuntimeError,
                usage,
                "Argument 'device' should not be specified when 'wrap_storage' is given",
            )
            _require(
                isinstance(wrap_storage, UntypedStorage),
                TypeError,
                usage,
                "Argument 'wrap_storage' must be UntypedStorage, but got %s" % type(wrap_storage),
            )
            self.dtype = dtype
            self._untyped_storage = wrap_storage
            return
        self.dtype = torch.get_default_dtype() if dtype is None else dtype
        size = _item_size(self.dtype)
        device = torch.device("cpu" if device is None else device)
        _require(len(args) < 2, RuntimeError, usage, "Too many positional arguments")
        if not args:
            self._untyped_storage = UntypedStorage(device=device)
        elif _is_int(args[0]):
            self._untyped_storage = UntypedStorage(int(args[0]) * size, device=device)
        else:
            _require(
                _is_sequence(args[0]), TypeError, usage, "Argument type not recognized: %s" % type(args[0])
            )
            self._untyped_storage = torch.tensor(args[0], dtype=self.dtype, device=device).untyped_storage()

    # --- without the warning, for the library itself ---

    @property
    def _dtype(self):
        return self.dtype

    @property
    def _cdata(self):
        return self._untyped_storage._cdata

    def _new_wrapped_storage(self, untyped):
        if type(self) is TypedStorage:
            return TypedStorage(wrap_storage=untyped, dtype=self.dtype, _internal=True)
        return type(self)(wrap_storage=untyped)

    def _size(self):
        return self._untyped_storage.nbytes() // self.dtype.itemsize

    def _nbytes(self):
        return self._untyped_storage.nbytes()

    def _element_size(self):
        return self.dtype.itemsize

    def _data_ptr(self):
        return self._untyped_storage.data_ptr()

    def _resize_(self, size):
        self._untyped_storage.resize_(size * self.dtype.itemsize)

    def _is_shared(self):
        return self._untyped_storage.is_shared()

    def _share_memory_(self):
        self._untyped_storage.share_memory_()
        return self

    def _deepcopy(self, memo):
        from copy import deepcopy

        return self._new_wrapped_storage(deepcopy(self._untyped_storage, memo))

    def _pickle_storage_type(self):
        if self.dtype not in _NAME_OF_DTYPE:
            raise KeyError("dtype %s is not recognized" % self.dtype)
        return _NAME_OF_DTYPE[self.dtype]

    def _tensor(self):
        with torch._C.DisableTorchFunction():
            return torch.empty((0,), dtype=self.dtype, device=self._untyped_storage.device).set_(
                self._untyped_storage
            )

    def _setitem(self, index, value):
        if not isinstance(index, (int, slice)):
            raise RuntimeError("can't index a %s with %s" % (type(self), type(index)))
        if torch.is_storage(value):
            raise RuntimeError("cannot set item with value type %s" % type(value))
        self._tensor()[index] = value

    def _getitem(self, index):
        if self._untyped_storage.device.type == "meta":
            raise NotImplementedError("Not available for 'meta' device type")
        if isinstance(index, slice):
            raise RuntimeError("slices are only supported in UntypedStorage.__getitem__")
        if not isinstance(index, int):
            raise RuntimeError("can't index a %s with %s" % (type(self), type(index)))
        size = self._size()
        if not -size <= index < size:
            raise IndexError("index %d out of range for storage of size %d" % (index, size))
        return self._tensor()[index].item()

    def _to(self, dtype):
        return _cast(self._tensor(), dtype, self._untyped_storage._const_data_ptr())

    def _get_legacy_storage_class(self):
        device = self._untyped_storage.device.type
        if self.dtype not in _NAME_OF_DTYPE or device not in ("cpu", "cuda"):
            return None
        return getattr(torch if device == "cpu" else torch.cuda, _NAME_OF_DTYPE[self.dtype], None)

    def _weak_ref(self, *args, **kwargs):
        return self._untyped_storage._weak_ref(*args, **kwargs)

    def _write_file(self, *args, **kwargs):
        return self._untyped_storage._write_file(*args, **kwargs)

    def _set_from_file(self, *args, **kwargs):
        return self._untyped_storage._set_from_file(*args, **kwargs)

    def _set_cdata(self, *args, **kwargs):
        return self._untyped_storage._set_cdata(*args, **kwargs)

    def _shared_incref(self, *args, **kwargs):
        return self._untyped_storage._shared_incref(*args, **kwargs)

    def _shared_decref(self):
        self._untyped_storage._shared_decref()
        return self

    def _share_fd_cpu_(self, *args, **kwargs):
        fd, size = self._untyped_storage._share_fd_cpu_(*args, **kwargs)
        return fd, size // self.dtype.itemsize

    def _share_filename_cpu_(self, *args, **kwargs):
        manager, name, size = self._untyped_storage._share_filename_cpu_(*args, **kwargs)
        return manager, name, size // self.dtype.itemsize

    def _new_shared(self, size, *, device=None):
        untyped = UntypedStorage._new_shared(size * self.dtype.itemsize, device=device or "cpu")
        return TypedStorage(wrap_storage=untyped, dtype=self.dtype, _internal=True)

    @classmethod
    def _free_weak_ref(cls, *args, **kwargs):
        return UntypedStorage._free_weak_ref(*args, **kwargs)

    @classmethod
    def _expired(cls, *args, **kwargs):
        return UntypedStorage._expired(*args, **kwargs)

    @property
    def filename(self):
        return self._untyped_storage.filename

    def __reduce__(self):
        return _reduce_storage(self)

    # --- public: every use warns once ---

    def fill_(self, value):
        _warn_typed_storage_removal()
        self._setitem(slice(0, self._size()), value)
        return self

    def untyped(self):
        """The bytes behind this storage."""
        _warn_typed_storage_removal()
        return self._untyped_storage

    def __len__(self):
        _warn_typed_storage_removal()
        return self._size()

    def __setitem__(self, index, value):
        _warn_typed_storage_removal()
        self._setitem(index, value)

    def __getitem__(self, index):
        _warn_typed_storage_removal()
        return self._getitem(index)

    def __iter__(self):
        _warn_typed_storage_removal()
        return iter([self._getitem(i) for i in range(self._size())])

    def __str__(self):
        _warn_typed_storage_removal()
        return _text_of(
            self,
            "[torch.storage.%s(dtype=%s, device=%s) of size %d]"
            % (type(self).__name__, self.dtype, self.device, len(self)),
        )

    __repr__ = __str__

    def __copy__(self):
        _warn_typed_storage_removal()
        return self._new_wrapped_storage(self._untyped_storage.clone())

    clone = __copy__

    def __deepcopy__(self, memo):
        _warn_typed_storage_removal()
        return self._deepcopy(memo)

    def __sizeof__(self):
        _warn_typed_storage_removal()
        return super().__sizeof__() + self._nbytes()

    def copy_(self, source, non_blocking=None):
        _warn_typed_storage_removal()
        self._untyped_storage.copy_(getattr(source, "_untyped_storage", source), non_blocking)
        return self

    def type(self, dtype=None, non_blocking=False):
        _warn_typed_storage_removal()
        if dtype is not None:
            return self._untyped_storage.type(dtype, non_blocking)
        legacy = self._get_legacy_storage_class()
        if legacy is not None:
            return "torch.%s" % legacy.__name__
        return "torch.storage.%s" % type(self).__name__

    def cuda(self, device=None, non_blocking=False):
        _warn_typed_storage_removal()
        return self._new_wrapped_storage(self._untyped_storage.cuda(device, non_blocking))

    def hpu(self, device=None, non_blocking=False):
        _warn_typed_storage_removal()
        return self._new_wrapped_storage(self._untyped_storage.hpu(device, non_blocking))

    def to(self, *, device, non_blocking=False):
        _warn_typed_storage_removal()
        return self._new_wrapped_storage(self._untyped_storage.to(device=device, non_blocking=non_blocking))

    def cpu(self):
        _warn_typed_storage_removal()
        return self._new_wrapped_storage(self._untyped_storage.cpu())

    def pin_memory(self, device=None):
        _warn_typed_storage_removal()
        return self._new_wrapped_storage(self._untyped_storage.pin_memory(device))

    def tolist(self):
        _warn_typed_storage_removal()
        return list(self)

    @property
    def device(self):
        _warn_typed_storage_removal()
        return self._untyped_storage.device

    @property
    def is_cuda(self):
        _warn_typed_storage_removal()
        return self._untyped_storage.device.type == "cuda"

    @property
    def is_hpu(self):
        _warn_typed_storage_removal()
        return False

    @classmethod
    def from_buffer(cls, *args, **kwargs):
        _warn_typed_storage_removal()
        return cls._from_buffer(*args, **kwargs)

    @classmethod
    def _from_buffer(cls, *args, dtype=None, device=None, **kwargs):
        if cls is TypedStorage:
            dtype = torch.get_default_dtype() if dtype is None else dtype
            device = torch.device("cpu" if device is None else device)
            if device.type != "cpu":
                raise RuntimeError("TypedStorage.from_buffer: Not available for device %s" % device.type)
        else:
            only = "can only be specified in UntypedStorage.from_buffer and TypedStorage.from_buffer"
            if dtype is not None or len(args) == 5:
                raise RuntimeError("from_buffer: 'dtype' " + only)
            if device is not None:
                raise RuntimeError("from_buffer: 'device' " + only)
            dtype = cls._dtype
        untyped = UntypedStorage.from_buffer(*args, dtype=dtype, **kwargs)
        return TypedStorage(wrap_storage=untyped, dtype=dtype, _internal=True)

    @classmethod
    def from_file(cls, filename, shared, size):
        """A storage over a memory-mapped file."""
        _warn_typed_storage_removal()
        if cls is TypedStorage:
            raise RuntimeError("from_file can only be called on derived classes")
        return cls(wrap_storage=UntypedStorage.from_file(filename, shared, size * cls._dtype.itemsize))


def _plain(name, private=None, unwrap=False):
    """A public member that warns and calls the private one, or the one of the bytes."""

    def method(self, *args, **kwargs):
        _warn_typed_storage_removal()
        target = self._untyped_storage if unwrap else self
        return getattr(target, private or name)(*args, **kwargs)

    method.__name__ = method.__qualname__ = name
    return method


for _name in ("size", "nbytes", "element_size", "data_ptr", "resize_", "is_shared", "share_memory_"):
    setattr(TypedStorage, _name, _plain(_name, "_" + _name))
setattr(TypedStorage, "pickle_storage_type", _plain("pickle_storage_type", "_pickle_storage_type"))
for _name in ("get_device", "resizable", "is_pinned"):
    setattr(TypedStorage, _name, _plain(_name, unwrap=True))


def _casting(name, dtype):
    def typed(self):
        _warn_typed_storage_removal()
        return self._to(dtype)

    def untyped(self):
        return self._to(dtype)

    typed.__name__ = untyped.__name__ = name
    typed.__doc__ = untyped.__doc__ = "The elements converted to %s, as a typed storage." % dtype
    setattr(TypedStorage, name, typed)
    setattr(UntypedStorage, name, untyped)


for _name in "double float half long int short char byte bool bfloat16 complex_double complex_float".split():
    _casting(
        _name,
        _DTYPE_OF_NAME[
            {"bfloat16": "BFloat16", "complex_double": "ComplexDouble", "complex_float": "ComplexFloat"}.get(
                _name, _name.capitalize()
            )
            + "Storage"
        ],
    )


# --- legacy classes ---


def _require(condition, kind, usage, message):
    if not condition:
        raise kind(usage + "\n" + message)


def _legacy_device(cls):
    return "cuda" if cls.__module__.endswith(".cuda") else "cpu"


def _new_legacy(cls, args, wrap_storage, dtype, device):
    usage = (
        "%s.__new__ received an invalid combination of arguments. Expected one of:\n * no arguments\n * "
        "(int size)\n"
        " * (Sequence data)\n * (*, UntypedStorage wrap_storage)" % cls
    )
    _require(device is None, RuntimeError, usage, "Keyword argument 'device' cannot be specified")
    _require(dtype is None, RuntimeError, usage, "Keyword argument 'dtype' cannot be specified")
    if wrap_storage is None:
        _require(len(args) < 2, RuntimeError, usage, "Too many positional arguments")
        _require(
            not args or _is_int(args[0]) or _is_sequence(args[0]),
            TypeError,
            usage,
            "Argument type not recognized: %s" % (type(args[0]) if args else None),
        )
        return TypedStorage(*args, dtype=cls._dtype, device=_legacy_device(cls), _internal=True)
    _require(
        not args, RuntimeError, usage, "No positional arguments should be given when using 'wrap_storage'"
    )
    _require(
        isinstance(wrap_storage, UntypedStorage),
        TypeError,
        usage,
        "Argument 'wrap_storage' must be UntypedStorage, but got %s" % type(wrap_storage),
    )
    _require(
        wrap_storage.device.type == _legacy_device(cls),
        RuntimeError,
        usage,
        "Device of 'wrap_storage' must be %s, but got %s" % (_legacy_device(cls), wrap_storage.device.type),
    )
    return TypedStorage(wrap_storage=wrap_storage, dtype=cls._dtype, _internal=True)


class _LegacyStorageMeta(type):
    def __instancecheck__(cls, instance):
        if type(instance) is not TypedStorage or cls._dtype is None:
            return False
        return instance._untyped_storage.device.type == _legacy_device(cls) and cls._dtype == instance.dtype

    @property
    def dtype(cls):
        _warn_typed_storage_removal(stacklevel=2)
        return cls._dtype


class _LegacyStorage(TypedStorage, metaclass=_LegacyStorageMeta):
    _dtype = None

    @classmethod
    def _new_shared(cls, size):
        return cls(wrap_storage=UntypedStorage._new_shared(size * cls._dtype.itemsize))


def _legacy_class(name, module="minitorch"):
    return _LegacyStorageMeta(name, (_LegacyStorage,), {"_dtype": _DTYPE_OF_NAME[name], "__module__": module})


for _name in _DTYPE_OF_NAME:
    globals()[_name] = _legacy_class(_name)
del _name

_C._register_storage_class(UntypedStorage)
