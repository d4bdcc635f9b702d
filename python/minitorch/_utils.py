# SPDX-License-Identifier: BSD-3-Clause
"""Taking tensors apart for pickle and copy, and putting them together again.

The functions named `_rebuild_*` are part of the file format: pickles refer to them by name, under
`torch._utils` in files that PyTorch shares with us.  They check what they are given, since a damaged file may
contain anything.
"""

from collections import OrderedDict

import minitorch as torch
from minitorch import _C


def _tensor_class():
    """The class Tensor, in pickles of programs to which its name is torch.Tensor."""
    return torch.Tensor


def _element_size(dtype):
    """Bytes of one element."""
    return dtype.itemsize


def _dtype_to_typestr(dtype):
    """The type string of the array interface of NumPy."""
    if dtype is torch.bool:
        return "|b1"
    kind = "c" if dtype.is_complex else "f" if dtype.is_floating_point else "i" if dtype.is_signed else "u"
    if dtype is torch.bfloat16:
        kind = "V"
    return "%s%s%d" % ("|" if dtype.itemsize == 1 else "<", kind, dtype.itemsize)


# --- state of subclasses ---


def _slot_names(cls):
    import copyreg

    return copyreg._slotnames(cls)


def _get_obj_state(obj):
    """The attributes a subclass has added: a dictionary, or a pair (dictionary, slots), or something
    empty."""
    if type(obj) is torch.Tensor:
        return obj.__dict__
    getstate = getattr(obj, "__getstate__", None)
    if getstate is not None:
        return getstate()
    names = _slot_names(type(obj))
    if names:
        return obj.__dict__, {name: getattr(obj, name) for name in names if hasattr(obj, name)}
    return obj.__dict__


def _set_obj_state(obj, state):
    if isinstance(state, tuple):
        if len(state) != 2:
            raise RuntimeError("Invalid serialized state: %s" % (state,))
        parts = state
    else:
        parts = (state,)
    for part in parts:
        if part:
            for name, value in part.items():
                setattr(obj, name, value)
    return obj


# --- taking apart ---


def _untyped_dtypes():
    """The dtypes that came after the typed storages: their storages are written untyped."""
    names = (
        "float8_e5m2 float8_e4m3fn float8_e5m2fnuz float8_e4m3fnuz float8_e8m0fnu float4_e2m1fn_x2 "
        "complex32 uint16 uint32 uint64"
    )
    return [getattr(torch, name) for name in names.split() if hasattr(torch, name)]


def _reduce_tensor(tensor):
    """(function, arguments) that make the tensor again, without class and attributes."""
    from minitorch.utils.hooks import warn_if_has_hooks

    warn_if_has_hooks(tensor)
    if tensor.is_meta:
        return (
            _rebuild_meta_tensor_no_storage,
            (tensor.dtype, tuple(tensor.size()), tensor.stride(), tensor.requires_grad),
        )
    untyped = tensor.dtype in _untyped_dtypes()
    storage = tensor.untyped_storage() if untyped else tensor._typed_storage()
    args = (
        storage,
        tensor.storage_offset(),
        tuple(tensor.size()),
        tensor.stride(),
        tensor.requires_grad,
        OrderedDict(),
    )
    if untyped:
        args += (tensor.dtype,)
    metadata = get_tensor_metadata(tensor)
    if metadata:
        args += (metadata,)
    return (_rebuild_tensor_v3 if untyped else _rebuild_tensor_v2, args)


def get_tensor_metadata(tensor):
    """The bits that the numbers alone do not tell."""
    metadata = {}
    with torch._C.DisableTorchFunction():
        if tensor.is_conj():
            metadata["conj"] = True
        if tensor.is_neg():
            metadata["neg"] = True
    return metadata


def set_tensor_metadata(tensor, metadata):
    if not isinstance(metadata, dict):
        raise AssertionError("expected dict, got %s" % type(metadata).__name__)
    _C._set_tensor_metadata(tensor, metadata)


