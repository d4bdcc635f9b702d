# SPDX-License-Identifier: BSD-3-Clause
"""State dictionaries of modules: collecting them and loading them with all the errors in one message."""

import warnings
from collections import OrderedDict, namedtuple
from collections.abc import Mapping

import minitorch as torch
from minitorch import __future__ as _future
from minitorch.nn.parameter import Parameter, is_lazy

_EXTRA_STATE = "_extra_state"


class _IncompatibleKeys(namedtuple("IncompatibleKeys", ["missing_keys", "unexpected_keys"])):
    __slots__ = ()

    def __repr__(self):
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return super().__repr__()

    __str__ = __repr__


def _overrides(module, name):
    """Whether the class of the module defines that method itself."""
    base = torch.nn.modules.module.Module
    return getattr(type(module), name, None) is not getattr(base, name)


# --- collecting ---


def save_own(module, destination, prefix, keep_vars):
    for name, param in module._parameters.items():
        if param is not None:
            destination[prefix + name] = param if keep_vars else param.detach()
    for name, buffer in module._buffers.items():
        if buffer is not None and name not in module._non_persistent_buffers_set:
            destination[prefix + name] = buffer if keep_vars else buffer.detach()
    if _overrides(module, "get_extra_state"):
        destination[prefix + _EXTRA_STATE] = module.get_extra_state()


def collect(module, destination, prefix, keep_vars):
    if destination is None:
        destination = OrderedDict()
        destination._metadata = OrderedDict()
    metadata = {"version": module._version}
    if hasattr(destination, "_metadata"):
        destination._metadata[prefix[:-1]] = metadata
    for hook in module._state_dict_pre_hooks.values():
        hook(module, prefix, keep_vars)
    module._save_to_state_dict(destination, prefix, keep_vars)
    for name, child in module._modules.items():
        if child is not None:
            child.state_dict(destination=destination, prefix=prefix + name + ".", keep_vars=keep_vars)
    for hook in module._state_dict_hooks.values():
        answer = hook(module, destination, prefix, metadata)
        if answer is None:
            continue
        if getattr(hook, "_from_public_api", False):
            raise RuntimeError("state_dict post-hook must return None")
        destination = answer
    return destination


# --- loading ---


def _put(module, name, old, new, assign, swap):
    """Gives the member `name` of the module the value `new`."""
    if swap:
        fresh = old.module_load(new, assign=assign)
        if fresh is new or fresh is old:
            raise RuntimeError(
                "module_load returned one of self or other, please .detach() the result if returning one "
                "of the inputs in module_load"
            )
        if isinstance(old, Parameter):
            if isinstance(fresh, Parameter):
                fresh.requires_grad_(old.requires_grad)
            else:
                fresh = Parameter(fresh, requires_grad=old.requires_grad)
        torch.utils.swap_tensors(old, fresh)
    elif assign:
        if isinstance(old, Parameter):
            if isinstance(new, Parameter):
                new.requires_grad_(old.requires_grad)
            else:
                new = Parameter(new, requires_grad=old.requires_grad)
        setattr(module, name, new)
    else:
        old.copy_(new)


def _load_member(module, name, old, key, new, assign, error_msgs):
    if not torch.overrides.is_tensor_like(new):
        error_msgs.append(
            'While copying the parameter named "%s", expected torch.Tensor or Tensor-like object from '
            "checkpoint but "
            "received %s" % (key, type(new))
        )
        return
    if not is_lazy(old):
        if len(old.shape) == 0 and len(new.shape) == 1 and new.shape[0] == 1:
            new = new[0]  # very old files have one-element vectors for scalars
        if new.shape != old.shape:
            error_msgs.append(
                "size mismatch for %s: copying a param with shape %s from checkpoint, the shape in current "
                "model is %s." % (key, new.shape, old.shape)
            )
            return
    if old.is_meta and not new.is_meta and not assign:
        warnings.warn(
            "for %s: copying from a non-meta parameter in the checkpoint to a meta parameter in the "
            "current model, which is a no-op. (Did you mean to pass `assign=True` to assign items in the "
            "state dictionary to their corresponding key in the module instead of copying them in "
            "place?)" % key,
            stacklevel=4,
        )
    swap = _future.get_swap_module_params_on_conversion()
    try:
        with torch.no_grad():
            _put(module, name, old, new, assign, swap)
    except Exception as exc:
        error_msgs.append(
            'While %s the parameter named "%s", whose dimensions in the model are %s and whose dimensions '
            "in the "
            "checkpoint are %s, an exception occurred : %s."
            % ("swapping" if swap else "copying", key, old.size(), new.size(), exc.args)
        )


def load_own(module, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs):
    for hook in module._load_state_dict_pre_hooks.values():
        hook(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
    members = dict(module._parameters)
    for name, buffer in module._buffers.items():
        if name not in module._non_persistent_buffers_set:
            members[name] = buffer
    members = {name: member for name, member in members.items() if member is not None}
    assign = local_metadata.get("assign_to_params_buffers", False)
    for name, member in members.items():
        key = prefix + name
        if key in state_dict:
            _load_member(module, name, member, key, state_dict[key], assign, error_msgs)
        elif strict:
            missing_keys.append(key)
    extra_key = prefix + _EXTRA_STATE
    if _overrides(module, "set_extra_state"):
        if extra_key in state_dict:
            module.set_extra_state(state_dict[extra_key])
        elif strict:
            missing_keys.append(extra_key)
    elif strict and extra_key in state_dict:
        unexpected_keys.append(extra_key)
    if not strict:
        return
    for key in state_dict:
        if key.startswith(prefix) and key != extra_key:
            first, dot, _ = key[len(prefix) :].partition(".")
            if first not in (module._modules if dot else members):
                unexpected_keys.append(key)


def load(module, state_dict, strict, assign):
    if not isinstance(state_dict, Mapping):
        raise TypeError("Expected state_dict to be dict-like, got %s." % type(state_dict))
    missing_keys, unexpected_keys, error_msgs = [], [], []
    metadata = getattr(state_dict, "_metadata", None)
    state_dict = OrderedDict(state_dict)
    if metadata is not None:
        state_dict._metadata = metadata

    def visit(owner, local_state, prefix):
        local_metadata = {} if metadata is None else metadata.get(prefix[:-1], {})
        if assign:
            local_metadata["assign_to_params_buffers"] = assign
        owner._load_from_state_dict(
            local_state, prefix, local_metadata, True, missing_keys, unexpected_keys, error_msgs
        )
        for name, child in owner._modules.items():
            if child is not None:
                below = prefix + name + "."
                visit(
                    child, {key: value for key, value in local_state.items() if key.startswith(below)}, below
                )
        keys = _IncompatibleKeys(missing_keys, unexpected_keys)
        for hook in owner._load_state_dict_post_hooks.values():
            if hook(owner, keys) is not None:
                raise AssertionError(
                    "Hooks registered with ``register_load_state_dict_post_hook`` are not expected to "
                    "return new values, if incompatible_keys need to be modified, it should be done inplace."
                )

    visit(module, state_dict, "")
    if strict:
        found = []
        for title, keys in (("Missing", missing_keys), ("Unexpected", unexpected_keys)):
            if keys:
                found.append(
                    "%s key(s) in state_dict: %s. " % (title, ", ".join(['"%s"' % key for key in keys]))
                )
        error_msgs[:0] = found
    if error_msgs:
        raise RuntimeError(
            "Error(s) in loading state_dict for %s:\n\t%s" % (type(module).__name__, "\n\t".join(error_msgs))
        )
    return _IncompatibleKeys(missing_keys, unexpected_keys)
