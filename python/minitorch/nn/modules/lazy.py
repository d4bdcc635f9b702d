# SPDX-License-Identifier: BSD-3-Clause
"""Modules that take the shapes of their parameters from the first input."""

import minitorch as torch
from minitorch.nn.parameter import is_lazy

__all__ = ["LazyModuleMixin"]


class LazyModuleMixin:
    """Before the first call, `initialize_parameters` gets the input; afterwards the module is an ordinary
    one, of class `cls_to_become`."""

    cls_to_become = None

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._load_hook = self._register_load_state_dict_pre_hook(self._lazy_load_hook)
        self._initialize_hook = self.register_forward_pre_hook(self._infer_parameters, with_kwargs=True)

    def _members(self):
        return [*self._parameters.items(), *self._buffers.items()]

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        # Uninitialised tensors cannot be detached.
        for name, member in self._members():
            if member is not None and name not in self._non_persistent_buffers_set:
                destination[prefix + name] = member if is_lazy(member) or keep_vars else member.detach()

    def _lazy_load_hook(
        self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
    ):
        for name, member in self._members():
            loaded = state_dict.get(prefix + name)
            if loaded is not None and is_lazy(member) and not is_lazy(loaded):
                with torch.no_grad():
                    member.materialize(loaded.shape)

    def initialize_parameters(self, *args, **kwargs):
        raise NotImplementedError("initialize_parameters is not implemented for %s" % type(self).__name__)

    def has_uninitialized_params(self):
        """Whether some parameter or buffer has no shape yet."""
        return any([is_lazy(member) for _, member in self._members()])

    def _infer_parameters(self, module, args, kwargs=None):
        module.initialize_parameters(*args, **(kwargs or {}))
        if module.has_uninitialized_params():
            raise RuntimeError("module %s has not been fully initialized" % self._get_name())
        module._initialize_hook.remove()
        module._load_hook.remove()
        del module._initialize_hook
        del module._load_hook
        if module.cls_to_become is not None:
            module.__class__ = module.cls_to_become

    def _replicate_for_data_parallel(self):
        raise RuntimeError(
            "Modules with uninitialized parameters can't be used with `DataParallel`. Run a dummy forward "
            "pass to correctly initialize the modules"
        )