# --- putting together ---


def _check_geometry(nbytes, itemsize, offset, size, stride):
    """Raises unless the geometry stays inside the storage."""
    if not isinstance(size, tuple) or not isinstance(stride, tuple) or len(size) != len(stride):
        raise RuntimeError("rebuilding a tensor: size and stride must be tuples of the same length")
    for value in (offset,) + size + stride:
        if not isinstance(value, int) or value < 0:
            raise RuntimeError("rebuilding a tensor: sizes, strides and offset must be non-negative integers")
    last = offset
    for length, step in zip(size, stride):
        if length == 0:
            return
        last += (length - 1) * step
    if (last + 1) * itemsize > nbytes:
        raise RuntimeError(
            "rebuilding a tensor: size %s, stride %s and storage offset %d are out of bounds for a storage "
            "of %d bytes" % (list(size), list(stride), offset, nbytes)
        )


def _set_storage(storage, dtype, offset, size, stride):
    untyped = getattr(storage, "_untyped_storage", storage)
    size, stride = tuple(size), tuple(stride)
    _check_geometry(untyped.nbytes(), dtype.itemsize, offset, size, stride)
    tensor = torch.empty((0,), dtype=dtype, device=untyped.device)
    with torch._C.DisableTorchFunction():
        return tensor.set_(untyped, offset, size, stride)


def _rebuild_tensor(storage, storage_offset, size, stride):
    return _set_storage(storage, storage.dtype, storage_offset, size, stride)


def _rebuild_tensor_v2(storage, storage_offset, size, stride, requires_grad, backward_hooks, metadata=None):
    tensor = _rebuild_tensor(storage, storage_offset, size, stride)
    return _finish(tensor, requires_grad, backward_hooks, metadata)


def _rebuild_tensor_v3(
    storage, storage_offset, size, stride, requires_grad, backward_hooks, dtype, metadata=None
):
    tensor = _set_storage(storage, dtype, storage_offset, size, stride)
    return _finish(tensor, requires_grad, backward_hooks, metadata)


def _finish(tensor, requires_grad, backward_hooks, metadata):
    if requires_grad:
        tensor.requires_grad = requires_grad
    if metadata:
        set_tensor_metadata(tensor, metadata)
    if backward_hooks or requires_grad:
        tensor._backward_hooks = backward_hooks
    return tensor


def _rebuild_meta_tensor_no_storage(dtype, size, stride, requires_grad):
    return torch.empty_strided(size, stride, dtype=dtype, device="meta", requires_grad=requires_grad)


def _rebuild_device_tensor_from_cpu_tensor(data, dtype, device, requires_grad):
    tensor = data.to(dtype=dtype, device=device)
    tensor.requires_grad = requires_grad
    return tensor


def _rebuild_device_tensor_from_numpy(data, dtype, device, requires_grad):
    return _rebuild_device_tensor_from_cpu_tensor(torch.from_numpy(data), dtype, device, requires_grad)


_rebuild_xla_tensor = _rebuild_device_tensor_from_numpy


def _rebuild_sparse_tensor(layout, data):
    raise NotImplementedError("sparse tensors are not supported")


def _rebuild_parameter(data, requires_grad, backward_hooks):
    param = torch.nn.Parameter(data, requires_grad)
    if backward_hooks or requires_grad:
        param._backward_hooks = backward_hooks
    return param


def _rebuild_parameter_with_state(data, requires_grad, backward_hooks, state):
    return _set_obj_state(_rebuild_parameter(data, requires_grad, backward_hooks), state)


def _rebuild_with_type(func, new_type, args, state):
    """See `_tensor._rebuild_from_type_v2`."""
    tensor = func(*args)
    if type(tensor) is not new_type:
        tensor = tensor.as_subclass(new_type)
    # A class that says itself how its state is set is asked; the method of Tensor is for another format.
    own = getattr(type(tensor), "__setstate__", torch.Tensor.__setstate__)
    if own is not torch.Tensor.__setstate__:
        tensor.__setstate__(state)
        return tensor
    return _set_obj_state(tensor, state)


