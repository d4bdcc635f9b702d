# SPDX-License-Identifier: BSD-3-Clause
"""Tensors and storages on their way to another process: the memory becomes shared, what travels is a handle to it.

A storage that arrives twice is one object: received storages are remembered by their handle while they live.
"""

import os
import weakref
from multiprocessing import reduction
from multiprocessing.reduction import ForkingPickler

import minitorch as torch

_received = weakref.WeakValueDictionary()


def _key_of(fd):
    facts = os.fstat(fd)
    return facts.st_ino, facts.st_dev


def _storage_from_fd(cls, handle, size):
    fd = handle.detach()
    try:
        key = _key_of(fd)
        storage = _received.get(key)
        if storage is None:
            storage = _received[key] = cls._new_shared_fd_cpu(fd, size)
        return storage
    finally:
        os.close(fd)


def _storage_from_name(cls, manager, name, size):
    storage = _received.get(name)
    if storage is None:
        storage = _received[name] = cls._new_shared_filename_cpu(manager, name, size)
    storage._shared_decref()
    return storage


def _empty_storage(cls):
    return cls()


def reduce_storage(storage):
    """How a CPU storage is pickled for another process."""
    from minitorch import multiprocessing

    if storage.device.type != "cpu":
        raise RuntimeError(
            "cannot send a storage on device %s to another process, only one on the CPU" % storage.device
        )
    if storage.size() == 0:
        return _empty_storage, (type(storage),)
    if multiprocessing.get_sharing_strategy() == "file_system":
        manager, name, size = storage._share_filename_cpu_()
        _received[name] = storage
        storage._shared_incref()
        return _storage_from_name, (type(storage), manager, name, size)
    fd, size = storage._share_fd_cpu_()
    _received[_key_of(fd)] = storage
    return _storage_from_fd, (type(storage), reduction.DupFd(fd), size)


def reduce_typed_storage(storage):
    """The same with a dtype."""
    return _typed_storage, (storage._untyped_storage, storage.dtype)


def _typed_storage(storage, dtype):
    return torch.storage.TypedStorage(wrap_storage=storage, dtype=dtype, _internal=True)


def rebuild_tensor(cls, storage, dtype, metadata):
    """The tensor of the other process over the storage that both have now."""
    offset, size, stride, requires_grad = metadata
    with torch.no_grad():
        t = torch.empty(0, dtype=dtype, device=storage.device).set_(storage, offset, size, stride)
    if cls is torch.nn.parameter.Parameter:
        return cls(t, requires_grad=requires_grad)
    if requires_grad:
        t.requires_grad_()
    return t


def reduce_tensor(tensor):
    """How a tensor is pickled for another process."""
    if tensor.requires_grad and not tensor.is_leaf:
        raise RuntimeError(
            "Cowardly refusing to serialize non-leaf tensor which requires_grad, since autograd does not "
            "support crossing process boundaries.  If you just want to transfer the data, call detach() on "
            "the tensor before serializing (e.g., putting it on the queue)."
        )
    if tensor.device.type != "cpu" or tensor.is_conj() or tensor.is_neg():
        return tensor.__reduce_ex__(2)
    metadata = (tensor.storage_offset(), tensor.size(), tensor.stride(), tensor.requires_grad)
    return rebuild_tensor, (type(tensor), tensor.untyped_storage(), tensor.dtype, metadata)


def init_reductions():
    """Registers all this with the pickler of the standard multiprocessing."""
    ForkingPickler.register(torch.UntypedStorage, reduce_storage)
    ForkingPickler.register(torch.storage.TypedStorage, reduce_typed_storage)
    ForkingPickler.register(torch.Tensor, reduce_tensor)
    ForkingPickler.register(torch.nn.parameter.Parameter, reduce_tensor)
