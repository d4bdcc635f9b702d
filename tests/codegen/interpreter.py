"""Evaluates the formulas of the catalog with PyTorch.

So they can be compared with PyTorch's own gradients without a build of minitorch. Used by test_formulas.py.
"""

import ast
import cmath
import math
import operator
import os
import sys

import torch

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "csrc", "codegen"))
import check  # noqa: E402
import load  # noqa: E402


def read_catalog():
    errors = []
    catalog = check.build(load.read_folder(os.path.join(ROOT, "csrc", "ops"), errors), errors)
    assert not errors, errors
    return catalog


def restore_reduced_dims(self, dim, ndim, keepdim):
    if keepdim or ndim == 0:
        return self
    dims = range(ndim) if not dim else dim
    for d in sorted(d % ndim for d in dims):
        self = self.unsqueeze(d)
    return self


def permute_backward(grad, dims):
    order = [0] * len(dims)
    for i, d in enumerate(dims):
        order[d] = i
    return grad.permute(order)


def slice_backward_opt(grad, sizes, dim, start, end, step):
    out = grad.new_zeros(sizes)
    torch.ops.aten.slice.Tensor(out, dim, start, end, step).copy_(grad)
    return out


def list_backward(forward):
    def run(grads, argument, dim, sizes, dtype, device):
        out = torch.zeros(sizes, dtype=dtype)
        for view, grad in zip(forward(out, argument, dim), grads):
            if grad is not None:
                view.copy_(grad)
        return out

    return run


def cat_backward(grad, shapes, dim):
    sizes, at = [], 0
    while at < len(shapes):
        sizes.append(shapes[at + 1 : at + 1 + shapes[at]])
        at += 1 + shapes[at]
    return list(torch.split(grad, [s[dim] for s in sizes], dim))


def as_strided_backward(grad, sizes, strides, offset, size, stride, storage_offset):
    base = torch.zeros(sizes, dtype=grad.dtype)
    flat = base.as_strided([base.numel()], [1])
    at = (storage_offset if storage_offset is not None else offset) - offset
    index = torch.arange(flat.numel()).as_strided(size, stride, at)
    flat.index_add_(0, index.reshape(-1), grad.reshape(-1))
    return base


def repeat_backward(grad, repeats, shape):
    shape = [1] * (len(repeats) - len(shape)) + list(shape)
    pairs = [n for pair in zip(repeats, shape) for n in pair]
    return grad.reshape(pairs).sum(list(range(0, len(pairs), 2)))


def pad_to(self, sizes):
    out = self.new_zeros(sizes)
    out[tuple(slice(0, n) for n in self.shape)] = self
    return out


def index_along(index, dim, sizes):
    shape = [-1 if d == dim % len(sizes) else 1 for d in range(len(sizes))]
    return index.reshape(shape).expand(list(sizes))


def block_diag_backward(grad, shapes):
    out, row, column = [], 0, 0
    while shapes:
        n, sizes = shapes[0], list(shapes[1 : 1 + shapes[0]])
        shapes = shapes[1 + n :]
        rows, columns = ([1, 1] + sizes)[-2:]
        out.append(grad[row : row + rows, column : column + columns].reshape(sizes))
        row, column = row + rows, column + columns
    return out


def pad_backward(mode):
    """The gradient of padding, by autograd of torch.nn.functional.pad."""

    def run(grad, sizes, padding):
        x = torch.zeros(sizes, dtype=grad.dtype, requires_grad=True)
        with torch.enable_grad():
            return torch.autograd.grad(torch.nn.functional.pad(x, padding, mode), x, grad)[0]

    return run


def masked_scatter_backward(grad, mask, sizes):
    picked = grad.masked_select(mask)
    out = grad.new_zeros(sizes)
    out.view(-1)[: picked.numel()] = picked
    return out


def by_autograd(function):
    """The gradient of a function of the first tensor, for private ops whose body is C."""

    def run(grad, self, *rest):
        x = self.detach().clone().requires_grad_()
        with torch.enable_grad():
            return torch.autograd.grad(function(x, *rest), x, grad)[0]

    return run


# Ops whose body is a C function without a counterpart in PyTorch.
PRIVATE = {
    "restore_reduced_dims": restore_reduced_dims,
    "permute_backward": permute_backward,
    "slice_backward_opt": slice_backward_opt,
    "split_backward": list_backward(torch.Tensor.split),
    "split_with_sizes_backward": list_backward(torch.Tensor.split_with_sizes),
    "unbind_backward": lambda grads, dim, sizes, dtype, device: list_backward(
        lambda out, _, d: out.unbind(d)
    )(grads, None, dim, sizes, dtype, device),
    "cat_backward": cat_backward,
    "as_strided_backward": as_strided_backward,
    "repeat_backward": repeat_backward,
    "roll_backward": lambda grad, shifts, dims: grad.roll([-s for s in shifts], dims),
    "constant_pad_nd_backward": lambda grad, pad: torch.constant_pad_nd(grad, [-p for p in pad]),
    "masked_scatter_backward": masked_scatter_backward,
    "thin_svd": lambda A: torch.linalg.svd(A, full_matrices=False),
    "_pad_to": pad_to,
    "_shrink_to": lambda self, sizes: self[tuple(slice(0, n) for n in sizes)],
    "_index_along": index_along,
    "block_diag_backward": block_diag_backward,
    "_reflection_pad_backward": pad_backward("reflect"),
    "_replication_pad_backward": pad_backward("replicate"),
    "prod_backward": by_autograd(lambda x, _: x.prod()),
    "prod_dim_backward": by_autograd(lambda x, _, dim, keepdim: x.prod(dim, keepdim)),
    "cumprod_backward": by_autograd(lambda x, dim, _: x.cumprod(dim)),
    "adaptive_avg_pool2d_backward": torch.ops.aten._adaptive_avg_pool2d_backward,
    "_log_sigmoid_backward": lambda grad, x: grad * (1 - x.sigmoid()),
    "_gelu_erf": torch.nn.functional.gelu,
    "_gelu_tanh": lambda x: torch.nn.functional.gelu(x, approximate="tanh"),
    "_softmax": torch.ops.aten._softmax,
}

