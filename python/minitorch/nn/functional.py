# SPDX-License-Identifier: BSD-3-Clause
"""Functions of neural networks without parameters of their own.

Those that are one op are the op itself.  The others check for overrides, then their arguments, and call ops;
losses, pooling, image functions and attention have files of their own.
"""

import warnings

import minitorch as torch
from minitorch import _C
from minitorch.nn._attention_functions import (  # noqa: F401
    _canonical_mask,
    _mha_shape_check,
    _none_or_dtype,
    multi_head_attention_forward,
)
from minitorch.nn._dispatch import boolean_dispatch, overridable  # noqa: F401
from minitorch.nn._image_functions import *  # noqa: F403
from minitorch.nn._image_functions import pad
from minitorch.nn._loss_functions import *  # noqa: F403
from minitorch.nn._pool_functions import *  # noqa: F403
from minitorch.overrides import (
    _unlisted,
    handle_torch_function,
    has_torch_function,  # noqa: F401
    has_torch_function_unary,
    has_torch_function_variadic,
)

_nn = _C._nn
_VF = _C._VariableFunctions

# --- functions that are one op ---

for _name in """
    conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d conv_tbc avg_pool1d
    adaptive_avg_pool1d relu_ selu_ celu_ prelu rrelu_ hardshrink threshold_ bilinear pixel_shuffle
    pixel_unshuffle channel_shuffle native_channel_shuffle pairwise_distance pdist cosine_similarity
""".split():
    if hasattr(_VF, _name):
        globals()[_name] = getattr(_VF, _name)
for _name in """
    avg_pool2d avg_pool3d hardtanh_ elu_ leaky_relu_ gelu softplus softshrink linear one_hot
    scaled_dot_product_attention
""".split():
    if hasattr(_nn, _name):
        globals()[_name] = getattr(_nn, _name)
logsigmoid = _nn.log_sigmoid


# --- activations ---


def relu(input, inplace=False):
    """relu(input, inplace=False) -> Tensor

    The larger of the element and 0.
    """
    if has_torch_function_unary(input):
        return handle_torch_function(relu, (input,), input, inplace=inplace)
    return _VF.relu_(input) if inplace else _VF.relu(input)


def threshold(input, threshold, value, inplace=False):
    """threshold(input, threshold, value, inplace=False) -> Tensor

    Elements that are not above the threshold become `value`.
    """
    if has_torch_function_unary(input):
        return handle_torch_function(_threshold, (input,), input, threshold, value, inplace=inplace)
    return (_VF.threshold_ if inplace else _VF.threshold)(input, threshold, value)


_threshold = threshold


def glu(input, dim=-1):
    """glu(input, dim=-1) -> Tensor

    The first half along `dim` times the sigmoid of the second.
    """
    if has_torch_function_unary(input):
        return handle_torch_function(glu, (input,), input, dim=dim)
    if input.dim() == 0:
        raise RuntimeError("glu does not support scalars because halving size must be even")
    return _nn.glu(input, dim)


def hardtanh(input, min_val=-1.0, max_val=1.0, inplace=False):
    """hardtanh(input, min_val=-1.0, max_val=1.0, inplace=False) -> Tensor"""
    if has_torch_function_unary(input):
        return handle_torch_function(
            hardtanh, (input,), input, min_val=min_val, max_val=max_val, inplace=inplace
        )
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    return (_nn.hardtanh_ if inplace else _nn.hardtanh)(input, min_val, max_val)


def relu6(input, inplace=False):
    """relu6(input, inplace=False) -> Tensor

    relu cut off at 6.
    """
    if has_torch_function_unary(input):
        return handle_torch_function(relu6, (input,), input, inplace=inplace)
    return (_nn.relu6_ if inplace else _nn.relu6)(input)


def elu(input, alpha=1.0, inplace=False):
    """elu(input, alpha=1.0, inplace=False) -> Tensor"""
    if has_torch_function_unary(input):
        return handle_torch_function(elu, (input,), input, alpha=alpha, inplace=inplace)
    return (_nn.elu_ if inplace else _nn.elu)(input, alpha)


