# SPDX-License-Identifier: BSD-3-Clause
"""Checks of gradients against differences: gradcheck and gradgradcheck.

`fast_mode` runs the full check; forward mode is not checked.
"""

import itertools
import warnings

import minitorch as torch

__all__ = ["gradcheck", "gradgradcheck", "GradcheckError"]


class GradcheckError(RuntimeError):
    """A gradient that is not what it should be."""


def _as_tuple(x):
    return tuple(x) if isinstance(x, (tuple, list)) else (x,)


def _is_inexact(x):
    return isinstance(x, torch.Tensor) and (x.is_floating_point() or x.is_complex())


def _differentiable(outputs):
    return tuple([o for o in _as_tuple(outputs) if isinstance(o, torch.Tensor) and o.requires_grad])


def _inputs_with_grad(inputs):
    return [x for x in inputs if isinstance(x, torch.Tensor) and x.requires_grad]


def _check_inputs(inputs):
    for i, x in enumerate(inputs):
        if not isinstance(x, torch.Tensor) or not x.requires_grad:
            continue
        if x.dtype not in (torch.float64, torch.complex128):
            warnings.warn(
                "Input #%d requires gradient and is not a double precision floating point or complex. This "
                "check will likely fail if all the inputs are not of double precision floating point or "
                "complex. " % i,
                stacklevel=4,
            )
        if any(stride <= 0 and size > 1 for stride, size in zip(x.stride(), x.size())):
            raise RuntimeError(
                "The %dth input has a dimension with stride 0. gradcheck only supports inputs that are "
                "non-overlapping to be able to compute the numerical gradients correctly. You should call "
                ".contiguous on the input before passing it to gradcheck." % i
            )
    if not _inputs_with_grad(inputs):
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of them have "
            "requires_grad=True."
        )


# --- Jacobians: one tensor (numel of input, numel of output) per output and input ---


def _numerical_jacobians(func, inputs, outputs, eps):
    """From central differences; outputs are real.  For a complex input, d/dx + i d/dy."""
    rows = [[] for _ in outputs]
    for x in _inputs_with_grad(inputs):
        columns = [[] for _ in outputs]
        for index in itertools.product(*[range(size) for size in x.size()]):
            total = None
            for step in (eps, eps * 1j) if x.is_complex() else (eps,):
                slopes = _slopes(func, inputs, x.data, index, step, eps)
                if total is None:
                    total = slopes
                else:
                    total = [real + 1j * imag for real, imag in zip(total, slopes)]
            for column, slope in zip(columns, total):
                column.append(slope)
        for row, column, out in zip(rows, columns, outputs):
            dtype = torch.promote_types(x.dtype, out.dtype) if _is_inexact(out) else x.dtype
            full = torch.stack(column).to(dtype) if column else x.new_zeros((0, out.numel()), dtype=dtype)
            row.append(full.reshape(x.numel(), out.numel()))
    return rows


def _slopes(func, inputs, data, index, step, eps):
    kept = data[index].clone()
    try:
        data[index] = kept - step
        low = _values(func(*inputs))
        data[index] = kept + step
        high = _values(func(*inputs))
    finally:
        data[index] = kept
    for i, (a, b) in enumerate(zip(low, high)):
        if a.size() != b.size() or a.dtype != b.dtype:
            raise AssertionError(
                "Expected `func` to return outputs with the same shape and dtype when inputs are perturbed "
                "on index %d by %s, but got: %s %s and %s %s" % (i, eps, a.size(), a.dtype, b.size(), b.dtype)
            )
    return [((b - a) / (2 * eps)).reshape(-1) for a, b in zip(low, high)]


def _values(outputs):
    return [o.detach().clone() for o in _as_tuple(outputs)]


