# SPDX-License-Identifier: BSD-3-Clause
"""nn.Module, containers, parameters: registration, state dictionaries, hooks, conversion."""

import copy  # noqa: F401
from collections import OrderedDict  # noqa: F401


def net(torch):
    nn = torch.nn
    return nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Sequential(nn.Linear(4, 2), nn.BatchNorm1d(2)))


def example(torch):
    return torch.arange(15.0).reshape(5, 3) / 7


def delete(m, a):
    delattr(m, a)


def set_item(m, i, v):
    m[i] = v


def delete_item(m, i):
    del m[i]


def add_in_place(m, o):
    m += o
    return m


def multiply_in_place(m, o):
    m *= o
    return m


def module_list_changes(torch):
    nn = torch.nn
    layers = nn.ModuleList([nn.ReLU(), nn.Tanh()])
    layers.insert(1, nn.GELU())
    layers[0] = nn.Sigmoid()
    layers += [nn.ReLU()]
    return layers


def module_list_deletions(torch):
    nn = torch.nn
    layers = nn.ModuleList([nn.ReLU(), nn.Tanh(), nn.GELU()])
    del layers[1]
    r = [repr(layers)]
    del layers[0:1]
    return r + [layers, list(layers._modules)]


def buffers_of_class_buffer(torch):
    nn = torch.nn
    m = nn.Module()
    m.a = nn.Buffer(torch.ones(1))
    m.b = nn.Buffer(torch.ones(1), persistent=False)
    m.a = torch.zeros(1)
    return [m.state_dict(), list(m._buffers)]


def parameter_before_init(torch):
    nn = torch.nn

    class Q(nn.Module):
        def __init__(self):
            self.a = nn.Parameter(torch.ones(1))

    return Q()


def module_before_init(torch):
    nn = torch.nn

    class Q(nn.Module):
        def __init__(self):
            self.a = nn.Linear(1, 1)

    return Q()


def call_without_init(torch):
    nn = torch.nn

    class Q(nn.Module):
        def __init__(self):
            self.x = 3

        def forward(self, y):
            return y

    return Q()(3)


def parameter_of_subclass(torch):
    nn = torch.nn

    class S(torch.Tensor):
        pass

    s = torch.ones(2).as_subclass(S)
    p = nn.Parameter(s)
    m = nn.Module()
    m.p = p
    return [type(p), isinstance(p, nn.Parameter), list(m._parameters)]


def forward_hooks(torch):
    m = net(torch)
    log = []
    h = m[0].register_forward_hook(lambda mod, i, o: log.append(("f", len(i))) or o * 2)
    h2 = m[0].register_forward_pre_hook(lambda mod, i: (i[0] + 1,))
    h3 = m.register_forward_hook(lambda mod, i, o: log.append("top"))
    a = m(example(torch))
    h.remove()
    b = m(example(torch))
    h2.remove()
    h3.remove()
    return [a, b, m(example(torch)), log]


def hooks_with_keywords(torch):
    nn = torch.nn

    class Q(nn.Module):
        def forward(self, a, b=1):
            return a * b

    q = Q()
    log = []
    q.register_forward_pre_hook(lambda m, a, k: (a, {"b": 5}), with_kwargs=True)
    q.register_forward_hook(lambda m, a, k, o: log.append(k), with_kwargs=True)
    q.register_forward_hook(lambda m, a, o: log.append("first"), prepend=True)
    return [q(example(torch), b=2), log]


def hook_called_always(torch):
    nn = torch.nn

    class Q(nn.Module):
        def forward(self, a):
            raise ValueError("x")

    q = Q()
    log = []
    q.register_forward_hook(lambda m, a, o: log.append(("always", o)), always_call=True)
    q.register_forward_hook(lambda m, a, o: log.append("no"))
    try:
        q(example(torch))
    except ValueError as e:
        log.append(str(e))
    return log


def backward_hooks(torch):
    nn = torch.nn
    m = nn.Linear(3, 2)
    log = []
    m.register_full_backward_hook(lambda mod, gi, go: log.append(("fb", [g for g in gi], [g for g in go])))
    m.register_full_backward_pre_hook(lambda mod, go: log.append("pre"))
    xx = example(torch).clone().requires_grad_()
    m(xx).sum().backward()
    return [log, xx.grad, m.weight.grad]