def selu(input, inplace=False):
    """selu(input, inplace=False) -> Tensor"""
    if has_torch_function_unary(input):
        return handle_torch_function(selu, (input,), input, inplace=inplace)
    return (_VF.selu_ if inplace else _VF.selu)(input)


def celu(input, alpha=1.0, inplace=False):
    """celu(input, alpha=1.0, inplace=False) -> Tensor"""
    if has_torch_function_unary(input):
        return handle_torch_function(celu, (input,), input, alpha=alpha, inplace=inplace)
    return (_VF.celu_ if inplace else _VF.celu)(input, alpha)


def leaky_relu(input, negative_slope=0.01, inplace=False):
    """leaky_relu(input, negative_slope=0.01, inplace=False) -> Tensor"""
    if has_torch_function_unary(input):
        return handle_torch_function(
            leaky_relu, (input,), input, negative_slope=negative_slope, inplace=inplace
        )
    return (_nn.leaky_relu_ if inplace else _nn.leaky_relu)(input, negative_slope)


def rrelu(input, lower=1.0 / 8, upper=1.0 / 3, training=False, inplace=False):
    """rrelu(input, lower=1/8, upper=1/3, training=False, inplace=False) -> Tensor

    leaky_relu with a random slope in training.
    """
    if has_torch_function_unary(input):
        return handle_torch_function(
            rrelu, (input,), input, lower=lower, upper=upper, training=training, inplace=inplace
        )
    return (_VF.rrelu_ if inplace else _VF.rrelu)(input, lower, upper, training)


def tanhshrink(input):
    """tanhshrink(input) -> Tensor

    The element minus its tanh.
    """
    if has_torch_function_unary(input):
        return handle_torch_function(tanhshrink, (input,), input)
    return input - input.tanh()


def softsign(input):
    """softsign(input) -> Tensor

    The element divided by 1 plus its magnitude.
    """
    if has_torch_function_unary(input):
        return handle_torch_function(softsign, (input,), input)
    return input / (input.abs() + 1)


def tanh(input):
    """tanh(input) -> Tensor"""
    return input.tanh()


def sigmoid(input):
    """sigmoid(input) -> Tensor"""
    return input.sigmoid()


@_unlisted
def hardsigmoid(input, inplace=False):
    """hardsigmoid(input, inplace=False) -> Tensor"""
    if has_torch_function_unary(input):
        return handle_torch_function(hardsigmoid, (input,), input, inplace=inplace)
    return (_nn.hardsigmoid_ if inplace else _nn.hardsigmoid)(input)


def silu(input, inplace=False):
    """silu(input, inplace=False) -> Tensor

    The element times its sigmoid.
    """
    if has_torch_function_unary(input):
        return handle_torch_function(silu, (input,), input, inplace=inplace)
    return (_nn.silu_ if inplace else _nn.silu)(input)


def mish(input, inplace=False):
    """mish(input, inplace=False) -> Tensor

    The element times tanh(softplus(element)).
    """
    if has_torch_function_unary(input):
        return handle_torch_function(mish, (input,), input, inplace=inplace)
    return (_nn.mish_ if inplace else _nn.mish)(input)


@_unlisted
def hardswish(input, inplace=False):
    """hardswish(input, inplace=False) -> Tensor"""
    if has_torch_function_unary(input):
        return handle_torch_function(hardswish, (input,), input, inplace=inplace)
    return (_nn.hardswish_ if inplace else _nn.hardswish)(input)


# --- softmax and relatives ---


def _get_softmax_dim(name, ndim, stacklevel):
    warnings.warn(
        "Implicit dimension choice for %s has been deprecated. Change the call to include dim=X as an "
        "argument." % name,
        stacklevel=stacklevel,
    )
    return 0 if ndim in (0, 1, 3) else 1


def softmax(input, dim=None, _stacklevel=3, dtype=None):
    """softmax(input, dim, dtype=None) -> Tensor

    Exponentials that add up to 1 along `dim`.
    """
    if has_torch_function_unary(input):
        return handle_torch_function(softmax, (input,), input, dim=dim, _stacklevel=_stacklevel, dtype=dtype)
    if dim is None:
        dim = _get_softmax_dim("softmax", input.dim(), _stacklevel)
    return input.softmax(dim) if dtype is None else input.softmax(dim, dtype=dtype)


