# SPDX-License-Identifier: BSD-3-Clause
"""GradScaler: losses are scaled up so that gradients of float16 do not vanish, and gradients scaled down before a step; a
step with infinite gradients is left out and the scale lowered."""

import warnings
from collections import abc, defaultdict
from enum import Enum
from inspect import signature

import minitorch as torch

__all__ = ["OptState", "GradScaler"]


class OptState(Enum):
    READY = 0
    UNSCALED = 1
    STEPPED = 2


def _refresh_per_optimizer_state():
    return {"stage": OptState.READY, "found_inf_per_device": {}}


class _MultiDeviceReplicator:
    """A tensor and its copies on other devices, each made when it is first asked for."""

    def __init__(self, master_tensor):
        self.master = master_tensor
        self._per_device_tensors = {}

    def get(self, device):
        if device == self.master.device:
            return self.master
        if device not in self._per_device_tensors:
            self._per_device_tensors[device] = self.master.to(device=device, non_blocking=True, copy=True)
        return self._per_device_tensors[device]


def _require(condition, message):
    if not condition:
        raise AssertionError(message)


class GradScaler:
    """GradScaler(device="cuda", init_scale=65536.0, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000, enabled=True)

    The scale grows by growth_factor (over 1) after growth_interval steps with finite gradients, and shrinks by
    backoff_factor (below 1) after one without.  Disabled, `scale` and `unscale_` do nothing and `step` steps; so is one
    for CUDA where there is none.

    >>> weight = torch.nn.Parameter(torch.ones(2))
    >>> optimizer = torch.optim.SGD([weight], lr=0.5)
    >>> scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
    >>> scaler.scale(weight.sum()).backward()
    >>> weight.grad
    tensor([8., 8.])
    >>> scaler.step(optimizer)
    >>> scaler.update()
    >>> weight.grad, weight.data
    (tensor([1., 1.]), tensor([0.5000, 0.5000]))

    Clipping sees gradients that are divided already:

    >>> optimizer.zero_grad()
    >>> with torch.autocast("cpu", dtype=torch.float16):
    ...     loss = torch.nn.functional.linear(torch.ones(1, 2), weight).sum()
    >>> scaler.scale(loss).backward()
    >>> scaler.unscale_(optimizer)
    >>> norm = torch.nn.utils.clip_grad_norm_([weight], 1.0)
    >>> scaler.step(optimizer)
    >>> scaler.update()
    >>> weight.grad
    tensor([0.7071, 0.7071])
    """

    def __init__(
        self,
        device="cuda",
        init_scale=65536.0,
        growth_factor=2.0,
        backoff_factor=0.5,
        growth_interval=2000,
        enabled=True,
    ):
        self._device = device
        self._enabled = enabled
        if enabled and device == "cuda" and not torch.cuda.is_available():
            warnings.warn(
                "torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling.", stacklevel=2
            )
            self._enabled = False
        if not self._enabled:
            return
        _require(growth_factor > 1.0, "The growth factor must be > 1.0.")
        _require(backoff_factor < 1.0, "The backoff factor must be < 1.0.")
        self._init_scale = init_scale
        self._scale = None  # a tensor, made by the first call of scale()
        self._growth_factor = growth_factor
        self._backoff_factor = backoff_factor
        self._growth_interval = growth_interval
        self._init_growth_tracker = 0
        self._growth_tracker = None  # as the scale
        self._per_optimizer_states = defaultdict(_refresh_per_optimizer_state)

    # --- the tensors of the state ---

    def _check_scale_growth_tracker(self, funcname):
        hint = "This may indicate your script did not use scaler.scale(loss or outputs) earlier in the iteration."
        for name in ("_scale", "_growth_tracker"):
            _require(
                getattr(self, name) is not None, "Attempted %s but %s is None.  %s" % (funcname, name, hint)
            )
        return self._scale, self._growth_tracker

    def _lazy_init_scale_growth_tracker(self, dev):
        _require(self._growth_tracker is None, "_growth_tracker initialized before _scale")
        self._scale = torch.full((), self._init_scale, dtype=torch.float32, device=dev)
        self._growth_tracker = torch.full((), self._init_growth_tracker, dtype=torch.int32, device=dev)

    # --- one iteration ---

    def scale(self, outputs):
        """scale(outputs) -> the same times the scale: a tensor, or a list, tuple or other iterable of them, nested or not.
        ValueError for anything else."""
        if not self._enabled:
            return outputs
        copies = []

        def scaled(value):
            if isinstance(value, torch.Tensor):
                if not copies:
                    if self._scale is None:
                        self._lazy_init_scale_growth_tracker(value.device)
                    copies.append(_MultiDeviceReplicator(self._scale))
                return value * copies[0].get(value.device)
            if isinstance(value, abc.Iterable):
                items = map(scaled, value)
                return type(value)(items) if isinstance(value, (list, tuple)) else items
            raise ValueError("outputs must be a Tensor or an iterable of Tensors")

        return scaled(outputs)

    def _unscale_grads_(self, optimizer, inv_scale, found_inf, allow_fp16):
        inv_scales, founds = _MultiDeviceReplicator(inv_scale), _MultiDeviceReplicator(found_inf)
        groups = defaultdict(list)  # (device, dtype) -> gradients
        with torch.no_grad():
            for group in optimizer.param_groups:
                for param in group["params"]:
                    grad = param.grad
                    if grad is None:
                        continue
                    if not allow_fp16 and grad.dtype == torch.float16:
                        raise ValueError("Attempting to unscale FP16 gradients.")
                    groups[grad.device, grad.dtype].append(grad)
            for (device, _), grads in groups.items():
                torch._amp_foreach_non_finite_check_and_unscale_(
                    grads, founds.get(device), inv_scales.get(device)
                )
        found = dict(founds._per_device_tensors)
        if any(device == found_inf.device for device, _ in groups):
            found[found_inf.device] = found_inf
        return found

    def unscale_(self, optimizer):
        """unscale_(optimizer): divides the gradients of its parameters by the scale, for clipping and the like; once between
        two update().  RuntimeError when done already or after step(), ValueError for gradients of float16."""
        if not self._enabled:
            return
        self._check_scale_growth_tracker("unscale_")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is OptState.UNSCALED:
            raise RuntimeError(
                "unscale_() has already been called on this optimizer since the last update()."
            )
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("unscale_() is being called after step().")
        inv_scale = self._scale.double().reciprocal().float()
        found_inf = torch.full((), 0.0, dtype=torch.float32, device=self._scale.device)
        state["found_inf_per_device"] = self._unscale_grads_(optimizer, inv_scale, found_inf, False)
        state["stage"] = OptState.UNSCALED

    def _maybe_opt_step(self, optimizer, optimizer_state, *args, **kwargs):
        if not sum(found.item() for found in optimizer_state["found_inf_per_device"].values()):
            return optimizer.step(*args, **kwargs)
        return None

    def step(self, optimizer, *args, **kwargs):
        """step(optimizer, *args, **kwargs) -> what optimizer.step(*args, **kwargs) gives, or None when a gradient is not
        finite and the step is left out.  Divides the gradients first, unless unscale_() has.  RuntimeError for a closure or
        a second step before update()."""
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        self._check_scale_growth_tracker("step")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("step() has already been called since the last update().")
        if getattr(optimizer, "_step_supports_amp_scaling", False):
            return self._step_with_scale(optimizer, state, *args, **kwargs)
        if state["stage"] is OptState.READY:
            self.unscale_(optimizer)
        _require(state["found_inf_per_device"], "No inf checks were recorded for this optimizer.")
        result = self._maybe_opt_step(optimizer, state, *args, **kwargs)
        state["stage"] = OptState.STEPPED
        return result

    def _step_with_scale(self, optimizer, state, *args, **kwargs):
        """Optimizers that divide by themselves get the scale and the finding as attributes or as a keyword."""
        if "grad_scaler" in signature(optimizer.step).parameters:
            kwargs["grad_scaler"] = self
        else:
            if state["stage"] is OptState.READY:
                self._check_inf_per_device(optimizer)
            scaler = self._get_scale_async()
            _require(scaler is not None, "expected scaler to be not None")
            found = [f.to(scaler.device, non_blocking=True) for f in state["found_inf_per_device"].values()]
            optimizer.grad_scale = (
                None if state["stage"] is OptState.UNSCALED else scaler * getattr(optimizer, "grad_scale", 1)
            )
            optimizer.found_inf = sum(found[1:], found[0])
        result = optimizer.step(*args, **kwargs)
        state["stage"] = OptState.STEPPED
        if "grad_scaler" not in kwargs:
            del optimizer.grad_scale, optimizer.found_inf
        return result

    def update(self, new_scale=None):
        """update(new_scale=None): the scale for the next iteration, from what the steps found, or as given (a float, or a
        tensor of one element on the device)."""
        if not self._enabled:
            return
        scale, tracker = self._check_scale_growth_tracker("update")
        if new_scale is not None:
            self._set_scale(new_scale)
        else:
            found = [
                found_inf.to(device=scale.device, non_blocking=True)
                for state in self._per_optimizer_states.values()
                for found_inf in state["found_inf_per_device"].values()
            ]
            _require(found, "No inf checks were recorded prior to update.")
            total = found[0]
            for more in found[1:]:
                total += more
            torch._amp_update_scale_(
                scale, tracker, total, self._growth_factor, self._backoff_factor, self._growth_interval
            )
        self._per_optimizer_states = defaultdict(_refresh_per_optimizer_state)

    def _set_scale(self, new_scale):
        if isinstance(new_scale, float):
            self._scale.fill_(new_scale)
            return
        reason = (
            "new_scale should be a float or a 1-element torch.cuda.FloatTensor or "
            "torch.FloatTensor with requires_grad=False."
        )
        _require(new_scale.device.type == self._device, reason)
        _require(new_scale.numel() == 1 and not new_scale.requires_grad, reason)
        self._scale.copy_(new_scale)

    # --- the state ---

    def _get_scale_async(self):
        return self._scale

    def get_scale(self):
        """get_scale() -> float: the scale, 1.0 when disabled.  Waits for the device."""
        if not self._enabled:
            return 1.0
        return self._init_scale if self._scale is None else self._scale.item()

    def get_growth_factor(self):
        """get_growth_factor() -> float"""
        return self._growth_factor

    def set_growth_factor(self, new_factor):
        """set_growth_factor(new_factor): over 1."""
        self._growth_factor = new_factor

    def get_backoff_factor(self):
        """get_backoff_factor() -> float"""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor):
        """set_backoff_factor(new_factor): below 1."""
        self._backoff_factor = new_factor

    def get_growth_interval(self):
        """get_growth_interval() -> int"""
        return self._growth_interval

    def set_growth_interval(self, new_interval):
        """set_growth_interval(new_interval): in steps."""
        self._growth_interval = new_interval

    def _get_growth_tracker(self):
        if not self._enabled:
            return 0
        return self._init_growth_tracker if self._growth_tracker is None else self._growth_tracker.item()

    def is_enabled(self):
        """is_enabled() -> bool"""
        return self._enabled

    def state_dict(self):
        """state_dict() -> dict: empty when disabled."""
        if not self._enabled:
            return {}
        return {
            "scale": self.get_scale(),
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._get_growth_tracker(),
        }

    def load_state_dict(self, state_dict):
        """load_state_dict(state_dict): what state_dict() gave.  RuntimeError for an empty one."""
        if not self._enabled:
            return
        if len(state_dict) == 0:
            raise RuntimeError(
                "The source state dict is empty, possibly because it was saved from a disabled instance of GradScaler."
            )
        self._init_scale = state_dict["scale"]
        if self._scale is not None:
            self._scale.fill_(state_dict["scale"])
        self._growth_factor = state_dict["growth_factor"]
        self._backoff_factor = state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        self._init_growth_tracker = state_dict["_growth_tracker"]
        if self._growth_tracker is not None:
            self._growth_tracker.fill_(state_dict["_growth_tracker"])

    def __getstate__(self):
        state = self.__dict__.copy()
        if self._enabled:
            _require(
                not self._per_optimizer_states,
                "A GradScaler instance may only be pickled at the beginning of an iteration, "
                "or at the end after scaler.update().",
            )
            state["_init_scale"] = self.get_scale()
            state["_init_growth_tracker"] = self._get_growth_tracker()
            state["_scale"] = state["_growth_tracker"] = None
        return state

    def __setstate__(self, state):
        self.__dict__.update(state)

    # --- what optimizers that divide by themselves ask ---

    def _check_inf_per_device(self, optimizer):
        scale, _ = self._check_scale_growth_tracker("_check_inf_per_device")
        one = torch.full((), 1.0, dtype=torch.float32, device=scale.device)
        found_inf = torch.full((), 0.0, dtype=torch.float32, device=scale.device)
        state = self._per_optimizer_states[id(optimizer)]
        state["found_inf_per_device"] = self._unscale_grads_(optimizer, one, found_inf, True)
        return state["found_inf_per_device"]

    def _found_inf_per_device(self, optimizer):
        return self._per_optimizer_states[id(optimizer)]["found_inf_per_device"]
