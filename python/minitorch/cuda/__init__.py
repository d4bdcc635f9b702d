# SPDX-License-Identifier: BSD-3-Clause
"""torch.cuda: devices, streams, memory. The extension _C_cuda is loaded by the first function that needs it, and by the
first tensor on a CUDA device; importing this package loads nothing.
"""

from minitorch import _C
from minitorch.cuda._device import (
    _CudaDeviceProperties,
    current_device,
    device_count,
    get_device_capability,
    get_device_name,
    get_device_properties,
    is_available,
    module,
    need,
    set_device,
    synchronize,
)
from minitorch.cuda._device import _device as device
from minitorch.cuda._device import _device_of as device_of
from minitorch.cuda._memory import (
    empty_cache,
    max_memory_allocated,
    max_memory_reserved,
    mem_get_info,
    memory_allocated,
    memory_reserved,
    memory_stats,
    reset_peak_memory_stats,
)
from minitorch.cuda._streams import (
    Event,
    Stream,
    StreamContext,
    current_stream,
    default_stream,
    set_stream,
    stream,
)

AcceleratorError = _C.AcceleratorError
OutOfMemoryError = _C.OutOfMemoryError
CudaError = RuntimeError
has_half = True
default_generators = ()

_used = False
_seed = None


def init():
    """init(): loads CUDA now; AssertionError when it was not built, RuntimeError without a driver or a GPU."""
    global _used
    need()
    _used = True


def is_initialized():
    """is_initialized() -> bool: whether CUDA has been loaded."""
    import sys

    return "minitorch._C_cuda" in sys.modules and is_available()


def is_bf16_supported(including_emulation=True):
    """is_bf16_supported(including_emulation=True) -> bool"""
    return is_available()


def get_arch_list():
    """get_arch_list() -> list of str: chips that the build was made for."""
    return ["sm_90"] if module() is not None else []


def can_device_access_peer(device, peer_device):
    """can_device_access_peer(device, peer_device) -> bool: copies between devices go through the runtime."""
    need()
    return False


def ipc_collect():
    """ipc_collect(): there is no memory shared between processes to collect."""
    need()


def manual_seed(seed):
    """manual_seed(seed): remembers the seed of random numbers on the current device; harmless without CUDA."""
    global _seed
    _seed = int(seed)


def manual_seed_all(seed):
    """manual_seed_all(seed): the same for all devices."""
    manual_seed(seed)


def initial_seed():
    """initial_seed() -> int: the seed of random numbers on the current device."""
    need()
    return 0 if _seed is None else _seed


def seed():
    """seed(): seeds random numbers on the current device from the system."""
    import minitorch

    manual_seed(minitorch.Generator().seed())


seed_all = seed


def _record_stream(storage, stream):
    need().record_stream(storage.data_ptr(), stream.device_index, stream.stream_id)


def __getattr__(name):
    if name.endswith("Tensor") and name in {kind.__name__ for kind in _C._tensor_types()}:
        return _C._tensor_type("torch.cuda." + name)
    if name == "amp":
        from importlib import import_module

        return import_module("minitorch.cuda.amp")
    raise AttributeError("module 'torch.cuda' has no attribute '%s'" % name)
