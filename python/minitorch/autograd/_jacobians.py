# SPDX-License-Identifier: BSD-3-Clause
"""Jacobians for gradcheck: from differences, from backward and from forward mode, in full or along random directions.

A full Jacobian is a tensor (elements of the input, elements of the output).  The derivative of a real value by a complex
input is d/dx + i d/dy of its parts.
"""

import itertools

import minitorch as torch
from minitorch.overrides import is_tensor_like


class GradcheckError(RuntimeError):
    """A gradient that is not what it should be."""

    __module__ = "minitorch.autograd.gradcheck"


def as_tuple(x):
    return tuple(x) if isinstance(x, (tuple, list)) else (x,)


def is_inexact(x):
    return is_tensor_like(x) and (x.is_floating_point() or x.is_complex())


def differentiable(outputs):
    """Those that require grad; AttributeError for what is no tensor."""
    return tuple([o for o in as_tuple(outputs) if o.requires_grad])


def wanted_inputs(inputs):
    return [x for x in inputs if is_tensor_like(x) and x.requires_grad]


# --- from differences ---


def slopes(func, inputs, data, step, size, index=None):
    """(f(x + step) - f(x - step)) / 2 size of every output, flat; `data` is the memory of one of the inputs."""
    kept = data.clone()
    try:
        data.copy_(kept - step)
        low = [o.detach().clone() for o in as_tuple(func(*inputs))]
        data.copy_(kept + step)
        high = [o.detach().clone() for o in as_tuple(func(*inputs))]
    finally:
        data.copy_(kept)
    place = "" if index is None else "on index %s " % (index,)
    for a, b in zip(low, high):
        for what, one, two in (("shape", a.shape, b.shape), ("dtype", a.dtype, b.dtype)):
            if one != two:
                raise AssertionError(
                    "Expected `func` to return outputs with the same %s when inputs are perturbed %sby %s, but "
                    "got: %ss %s and %s." % (what, place, size, what, one, two)
                )
    return [((b - a) / (2 * size)).reshape(-1) for a, b in zip(low, high)]


def _combined(real, imag):
    return real if imag is None else [a + 1j * b for a, b in zip(real, imag)]


def numerical(func, inputs, outputs, eps):
    """A list of Jacobians per output, one per wanted input."""
    rows = [[] for _ in outputs]
    for x in wanted_inputs(inputs):
        columns = [[] for _ in outputs]
        data = x.data
        for index in itertools.product(*[range(size) for size in x.size()]):
            place = data[index]  # a view of one element
            real = slopes(func, inputs, place, eps, eps, index)
            imag = slopes(func, inputs, place, eps * 1j, eps, index) if x.dtype.is_complex else None
            for column, slope in zip(columns, _combined(real, imag)):
                column.append(slope)
        for row, column, out in zip(rows, columns, outputs):
            dtype = torch.promote_types(x.dtype, out.dtype) if is_inexact(out) else x.dtype
            full = x.new_zeros((x.numel(), out.numel()), dtype=dtype)
            for k, slope in enumerate(column):
                full[k] = slope
            row.append(full)
    return rows


def numerical_along(func, inputs, x, u, eps):
    """The derivative of every output along u, a pair of directions where x is complex."""
    data = x.data
    if not x.is_complex():
        return slopes(func, inputs, data, (u * eps).view(x.size()), eps)
    real = slopes(func, inputs, data, (u[0] * eps).view(x.size()), eps)
    return _combined(real, slopes(func, inputs, data, (u[1] * eps).view(x.size()) * 1j, eps))


# --- from backward ---

_NONDETERMINISTIC = (
    "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times gives different "
    "values, although analytical gradient matches numerical gradient.The tolerance for nondeterminism was %s."
    "\n\nNOTE: If your op relies on non-deterministic operations, this failure might be expected: call "
    "gradcheck/gradgradcheck with `nondet_tol=<tol>` as a keyword argument.\n"
)


def _basis(output):
    """Gradients of ones at one element each."""
    weight = torch.zeros_like(output, memory_format=torch.contiguous_format)
    flat = weight.view(-1)
    for j in range(flat.numel()):
        flat.zero_()
        flat[j] = 1
        yield weight