def backward_hooks_that_change(torch):
    nn = torch.nn
    m = nn.Linear(3, 2)
    m.register_full_backward_hook(lambda mod, gi, go: (gi[0] * 10,))
    m.register_full_backward_pre_hook(lambda mod, go: (go[0] * 3,))
    xx = example(torch).clone().requires_grad_()
    m(xx).sum().backward()
    return [xx.grad, m.weight.grad]


def two_kinds_of_backward_hooks(torch):
    nn = torch.nn
    m = nn.Linear(3, 2)
    m.register_full_backward_hook(lambda *a: None)
    m.register_backward_hook(lambda *a: None)


def global_hooks(torch):
    nn = torch.nn
    log = []
    m = net(torch)
    hs = [
        nn.modules.module.register_module_forward_hook(lambda mod, i, o: log.append(type(mod).__name__)),
        nn.modules.module.register_module_forward_pre_hook(lambda mod, i: log.append("pre")),
        nn.modules.module.register_module_full_backward_hook(lambda mod, gi, go: log.append("bw")),
    ]
    xx = example(torch).clone().requires_grad_()
    try:
        m(xx).sum().backward()
    finally:
        for h in hs:
            h.remove()
    m(example(torch))
    return log


def bad_pre_hook(torch):
    nn = torch.nn
    m = nn.ReLU()
    m.register_forward_pre_hook(lambda m, a, k: 3, with_kwargs=True)
    m(example(torch))


def state_dict_hooks(torch):
    m = net(torch)
    log = []
    m.register_state_dict_pre_hook(lambda mod, p, k: log.append(("pre", p, k)))
    m.register_state_dict_post_hook(lambda mod, sd, p, md: log.append(("post", p, len(sd))))
    m[0]._register_state_dict_hook(lambda mod, sd, p, md: log.append(p))
    m.register_load_state_dict_pre_hook(lambda mod, sd, p, md, s, a, b, c: log.append(("lpre", len(sd))))
    m.register_load_state_dict_post_hook(lambda mod, k: log.append(("lpost", len(k.missing_keys))))
    m.load_state_dict(m.state_dict())
    return log


def bad_state_dict_hook(torch):
    m = net(torch)
    m.register_state_dict_post_hook(lambda mod, sd, p, md: 3)
    return m.state_dict()


def extra_state(torch):
    nn = torch.nn

    class Q(nn.Linear):
        def get_extra_state(self):
            return {"a": 1}

        def set_extra_state(self, s):
            self.got = s

    q = Q(2, 2)
    sd = q.state_dict()
    r = Q(2, 2)
    r.load_state_dict(sd)
    out = [list(sd), r.got]
    del sd["_extra_state"]
    try:
        r.load_state_dict(sd)
    except Exception as e:
        out.append(str(e))
    sd["_extra_state"] = 1
    try:
        nn.Linear(2, 2).load_state_dict(sd)
    except Exception as e:
        out.append(str(e))
    return out


def shared_module(torch):
    nn = torch.nn
    layers = nn.Linear(2, 2)
    m = nn.Sequential(layers, layers)
    return [
        len(list(m.parameters())),
        [k for k, _ in m.named_parameters(remove_duplicate=False)],
        list(m.state_dict()),
        [k for k, _ in m.named_modules()],
        [k for k, _ in m.named_modules(remove_duplicate=False)],
    ]


def convert_in_place(torch):
    nn = torch.nn
    m = nn.Linear(2, 2)
    w = m.weight
    m(torch.ones(1, 2)).sum().backward()
    g = m.weight.grad
    m.double()
    return [m.weight is w, m.weight.grad is g, m.weight.grad.dtype, m.weight.dtype]


def convert_to_meta(torch):
    nn = torch.nn
    m = nn.Linear(2, 2)
    w = m.weight
    m(torch.ones(1, 2)).sum().backward()
    m.to("meta")
    return [m.weight is w, m.weight.grad.device, type(m.weight)]


def registration_hooks(torch):
    nn = torch.nn
    log = []
    hs = [
        nn.modules.module.register_module_parameter_registration_hook(lambda m, n, p: log.append(n)),
        nn.modules.module.register_module_buffer_registration_hook(lambda m, n, p: log.append(n)),
        nn.modules.module.register_module_module_registration_hook(lambda m, n, p: log.append(n)),
    ]
    try:
        net(torch)
        m = nn.Module()
        m.q = nn.ReLU()
    finally:
        for h in hs:
            h.remove()
    net(torch)
    return log


