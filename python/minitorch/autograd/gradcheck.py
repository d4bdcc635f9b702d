# SPDX-License-Identifier: BSD-3-Clause
"""Checks of gradients against differences: gradcheck and gradgradcheck."""

import sys

import minitorch as torch
from minitorch.autograd import _jacobians
from minitorch.autograd._gradcheck_extra import (
    check_batched,
    check_batched_forward,
    check_undefined_backward,
    check_undefined_forward,
    check_zero_weights,
)
from minitorch.autograd._jacobians import GradcheckError, as_tuple, differentiable, is_inexact, wanted_inputs
from minitorch.overrides import is_tensor_like

__all__ = ["gradcheck", "gradgradcheck", "GradcheckError"]


def _check_inputs(inputs):
    import warnings

    for i, x in enumerate(inputs):
        if not is_tensor_like(x) or not x.requires_grad:
            continue
        if x.is_sparse or x.layout is not torch.strided or not is_inexact(x):
            raise ValueError(
                "gradcheck expects strided tensors of floating point or complex numbers, input %d is none" % i
            )
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
    if not wanted_inputs(inputs):
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of them have "
            "requires_grad=True."
        )


class _Check:
    """One comparison: of a function whose outputs (backward) or inputs (forward mode) are real, with its differences.
    `part` names the part of complex values that it looks at, `which` says where those are."""

    def __init__(self, func, inputs, options, use_forward=False, part=None, which=()):
        self.func, self.inputs, self.options = func, inputs, options
        self.use_forward, self.part, self.which = use_forward, part, which
        self.all_outputs = as_tuple(func(*inputs))
        self.outputs = differentiable(self.all_outputs)

    def run(self):
        if not self.outputs:
            self.expect_zero()
        elif self.options["fast_mode"]:
            self.compare_along_directions()
        else:
            self.compare()

    def close(self, a, b, atol):
        dtype = torch.promote_types(a.dtype, b.dtype)
        return torch.allclose(a.to(dtype), b.to(dtype), self.options["rtol"], atol)

    def expect_zero(self):
        func, inputs, eps = self.func, self.inputs, self.options["eps"]
        if self.options["fast_mode"]:
            wanted = wanted_inputs(inputs)
            along, _ = _jacobians.directions(wanted, ())
            found = [
                slope.abs().max() > self.options["nondet_tol"]
                for x, u in zip(wanted, along)
                for slope in _jacobians.numerical_along(func, inputs, x, u, eps)
                if slope.numel()
            ]
        else:
            rows = _jacobians.numerical(func, inputs, self.all_outputs, eps)
            found = [jacobian.ne(0).any() for row in rows for jacobian in row]
        if any(found):
            raise GradcheckError("Numerical gradient for function expected to be zero")

    # --- in full ---

    def numerical(self):
        rows = _jacobians.numerical(self.func, self.inputs, self.all_outputs, self.options["eps"])
        return [row for out, row in zip(self.all_outputs, rows) if out.requires_grad]

    def analytical(self, i, nondet_tol=None):
        """The Jacobians of differentiable output i."""
        check_dtypes = self.options["check_grad_dtypes"]
        if not self.use_forward:
            tolerance = self.options["nondet_tol"] if nondet_tol is None else nondet_tol
            return _jacobians.backward(self.outputs[i], self.inputs, tolerance, check_dtypes)
        if not hasattr(self, "_forward"):
            self._forward = _jacobians.forward(self.func, self.inputs, self.all_outputs, check_dtypes)
        place = self.place(i)
        return [row[place] for row in self._forward]

    def place(self, i):
        """The number of differentiable output i among the inexact ones."""
        inexact = [out for out in self.all_outputs if is_inexact(out)]
        return [k for k, out in enumerate(inexact) if out.requires_grad][i]

    def compare(self):
        for i, row in enumerate(self.numerical()):
            for j, (a, n) in enumerate(zip(self.analytical(i), row)):
                if not self.close(a, n, self.options["atol"]):
                    raise GradcheckError(self.mismatch(a, n, i, j))

    def mismatch(self, analytical, numerical, i, j):
        lead = ""
        if self.part and (j if self.use_forward else i) in self.which:
            what = "inputs" if self.use_forward else "outputs"
            lead = "While considering the %s part of complex %s only, " % (self.part, what)
        return (
            "%sJacobian %smismatch for output %d with respect to input %d,\nnumerical:%s\nanalytical:%s\n"
            % (
                lead,
                "computed with forward mode " if self.use_forward else "",
                i,
                j,
                numerical,
                analytical,
            )
        )

    # --- along random directions ---

    def compare_along_directions(self):
        wanted = wanted_inputs(self.inputs)
        along, weights = _jacobians.directions(wanted, () if self.use_forward else self.outputs)
        analytical = (self.forward_along if self.use_forward else self.backward_along)(along, weights)
        for j, (x, u) in enumerate(zip(wanted, along)):
            slopes = _jacobians.numerical_along(self.func, self.inputs, x, u, self.options["eps"])
            slopes = [slope for slope, out in zip(slopes, self.all_outputs) if out.requires_grad]
            for i, slope in enumerate(slopes):
                weight = None if self.use_forward else weights[i]
                n = slope if weight is None else (slope * weight).sum()
                a = analytical[i][j]
                if not self.close(a, n, self.scaled_atol(u, weight)):
                    raise GradcheckError(self.mismatch(a, n, i, j) + self.in_full(i, j))

    def backward_along(self, along, weights):
        result = []
        for out, v in zip(self.outputs, weights):
            rows = _jacobians.backward(
                out,
                self.inputs,
                self.options["nondet_tol"],
                self.options["check_grad_dtypes"],
                [v.reshape(out.shape)],
            )
            row = []
            for grad, u in zip(rows, along):
                grad = grad.reshape(-1)
                if grad.is_complex():
                    row.append((grad.real * u[0]).sum() + 1j * (grad.imag * u[1]).sum())
                else:
                    row.append((grad * u).sum())
            result.append(row)
        return result

    def forward_along(self, along, _weights):
        check_dtypes = self.options["check_grad_dtypes"]
        rows = _jacobians.forward(self.func, self.inputs, self.all_outputs, check_dtypes, along)
        return [[row[self.place(i)] for row in rows] for i in range(len(self.outputs))]

    def scaled_atol(self, u, v):
        """The bound of a sum of elements, each of which may be off by atol."""
        parts = u if isinstance(u, tuple) else (u,)
        scale = sum([float(part.sum()) for part in parts])
        return self.options["atol"] * scale * (1.0 if v is None else float(v.abs().sum()))

    def in_full(self, i, j):
        """What the full Jacobians say, for the error."""
        numerical, analytical = self.numerical()[i][j], self.analytical(i, float("inf"))[j]
        text = (
            "\nThe above quantities relating the numerical and analytical jacobians are computed in fast mode. Below, we "
            "recompute numerical and analytical jacobians in slow mode:\n\nNumerical:\n %s\nAnalytical:\n%s\n\nThe max "
            "per-element difference (slow mode) is: %s.\n"
            % (numerical, analytical, (numerical - analytical).abs().max())
        )
        if self.close(analytical, numerical, self.options["atol"]):
            text += (
                "\nFast gradcheck failed but element-wise differences are small. This means that the test might've "
                "passed in slow_mode! Call gradcheck/gradgradcheck with `fast_mode=False` as a keyword argument.\n"
            )
        return text


