# SPDX-License-Identifier: BSD-3-Clause
"""Pooling functions of nn.functional that are more than one op."""

import minitorch as torch
from minitorch import _C
from minitorch.nn._dispatch import overridable, publish, with_indices_or_not
from minitorch.nn.modules.utils import _list_with_default, _ntuple
from minitorch.overrides import handle_torch_function, has_torch_function_unary

_nn = _C._nn
_VF = _C._VariableFunctions


# --- max pooling ---


def max_pool1d_with_indices(
    input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False
):
    """max_pool1d that also returns the places of the maxima."""
    if has_torch_function_unary(input):
        return handle_torch_function(
            max_pool1d_with_indices,
            (input,),
            input,
            kernel_size,
            stride=stride,
            padding=padding,
            dilation=dilation,
            ceil_mode=ceil_mode,
            return_indices=return_indices,
        )
    stride = [] if stride is None else stride
    return _VF.max_pool1d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)


def _max_pool1d(
    input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False
):
    """max_pool1d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False,
    return_indices=False)"""
    if has_torch_function_unary(input):
        return handle_torch_function(
            max_pool1d,
            (input,),
            input,
            kernel_size,
            stride=stride,
            padding=padding,
            dilation=dilation,
            ceil_mode=ceil_mode,
            return_indices=return_indices,
        )
    stride = [] if stride is None else stride
    return _VF.max_pool1d(input, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool2d_with_indices(
    input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False
):
    """max_pool2d that also returns the places of the maxima."""
    if has_torch_function_unary(input):
        return handle_torch_function(
            max_pool2d_with_indices,
            (input,),
            input,
            kernel_size,
            stride=stride,
            padding=padding,
            dilation=dilation,
            ceil_mode=ceil_mode,
            return_indices=return_indices,
        )
    stride = [] if stride is None else stride
    return _nn.max_pool2d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)


def _max_pool2d(
    input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False
):
    """max_pool2d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False,
    return_indices=False)"""
    if has_torch_function_unary(input):
        return handle_torch_function(
            max_pool2d,
            (input,),
            input,
            kernel_size,
            stride=stride,
            padding=padding,
            dilation=dilation,
            ceil_mode=ceil_mode,
            return_indices=return_indices,
        )
    stride = [] if stride is None else stride
    return _VF.max_pool2d(input, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool3d_with_indices(
    input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False
):
    """max_pool3d that also returns the places of the maxima."""
    if has_torch_function_unary(input):
        return handle_torch_function(
            max_pool3d_with_indices,
            (input,),
            input,
            kernel_size,
            stride=stride,
            padding=padding,
            dilation=dilation,
            ceil_mode=ceil_mode,
            return_indices=return_indices,
        )
    stride = [] if stride is None else stride
    return _nn.max_pool3d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)


def _max_pool3d(
    input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False
):
    """max_pool3d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False,
    return_indices=False)"""
    if has_torch_function_unary(input):
        return handle_torch_function(
            max_pool3d,
            (input,),
            input,
            kernel_size,
            stride=stride,
            padding=padding,
            dilation=dilation,
            ceil_mode=ceil_mode,
            return_indices=return_indices,
        )
    stride = [] if stride is None else stride
    return _VF.max_pool3d(input, kernel_size, stride, padding, dilation, ceil_mode)


max_pool1d = with_indices_or_not(_max_pool1d, max_pool1d_with_indices, 6, "max_pool1d")
max_pool2d = with_indices_or_not(_max_pool2d, max_pool2d_with_indices, 6, "max_pool2d")
max_pool3d = with_indices_or_not(_max_pool3d, max_pool3d_with_indices, 6, "max_pool3d")


# --- adaptive pooling ---


def _adaptive_max(dims):
    name = "adaptive_max_pool%dd" % dims

    def indexed(input, output_size, return_indices=False):
        if has_torch_function_unary(input):
            return handle_torch_function(indexed, (input,), input, output_size, return_indices=return_indices)
        if dims == 1:
            return _VF.adaptive_max_pool1d(input, output_size)
        return getattr(_nn, name)(input, _list_with_default(output_size, input.size()))

    def plain(input, output_size, return_indices=False):
        if has_torch_function_unary(input):
            return handle_torch_function(public, (input,), input, output_size, return_indices=return_indices)
        return indexed(input, output_size)[0]

    plain.__doc__ = "%s(input, output_size, return_indices=False)" % name
    indexed.__name__ = indexed.__qualname__ = name + "_with_indices"
    indexed.__doc__ = "%s that also returns the places of the maxima." % name
    public = with_indices_or_not(plain, indexed, 2, name)
    return public, indexed


