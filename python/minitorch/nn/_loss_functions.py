# SPDX-License-Identifier: BSD-3-Clause
"""Loss functions of nn.functional."""

import math
import warnings

import minitorch as torch
from minitorch import _C
from minitorch.nn import _reduction
from minitorch.nn._dispatch import overridable, publish
from minitorch.nn._reduction import get_enum
from minitorch.overrides import handle_torch_function, has_torch_function_variadic

_nn = _C._nn
_VF = _C._VariableFunctions


def _enum(reduction, size_average, reduce):
    """The number of a reduction; the two old flags, when given, take precedence."""
    if size_average is not None or reduce is not None:
        return _reduction.legacy_get_enum(size_average, reduce)
    return get_enum(reduction)


def _reduced(loss, reduction, mean=None):
    if reduction == "none":
        return loss
    if reduction == "sum":
        return loss.sum()
    if reduction == "mean":
        return loss.mean() if mean is None else mean(loss)
    raise ValueError("%s is not valid" % (reduction,))


# --- classification ---


def nll_loss(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean"):
    """nll_loss(input, target, weight=None, ignore_index=-100, reduction="mean") -> Tensor

    Minus the log-probability of the target class.
    """
    if has_torch_function_variadic(input, target, weight):
        return handle_torch_function(
            nll_loss,
            (input, target, weight),
            input,
            target,
            weight=weight,
            size_average=size_average,
            ignore_index=ignore_index,
            reduce=reduce,
            reduction=reduction,
        )
    return _nn.nll_loss_nd(input, target, weight, _enum(reduction, size_average, reduce), ignore_index)


def cross_entropy(
    input,
    target,
    weight=None,
    size_average=None,
    ignore_index=-100,
    reduce=None,
    reduction="mean",
    label_smoothing=0.0,
):
    """cross_entropy(input, target, weight=None, ignore_index=-100, reduction="mean", label_smoothing=0.0) ->
    Tensor

    The cross entropy between logits and class indices or class probabilities.
    """
    if has_torch_function_variadic(input, target, weight):
        return handle_torch_function(
            cross_entropy,
            (input, target, weight),
            input,
            target,
            weight=weight,
            size_average=size_average,
            ignore_index=ignore_index,
            reduce=reduce,
            reduction=reduction,
            label_smoothing=label_smoothing,
        )
    return _nn.cross_entropy_loss(
        input, target, weight, _enum(reduction, size_average, reduce), ignore_index, label_smoothing
    )


@overridable
def linear_cross_entropy(
    input,
    linear_weight,
    target,
    *,
    linear_bias=None,
    weight=None,
    reduction="mean",
    ignore_index=None,
    label_smoothing=0.0,
    options=None,
):
    """linear_cross_entropy(input, linear_weight, target, *, linear_bias=None, weight=None, reduction="mean",
    ignore_index=None, label_smoothing=0.0, options=None) -> Tensor

    cross_entropy of a linear layer's output.  `options`, which tune memory, are accepted and not needed.
    """
    if input.dim() not in (1, 2):
        raise RuntimeError("expected input with dimensionality 1 or 2, got %d" % input.dim())
    if linear_weight.dim() < 2:
        raise RuntimeError(
            "expected linear_weight with dimensionality at least 2, got %d" % linear_weight.dim()
        )
    if input.shape[-1] != linear_weight.shape[-1]:
        raise RuntimeError(
            "expected equal input and linear_weight last dimensions (in_features), got %d and %d, "
            "respectively" % (input.shape[-1], linear_weight.shape[-1])
        )
    outputs = tuple(linear_weight.shape[:-1])
    if linear_bias is not None and tuple(linear_bias.shape) != outputs:
        raise RuntimeError("expected linear_bias shape %s, got %s" % (outputs, tuple(linear_bias.shape)))
    if len(outputs) > 1 and input.dim() == 1:
        raise RuntimeError(
            "K-dimensional loss defined by linear_weight shape %s requires batched input, (N, %d), got "
            "unbatched input with shape "
            "%s" % (tuple(linear_weight.shape), input.shape[-1], tuple(input.shape))
        )
    shape = tuple(input.shape[:-1]) + outputs
    if ignore_index is not None and tuple(target.shape) == shape:
        raise RuntimeError("ignore_index cannot be specified when target contains probabilities")
    if len(outputs) > 1:
        linear_weight = linear_weight.reshape(-1, linear_weight.shape[-1])
        linear_bias = None if linear_bias is None else linear_bias.reshape(-1)
    logits = _nn.linear(input, linear_weight, linear_bias).reshape(shape)
    return _nn.cross_entropy_loss(
        logits,
        target,
        weight,
        get_enum(reduction),
        -100 if ignore_index is None else ignore_index,
        label_smoothing,
    )


@overridable
def binary_cross_entropy(input, target, weight=None, size_average=None, reduce=None, reduction="mean"):
    """binary_cross_entropy(input, target, weight=None, reduction="mean") -> Tensor

    The cross entropy between probabilities and targets from 0 to 1.
    """
    enum = _enum(reduction, size_average, reduce)
    if target.size() != input.size():
        raise ValueError(
            "Using a target size (%s) that is different to the input size (%s) is deprecated. Please "
            "ensure they have the same size." % (target.size(), input.size())
        )
    if weight is not None:
        weight = weight.expand(torch.broadcast_shapes(target.size(), weight.size()))
    return _nn.binary_cross_entropy(input, target, weight, enum)


@overridable
def binary_cross_entropy_with_logits(
    input, target, weight=None, size_average=None, reduce=None, reduction="mean", pos_weight=None
):
    """binary_cross_entropy_with_logits(input, target, weight=None, reduction="mean", pos_weight=None) ->
    Tensor

    binary_cross_entropy of sigmoid(input), computed safely.
    """
    enum = _enum(reduction, size_average, reduce)
    if target.size() != input.size():
        raise ValueError(
            "Target size (%s) must be the same as input size (%s)" % (target.size(), input.size())
        )
    return _VF.binary_cross_entropy_with_logits(input, target, weight, pos_weight, enum)


@overridable
def kl_div(input, target, size_average=None, reduce=None, reduction="mean", log_target=False):
    """kl_div(input, target, reduction="mean", log_target=False) -> Tensor

    The Kullback-Leibler divergence; `input` holds log-probabilities.
    """
    if size_average is not None or reduce is not None:
        enum = _reduction.legacy_get_enum(size_average, reduce)
    else:
        if reduction == "mean":
            warnings.warn(
                "reduction: 'mean' divides the total loss by both the batch size and the support size."
                "'batchmean' divides only by the batch size, and aligns with the KL div math definition."
                "'mean' will be changed to behave the same as 'batchmean' in the next major release.",
                stacklevel=3,
            )
        enum = get_enum("sum" if reduction == "batchmean" else reduction)
    loss = _VF.kl_div(input, target, enum, log_target=log_target)
    if reduction == "batchmean" and input.dim() != 0:
        loss = loss / input.size()[0]
    return loss


@overridable
def multilabel_margin_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    """multilabel_margin_loss(input, target, reduction="mean") -> Tensor"""
    return _nn.multilabel_margin_loss(input, target, _enum(reduction, size_average, reduce))


@overridable
def multilabel_soft_margin_loss(input, target, weight=None, size_average=None, reduce=None, reduction="mean"):
    """multilabel_soft_margin_loss(input, target, weight=None, reduction="mean") -> Tensor"""
    if size_average is not None or reduce is not None:
        reduction = _reduction.legacy_get_string(size_average, reduce)
    loss = -(target * _nn.log_sigmoid(input) + (1 - target) * _nn.log_sigmoid(-input))
    if weight is not None:
        loss = loss * weight
    last = input.dim() - 1
    return _reduced(loss.sum(dim=last) / input.size(last), reduction)


@overridable
def multi_margin_loss(
    input, target, p=1, margin=1.0, weight=None, size_average=None, reduce=None, reduction="mean"
):
    """multi_margin_loss(input, target, p=1, margin=1, weight=None, reduction="mean") -> Tensor"""
    enum = _enum(reduction, size_average, reduce)
    if p != 1 and p != 2:
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and weight.dim() != 1:
        raise ValueError("weight must be one-dimensional")
    return _nn.multi_margin_loss(input, target, p, margin, weight, enum)


@overridable
def soft_margin_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    """soft_margin_loss(input, target, reduction="mean") -> Tensor"""
    return _nn.soft_margin_loss(input, target, _enum(reduction, size_average, reduce))


@overridable
def ctc_loss(
    log_probs, targets, input_lengths, target_lengths, blank=0, reduction="mean", zero_infinity=False
):
    """ctc_loss(log_probs, targets, input_lengths, target_lengths, blank=0, reduction="mean",
    zero_infinity=False)

    The connectionist temporal classification loss.
    """
    return _VF.ctc_loss(
        log_probs, targets, input_lengths, target_lengths, blank, get_enum(reduction), zero_infinity
    )


# --- regression ---


def _same_shape(input, target):
    """The pair broadcast to one shape, with a warning when that changes anything."""
    if input.size() == target.size():
        return input, target
    warnings.warn(
        "Using a target size (%s) that is different to the input size (%s). This will likely lead to "
        "incorrect results due to broadcasting. Please ensure they have the same "
        "size." % (target.size(), input.size()),
        stacklevel=3,
    )
    return torch.broadcast_tensors(input, target)


def _weighted(errors, weight, input, reduction, mean):
    if weight.size() != input.size():
        raise ValueError("Weights and input must have the same size.")
    if reduction not in ("none", "mean", "sum"):
        raise ValueError("Invalid reduction mode: %s. Expected one of 'none', 'mean', 'sum'." % (reduction,))
    return _reduced(errors * weight, reduction, mean)


def l1_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    """l1_loss(input, target, reduction="mean", weight=None) -> Tensor

    The absolute difference.
    """
    if has_torch_function_variadic(input, target, weight):
        return handle_torch_function(
            l1_loss,
            (input, target, weight),
            input,
            target,
            size_average=size_average,
            reduce=reduce,
            reduction=reduction,
            weight=weight,
        )
    a, b = _same_shape(input, target)
    if weight is None:
        return _nn.l1_loss(a, b, _enum(reduction, size_average, reduce))
    if size_average is not None or reduce is not None:
        reduction = _reduction.legacy_get_string(size_average, reduce)
    return _weighted(torch.abs(a - b), weight, input, reduction, lambda loss: loss.sum() / weight.sum())


def mse_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    """mse_loss(input, target, reduction="mean", weight=None) -> Tensor

    The squared difference.
    """
    if has_torch_function_variadic(input, target, weight):
        return handle_torch_function(
            mse_loss,
            (input, target, weight),
            input,
            target,
            size_average=size_average,
            reduce=reduce,
            reduction=reduction,
            weight=weight,
        )
    a, b = _same_shape(input, target)
    if weight is None:
        return _nn.mse_loss(a, b, _enum(reduction, size_average, reduce))
    if size_average is not None or reduce is not None:
        reduction = _reduction.legacy_get_string(size_average, reduce)
    return _weighted(torch.pow(a - b, 2), weight, input, reduction, lambda loss: loss.sum() / weight.sum())


def smooth_l1_loss(input, target, size_average=None, reduce=None, reduction="mean", beta=1.0):
    """smooth_l1_loss(input, target, reduction="mean", beta=1.0) -> Tensor

    Squared below `beta`, absolute above.
    """
    if has_torch_function_variadic(input, target):
        return handle_torch_function(
            smooth_l1_loss,
            (input, target),
            input,
            target,
            size_average=size_average,
            reduce=reduce,
            reduction=reduction,
            beta=beta,
        )
    a, b = _same_shape(input, target)
    enum = _enum(reduction, size_average, reduce)
    return _nn.l1_loss(a, b, enum) if beta == 0.0 else _nn.smooth_l1_loss(a, b, enum, beta)


def huber_loss(input, target, reduction="mean", delta=1.0, weight=None):
    """huber_loss(input, target, reduction="mean", delta=1.0, weight=None) -> Tensor

    Squared below `delta`, linear above.
    """
    if has_torch_function_variadic(input, target, weight):
        return handle_torch_function(
            huber_loss,
            (input, target, weight),
            input,
            target,
            reduction=reduction,
            delta=delta,
            weight=weight,
        )
    a, b = _same_shape(input, target)
    if weight is None:
        return _nn.huber_loss(a, b, get_enum(reduction), delta)
    return _weighted(_nn.huber_loss(a, b, get_enum("none"), delta), weight, input, reduction, None)


@overridable
def poisson_nll_loss(
    input,
    target,
    log_input=True,
    full=False,
    size_average=None,
    eps=1e-8,
    reduce=None,
    reduction="mean",
):
    """poisson_nll_loss(input, target, log_input=True, full=False, eps=1e-8, reduction="mean") -> Tensor"""
    if size_average is not None or reduce is not None:
        reduction = _reduction.legacy_get_string(size_average, reduce)
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(reduction + " is not a valid value for reduction")
    return _VF.poisson_nll_loss(input, target, log_input, full, eps, get_enum(reduction))


@overridable
def gaussian_nll_loss(input, target, var, full=False, eps=1e-6, reduction="mean"):
    """gaussian_nll_loss(input, target, var, full=False, eps=1e-6, reduction="mean") -> Tensor"""
    if isinstance(var, float):
        if var < 0:
            raise ValueError("var has negative entry/entries")
        var = var * torch.ones_like(input)
    elif torch.any(var < 0):
        raise ValueError("var has negative entry/entries")
    if var.size() != input.size():
        if input.size()[:-1] == var.size():
            var = torch.unsqueeze(var, -1)
        elif input.ndim != var.ndim or sum([b for a, b in zip(input.size(), var.size()) if a != b]) != 1:
            raise ValueError("var is of incorrect size")
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(reduction + " is not valid")
    var = var.clone()
    with torch.no_grad():
        var.clamp_(min=eps)
    loss = 0.5 * (torch.log(var) + (input - target) ** 2 / var)
    if full:
        loss += 0.5 * math.log(2 * math.pi)
    return _reduced(loss, reduction)


# --- pairs and triples ---


@overridable
def margin_ranking_loss(input1, input2, target, margin=0, size_average=None, reduce=None, reduction="mean"):
    """margin_ranking_loss(input1, input2, target, margin=0, reduction="mean") -> Tensor"""
    enum = _enum(reduction, size_average, reduce)
    if input1.dim() != input2.dim() or input1.dim() != target.dim():
        raise RuntimeError(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: input1: %s, "
            "input2: %s, target: %s " % (input1.size(), input2.size(), target.size())
        )
    return _VF.margin_ranking_loss(input1, input2, target, margin, enum)


@overridable
def hinge_embedding_loss(input, target, margin=1.0, size_average=None, reduce=None, reduction="mean"):
    """hinge_embedding_loss(input, target, margin=1.0, reduction="mean") -> Tensor"""
    return _VF.hinge_embedding_loss(input, target, margin, _enum(reduction, size_average, reduce))


@overridable
def cosine_embedding_loss(input1, input2, target, margin=0, size_average=None, reduce=None, reduction="mean"):
    """cosine_embedding_loss(input1, input2, target, margin=0, reduction="mean") -> Tensor"""
    return _VF.cosine_embedding_loss(input1, input2, target, margin, _enum(reduction, size_average, reduce))


@overridable
def triplet_margin_loss(
    anchor,
    positive,
    negative,
    margin=1.0,
    p=2,
    eps=1e-6,
    swap=False,
    size_average=None,
    reduce=None,
    reduction="mean",
):
    """triplet_margin_loss(anchor, positive, negative, margin=1.0, p=2, eps=1e-6, swap=False,
    reduction="mean")"""
    enum = _enum(reduction, size_average, reduce)
    if margin <= 0:
        raise ValueError("margin must be greater than 0, got %s" % margin)
    return _VF.triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, enum)


