# SPDX-License-Identifier: BSD-3-Clause
"""torch._check and its kin, and the sym_ functions, which here always get plain numbers."""

import minitorch as torch
from minitorch.overrides import handle_torch_function, has_torch_function


def _check_with(error_type, cond, message):
    """_check_with(error_type, cond, message): raises error_type unless cond; `message` is a function or None."""
    if not isinstance(cond, bool):
        raise TypeError("cond must be a bool, but got %s" % type(cond))
    if cond:
        return
    if message is None:
        raise error_type("Expected cond to be True, but got False")
    if not callable(message):
        raise TypeError("message must be a callable")
    raise error_type(str(message()))


def _check(cond, message=None):
    """_check(cond, message=None): RuntimeError unless `cond`; `message()` gives the words."""
    _check_with(RuntimeError, cond, message)


def _check_index(cond, message=None):
    """_check_index(cond, message=None): IndexError unless `cond`; `message()` gives the words."""
    _check_with(IndexError, cond, message)


def _check_value(cond, message=None):
    """_check_value(cond, message=None): ValueError unless `cond`; `message()` gives the words."""
    _check_with(ValueError, cond, message)


def _check_type(cond, message=None):
    """_check_type(cond, message=None): TypeError unless `cond`; `message()` gives the words."""
    _check_with(TypeError, cond, message)


def _check_not_implemented(cond, message=None):
    """_check_not_implemented(cond, message=None): NotImplementedError unless `cond`; `message()` gives the words."""
    _check_with(NotImplementedError, cond, message)


def _check_is_size(i, message=None, *, max=None):
    """_check_is_size(i, message=None, *, max=None): RuntimeError unless 0 <= i, and i <= max when it is given."""
    import warnings

    warnings.warn("_check_is_size is going away; use _check(i >= 0).", FutureWarning, stacklevel=2)
    _check(i >= 0, message)
    if max is not None:
        _check(i <= max, message)


def _check_tensor_all_with(error_type, cond, message=None):
    """_check_tensor_all_with(error_type, cond, message=None): raises error_type unless all of `cond` is True."""
    if not isinstance(cond, torch.Tensor):
        raise TypeError("cond must be a tensor, but got %s" % type(cond))
    if cond.dtype is not torch.bool:
        raise TypeError("cond tensor must have dtype torch.bool, but got %s" % cond.dtype)
    _check_with(error_type, cond.all().item(), message)


def _check_tensor_all(cond, message=None):
    """_check_tensor_all(cond, message=None): RuntimeError unless all of the bool tensor `cond` is True."""
    _check_tensor_all_with(RuntimeError, cond, message)


def _assert(condition, message):
    """_assert(condition, message): AssertionError unless `condition`, which may be a tensor."""
    if type(condition) is not torch.Tensor and torch.overrides.has_torch_function((condition,)):
        return torch.overrides.handle_torch_function(_assert, (condition,), condition, message)
    assert condition, message


# --- numbers ---


def _number(value):
    if isinstance(value, (int, float)) or type(value).__module__ == "numpy" and hasattr(value, "__float__"):
        return
    raise AssertionError("expected a number, got %s" % type(value))


def _common(pick, a, b):
    _number(a)
    _number(b)
    if isinstance(a, float) or isinstance(b, float):
        return pick(float(a), float(b))
    return pick(a, b)


def sym_int(a):
    """sym_int(a) -> int: cut towards zero."""
    if has_torch_function((a,)):
        return handle_torch_function(sym_int, (a,), a)
    return int(a)


def sym_float(a):
    """sym_float(a) -> float"""
    if has_torch_function((a,)):
        return handle_torch_function(sym_float, (a,), a)
    return a if isinstance(a, float) else float(a)


def sym_not(a):
    """sym_not(a) -> bool"""
    if has_torch_function((a,)):
        return handle_torch_function(sym_not, (a,), a)
    return not a


def sym_max(a, b):
    """sym_max(a, b): the larger number; a float when one of them is."""
    if has_torch_function((a, b)):
        return handle_torch_function(sym_max, (a, b), a, b)
    return _common(max, a, b)


def sym_min(a, b):
    """sym_min(a, b): the smaller number; a float when one of them is."""
    if has_torch_function((a, b)):
        return handle_torch_function(sym_min, (a, b), a, b)
    return _common(min, a, b)


def sym_sum(*args):
    """sym_sum(args): the sum of numbers, or of a list of numbers."""
    if len(args) == 1 and isinstance(args[0], (list, tuple)):
        args = args[0]
    if has_torch_function(args):
        return handle_torch_function(sym_sum, args, args)
    return sum(args)


def sym_ite(b, t, f):
    """sym_ite(b, t, f): t or f, which have one type, as the bool b says."""
    if has_torch_function((b, t, f)):
        return handle_torch_function(sym_ite, (b, t, f), b, t, f)
    if not isinstance(b, bool):
        raise AssertionError("expected a bool, got %s" % type(b))
    if type(t) is not type(f):
        raise AssertionError("type mismatch: %s and %s" % (type(t), type(f)))
    return t if b else f


def sym_sqrt(a):
    """sym_sqrt(a) -> float"""
    if has_torch_function((a,)):
        return handle_torch_function(sym_sqrt, (a,), a)
    import math

    return math.sqrt(a)


for _function in (sym_int, sym_float, sym_not, sym_max, sym_min, sym_sum, sym_ite, sym_sqrt):
    _function.__module__ = torch.__name__
del _function

# --- switches ---


def set_deterministic_debug_mode(debug_mode):
    """set_deterministic_debug_mode(debug_mode): "default" or 0, "warn" or 1, "error" or 2."""
    if not isinstance(debug_mode, (int, str)):
        raise TypeError("debug_mode must be str or int, but got %s" % type(debug_mode))
    names = ("default", "warn", "error")
    level = names.index(debug_mode) if debug_mode in names else debug_mode
    if level not in (0, 1, 2):
        raise RuntimeError(
            "invalid value of debug_mode, expected 0 or `default`, 1 or `warn`, 2 or `error`, but got %s"
            % debug_mode
        )
    torch.use_deterministic_algorithms(level > 0, warn_only=level == 1)


def get_deterministic_debug_mode():
    """get_deterministic_debug_mode() -> int: 0 default, 1 warn, 2 error."""
    if not torch.are_deterministic_algorithms_enabled():
        return 0
    return 1 if torch.is_deterministic_algorithms_warn_only_enabled() else 2


def get_device_module(device=None):
    """get_device_module(device=None) -> module: torch.cpu or torch.cuda; without a device, of the accelerator if any."""
    if isinstance(device, torch.device):
        kind = device.type
    elif isinstance(device, str):
        kind = torch.device(device).type
    elif device is None:
        kind = "cuda" if torch.cuda.is_available() else "cpu"
    else:
        raise RuntimeError("Invalid value of device '%s', expect torch.device, str, or None" % (device,))
    if kind not in ("cpu", "cuda"):
        raise RuntimeError(
            "Device '%s' does not have a corresponding module registered as 'torch.%s'." % (device, kind)
        )
    return getattr(torch, kind)


def compiled_with_cxx11_abi():
    """compiled_with_cxx11_abi() -> bool: always True."""
    return True


def thread_safe_generator():
    """thread_safe_generator() -> Generator or None: the generator of a loader's worker thread; None elsewhere."""
    return None
