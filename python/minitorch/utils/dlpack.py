# SPDX-License-Identifier: BSD-3-Clause
"""Exchange of tensors with other libraries through DLPack capsules."""

from enum import IntEnum

import minitorch as torch
from minitorch import _C
from minitorch._C import _has_torch_function_unary as has_torch_function_unary
from minitorch._C import _to_dlpack as to_dlpack  # noqa: F401

__all__ = ["DLDeviceType", "from_dlpack"]


class DLDeviceType(IntEnum):
    kDLCPU = 1
    kDLCUDA = 2
    kDLCUDAHost = 3
    kDLOpenCL = 4
    kDLVulkan = 7
    kDLMetal = 8
    kDLVPI = 9
    kDLROCM = 10
    kDLROCMHost = 11
    kDLExtDev = 12
    kDLCUDAManaged = 13
    kDLOneAPI = 14
    kDLWebGPU = 15
    kDLHexagon = 16
    kDLMAIA = 17


_CPU = (DLDeviceType.kDLCPU, 0)


def _device_of(tensor):
    """`Tensor.__dlpack_device__`"""
    if tensor.is_cpu and not tensor.is_pinned():
        return _CPU
    device = tensor.device
    if device.type == "cpu":
        kind = DLDeviceType.kDLCUDAHost if tensor.is_pinned() else DLDeviceType.kDLCPU
    elif device.type == "cuda":
        kind = DLDeviceType.kDLCUDA
    else:
        raise ValueError("Unknown device type %s for Dlpack" % device.type)
    return (kind, device.index or 0)


def _wait_for_stream(stream):
    """Makes the consumer's CUDA stream wait for what the current stream has queued."""
    if stream is None or stream == 1:
        stream = torch.cuda.default_stream()
    elif stream == 2:
        raise BufferError("per-thread default stream is not supported.")
    elif stream == 0:
        raise AssertionError("unsupported stream on CUDA: 0.")
    else:
        stream = torch.cuda.ExternalStream(stream)
    current = torch.cuda.current_stream()
    if stream != current:
        event = torch.cuda.Event()
        event.record(current)
        stream.wait_event(event)


def _export(tensor, stream, max_version, dl_device, copy):
    """`Tensor.__dlpack__`: resolves negation, waits for streams; the rest is said by what makes the capsule."""
    if tensor.is_neg():
        tensor = tensor.resolve_neg()
    if stream is not None and type(stream) is not int:
        raise TypeError("stream must be ``int`` or ``none``")
    if tensor.is_cuda:
        if tensor.device.index != torch.cuda.current_device():
            raise BufferError(
                "Can't export tensors on a different CUDA device index. Expected: %d. Current device: %d."
                % (tensor.device.index, torch.cuda.current_device())
            )
        if stream != -1:
            _wait_for_stream(stream)
    elif stream is not None and stream != -1:
        raise AssertionError("stream should be None on cpu.")
    return _C._dlpack_export(tensor, max_version, dl_device, copy)


def from_dlpack(ext_tensor, *, device=None, copy=None):
    """from_dlpack(ext_tensor, *, device=None, copy=None) -> Tensor

    A tensor over the memory of an object with `__dlpack__`, or of a capsule.
    """
    if (
        type(ext_tensor) is torch.Tensor
        and device is None
        and copy is None
        and not has_torch_function_unary(ext_tensor)
        and ext_tensor.is_cpu
    ):
        return _C._from_dlpack(ext_tensor.__dlpack__(max_version=(1, 3)))
    if not hasattr(ext_tensor, "__dlpack__"):
        if device is not None or copy is not None:
            raise AssertionError(
                "device and copy kwargs not supported when ext_tensor is already a DLPack capsule."
            )
        return _C._from_dlpack(ext_tensor)

    kwargs = {"max_version": (1, 3)}
    if copy is not None:
        kwargs["copy"] = copy
    source = ext_tensor.__dlpack_device__()
    moves = False
    if device is not None:
        wanted = _place(device)
        moves = tuple(source) != wanted
        if moves and copy is False:
            raise ValueError(
                "cannot move DLPack tensor from device %s to %s without copying. Set copy=None or copy=True."
                % (source, wanted)
            )
        if not moves:
            kwargs["dl_device"] = wanted
    if source[0] in (DLDeviceType.kDLCUDA, DLDeviceType.kDLROCM):
        stream = torch.cuda.current_stream("cuda:%d" % source[1])
        kwargs["stream"] = stream.cuda_stream or 1
    tensor = _C._from_dlpack(_capsule(ext_tensor, kwargs))
    if moves:
        return tensor.to(device)
    return tensor.clone() if copy is True and "copy" not in kwargs else tensor


def _place(device):
    """(device type, index) of a device, as DLPack numbers them."""
    wanted = torch.device(device) if isinstance(device, str) else device
    if not isinstance(wanted, torch.device):
        raise AssertionError("from_dlpack: unsupported device type: %s" % type(device))
    if wanted.type not in ("cpu", "cuda"):
        raise BufferError("Cannot pack tensors on %s" % wanted)
    return (DLDeviceType.kDLCPU if wanted.type == "cpu" else DLDeviceType.kDLCUDA, wanted.index or 0)


def _capsule(producer, kwargs):
    """What the producer exports. One that knows an older protocol is asked again without the newer keywords, which leave kwargs."""
    for newer in ("max_version", "copy", "dl_device"):
        try:
            return producer.__dlpack__(**kwargs)
        except TypeError:
            kwargs.pop(newer, None)
    return producer.__dlpack__(**kwargs)