# --- complex values in two parts ---


def _output_part(func, take):
    def part(*inputs):
        return tuple([take(o) if o.is_complex() else o for o in as_tuple(func(*inputs))])

    return part


def _input_part(func, inputs, which, join):
    """The function of one part of its complex inputs, the other part as it is."""

    def part(*values):
        values = list(values)
        for i in which:
            values[i] = join(values[i], inputs[i])
        return as_tuple(func(*values))

    return part


def _check_backward(func, inputs, options, outputs):
    which = [i for i, o in enumerate(differentiable(outputs)) if o.is_complex()]
    if not any(o.is_complex() for o in as_tuple(outputs)):
        return _Check(func, inputs, options).run()
    for part, take in (("imaginary", torch.imag), ("real", torch.real)):
        _Check(_output_part(func, take), inputs, options, part=part, which=which).run()


def _check_forward(func, inputs, options, check_undefined):
    which = [i for i, x in enumerate(inputs) if is_tensor_like(x) and x.is_complex()]
    checks = []
    if not which:
        checks.append(_Check(func, inputs, options, use_forward=True))
    else:
        for part, join, take in (
            ("imaginary", lambda x, whole: whole.real + x * 1j, torch.imag),
            ("real", lambda x, whole: x + whole.imag * 1j, torch.real),
        ):
            values = [take(x) if i in which else x for i, x in enumerate(inputs)]
            real = _input_part(func, inputs, which, join)
            checks.append(_Check(real, values, options, use_forward=True, part=part, which=which))
    for check in checks:
        check.run()
    for check in checks if check_undefined else ():
        check_undefined_forward(check.func, check.inputs, check.outputs)


def _gradcheck(func, inputs, options):
    inputs = as_tuple(inputs)
    _check_inputs(inputs)
    outputs = func(*inputs)
    if options["check_backward_ad"]:
        _check_backward(func, inputs, options, outputs)
    if options["check_forward_ad"]:
        _check_forward(func, inputs, options, options["check_undefined_grad"])
    if options["check_batched_forward_grad"]:
        check_batched_forward(func, inputs)
    if not options["check_backward_ad"]:
        return True
    if options["check_batched_grad"]:
        for i, out in enumerate(differentiable(outputs)):
            check_batched(out, inputs, i)
    check_zero_weights(differentiable(outputs), inputs, options["masked"])
    if options["check_undefined_grad"]:
        check_undefined_backward(func, inputs)
    return True