BIN = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
    ast.MatMult: operator.matmul,
}
COMPARE = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
}
METADATA = ("shape", "dtype", "device", "ndim")


class Interpreter:
    def __init__(self, catalog):
        self.catalog = catalog

    def run(self, text, env):
        env = dict(env)
        body = ast.parse(text.strip()).body
        for statement in body[:-1]:
            value, target = self.eval(statement.value, env), statement.targets[0]
            if isinstance(target, ast.Tuple):
                env.update(zip([t.id for t in target.elts], value))
            else:
                env[target.id] = value
        return self.eval(body[-1].value, env)

    def eval(self, node, env):
        return getattr(self, "on_" + type(node).__name__)(node, env)

    def on_Constant(self, node, env):
        return node.value

    def on_Name(self, node, env):
        if node.id in env:
            return env[node.id]
        return {"inf": math.inf, "nan": math.nan, "pi": math.pi, "torch": torch}[node.id]

    def on_List(self, node, env):
        return [self.eval(e, env) for e in node.elts]

    def on_Tuple(self, node, env):
        return tuple(self.eval(e, env) for e in node.elts)

    def on_IfExp(self, node, env):
        return self.eval(node.body if self.eval(node.test, env) else node.orelse, env)

    def on_BoolOp(self, node, env):
        for part in node.values:
            value = self.eval(part, env)
            if bool(value) != isinstance(node.op, ast.And):
                return value
        return value

    def on_UnaryOp(self, node, env):
        value = self.eval(node.operand, env)
        return (
            -value if isinstance(node.op, ast.USub) else not value if isinstance(node.op, ast.Not) else ~value
        )

    def on_BinOp(self, node, env):
        return BIN[type(node.op)](self.eval(node.left, env), self.eval(node.right, env))

    def on_Compare(self, node, env):
        right = self.eval(node.comparators[0], env)
        left = self.eval(node.left, env)
        if isinstance(left, torch.Size):
            left, right = list(left), list(right)
        return COMPARE[type(node.ops[0])](left, right)

    def on_Subscript(self, node, env):
        return self.eval(node.value, env)[self.eval(node.slice, env)]

    def on_Attribute(self, node, env):
        base = self.eval(node.value, env)
        if node.attr == "strides":
            return base.stride()
        if node.attr == "shapes":
            return [n for t in base for n in (t.ndim, *t.shape)]
        return getattr(base, node.attr)

    def on_Call(self, node, env):
        args = [self.eval(a, env) for a in node.args]
        kwargs = {k.arg: self.eval(k.value, env) for k in node.keywords}
        if isinstance(node.func, ast.Name):
            return self.call(node.func.id, args, kwargs)
        base = node.func.value
        if isinstance(base, ast.Name) and base.id not in env and base.id != "torch":
            return self.call(base.id + "." + node.func.attr, args, kwargs)
        return self.call(node.func.attr, [self.eval(base, env)] + args, kwargs)

    def call(self, name, args, kwargs):
        numbers = not any(isinstance(a, torch.Tensor) for a in args)
        if name == "fail":
            raise RuntimeError(args[0])
        if numbers and name in ("len", "int", "float", "bool", "max", "min"):
            return {"len": len, "int": int, "float": float, "bool": bool, "max": max, "min": min}[name](*args)
        if numbers and name == "prod":
            return math.prod(args[0])
        if numbers and name in ("conj", "is_complex"):
            return args[0].conjugate() if name == "conj" else isinstance(args[0], complex)
        if numbers and name == "log":
            return (cmath if isinstance(args[0], complex) else math).log(args[0])
        if name == "default_dtype":
            return torch.get_default_dtype()
        if name == "transposing":
            return False
        if name == "recording":
            return torch.is_grad_enabled()
        if name in PRIVATE:
            return PRIVATE[name](*args, **kwargs)
        if "." in name:
            op, overload = name.split(".")
            return getattr(getattr(torch.ops.aten, op), overload)(*args, **kwargs)
        entries = self.catalog.overloads(name)
        if entries and not hasattr(torch.ops.aten, name):
            return self.call_entry(entries[0], args, kwargs)
        if name in ("slice",):
            return torch.ops.aten.slice.Tensor(*args, **kwargs)
        if name in ("index", "index_put", "index_put_"):
            return getattr(torch.ops.aten, name)(*args, **kwargs)
        spaces = (torch.Tensor, torch) if args and isinstance(args[0], torch.Tensor) else (torch,)
        for space in (
            (torch,) if name in ("where", "real", "imag") else spaces + (torch._C._nn, torch.ops.aten)
        ):
            if hasattr(space, name):
                return getattr(space, name)(*args, **kwargs)
        raise NameError(name)

    def call_entry(self, entry, args, kwargs):
        env = {a.name: None for a in entry.schema.args}
        env.update(zip(env, args))
        env.update(kwargs)
        assert entry.expr, entry.schema.full_name
        return self.run(entry.expr, env)
