# SPDX-License-Identifier: BSD-3-Clause
"""Members of Tensor that are written in Python, and the protocols of Python objects."""

import copy
import pickle

import numpy as np  # noqa: F401


class Sub:
    """Made anew for each library by `subclass`."""


def subclass(torch):
    kind = type("Sub", (torch.Tensor,), {"__module__": __name__})
    globals()["Sub"] = kind
    return kind


def pickled(torch, value):
    results = [pickle.loads(pickle.dumps(value, protocol)) for protocol in (2, 4, 5)]
    if not isinstance(value, torch.Tensor):
        return results[2] if not isinstance(value, torch.layout) else pickle.loads(pickle.dumps(value, 4))
    return results + [r.untyped_storage().nbytes() for r in results]


def hooks(torch):
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    handle = y.register_hook(lambda grad: grad * 10)
    y.sum().backward(retain_graph=True)
    first = x.grad.clone()
    handle.remove()
    y.sum().backward()
    return [first, x.grad]


def accumulate_hooks(torch):
    x, seen = torch.ones(3, requires_grad=True), []
    handle = x.register_post_accumulate_grad_hook(lambda p: seen.append(p.grad.clone()))
    (x * 2).sum().backward()
    handle.remove()
    (x * 1).sum().backward()
    return seen


def copied_with_grad(torch):
    x = torch.ones(3, requires_grad=True)
    x.grad = torch.ones(3)
    x.foo = [1]
    y = copy.deepcopy(x)
    return [y, y.grad, y.foo, y.foo is x.foo]


def backward_inputs(torch):
    x, y = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    (x * y).sum().backward(inputs=[x])
    return [x.grad, y.grad]


def del_grad(torch):
    x = torch.ones(2, requires_grad=True)
    x.sum().backward()
    del x.grad
    return x.grad


def subclass_members(torch):
    s = torch.ones(2).as_subclass(subclass(torch))
    return [type(s + 1), type(s[0]), type(s.sum()), type(torch.add(s, 1)), type(s.shape), repr(s)]


def subclass_pickled(torch):
    s = torch.ones(2).as_subclass(subclass(torch))
    s.foo = 5
    r = copy.deepcopy(s)
    return [type(r), r.foo, type(s.detach())]


def namespace(torch):
    t = torch.arange(12.0).view(3, 4)
    torch.storage._reset_warn_typed_storage_removal()
    return dict(globals(), torch=torch, t=t)


