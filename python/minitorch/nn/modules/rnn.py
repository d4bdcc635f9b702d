# SPDX-License-Identifier: BSD-3-Clause
"""Recurrent layers: RNN, LSTM, GRU, and their cells."""

import math
import numbers
import warnings

import minitorch as torch
from minitorch.nn import _rnn_functions, init
from minitorch.nn.modules.module import Module
from minitorch.nn.parameter import Parameter
from minitorch.nn.utils.rnn import PackedSequence

__all__ = ["RNNBase", "RNN", "LSTM", "GRU", "RNNCellBase", "RNNCell", "LSTMCell", "GRUCell"]

_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}


def _apply_permutation(tensor, permutation, dim=1):
    return tensor.index_select(dim, permutation)


def apply_permutation(tensor, permutation, dim=1):
    """apply_permutation(tensor, permutation, dim=1): deprecated name of index_select."""
    warnings.warn(
        "`apply_permutation` is deprecated, please use `tensor.index_select(dim, permutation)` instead",
        FutureWarning,
        stacklevel=2,
    )
    return _apply_permutation(tensor, permutation, dim)


def _reset(module):
    stdv = 1.0 / math.sqrt(module.hidden_size) if module.hidden_size > 0 else 0
    for weight in module.parameters():
        init.uniform_(weight, -stdv, stdv)


def _check_kind(name, value, kind):
    if not isinstance(value, kind):
        raise TypeError("%s should be of type %s, got: %s" % (name, kind.__name__, type(value).__name__))


def _check_arguments(input_size, hidden_size, num_layers, bias, batch_first, dropout, proj_size):
    if not isinstance(dropout, numbers.Number) or not 0 <= dropout <= 1 or isinstance(dropout, bool):
        raise ValueError(
            "dropout should be a number in range [0, 1] representing the probability of an element being "
            "zeroed"
        )
    if dropout > 0 and num_layers == 1:
        warnings.warn(
            "dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects "
            "num_layers greater than 1, but got dropout=%s and num_layers=%s" % (dropout, num_layers),
            stacklevel=4,
        )
    _check_kind("bias", bias, bool)
    _check_kind("batch_first", batch_first, bool)
    for name, size in (("input_size", input_size), ("hidden_size", hidden_size)):
        _check_kind(name, size, int)
        if size <= 0:
            raise ValueError("%s must be greater than zero" % name)
    if num_layers <= 0:
        raise ValueError("num_layers must be greater than zero")
    if proj_size < 0:
        raise ValueError("proj_size should be a positive integer or zero to disable projections")
    if proj_size >= hidden_size:
        raise ValueError("proj_size has to be smaller than hidden_size")