def _columns(rows, wanted):
    """(Jacobians, whether all dtypes fit, whether all sizes fit) from gradients per weight."""
    result, types_fit, sizes_fit = [], True, True
    for k, x in enumerate(wanted):
        jacobian = x.new_zeros((x.numel(), len(rows)))
        for i, row in enumerate(rows):
            grad = row[k]
            if grad is None:
                continue
            if grad.size() != x.size():
                sizes_fit = False
                continue
            types_fit &= grad.dtype == x.dtype
            jacobian[:, i] = grad.reshape(-1)
        result.append(jacobian)
    return result, types_fit, sizes_fit


def backward(output, inputs, nondet_tol, check_dtypes, weights=None):
    """One Jacobian per wanted input: in full, or weighted by one tensor."""
    wanted = wanted_inputs(inputs)

    def grads(weight):
        found = torch.autograd.grad(output, wanted, weight, retain_graph=True, allow_unused=True)
        return [None if g is None else g.clone() for g in found]

    first, second = [[grads(w) for w in (_basis(output) if weights is None else weights)] for _ in range(2)]
    result, types_fit, sizes_fit = _columns(first, wanted)
    again, _, _ = _columns(second, wanted)
    if check_dtypes and not types_fit:
        raise GradcheckError("Gradient has dtype mismatch")
    if not sizes_fit:
        raise GradcheckError("Analytical gradient has incorrect size")
    for one, two in zip(result, again):
        if one.numel() and (one - two).abs().max() > nondet_tol:
            raise GradcheckError(_NONDETERMINISTIC % nondet_tol)
    return result


# --- from forward mode ---


def _dual_outputs(func, inputs, tangents, check_dtypes):
    """Tangents of the inexact outputs, flat; tangents of inputs by identity."""
    forward_ad = torch.autograd.forward_ad
    duals = []
    for x in inputs:
        if is_tensor_like(x) and x.requires_grad:
            x = forward_ad.make_dual(x.detach(), tangents.pop(0))
        duals.append(x)
    result = []
    for out in as_tuple(func(*duals)):
        if not is_inexact(out):
            continue
        value, tangent = forward_ad.unpack_dual(out)
        if tangent is None:
            tangent = torch.zeros_like(value)
        elif check_dtypes and value.is_complex() != tangent.is_complex():
            raise GradcheckError("Forward AD gradient has dtype mismatch.")
        result.append(tangent.detach().reshape(-1))
    return result


def forward(func, inputs, outputs, check_dtypes=False, directions=None):
    """A list of Jacobians per wanted input, one per inexact output; with directions: derivatives along them."""
    wanted = wanted_inputs(inputs)
    zeros = [torch.zeros_like(x) for x in wanted]
    outputs = [o for o in outputs if is_inexact(o)]
    result = []
    with torch.autograd.forward_ad.dual_level():
        for k, x in enumerate(wanted):
            if directions is not None:
                tangents = list(zeros)
                tangents[k] = directions[k].view(x.shape).to(x.dtype)
                result.append(_dual_outputs(func, inputs, tangents, check_dtypes))
                continue
            rows = []
            for weight in _basis(x.detach()):
                tangents = list(zeros)
                tangents[k] = weight.clone()
                rows.append(_dual_outputs(func, inputs, tangents, check_dtypes))
            result.append(
                [
                    torch.stack([row[i] for row in rows]) if rows else out.new_zeros((0, out.numel()))
                    for i, out in enumerate(outputs)
                ]
            )
    return result


# --- random directions, from a stream of their own ---


def directions(wanted, outputs):
    """(one per input, a pair for a complex one; one per output): random, not negative, of length one."""
    generator = torch.Generator()

    def draw(x, dtype):
        vector = torch.rand(x.numel(), generator=generator, device="cpu").to(x.device, dtype)
        return vector / vector.norm()

    along = []
    for x in wanted:
        dtype = x.real.dtype if x.is_complex() else x.dtype
        along.append((draw(x, dtype), draw(x, dtype)) if x.is_complex() else draw(x, dtype))
    return along, [draw(out, out.dtype) for out in outputs]