EXPRESSIONS = [
    "t.split(2)",
    "t.split([1, 2])",
    "t.split(torch.tensor(2), 1)",
    "t.split(5)",
    "t.split([1, 1])",
    "t.norm()",
    "t.norm(1, 0)",
    "t.norm('fro')",
    "t.norm('nuc')",
    "t.norm(float('inf'))",
    "t.unique()",
    "torch.tensor([3, 1, 3]).unique(return_inverse=True, return_counts=True)",
    "torch.tensor([[1, 2], [1, 2]]).unique(dim=0)",
    "torch.tensor([1, 1, 2, 1]).unique_consecutive(return_counts=True)",
    "t.unflatten(1, (2, 2))",
    "t.unflatten(1, ())",
    "t.unflatten(1, (-1, 2))",
    "list(reversed(t))",
    "reversed(torch.tensor(3))",
    "5 in t",
    "50 in t",
    "'a' in t",
    "torch.tensor(50.0) in t",
    "None in t",
    "t.__array__()",
    "t.__array__(np.int32)",
    "t.__array_wrap__(np.array([True, False]))",
    "np.asarray(t)",
    "np.ones(4) * t",
    "t.resize(4, 3)",
    "t.resize(4, 4)",
    "t.resize_as(t.t())",
    "t.dim_order()",
    "t.t().dim_order()",
    "torch.zeros(2, 3, 4, 1).transpose(0, 3).dim_order()",
    "torch.zeros(2, 1, 1, 2).dim_order(ambiguity_check=True)",
    "t.dim_order(ambiguity_check='x')",
    "torch.zeros(2, 3, 4, 5).permute(2, 0, 3, 1).dim_order()",
    "t.register_hook(print)",
    "t.register_post_accumulate_grad_hook(print)",
    "hooks(torch)",
    "accumulate_hooks(torch)",
    "pickled(torch, t)",
    "pickled(torch, t[1:, ::2])",
    "pickled(torch, torch.ones(2, requires_grad=True))",
    "pickled(torch, torch.zeros(0, 3))",
    "pickled(torch, torch.ones(3, device='meta'))",
    "pickled(torch, torch.nn.Parameter(t))",
    "pickled(torch, torch.float32) is torch.float32",
    "pickled(torch, torch.strided) is torch.strided",
    "pickled(torch, torch.device('cpu'))",
    "pickled(torch, torch.Size([1, 2]))",
    "copy.deepcopy(t[1:])",
    "copy.deepcopy(t[1:]).untyped_storage().nbytes()",
    "copy.copy(t).data_ptr() == t.data_ptr()",
    "copy.deepcopy(torch.ones(2, requires_grad=True) * 2)",
    "copied_with_grad(torch)",
    "t.is_shared()",
    "t.storage_type()",
    "len(t)",
    "len(torch.tensor(3))",
    "list(t)",
    "list(torch.tensor(3))",
    "[type(row) for row in t]",
    "hash(t) == id(t)",
    "bool(t)",
    "bool(torch.tensor([3]))",
    "int(torch.tensor(3.7))",
    "float(torch.tensor(3))",
    "complex(torch.tensor(3.0))",
    "int(t)",
    "[10, 20, 30][torch.tensor(1)]",
    "[10, 20, 30][torch.tensor(1.0)]",
    "2 - t",
    "2 / t",
    "2 ** t",
    "2 // torch.tensor([3, 4])",
    "7 % torch.tensor([3, 4])",
    "1 << torch.tensor([3, 4])",
    "True & torch.tensor([True, False])",
    "t @ [1]",
    "[1, 2, 3, 4] + t",
    "t == None",
    "t != 'a'",
    "t < None",
    "t.new_tensor([1, 2])",
    "t.new_zeros(2)",
    "t.new_ones((2, 3), dtype=torch.int32)",
    "t.new_full((2,), 7)",
    "t.new_empty(0)",
    "t.new_tensor(t[0], requires_grad=True)",
    "t.__dlpack_device__()",
    "torch.from_dlpack(t.__dlpack__(max_version=(1, 0)))",
    "torch.ones(2, requires_grad=True).__dlpack__()",
    "t.__dlpack__(stream=3)",
    "torch.from_dlpack(np.arange(3))",
    "t.type()",
    "t.type(torch.float64)",
    "t.type('torch.DoubleTensor')",
    "t.names",
    "torch.ones(2).share_memory_()",
    "t.is_sparse",
    "t.layout",
    "t.align_to",
    "torch.typename(t)",
    "torch.typename(3)",
    "torch.typename(torch.nn.Linear(1, 1))",
    "torch.is_tensor(t)",
    "sorted(n for n in dir(t) if n.startswith('new'))",
    "subclass_members(torch)",
    "subclass_pickled(torch)",
    "t.backward()",
    "torch.ones(2, requires_grad=True).backward()",
    "torch.ones(2, requires_grad=True).backward(torch.ones(3))",
    "backward_inputs(torch)",
    "del_grad(torch)",
    "t.requires_grad",
    "torch.Tensor([1, 2])",
    "torch.Tensor(2, 3).shape",
    "torch.Tensor()",
    "torch.FloatTensor([1])",
    "torch.LongTensor([1.5])",
    "torch.FloatTensor(2, 3).shape",
    "isinstance(t, torch.FloatTensor)",
    "isinstance(t, torch.LongTensor)",
    "torch.Tensor(torch.ones(2))",
    "torch.Tensor('a')",
]
