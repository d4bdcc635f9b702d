# SPDX-License-Identifier: BSD-3-Clause
"""Adam."""

import minitorch as torch
from minitorch.optim.optimizer import (
    GroupOptimizer,
    _new_step,
    _real,
    _to_scalar,
    _zeros,
    check,
    check_betas,
    check_fused,
)

__all__ = ["Adam"]


def _check_tensor_option(name, value, foreach, capturable):
    if not isinstance(value, torch.Tensor):
        return
    if foreach and not capturable:
        raise ValueError("%s as a Tensor is not supported for capturable=False and foreach=True" % name)
    if value.numel() != 1:
        raise ValueError("Tensor %s must be 1-element" % name)


class Adam(GroupOptimizer):
    """Adam(params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, amsgrad=False, *, foreach=None,
    maximize=False, capturable=False, differentiable=False, fused=None, decoupled_weight_decay=False)"""

    _later_options = {
        "amsgrad": False,
        "maximize": False,
        "foreach": None,
        "capturable": False,
        "differentiable": False,
        "decoupled_weight_decay": False,
        "fused": None,
    }

    def __init__(
        self,
        params,
        lr=1e-3,
        betas=(0.9, 0.999),
        eps=1e-8,
        weight_decay=0,
        amsgrad=False,
        *,
        foreach=None,
        maximize=False,
        capturable=False,
        differentiable=False,
        fused=None,
        decoupled_weight_decay=False,
    ):
        _check_tensor_option("lr", lr, foreach, capturable)
        check(learning_rate=lr, epsilon_value=eps)
        check_betas(betas)
        if not 0.0 <= weight_decay:
            raise ValueError("Invalid weight_decay value: %s" % weight_decay)
        kinds = [isinstance(beta, torch.Tensor) for beta in betas]
        if kinds != [True, True] and not all([isinstance(beta, float) for beta in betas]):
            raise ValueError("betas must be either both floats or both Tensors")
        _check_tensor_option("betas[0]", betas[0], foreach, capturable)
        _check_tensor_option("betas[1]", betas[1], foreach, capturable)
        check_fused(fused, foreach, differentiable)
        defaults = {
            "lr": lr,
            "betas": tuple([_to_scalar(beta) for beta in betas]),
            "eps": eps,
            "weight_decay": weight_decay,
            "amsgrad": amsgrad,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
            "fused": fused,
            "decoupled_weight_decay": decoupled_weight_decay,
        }
        super().__init__(params, defaults)

    def _new_state(self, group, param):
        state = {
            "step": _new_step(group, param, "cpu"),
            "exp_avg": _zeros(param),
            "exp_avg_sq": _zeros(param),
        }
        if group["amsgrad"]:
            state["max_exp_avg_sq"] = _zeros(param)
        return state

    def _update(self, group, params, grads, states):
        if group["capturable"] or group["differentiable"]:
            _update_with_tensors(group, params, grads, states)
            return
        beta1, beta2 = group["betas"]
        lr = _to_scalar(group["lr"])
        eps = group["eps"]
        decay = group["weight_decay"]
        decoupled = group["decoupled_weight_decay"]
        amsgrad = group["amsgrad"]
        for param, grad, state in zip(params, grads, states):
            step = state["step"]
            step += 1
            if decay != 0:
                if decoupled:
                    param.mul_(1 - lr * decay)
                else:
                    grad = grad.add(param, alpha=decay)
            mean, square = state["exp_avg"], state["exp_avg_sq"]
            largest = state["max_exp_avg_sq"] if amsgrad else None
            if param.is_complex():
                param, grad, mean, square = _real(param, grad, mean, square)
                if amsgrad:
                    largest = torch.view_as_real(largest)
            if isinstance(beta1, torch.Tensor):
                mean.lerp_(grad, 1 - beta1.to(device=param.device, dtype=param.dtype))
            else:
                mean.lerp_(grad, 1 - beta1)
            square.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
            count = step.item()
            step_size = lr / (1 - beta1**count)
            correction = (1 - beta2**count) ** 0.5
            if amsgrad:
                torch.maximum(largest, square, out=largest)
                square = largest
            param.addcdiv_(mean, (square.sqrt() / correction).add_(eps), value=-step_size)


def _update_with_tensors(group, params, grads, states):
    """The form that does not look at the count of steps, or that can be differentiated."""
    beta1, beta2 = group["betas"]
    lr = _to_scalar(group["lr"])
    eps = group["eps"]
    decay = group["weight_decay"]
    differentiable = group["differentiable"]
    for param, grad, state in zip(params, grads, states):
        step = state["step"]
        if not differentiable and step.device.type == "cpu":
            raise AssertionError(
                "If capturable=True, params and state_steps must be on supported devices: ['cuda', 'xpu', "
                "'hpu']."
            )
        if differentiable and step.requires_grad:
            raise RuntimeError("`requires_grad` is not supported for `step` in differentiable mode")
        step += 1
        if decay != 0:
            if group["decoupled_weight_decay"]:
                param.mul_(1 - lr * decay)
            elif isinstance(decay, torch.Tensor) and decay.requires_grad:
                grad = grad.addcmul_(param.clone(), decay)
            else:
                grad = grad.add(param, alpha=decay)
        mean, square = state["exp_avg"], state["exp_avg_sq"]
        largest = state.get("max_exp_avg_sq")
        if param.is_complex():
            param, grad, mean, square = _real(param, grad, mean, square)
            largest = None if largest is None else torch.view_as_real(largest)
        mean.lerp_(grad, 1 - beta1)
        if isinstance(beta2, torch.Tensor) and beta2.requires_grad:
            square.lerp_(torch.square(grad), weight=1 - beta2)
        else:
            square.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        learned = [isinstance(beta, torch.Tensor) and beta.requires_grad for beta in (beta1, beta2)]
        correction1 = 1 - beta1 ** (step.clone() if learned[0] else step)
        correction2 = 1 - beta2 ** (step.clone() if learned[1] else step)
        negative = (lr / correction1).neg()
        if largest is not None:
            before = largest.clone() if differentiable else largest
            largest.copy_(torch.maximum(before, square))
            square = largest
        denom = (square.sqrt() / (correction2.sqrt() * negative)).add_(eps / negative)
        param.addcdiv_(mean.clone() if differentiable else mean, denom)
