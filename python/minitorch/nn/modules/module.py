# SPDX-License-Identifier: BSD-3-Clause
"""Module: the base class of everything that has parameters.

Parameters, buffers and submodules live in the dictionaries `_parameters`, `_buffers` and `_modules`;
attribute access falls back to them.  Calling a module without hooks goes straight to `forward`; everything
about hooks is in `_hooks`, everything about state dictionaries in `_state_dict`.
"""

import warnings
from collections import OrderedDict

import minitorch as torch
from minitorch import __future__ as _future
from minitorch.nn.modules import _hooks, _state_dict
from minitorch.nn.modules._hooks import (
    register_module_backward_hook,
    register_module_buffer_registration_hook,
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
)
from minitorch.nn.modules._state_dict import _IncompatibleKeys  # noqa: F401
from minitorch.nn.parameter import Buffer, Parameter
from minitorch.overrides import wrap_torch_function

__all__ = [
    "register_module_forward_pre_hook",
    "register_module_forward_hook",
    "register_module_full_backward_pre_hook",
    "register_module_backward_hook",
    "register_module_full_backward_hook",
    "register_module_buffer_registration_hook",
    "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
    "Module",
]

_global_backward_pre_hooks = _hooks.backward_pre
_global_backward_hooks = _hooks.backward
_global_forward_pre_hooks = _hooks.forward_pre
_global_forward_hooks = _hooks.forward

# Attributes of every instance that hold hooks.
_HOOK_DICTS = (
    "_backward_pre_hooks",
    "_backward_hooks",
    "_forward_hooks",
    "_forward_hooks_with_kwargs",
    "_forward_hooks_always_called",
    "_forward_pre_hooks",
    "_forward_pre_hooks_with_kwargs",
    "_state_dict_hooks",
    "_state_dict_pre_hooks",
    "_load_state_dict_pre_hooks",
    "_load_state_dict_post_hooks",
)


def _forward_unimplemented(self, *input):
    raise NotImplementedError('Module [%s] is missing the required "forward" function' % type(self).__name__)


def _addindent(text, spaces):
    """Indents all lines but the first."""
    first, *rest = text.split("\n")
    return "\n".join([first] + [" " * spaces + line if line.strip() else "" for line in rest])


def _is_tensor_like(value):
    return isinstance(value, torch.Tensor) or hasattr(value, "__torch_function__")


def _check_name(kind, name):
    if not isinstance(name, str):
        raise TypeError("%s name should be a string. Got %s" % (kind, torch.typename(name)))
    if "." in name:
        if kind == "module":
            raise KeyError('module name can\'t contain ".", got: %s' % name)
        raise KeyError('%s name can\'t contain "."' % kind)
    if name == "":
        raise KeyError('%s name can\'t be empty string ""' % kind)


@wrap_torch_function(lambda *args, **kwargs: (*args, *kwargs.values()))
def _parse_to(*args, **kwargs):
    """(device, dtype, non_blocking, memory_format) of a call of `Module.to`; modes see it as `torch._C._nn._parse_to`."""
    unknown = set(kwargs) - {"device", "dtype", "non_blocking", "memory_format", "tensor"}
    if unknown:
        raise TypeError("to() received an invalid keyword argument '%s'" % sorted(unknown)[0])
    device, dtype = kwargs.get("device"), kwargs.get("dtype")
    rest = list(args)
    first = rest.pop(0) if rest else kwargs.get("tensor")
    if isinstance(first, torch.Tensor):
        device, dtype = first.device, first.dtype
    elif isinstance(first, torch.dtype) or first in (float, int, bool, complex):
        dtype = first
    elif first is not None:
        device = first
        if rest and (rest[0] is None or not isinstance(rest[0], bool)):
            dtype = rest.pop(0)
    elif args and rest and not isinstance(rest[0], bool):
        dtype = rest.pop(0)
    non_blocking = rest.pop(0) if rest else kwargs.get("non_blocking", False)
    if len(rest) > 1:  # one more position is `copy`, which modules ignore
        raise TypeError("to() received an invalid combination of arguments")
    if device is not None:
        device = torch.device(device)
    if dtype is not None and not isinstance(dtype, torch.dtype):
        dtype = {float: torch.float64, int: torch.int64, bool: torch.bool, complex: torch.complex128}.get(
            dtype
        )
        if dtype is None:
            raise TypeError("to() received an invalid combination of arguments")
    return device, dtype, non_blocking, kwargs.get("memory_format")