def _analytical_jacobians(output, inputs, nondet_tol, check_dtypes):
    wanted = _inputs_with_grad(inputs)
    first, second = [_backward_rows(output, wanted) for _ in range(2)]
    result, types_fit, sizes_fit = [], True, True
    for k, x in enumerate(wanted):
        columns = []
        for row in first:
            grad = row[k]
            if grad is None:
                grad = torch.zeros_like(x)
            types_fit &= grad.dtype == x.dtype
            sizes_fit &= grad.size() == x.size()
            columns.append(grad.reshape(-1) if grad.size() == x.size() else x.new_zeros(x.numel()))
        result.append(torch.stack(columns, 1) if columns else x.new_zeros((x.numel(), 0)))
    if check_dtypes and not types_fit:
        raise GradcheckError("Gradient has dtype mismatch")
    if not sizes_fit:
        raise GradcheckError("Analytical gradient has incorrect size")
    for one, two in zip(itertools.chain(*first), itertools.chain(*second)):
        if one is not None and one.numel() and (one - two).abs().max() > nondet_tol:
            raise GradcheckError(
                "Backward is not reentrant, i.e., running backward with same input and grad_output multiple "
                "times gives different values, although analytical gradient matches numerical gradient.The "
                "tolerance for nondeterminism was %s." % nondet_tol
            )
    return result


def _backward_rows(output, wanted):
    """For every element of the output its gradients."""
    rows = []
    for j in range(output.numel()):
        weight = torch.zeros_like(output)
        weight[tuple(_position(j, output.size()))] = 1
        rows.append(torch.autograd.grad(output, wanted, weight, retain_graph=True, allow_unused=True))
    return rows


def _position(number, sizes):
    result = []
    for size in reversed(sizes):
        result.append(number % size)
        number //= size
    return reversed(result)


# --- the checks ---


def _parts(func, take):
    """The function with the real or imaginary parts of its complex outputs."""

    def part(*inputs):
        return tuple([take(o) if o.is_complex() else o for o in _as_tuple(func(*inputs))])

    return part


def _mismatch(analytical, numerical, output, input, complex_outputs, imaginary):
    lead = ""
    if output in complex_outputs:
        lead = "While considering the %s part of complex outputs only, " % (
            "imaginary" if imaginary else "real"
        )
    return "%sJacobian mismatch for output %d with respect to input %d,\nnumerical:%s\nanalytical:%s\n" % (
        lead,
        output,
        input,
        numerical,
        analytical,
    )


def _close(a, b, rtol, atol):
    dtype = torch.promote_types(a.dtype, b.dtype)
    return torch.allclose(a.to(dtype), b.to(dtype), rtol, atol)


def _check(func, inputs, options, complex_outputs=(), imaginary=False):
    outputs = _as_tuple(func(*inputs))
    numerical = _numerical_jacobians(func, inputs, outputs, options["eps"])
    if not _differentiable(outputs):
        if any(jacobian.ne(0).any() for row in numerical for jacobian in row):
            raise GradcheckError("Numerical gradient for function expected to be zero")
        return
    numerical = [row for out, row in zip(outputs, numerical) if out.requires_grad]
    for i, out in enumerate(_differentiable(outputs)):
        analytical = _analytical_jacobians(out, inputs, options["nondet_tol"], options["check_grad_dtypes"])
        for j, (a, n) in enumerate(zip(analytical, numerical[i])):
            if not _close(a, n, options["rtol"], options["atol"]):
                raise GradcheckError(_mismatch(a, n, i, j, complex_outputs, imaginary))


def _check_zero_weights(func, inputs):
    """Gradients are linear in those of the outputs."""
    outputs, wanted = _differentiable(func(*inputs)), _inputs_with_grad(inputs)
    if not outputs:
        return
    weights = [torch.zeros_like(o) for o in outputs]
    for grad, x in zip(torch.autograd.grad(outputs, wanted, weights, allow_unused=True), wanted):
        if grad is None:
            continue
        if not grad.eq(0).all():
            raise GradcheckError("backward not multiplied by grad_output")
        for fits, what in ((grad.dtype == x.dtype, "type"), (grad.device == x.device, "device")):
            if not fits:
                raise GradcheckError("grad is incorrect " + what)
        if grad.size() != x.size():
            raise GradcheckError("grad is incorrect size")


def _gradcheck(func, inputs, options):
    inputs = _as_tuple(inputs)
    _check_inputs(inputs)
    outputs = _as_tuple(func(*inputs))
    differentiable = _differentiable(outputs)
    complex_outputs = [i for i, o in enumerate(differentiable) if o.is_complex()]
    if any(o.is_complex() for o in outputs):
        _check(_parts(func, torch.imag), inputs, options, complex_outputs, True)
        _check(_parts(func, torch.real), inputs, options, complex_outputs)
    else:
        _check(func, inputs, options)
    _check_zero_weights(func, inputs)
    return True


