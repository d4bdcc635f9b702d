# SPDX-License-Identifier: BSD-3-Clause
"""Transformer: encoder and decoder layers of attention and feed-forward blocks."""

import copy
import warnings

import minitorch as torch
from minitorch.nn import functional as F
from minitorch.nn.init import xavier_uniform_
from minitorch.nn.modules.activation import GELU, MultiheadAttention, ReLU
from minitorch.nn.modules.container import ModuleList
from minitorch.nn.modules.dropout import Dropout
from minitorch.nn.modules.linear import Linear
from minitorch.nn.modules.module import Module
from minitorch.nn.modules.normalization import LayerNorm

__all__ = [
    "Transformer",
    "TransformerEncoder",
    "TransformerDecoder",
    "TransformerEncoderLayer",
    "TransformerDecoderLayer",
]


def _causal_mask(size, device=None, dtype=None):
    """Minus infinity above the diagonal."""
    return torch.triu(torch.full((size, size), float("-inf"), dtype=dtype, device=device), diagonal=1)


def _is_causal(mask, is_causal, value, batch_first):
    """Whether the mask is the causal one; found by comparison where the caller does not say."""
    if is_causal is not None or mask is None:
        return is_causal is True
    size = value.size(0 if value.dim() == 2 or not batch_first else 1)
    expected = _causal_mask(size, mask.device, mask.dtype)
    return mask.size() == expected.size() and bool((mask == expected).all())


def _activation_of(activation):
    if not isinstance(activation, str):
        return activation
    if activation in ("relu", "gelu"):
        return getattr(F, activation)
    raise RuntimeError("activation should be relu/gelu, not %s" % activation)


def _clones(module, count):
    return ModuleList([copy.deepcopy(module) for _ in range(count)])


def _float_masks(mask, name, padding, padding_name, dtype):
    """Boolean masks as masks to add."""
    padding = F._canonical_mask(
        mask=padding,
        mask_name=padding_name,
        other_type=F._none_or_dtype(mask),
        other_name=name,
        target_type=dtype,
    )
    mask = F._canonical_mask(
        mask=mask, mask_name=name, other_type=None, other_name="", target_type=dtype, check_other=False
    )
    return mask, padding


class _Layer(Module):
    """What encoder and decoder layers share: their parts and blocks."""

    __constants__ = ["norm_first"]

    def __init__(
        self,
        d_model,
        nhead,
        dim_feedforward=2048,
        dropout=0.1,
        activation=F.relu,
        layer_norm_eps=1e-5,
        batch_first=False,
        norm_first=False,
        bias=True,
        device=None,
        dtype=None,
    ):
        super().__init__()
        factory = {"device": device, "dtype": dtype}
        blocks = self._blocks
        for name in ("self_attn", "multihead_attn")[: blocks - 1]:
            setattr(
                self,
                name,
                MultiheadAttention(
                    d_model, nhead, dropout=dropout, bias=bias, batch_first=batch_first, **factory
                ),
            )
        self.linear1 = Linear(d_model, dim_feedforward, bias=bias, **factory)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias=bias, **factory)
        self.norm_first = norm_first
        for i in range(1, blocks + 1):
            setattr(self, "norm%d" % i, LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **factory))
        for i in range(1, blocks + 1):
            setattr(self, "dropout%d" % i, Dropout(dropout))
        self.activation = _activation_of(activation)

    def __setstate__(self, state):
        super().__setstate__(state)
        if not hasattr(self, "activation"):
            self.activation = F.relu

    def _sa_block(self, x, attn_mask, key_padding_mask, is_causal=False):
        x = self.self_attn(
            x,
            x,
            x,
            attn_mask=attn_mask,
            key_padding_mask=key_padding_mask,
            need_weights=False,
            is_causal=is_causal,
        )[0]
        return self.dropout1(x)

    def _feed(self, x):
        return self.linear2(self.dropout(self.activation(self.linear1(x))))