class Module:
    """Base class of all neural network modules.  A subclass calls `super().__init__()`, assigns parameters,
    buffers and submodules as attributes, and defines `forward`."""

    dump_patches = False
    # Goes into the metadata of state dictionaries; raised when a class changes what it saves.
    _version = 1
    call_super_init = False
    _compiled_call_impl = None

    forward = _forward_unimplemented

    def __init__(self, *args, **kwargs):
        if not self.call_super_init:
            if kwargs:
                raise TypeError(
                    "%s.__init__() got an unexpected keyword argument '%s'"
                    % (type(self).__name__, next(iter(kwargs)))
                )
            if args:
                raise TypeError(
                    "%s.__init__() takes 1 positional argument but %d were given"
                    % (type(self).__name__, len(args) + 1)
                )
        state = self.__dict__
        state["training"] = True
        state["_parameters"] = {}
        state["_buffers"] = {}
        state["_non_persistent_buffers_set"] = set()
        state["_is_full_backward_hook"] = None
        for name in _HOOK_DICTS:
            state[name] = OrderedDict()
        state["_modules"] = {}
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    # --- calling ---

    def __call__(self, *args, **kwargs):
        state = self.__dict__
        try:
            hooked = (
                state["_backward_hooks"]
                or state["_backward_pre_hooks"]
                or state["_forward_hooks"]
                or state["_forward_pre_hooks"]
            )
        except KeyError:
            self._backward_hooks  # raises: Module.__init__() has not run
            raise
        if (
            hooked
            or _global_forward_hooks
            or _global_forward_pre_hooks
            or _global_backward_hooks
            or _global_backward_pre_hooks
        ):
            return _hooks.call(self, args, kwargs)
        return self.forward(*args, **kwargs)

    def _call_impl(self, *args, **kwargs):
        return Module.__call__(self, *args, **kwargs)

    _wrapped_call_impl = _call_impl

    def compile(self, *args, **kwargs):
        """Accepted for programs that compile their modules; the module runs as it is."""

    # --- registration ---

    def register_buffer(self, name, tensor, persistent=True):
        """Adds a buffer: a tensor that belongs to the state but is not learned.  One that is not persistent
        stays out of the state dictionary."""
        if "_buffers" not in self.__dict__:
            raise AttributeError("cannot assign buffer before Module.__init__() call")
        _check_name("buffer", name)
        if hasattr(self, name) and name not in self._buffers:
            raise KeyError("attribute '%s' already exists" % name)
        if tensor is not None and not _is_tensor_like(tensor):
            raise TypeError(
                "cannot assign '%s' object to buffer '%s' (torch Tensor or None required)"
                % (torch.typename(tensor), name)
            )
        self._buffers[name] = _hooks.run_registration(_hooks.buffer_registration, self, name, tensor)
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def register_parameter(self, name, param):
        """Adds a parameter, or a name for one (None)."""
        if "_parameters" not in self.__dict__:
            raise AttributeError("cannot assign parameter before Module.__init__() call")
        _check_name("parameter", name)
        if hasattr(self, name) and name not in self._parameters:
            raise KeyError("attribute '%s' already exists" % name)
        if param is not None:
            if not isinstance(param, Parameter):
                raise TypeError(
                    "cannot assign '%s' object to parameter '%s' (torch.nn.Parameter or None required)"
                    % (torch.typename(param), name)
                )
            if param.grad_fn:
                raise ValueError(
                    "Cannot assign non-leaf Tensor to parameter '%s'. Model parameters must be created "
                    "explicitly. To express '%s' as a function of another Tensor, compute the value in the "
                    "forward() method." % (name, name)
                )
            param = _hooks.run_registration(_hooks.parameter_registration, self, name, param)
        self._parameters[name] = param

    def add_module(self, name, module):
        """Adds a submodule under that name."""
        if not isinstance(module, Module) and module is not None:
            raise TypeError("%s is not a Module subclass" % torch.typename(module))
        if not isinstance(name, str):
            raise TypeError("module name should be a string. Got %s" % torch.typename(name))
        if hasattr(self, name) and name not in self._modules:
            raise KeyError("attribute '%s' already exists" % name)
        _check_name("module", name)
        self._modules[name] = _hooks.run_registration(_hooks.module_registration, self, name, module)

    def register_module(self, name, module):
        """The same as add_module."""
        self.add_module(name, module)

    # --- attributes ---

    def __getattr__(self, name):
        state = self.__dict__
        for kind in ("_parameters", "_modules", "_buffers"):
            members = state.get(kind)
            if members is not None and name in members:
                return members[name]
        raise AttributeError("'%s' object has no attribute '%s'" % (type(self).__name__, name))

    def _forget(self, name, *kinds):
        """Takes a name out of the instance and of these dictionaries before it is registered as something
        else."""
        self.__dict__.pop(name, None)
        for kind in kinds:
            self.__dict__[kind].pop(name, None)
        self._non_persistent_buffers_set.discard(name)

    def __setattr__(self, name, value):
        state = self.__dict__
        params = state.get("_parameters")
        modules = state.get("_modules")
        buffers = state.get("_buffers")
        is_tensor = isinstance(value, torch.Tensor)
        if is_tensor and isinstance(value, Parameter):
            if params is None:
                raise AttributeError("cannot assign parameters before Module.__init__() call")
            self._forget(name, "_buffers", "_modules")
            self.register_parameter(name, value)
        elif params is not None and name in params:
            if value is not None:
                raise TypeError(
                    "cannot assign '%s' as parameter '%s' (torch.nn.Parameter or None expected)"
                    % (torch.typename(value), name)
                )
            self.register_parameter(name, value)
        elif isinstance(value, Module):
            if modules is None:
                raise AttributeError("cannot assign module before Module.__init__() call")
            self._forget(name, "_parameters", "_buffers")
            modules[name] = _hooks.run_registration(_hooks.module_registration, self, name, value)
        elif modules is not None and name in modules:
            if value is not None:
                raise TypeError(
                    "cannot assign '%s' as child module '%s' (torch.nn.Module or None expected)"
                    % (torch.typename(value), name)
                )
            modules[name] = _hooks.run_registration(_hooks.module_registration, self, name, value)
        elif buffers is not None and name in buffers or is_tensor and isinstance(value, Buffer):
            self._assign_buffer(name, value)
        else:
            object.__setattr__(self, name, value)

    def _assign_buffer(self, name, value):
        if value is not None and not _is_tensor_like(value):
            raise TypeError(
                "cannot assign '%s' as buffer '%s' (torch.nn.Buffer, torch.Tensor or None expected)"
                % (torch.typename(value), name)
            )
        if isinstance(value, Buffer):
            persistent = value.persistent
        else:
            persistent = name not in self._non_persistent_buffers_set
        if type(self).register_buffer is Module.register_buffer:
            self.register_buffer(name, value, persistent)
            return
        from inspect import signature

        if "persistent" in signature(self.register_buffer).parameters:
            self.register_buffer(name, value, persistent)
            return
        if not persistent:
            raise RuntimeError(
                "Registering a non-persistent buffer on a Module subclass that implements "
                "register_buffer() without the persistent argument is not allowed."
            )
        self.register_buffer(name, value)

    def __delattr__(self, name):
        for kind in ("_parameters", "_buffers", "_modules"):
            members = self.__dict__.get(kind)
            if members is not None and name in members:
                del members[name]
                if kind == "_buffers":
                    self._non_persistent_buffers_set.discard(name)
                return
        object.__delattr__(self, name)

    def __dir__(self):
        names = set(dir(type(self)))
        names.update(self.__dict__, self._parameters, self._modules, self._buffers)
        return sorted([name for name in names if not name[0].isdigit()])

    def __getstate__(self):
        state = self.__dict__.copy()
        state.pop("_compiled_call_impl", None)
        return state

    def __setstate__(self, state):
        own = self.__dict__
        own.update(state)
        for name in _HOOK_DICTS:  # files of old versions lack some
            if name not in own:
                own[name] = OrderedDict()
        own.setdefault("_non_persistent_buffers_set", set())
        own.setdefault("_is_full_backward_hook", None)

    # --- finding members by path ---

    def _member(self, target):
        path, _, name = target.rpartition(".")
        owner = self.get_submodule(path)
        if not hasattr(owner, name):
            raise AttributeError("%s has no attribute `%s`" % (owner._get_name(), name))
        return owner, name, getattr(owner, name)

    def get_submodule(self, target):
        """The submodule with that dotted path; the module itself for ""."""
        module = self
        for name in target.split(".") if target else ():
            if not hasattr(module, name):
                raise AttributeError("%s has no attribute `%s`" % (module._get_name(), name))
            module = getattr(module, name)
            if not isinstance(module, Module):
                raise AttributeError("`%s` is not an nn.Module" % name)
        return module

    def set_submodule(self, target, module, strict=False):
        """Puts a module at that dotted path; with `strict` there must be one already."""
        if target == "":
            raise ValueError("Cannot set the submodule without a target name!")
        if not isinstance(module, Module):
            raise ValueError("`module` is not an nn.Module, found %s" % type(module))
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        if strict and not hasattr(parent, name):
            raise AttributeError("%s has no attribute `%s`" % (parent._get_name(), name))
        if hasattr(parent, name) and not isinstance(getattr(parent, name), Module):
            raise AttributeError("`%s` is not an nn.Module" % name)
        setattr(parent, name, module)

    def get_parameter(self, target):
        """The parameter with that dotted path."""
        _, name, param = self._member(target)
        if not isinstance(param, Parameter):
            raise AttributeError("`%s` is not an nn.Parameter" % name)
        return param

    def get_buffer(self, target):
        """The buffer with that dotted path."""
        owner, name, buffer = self._member(target)
        if name not in owner._buffers:
            raise AttributeError("`%s` is not a buffer" % name)
        return buffer

    # --- traversal ---

    def _named_members(self, get_members_fn, prefix="", recurse=True, remove_duplicate=True):
        seen = set()
        owners = (
            self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate)
            if recurse
            else [(prefix, self)]
        )
        for path, owner in owners:
            for name, member in get_members_fn(owner):
                if member is None or member in seen:
                    continue
                if remove_duplicate:
                    seen.add(member)
                yield (path + "." + name if path else name), member

    def parameters(self, recurse=True):
        """Iterates over the parameters, each once."""
        for _, param in self.named_parameters(recurse=recurse):
            yield param

    def named_parameters(self, prefix="", recurse=True, remove_duplicate=True):
        """Iterates over (dotted name, parameter)."""
        return self._named_members(
            lambda module: module._parameters.items(), prefix, recurse, remove_duplicate
        )

    def buffers(self, recurse=True):
        """Iterates over the buffers, each once."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def named_buffers(self, prefix="", recurse=True, remove_duplicate=True):
        """Iterates over (dotted name, buffer)."""
        return self._named_members(lambda module: module._buffers.items(), prefix, recurse, remove_duplicate)

    def children(self):
        """Iterates over the direct submodules, each once."""
        for _, module in self.named_children():
            yield module

    def named_children(self):
        """Iterates over (name, direct submodule)."""
        seen = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def modules(self, remove_duplicate=True):
        """Iterates over this module and all below it."""
        for _, module in self.named_modules(remove_duplicate=remove_duplicate):
            yield module

    def named_modules(self, memo=None, prefix="", remove_duplicate=True):
        """Iterates over (dotted name, module), this one first."""
        if memo is None:
            memo = set()
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                path = prefix + "." + name if prefix else name
                yield from module.named_modules(memo, path, remove_duplicate)

    # --- modes and conversions ---

    def train(self, mode=True):
        """Puts this module and all below it into training mode (or out of it)."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self):
        """The same as train(False)."""
        return self.train(False)

    def requires_grad_(self, requires_grad=True):
        """Sets requires_grad of all parameters."""
        for param in self.parameters():
            param.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none=True):
        """Drops the gradients of all parameters, or zeroes them."""
        if getattr(self, "_is_replica", False):
            warnings.warn(
                "Calling .zero_grad() from a module created with nn.DataParallel() has no effect.",
                stacklevel=2,
            )
        for param in self.parameters():
            if param.grad is None:
                continue
            if set_to_none:
                param.grad = None
                continue
            if param.grad.grad_fn is not None:
                param.grad.detach_()
            else:
                param.grad.requires_grad_(False)
            param.grad.zero_()

    def apply(self, fn):
        """Calls `fn(module)` for all modules, the deepest first."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def _apply(self, fn, recurse=True):
        """Replaces parameters, their gradients and buffers by what `fn` makes of them."""
        if recurse:
            for module in self.children():
                module._apply(fn)
        swap = _future.get_swap_module_params_on_conversion()
        for name, param in self._parameters.items():
            if param is not None:
                _convert_parameter(self, name, param, fn, swap)
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def cuda(self, device=None):
        """Moves parameters and buffers to a CUDA device."""
        return self._apply(lambda t: t.cuda(device))

    def ipu(self, device=None):
        return self._apply(lambda t: t.ipu(device))

    def xpu(self, device=None):
        return self._apply(lambda t: t.xpu(device))

    def mtia(self, device=None):
        return self._apply(lambda t: t.mtia(device))

    def cpu(self):
        """Moves parameters and buffers to the CPU."""
        return self._apply(lambda t: t.cpu())

    def type(self, dst_type):
        """Casts all parameters and buffers."""
        return self._apply(lambda t: t.type(dst_type))

    def float(self):
        """Casts floating point parameters and buffers to float32."""
        return self._apply(lambda t: t.float() if t.is_floating_point() else t)

    def double(self):
        """Casts floating point parameters and buffers to float64."""
        return self._apply(lambda t: t.double() if t.is_floating_point() else t)

    def half(self):
        """Casts floating point parameters and buffers to float16."""
        return self._apply(lambda t: t.half() if t.is_floating_point() else t)

    def bfloat16(self):
        """Casts floating point parameters and buffers to bfloat16."""
        return self._apply(lambda t: t.bfloat16() if t.is_floating_point() else t)

    def to_empty(self, *, device, recurse=True):
        """Moves to a device without copying values."""
        return self._apply(lambda t: torch.empty_like(t, device=device), recurse=recurse)

    def to(self, *args, **kwargs):
        """to(device=None, dtype=None, non_blocking=False), to(dtype, ...), to(tensor, ...), each with
        memory_format=

        Moves and casts parameters and buffers; only floating point and complex ones are cast.
        """
        device, dtype, non_blocking, memory_format = _parse_to(*args, **kwargs)
        if dtype is not None:
            if not (dtype.is_floating_point or dtype.is_complex):
                raise TypeError(
                    "nn.Module.to only accepts floating point or complex dtypes, but got desired dtype=%s"
                    % dtype
                )
            if dtype.is_complex:
                warnings.warn(
                    "Complex modules are a new feature under active development whose design may change, "
                    "and some modules might not work as expected when using complex tensors as parameters "
                    "or buffers.",
                    stacklevel=2,
                )

        def convert(t):
            target = dtype if t.is_floating_point() or t.is_complex() else None
            try:
                if memory_format is not None and t.dim() in (4, 5):
                    return t.to(device, target, non_blocking, memory_format=memory_format)
                return t.to(device, target, non_blocking)
            except NotImplementedError as exc:
                if str(exc) != "Cannot copy out of meta tensor; no data!":
                    raise
                raise NotImplementedError(
                    "%s Please use torch.nn.Module.to_empty() instead of torch.nn.Module.to() when moving "
                    "module from meta to a different device." % exc
                ) from None

        return self._apply(convert)

    def share_memory(self):
        """Moves parameters and buffers to shared memory."""
        return self._apply(lambda t: t.share_memory_())

    # --- hooks ---

    def register_forward_pre_hook(self, hook, *, prepend=False, with_kwargs=False):
        """`hook(module, args)` runs before forward and may return other arguments; with `with_kwargs` it is
        `hook(module, args, kwargs)` and returns both."""
        handle = _hooks.add(
            self._forward_pre_hooks, hook, prepend, extra_dict=self._forward_pre_hooks_with_kwargs
        )
        if with_kwargs:
            self._forward_pre_hooks_with_kwargs[handle.id] = True
        return handle

    def register_forward_hook(self, hook, *, prepend=False, with_kwargs=False, always_call=False):
        """`hook(module, args, output)` runs after forward and may return another output; with `with_kwargs`
        it is `hook(module, args, kwargs, output)`; with `always_call` it also runs when forward raised."""
        extra = [self._forward_hooks_with_kwargs, self._forward_hooks_always_called]
        handle = _hooks.add(self._forward_hooks, hook, prepend, extra_dict=extra)
        if with_kwargs:
            self._forward_hooks_with_kwargs[handle.id] = True
        if always_call:
            self._forward_hooks_always_called[handle.id] = True
        return handle

    def _set_backward_kind(self, full):
        if self._is_full_backward_hook is not None and self._is_full_backward_hook is not full:
            raise RuntimeError(
                "Cannot use both regular backward hooks and full backward hooks on a single Module. Please "
                "use only one of them."
            )
        self._is_full_backward_hook = full

    def register_backward_hook(self, hook):
        """Old kind of backward hook; use register_full_backward_hook."""
        self._set_backward_kind(False)
        return _hooks.add(self._backward_hooks, hook)

    def register_full_backward_hook(self, hook, prepend=False):
        """`hook(module, grad_input, grad_output)` runs when the gradients of the inputs are there and may
        return other ones."""
        self._set_backward_kind(True)
        return _hooks.add(self._backward_hooks, hook, prepend)

    def register_full_backward_pre_hook(self, hook, prepend=False):
        """`hook(module, grad_output)` runs before the gradients of the module are computed and may return
        other ones."""
        return _hooks.add(self._backward_pre_hooks, hook, prepend)

    # --- state dictionaries ---

    def get_extra_state(self):
        """What a subclass adds to the state dictionary besides tensors."""
        raise RuntimeError("Module.get_extra_state() is to be defined together with set_extra_state()")

    def set_extra_state(self, state):
        """Takes back what get_extra_state returned."""
        raise RuntimeError("Module.set_extra_state() is to be defined together with get_extra_state()")

    def register_state_dict_pre_hook(self, hook):
        """`hook(module, prefix, keep_vars)` runs before the state dictionary is filled."""
        return _hooks.add(self._state_dict_pre_hooks, hook)

    def register_state_dict_post_hook(self, hook):
        """`hook(module, state_dict, prefix, local_metadata)` runs after the state dictionary is filled."""
        hook._from_public_api = True
        return _hooks.add(self._state_dict_hooks, hook)

    def _register_state_dict_hook(self, hook):
        if getattr(hook, "_from_public_api", False):
            raise RuntimeError(
                "Cannot register the same function as the state dict post hook that was previously "
                "registered via register_state_dict_post_hook"
            )
        return _hooks.add(self._state_dict_hooks, hook)

    def register_load_state_dict_pre_hook(self, hook):
        """`hook(module, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys,
        error_msgs)` runs before this module takes its values out of a state dictionary."""
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def _register_load_state_dict_pre_hook(self, hook, with_module=False):
        return _hooks.add(
            self._load_state_dict_pre_hooks, _hooks.WrappedHook(hook, self if with_module else None)
        )

    def register_load_state_dict_post_hook(self, hook):
        """`hook(module, incompatible_keys)` runs after a state dictionary has been loaded."""
        return _hooks.add(self._load_state_dict_post_hooks, hook)

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        _state_dict.save_own(self, destination, prefix, keep_vars)

    def state_dict(self, *args, destination=None, prefix="", keep_vars=False):
        """All persistent tensors of this module and those below it, in an ordered dictionary by dotted name.
        The tensors are detached unless `keep_vars`."""
        if args:
            warnings.warn(
                "Positional args are being deprecated, use kwargs instead.", FutureWarning, stacklevel=2
            )
            destination = args[0] if destination is None else destination
            if len(args) > 1 and prefix == "":
                prefix = args[1]
            if len(args) > 2 and keep_vars is False:
                keep_vars = args[2]
        return _state_dict.collect(self, destination, prefix, keep_vars)

    def _load_from_state_dict(
        self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
    ):
        _state_dict.load_own(
            self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        )

    def load_state_dict(self, state_dict, strict=True, assign=False):
        """Copies the tensors of a state dictionary into this module and those below it.  With `strict` the
        names must match; `assign` puts the given tensors in place instead of copying.  Returns (missing_keys,
        unexpected_keys)."""
        return _state_dict.load(self, state_dict, strict, assign)

    # --- printing ---

    def _get_name(self):
        return type(self).__name__

    def extra_repr(self):
        """What stands between the brackets when the module is printed."""
        return ""

    def __repr__(self):
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        single = len(lines) == 1 and not self._modules
        for name, module in self._modules.items():
            lines.append("(%s): %s" % (name, _addindent(repr(module), 2)))
        if not lines:
            return self._get_name() + "()"
        if single:
            return "%s(%s)" % (self._get_name(), lines[0])
        return "%s(\n  %s\n)" % (self._get_name(), "\n  ".join(lines))

    def _replicate_for_data_parallel(self):
        replica = self.__new__(type(self))
        replica.__dict__ = self.__dict__.copy()
        replica._parameters = {}
        replica._buffers = replica._buffers.copy()
        replica._modules = replica._modules.copy()
        replica._is_replica = True
        return replica


def _can_set_data(old, new):
    """Whether `old.data = new` is possible and wanted."""
    return (
        old.is_meta == new.is_meta
        and old.layout == new.layout
        and not _future.get_overwrite_module_params_on_conversion()
    )


def _convert_parameter(module, name, param, fn, swap):
    with torch.no_grad():
        converted = fn(param)
    grad = param.grad
    where = "%s.%s" % (module._get_name(), name)
    if swap:
        try:
            if grad is not None:
                param.grad = None
            converted = Parameter(converted, requires_grad=param.requires_grad)
            torch.utils.swap_tensors(param, converted)
        except Exception as exc:
            if grad is not None:
                param.grad = grad
            raise RuntimeError("_apply(): Couldn't swap %s" % where) from exc
        kept = param
    elif _can_set_data(param, converted):
        param.data = converted
        kept = param
    else:
        kept = Parameter(converted, param.requires_grad)
        module._parameters[name] = kept
    if grad is None:
        return
    with torch.no_grad():
        converted = fn(grad)
    if swap:
        converted.requires_grad_(grad.requires_grad)
        try:
            torch.utils.swap_tensors(grad, converted)
        except Exception as exc:
            raise RuntimeError("_apply(): Couldn't swap %s.grad" % where) from exc
        kept.grad = grad
    elif kept is param and _can_set_data(grad, converted):
        kept.grad.data = converted
    else:
        kept.grad = converted.requires_grad_(grad.requires_grad)