def log_softmax(input, dim=None, _stacklevel=3, dtype=None):
    """log_softmax(input, dim, dtype=None) -> Tensor

    The logarithm of softmax, computed safely.
    """
    if has_torch_function_unary(input):
        return handle_torch_function(
            log_softmax, (input,), input, dim=dim, _stacklevel=_stacklevel, dtype=dtype
        )
    if dim is None:
        dim = _get_softmax_dim("log_softmax", input.dim(), _stacklevel)
    return input.log_softmax(dim) if dtype is None else input.log_softmax(dim, dtype=dtype)


def softmin(input, dim=None, _stacklevel=3, dtype=None):
    """softmin(input, dim, dtype=None) -> Tensor

    softmax of the negated input.
    """
    if has_torch_function_unary(input):
        return handle_torch_function(softmin, (input,), input, dim=dim, _stacklevel=_stacklevel, dtype=dtype)
    if dim is None:
        dim = _get_softmax_dim("softmin", input.dim(), _stacklevel)
    return (-input).softmax(dim) if dtype is None else (-input).softmax(dim, dtype=dtype)


@overridable
def gumbel_softmax(logits, tau=1, hard=False, eps=1e-10, dim=-1):
    """gumbel_softmax(logits, tau=1, hard=False, dim=-1) -> Tensor

    Samples from the Gumbel-softmax distribution; one-hot with `hard`, with the gradient of the soft ones.
    """
    if eps != 1e-10:
        warnings.warn("`eps` parameter is deprecated and has no effect.", stacklevel=3)
    noise = -torch.empty_like(logits, memory_format=torch.contiguous_format).exponential_().log()
    soft = ((logits + noise) / tau).softmax(dim)
    if not hard:
        return soft
    index = soft.max(dim, keepdim=True)[1]
    zeros = torch.zeros_like(logits, memory_format=torch.contiguous_format)
    return zeros.scatter_(dim, index, 1.0) - soft.detach() + soft


# --- dropout ---


def _check_probability(p):
    if p < 0.0 or p > 1.0:
        raise ValueError("dropout probability has to be between 0 and 1, but got %s" % p)


def dropout(input, p=0.5, training=True, inplace=False):
    """dropout(input, p=0.5, training=True, inplace=False) -> Tensor

    In training, zeroes each element with probability p and scales the others by 1 / (1 - p).
    """
    if has_torch_function_unary(input):
        return handle_torch_function(dropout, (input,), input, p=p, training=training, inplace=inplace)
    _check_probability(p)
    return (_VF.dropout_ if inplace else _VF.dropout)(input, p, training)


@overridable
def alpha_dropout(input, p=0.5, training=False, inplace=False):
    """alpha_dropout(input, p=0.5, training=False, inplace=False) -> Tensor

    Dropout that keeps mean and variance of inputs to selu.
    """
    _check_probability(p)
    return (_VF.alpha_dropout_ if inplace else _VF.alpha_dropout)(input, p, training)


@overridable
def feature_alpha_dropout(input, p=0.5, training=False, inplace=False):
    """feature_alpha_dropout(input, p=0.5, training=False, inplace=False) -> Tensor

    alpha_dropout of whole channels.
    """
    _check_probability(p)
    return (_VF.feature_alpha_dropout_ if inplace else _VF.feature_alpha_dropout)(input, p, training)


def _channel_dropout(input, p, training, inplace, batched):
    _check_probability(p)
    drop = _VF.feature_dropout_ if inplace else _VF.feature_dropout
    if batched:
        return drop(input, p, training)
    if inplace:
        drop(input.unsqueeze(0), p, training)
        return input
    return drop(input.unsqueeze(0), p, training).squeeze(0)


@overridable
def dropout1d(input, p=0.5, training=True, inplace=False):
    """dropout1d(input, p=0.5, training=True, inplace=False) -> Tensor

    Dropout of whole channels of (N, C, L) or (C, L).
    """
    _check_probability(p)
    ndim = input.dim()
    if ndim not in (2, 3):
        raise RuntimeError(
            "dropout1d: Expected 2D or 3D input, but received a %dD input. Note that dropout1d exists to "
            "provide channel-wise dropout on inputs with 1 spatial dimension, a channel dimension, and an "
            "optional batch dimension (i.e. 2D or 3D inputs)." % ndim
        )
    return _channel_dropout(input, p, training, inplace, ndim == 3)