@overridable
def triplet_margin_with_distance_loss(
    anchor, positive, negative, *, distance_function=None, margin=1.0, swap=False, reduction="mean"
):
    """triplet_margin_with_distance_loss(anchor, positive, negative, *, distance_function=None, margin=1.0,
    swap=False, reduction="mean") -> Tensor"""
    if reduction not in ("mean", "sum", "none"):
        raise ValueError("%s is not a valid value for reduction" % (reduction,))
    if margin <= 0:
        raise ValueError("margin must be greater than 0, got %s" % margin)
    dims = (anchor.ndim, positive.ndim, negative.ndim)
    if len(set(dims)) > 1:
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of "
            "dimensions, but got: anchor %dD, positive %dD, and negative %dD inputs" % dims
        )
    if distance_function is None:
        distance_function = torch.pairwise_distance
    near = distance_function(anchor, positive)
    far = distance_function(anchor, negative)
    if swap:
        far = torch.minimum(far, distance_function(positive, negative))
    return _reduced(torch.clamp_min(margin + near - far, 0), reduction)


__all__ = [
    name for name in globals() if not name.startswith("_") and (name.endswith("_loss") or name in ("kl_div",))
] + ["cross_entropy", "linear_cross_entropy", "binary_cross_entropy", "binary_cross_entropy_with_logits"]
publish(globals(), __all__)