def gradcheck(
    func,
    inputs,
    *,
    eps=1e-6,
    atol=1e-5,
    rtol=1e-3,
    raise_exception=True,
    nondet_tol=0.0,
    check_undefined_grad=True,
    check_grad_dtypes=False,
    check_batched_grad=False,
    check_batched_forward_grad=False,
    check_forward_ad=False,
    check_backward_ad=True,
    fast_mode=False,
    masked=None,
):
    """gradcheck(func, inputs, *, eps=1e-6, atol=1e-5, rtol=1e-3, raise_exception=True, nondet_tol=0.0, ...)
    -> bool

    Compares the gradients of `func` with differences of its values.  Inputs that require gradients should be
    of double precision.

    Example::

        >>> x = torch.ones(2, dtype=torch.float64, requires_grad=True)
        >>> torch.autograd.gradcheck(torch.sin, (x,))
        True
    """
    if not (check_forward_ad or check_backward_ad):
        raise AssertionError("Expected at least one of check_forward_ad or check_backward_ad to be True")
    if check_batched_grad and not check_backward_ad:
        raise AssertionError("Setting check_batched_grad=True requires check_backward_ad to be True")
    if check_batched_forward_grad and not check_forward_ad:
        raise AssertionError("Setting check_batched_forward_grad=True requires check_forward_ad to be True")
    if check_forward_ad:
        raise NotImplementedError("gradcheck: forward mode is not available")
    options = {
        "eps": eps,
        "atol": atol,
        "rtol": rtol,
        "nondet_tol": nondet_tol,
        "check_grad_dtypes": check_grad_dtypes,
    }
    try:
        return _gradcheck(func, inputs, options)
    except GradcheckError:
        if raise_exception:
            raise
        return False


def _random_weights(outputs, scattered):
    weights = []
    for out in outputs:
        dtype = out.dtype if _is_inexact(out) else torch.float64
        weight = torch.rand(out.shape, dtype=dtype) * 2 - 1
        if scattered and weight.dim():
            weight = torch.stack((weight, weight), -1)[..., 0]
        weights.append(weight.requires_grad_())
    return tuple(weights)


def gradgradcheck(
    func,
    inputs,
    grad_outputs=None,
    *,
    eps=1e-6,
    atol=1e-5,
    rtol=1e-3,
    gen_non_contig_grad_outputs=False,
    raise_exception=True,
    nondet_tol=0.0,
    check_undefined_grad=True,
    check_grad_dtypes=False,
    check_batched_grad=False,
    check_fwd_over_rev=False,
    check_rev_over_rev=True,
    fast_mode=False,
    masked=False,
):
    """gradgradcheck(func, inputs, grad_outputs=None, *, eps=1e-6, atol=1e-5, rtol=1e-3, ...) -> bool

    Compares second derivatives of `func` with differences of its gradients, with respect to the inputs and to
    the gradients of the outputs (random ones where none are given).
    """
    if not (check_fwd_over_rev or check_rev_over_rev):
        raise AssertionError("Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True")
    if check_undefined_grad and not check_rev_over_rev:
        raise AssertionError("Setting check_undefined_grad=True requires check_rev_over_rev to be True")
    if check_batched_grad and not check_rev_over_rev:
        raise AssertionError("Setting check_batched_grad=True requires check_rev_over_rev to be True")
    inputs = _as_tuple(inputs)
    if grad_outputs is None:
        weights = _random_weights(_differentiable(func(*inputs)), gen_non_contig_grad_outputs)
    else:
        weights = _as_tuple(grad_outputs)
    wanted = [isinstance(x, torch.Tensor) and x.requires_grad for x in inputs]

    def gradients(*args):
        values, factors = args[: len(inputs)], args[len(inputs) :]
        outputs = _differentiable(func(*values))
        asked = [x for x, want in zip(values, wanted) if want]
        grads = torch.autograd.grad(outputs, asked, factors, create_graph=True, allow_unused=True)
        return tuple([g for g in grads if g is not None])

    return gradcheck(
        gradients,
        inputs + weights,
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        check_grad_dtypes=check_grad_dtypes,
        check_forward_ad=check_fwd_over_rev,
        check_backward_ad=check_rev_over_rev,
    )
