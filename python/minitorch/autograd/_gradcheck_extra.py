# SPDX-License-Identifier: BSD-3-Clause
"""Checks of gradcheck besides the comparison with differences: gradients that are zero or missing, batches of gradients."""

import minitorch as torch
from minitorch.autograd._jacobians import (
    GradcheckError,
    as_tuple,
    differentiable,
    directions,
    is_inexact,
    wanted_inputs,
)
from minitorch.overrides import is_tensor_like


def check_zero_weights(outputs, inputs, masked=False):
    """Gradients are linear in those of the outputs."""
    wanted = wanted_inputs(inputs)
    if not outputs:
        return
    weights = [torch.zeros_like(o) for o in outputs]
    for grad, x in zip(torch.autograd.grad(outputs, wanted, weights, allow_unused=True), wanted):
        if grad is None:
            continue
        if not (torch.allclose(grad, torch.zeros_like(grad)) if masked else grad.eq(0).all()):
            raise GradcheckError("backward not multiplied by grad_output")
        for fits, what in (
            (grad.dtype == x.dtype, "type"),
            (
                not isinstance(x, torch.Tensor) or grad.device == x.device,
                "device",
            ),  # what is no tensor has its own idea
            (grad.size() == x.size(), "size"),
        ):
            if not fits:
                raise GradcheckError("grad is incorrect " + what)


def _cut():
    """A function that gives its argument back; what comes before it gets no gradient at all."""
    global _cutter
    if _cutter is None:

        class Cut(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x.clone()

            @staticmethod
            def backward(ctx, grad):
                return None

        _cutter = Cut
    return _cutter.apply


_cutter = None


def check_undefined_backward(func, inputs):
    """Backward copes with gradients of outputs that are missing, all of them or one at a time."""
    outputs = differentiable(func(*inputs))
    if not all(isinstance(out, torch.Tensor) for out in outputs):
        return  # there is no node to cut behind
    cut = _cut()
    cases = [[cut(out) for out in outputs]]
    for missing in range(len(outputs)) if len(outputs) > 1 else ():
        fresh = differentiable(func(*inputs))
        cases.append([cut(out) if i == missing else out for i, out in enumerate(fresh)])
    for case in cases:
        _check_missing(case, wanted_inputs(inputs))


def _complain(text, error=None):
    import warnings

    warnings.warn(
        "Backwards compatibility: New undefined gradient support checking feature is enabled by default, but it may "
        "break existing callers of this function. If this is true for you, you can call this function with "
        '"check_undefined_grad=False" to disable the feature',
        stacklevel=2,
    )
    raise GradcheckError(text) from error


def _check_missing(outputs, wanted):
    if not outputs:
        return
    weights = [torch.zeros_like(out) for out in outputs]
    try:
        grads = torch.autograd.grad(outputs, wanted, weights, allow_unused=True)
    except RuntimeError as error:
        _complain("Expected backward function to handle undefined output grads.", error)
    if any(grad is not None and not grad.eq(0).all() for grad in grads):
        _complain(
            "Expected all input grads to be undefined or zero when all output grads are undefined or zero."
        )


def check_undefined_forward(func, inputs, outputs):
    """Forward mode copes with inputs that have no tangent: the same as a tangent of zeros."""
    forward_ad = torch.autograd.forward_ad
    wanted = [i for i, x in enumerate(inputs) if is_tensor_like(x) and x.requires_grad]
    along, _ = directions([inputs[i] for i in wanted], ())
    with forward_ad.dual_level():
        duals = list(inputs)
        for i, u in zip(wanted, along):
            u = u[0] if isinstance(u, tuple) else u
            duals[i] = forward_ad.make_dual(inputs[i].detach(), u.view(inputs[i].shape).to(inputs[i].dtype))
        for i in wanted:
            plain = inputs[i].detach()
            zero = forward_ad.make_dual(plain.clone(), torch.zeros_like(plain))
            results = []
            for value in (zero, plain):
                args = duals[:i] + [value] + duals[i + 1 :]
                results.append([forward_ad.unpack_dual(o)[1] for o in as_tuple(func(*args)) if is_inexact(o)])
            for k, (one, two) in enumerate(zip(*results)):
                if one is not None and two is not None and not torch.allclose(one, two):
                    raise GradcheckError(
                        "Mismatch in tangent values for output with index: %d when input: %s has an undefined tangent "
                        "value. Got: %s but expected: %s" % (k, plain, one, two)
                    )


_BATCHED = (
    "gradcheck or gradgradcheck failed while testing batched gradient computation: a batch of gradients is not the "
    "gradients one by one. Call gradcheck/gradgradcheck with `%s=False` as a keyword argument."
)


def _compare_batches(results, expected, output, option):
    for k, (one, two) in enumerate(zip(results, expected)):
        if one is not None and not torch.allclose(one, two):
            raise GradcheckError(
                "For output %d and input %d:\n\n%s\n\nGot:\n%s\n\nExpected:\n%s"
                % (output, k, _BATCHED % option, one, two)
            )


def check_batched(output, inputs, index):
    """autograd.grad of a batch of weights is autograd.grad of each."""
    wanted = wanted_inputs(inputs)
    weights = torch.stack([torch.randn_like(output) for _ in range(2)])

    def grads(weight, **options):
        found = torch.autograd.grad(output, wanted, weight, retain_graph=True, allow_unused=True, **options)
        return found

    try:
        batch = grads(weights, is_grads_batched=True)
    except RuntimeError as error:
        text = "While computing batched gradients, got: %s\n\n%s" % (error, _BATCHED % "check_batched_grad")
        raise GradcheckError(text) from error
    each = [grads(weight) for weight in weights]
    expected = [None if column[0] is None else torch.stack(column) for column in zip(*each)]
    _compare_batches(batch, expected, index, "check_batched_grad")


def check_batched_forward(func, inputs):
    """The same for forward mode, by torch.func.vmap."""
    forward_ad = torch.autograd.forward_ad
    for i, x in enumerate(inputs):
        if not is_inexact(x) or not x.requires_grad:
            continue

        def along(tangent, i=i, x=x):
            with forward_ad.dual_level():
                values = [v.detach() if is_tensor_like(v) else v for v in inputs]
                values[i] = forward_ad.make_dual(x.detach(), tangent)
                found = [forward_ad.unpack_dual(out) for out in as_tuple(func(*values)) if out is not None]
                return tuple([torch.zeros_like(p) if t is None else t for p, t in found])

        tangents = torch.stack([torch.randn_like(x) for _ in range(2)])
        expected = [torch.stack(column) for column in zip(*[along(t) for t in tangents])]
        _compare_batches(torch.func.vmap(along)(tangents), expected, i, "check_batched_forward_grad")