class RNNBase(Module):
    """What RNN, LSTM and GRU share: parameters by layer and direction, checks, the run over the sequence."""

    __constants__ = [
        "mode",
        "input_size",
        "hidden_size",
        "num_layers",
        "bias",
        "batch_first",
        "dropout",
        "bidirectional",
        "proj_size",
    ]

    def __init__(
        self,
        mode,
        input_size,
        hidden_size,
        num_layers=1,
        bias=True,
        batch_first=False,
        dropout=0.0,
        bidirectional=False,
        proj_size=0,
        device=None,
        dtype=None,
    ):
        super().__init__()
        _check_arguments(input_size, hidden_size, num_layers, bias, batch_first, dropout, proj_size)
        if mode not in _GATES:
            raise ValueError("Unrecognized RNN mode: " + mode)
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        self._all_weights = []
        for layer in range(num_layers):
            for suffix in ("", "_reverse") if bidirectional else ("",):
                self._add_layer(layer, suffix, {"device": device, "dtype": dtype})
        self.reset_parameters()

    def _add_layer(self, layer, suffix, factory):
        gates = _GATES[self.mode] * self.hidden_size
        out = self.proj_size or self.hidden_size
        width = self.input_size if layer == 0 else out * (2 if self.bidirectional else 1)
        shapes = {"weight_ih": (gates, width), "weight_hh": (gates, out)}
        if self.bias:
            shapes.update(bias_ih=(gates,), bias_hh=(gates,))
        if self.proj_size:
            shapes["weight_hr"] = (self.proj_size, self.hidden_size)
        names = []
        for kind, shape in shapes.items():
            names.append("%s_l%d%s" % (kind, layer, suffix))
            setattr(self, names[-1], Parameter(torch.empty(shape, **factory)))
        self._all_weights.append(names)

    @property
    def _flat_weights_names(self):
        return [name for names in self._all_weights for name in names]

    @property
    def _flat_weights(self):
        given = self.__dict__.get("_given_weights")
        return [getattr(self, name, None) for name in self._flat_weights_names] if given is None else given

    @_flat_weights.setter
    def _flat_weights(self, weights):
        """Other weights for the run, as functional copies of modules set them; until a parameter is set."""
        self.__dict__["_given_weights"] = weights

    def __setattr__(self, name, value):
        if "_given_weights" in self.__dict__ and name in self._flat_weights_names:
            del self.__dict__["_given_weights"]
        super().__setattr__(name, value)

    @property
    def all_weights(self):
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    def flatten_parameters(self):
        """flatten_parameters(): nothing to do; parameters need not lie side by side here."""

    def reset_parameters(self):
        _reset(self)

    # --- checks ---

    def check_input(self, input, batch_sizes):
        weight = self._flat_weights[0]
        if input.dtype != weight.dtype:
            raise ValueError(
                "RNN input dtype (%s) does not match weight dtype (%s). Convert input: input.to(%s), or "
                "convert model: model.to(%s)" % (input.dtype, weight.dtype, weight.dtype, input.dtype)
            )
        expected = 3 if batch_sizes is None else 2
        if input.dim() != expected:
            raise RuntimeError("input must have %d dimensions, got %d" % (expected, input.dim()))
        if self.input_size != input.size(-1):
            raise RuntimeError(
                "input.size(-1) must be equal to input_size. Expected %d, got %d"
                % (self.input_size, input.size(-1))
            )

    def _expected_size(self, input, batch_sizes, size):
        if batch_sizes is not None:
            batch = int(batch_sizes[0])
        else:
            batch = input.size(0) if self.batch_first else input.size(1)
        return self.num_layers * (2 if self.bidirectional else 1), batch, size

    def get_expected_hidden_size(self, input, batch_sizes):
        return self._expected_size(input, batch_sizes, self.proj_size or self.hidden_size)

    def check_hidden_size(self, hx, expected_hidden_size, msg="Expected hidden size {}, got {}"):
        if hx.size() != expected_hidden_size:
            raise RuntimeError(msg.format(expected_hidden_size, list(hx.size())))

    def check_forward_args(self, input, hidden, batch_sizes):
        self.check_input(input, batch_sizes)
        self.check_hidden_size(hidden, self.get_expected_hidden_size(input, batch_sizes))

    def permute_hidden(self, hx, permutation):
        return hx if permutation is None else _apply_permutation(hx, permutation)

    def extra_repr(self):
        text = "%d, %d" % (self.input_size, self.hidden_size)
        defaults = {
            "proj_size": 0,
            "num_layers": 1,
            "bias": True,
            "batch_first": False,
            "dropout": 0,
            "bidirectional": False,
        }
        for name, default in defaults.items():
            value = getattr(self, name)
            if value != default:
                text += ", %s=%s" % (name, value)
        return text

    # --- the run ---

    def _zero_state(self, input, batch):
        count = self.num_layers * (2 if self.bidirectional else 1)
        return torch.zeros(count, batch, self.hidden_size, dtype=input.dtype, device=input.device)

    def _check_state_dims(self, hx, batched):
        if batched and hx.dim() != 3:
            raise RuntimeError("For batched 3-D input, hx should also be 3-D but got %d-D tensor" % hx.dim())
        if not batched and hx.dim() != 2:
            raise RuntimeError(
                "For unbatched 2-D input, hx should also be 2-D but got %d-D tensor" % hx.dim()
            )
        return hx if batched else hx.unsqueeze(1)

    def _squeeze_state(self, hidden):
        return hidden.squeeze(1)

    def _run(self, input, hx, batch_sizes):
        output, state = _rnn_functions.run(self.mode, input, (hx,), self._flat_weights, self, batch_sizes)
        return output, state[0]

    def forward(self, input, hx=None):
        if isinstance(input, PackedSequence):
            data, batch_sizes, sorted_indices, unsorted_indices = input
            if hx is None:
                hx = self._zero_state(data, int(batch_sizes[0]))
            else:
                hx = self.permute_hidden(hx, sorted_indices)
            self.check_forward_args(data, hx, batch_sizes)
            output, hidden = self._run(data, hx, batch_sizes)
            packed = PackedSequence(output, batch_sizes, sorted_indices, unsorted_indices)
            return packed, self.permute_hidden(hidden, unsorted_indices)
        if input.dim() not in (2, 3):
            name = type(self).__name__
            raise ValueError(
                "%s: Expected input to be 2D or 3D, got %dD%s instead"
                % (name, input.dim(), " tensor" if name == "RNN" else "")
            )
        batched, batch_dim = input.dim() == 3, 0 if self.batch_first else 1
        if not batched:
            input = input.unsqueeze(batch_dim)
        if hx is None:
            hx = self._zero_state(input, input.size(batch_dim))
        else:
            hx = self._check_state_dims(hx, batched)
        self.check_forward_args(input, hx, None)
        output, hidden = self._run(input, hx, None)
        if batched:
            return output, hidden
        return output.squeeze(batch_dim), self._squeeze_state(hidden)


