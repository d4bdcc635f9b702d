# SPDX-License-Identifier: BSD-3-Clause
"""minitorch: PyTorch's tensor core rebuilt in C.  `import minitorch as torch` runs ordinary PyTorch programs.

Importing it loads the extension and a handful of small modules; nn, optim, utils, ... load at first use (PEP 562).
"""

import sys

from minitorch import _C
from minitorch.version import __version__

# --- names of the extension ---

PRIVATE_OPS = ("unique_dim",)

for _name in vars(_C._VariableFunctionsClass):
    if not _name.startswith("__") and _name not in PRIVATE_OPS:
        globals()[_name] = getattr(_C._VariableFunctionsClass, _name)


def _find_in_c(name):
    """Names of _C that are made at first use."""
    if name.startswith("__"):
        raise AttributeError(name)
    from minitorch import _introspection

    return _introspection.find(name)


def _find_in_nn(name):
    """The one name of _C._nn that is written in Python."""
    if name != "_parse_to":
        raise AttributeError("module 'torch._C._nn' has no attribute '%s'" % name)
    from minitorch.nn.modules.module import _parse_to

    return _parse_to


_C.__getattr__, _C._nn.__getattr__ = _find_in_c, _find_in_nn

for _name in (
    "bool uint8 int8 int16 short int32 int int64 long float16 half bfloat16 float32 float float64 double "
    "complex32 chalf complex64 cfloat complex128 cdouble uint16 uint32 uint64 float8_e4m3fn float8_e5m2 float8_e4m3fnuz "
    "float8_e5m2fnuz float8_e8m0fnu float4_e2m1fn_x2 quint8 qint8 qint32 quint4x2 quint2x4 "
    "strided sparse_coo sparse_csr sparse_csc sparse_bsr sparse_bsc _mkldnn jagged "
    "contiguous_format preserve_format legacy_contiguous_format channels_last channels_last_3d "
    "per_tensor_affine per_channel_affine per_tensor_symmetric per_channel_symmetric per_channel_affine_float_qparams "
    "dtype layout memory_format qscheme device Size Generator finfo iinfo "
    "FatalError AcceleratorError OutOfMemoryError "
    "get_default_dtype is_grad_enabled is_inference_mode_enabled "
    "get_num_threads set_num_threads get_num_interop_threads set_num_interop_threads init_num_threads "
    "set_flush_denormal set_warn_always is_warn_always_enabled "
    "set_anomaly_enabled is_anomaly_enabled is_anomaly_check_nan_enabled "
    "is_autocast_enabled set_autocast_enabled is_autocast_cpu_enabled set_autocast_cpu_enabled get_autocast_dtype "
    "set_autocast_dtype get_autocast_cpu_dtype set_autocast_cpu_dtype get_autocast_gpu_dtype set_autocast_gpu_dtype "
    "is_autocast_cache_enabled set_autocast_cache_enabled clear_autocast_cache autocast_increment_nesting "
    "autocast_decrement_nesting has_openmp has_mkl has_lapack has_spectral"
).split():
    globals()[_name] = getattr(_C, _name)
del _name

from math import e, inf, nan, pi  # noqa: E402

newaxis = None

# --- the Tensor class ---

from minitorch._tensor import Tensor  # noqa: E402

_C._register_tensor_class(Tensor)
Tensor.__module__ = "minitorch"

from minitorch.autograd.grad_mode import enable_grad, inference_mode, no_grad, set_grad_enabled  # noqa: E402
from minitorch.functional import (  # noqa: E402
    _batch_norm_impl_index,
    atleast_1d,
    atleast_2d,
    atleast_3d,
    block_diag,
    broadcast_shapes,
    broadcast_tensors,
    cartesian_prod,
    cdist,
    chain_matmul,
    dequantize,
    einsum,
    histogramdd,
    is_distributed,
    is_vulkan_available,
    istft,
    lobpcg,
    lu,
    meshgrid,
    nonzero,
    norm,
    pca_lowrank,
    split,
    stft,
    svd_lowrank,
    tensordot,
    unique,
    unique_consecutive,
    unravel_index,
)
from minitorch.random import (  # noqa: E402
    default_generator,
    get_rng_state,
    initial_seed,
    manual_seed,
    seed,
    set_rng_state,
)


def is_tensor(obj, /):
    """is_tensor(obj) -> bool: whether `obj` is a Tensor."""
    return isinstance(obj, Tensor)


def is_storage(obj, /):
    """is_storage(obj) -> bool: whether `obj` is a storage."""
    from minitorch import storage

    return isinstance(obj, (storage.UntypedStorage, storage.TypedStorage))


def set_default_dtype(d, /):
    """set_default_dtype(d): the dtype of tensors made from Python floats; a floating point dtype."""
    _C._set_default_dtype(d)


def set_default_tensor_type(t, /):
    """set_default_tensor_type(t): the default dtype by the name or the legacy class of a tensor (deprecated)."""
    import warnings

    if isinstance(t, str):
        from minitorch.storage import _class_named

        t = _class_named(t)
    if type(t) is not type(_C._tensor_type("torch.FloatTensor")):
        raise TypeError("invalid type object: only floating-point types are supported as the default type")
    if t.is_cuda:
        from minitorch import cuda

        if not cuda.is_available():
            raise TypeError(
                "type %s not available. Torch not compiled with CUDA enabled." % repr(t).split("'")[1]
            )
    _C._set_default_dtype(t.dtype)
    warnings.warn(
        "torch.set_default_tensor_type() is deprecated as of PyTorch 2.1, please use torch.set_default_dtype() "
        "and torch.set_default_device() as alternatives.",
        UserWarning,
        stacklevel=2,
    )