def _expect(*pairs):
    for condition, text in pairs:
        if not condition:
            raise AssertionError(text)


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
    """gradcheck(func, inputs, *, eps=1e-6, atol=1e-5, rtol=1e-3, raise_exception=True, nondet_tol=0.0,
    check_undefined_grad=True, check_grad_dtypes=False, check_batched_grad=False, check_batched_forward_grad=False,
    check_forward_ad=False, check_backward_ad=True, fast_mode=False, masked=None) -> bool

    Compares the gradients of `func` at `inputs` with differences of its values at a distance of `eps`.  Inputs that require
    gradients should be of double precision (a warning otherwise); ValueError when none does, RuntimeError when one has a
    stride of 0.  A difference raises GradcheckError, a RuntimeError with both Jacobians, or gives False without
    `raise_exception`.  Two backward passes may differ by `nondet_tol`.  `check_forward_ad` looks at forward mode,
    `check_backward_ad` at backward; `fast_mode` compares along random directions only.

    Example::

        >>> x = torch.ones(2, dtype=torch.float64, requires_grad=True)
        >>> torch.autograd.gradcheck(torch.sin, (x,))
        True
        >>> torch.autograd.gradcheck(lambda t: t.detach() * t, (x,), raise_exception=False)
        False
    """
    _expect(
        (
            check_forward_ad or check_backward_ad,
            "Expected at least one of check_forward_ad or check_backward_ad to be True",
        ),
        (
            check_backward_ad or not check_batched_grad,
            "Setting check_batched_grad=True requires check_backward_ad to be True",
        ),
        (
            check_forward_ad or not check_batched_forward_grad,
            "Setting check_batched_forward_grad=True requires check_forward_ad to be True",
        ),
    )
    options = {
        "eps": eps,
        "atol": atol,
        "rtol": rtol,
        "nondet_tol": nondet_tol,
        "check_undefined_grad": check_undefined_grad,
        "check_grad_dtypes": check_grad_dtypes,
        "check_batched_grad": check_batched_grad,
        "check_batched_forward_grad": check_batched_forward_grad,
        "check_forward_ad": check_forward_ad,
        "check_backward_ad": check_backward_ad,
        "fast_mode": fast_mode,
        "masked": masked,
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
        dtype = out.dtype if is_inexact(out) else torch.float64
        weight = torch.rand(out.shape, dtype=dtype, device=out.device) * 2 - 1
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
    """gradgradcheck(func, inputs, grad_outputs=None, *, eps=1e-6, atol=1e-5, rtol=1e-3,
    gen_non_contig_grad_outputs=False, ...) -> bool

    Compares second derivatives of `func` with differences of its gradients, with respect to the inputs and to the
    gradients of the outputs (random ones where none are given).  Options and errors are those of `gradcheck`;
    `check_rev_over_rev` looks at backward of backward, `check_fwd_over_rev` at forward mode of backward.

    Example::

        >>> x = torch.ones(2, dtype=torch.float64, requires_grad=True)
        >>> torch.autograd.gradgradcheck(torch.sin, (x,))
        True
    """
    _expect(
        (
            check_fwd_over_rev or check_rev_over_rev,
            "Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True",
        ),
        (
            check_rev_over_rev or not check_undefined_grad,
            "Setting check_undefined_grad=True requires check_rev_over_rev to be True",
        ),
        (
            check_rev_over_rev or not check_batched_grad,
            "Setting check_batched_grad=True requires check_rev_over_rev to be True",
        ),
    )
    inputs = as_tuple(inputs)
    if grad_outputs is None:
        weights = _random_weights(differentiable(func(*inputs)), gen_non_contig_grad_outputs)
    else:
        weights = as_tuple(grad_outputs)
    if not weights:
        raise TypeError("gradgradcheck: nothing that the function gives requires grad")
    marks = [is_tensor_like(x) and x.requires_grad for x in inputs + weights]

    def gradients(*args):
        # Forward mode gets its inputs without the mark that they had.
        args = [x.requires_grad_() if mark else x for x, mark in zip(args, marks)]
        values, factors = args[: len(inputs)], args[len(inputs) :]
        outputs = differentiable(func(*values))
        asked = [x for x, mark in zip(values, marks) if mark]
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
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad,
        check_forward_ad=check_fwd_over_rev,
        check_backward_ad=check_rev_over_rev,
        fast_mode=fast_mode,
        masked=masked,
    )


class _Module(type(sys)):
    """`torch.autograd.gradcheck` is the function; importing this module puts the module in its place."""

    def __call__(self, *args, **kwargs):
        return gradcheck(*args, **kwargs)


sys.modules[__name__].__class__ = _Module
