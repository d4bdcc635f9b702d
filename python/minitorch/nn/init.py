# SPDX-License-Identifier: BSD-3-Clause
"""Filling parameters with their first values.  The order and number of random draws is part of the behaviour:
the same seed gives the same weights as in PyTorch."""

import math
import operator
import warnings

import minitorch as torch
from minitorch.overrides import _unlisted, handle_torch_function, has_torch_function_unary

__all__ = [
    "calculate_gain",
    "uniform_",
    "normal_",
    "trunc_normal_",
    "constant_",
    "ones_",
    "zeros_",
    "eye_",
    "dirac_",
    "xavier_uniform_",
    "xavier_normal_",
    "kaiming_uniform_",
    "kaiming_normal_",
    "orthogonal_",
    "sparse_",
]

_GAINS = {"sigmoid": 1, "tanh": 5.0 / 3, "relu": math.sqrt(2.0), "selu": 3.0 / 4}
for _name in "linear conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d".split():
    _GAINS[_name] = 1
del _name


def calculate_gain(nonlinearity, param=None):
    """calculate_gain(nonlinearity, param=None) -> number

    The factor by which weights in front of that activation are scaled; `param` is the slope of leaky_relu.
    """
    if nonlinearity in _GAINS:
        return _GAINS[nonlinearity]
    if nonlinearity != "leaky_relu":
        raise ValueError("Unsupported nonlinearity %s" % (nonlinearity,))
    slope = 0.01 if param is None else param
    if isinstance(slope, bool) or not isinstance(slope, (int, float)):
        raise ValueError("negative_slope %s not a valid number" % (param,))
    return math.sqrt(2.0 / (1 + slope**2))


# --- one value or one distribution ---


def uniform_(tensor, a=0.0, b=1.0, generator=None):
    """uniform_(tensor, a=0.0, b=1.0, generator=None) -> Tensor

    Uniform between a and b.
    """
    if has_torch_function_unary(tensor):
        return handle_torch_function(uniform_, (tensor,), tensor=tensor, a=a, b=b, generator=generator)
    with torch.no_grad():
        return tensor.uniform_(a, b, generator=generator)


def normal_(tensor, mean=0.0, std=1.0, generator=None):
    """normal_(tensor, mean=0.0, std=1.0, generator=None) -> Tensor

    Normal.
    """
    if has_torch_function_unary(tensor):
        return handle_torch_function(
            normal_, (tensor,), tensor=tensor, mean=mean, std=std, generator=generator
        )
    with torch.no_grad():
        return tensor.normal_(mean, std, generator=generator)


def constant_(tensor, val):
    """constant_(tensor, val) -> Tensor

    All elements the same.
    """
    if has_torch_function_unary(tensor):
        return handle_torch_function(constant_, (tensor,), tensor=tensor, val=val)
    with torch.no_grad():
        return tensor.fill_(val)


def ones_(tensor):
    """ones_(tensor) -> Tensor"""
    with torch.no_grad():
        return tensor.fill_(1.0)


def zeros_(tensor):
    """zeros_(tensor) -> Tensor"""
    with torch.no_grad():
        return tensor.zero_()


def _redraw_normal(tensor, mean, std, low, high, generator):
    """Normal draws; whole tensors are drawn again until every element has had one inside the interval."""
    result = torch.empty_like(tensor).normal_(mean, std, generator=generator)
    while True:
        outside = (result < low) | (result > high)
        if not outside.any():
            break
        fresh = torch.empty_like(result).normal_(mean, std, generator=generator)
        result = torch.where(outside, fresh, result)
    tensor.copy_(result)