adaptive_max_pool1d, adaptive_max_pool1d_with_indices = _adaptive_max(1)
adaptive_max_pool2d, adaptive_max_pool2d_with_indices = _adaptive_max(2)
adaptive_max_pool3d, adaptive_max_pool3d_with_indices = _adaptive_max(3)


def adaptive_avg_pool2d(input, output_size):
    """adaptive_avg_pool2d(input, output_size) -> Tensor"""
    if has_torch_function_unary(input):
        return handle_torch_function(adaptive_avg_pool2d, (input,), input, output_size)
    return _nn.adaptive_avg_pool2d(input, _list_with_default(output_size, input.size()))


def adaptive_avg_pool3d(input, output_size):
    """adaptive_avg_pool3d(input, output_size) -> Tensor"""
    if has_torch_function_unary(input):
        return handle_torch_function(adaptive_avg_pool3d, (input,), input, output_size)
    return _nn.adaptive_avg_pool3d(input, _list_with_default(output_size, input.size()))


# --- fractional max pooling ---


def _fractional(dims):
    name = "fractional_max_pool%dd" % dims

    def indexed(
        input, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None
    ):
        relevant = (input, _random_samples)
        if torch.overrides.has_torch_function(relevant):
            return handle_torch_function(
                indexed,
                relevant,
                input,
                kernel_size,
                output_size=output_size,
                output_ratio=output_ratio,
                return_indices=return_indices,
                _random_samples=_random_samples,
            )
        if output_size is None:
            if output_ratio is None:
                raise ValueError("%s requires specifying either an output_size or an output_ratio" % name)
            ratio = _ntuple(dims)(output_ratio)
            if len(ratio) > dims:
                raise ValueError(
                    "%s requires output_ratio to either be a single Int or tuple of Ints." % name
                )
            output_size = [int(input.size(d - dims) * ratio[d]) for d in range(dims)]
        if _random_samples is None:
            batch = 1 if input.dim() == dims + 1 else input.size(0)
            _random_samples = torch.rand(
                batch, input.size(-dims - 1), dims, dtype=input.dtype, device=input.device
            )
        return getattr(_nn, name)(input, kernel_size, output_size, _random_samples)

    def plain(
        input, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None
    ):
        relevant = (input, _random_samples)
        if torch.overrides.has_torch_function(relevant):
            return handle_torch_function(
                public,
                relevant,
                input,
                kernel_size,
                output_size=output_size,
                output_ratio=output_ratio,
                return_indices=return_indices,
                _random_samples=_random_samples,
            )
        return indexed(input, kernel_size, output_size, output_ratio, return_indices, _random_samples)[0]

    plain.__doc__ = "%s(input, kernel_size, output_size=None, output_ratio=None, return_indices=False)" % name
    indexed.__name__ = indexed.__qualname__ = name + "_with_indices"
    indexed.__doc__ = "%s that also returns the places of the maxima." % name
    public = with_indices_or_not(plain, indexed, 4, name)
    return public, indexed


fractional_max_pool2d, fractional_max_pool2d_with_indices = _fractional(2)
fractional_max_pool3d, fractional_max_pool3d_with_indices = _fractional(3)


# --- unpooling ---


def _unpool_output_size(input, kernel_size, stride, padding, output_size):
    dims = len(kernel_size)
    default = [
        (size - 1) * step + kernel - 2 * pad
        for size, step, kernel, pad in zip(input.size()[-dims:], stride, kernel_size, padding)
    ]
    if output_size is None:
        chosen = default
    else:
        chosen = output_size[2:] if len(output_size) == dims + 2 else output_size
        if len(chosen) != dims:
            raise ValueError(
                "output_size should be a sequence containing %d or %d elements, but it has a length of '%d'"
                % (dims, dims + 2, len(chosen))
            )
        for d in range(dims):
            low, high = default[d] - stride[d], default[d] + stride[d]
            if not low < chosen[d] < high:
                raise ValueError(
                    'invalid output_size "%s" (dim %d must be between %d and %d)' % (chosen, d, low, high)
                )
    for d in range(dims):
        if chosen[d] < 0:
            raise ValueError(
                "max_unpooling: output_size must contain non-negative spatial dimensions, but got "
                "output_size[%d]=%d" % (d, chosen[d])
            )
    return list(chosen)


