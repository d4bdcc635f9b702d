# SPDX-License-Identifier: BSD-3-Clause
"""Optimizers: trajectories, state, resuming, errors, hooks."""

import copy
import importlib
import pickle

RTOL = {2: 1e-2, 4: 1e-4, 8: 1e-10}


def parameters(torch, dtype):
    shapes = [(3, 4), (5,), (2, 2, 2), (2,)]
    return [torch.nn.Parameter(torch.randn(shape, dtype=dtype)) for shape in shapes]


def loss_of(name, p, target):
    error = p - target
    if not p.is_complex():
        return (error**4).sum() + (error**2).sum()
    size = (error * error.conj()).real
    return (size if name == "LBFGS" else size**2).sum()


def hooks_of(torch):
    return importlib.import_module(torch.__name__ + ".optim.optimizer")


def run(torch, name, dtype, options, resume=False):
    """Losses of 12 steps with two groups, once without one gradient; then values, state and text."""
    torch.manual_seed(0)
    kind = getattr(torch.optim, name)
    ps = parameters(torch, dtype)
    targets = [torch.randn_like(p) for p in ps]
    grouped = name != "LBFGS"

    def make():
        optimizer = kind(ps[:3] if grouped else ps, **options)
        if grouped:
            optimizer.add_param_group({"params": [ps[3]], "lr": 0.05})
        return optimizer

    optimizer, losses = make(), []

    def closure():
        optimizer.zero_grad()
        loss = sum(loss_of(name, p, t) for p, t in zip(ps, targets))
        loss.backward()
        return loss

    for i in range(12):
        if grouped:
            loss = closure()
            if i == 3:
                ps[1].grad = None
            optimizer.step()
        else:
            loss = optimizer.step(closure)
        losses.append(loss.detach())
        if resume and i == 4:
            saved = copy.deepcopy(optimizer.state_dict())
            optimizer = make()
            optimizer.load_state_dict(saved)
    # What LBFGS keeps near the minimum is rounding error.
    state = optimizer.state_dict() if grouped else sorted(optimizer.state_dict()["state"][0])
    return losses, [p.detach().clone() for p in ps], state, repr(optimizer)


def step_hooks(torch):
    x = torch.ones(2, requires_grad=True)
    log = []
    o = torch.optim.SGD([x], lr=0.1)
    o.register_step_pre_hook(lambda *a: log.append("pre"))
    o.register_step_post_hook(lambda *a: log.append("post"))
    h = hooks_of(torch).register_optimizer_step_pre_hook(lambda *a: log.append("gpre"))
    h2 = hooks_of(torch).register_optimizer_step_post_hook(lambda *a: log.append("gpost"))
    o.step()
    h.remove()
    h2.remove()
    o.step()
    return log


def pickled(torch):
    o = torch.optim.SGD([torch.ones(2)], lr=0.1, momentum=0.5)
    return pickle.loads(pickle.dumps(o))


def tensor_lr(torch):
    p = torch.ones(2, requires_grad=True)
    o = torch.optim.Adam([p], lr=torch.tensor(0.1))
    p.sum().backward()
    o.step()
    o2 = torch.optim.SGD([p], lr=torch.tensor([0.1]))
    o2.step()
    return p


def closure(torch):
    p = torch.ones(2, requires_grad=True)
    o = torch.optim.SGD([p], lr=0.1)

    def c():
        o.zero_grad()
        loss = (p * p).sum()
        loss.backward()
        return loss

    return [o.step(c), p, torch.is_grad_enabled()]


def zero_grad(torch):
    p = torch.ones(2, requires_grad=True)
    o = torch.optim.SGD([p], lr=0.1)
    p.sum().backward()
    g = p.grad
    o.zero_grad(False)
    r = [p.grad is g, p.grad]
    o.zero_grad()
    return r + [p.grad]


