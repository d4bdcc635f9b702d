# SPDX-License-Identifier: BSD-3-Clause
"""Recurrent layers as functions: steps, layers over padded or packed sequences, stacks of layers.

The products with the inputs of all steps are one matrix product per layer; a step adds the product with its
state.
"""

import minitorch as torch

F = torch.nn.functional


# --- one step: (product with the input, state, weights) -> state ---


def _rnn_step(activation):
    def step(pre, state, w_hh, b_hh, w_hr):
        return (activation(pre + F.linear(state[0], w_hh, b_hh)),)

    return step


def _lstm_step(pre, state, w_hh, b_hh, w_hr):
    hidden, cell = state
    i, f, g, o = (pre + F.linear(hidden, w_hh, b_hh)).chunk(4, -1)
    cell = torch.sigmoid(f) * cell + torch.sigmoid(i) * torch.tanh(g)
    hidden = torch.sigmoid(o) * torch.tanh(cell)
    if w_hr is not None:
        hidden = F.linear(hidden, w_hr)
    return hidden, cell


def _gru_step(pre, state, w_hh, b_hh, w_hr):
    hidden = state[0]
    reset_in, update_in, new_in = pre.chunk(3, -1)
    reset_h, update_h, new_h = F.linear(hidden, w_hh, b_hh).chunk(3, -1)
    reset = torch.sigmoid(reset_in + reset_h)
    update = torch.sigmoid(update_in + update_h)
    new = torch.tanh(new_in + reset * new_h)
    return ((hidden - new) * update + new,)


_STEPS = {
    "RNN_TANH": _rnn_step(torch.tanh),
    "RNN_RELU": _rnn_step(torch.relu),
    "LSTM": _lstm_step,
    "GRU": _gru_step,
}


def cell(mode, input, state, w_ih, w_hh, b_ih, b_hh):
    """cell(mode, input, state, w_ih, w_hh, b_ih, b_hh) -> tuple: one step from the input itself."""
    return _STEPS[mode](F.linear(input, w_ih, b_ih), state, w_hh, b_hh, None)


# --- one layer in one direction ---


def _padded_layer(step, pre, state, weights, reverse):
    """Over sequences of one length, time first."""
    rows = pre.unbind(0)
    outputs = []
    for row in reversed(rows) if reverse else rows:
        state = step(row, state, *weights)
        outputs.append(state[0])
    if reverse:
        outputs.reverse()
    return torch.stack(outputs), state


def _packed_forward(step, rows, state, weights):
    """The longest sequences come first; those that end leave their state behind."""
    outputs, finals = [], []
    for row in rows:
        size, known = row.shape[0], state[0].shape[0]
        if size < known:
            finals.append(tuple([part[size:] for part in state]))
            state = tuple([part[:size] for part in state])
        state = step(row, state, *weights)
        outputs.append(state[0])
    finals.append(state)
    finals.reverse()
    return torch.cat(outputs), tuple([torch.cat(parts) for parts in zip(*finals)])


def _packed_reverse(step, rows, initial, weights):
    """Sequences join when the walk from the end reaches their last element."""
    state = tuple([part[: rows[-1].shape[0]] for part in initial])
    outputs = []
    for row in reversed(rows):
        size, known = row.shape[0], state[0].shape[0]
        if size > known:
            state = tuple([torch.cat((part, new[known:size])) for part, new in zip(state, initial)])
        state = step(row, state, *weights)
        outputs.append(state[0])
    outputs.reverse()
    return torch.cat(outputs), state


# --- stacks ---


def run(mode, input, state, weights, layout, batch_sizes=None):
    """run(mode, input, state, weights, layout, batch_sizes=None) -> output, final state (tuple)

    `state` is a tuple of tensors (layer and direction, batch, size); `weights` a flat list; `layout` has
    bias, num_layers, dropout, training, bidirectional, batch_first.  With `batch_sizes`, `input` is packed.
    """
    per_layer = (4 if layout.bias else 2) + (len(state) == 2 and layout.proj_size > 0)
    directions = 2 if layout.bidirectional else 1
    sizes = None if batch_sizes is None else batch_sizes.tolist()
    if sizes is None and layout.batch_first:
        input = input.transpose(0, 1)
    finals, at = [], 0
    for layer in range(layout.num_layers):
        outputs = []
        for direction in range(directions):
            given = weights[at : at + per_layer]
            at += per_layer
            start = tuple([part[layer * directions + direction] for part in state])
            output, final = _direction(mode, input, start, given, layout.bias, direction == 1, sizes)
            outputs.append(output)
            finals.append(final)
        input = outputs[0] if directions == 1 else torch.cat(outputs, -1)
        if layout.dropout and layout.training and layer + 1 < layout.num_layers:
            input = F.dropout(input, layout.dropout, True)
    if sizes is None and layout.batch_first:
        input = input.transpose(0, 1)
    return input, tuple([torch.stack(parts) for parts in zip(*finals)])


def _direction(mode, input, state, given, bias, reverse, sizes):
    w_ih, w_hh = given[:2]
    b_ih, b_hh = given[2:4] if bias else (None, None)
    w_hr = given[-1] if len(given) % 2 else None
    pre = F.linear(input, w_ih, b_ih)
    weights, step = (w_hh, b_hh, w_hr), _STEPS[mode]
    if sizes is None:
        return _padded_layer(step, pre, state, weights, reverse)
    rows = pre.split(sizes)
    return (_packed_reverse if reverse else _packed_forward)(step, rows, state, weights)
