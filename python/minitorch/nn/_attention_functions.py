# SPDX-License-Identifier: BSD-3-Clause
"""Multi-head attention as a function: projections, masks, attention, output projection."""

import math
import warnings

import minitorch as torch
from minitorch import _C
from minitorch.nn._dispatch import publish
from minitorch.overrides import handle_torch_function, has_torch_function

_nn = _C._nn


def _require(condition, message, kind=AssertionError):
    if not condition:
        raise kind(message)


def _mha_shape_check(query, key, value, key_padding_mask, attn_mask, num_heads):
    """True for inputs with a batch dimension."""
    ndim = query.dim()
    _require(
        ndim in (2, 3),
        "query should be unbatched 2D or batched 3D tensor but received %d-D query tensor" % ndim,
    )
    word = "batched (3-D)" if ndim == 3 else "unbatched (2-D)"
    _require(
        key.dim() == ndim and value.dim() == ndim,
        "For %s `query`, expected `key` and `value` to be %d-D but found %d-D and %d-D tensors respectively"
        % (word, ndim, key.dim(), value.dim()),
    )
    if key_padding_mask is not None:
        _require(
            key_padding_mask.dim() == ndim - 1,
            "For %s `query`, expected `key_padding_mask` to be `None` or %d-D but found %d-D tensor instead"
            % (word, ndim - 1, key_padding_mask.dim()),
        )
    if attn_mask is not None:
        _require(
            attn_mask.dim() in (2, 3),
            "For %s `query`, expected `attn_mask` to be `None`, 2-D or 3-D but found %d-D tensor instead"
            % (word, attn_mask.dim()),
        )
        expected = (num_heads, query.shape[0], key.shape[0])
        _require(
            ndim == 3 or attn_mask.dim() == 2 or attn_mask.shape == expected,
            "Expected `attn_mask` shape to be %s but got %s" % (expected, attn_mask.shape),
        )
    return ndim == 3


def _none_or_dtype(input):
    if input is None or isinstance(input, torch.Tensor):
        return None if input is None else input.dtype
    raise RuntimeError("input to _none_or_dtype() must be None or torch.Tensor")


def _canonical_mask(mask, mask_name, other_type, other_name, target_type, check_other=True):
    """A mask as numbers to add: a boolean one gets minus infinity where it is true."""
    if mask is None:
        return None
    is_float = torch.is_floating_point(mask)
    _require(
        is_float or mask.dtype == torch.bool, "only bool and floating types of %s are supported" % mask_name
    )
    if check_other and other_type is not None and mask.dtype != other_type:
        warnings.warn(
            "Support for mismatched %s and %s is deprecated. Use same type for both instead."
            % (mask_name, other_name),
            stacklevel=3,
        )
    if is_float:
        return mask
    return torch.zeros_like(mask, dtype=target_type).masked_fill_(mask, float("-inf"))


def _in_projection_packed(q, k, v, w, b=None):
    """The three projections out of one weight; one product where the inputs are the same object."""
    size = q.size(-1)
    if k is not v:
        biases = (None, None, None) if b is None else b.chunk(3)
        return [_nn.linear(x, weight, bias) for x, weight, bias in zip((q, k, v), w.chunk(3), biases)]
    if q is k:
        parts = _nn.linear(q, w, b).unflatten(-1, (3, size))
        return list(parts.unsqueeze(0).transpose(0, -2).squeeze(-2).contiguous().unbind(0))
    w_q, w_kv = w.split([size, size * 2])
    b_q, b_kv = (None, None) if b is None else b.split([size, size * 2])
    parts = _nn.linear(k, w_kv, b_kv).unflatten(-1, (2, size))
    parts = parts.unsqueeze(0).transpose(0, -2).squeeze(-2).contiguous()
    return [_nn.linear(q, w_q, b_q), parts[0], parts[1]]


def _in_projection(q, k, v, w_q, w_k, w_v, b_q=None, b_k=None, b_v=None):
    size = q.size(-1)
    projected = []
    for name, x, weight, bias in (
        ("query", q, w_q, b_q),
        ("key", k, w_k, b_k),
        ("value", v, w_v, b_v),
    ):
        expected = (size, x.size(-1))
        _require(
            weight.shape == expected,
            "expecting %s weights shape of %s, but got %s" % (name, expected, weight.shape),
        )
        _require(
            bias is None or bias.shape == (size,),
            "expecting %s bias shape of %s, but got %s" % (name, (size,), bias is not None and bias.shape),
        )
        projected.append(_nn.linear(x, weight, bias))
    return projected