def _warn_channel_dropout(name, ndim, dims):
    warnings.warn(
        "%s: Received a %d-D input to %s, which is deprecated and will result in an error in a future "
        "release. To retain the behavior and silence this warning, please use dropout instead. Note that "
        "%s exists to provide channel-wise dropout on inputs with %d spatial dimensions, a channel "
        "dimension, and an optional batch dimension (i.e. %dD or %dD "
        "inputs)." % (name, ndim, name, name, dims, dims + 1, dims + 2),
        stacklevel=4,
    )


@overridable
def dropout2d(input, p=0.5, training=True, inplace=False):
    """dropout2d(input, p=0.5, training=True, inplace=False) -> Tensor

    Dropout of whole channels of (N, C, H, W).
    """
    _check_probability(p)
    ndim = input.dim()
    if ndim not in (3, 4):
        _warn_channel_dropout("dropout2d", ndim, 2)
    if ndim == 3:
        warnings.warn(
            "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout "
            "behavior is desired - input is interpreted as shape (N, C, L), where C is the channel dim. "
            "This behavior will change in a future release to interpret the input as one without a batch "
            "dimension, i.e. shape (C, H, W). To maintain the 1D channel-wise dropout behavior, please "
            "switch to using dropout1d instead.",
            stacklevel=3,
        )
    return _channel_dropout(input, p, training, inplace, True)


@overridable
def dropout3d(input, p=0.5, training=True, inplace=False):
    """dropout3d(input, p=0.5, training=True, inplace=False) -> Tensor

    Dropout of whole channels of (N, C, D, H, W) or (C, D, H, W).
    """
    _check_probability(p)
    ndim = input.dim()
    if ndim not in (4, 5):
        _warn_channel_dropout("dropout3d", ndim, 3)
    return _channel_dropout(input, p, training, inplace, ndim == 5)


# --- embedding ---


def _renorm(weight, input, max_norm, norm_type):
    _VF.embedding_renorm_(weight.detach(), input, max_norm, norm_type)


def embedding(
    input,
    weight,
    padding_idx=None,
    max_norm=None,
    norm_type=2.0,
    scale_grad_by_freq=False,
    sparse=False,
):
    """embedding(input, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False,
    sparse=False)

    The rows of `weight` that the indices name.  The row `padding_idx` gets no gradient; rows used that are
    longer than `max_norm` are shortened in place.
    """
    if has_torch_function_variadic(input, weight):
        return handle_torch_function(
            embedding,
            (input, weight),
            input,
            weight,
            padding_idx=padding_idx,
            max_norm=max_norm,
            norm_type=norm_type,
            scale_grad_by_freq=scale_grad_by_freq,
            sparse=sparse,
        )
    if padding_idx is None:
        padding_idx = -1
    else:
        rows = weight.size(0)
        if not -rows <= padding_idx < rows:
            raise AssertionError("Padding_idx must be within num_embeddings")
        if padding_idx < 0:
            padding_idx = padding_idx + rows
    if max_norm is not None:
        input = input.contiguous()
        with torch.no_grad():  # complains before the weight is changed
            _VF.embedding(weight, input, padding_idx, scale_grad_by_freq, sparse)
        _renorm(weight, input, max_norm, norm_type)
    return _VF.embedding(weight, input, padding_idx, scale_grad_by_freq, sparse)


_BAG_MODES = {"sum": 0, "mean": 1, "max": 2}


def _bags(input, offsets, per_sample_weights):
    """(indices, offsets, weights) in one dimension."""
    if input.dim() == 2:
        if offsets is not None:
            raise ValueError(
                "if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed "
                "length sequences. However, found offsets of type %s" % type(offsets)
            )
        step = input.size(1)
        offsets = torch.arange(0, input.numel(), step, dtype=input.dtype, device=input.device)
        if per_sample_weights is not None:
            per_sample_weights = per_sample_weights.reshape(-1)
        return input.reshape(-1), offsets, per_sample_weights
    if input.dim() != 1:
        raise ValueError("input has to be 1D or 2D Tensor, but got Tensor of dimension %d" % input.dim())
    if offsets is None:
        raise ValueError("offsets has to be a 1D Tensor but got None")
    if offsets.dim() != 1:
        raise ValueError("offsets has to be a 1D Tensor")
    return input, offsets, per_sample_weights


