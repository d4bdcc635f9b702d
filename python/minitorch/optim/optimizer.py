# SPDX-License-Identifier: BSD-3-Clause
"""Optimizer: parameter groups, state by parameter, state dictionaries, hooks.

An algorithm derives from `GroupOptimizer` and defines two methods: `_new_state` makes the state of a
parameter at its first step, `_update` changes a list of parameters by their gradients.  The order of
operations in `_update` is that of PyTorch's plain (not fused) implementation, so that results are equal to
the last bit.
"""

import functools
import warnings
from collections import OrderedDict, defaultdict
from collections.abc import Iterable
from copy import deepcopy

import minitorch as torch
from minitorch import _C
from minitorch.utils.hooks import RemovableHandle

__all__ = ["Optimizer", "register_optimizer_step_pre_hook", "register_optimizer_step_post_hook"]

_global_optimizer_pre_hooks = OrderedDict()
_global_optimizer_post_hooks = OrderedDict()

_HOOKS = (
    "_optimizer_step_pre_hooks",
    "_optimizer_step_post_hooks",
    "_optimizer_state_dict_pre_hooks",
    "_optimizer_state_dict_post_hooks",
    "_optimizer_load_state_dict_pre_hooks",
    "_optimizer_load_state_dict_post_hooks",
)


class _RequiredParameter:
    def __repr__(self):
        return "<required parameter>"


# The default of an option that every group must give.
required = _RequiredParameter()


def _add(hooks, hook, prepend=False):
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


def register_optimizer_step_pre_hook(hook):
    """`hook(optimizer, args, kwargs)` runs before the step of every optimizer."""
    return _add(_global_optimizer_pre_hooks, hook)


def register_optimizer_step_post_hook(hook):
    """`hook(optimizer, args, kwargs)` runs after the step of every optimizer."""
    return _add(_global_optimizer_post_hooks, hook)


def _hooked(step):
    """`step` with the hooks around it."""

    @functools.wraps(step)
    def wrapper(*args, **kwargs):
        self = args[0]
        pre = [*_global_optimizer_pre_hooks.values(), *self._optimizer_step_pre_hooks.values()]
        for hook in pre:
            answer = hook(self, args, kwargs)
            if answer is not None:
                if not isinstance(answer, tuple) or len(answer) != 2:
                    raise RuntimeError(
                        "%s must return None or a tuple of (new_args, new_kwargs), but got %s."
                        % (step, answer)
                    )
                args, kwargs = answer
        result = step(*args, **kwargs)
        for hook in [*self._optimizer_step_post_hooks.values(), *_global_optimizer_post_hooks.values()]:
            hook(self, args, kwargs)
        return result

    wrapper.hooked = True
    return wrapper