def old_backward_hook(torch):
    nn = torch.nn
    m = nn.Linear(3, 2)
    log = []
    m.register_backward_hook(lambda mod, gi, go: log.append((len(gi), len(go))))
    m(example(torch).clone().requires_grad_()).sum().backward()
    return log


def old_backward_hook_on_dict(torch):
    nn = torch.nn

    class Q(nn.Module):
        def forward(self, a):
            return {"a": a * 2}

    m = Q()
    log = []
    m.register_backward_hook(lambda mod, gi, go: log.append((len(gi), len(go))))
    m(example(torch).clone().requires_grad_())["a"].sum().backward()
    return log


def backward_hook_without_input_grad(torch):
    nn = torch.nn
    m = nn.Linear(3, 2)
    log = []
    m.register_full_backward_hook(lambda mod, gi, go: log.append([g for g in gi]))
    m(example(torch)).sum().backward()
    return log


def load_into_meta(torch):
    nn = torch.nn
    m = nn.Linear(3, 2, device="meta")
    r = m.load_state_dict(nn.Linear(3, 2).state_dict())
    r2 = m.load_state_dict(nn.Linear(3, 2).state_dict(), assign=True)
    return [m.weight.device, r, r2, m.weight.requires_grad, type(m.weight)]


def buffer_not_persistent(torch):
    nn = torch.nn
    m = nn.Module()
    m.register_buffer("a", torch.ones(1), persistent=False)
    m.a = torch.ones(2)
    m.register_buffer("b", None)
    return [m.state_dict(), list(m._non_persistent_buffers_set), m.load_state_dict({})]


def load_into_lazy(torch):
    nn = torch.nn
    m = nn.LazyLinear(3)
    m.load_state_dict(nn.Linear(4, 3).state_dict())
    return [repr(m), m.weight.shape, m(torch.ones(2, 4)).shape, repr(m)]


def prefix_removed(torch):
    nn = torch.nn
    sd = {"module.a": torch.ones(1), "module.b": torch.ones(1)}
    nn.modules.utils.consume_prefix_in_state_dict_if_present(sd, "module.")
    return list(sd)


def namespace(torch):
    names = dict(globals(), torch=torch, nn=torch.nn, m=net(torch), x=example(torch))
    torch.manual_seed(5)
    return names


