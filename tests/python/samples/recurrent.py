# SPDX-License-Identifier: BSD-3-Clause
"""Recurrent layers and cells, packed sequences, transformer, adaptive softmax."""

RTOL = {2: 1e-2, 4: 2e-4, 8: 1e-9}


def passes(torch, kind, **options):
    x = example(torch)
    module = getattr(torch.nn, kind)(4, 5, **options)
    x = x.to(module.weight_ih_l0.dtype)
    output, state = module(x)
    parts = state if isinstance(state, tuple) else (state,)
    (output.sum() + sum((p**2).sum() for p in parts)).backward()
    result = [repr(module), output, state, [(k, p, p.grad) for k, p in module.named_parameters()]]
    if not module.dropout:
        doubled = tuple(p.detach() * 2 for p in parts)
        result += [module(x, doubled if isinstance(state, tuple) else doubled[0]), module(x[:, 0])]
    return result


def packed(torch, kind, **options):
    x, rnn = example(torch), torch.nn.utils.rnn
    module = getattr(torch.nn, kind)(4, 5, **options)
    x = x.to(module.weight_ih_l0.dtype)
    output, state = module(rnn.pack_padded_sequence(x, [7, 4, 2]))
    output.data.sum().backward()
    unsorted = rnn.pack_sequence([x[:3, 0], x[:6, 1], x[:1, 2]], enforce_sorted=False)
    second, final = module(unsorted)
    padded = rnn.pad_packed_sequence(output)
    return [tuple(output), state, tuple(second), final, padded, module.weight_hh_l0.grad]


def cell(torch, kind, **options):
    x = example(torch)
    module = getattr(torch.nn, kind)(4, 5, **options)
    state = module(x[0])
    return [repr(module), state, module(x[1], state), module(x[0, 0]), list(module.named_parameters())]


def transformer(torch, **options):
    module = torch.nn.Transformer(8, 2, 2, 2, 16, 0.0, **options)
    dtype = module.encoder.norm.weight.dtype
    src, tgt = torch.randn(5, 2, 8).to(dtype), torch.randn(4, 2, 8).to(dtype)
    if options.get("batch_first"):
        src, tgt = src.transpose(0, 1), tgt.transpose(0, 1)
    mask = module.generate_square_subsequent_mask(4).to(dtype)
    padding = torch.tensor([[False] * 4 + [True], [False] * 5])
    output = module(src, tgt, tgt_mask=mask, src_key_padding_mask=padding, memory_key_padding_mask=padding)
    (output**2).sum().backward()
    return [repr(module), output, module.decoder.layers[0].linear1.weight.grad, list(module.state_dict())]


def encoder(torch):
    layer = torch.nn.TransformerEncoderLayer(8, 2, 16, 0.0, batch_first=True)
    module = torch.nn.TransformerEncoder(layer, 2)
    x = torch.randn(2, 5, 8)
    mask = torch.nn.Transformer.generate_square_subsequent_mask(5)
    padding = torch.tensor([[False] * 4 + [True], [False] * 5])
    result = [module(x), module(x, src_key_padding_mask=padding), module(x, mask)]
    return result + [module(x, is_causal=True, mask=mask), module(x[0]), module.use_nested_tensor]


def adaptive(torch):
    module = torch.nn.AdaptiveLogSoftmaxWithLoss(8, 20, [5, 10, 15], 2.0, True)
    x, target = torch.randn(6, 8), torch.tensor([0, 4, 7, 12, 19, 3])
    result = module(x, target)
    result.loss.backward()
    grads = [module.head.weight.grad, module.tail[0][0].weight.grad]
    return [repr(module), result.output, result.loss, grads, module.log_prob(x), module.predict(x)]


def example(torch):
    return ((torch.arange(84.0) * 37 % 29 - 14) / 16).reshape(7, 3, 4)


def namespace(torch):
    names = {"torch": torch, "nn": torch.nn, "R": torch.nn.utils.rnn, "x": example(torch)}
    names["s"] = [torch.arange(2.0 * k).reshape(k, 2) for k in (3, 5, 1)]
    for function in (passes, packed, cell, transformer, encoder, adaptive):
        names[function.__name__] = lambda *a, _f=function, **k: _f(torch, *a, **k)
    return names