class RNN(RNNBase):
    """RNN(input_size, hidden_size, num_layers=1, nonlinearity='tanh', bias=True, batch_first=False,
    dropout=0.0, bidirectional=False, device=None, dtype=None)

    Every step: h = tanh(x W_ih + b_ih + h W_hh + b_hh).  Returns the outputs of all steps and the last state.

    Example::

        >>> output, hidden = nn.RNN(3, 5)(torch.ones(7, 2, 3))
        >>> output.shape, hidden.shape
        (torch.Size([7, 2, 5]), torch.Size([1, 2, 5]))
    """

    def __init__(self, *args, **kwargs):
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        if len(args) > 3:
            nonlinearity, args = args[3], args[:3] + args[4:]
        else:
            nonlinearity = kwargs.pop("nonlinearity", "tanh")
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError("Unknown nonlinearity '%s'. Select from 'tanh' or 'relu'." % (nonlinearity,))
        super().__init__("RNN_" + nonlinearity.upper(), *args, **kwargs)
        self.nonlinearity = nonlinearity


class GRU(RNNBase):
    """GRU(input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0,
    bidirectional=False, device=None, dtype=None)

    Gated recurrent units.  Returns the outputs of all steps and the last state.
    """

    def __init__(self, *args, **kwargs):
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        super().__init__("GRU", *args, **kwargs)


class LSTM(RNNBase):
    """LSTM(input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0,
    bidirectional=False, proj_size=0, device=None, dtype=None)

    Long short-term memory.  Returns the outputs of all steps and the last state (hidden, cell).

    Example::

        >>> output, (hidden, cell) = nn.LSTM(3, 5, batch_first=True)(torch.ones(2, 7, 3))
        >>> output.shape, cell.shape
        (torch.Size([2, 7, 5]), torch.Size([1, 2, 5]))
    """

    def __init__(self, *args, **kwargs):
        super().__init__("LSTM", *args, **kwargs)

    def get_expected_cell_size(self, input, batch_sizes):
        return self._expected_size(input, batch_sizes, self.hidden_size)

    def check_forward_args(self, input, hidden, batch_sizes):
        self.check_input(input, batch_sizes)
        sizes = (
            self.get_expected_hidden_size(input, batch_sizes),
            self.get_expected_cell_size(input, batch_sizes),
        )
        for i, size in enumerate(sizes):
            self.check_hidden_size(hidden[i], size, "Expected hidden[%d] size {}, got {}" % i)

    def permute_hidden(self, hx, permutation):
        if permutation is None:
            return hx
        return _apply_permutation(hx[0], permutation), _apply_permutation(hx[1], permutation)

    def _zero_state(self, input, batch):
        cell = super()._zero_state(input, batch)
        if not self.proj_size:
            return cell, cell.clone()
        return cell.new_zeros(cell.size(0), batch, self.proj_size), cell

    def _check_state_dims(self, hx, batched):
        kind, want = ("batched 3-D", 3) if batched else ("unbatched 2-D", 2)
        if hx[0].dim() != want or hx[1].dim() != want:
            raise RuntimeError(
                "For %s input, hx and cx should also be %d-D but got (%d-D, %d-D) tensors"
                % (kind, want, hx[0].dim(), hx[1].dim())
            )
        return hx if batched else (hx[0].unsqueeze(1), hx[1].unsqueeze(1))

    def _squeeze_state(self, hidden):
        return hidden[0].squeeze(1), hidden[1].squeeze(1)

    def _run(self, input, hx, batch_sizes):
        if torch.is_autocast_enabled(input.device.type):
            # As the fused kernels do, which take everything in one dtype.
            dtype = torch.get_autocast_dtype(input.device.type)
            input, hx = input.to(dtype), [h.to(dtype) for h in hx]
        return _rnn_functions.run(self.mode, input, tuple(hx), self._flat_weights, self, batch_sizes)