@overridable
def embedding_bag(
    input,
    weight,
    offsets=None,
    max_norm=None,
    norm_type=2,
    scale_grad_by_freq=False,
    mode="mean",
    sparse=False,
    per_sample_weights=None,
    include_last_offset=False,
    padding_idx=None,
):
    """embedding_bag(input, weight, offsets=None, max_norm=None, norm_type=2, scale_grad_by_freq=False,
    mode="mean", sparse=False, per_sample_weights=None, include_last_offset=False, padding_idx=None) -> Tensor

    Sums, means or maxima of bags of embeddings.
    """
    if weight.dtype == torch.long and input.is_floating_point():
        warnings.warn(
            "Argument order of nn.functional.embedding_bag was changed. Usage `embedding_bag(weight, "
            "input, ...)` is deprecated, and should now be `embedding_bag(input, weight, ...)`.",
            stacklevel=3,
        )
        weight, input = input, weight
    if per_sample_weights is not None and input.size() != per_sample_weights.size():
        raise ValueError(
            "embedding_bag: If per_sample_weights (%s) is not None, then it must have the same shape as "
            "the input (%s)" % (per_sample_weights.shape, input.shape)
        )
    if weight.dim() != 2:
        raise ValueError("weight has to be a 2D Tensor, but got Tensor of dimension %d" % weight.dim())
    if input.dim() == 2:
        include_last_offset = False
    input, offsets, per_sample_weights = _bags(input, offsets, per_sample_weights)
    if mode not in _BAG_MODES:
        raise ValueError("mode has to be one of sum, mean or max")
    if mode == "max" and scale_grad_by_freq:
        raise ValueError("max mode does not support scaling the gradient by the frequency")
    if mode == "max" and sparse:
        raise ValueError("max mode does not support sparse weights")
    if max_norm is not None:
        _renorm(weight, input, max_norm, norm_type)
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError(
            "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for "
            "mode='sum' (got mode='%s'). Please open a feature request on GitHub." % mode
        )
    return _VF.embedding_bag(
        weight,
        input,
        offsets,
        scale_grad_by_freq,
        _BAG_MODES[mode],
        sparse,
        per_sample_weights,
        include_last_offset,
        padding_idx,
    )[0]


# --- normalisation ---


def _verify_batch_size(size):
    count = size[0]
    for length in size[2:]:
        count *= length
    if count == 1:
        raise ValueError("Expected more than 1 value per channel when training, got input size %s" % (size,))


def batch_norm(
    input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5
):
    """batch_norm(input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1,
    eps=1e-5)

    Normalises each channel over the batch, or by the running statistics outside training.
    """
    if has_torch_function_variadic(input, running_mean, running_var, weight, bias):
        return handle_torch_function(
            batch_norm,
            (input, running_mean, running_var, weight, bias),
            input,
            running_mean,
            running_var,
            weight=weight,
            bias=bias,
            training=training,
            momentum=momentum,
            eps=eps,
        )
    if training:
        _verify_batch_size(input.size())
        if eps <= 0.0:
            raise ValueError("batch_norm eps must be positive during training, but got %s" % eps)
    elif eps < 0.0:
        raise ValueError("batch_norm eps must be non-negative, but got %s" % eps)
    return _VF.batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, False)


def _verify_spatial_size(size):
    count = 1
    for length in size[2:]:
        count *= length
    if count == 1:
        raise ValueError("Expected more than 1 spatial element when training, got input size %s" % (size,))


@overridable
def instance_norm(
    input,
    running_mean=None,
    running_var=None,
    weight=None,
    bias=None,
    use_input_stats=True,
    momentum=0.1,
    eps=1e-5,
):
    """instance_norm(input, running_mean=None, running_var=None, weight=None, bias=None, use_input_stats=True,
    momentum=0.1, eps=1e-5) -> Tensor

    Normalises each channel of each example.
    """
    if use_input_stats:
        _verify_spatial_size(input.size())
    return _VF.instance_norm(
        input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, False
    )