def _heads(x, static, count, head_dim, name):
    """(length, batch, embedding) as (batch * heads, length, head size), or the given static tensor."""
    if static is None:
        return x.view(x.shape[0], count, head_dim).transpose(0, 1)
    _require(
        static.size(0) == count, "expecting %s.size(0) of %d, but got %d" % (name, count, static.size(0))
    )
    _require(
        static.size(2) == head_dim,
        "expecting %s.size(2) of %d, but got %d" % (name, head_dim, static.size(2)),
    )
    return static


def _check_attn_mask(attn_mask, target_length, source_length, count):
    if attn_mask.dim() == 2:
        expected = (target_length, source_length)
    elif attn_mask.dim() == 3:
        expected = (count, target_length, source_length)
    else:
        raise RuntimeError("attn_mask's dimension %d is not supported" % attn_mask.dim())
    _require(
        attn_mask.shape == expected,
        "The shape of the %dD attn_mask is %s, but should be %s."
        % (attn_mask.dim(), attn_mask.shape, expected),
        RuntimeError,
    )
    return attn_mask.unsqueeze(0) if attn_mask.dim() == 2 else attn_mask


def _attend_with_weights(q, k, v, attn_mask, dropout_p):
    """(output, attention weights) by plain products."""
    q = q * math.sqrt(1.0 / float(q.shape[-1]))
    if attn_mask is not None:
        weights = torch.baddbmm(attn_mask, q, k.transpose(-2, -1))
    else:
        weights = torch.bmm(q, k.transpose(-2, -1))
    weights = torch.nn.functional.softmax(weights, dim=-1)
    if dropout_p > 0.0:
        weights = torch.nn.functional.dropout(weights, p=dropout_p)
    return torch.bmm(weights, v), weights


