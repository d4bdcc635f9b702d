# SPDX-License-Identifier: BSD-3-Clause
"""Helpers for the parameters of modules.  Names load at first use."""

import sys

from minitorch.nn.utils.clip_grad import _clip_grads_with_norm_ as clip_grads_with_norm_
from minitorch.nn.utils.clip_grad import _get_total_norm as get_total_norm
from minitorch.nn.utils.clip_grad import clip_grad_norm, clip_grad_norm_, clip_grad_value_
from minitorch.nn.utils.convert_parameters import parameters_to_vector, vector_to_parameters

_WHERE = {
    "weight_norm": "weight_norm",
    "remove_weight_norm": "weight_norm",
    "spectral_norm": "spectral_norm",
    "remove_spectral_norm": "spectral_norm",
    "fuse_conv_bn_eval": "fusion",
    "fuse_conv_bn_weights": "fusion",
    "fuse_linear_bn_eval": "fusion",
    "fuse_linear_bn_weights": "fusion",
    "skip_init": "init",
}
_MODULES = frozenset(("clip_grad", "convert_parameters", "fusion", "init", "rnn", "stateless"))

__all__ = [
    "clip_grad_norm",
    "clip_grad_norm_",
    "clip_grads_with_norm_",
    "clip_grad_value_",
    "get_total_norm",
    "parameters_to_vector",
    "vector_to_parameters",
    *_WHERE,
]


class _Package(type(sys)):
    """A function keeps its name when the module of the same name is imported."""

    def __setattr__(self, name, value):
        if name in _WHERE and isinstance(value, type(sys)):
            value = getattr(value, name)
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __getattr__(name):
    from importlib import import_module

    if name in _MODULES:
        return import_module("minitorch.nn.utils." + name)
    if name not in _WHERE:
        raise AttributeError("module 'torch.nn.utils' has no attribute '%s'" % name)
    value = getattr(import_module("minitorch.nn.utils." + _WHERE[name]), name)
    globals()[name] = value
    return value


def __dir__():
    return sorted({*globals(), *_WHERE, *_MODULES})