def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5):
    """layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5) -> Tensor

    Normalises over the last dimensions.
    """
    if has_torch_function_variadic(input, weight, bias):
        return handle_torch_function(
            layer_norm, (input, weight, bias), input, normalized_shape, weight=weight, bias=bias, eps=eps
        )
    return _VF.layer_norm(input, normalized_shape, weight, bias, eps, False)


def rms_norm(input, normalized_shape, weight=None, eps=None):
    """rms_norm(input, normalized_shape, weight=None, eps=None) -> Tensor

    Divides by the root of the mean square over the last dimensions.
    """
    if has_torch_function_variadic(input, weight):
        return handle_torch_function(
            rms_norm, (input, weight), input, normalized_shape, weight=weight, eps=eps
        )
    return _VF.rms_norm(input, normalized_shape, weight, eps)


def group_norm(input, num_groups, weight=None, bias=None, eps=1e-5):
    """group_norm(input, num_groups, weight=None, bias=None, eps=1e-5) -> Tensor

    Normalises groups of channels of each example.
    """
    if has_torch_function_variadic(input, weight, bias):
        return handle_torch_function(
            group_norm, (input, weight, bias), input, num_groups, weight=weight, bias=bias, eps=eps
        )
    if input.dim() < 2:
        raise RuntimeError("Expected at least 2 dimensions for input tensor but received %d" % input.dim())
    size = input.size()
    _verify_batch_size([size[0] * size[1] // num_groups, num_groups] + list(size[2:]))
    return _VF.group_norm(input, num_groups, weight, bias, eps, False)


@overridable
def local_response_norm(input, size, alpha=1e-4, beta=0.75, k=1.0):
    """local_response_norm(input, size, alpha=1e-4, beta=0.75, k=1.0) -> Tensor

    Divides by a power of the mean square over neighbouring channels.
    """
    ndim = input.dim()
    if ndim < 3:
        raise ValueError(
            "Expected 3D or higher dimensionality                          input (got %d dimensions)" % ndim
        )
    if input.numel() == 0:
        return input
    squares = input.mul(input)
    around = (size // 2, (size - 1) // 2)
    if ndim == 3:
        padded = pad(squares.unsqueeze(1), (0, 0) + around)
        mean = _nn.avg_pool2d(padded, (size, 1), stride=1).squeeze(1)
    else:
        sizes = input.size()
        padded = pad(squares.view(sizes[0], 1, sizes[1], sizes[2], -1), (0, 0, 0, 0) + around)
        mean = _nn.avg_pool3d(padded, (size, 1, 1), stride=1).squeeze(1).view(sizes)
    return input / mean.mul(alpha).add(k).pow(beta)


@overridable
def normalize(input, p=2.0, dim=1, eps=1e-12, out=None):
    """normalize(input, p=2.0, dim=1, eps=1e-12, out=None) -> Tensor

    Divides by the p-norm along `dim`.
    """
    norm = input.norm(p, dim, keepdim=True)
    if out is None:
        return input / norm.clamp_min(eps).expand_as(input)
    return torch.div(input, norm.clamp_min_(eps).expand_as(input), out=out)


def assert_int_or_pair(arg, arg_name, message):
    """assert_int_or_pair(arg, arg_name, message): AssertionError unless arg is an int or has two items."""
    if not (isinstance(arg, int) or len(arg) == 2):
        raise AssertionError(message.format(arg_name))


def _unsupported(name):
    def function(*args, **kwargs):
        raise NotImplementedError("nn.functional.%s is not supported" % name)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = "%s(*args, **kwargs): not supported; NotImplementedError." % name
    return function


@_unlisted
@overridable
def grouped_mm(mat_a, mat_b, *, offs=None, bias=None, out_dtype=None):
    """grouped_mm(mat_a, mat_b, *, offs=None, bias=None, out_dtype=None): not supported; NotImplementedError."""
    raise NotImplementedError("nn.functional.grouped_mm is not supported")


for _name in ("scaled_mm", "scaled_grouped_mm"):
    globals()[_name] = _unsupported(_name)
del _name