# --- copying ---


def _deepcopy_tensor(tensor, memo):
    import copy

    if not tensor.is_leaf:
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at "
            "the moment.  If you were attempting to deepcopy a module, this may be because of a "
            "torch.nn.utils.weight_norm usage, see https://github.com/pytorch/pytorch/pull/103001"
        )
    if id(tensor) in memo:
        return memo[id(tensor)]
    kind = type(tensor)
    with torch.no_grad():
        if tensor.is_meta or (kind is not torch.Tensor and tensor.data_ptr() == 0):
            result = tensor.clone()
            which, method, gives = "wrapper subclasses", "clone()", "cloning"
        else:
            storage = copy.deepcopy(tensor.untyped_storage(), memo)
            result = tensor.new_empty([])
            which, method, gives = "non-wrapper subclasses", "new_empty()", "that function"
        if type(result) is not kind:
            raise RuntimeError(
                "The default implementation of __deepcopy__() for %s only works for subclass types that "
                "implement %s and for which %s returns another instance of the same subclass. You should "
                "either properly implement %s for your subclass or override __deepcopy__() if it is "
                "intended behavior for %s to return an instance of a different "
                "type." % (which, method, gives, method, method)
            )
        if method == "new_empty()":
            result.set_(storage, tensor.storage_offset(), tensor.size(), tensor.stride())
            if tensor.is_conj():
                result = result.conj_physical()
            if tensor.is_neg():
                result = result.neg()
        if tensor.requires_grad:
            result.requires_grad_()
        if tensor.grad is not None:
            result.grad = tensor.grad.__deepcopy__(memo)
        if kind is not torch.Tensor:
            for name in _slot_names(kind):
                if hasattr(tensor, name):
                    setattr(result, name, copy.deepcopy(getattr(tensor, name), memo))
        if tensor.__dict__:
            result.__dict__ = copy.deepcopy(tensor.__dict__, memo)
        memo[id(tensor)] = result
        return result


class _KeyErrorMessage(str):
    """Keeps line breaks in the text of a KeyError."""

    __slots__ = ()

    def __repr__(self):
        return self


class ExceptionWrapper:
    """The exception being handled, as text, to be raised again in another process or thread."""

    def __init__(self, exc_info=None, where="in background"):
        import sys
        import traceback

        exc_info = exc_info or sys.exc_info()
        self.exc_type = exc_info[0]
        self.exc_msg = "".join(traceback.format_exception(*exc_info))
        self.where = where

    def reraise(self):
        """reraise(): an exception of the same class with the original traceback in its text."""
        text = "Caught %s %s.\nOriginal %s" % (self.exc_type.__name__, self.where, self.exc_msg)
        if self.exc_type is KeyError:
            text = _KeyErrorMessage(text)
        elif getattr(self.exc_type, "message", None):
            raise self.exc_type(message=text)
        try:
            exception = self.exc_type(text)
        except Exception:
            raise RuntimeError(text) from None
        raise exception


def _flatten_dense_tensors(tensors):
    """_flatten_dense_tensors(tensors) -> Tensor: all elements one after the other."""
    flat = [tensor.contiguous().view(-1) for tensor in tensors]
    return flat[0] if len(flat) == 1 else torch.cat(flat)


def _unflatten_dense_tensors(flat, tensors):
    """_unflatten_dense_tensors(flat, tensors) -> tuple of Tensors: views of `flat` shaped like `tensors`, in order."""
    parts, at = [], 0
    for tensor in tensors:
        n = tensor.numel()
        parts.append(flat.narrow(0, at, n).view(tensor.size()) if n else flat.new_empty(tensor.size()))
        at += n
    return tuple(parts)