def _reject_uniform(tensor, mean, std, a, b, generator):
    """Uniform draws, each accepted with the probability that the density has relative to its peak."""
    peak = -0.5 * ((max(a, min(mean, b)) - mean) / std) ** 2
    candidates = torch.empty_like(tensor)
    chances = torch.empty_like(tensor)

    def rejected():
        candidates.sub_(mean).div_(std).pow_(2).mul_(-0.5).sub_(peak)
        return chances.uniform_(generator=generator).log_().gt(candidates)

    result = torch.empty_like(tensor).uniform_(a, b, generator=generator)
    candidates.copy_(result)
    pending = rejected()
    while pending.any():
        candidates.uniform_(a, b, generator=generator)
        result = torch.where(pending, candidates, result)
        pending = torch.where(pending, rejected(), pending)
    tensor.copy_(result)


def trunc_normal_(tensor, mean=0.0, std=1.0, a=-2.0, b=2.0, generator=None):
    """trunc_normal_(tensor, mean=0.0, std=1.0, a=-2.0, b=2.0, generator=None) -> Tensor

    Normal, restricted to the interval from a to b.
    """
    if tensor.is_meta:
        return tensor
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of values may "
            "be incorrect.",
            stacklevel=2,
        )

    def below(x):
        return (1.0 + math.erf((x - mean) / std / math.sqrt(2.0))) / 2.0

    with torch.no_grad():
        if below(b) - below(a) > 0.3:
            low = tensor.new_tensor(a, device="cpu").item()
            high = tensor.new_tensor(b, device="cpu").item()
            _redraw_normal(tensor, mean, std, low, high, generator)
        else:
            _reject_uniform(tensor, mean, std, a, b, generator)
        return tensor


# --- scaled by the number of inputs and outputs ---


def _calculate_fan_in_and_fan_out(tensor):
    if tensor.dim() < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    field = 1
    for size in tensor.shape[2:]:
        field *= size
    return tensor.size(1) * field, tensor.size(0) * field


def _calculate_correct_fan(tensor, mode):
    mode = mode.lower()
    modes = ["fan_in", "fan_out"]
    if mode not in modes:
        raise ValueError("Mode %s not supported, please use one of %s" % (mode, modes))
    return _calculate_fan_in_and_fan_out(tensor)[modes.index(mode)]


def _xavier_std(tensor, gain):
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return gain * math.sqrt(2.0 / float(fan_in + fan_out))


def xavier_uniform_(tensor, gain=1.0, generator=None):
    """xavier_uniform_(tensor, gain=1.0, generator=None) -> Tensor

    Uniform, scaled by inputs plus outputs.
    """
    bound = math.sqrt(3.0) * _xavier_std(tensor, gain)
    with torch.no_grad():
        return tensor.uniform_(-bound, bound, generator=generator)


def xavier_normal_(tensor, gain=1.0, generator=None):
    """xavier_normal_(tensor, gain=1.0, generator=None) -> Tensor

    Normal, scaled by inputs plus outputs.
    """
    std = _xavier_std(tensor, gain)
    with torch.no_grad():
        return tensor.normal_(0.0, std, generator=generator)


def _nothing_to_fill(tensor):
    if 0 not in tensor.shape:
        return False
    warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=3)
    return True


def _kaiming_std(tensor, a, mode, nonlinearity):
    fan = _calculate_correct_fan(tensor, mode)
    return calculate_gain(nonlinearity, a) / math.sqrt(fan)


def kaiming_uniform_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu", generator=None):
    """kaiming_uniform_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu", generator=None) -> Tensor

    Uniform, scaled by inputs or outputs and the gain of the activation.
    """
    if has_torch_function_unary(tensor):
        return handle_torch_function(
            kaiming_uniform_,
            (tensor,),
            tensor=tensor,
            a=a,
            mode=mode,
            nonlinearity=nonlinearity,
            generator=generator,
        )
    if _nothing_to_fill(tensor):
        return tensor
    bound = math.sqrt(3.0) * _kaiming_std(tensor, a, mode, nonlinearity)
    with torch.no_grad():
        return tensor.uniform_(-bound, bound, generator=generator)