def state_dict_hooks(torch):
    x = torch.ones(2, requires_grad=True)
    o = torch.optim.SGD([x], lr=0.1)
    o.register_state_dict_pre_hook(lambda o: None)
    o.register_state_dict_post_hook(lambda o, s: {"z": 1})
    r = [o.state_dict()]
    o = torch.optim.SGD([x], lr=0.1)
    o.register_load_state_dict_pre_hook(lambda o, s: s)
    o.register_load_state_dict_post_hook(lambda o: r.append("x"))
    o.load_state_dict(o.state_dict())
    return r


def differentiable(torch):
    p = torch.ones(2, requires_grad=True).clone()
    g = torch.ones(2, requires_grad=True)
    p.retain_grad()
    o = torch.optim.SGD([p], lr=0.1, differentiable=True)
    p.grad = g * 2
    o.step()
    return [p.requires_grad, torch.autograd.grad(p.sum(), g)]


def subclass(torch):
    x = torch.ones(2, requires_grad=True)

    class My(torch.optim.Optimizer):
        def __init__(self, p):
            super().__init__(p, {"lr": 1})

        @torch.no_grad()
        def step(self):
            return 5

    return My([x]).step()


def namespace(torch):
    names = dict(globals(), torch=torch, optim=torch.optim, x=torch.ones(2, requires_grad=True))
    names["run"] = lambda *args, **kwargs: run(torch, *args, **kwargs)
    return names