def typename(obj, /):
    """typename(obj) -> str: the name of the type of `obj`; for tensors the legacy name ('torch.FloatTensor')."""
    if isinstance(obj, Tensor):
        return obj.type()
    module = getattr(obj, "__module__", "") or ""
    name = getattr(obj, "__qualname__", None) or type(obj).__qualname__
    if module in ("", "builtins", "__builtin__"):
        return name
    return "%s.%s" % (module, name)


def compile(model=None, **options):
    """compile(model=None, **options): returns the callable unchanged; there is no compiler here."""
    if model is None:
        return lambda function: function
    return model


_settings = {"deterministic": False, "warn_only": False, "float32_matmul": "highest"}


def use_deterministic_algorithms(mode, *, warn_only=False):
    """use_deterministic_algorithms(mode, *, warn_only=False): accepted; every algorithm here is deterministic."""
    _settings.update(deterministic=mode is not False, warn_only=mode is not False and warn_only is not False)


def are_deterministic_algorithms_enabled():
    """are_deterministic_algorithms_enabled() -> bool: what use_deterministic_algorithms was told."""
    return _settings["deterministic"]


def is_deterministic_algorithms_warn_only_enabled():
    """is_deterministic_algorithms_warn_only_enabled() -> bool: likewise."""
    return _settings["warn_only"]


def set_float32_matmul_precision(precision):
    """set_float32_matmul_precision(precision): "highest", "high" or "medium"; float32 products are always exact to float32."""
    if precision in ("highest", "high", "medium"):
        _settings["float32_matmul"] = precision
        return
    import warnings

    warnings.warn(
        "%s is not one of 'highest', 'high', or 'medium'; the current setFloat32MatmulPrecision call has no effect."
        % precision,
        stacklevel=2,
    )


def get_float32_matmul_precision():
    """get_float32_matmul_precision() -> str: what set_float32_matmul_precision was told."""
    return _settings["float32_matmul"]


def set_default_device(device):
    """set_default_device(device): where factories make tensors when they are not told; None: the CPU again."""
    from minitorch.utils import _device

    _device.set_default_device(device)


def get_default_device():
    """get_default_device() -> device: where factories make tensors when they are not told."""
    from minitorch.utils import _device

    return _device.get_default_device()


_LAZY = frozenset(
    "amp autograd cpu cuda fft func functional jit linalg nn optim overrides random return_types serialization special storage "
    "testing utils backends multiprocessing torch_version version _utils _tensor_str".split()
)
_LAZY_NAMES = {
    "autocast": "amp.autocast_mode",
    "vmap": "func",
    "UntypedStorage": "storage",
    "TypedStorage": "storage",
    "from_dlpack": "utils.dlpack",
    "to_dlpack": "utils.dlpack",
    "get_rng_state": "random",
    "save": "serialization",
    "load": "serialization",
    "set_printoptions": "_tensor_str",
    "StorageBase": "_C",
    "Stream": "_C",
    "Event": "_C",
    "DispatchKey": "_C",
    "DispatchKeySet": "_C",
}
for _name in (
    "_check _check_with _check_index _check_value _check_type _check_not_implemented _check_is_size _check_tensor_all "
    "_check_tensor_all_with _assert sym_int sym_float sym_not sym_max sym_min sym_sum sym_ite sym_sqrt "
    "set_deterministic_debug_mode get_deterministic_debug_mode get_device_module "
    "compiled_with_cxx11_abi thread_safe_generator"
).split():
    _LAZY_NAMES[_name] = "_checks"
del _name


def __getattr__(name):
    import importlib

    if name in _LAZY:
        try:
            return importlib.import_module("minitorch." + name)
        except ModuleNotFoundError as exc:
            raise AttributeError("module 'torch' has no attribute '%s'" % name) from exc
    if name in _LAZY_NAMES:
        value = getattr(importlib.import_module("minitorch." + _LAZY_NAMES[name]), name)
    elif name == "__all__":
        value = _public_names()
    elif name.endswith("Tensor") and name in {kind.__name__ for kind in _C._tensor_types()}:
        value = _C._tensor_type("torch." + name)
    elif name == "Storage":  # follows the default dtype
        storages = importlib.import_module("minitorch.storage")
        return getattr(storages, storages._NAME_OF_DTYPE[_C.get_default_dtype()])
    elif name.endswith("Storage"):
        value = getattr(importlib.import_module("minitorch.storage"), name)
    else:
        value = (
            None
            if name.startswith("__")
            else importlib.import_module("minitorch._out_of_scope").function(name)
        )
        if value is None:
            raise AttributeError("module 'torch' has no attribute '%s'" % name)
    globals()[name] = value
    return value


def _public_names():
    """What `from minitorch import *` gives: everything but sub-modules and names with an underscore."""
    module, names = type(sys), {"segment_reduce"}
    names.update(name for name, value in globals().items() if isinstance(value, module))
    found = {name for name in (*globals(), *_LAZY_NAMES) if not name.startswith("_")}
    found.update(kind.__name__ for kind in _C._tensor_types() if kind.__module__ == "torch")
    return sorted(found - names)


def __dir__():
    return sorted(set(globals()) | _LAZY | set(_LAZY_NAMES))