def kaiming_normal_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu", generator=None):
    """kaiming_normal_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu", generator=None) -> Tensor

    Normal, scaled by inputs or outputs and the gain of the activation.
    """
    if _nothing_to_fill(tensor):
        return tensor
    std = _kaiming_std(tensor, a, mode, nonlinearity)
    with torch.no_grad():
        return tensor.normal_(0, std, generator=generator)


# --- matrices with a structure ---


def eye_(tensor):
    """eye_(tensor) -> Tensor

    The identity matrix.
    """
    if tensor.ndimension() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    with torch.no_grad():
        torch.eye(*tensor.shape, out=tensor, requires_grad=tensor.requires_grad)
    return tensor


def dirac_(tensor, groups=1):
    """dirac_(tensor, groups=1) -> Tensor

    A convolution that keeps as many channels as possible as they are.
    """
    ndim = tensor.ndimension()
    if ndim not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    sizes = tensor.size()
    if sizes[0] % groups != 0:
        raise ValueError("dim 0 must be divisible by groups")
    if tensor.is_meta:
        return tensor
    groups = operator.index(groups)
    per_group = sizes[0] // groups
    centre = tuple([size // 2 for size in sizes[2:]])
    places = [(g * per_group + c, c) + centre for g in range(groups) for c in range(min(per_group, sizes[1]))]
    with torch.no_grad():
        tensor.zero_()
        for place in places:
            tensor[place] = 1
    return tensor


def orthogonal_(tensor, gain=1, generator=None):
    """orthogonal_(tensor, gain=1, generator=None) -> Tensor

    A (semi-)orthogonal matrix; further dimensions are flattened.
    """
    if tensor.ndimension() < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if tensor.numel() == 0 or tensor.is_meta:
        return tensor
    rows = tensor.size(0)
    cols = tensor.numel() // rows
    draws = tensor.new_empty((rows, cols)).normal_(0, 1, generator=generator)
    if rows < cols:
        draws.t_()
    q, r = torch.linalg.qr(draws)
    q *= torch.diag(r, 0).sign()  # makes the distribution uniform
    if rows < cols:
        q.t_()
    with torch.no_grad():
        tensor.view_as(q).copy_(q.mul_(gain))
    return tensor


def sparse_(tensor, sparsity, std=0.01, generator=None):
    """sparse_(tensor, sparsity, std=0.01, generator=None) -> Tensor

    Normal, with a fraction of each column set to zero.
    """
    if tensor.ndimension() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    if tensor.is_meta:
        return tensor
    rows, cols = tensor.shape
    zeros = math.ceil(sparsity * rows)
    with torch.no_grad():
        tensor.normal_(0, std, generator=generator)
        for col in range(cols):
            tensor[torch.randperm(rows)[:zeros], col] = 0
    return tensor


# --- the old names ---


def _deprecated(function):
    name = function.__name__[:-1]

    def old(*args, **kwargs):
        warnings.warn(
            "`nn.init.%s` is now deprecated in favor of `nn.init.%s`." % (name, function.__name__),
            FutureWarning,
            stacklevel=2,
        )
        return function(*args, **kwargs)

    old.__name__ = old.__qualname__ = name
    old.__doc__ = "The old name of %s." % function.__name__
    old.__wrapped__ = function  # for inspect.signature
    return _unlisted(old)


uniform = _deprecated(uniform_)
normal = _deprecated(normal_)
constant = _deprecated(constant_)
eye = _deprecated(eye_)
dirac = _deprecated(dirac_)
xavier_uniform = _deprecated(xavier_uniform_)
xavier_normal = _deprecated(xavier_normal_)
kaiming_uniform = _deprecated(kaiming_uniform_)
kaiming_normal = _deprecated(kaiming_normal_)
orthogonal = _deprecated(orthogonal_)
sparse = _deprecated(sparse_)

__all__ += [
    "uniform",
    "normal",
    "constant",
    "eye",
    "dirac",
    "xavier_uniform",
    "xavier_normal",
    "kaiming_uniform",
    "kaiming_normal",
    "orthogonal",
    "sparse",
]