# --- cells ---


class RNNCellBase(Module):
    """What the cells share: two products with their weights."""

    __constants__ = ["input_size", "hidden_size", "bias"]

    def __init__(self, input_size, hidden_size, bias, num_chunks, device=None, dtype=None):
        super().__init__()
        factory = {"device": device, "dtype": dtype}
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        gates = num_chunks * hidden_size
        self.weight_ih = Parameter(torch.empty((gates, input_size), **factory))
        self.weight_hh = Parameter(torch.empty((gates, hidden_size), **factory))
        if bias:
            self.bias_ih = Parameter(torch.empty(gates, **factory))
            self.bias_hh = Parameter(torch.empty(gates, **factory))
        else:
            self.register_parameter("bias_ih", None)
            self.register_parameter("bias_hh", None)
        self.reset_parameters()

    def extra_repr(self):
        text = "%d, %d" % (self.input_size, self.hidden_size)
        if self.bias is not True:
            text += ", bias=%s" % self.bias
        if getattr(self, "nonlinearity", "tanh") != "tanh":
            text += ", nonlinearity=%s" % self.nonlinearity
        return text

    def reset_parameters(self):
        _reset(self)

    def _check_dims(self, value, what):
        if value.dim() not in (1, 2):
            raise ValueError(
                "%s: Expected %s to be 1D or 2D, got %dD instead" % (type(self).__name__, what, value.dim())
            )

    def _step(self, mode, input, state, names):
        """One step on a batch; single samples become batches of one for it."""
        self._check_dims(input, "input")
        for value, name in zip(state or (), names):
            self._check_dims(value, name)
        batched = input.dim() == 2
        if not batched:
            input = input.unsqueeze(0)
        if state is None:
            zeros = torch.zeros(input.size(0), self.hidden_size, dtype=input.dtype, device=input.device)
            state = (zeros,) * len(names)
        elif not batched:
            state = [value.unsqueeze(0) for value in state]
        for value in state:
            self._check_sizes(input, value)
        result = _rnn_functions.cell(
            mode, input, tuple(state), self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh
        )
        return result if batched else tuple([value.squeeze(0) for value in result])

    def _check_sizes(self, input, hidden):
        if input.size(1) != self.input_size:
            raise RuntimeError(
                "input has inconsistent input_size: got %d expected %d" % (input.size(1), self.input_size)
            )
        if input.size(0) != hidden.size(0):
            raise RuntimeError(
                "Input batch size %d doesn't match hidden0 batch size %d" % (input.size(0), hidden.size(0))
            )
        if hidden.size(1) != self.hidden_size:
            raise RuntimeError(
                "hidden0 has inconsistent hidden_size: got %d, expected %d"
                % (hidden.size(1), self.hidden_size)
            )


class RNNCell(RNNCellBase):
    """RNNCell(input_size, hidden_size, bias=True, nonlinearity='tanh', device=None, dtype=None): one step of
    RNN."""

    __constants__ = ["input_size", "hidden_size", "bias", "nonlinearity"]

    def __init__(self, input_size, hidden_size, bias=True, nonlinearity="tanh", device=None, dtype=None):
        super().__init__(input_size, hidden_size, bias, num_chunks=1, device=device, dtype=dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input, hx=None):
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError("Unknown nonlinearity: %s" % (self.nonlinearity,))
        mode = "RNN_" + self.nonlinearity.upper()
        return self._step(mode, input, None if hx is None else (hx,), ("hidden",))[0]


class LSTMCell(RNNCellBase):
    """LSTMCell(input_size, hidden_size, bias=True, device=None, dtype=None): one step of LSTM."""

    def __init__(self, input_size, hidden_size, bias=True, device=None, dtype=None):
        super().__init__(input_size, hidden_size, bias, num_chunks=4, device=device, dtype=dtype)

    def forward(self, input, hx=None):
        return self._step("LSTM", input, hx, ("hx[0]", "hx[1]"))


class GRUCell(RNNCellBase):
    """GRUCell(input_size, hidden_size, bias=True, device=None, dtype=None): one step of GRU."""

    def __init__(self, input_size, hidden_size, bias=True, device=None, dtype=None):
        super().__init__(input_size, hidden_size, bias, num_chunks=3, device=device, dtype=dtype)

    def forward(self, input, hx=None):
        return self._step("GRU", input, None if hx is None else (hx,), ("hidden",))[0]