def multi_head_attention_forward(
    query,
    key,
    value,
    embed_dim_to_check,
    num_heads,
    in_proj_weight,
    in_proj_bias,
    bias_k,
    bias_v,
    add_zero_attn,
    dropout_p,
    out_proj_weight,
    out_proj_bias,
    training=True,
    key_padding_mask=None,
    need_weights=True,
    attn_mask=None,
    use_separate_proj_weight=False,
    q_proj_weight=None,
    k_proj_weight=None,
    v_proj_weight=None,
    static_k=None,
    static_v=None,
    average_attn_weights=True,
    is_causal=False,
):
    """What nn.MultiheadAttention computes; inputs are (length, batch, embedding) or (length, embedding)."""
    relevant = (
        query,
        key,
        value,
        in_proj_weight,
        in_proj_bias,
        bias_k,
        bias_v,
        out_proj_weight,
        out_proj_bias,
    )
    if has_torch_function(relevant):
        return handle_torch_function(
            multi_head_attention_forward,
            relevant,
            query,
            key,
            value,
            embed_dim_to_check,
            num_heads,
            in_proj_weight,
            in_proj_bias,
            bias_k,
            bias_v,
            add_zero_attn,
            dropout_p,
            out_proj_weight,
            out_proj_bias,
            training=training,
            key_padding_mask=key_padding_mask,
            need_weights=need_weights,
            attn_mask=attn_mask,
            is_causal=is_causal,
            use_separate_proj_weight=use_separate_proj_weight,
            q_proj_weight=q_proj_weight,
            k_proj_weight=k_proj_weight,
            v_proj_weight=v_proj_weight,
            static_k=static_k,
            static_v=static_v,
            average_attn_weights=average_attn_weights,
        )
    is_batched = _mha_shape_check(query, key, value, key_padding_mask, attn_mask, num_heads)
    if not is_batched:
        same_kv, same_qk = key is value, query is key
        query = query.unsqueeze(1)
        key = query if same_qk else key.unsqueeze(1)
        value = key if same_kv else value.unsqueeze(1)
        if key_padding_mask is not None:
            key_padding_mask = key_padding_mask.unsqueeze(0)
    target_length, batch, embed_dim = query.shape
    source_length = key.shape[0]
    count = batch * num_heads
    key_padding_mask = _canonical_mask(
        key_padding_mask, "key_padding_mask", _none_or_dtype(attn_mask), "attn_mask", query.dtype
    )
    _require(
        not is_causal or attn_mask is not None,
        "Need attn_mask if specifying the is_causal hint. You may use the Transformer module method "
        "`generate_square_subsequent_mask` to create this mask.",
        RuntimeError,
    )
    if is_causal and key_padding_mask is None and not need_weights:
        attn_mask = None  # the hint is enough
    else:
        attn_mask = _canonical_mask(attn_mask, "attn_mask", None, "", query.dtype, check_other=False)
        if key_padding_mask is not None:
            is_causal = False
    _require(
        embed_dim == embed_dim_to_check,
        "was expecting embedding dimension of %d, but got %d" % (embed_dim_to_check, embed_dim),
    )
    head_dim = embed_dim // num_heads
    _require(
        head_dim * num_heads == embed_dim,
        "embed_dim %d not divisible by num_heads %d" % (embed_dim, num_heads),
    )
    if use_separate_proj_weight:
        _require(
            key.shape[:2] == value.shape[:2],
            "key's sequence and batch dims %s do not match value's %s" % (key.shape[:2], value.shape[:2]),
        )
        for name, weight in (("q", q_proj_weight), ("k", k_proj_weight), ("v", v_proj_weight)):
            _require(weight is not None, "use_separate_proj_weight is True but %s_proj_weight is None" % name)
        biases = (None, None, None) if in_proj_bias is None else in_proj_bias.chunk(3)
        q, k, v = _in_projection(query, key, value, q_proj_weight, k_proj_weight, v_proj_weight, *biases)
    else:
        _require(
            key.shape == value.shape,
            "key shape %s does not match value shape %s" % (key.shape, value.shape),
        )
        _require(in_proj_weight is not None, "use_separate_proj_weight is False but in_proj_weight is None")
        q, k, v = _in_projection_packed(query, key, value, in_proj_weight, in_proj_bias)

    if attn_mask is not None:
        attn_mask = _check_attn_mask(attn_mask, target_length, source_length, count)
    extra = 0
    if bias_k is not None and bias_v is not None:
        _require(static_k is None, "bias cannot be added to static key.")
        _require(static_v is None, "bias cannot be added to static value.")
        k = torch.cat([k, bias_k.repeat(1, batch, 1)])
        v = torch.cat([v, bias_v.repeat(1, batch, 1)])
        extra += 1
    else:
        _require(bias_k is None, "bias_k is set but bias_v is None")
        _require(bias_v is None, "bias_v is set but bias_k is None")
    q = q.view(target_length, count, head_dim).transpose(0, 1)
    k = _heads(k, static_k, count, head_dim, "static_k")
    v = _heads(v, static_v, count, head_dim, "static_v")
    if add_zero_attn:
        zero = torch.zeros((count, 1, head_dim), dtype=k.dtype, device=k.device)
        k = torch.cat([k, zero], dim=1)
        v = torch.cat([v, zero.to(v)], dim=1)
        extra += 1
    if extra:
        if attn_mask is not None:
            attn_mask = torch.nn.functional.pad(attn_mask, (0, extra))
        if key_padding_mask is not None:
            key_padding_mask = torch.nn.functional.pad(key_padding_mask, (0, extra))
    source_length = k.size(1)
    if key_padding_mask is not None:
        for place, length in enumerate((batch, source_length)):
            _require(
                key_padding_mask.shape[place] == length,
                "Expected key_padded_mask.shape[%d] to be %d, but got %d"
                % (place, length, key_padding_mask.shape[place]),
            )
        key_padding_mask = key_padding_mask.view(batch, 1, 1, source_length)
        key_padding_mask = key_padding_mask.expand(-1, num_heads, -1, -1).reshape(count, 1, source_length)
        attn_mask = key_padding_mask if attn_mask is None else attn_mask + key_padding_mask
    if not training:
        dropout_p = 0.0

    if need_weights:
        _require(not is_causal or attn_mask is not None, "is_causal needs attn_mask when need_weights is set")
        output, weights = _attend_with_weights(q, k, v, attn_mask, dropout_p)
        output = output.transpose(0, 1).reshape(target_length * batch, embed_dim)
    else:
        if attn_mask is not None:
            if attn_mask.size(0) == 1 and attn_mask.dim() == 3:
                attn_mask = attn_mask.unsqueeze(0)
            else:
                attn_mask = attn_mask.view(batch, num_heads, -1, source_length)
        q = q.view(batch, num_heads, target_length, head_dim)
        k = k.view(batch, num_heads, source_length, head_dim)
        v = v.view(batch, num_heads, source_length, head_dim)
        output = _nn.scaled_dot_product_attention(q, k, v, attn_mask, dropout_p, is_causal)
        output = output.permute(2, 0, 1, 3).reshape(batch * target_length, embed_dim)
    output = _nn.linear(output, out_proj_weight, out_proj_bias)
    output = output.view(target_length, batch, output.size(1))
    if not is_batched:
        output = output.squeeze(1)
    if not need_weights:
        return output, None
    weights = weights.view(batch, num_heads, target_length, source_length)
    if average_attn_weights:
        weights = weights.mean(dim=1)
    return output, weights if is_batched else weights.squeeze(0)


__all__ = ["multi_head_attention_forward"]
publish(globals(), __all__)
