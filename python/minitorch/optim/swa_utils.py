# SPDX-License-Identifier: BSD-3-Clause
"""Averages of the weights of a model over training: stochastic weight averaging, exponential moving
averages."""

import itertools
import math
import warnings
from copy import deepcopy

import minitorch as torch
from minitorch.nn.modules.module import Module
from minitorch.optim.lr_scheduler import LRScheduler, _format_param

__all__ = [
    "AveragedModel",
    "update_bn",
    "SWALR",
    "get_ema_multi_avg_fn",
    "get_swa_multi_avg_fn",
    "get_ema_avg_fn",
    "get_swa_avg_fn",
]


def _check_decay(decay):
    if decay < 0.0 or decay > 1.0:
        raise ValueError("Invalid decay value %s provided. Please provide a value in [0,1] range." % (decay,))


def _is_inexact(tensor):
    return tensor.is_floating_point() or tensor.is_complex()


def get_ema_multi_avg_fn(decay=0.999):
    """get_ema_multi_avg_fn(decay=0.999): exponential moving average of lists of tensors, in place."""
    _check_decay(decay)

    @torch.no_grad()
    def ema_update(averaged, current, _):
        for mean, new in zip(averaged, current, strict=True):
            if _is_inexact(averaged[0]):
                mean.lerp_(new, 1 - decay)
            else:
                mean.copy_(mean * decay + new * (1 - decay))

    return ema_update


def get_swa_multi_avg_fn():
    """get_swa_multi_avg_fn(): running mean of lists of tensors, in place."""

    @torch.no_grad()
    def swa_update(averaged, current, num_averaged):
        for mean, new in zip(averaged, current, strict=True):
            if _is_inexact(averaged[0]):
                mean.lerp_(new, float(1 / (num_averaged + 1)))
            elif isinstance(num_averaged, torch.Tensor):
                mean.addcdiv_(new - mean, num_averaged + 1)
            else:
                mean.add_(new - mean, alpha=1.0 / (num_averaged + 1))

    return swa_update


def get_ema_avg_fn(decay=0.999):
    """get_ema_avg_fn(decay=0.999): exponential moving average of two tensors."""
    _check_decay(decay)

    @torch.no_grad()
    def ema_update(mean, new, num_averaged):
        return decay * mean + (1 - decay) * new

    return ema_update


def get_swa_avg_fn():
    """get_swa_avg_fn(): running mean of two tensors."""

    @torch.no_grad()
    def swa_update(mean, new, num_averaged):
        return mean + (new - mean) / (num_averaged + 1)

    return swa_update


class AveragedModel(Module):
    """AveragedModel(model, device=None, avg_fn=None, multi_avg_fn=None, use_buffers=False)

    A copy of a model whose parameters are averages; `update_parameters(model)` adds the present ones.
    """

    def __init__(self, model, device=None, avg_fn=None, multi_avg_fn=None, use_buffers=False):
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", torch.tensor(0, dtype=torch.long, device=device))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args, **kwargs):
        return self.module(*args, **kwargs)

    def _tensors(self, module):
        if self.use_buffers:
            return itertools.chain(module.parameters(), module.buffers())
        return module.parameters()

    def update_parameters(self, model):
        """update_parameters(model): takes the present parameters into the averages."""
        averaged = [p.detach() for p in self._tensors(self.module)]
        current = [p.detach().to(mean.device) for p, mean in zip(self._tensors(model), averaged)]
        if self.n_averaged == 0:
            for mean, new in zip(averaged, current):
                mean.copy_(new)
        elif self.multi_avg_fn is not None:
            for means, news in self._grouped(averaged, current):
                self.multi_avg_fn(means, news, self.n_averaged.to(means[0].device))
        else:
            average = self.avg_fn or get_swa_avg_fn()
            for mean, new in zip(averaged, current):
                mean.copy_(average(mean, new, self.n_averaged.to(mean.device)))
        if not self.use_buffers:
            for mean, new in zip(self.module.buffers(), model.buffers(), strict=True):
                mean.detach().copy_(new.detach().to(mean.device))
        self.n_averaged += 1

    @staticmethod
    def _grouped(averaged, current):
        """Lists of one dtype and device each."""
        groups = {}
        for mean, new in zip(averaged, current):
            means, news = groups.setdefault((mean.device, mean.dtype), ([], []))
            means.append(mean)
            news.append(new)
        return groups.values()


@torch.no_grad()
def update_bn(loader, model, device=None):
    """update_bn(loader, model, device=None): new running statistics of batch normalisation, from all the
    data."""
    from minitorch.nn.modules.batchnorm import _BatchNorm

    momenta = {module: module.momentum for module in model.modules() if isinstance(module, _BatchNorm)}
    if not momenta:
        return
    was_training = model.training
    model.train()
    for module in momenta:
        module.reset_running_stats()
        module.momentum = None
    for batch in loader:
        if isinstance(batch, (list, tuple)):
            batch = batch[0]
        model(batch if device is None else batch.to(device))
    for module, momentum in momenta.items():
        module.momentum = momentum
    model.train(was_training)


class SWALR(LRScheduler):
    """SWALR(optimizer, swa_lr, anneal_epochs=10, anneal_strategy='cos', last_epoch=-1)

    Brings the learning rate to `swa_lr` within some epochs and keeps it there.
    """

    def __init__(self, optimizer, swa_lr, anneal_epochs=10, anneal_strategy="cos", last_epoch=-1):
        for rate, group in zip(_format_param("swa_lr", optimizer, swa_lr), optimizer.param_groups):
            group["swa_lr"] = rate
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(
                "anneal_strategy must be one of 'cos' or 'linear', instead got %s" % (anneal_strategy,)
            )
        self._anneal_strategy = anneal_strategy
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError("anneal_epochs must be equal or greater than 0, got %s" % (anneal_epochs,))
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def anneal_func(self, t):
        return t if self._anneal_strategy == "linear" else (1 - math.cos(math.pi * t)) / 2

    def get_lr(self):
        if not self._get_lr_called_within_step:
            warnings.warn(
                "To get the last learning rate computed by the scheduler, please use `get_last_lr()`.",
                UserWarning,
                stacklevel=2,
            )
        step, length = self._step_count - 1, max(1, self.anneal_epochs)
        if self.anneal_epochs == 0:
            step = max(1, step)
        before = self.anneal_func(max(0, min(1, (step - 1) / length)))
        alpha = self.anneal_func(max(0, min(1, step / length)))
        rates = []
        for group in self.optimizer.param_groups:
            target = group["swa_lr"]
            start = target if before == 1 else (group["lr"] - before * target) / (1 - before)
            rates.append(target * alpha + start * (1 - alpha))
        return rates