EXPRESSIONS = [
    "run('SGD', torch.float32, dict())",
    "run('SGD', torch.float64, dict())",
    "run('SGD', torch.float64, dict(), resume=True)",
    "run('SGD', torch.complex64, dict())",
    "run('SGD', torch.float32, dict(lr=0.002, momentum=0.9))",
    "run('SGD', torch.float64, dict(lr=0.002, momentum=0.9))",
    "run('SGD', torch.float64, dict(lr=0.002, momentum=0.9), resume=True)",
    "run('SGD', torch.complex64, dict(lr=0.002, momentum=0.9))",
    "run('SGD', torch.float32, dict(lr=0.01, momentum=0.9, nesterov=True, weight_decay=0.1))",
    "run('SGD', torch.float64, dict(lr=0.01, momentum=0.9, nesterov=True, weight_decay=0.1))",
    "run('SGD', torch.float64, dict(lr=0.01, momentum=0.9, nesterov=True, weight_decay=0.1), resume=True)",
    "run('SGD', torch.complex64, dict(lr=0.01, momentum=0.9, nesterov=True, weight_decay=0.1))",
    "run('SGD', torch.float32, dict(lr=0.01, momentum=0.9, dampening=0.3, maximize=True))",
    "run('SGD', torch.float64, dict(lr=0.01, momentum=0.9, dampening=0.3, maximize=True))",
    "run('SGD', torch.float64, dict(lr=0.01, momentum=0.9, dampening=0.3, maximize=True), resume=True)",
    "run('SGD', torch.complex64, dict(lr=0.01, momentum=0.9, dampening=0.3, maximize=True))",
    "run('Adam', torch.float32, dict())",
    "run('Adam', torch.float64, dict())",
    "run('Adam', torch.float64, dict(), resume=True)",
    "run('Adam', torch.complex64, dict())",
    "run('Adam', torch.float32, dict(lr=0.01, amsgrad=True, weight_decay=0.1))",
    "run('Adam', torch.float64, dict(lr=0.01, amsgrad=True, weight_decay=0.1))",
    "run('Adam', torch.float64, dict(lr=0.01, amsgrad=True, weight_decay=0.1), resume=True)",
    "run('Adam', torch.complex64, dict(lr=0.01, amsgrad=True, weight_decay=0.1))",
    "run('Adam', torch.float32, dict(lr=0.01, maximize=True, decoupled_weight_decay=True, weight_decay=0.1))",
    "run('Adam', torch.float64, dict(lr=0.01, maximize=True, decoupled_weight_decay=True, weight_decay=0.1))",
    "run('Adam', torch.float64, dict(lr=0.01, maximize=True, decoupled_weight_decay=True, "
    "weight_decay=0.1), resume=True)",
    "run('Adam', torch.complex64, dict(lr=0.01, maximize=True, decoupled_weight_decay=True, "
    "weight_decay=0.1))",
    "run('AdamW', torch.float32, dict())",
    "run('AdamW', torch.float64, dict())",
    "run('AdamW', torch.float64, dict(), resume=True)",
    "run('AdamW', torch.complex64, dict())",
    "run('AdamW', torch.float32, dict(lr=0.1, amsgrad=True))",
    "run('AdamW', torch.float64, dict(lr=0.1, amsgrad=True))",
    "run('AdamW', torch.float64, dict(lr=0.1, amsgrad=True), resume=True)",
    "run('AdamW', torch.complex64, dict(lr=0.1, amsgrad=True))",
    "run('RMSprop', torch.float32, dict())",
    "run('RMSprop', torch.float64, dict())",
    "run('RMSprop', torch.float64, dict(), resume=True)",
    "run('RMSprop', torch.complex64, dict())",
    "run('RMSprop', torch.float32, dict(momentum=0.9, centered=True, weight_decay=0.1))",
    "run('RMSprop', torch.float64, dict(momentum=0.9, centered=True, weight_decay=0.1))",
    "run('RMSprop', torch.float64, dict(momentum=0.9, centered=True, weight_decay=0.1), resume=True)",
    "run('RMSprop', torch.complex64, dict(momentum=0.9, centered=True, weight_decay=0.1))",
    "run('Adagrad', torch.float32, dict())",
    "run('Adagrad', torch.float64, dict())",
    "run('Adagrad', torch.float64, dict(), resume=True)",
    "run('Adagrad', torch.complex64, dict())",
    "run('Adagrad', torch.float32, dict(lr_decay=0.1, weight_decay=0.1, initial_accumulator_value=0.5))",
    "run('Adagrad', torch.float64, dict(lr_decay=0.1, weight_decay=0.1, initial_accumulator_value=0.5))",
    "run('Adagrad', torch.float64, dict(lr_decay=0.1, weight_decay=0.1, "
    "initial_accumulator_value=0.5), resume=True)",
    "run('Adagrad', torch.complex64, dict(lr_decay=0.1, weight_decay=0.1, initial_accumulator_value=0.5))",
    "run('Adadelta', torch.float32, dict(weight_decay=0.1))",
    "run('Adadelta', torch.float64, dict(weight_decay=0.1))",
    "run('Adadelta', torch.float64, dict(weight_decay=0.1), resume=True)",
    "run('Adadelta', torch.complex64, dict(weight_decay=0.1))",
    "run('Adamax', torch.float32, dict(weight_decay=0.1))",
    "run('Adamax', torch.float64, dict(weight_decay=0.1))",
    "run('Adamax', torch.float64, dict(weight_decay=0.1), resume=True)",
    "run('Adamax', torch.complex64, dict(weight_decay=0.1))",
    "run('NAdam', torch.float32, dict())",
    "run('NAdam', torch.float64, dict())",
    "run('NAdam', torch.float64, dict(), resume=True)",
    "run('NAdam', torch.complex64, dict())",
    "run('NAdam', torch.float32, dict(weight_decay=0.1, decoupled_weight_decay=True))",
    "run('NAdam', torch.float64, dict(weight_decay=0.1, decoupled_weight_decay=True))",
    "run('NAdam', torch.float64, dict(weight_decay=0.1, decoupled_weight_decay=True), resume=True)",
    "run('NAdam', torch.complex64, dict(weight_decay=0.1, decoupled_weight_decay=True))",
    "run('RAdam', torch.float32, dict())",
    "run('RAdam', torch.float64, dict())",
    "run('RAdam', torch.float64, dict(), resume=True)",
    "run('RAdam', torch.complex64, dict())",
    "run('RAdam', torch.float32, dict(weight_decay=0.1, decoupled_weight_decay=True))",
    "run('RAdam', torch.float64, dict(weight_decay=0.1, decoupled_weight_decay=True))",
    "run('RAdam', torch.float64, dict(weight_decay=0.1, decoupled_weight_decay=True), resume=True)",
    "run('RAdam', torch.complex64, dict(weight_decay=0.1, decoupled_weight_decay=True))",
    "run('ASGD', torch.float32, dict(t0=3))",
    "run('ASGD', torch.float64, dict(t0=3))",
    "run('ASGD', torch.float64, dict(t0=3), resume=True)",
    "run('ASGD', torch.complex64, dict(t0=3))",
    "run('Rprop', torch.float32, dict())",
    "run('Rprop', torch.float64, dict())",
    "run('Rprop', torch.float64, dict(), resume=True)",
    "run('Rprop', torch.complex64, dict())",
    "run('LBFGS', torch.float32, dict())",
    "run('LBFGS', torch.float64, dict())",
    "run('LBFGS', torch.complex64, dict())",
    "run('LBFGS', torch.float32, dict(line_search_fn='strong_wolfe', max_iter=5))",
    "run('LBFGS', torch.float64, dict(line_search_fn='strong_wolfe', max_iter=5))",
    "run('LBFGS', torch.complex64, dict(line_search_fn='strong_wolfe', max_iter=5))",
    "run('LBFGS', torch.float32, dict(lr=0.1, history_size=3, max_iter=4))",
    "run('LBFGS', torch.float64, dict(lr=0.1, history_size=3, max_iter=4))",
    "run('LBFGS', torch.complex64, dict(lr=0.1, history_size=3, max_iter=4))",
    "optim.SGD([],lr=.1)",
    "optim.SGD(x,lr=.1)",
    "optim.SGD([x*1],lr=.1)",
    "optim.SGD([3],lr=.1)",
    "optim.SGD({x},lr=.1)",
    "optim.SGD([{'params':{x}}],lr=.1)",
    "optim.SGD([{'params':x},{'params':[x]}])",
    "optim.SGD([x,x])",
    "optim.SGD([('a',x)])",
    "optim.SGD([('a',x),torch.ones(1)])",
    "optim.SGD([x],lr=-1)",
    "optim.SGD([x],momentum=-1)",
    "optim.SGD([x],weight_decay=-1)",
    "optim.SGD([x],nesterov=True)",
    "optim.SGD([x],lr=torch.ones(2))",
    "optim.Adam([x],lr=-1)",
    "optim.Adam([x],betas=(2.,.9))",
    "optim.Adam([x],betas=(.9,1.))",
    "optim.Adam([x],eps=-1)",
    "optim.Adam([x],weight_decay=-1)",
    "optim.Adam([x],betas=(.9,torch.tensor(.9)))",
    "optim.Adam([x],betas=(0,.9))",
    "optim.Adam([x],fused=True,foreach=True)",
    "optim.Adam([x],fused=True,differentiable=True)",
    "optim.RMSprop([x],lr=-1)",
    "optim.RMSprop([x],alpha=-1)",
    "optim.RMSprop([x],momentum=-1)",
    "optim.Adagrad([x],lr_decay=-1)",
    "optim.Adagrad([x],initial_accumulator_value=-1)",
    "optim.Adadelta([x],rho=2)",
    "optim.Rprop([x],etas=(2,3))",
    "optim.NAdam([x],momentum_decay=-1)",
    "optim.LBFGS([{'params':x},{'params':[torch.ones(1)]}])",
    "optim.SGD([x]).load_state_dict({'param_groups':[],'state':{}})",
    "optim.SGD([x]).load_state_dict({'param_groups':[{'params':[0,1]}],'state':{}})",
    "optim.SGD([x]).add_param_group(3)",
    "optim.SGD([('a',x)]).add_param_group({'params':[torch.ones(1)]})",
    "optim.Optimizer([x],{}).step()",
    "optim.SGD([x]).state_dict()",
    "optim.Adam([('n',x)]).state_dict()",
    "optim.SGD([x,torch.ones(2)]).zero_grad()",
    "step_hooks(torch)",
    "pickled(torch)",
    "tensor_lr(torch)",
    "closure(torch)",
    "zero_grad(torch)",
    "state_dict_hooks(torch)",
    "differentiable(torch)",
    "subclass(torch)",
]
