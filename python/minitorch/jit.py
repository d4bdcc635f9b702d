# SPDX-License-Identifier: BSD-3-Clause
"""torch.jit for programs that decorate with it: there is no TorchScript, so functions and modules stay what they are.

>>> import warnings
>>> with warnings.catch_warnings():
...     warnings.simplefilter("ignore")
...     double = torch.jit.script(lambda x: 2 * x)
>>> double(torch.ones(2)), torch.jit.is_scripting()
(tensor([2., 2.]), False)
"""

from typing import Final  # noqa: F401

from minitorch.nn import Module

__all__ = (
    "Attribute Final ScriptFunction ScriptModule annotate export freeze ignore interface is_scripting is_tracing isinstance "
    "load optimize_for_inference save script script_if_tracing script_method trace trace_module unused"
).split()


def _warn(name):
    import warnings

    warnings.warn(
        "torch.jit.%s(): there is no TorchScript here, what was given is returned" % name, stacklevel=3
    )


def is_scripting():
    """is_scripting() -> bool: False."""
    return False


def is_tracing():
    """is_tracing() -> bool: False."""
    return False


def script(obj, optimize=None, _frames_up=0, _rcb=None, example_inputs=None):
    """script(obj, example_inputs=None) -> obj, with a warning."""
    _warn("script")
    return obj


def trace(func, example_inputs=None, *args, **kwargs):
    """trace(func, example_inputs=None, ...) -> func, with a warning; it is not called."""
    _warn("trace")
    return func


def trace_module(mod, inputs, *args, **kwargs):
    """trace_module(mod, inputs, ...) -> mod, with a warning."""
    _warn("trace_module")
    return mod


def script_if_tracing(fn):
    """script_if_tracing(fn) -> fn"""
    return fn


def script_method(fn):
    """script_method(fn) -> fn"""
    return fn


def export(fn):
    """export(fn) -> fn"""
    return fn


def unused(fn):
    """unused(fn) -> fn"""
    return fn


def ignore(drop=False, **kwargs):
    """ignore(fn) -> fn, or ignore(drop=False) as a decorator."""
    return drop if callable(drop) else lambda fn: fn


def interface(obj):
    """interface(obj) -> obj"""
    return obj


def freeze(mod, preserved_attrs=None, optimize_numerics=True):
    """freeze(mod, ...) -> mod"""
    return mod


def optimize_for_inference(mod, other_methods=None):
    """optimize_for_inference(mod, ...) -> mod"""
    return mod


def annotate(the_type, the_value):
    """annotate(the_type, the_value) -> the_value"""
    return the_value


def Attribute(value, type):
    """Attribute(value, type) -> value"""
    return value


_isinstance = isinstance


def isinstance(obj, target_type):
    """isinstance(obj, target_type) -> bool: that of Python; element types of containers are not looked at."""
    kinds = target_type if _isinstance(target_type, tuple) else (target_type,)
    return _isinstance(obj, tuple([getattr(kind, "__origin__", kind) for kind in kinds]))


class ScriptModule(Module):
    """ScriptModule(): a module like others."""


class ScriptFunction:
    """The class of compiled functions: there are none."""

    def __new__(cls, *args, **kwargs):
        raise NotImplementedError("torch.jit.ScriptFunction: there is no TorchScript here")


def save(m, f, _extra_files=None):
    """save(m, f): NotImplementedError; torch.save writes modules and state dictionaries."""
    raise NotImplementedError("torch.jit.save(): there is no TorchScript here")


def load(f, map_location=None, _extra_files=None, _restore_shapes=False):
    """load(f): NotImplementedError; torch.load reads what torch.save has written."""
    raise NotImplementedError("torch.jit.load(): there is no TorchScript here")