class TransformerEncoderLayer(_Layer):
    """TransformerEncoderLayer(d_model, nhead, dim_feedforward=2048, dropout=0.1, activation=F.relu,
    layer_norm_eps=1e-5, batch_first=False, norm_first=False, bias=True, device=None, dtype=None)

    Self-attention and a feed-forward block, each with a residual connection and layer normalisation.
    """

    _blocks = 2

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        kinds = ((F.relu, ReLU, 1), (F.gelu, GELU, 2))
        self.activation_relu_or_gelu = 0
        for function, module, code in kinds:
            if self.activation is function or isinstance(self.activation, module):
                self.activation_relu_or_gelu = code

    def forward(self, src, src_mask=None, src_key_padding_mask=None, is_causal=False):
        src_mask, padding = _float_masks(
            src_mask, "src_mask", src_key_padding_mask, "src_key_padding_mask", src.dtype
        )
        x = src
        if self.norm_first:
            x = x + self._sa_block(self.norm1(x), src_mask, padding, is_causal=is_causal)
            return x + self._ff_block(self.norm2(x))
        x = self.norm1(x + self._sa_block(x, src_mask, padding, is_causal=is_causal))
        return self.norm2(x + self._ff_block(x))

    def _ff_block(self, x):
        return self.dropout2(self._feed(x))


class TransformerDecoderLayer(_Layer):
    """TransformerDecoderLayer(d_model, nhead, dim_feedforward=2048, dropout=0.1, activation=F.relu,
    layer_norm_eps=1e-5, batch_first=False, norm_first=False, bias=True, device=None, dtype=None)

    Self-attention, attention to the encoder's output, and a feed-forward block.
    """

    _blocks = 3

    def forward(
        self,
        tgt,
        memory,
        tgt_mask=None,
        memory_mask=None,
        tgt_key_padding_mask=None,
        memory_key_padding_mask=None,
        tgt_is_causal=False,
        memory_is_causal=False,
    ):
        own = (tgt_mask, tgt_key_padding_mask, tgt_is_causal)
        other = (memory, memory_mask, memory_key_padding_mask, memory_is_causal)
        x = tgt
        if self.norm_first:
            x = x + self._sa_block(self.norm1(x), *own)
            x = x + self._mha_block(self.norm2(x), *other)
            return x + self._ff_block(self.norm3(x))
        x = self.norm1(x + self._sa_block(x, *own))
        x = self.norm2(x + self._mha_block(x, *other))
        return self.norm3(x + self._ff_block(x))

    def _mha_block(self, x, mem, attn_mask, key_padding_mask, is_causal=False):
        x = self.multihead_attn(
            x,
            mem,
            mem,
            attn_mask=attn_mask,
            key_padding_mask=key_padding_mask,
            is_causal=is_causal,
            need_weights=False,
        )[0]
        return self.dropout2(x)

    def _ff_block(self, x):
        return self.dropout3(self._feed(x))


def _why_not_nested(layer):
    """Why PyTorch would not take its way over nested tensors; it says so, and so do we."""
    told = "encoder_layer"
    if not isinstance(layer, TransformerEncoderLayer):
        return told + " was not TransformerEncoderLayer"
    attention = layer.self_attn
    if layer.norm_first:
        return told + ".norm_first was True"
    if not attention.batch_first:
        return told + ".self_attn.batch_first was not True(use batch_first for better inference performance)"
    if not attention._qkv_same_embed_dim:
        return told + ".self_attn._qkv_same_embed_dim was not True"
    if attention.in_proj_bias is None:
        return told + ".self_attn was passed bias=False"
    if not layer.activation_relu_or_gelu:
        return told + ".activation_relu_or_gelu was not True"
    if layer.norm1.eps != layer.norm2.eps:
        return "%s.norm1.eps was not equal to %s.norm2.eps" % (told, told)
    if attention.num_heads % 2 == 1:
        return told + ".self_attn.num_heads is odd"
    return None