class Optimizer:
    """Optimizer(params, defaults): base class.  `params` is an iterable of tensors, of (name, tensor) pairs
    or of dictionaries, which are groups with options of their own; `defaults` are the options of the
    others."""

    def __init__(self, params, defaults):
        self.defaults = defaults
        for name in _HOOKS:
            setattr(self, name, OrderedDict())
        self._patch_step_function()
        if isinstance(params, torch.Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, but got "
                + torch.typename(params)
            )
        self.state = defaultdict(dict)
        self.param_groups = []
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    def _patch_step_function(self):
        cls = type(self)
        if not getattr(cls.step, "hooked", None):
            cls.step = _hooked(cls.step)

    def __getstate__(self):
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state):
        self.__dict__.update(state)
        for name in _HOOKS:
            if name not in self.__dict__:
                setattr(self, name, OrderedDict())
        self._patch_step_function()
        self.defaults.setdefault("differentiable", False)

    def __repr__(self):
        text = type(self).__name__ + " ("
        for index, group in enumerate(self.param_groups):
            text += "\nParameter Group %d\n" % index
            for key in sorted(group):
                if key != "params":
                    text += "    %s: %s\n" % (key, group[key])
        return text + ")"

    # --- hooks ---

    def register_step_pre_hook(self, hook):
        """`hook(optimizer, args, kwargs)` runs before step and may return other arguments."""
        return _add(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook):
        """`hook(optimizer, args, kwargs)` runs after step."""
        return _add(self._optimizer_step_post_hooks, hook)

    def register_state_dict_pre_hook(self, hook, prepend=False):
        """`hook(optimizer)` runs before the state dictionary is made."""
        return _add(self._optimizer_state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(self, hook, prepend=False):
        """`hook(optimizer, state_dict)` runs after the state dictionary is made and may return another
        one."""
        return _add(self._optimizer_state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(self, hook, prepend=False):
        """`hook(optimizer, state_dict)` runs before a state dictionary is loaded and may return another
        one."""
        return _add(self._optimizer_load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(self, hook, prepend=False):
        """`hook(optimizer)` runs after a state dictionary has been loaded."""
        return _add(self._optimizer_load_state_dict_post_hooks, hook, prepend)

    # --- state dictionaries ---

    def state_dict(self):
        """{"state": ..., "param_groups": ...}, in which parameters are numbered in the order of the
        groups."""
        for hook in self._optimizer_state_dict_pre_hooks.values():
            hook(self)
        numbers = {}
        groups = []
        for group in self.param_groups:
            start = sum([len(packed["params"]) for packed in groups])
            for index, param in enumerate(group["params"], start):
                numbers.setdefault(id(param), index)
            packed = {key: value for key, value in group.items() if key != "params"}
            packed["params"] = [numbers[id(param)] for param in group["params"]]
            groups.append(packed)
        state = {
            (numbers[id(key)] if isinstance(key, torch.Tensor) else key): value
            for key, value in self.state.items()
        }
        result = {"state": state, "param_groups": groups}
        for hook in self._optimizer_state_dict_post_hooks.values():
            answer = hook(self, result)
            if answer is not None:
                result = answer
        return result

    def load_state_dict(self, state_dict):
        """Takes state and options from a state dictionary; the groups must have the same sizes."""
        state_dict = state_dict.copy()
        for hook in self._optimizer_load_state_dict_pre_hooks.values():
            answer = hook(self, state_dict)
            if answer is not None:
                state_dict = answer
        saved_groups = deepcopy(state_dict["param_groups"])
        if len(self.param_groups) != len(saved_groups):
            raise ValueError("loaded state dict has a different number of parameter groups")
        param_of = {}
        group_of = {}
        for group, saved in zip(self.param_groups, saved_groups):
            if len(group["params"]) != len(saved["params"]):
                raise ValueError(
                    "loaded state dict contains a parameter group that doesn't match the size of "
                    "optimizer's group"
                )
            for number, param in zip(saved["params"], group["params"]):
                param_of[number] = param
                group_of.setdefault(number, saved)
        state = defaultdict(dict)
        for key, value in state_dict["state"].items():
            if key in param_of:
                state[param_of[key]] = _cast_state(param_of[key], value, group_of[key])
            else:
                state[key] = value
        for group, saved in zip(self.param_groups, saved_groups):
            saved["params"] = group["params"]
            if "param_names" in group:
                saved.setdefault("param_names", group["param_names"])
        self.__setstate__({"state": state, "param_groups": saved_groups})
        for hook in self._optimizer_load_state_dict_post_hooks.values():
            hook(self)

    # --- groups ---

    def add_param_group(self, param_group):
        """Adds a group: a dictionary with "params" and options of its own."""
        if not isinstance(param_group, dict):
            raise TypeError("param_group must be a dict, but got %s" % type(param_group))
        params = param_group["params"]
        if isinstance(params, set):
            raise TypeError(
                "optimizer parameters need to be organized in ordered collections, but the ordering of "
                "tensors in sets will change between runs. Please use a list instead."
            )
        params = [params] if isinstance(params, torch.Tensor) else list(params)
        names = [param[0] for param in params if isinstance(param, tuple)]
        if names:
            if len(names) != len(params):
                raise ValueError(
                    "all optimizer params should be with/without names. Some param names are missing"
                )
            param_group["param_names"] = names
            params = [param[1] for param in params]
        param_group["params"] = params
        for param in params:
            if not isinstance(param, torch.Tensor):
                raise TypeError(
                    "optimizer can only optimize Tensors, but one of the params is " + torch.typename(param)
                )
            if not self.defaults.get("differentiable", None) and not (param.is_leaf or param.retains_grad):
                raise ValueError("can't optimize a non-leaf Tensor")
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(
                    "parameter group didn't specify a value of required optimization parameter %s" % name
                )
            param_group.setdefault(name, default)
        own = set(params)
        if len(params) != len(own):
            warnings.warn(
                "optimizer contains a parameter group with duplicate parameters; in future, this will "
                "cause an error; see github.com/pytorch/pytorch/issues/40967 for more information",
                stacklevel=3,
            )
        for group in self.param_groups:
            if ("param_names" in param_group) != ("param_names" in group):
                raise ValueError(
                    "all optimizer param groups should be with/without names. cannot add param group %s to "
                    "the optimizer" % ("with names" if "param_names" in param_group else "without names")
                )
        if any([not own.isdisjoint(group["params"]) for group in self.param_groups]):
            raise ValueError("some parameters appear in more than one parameter group")
        self.param_groups.append(param_group)

    def zero_grad(self, set_to_none=True):
        """Drops the gradients of all parameters, or zeroes them."""
        for group in self.param_groups:
            for param in group["params"]:
                grad = param.grad
                if grad is None:
                    continue
                if set_to_none:
                    param.grad = None
                    continue
                if grad.grad_fn is not None:
                    grad.detach_()
                else:
                    grad.requires_grad_(False)
                grad.zero_()

    def step(self, closure=None):
        """Changes the parameters by their gradients.  `closure`, when given, computes the loss anew."""
        raise NotImplementedError


def _cast_state(param, value, group, key=None):
    """A loaded state value in the dtype and on the device of its parameter."""
    if isinstance(value, torch.Tensor):
        if key == "step":
            if group.get("capturable", False) or group.get("fused", False):
                return value.to(dtype=torch.float32, device=param.device)
            return value
        if param.is_floating_point():
            return value.to(dtype=param.dtype, device=param.device)
        return value.to(device=param.device)
    if isinstance(value, dict):
        return {k: _cast_state(param, v, group, k) for k, v in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, (str, bytes)):
        return type(value)([_cast_state(param, v, group) for v in value])
    return value


# --- what the algorithms share ---


def _to_scalar(x):
    """A number as it is; a one-element tensor without dimensions."""
    return x.squeeze() if isinstance(x, torch.Tensor) and x.dim() != 0 else x


def _new_step(group, param, device=None):
    """The count of steps: a number in a tensor, so that it can be saved and live on the device."""
    if group.get("fused"):
        return torch.zeros((), dtype=torch.float32, device=param.device)
    dtype = torch.float64 if torch.get_default_dtype() == torch.float64 else torch.float32
    if group.get("capturable"):
        return torch.zeros((), dtype=dtype, device=param.device)
    return torch.tensor(0.0, dtype=dtype, device=device)


def _zeros(param):
    return torch.zeros_like(param, memory_format=torch.preserve_format)


def _real(*tensors):
    """Complex tensors as pairs of real numbers."""
    return [torch.view_as_real(tensor) for tensor in tensors]


def check(**values):
    """ValueError for a negative option; the keyword is the word in the message, with blanks for
    underscores."""
    for word, value in values.items():
        if not 0.0 <= value:
            raise ValueError("Invalid %s: %s" % (word.replace("__", "-").replace("_", " "), value))


def check_lr(lr):
    if isinstance(lr, torch.Tensor) and lr.numel() != 1:
        raise ValueError("Tensor lr must be 1-element")
    if not 0.0 <= lr:
        raise ValueError("Invalid learning rate: %s" % lr)


def check_betas(betas):
    for index in (0, 1):
        if not 0.0 <= betas[index] < 1.0:
            raise ValueError("Invalid beta parameter at index %d: %s" % (index, betas[index]))


def check_fused(fused, foreach, differentiable):
    if fused and differentiable:
        raise RuntimeError("`fused` does not support `differentiable`")
    if fused and foreach:
        raise RuntimeError("`fused` and `foreach` cannot be `True` together.")


class GroupOptimizer(Optimizer):
    """An algorithm that treats every parameter on its own.  The options foreach, fused and capturable are
    accepted; there is one implementation."""

    # Options that files of old versions lack.
    _later_options = {"maximize": False, "foreach": None, "differentiable": False}

    def __setstate__(self, state):
        super().__setstate__(state)
        for group in self.param_groups:
            for name, value in self._later_options.items():
                group.setdefault(name, value)
            for param in group["params"]:
                own = self.state.get(param)
                if own and "step" in own and not torch.is_tensor(own["step"]):
                    step = _new_step(group, param)
                    own["step"] = step.fill_(float(own["step"]))

    def _has_state(self, group):
        """Whether parameters of this group have state at all."""
        return True

    def _new_state(self, group, param):
        """The state of a parameter at its first step."""
        raise NotImplementedError

    def _update(self, group, params, grads, states):
        raise NotImplementedError

    def step(self, closure=None):
        loss = None
        before = torch.is_grad_enabled()
        _C._set_grad_enabled(bool(self.defaults.get("differentiable")))
        try:
            if closure is not None:
                with torch.enable_grad():
                    loss = closure()
            for group in self.param_groups:
                params, grads, states = [], [], []
                has_state, maximize = self._has_state(group), group.get("maximize")
                for param in group["params"]:
                    grad = param.grad
                    if grad is None:
                        continue
                    if grad.layout != torch.strided:
                        raise RuntimeError("%s does not support sparse gradients" % type(self).__name__)
                    state = self.state[param] if has_state else None
                    if has_state and not state:
                        state.update(self._new_state(group, param))
                    params.append(param)
                    grads.append(-grad if maximize else grad)
                    states.append(state)
                if params:
                    self._update(group, params, grads, states)
        finally:
            _C._set_grad_enabled(before)
        return loss

    step.__doc__ = Optimizer.step.__doc__