EXPRESSIONS = [
    "m.register_buffer('a.b', None)",
    "m.register_buffer('', None)",
    "m.register_buffer(3, None)",
    "m.register_buffer('0', None)",
    "m.register_buffer('w', 3)",
    "m.register_buffer('training', None)",
    "m.register_parameter('a.b', None)",
    "m.register_parameter('', None)",
    "m.register_parameter(3, None)",
    "m.register_parameter('training', None)",
    "m.register_parameter('w', torch.ones(2))",
    "m.register_parameter('w', nn.Parameter(torch.ones(2)) * 1)",
    "m.add_module('a.b', nn.ReLU())",
    "m.add_module('', nn.ReLU())",
    "m.add_module(3, nn.ReLU())",
    "m.add_module('training', nn.ReLU())",
    "m.add_module('x', 3)",
    "setattr(m[0], 'weight', 3)",
    "setattr(m[0], 'weight', torch.ones(2))",
    "setattr(m[0], 'weight', None) or m[0].weight",
    "setattr(m, '0', 3)",
    "setattr(m, '0', None)",
    "m[2][1].__setattr__('running_mean', 3)",
    "m[2][1].__setattr__('running_mean', None) or m[2][1].running_mean",
    "m[2][1].__setattr__('running_mean', torch.ones(2)) or list(m[2][1]._buffers)",
    "m.nope",
    "m.train(3)",
    "m.get_submodule('2.1')",
    "m.get_submodule('2.x')",
    "m.get_submodule('2.1.eps')",
    "m.get_submodule('')",
    "m.get_parameter('0.weight')",
    "m.get_parameter('0.x')",
    "m.get_parameter('0.in_features')",
    "m.get_buffer('2.1.running_var')",
    "m.get_buffer('2.1.weight')",
    "m.set_submodule('2.1', nn.ReLU()) or m",
    "m.set_submodule('', nn.ReLU())",
    "m.set_submodule('2.q', nn.ReLU(), True)",
    "m.set_submodule('2.1', 3)",
    "nn.Module(3)",
    "nn.Module(a=3)",
    "nn.Module()(3)",
    "m.to(torch.int32)",
    "m.to(torch.float64).state_dict()",
    "m.to('meta')[0].weight.device",
    "m.to(torch.device('cpu'), torch.float16)[0].weight.dtype",
    "m.to(torch.ones(1, dtype=torch.float64))[0].weight.dtype",
    "m.to(dtype=torch.bfloat16)[2][1].num_batches_tracked.dtype",
    "m.to(device='cpu', dtype=torch.float64)[0].bias.dtype",
    "m.double()[0].bias.dtype",
    "m.half()[0].bias.dtype",
    "m.to(torch.complex64)[0].bias.dtype",
    "m.type(torch.float64)[0].bias.dtype",
    "m.to_empty(device='meta')[0].weight",
    "[k for k, _ in m.named_parameters()]",
    "[k for k, _ in m.named_parameters('p', False)]",
    "[k for k, _ in m.named_buffers()]",
    "[k for k, _ in m.named_modules()]",
    "[k for k, _ in m.named_children()]",
    "len(list(m.modules()))",
    "len(list(m.children()))",
    "m.state_dict()",
    "m.state_dict(prefix='q.')",
    "m.state_dict()._metadata",
    "m.state_dict(OrderedDict(), 'p.')",
    "m.load_state_dict(m.state_dict())",
    "m.load_state_dict({})",
    "m.load_state_dict({}, strict=False)",
    "m.load_state_dict({'0.weight': torch.ones(2), 'zz': 1, '2.q.r': 2})",
    "m.load_state_dict({'0.weight': 3}, strict=False)",
    "m.load_state_dict(3)",
    "m.load_state_dict(m.state_dict(), assign=True)",
    "[v for v in dir(m) if not v.startswith('__')].__len__() > 50",
    "m.eval().training",
    "m.requires_grad_(False)[0].weight.requires_grad",
    "m.zero_grad()",
    "m.apply(lambda q: setattr(q, 'seen', 1)) and m[2][1].seen",
    "delete(m, '0') or m",
    "delete(m[0], 'weight') or list(m[0]._parameters)",
    "delete(m[2][1], 'running_mean') or list(m[2][1]._buffers)",
    "delete(m, 'zzz')",
    "m[0]",
    "m[-1]",
    "m[5]",
    "m[0:2]",
    "m['a']",
    "len(m)",
    "m + m",
    "m + 3",
    "m * 2",
    "m * 0",
    "m * 'a'",
    "2 * m",
    "m.append(nn.Tanh())",
    "m.insert(1, nn.Tanh())",
    "m.insert(-1, nn.Tanh())",
    "m.insert(9, nn.Tanh())",
    "m.insert(0, 3)",
    "m.extend([nn.Tanh()])",
    "m.pop(0)",
    "m.pop(-1) and m",
    "m.pop(slice(0, 2)) and m",
    "set_item(m, 0, nn.Tanh()) or m",
    "set_item(m, 7, nn.Tanh()) or m",
    "delete_item(m, 0) or m",
    "delete_item(m, slice(0, 2)) or m",
    "add_in_place(m, 3)",
    "multiply_in_place(m, 2)",
    "[type(q) for q in m]",
    "nn.Sequential(OrderedDict(a=nn.ReLU(), b=nn.Tanh()))",
    "nn.Sequential(OrderedDict(a=nn.ReLU(), b=nn.Tanh()))[1:]",
    "nn.Sequential()",
    "nn.Sequential(3)",
    "nn.ModuleList([nn.ReLU(), nn.ReLU(), nn.Tanh()])",
    "nn.ModuleList()",
    "nn.ModuleList([nn.Linear(2, 2)] * 3)[1]",
    "nn.ModuleList([nn.ReLU(), nn.Tanh()])[5]",
    "nn.ModuleList([nn.ReLU(), nn.Tanh()])[1:]",
    "nn.ModuleList([nn.ReLU(), nn.Tanh()]) + [nn.GELU()]",
    "nn.ModuleList(3)",
    "nn.ModuleList([nn.ReLU()]).append(nn.Tanh())",
    "nn.ModuleList([nn.ReLU()]).extend(3)",
    "module_list_changes(torch)",
    "nn.ModuleList([nn.ReLU(), nn.Tanh()])(x)",
    "nn.ModuleList([nn.ReLU(), nn.Tanh()]).pop(0)",
    "module_list_deletions(torch)",
    "nn.ModuleDict({'a': nn.ReLU(), 'b': nn.Tanh()})",
    "nn.ModuleDict([('a', nn.ReLU())])",
    "nn.ModuleDict([3])",
    "nn.ModuleDict([(1, 2, 3)])",
    "nn.ModuleDict(3)",
    "'a' in nn.ModuleDict({'a': nn.ReLU()})",
    "list(nn.ModuleDict({'a': nn.ReLU()}).items())",
    "nn.ModuleDict({'a': nn.ReLU()}).pop('a')",
    "nn.ModuleDict({'a': nn.ReLU()}).pop('b')",
    "nn.ModuleDict({'a': nn.ReLU()})['z']",
    "nn.ModuleDict({'keys': nn.ReLU()})",
    "nn.ParameterList([nn.Parameter(torch.ones(2)), torch.ones(2, 3), 3])",
    "nn.ParameterList([torch.ones(2)])[0]",
    "nn.ParameterList([torch.ones(2)])[1]",
    "nn.ParameterList([torch.ones(2)] * 3)[1:]",
    "nn.ParameterList(torch.ones(2))",
    "nn.ParameterList([torch.ones(2)])()",
    "nn.ParameterList([torch.ones(2)]).state_dict()",
    "nn.ParameterDict({'b': torch.ones(2), 'a': 3})",
    "nn.ParameterDict({'b': torch.ones(2), 'a': 3}).state_dict()",
    "list(nn.ParameterDict({'b': torch.ones(2), 'a': 3}))",
    "nn.ParameterDict({'b': torch.ones(2)})['c']",
    "nn.ParameterDict({3: torch.ones(2)})",
    "nn.ParameterDict([('q', torch.ones(1))]).popitem()",
    "nn.ParameterDict({'a': torch.ones(1)}) | nn.ParameterDict({'b': torch.ones(1)})",
    "nn.ParameterDict([3])",
    "nn.ParameterDict([(1, 2, 3)])",
    "nn.ParameterDict({'a': 1}).get('z', 5)",
    "nn.ParameterDict({'a': 1}).setdefault('z', 5)",
    "nn.ParameterDict({'a': torch.ones(1)}).copy()",
    "nn.ParameterDict().fromkeys(['a', 'b'], 2)",
    "nn.ParameterDict()()",
    "nn.Parameter(torch.ones(2))",
    "repr(nn.Parameter(torch.ones(2)))",
    "nn.Parameter(torch.ones(2), False)",
    "nn.Parameter()",
    "nn.Parameter(torch.ones(2, dtype=torch.int64))",
    "isinstance(nn.Parameter(torch.ones(2)), torch.Tensor)",
    "copy.deepcopy(nn.Parameter(torch.ones(2)))",
    "type(copy.deepcopy(nn.Parameter(torch.ones(2)))).__name__",
    "isinstance(nn.Buffer(torch.ones(2)), nn.Buffer)",
    "isinstance(torch.ones(2), nn.Parameter)",
    "isinstance(torch.ones(2), nn.Buffer)",
    "buffers_of_class_buffer(torch)",
    "repr(nn.UninitializedParameter())",
    "nn.UninitializedParameter().shape",
    "nn.UninitializedParameter() + 1",
    "copy.deepcopy(m)",
    "copy.deepcopy(m)[0].weight is m[0].weight",
    "m(x)",
    "parameter_before_init(torch)",
    "module_before_init(torch)",
    "call_without_init(torch)",
    "parameter_of_subclass(torch)",
    "forward_hooks(torch)",
    "hooks_with_keywords(torch)",
    "hook_called_always(torch)",
    "backward_hooks(torch)",
    "backward_hooks_that_change(torch)",
    "two_kinds_of_backward_hooks(torch)",
    "global_hooks(torch)",
    "bad_pre_hook(torch)",
    "state_dict_hooks(torch)",
    "bad_state_dict_hook(torch)",
    "extra_state(torch)",
    "shared_module(torch)",
    "convert_in_place(torch)",
    "convert_to_meta(torch)",
    "registration_hooks(torch)",
    "old_backward_hook(torch)",
    "old_backward_hook_on_dict(torch)",
    "backward_hook_without_input_grad(torch)",
    "load_into_meta(torch)",
    "buffer_not_persistent(torch)",
    "load_into_lazy(torch)",
    "prefix_removed(torch)",
    "[k for k, v in m.named_parameters(remove_duplicate=False)]",
]