class TransformerEncoder(Module):
    """TransformerEncoder(encoder_layer, num_layers, norm=None, enable_nested_tensor=True, mask_check=True)

    Copies of a layer one after the other.
    """

    __constants__ = ["norm"]

    def __init__(self, encoder_layer, num_layers, norm=None, enable_nested_tensor=True, mask_check=True):
        super().__init__()
        self.layers = _clones(encoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm
        self.enable_nested_tensor = enable_nested_tensor
        self.mask_check = mask_check
        why = _why_not_nested(encoder_layer)
        self.use_nested_tensor = bool(enable_nested_tensor and not why)
        if enable_nested_tensor and why:
            warnings.warn(
                "enable_nested_tensor is True, but self.use_nested_tensor is False because " + why,
                stacklevel=2,
            )

    def forward(self, src, mask=None, src_key_padding_mask=None, is_causal=None):
        mask, padding = _float_masks(mask, "mask", src_key_padding_mask, "src_key_padding_mask", src.dtype)
        is_causal = _is_causal(mask, is_causal, src, self.layers[0].self_attn.batch_first)
        output = src
        for layer in self.layers:
            output = layer(output, src_mask=mask, is_causal=is_causal, src_key_padding_mask=padding)
        return output if self.norm is None else self.norm(output)


class TransformerDecoder(Module):
    """TransformerDecoder(decoder_layer, num_layers, norm=None): copies of a layer one after the other."""

    __constants__ = ["norm"]

    def __init__(self, decoder_layer, num_layers, norm=None):
        super().__init__()
        self.layers = _clones(decoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm

    def forward(
        self,
        tgt,
        memory,
        tgt_mask=None,
        memory_mask=None,
        tgt_key_padding_mask=None,
        memory_key_padding_mask=None,
        tgt_is_causal=None,
        memory_is_causal=False,
    ):
        tgt_is_causal = _is_causal(tgt_mask, tgt_is_causal, tgt, self.layers[0].self_attn.batch_first)
        output = tgt
        for layer in self.layers:
            output = layer(
                output,
                memory,
                tgt_mask=tgt_mask,
                memory_mask=memory_mask,
                tgt_key_padding_mask=tgt_key_padding_mask,
                memory_key_padding_mask=memory_key_padding_mask,
                tgt_is_causal=tgt_is_causal,
                memory_is_causal=memory_is_causal,
            )
        return output if self.norm is None else self.norm(output)


class Transformer(Module):
    """Transformer(d_model=512, nhead=8, num_encoder_layers=6, num_decoder_layers=6, dim_feedforward=2048,
    dropout=0.1, activation=F.relu, custom_encoder=None, custom_decoder=None, layer_norm_eps=1e-5,
    batch_first=False, norm_first=False, bias=True, device=None, dtype=None)

    An encoder of `src` and a decoder of `tgt` that attends to the encoder's output.
    """

    def __init__(
        self,
        d_model=512,
        nhead=8,
        num_encoder_layers=6,
        num_decoder_layers=6,
        dim_feedforward=2048,
        dropout=0.1,
        activation=F.relu,
        custom_encoder=None,
        custom_decoder=None,
        layer_norm_eps=1e-5,
        batch_first=False,
        norm_first=False,
        bias=True,
        device=None,
        dtype=None,
    ):
        super().__init__()
        factory = {"device": device, "dtype": dtype}
        layout = (dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias)

        def norm():
            return LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **factory)

        if custom_encoder is None:
            layer = TransformerEncoderLayer(d_model, nhead, *layout, **factory)
            custom_encoder = TransformerEncoder(layer, num_encoder_layers, norm())
        self.encoder = custom_encoder
        if custom_decoder is None:
            layer = TransformerDecoderLayer(d_model, nhead, *layout, **factory)
            custom_decoder = TransformerDecoder(layer, num_decoder_layers, norm())
        self.decoder = custom_decoder
        self._reset_parameters()
        self.d_model = d_model
        self.nhead = nhead
        self.batch_first = batch_first

    def forward(
        self,
        src,
        tgt,
        src_mask=None,
        tgt_mask=None,
        memory_mask=None,
        src_key_padding_mask=None,
        tgt_key_padding_mask=None,
        memory_key_padding_mask=None,
        src_is_causal=None,
        tgt_is_causal=None,
        memory_is_causal=False,
    ):
        batch_dim = 0 if self.batch_first else 1
        if src.dim() == 3 and src.size(batch_dim) != tgt.size(batch_dim):
            raise RuntimeError("the batch number of src and tgt must be equal")
        if src.size(-1) != self.d_model or tgt.size(-1) != self.d_model:
            raise RuntimeError("the feature number of src and tgt must be equal to d_model")
        memory = self.encoder(
            src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal
        )
        return self.decoder(
            tgt,
            memory,
            tgt_mask=tgt_mask,
            memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask,
            tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )

    @staticmethod
    def generate_square_subsequent_mask(sz, device=None, dtype=None):
        """generate_square_subsequent_mask(sz, device=None, dtype=None): minus infinity above the diagonal."""
        return _causal_mask(sz, device, dtype)

    def _reset_parameters(self):
        for parameter in self.parameters():
            if parameter.dim() > 1:
                xavier_uniform_(parameter)