EXPRESSIONS = [
    'passes("RNN")',
    'packed("RNN")',
    'passes("RNN", num_layers=2)',
    'packed("RNN", num_layers=2)',
    'passes("RNN", bidirectional=True)',
    'packed("RNN", bidirectional=True)',
    'passes("RNN", num_layers=2, bidirectional=True, batch_first=True)',
    'packed("RNN", num_layers=2, bidirectional=True, batch_first=True)',
    'passes("RNN", bias=False)',
    'packed("RNN", bias=False)',
    'passes("RNN", dtype=torch.float64)',
    'packed("RNN", dtype=torch.float64)',
    'passes("RNN", proj_size=2, bidirectional=True, num_layers=2)',
    'packed("RNN", proj_size=2, bidirectional=True, num_layers=2)',
    'passes("RNN", nonlinearity="relu")',
    'packed("RNN", nonlinearity="relu")',
    'passes("RNN", proj_size=9)',
    'passes("RNN", num_layers=0)',
    'passes("RNN", dropout=2.0)',
    'passes("RNN", dropout=0.1)',
    'passes("RNN", bias=3)',
    'passes("RNN", batch_first=1)',
    "nn.RNN(4, 5)(torch.ones(2, 3, 5))",
    "nn.RNN(4, 5)(torch.ones(2, 3, 4, 4))",
    "nn.RNN(4, 5)(x.double())",
    "nn.RNN(4, 5)(x, torch.zeros(1, 3, 6))",
    "nn.RNN(4, 5)(x, torch.zeros(3, 5))",
    "nn.RNN(4, 5)(x[:, 0], torch.zeros(1, 3, 5))",
    "nn.RNN(4.5, 5)",
    "nn.RNN(0, 5)",
    'cell("RNNCell")',
    'cell("RNNCell", bias=False)',
    'cell("RNNCell", nonlinearity="relu")',
    "nn.RNNCell(4, 5)(x)",
    "nn.RNNCell(4, 5)(torch.ones(3, 6))",
    "nn.RNNCell(4, 5)(x[0], torch.zeros(2, 5))",
    "nn.RNNCell(4, 5)(x[0], torch.zeros(3, 6))",
    'passes("LSTM")',
    'packed("LSTM")',
    'passes("LSTM", num_layers=2)',
    'packed("LSTM", num_layers=2)',
    'passes("LSTM", bidirectional=True)',
    'packed("LSTM", bidirectional=True)',
    'passes("LSTM", num_layers=2, bidirectional=True, batch_first=True)',
    'packed("LSTM", num_layers=2, bidirectional=True, batch_first=True)',
    'passes("LSTM", bias=False)',
    'packed("LSTM", bias=False)',
    'passes("LSTM", dtype=torch.float64)',
    'packed("LSTM", dtype=torch.float64)',
    'passes("LSTM", proj_size=2, bidirectional=True, num_layers=2)',
    'packed("LSTM", proj_size=2, bidirectional=True, num_layers=2)',
    'passes("LSTM", nonlinearity="relu")',
    'packed("LSTM", nonlinearity="relu")',
    'passes("LSTM", proj_size=9)',
    'passes("LSTM", num_layers=0)',
    'passes("LSTM", dropout=2.0)',
    'passes("LSTM", dropout=0.1)',
    'passes("LSTM", bias=3)',
    'passes("LSTM", batch_first=1)',
    "nn.LSTM(4, 5)(torch.ones(2, 3, 5))",
    "nn.LSTM(4, 5)(torch.ones(2, 3, 4, 4))",
    "nn.LSTM(4, 5)(x.double())",
    "nn.LSTM(4, 5)(x, (torch.zeros(1, 3, 6), torch.zeros(1, 3, 6)))",
    "nn.LSTM(4, 5)(x, (torch.zeros(3, 5), torch.zeros(3, 5)))",
    "nn.LSTM(4, 5)(x[:, 0], (torch.zeros(1, 3, 5), torch.zeros(1, 3, 5)))",
    "nn.LSTM(4.5, 5)",
    "nn.LSTM(0, 5)",
    'cell("LSTMCell")',
    'cell("LSTMCell", bias=False)',
    "nn.LSTMCell(4, 5)(x)",
    "nn.LSTMCell(4, 5)(torch.ones(3, 6))",
    "nn.LSTMCell(4, 5)(x[0], (torch.zeros(2, 5), torch.zeros(2, 5)))",
    "nn.LSTMCell(4, 5)(x[0], (torch.zeros(3, 6), torch.zeros(3, 6)))",
    'passes("GRU")',
    'packed("GRU")',
    'passes("GRU", num_layers=2)',
    'packed("GRU", num_layers=2)',
    'passes("GRU", bidirectional=True)',
    'packed("GRU", bidirectional=True)',
    'passes("GRU", num_layers=2, bidirectional=True, batch_first=True)',
    'packed("GRU", num_layers=2, bidirectional=True, batch_first=True)',
    'passes("GRU", bias=False)',
    'packed("GRU", bias=False)',
    'passes("GRU", dtype=torch.float64)',
    'packed("GRU", dtype=torch.float64)',
    'passes("GRU", proj_size=2, bidirectional=True, num_layers=2)',
    'packed("GRU", proj_size=2, bidirectional=True, num_layers=2)',
    'passes("GRU", nonlinearity="relu")',
    'packed("GRU", nonlinearity="relu")',
    'passes("GRU", proj_size=9)',
    'passes("GRU", num_layers=0)',
    'passes("GRU", dropout=2.0)',
    'passes("GRU", dropout=0.1)',
    'passes("GRU", bias=3)',
    'passes("GRU", batch_first=1)',
    "nn.GRU(4, 5)(torch.ones(2, 3, 5))",
    "nn.GRU(4, 5)(torch.ones(2, 3, 4, 4))",
    "nn.GRU(4, 5)(x.double())",
    "nn.GRU(4, 5)(x, torch.zeros(1, 3, 6))",
    "nn.GRU(4, 5)(x, torch.zeros(3, 5))",
    "nn.GRU(4, 5)(x[:, 0], torch.zeros(1, 3, 5))",
    "nn.GRU(4.5, 5)",
    "nn.GRU(0, 5)",
    'cell("GRUCell")',
    'cell("GRUCell", bias=False)',
    "nn.GRUCell(4, 5)(x)",
    "nn.GRUCell(4, 5)(torch.ones(3, 6))",
    "nn.GRUCell(4, 5)(x[0], torch.zeros(2, 5))",
    "nn.GRUCell(4, 5)(x[0], torch.zeros(3, 6))",
    'nn.RNN(4, 5, 1, "foo")',
    'nn.RNN(4, 5, 1, "relu", False)',
    "R.pad_sequence(s)",
    "R.pad_sequence(s, True, 9.0)",
    'R.pad_sequence(s, True, 0.0, "left")',
    'R.pad_sequence(s, True, 0.0, "x")',
    "R.pad_sequence(3)",
    "R.pad_sequence([])",
    "R.pack_sequence(s)",
    "tuple(R.pack_sequence(s, False))",
    "R.unpack_sequence(R.pack_sequence(s, False))",
    "R.pad_packed_sequence(R.pack_sequence(s, False), total_length=7, padding_value=-1.0)",
    "R.pad_packed_sequence(R.pack_sequence(s, False), True, total_length=2)",
    "R.unpad_sequence(R.pad_sequence(s, True), torch.tensor([3, 5, 1]), True)",
    "R.pack_padded_sequence(x, [7, 4])",
    "R.pack_padded_sequence(x, [7, 4, 0])",
    "R.pack_padded_sequence(x, [4, 7, 2])",
    "tuple(R.pack_padded_sequence(x, torch.tensor([2, 7, 4]), False, False))",
    "R.pack_sequence(s, False).double().data.dtype",
    "R.invert_permutation(torch.tensor([2, 0, 1]))",
    "transformer()",
    "transformer(norm_first=True)",
    'transformer(activation="gelu")',
    'transformer(activation="x")',
    "transformer(bias=False)",
    "transformer(batch_first=True)",
    "transformer(dtype=torch.float64)",
    "nn.Transformer(8, 2, 1, 1, 16)(torch.ones(5, 2, 8), torch.ones(4, 3, 8))",
    "nn.Transformer(8, 2, 1, 1, 16)(torch.ones(5, 2, 8), torch.ones(4, 2, 9))",
    "encoder()",
    "adaptive()",
    "nn.AdaptiveLogSoftmaxWithLoss(8, 20, [])",
    "nn.AdaptiveLogSoftmaxWithLoss(8, 20, [5, 3])",
    "nn.AdaptiveLogSoftmaxWithLoss(8, 20, [5])(torch.ones(2, 8), torch.tensor([3, 25]))",
    "nn.AdaptiveLogSoftmaxWithLoss(8, 20, [5])(torch.ones(2, 8), torch.tensor([3]))",
    "nn.AdaptiveLogSoftmaxWithLoss(8, 20, [5])(torch.ones(8), torch.tensor([3]))",
]