def _unpool_arguments(dims, input, kernel_size, stride, padding, output_size):
    tuples = _ntuple(dims)
    kernel_size, padding = tuples(kernel_size), tuples(padding)
    stride = kernel_size if stride is None else tuples(stride)
    return _unpool_output_size(input, kernel_size, stride, padding, output_size), stride, padding


@overridable
def max_unpool1d(input, indices, kernel_size, stride=None, padding=0, output_size=None):
    """max_unpool1d(input, indices, kernel_size, stride=None, padding=0, output_size=None) -> Tensor"""
    size, _, _ = _unpool_arguments(1, input, kernel_size, stride, padding, output_size)
    return _nn.max_unpool2d(input.unsqueeze(-1), indices.unsqueeze(-1), [*size, 1]).squeeze(-1)


@overridable
def max_unpool2d(input, indices, kernel_size, stride=None, padding=0, output_size=None):
    """max_unpool2d(input, indices, kernel_size, stride=None, padding=0, output_size=None) -> Tensor"""
    size, _, _ = _unpool_arguments(2, input, kernel_size, stride, padding, output_size)
    return _nn.max_unpool2d(input, indices, size)


@overridable
def max_unpool3d(input, indices, kernel_size, stride=None, padding=0, output_size=None):
    """max_unpool3d(input, indices, kernel_size, stride=None, padding=0, output_size=None) -> Tensor"""
    size, stride, padding = _unpool_arguments(3, input, kernel_size, stride, padding, output_size)
    return _nn.max_unpool3d(input, indices, size, stride, padding)


# --- power-average pooling ---


def _lp_pool(input, norm_type, kernel_size, stride, ceil_mode, window, max_pool, avg_pool):
    if isinstance(norm_type, (int, float)):
        if norm_type == float("inf"):
            return max_pool(input.abs(), kernel_size, stride, 0, 1, ceil_mode)
        if norm_type == -float("inf"):
            return -max_pool(-input.abs(), kernel_size, stride, 0, 1, ceil_mode)
    powers = input.pow(norm_type)
    if stride is not None:
        out = avg_pool(powers, kernel_size, stride, 0, ceil_mode)
    else:
        out = avg_pool(powers, kernel_size, padding=0, ceil_mode=ceil_mode)
    return (torch.sign(out) * torch.relu(torch.abs(out))).mul(window).pow(1.0 / norm_type)


@overridable
def lp_pool1d(input, norm_type, kernel_size, stride=None, ceil_mode=False):
    """lp_pool1d(input, norm_type, kernel_size, stride=None, ceil_mode=False) -> Tensor"""
    return _lp_pool(input, norm_type, kernel_size, stride, ceil_mode, kernel_size, max_pool1d, _VF.avg_pool1d)


@overridable
def lp_pool2d(input, norm_type, kernel_size, stride=None, ceil_mode=False):
    """lp_pool2d(input, norm_type, kernel_size, stride=None, ceil_mode=False) -> Tensor"""
    height, width = _ntuple(2)(kernel_size)
    return _lp_pool(
        input, norm_type, kernel_size, stride, ceil_mode, height * width, max_pool2d, _nn.avg_pool2d
    )


@overridable
def lp_pool3d(input, norm_type, kernel_size, stride=None, ceil_mode=False):
    """lp_pool3d(input, norm_type, kernel_size, stride=None, ceil_mode=False) -> Tensor"""
    depth, height, width = _ntuple(3)(kernel_size)
    return _lp_pool(
        input, norm_type, kernel_size, stride, ceil_mode, depth * height * width, max_pool3d, _nn.avg_pool3d
    )


__all__ = [name for name in globals() if "pool" in name and not name.startswith("_")]
publish(globals(), __all__)
