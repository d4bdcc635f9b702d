# SPDX-License-Identifier: BSD-3-Clause
"""NAdam: Adam with Nesterov momentum."""

import minitorch as torch
from minitorch.optim.optimizer import (
    GroupOptimizer,
    _new_step,
    _real,
    _to_scalar,
    _zeros,
    check,
    check_betas,
    check_lr,
)

__all__ = ["NAdam"]


class NAdam(GroupOptimizer):
    """NAdam(params, lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, momentum_decay=4e-3,
    decoupled_weight_decay=False, *, foreach=None, maximize=False, capturable=False, differentiable=False)"""

    _later_options = {
        "maximize": False,
        "foreach": None,
        "capturable": False,
        "differentiable": False,
        "decoupled_weight_decay": False,
    }

    def __init__(
        self,
        params,
        lr=2e-3,
        betas=(0.9, 0.999),
        eps=1e-8,
        weight_decay=0,
        momentum_decay=4e-3,
        decoupled_weight_decay=False,
        *,
        foreach=None,
        maximize=False,
        capturable=False,
        differentiable=False,
    ):
        check_lr(lr)
        check(epsilon_value=eps)
        check_betas(betas)
        if not 0.0 <= weight_decay:
            raise ValueError("Invalid weight_decay value: %s" % weight_decay)
        if not 0.0 <= momentum_decay:
            raise ValueError("Invalid momentum_decay value: %s" % momentum_decay)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "momentum_decay": momentum_decay,
            "decoupled_weight_decay": decoupled_weight_decay,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def __setstate__(self, state):
        super().__setstate__(state)
        for own in self.state.values():
            if own and not torch.is_tensor(own["mu_product"]):
                own["mu_product"] = torch.ones_like(own["step"]).fill_(own["mu_product"])

    def _new_state(self, group, param):
        step = _new_step(group, param)
        return {
            "step": step,
            "mu_product": torch.ones_like(step),
            "exp_avg": _zeros(param),
            "exp_avg_sq": _zeros(param),
        }

    def _update(self, group, params, grads, states):
        lr = _to_scalar(group["lr"])
        beta1, beta2 = group["betas"]
        eps, decay, fading = group["eps"], group["weight_decay"], group["momentum_decay"]
        for param, grad, state in zip(params, grads, states):
            mean, square, product = state["exp_avg"], state["exp_avg_sq"], state["mu_product"]
            if param.is_complex():
                param, grad, mean, square = _real(param, grad, mean, square)
            step = state["step"]
            step += 1
            count = step.item()
            correction = 1 - beta2**count
            if decay != 0:
                if group["decoupled_weight_decay"]:
                    param.mul_(1 - lr * decay)
                else:
                    grad = grad.add(param, alpha=decay)
            mu = beta1 * (1.0 - 0.5 * (0.96 ** (count * fading)))
            mu_next = beta1 * (1.0 - 0.5 * (0.96 ** ((count + 1) * fading)))
            product *= mu
            mean.lerp_(grad, 1 - beta1)
            square.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
            denom = square.div(correction).sqrt()
            if group["differentiable"]:
                denom = denom.add(eps)
                param.addcdiv_(grad * (-lr * (1.0 - mu) / (1.0 - product)), denom)
                param.addcdiv_(mean * (-lr * mu_next / (1.0 - product * mu_next)), denom)
                continue
            denom.add_(eps)
            reached = product.item()
            param.addcdiv_(grad, denom, value=(-lr * (1.0 - mu) / (1.0 - reached)))
            param.addcdiv_(mean, denom, value=(-lr * mu_next) / (1.0 - reached * mu_next))
