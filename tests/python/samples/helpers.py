# SPDX-License-Identifier: BSD-3-Clause
"""nn.utils, optim.swa_utils, and the rarer optimizers."""

import importlib

RTOL = {2: 2e-2, 4: 2e-4, 8: 1e-9}


def example(torch):
    return ((torch.arange(20.0) * 37 % 29 - 14) / 16).reshape(5, 4)


def weight_norm(torch, dim):
    x, utils = example(torch), torch.nn.utils
    module = utils.weight_norm(torch.nn.Linear(4, 3), dim=dim)
    output = module(x)
    (output**2).sum().backward()
    result = [output, list(module.state_dict()), module.weight_g.grad, module.weight_v.grad, module.weight_g]
    utils.remove_weight_norm(module)
    return result + [module(x), list(module.state_dict())]


def spectral_norm(torch, module, x, **options):
    module = torch.nn.utils.spectral_norm(module, **options)
    outputs = [module(x) for _ in range(3)]
    (outputs[-1] ** 2).sum().backward()
    module.eval()
    result = outputs + [module(x), module.state_dict(), module.weight_orig.grad]
    torch.nn.utils.remove_spectral_norm(module)
    return result + [module(x), list(module.state_dict())]


def fusion(torch):
    nn = torch.nn
    conv, norm = nn.Conv2d(2, 3, 2), nn.BatchNorm2d(3)
    linear, flat = nn.Linear(4, 3), nn.BatchNorm1d(3)
    norm(((torch.arange(96.0) * 37 % 29 - 14) / 16).reshape(2, 3, 4, 4))
    flat(((torch.arange(12.0) * 37 % 29 - 14) / 16).reshape(4, 3))
    for module in (conv, norm, linear, flat):
        module.eval()
    fused = nn.utils.fuse_conv_bn_eval(conv, norm), nn.utils.fuse_linear_bn_eval(linear, flat)
    return [fused[0](torch.ones(1, 2, 4, 4)), fused[1](example(torch))]


def functional_call(torch, given, **options):
    module = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.BatchNorm1d(3))
    weight = module[0].weight
    call = importlib.import_module(torch.__name__ + ".nn.utils.stateless").functional_call
    return [call(module, given, example(torch), **options), module[0].weight is weight, given]


def _with_grads(torch, grads):
    parameters = []
    for grad in grads:
        parameters.append(torch.nn.Parameter(torch.zeros(len(grad))))
        parameters[-1].grad = torch.tensor(grad)
    return parameters


def clip(torch, grads, limit, **options):
    parameters = _with_grads(torch, grads)
    return [torch.nn.utils.clip_grad_norm_(parameters, limit, **options), [p.grad for p in parameters]]


def clip_value(torch, grads, limit):
    parameters = _with_grads(torch, grads)
    torch.nn.utils.clip_grad_value_(parameters, limit)
    return [p.grad for p in parameters]


def vectors(torch):
    module = torch.nn.Linear(2, 3)
    vector = torch.nn.utils.parameters_to_vector(module.parameters())
    torch.nn.utils.vector_to_parameters(vector * 2, module.parameters())
    return [vector, module.weight, module.bias]


def trajectory(torch, name, shapes, **options):
    ps = [torch.nn.Parameter(torch.randn(shape)) for shape in shapes]
    targets = [torch.randn(shape) for shape in shapes]
    optimizer, losses = getattr(torch.optim, name)(ps, **options), []
    for _ in range(6):
        optimizer.zero_grad()
        loss = sum(((p - t) ** 4).sum() for p, t in zip(ps, targets))
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return losses, ps, repr(optimizer)


def swa(torch):
    return importlib.import_module(torch.__name__ + ".optim.swa_utils")


def averages(torch, **options):
    module = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.BatchNorm1d(3))
    average, x = swa(torch).AveragedModel(module, **options), example(torch)
    for _ in range(4):
        with torch.no_grad():
            for p in module.parameters():
                p.add_(torch.randn_like(p))
        module(x)
        average.update_parameters(module)
    swa(torch).update_bn([x, (x * 2, 1)], average)
    return [average.state_dict(), average(x)]


def swalr(torch, **options):
    optimizer = torch.optim.SGD([torch.ones(1)], lr=0.5)
    scheduler, rates = swa(torch).SWALR(optimizer, **options), []
    for _ in range(8):
        optimizer.step()
        scheduler.step()
        rates.append(scheduler.get_last_lr())
    return rates


def namespace(torch):
    names = {"torch": torch, "nn": torch.nn, "S": swa(torch), "x": example(torch)}
    functions = (weight_norm, spectral_norm, fusion, functional_call, clip, clip_value, vectors, trajectory)
    for function in functions + (averages, swalr):
        names[function.__name__] = lambda *a, _f=function, **k: _f(torch, *a, **k)
    return names


EXPRESSIONS = [
    "weight_norm(0)",
    "weight_norm(1)",
    "weight_norm(None)",
    "nn.utils.remove_weight_norm(nn.Linear(4, 3))",
    "nn.utils.weight_norm(nn.utils.weight_norm(nn.Linear(4, 3)))",
    "spectral_norm(nn.Linear(4, 3), x)",
    "spectral_norm(nn.Conv2d(2, 3, 2), torch.ones(1, 2, 4, 4), n_power_iterations=2)",
    "nn.utils.spectral_norm(nn.Linear(4, 3), n_power_iterations=0)",
    "nn.utils.remove_spectral_norm(nn.Linear(4, 3))",
    "fusion()",
    "nn.utils.fuse_conv_bn_eval(nn.Conv2d(2, 3, 2), nn.BatchNorm2d(3))",
    "nn.utils.skip_init(nn.Linear, 3, 4).weight.shape",
    "nn.utils.skip_init(nn.Flatten)",
    "functional_call({'0.weight': torch.ones(3, 4)})",
    "functional_call({'0.weight': torch.ones(3, 4), '1.running_mean': torch.ones(3)})",
    "functional_call({'0.weight': torch.ones(3, 4)}, strict=True)",
    "functional_call({'0.q': torch.ones(3, 4)}, strict=True)",
    "clip([[3.0, 4.0], [0.0, 12.0]], 1.0)",
    "clip([[3.0, 4.0], [0.0, 12.0]], 100.0)",
    "clip([[3.0, 4.0], [0.0, 12.0]], 1.0, norm_type=1)",
    'clip([[3.0, 4.0], [0.0, 12.0]], 1.0, norm_type=float("inf"))',
    'clip([[3.0, float("nan")]], 1.0, error_if_nonfinite=True)',
    'clip([[3.0, float("nan")]], 1.0)',
    "clip([], 1.0)",
    "clip_value([[3.0, -4.0]], 1.5)",
    "vectors()",
    "nn.utils.vector_to_parameters([1], nn.Linear(2, 2).parameters())",
    "trajectory('Adafactor', [(3, 4), (5,), (2, 3, 4)])",
    "trajectory('Adafactor', [(3, 4), (5,)], lr=0.1, weight_decay=0.1)",
    "trajectory('Adafactor', [(3, 4)], maximize=True)",
    "trajectory('Adafactor', [(3, 4)], d=0.5)",
    "trajectory('Adafactor', [(3, 4)], beta2_decay=1)",
    "trajectory('Muon', [(3, 4), (5, 2)])",
    "trajectory('Muon', [(3, 4), (5, 2)], lr=0.1, nesterov=False)",
    "trajectory('Muon', [(3, 4)], adjust_lr_fn='match_rms_adamw')",
    "trajectory('Muon', [(3, 4)], adjust_lr_fn='x')",
    "torch.optim.Muon([torch.ones(3)])",
    "averages()",
    "averages(use_buffers=True)",
    "averages(avg_fn=S.get_ema_avg_fn(0.9))",
    "averages(multi_avg_fn=S.get_ema_multi_avg_fn(0.9))",
    "averages(multi_avg_fn=1, avg_fn=1)",
    "averages(avg_fn=S.get_ema_avg_fn(2))",
    "swalr(swa_lr=0.05)",
    "swalr(swa_lr=0.05, anneal_epochs=3, anneal_strategy='linear')",
    "swalr(swa_lr=[0.1], anneal_epochs=0)",
    "swalr(swa_lr=0.05, anneal_strategy='x')",
    "swalr(swa_lr=0.05, anneal_epochs=-1)",
]
