# SPDX-License-Identifier: BSD-3-Clause
"""Products with Jacobians and Hessians of functions, and these matrices themselves, by repeated `grad`.

`vectorize` computes nothing differently, but takes complex outputs too.
"""

import contextlib

import minitorch as torch

__all__ = ["vjp", "jvp", "jacobian", "hessian", "hvp", "vhp"]

_OUTPUTS = "outputs of the user-provided function"


# --- arguments and results ---


def _as_tuple(value, what, who):
    """(whether it was a tuple, the tensors as a tuple)"""
    is_tuple = isinstance(value, tuple)
    values = value if is_tuple else (value,)
    for i, item in enumerate(values):
        if not isinstance(item, torch.Tensor):
            found = (
                "value at index %d has type %s." % (i, type(item))
                if is_tuple
                else "given %s has type %s." % (what, type(item))
            )
            raise TypeError(
                "The %s given to %s must be either a Tensor or a tuple of Tensors but the %s"
                % (what, who, found)
            )
    return is_tuple, values


def _unpack(result, was_tuple):
    return result if was_tuple else result[0]


def _unpack_matrix(result, rows_were_tuple, columns_were_tuple):
    if not columns_were_tuple:
        result = tuple([row[0] for row in result])
    return _unpack(result, rows_were_tuple)


def _prepared(values, create_graph, need_graph):
    """Inputs whose gradients can be asked for; part of the caller's graph where that is wanted."""
    result = []
    for value in values:
        if create_graph and value.requires_grad:
            result.append(value.view_as(value))
        else:
            result.append(value.detach().requires_grad_(need_graph))
    return tuple(result)


def _finished(values, create_graph):
    if create_graph:
        return values
    if isinstance(values[0], torch.Tensor):
        return tuple([value.detach() for value in values])
    return tuple([_finished(row, create_graph) for row in values])


def _check_v(v, other, is_tuple):
    if len(other) != len(v):
        if is_tuple:
            raise RuntimeError(
                "v is a tuple of invalid length: should be %d but got %d." % (len(other), len(v))
            )
        raise RuntimeError("The given v should contain a single Tensor.")
    for i, (mine, theirs) in enumerate(zip(v, other)):
        if mine.size() != theirs.size():
            raise RuntimeError(
                "%sv has invalid size: should be %s but got %s."
                % ("Entry %d in " % i if is_tuple else "", theirs.size(), mine.size())
            )


_NEEDS_GRAD = {
    "hessian": (
        "The hessian of the user-provided function with respect to input %d is independent of the input. "
        "This is not allowed in strict mode. You should ensure that your function is thrice differentiable "
        "and that the hessian depends on the inputs."
    ),
    "jacobian": (
        "While computing the hessian, found that the jacobian of the user-provided function with respect to "
        "input %d is independent of the input. This is not allowed in strict mode. You should ensure that "
        "your function is twice differentiable and that the jacobian depends on the inputs (this would be "
        "violated by a linear function for example)."
    ),
    "grad_inputs": (
        "The gradient with respect to input %d is independent of the inputs of the user-provided function. "
        "This is not allowed in strict mode."
    ),
    "outputs": (
        "Output %d of the user-provided function does not require gradients. The outputs must be computed "
        "in a differentiable manner from the input when running in strict mode."
    ),
}


def _check_requires_grad(values, what, strict):
    if not strict:
        return
    for i, value in enumerate(values):
        if value is None:
            raise RuntimeError(
                "The output of the user-provided function is independent of input %d. This is not allowed in "
                "strict mode." % i
            )
        if not value.requires_grad:
            raise RuntimeError(_NEEDS_GRAD[what] % i)


_INDEPENDENT = {
    "back": (
        "The output of the user-provided function is independent of input %d. This is not allowed in strict "
        "mode."
    ),
    "back_trick": (
        "The gradient with respect to the input is independent of entry %d in the grad_outputs when using "
        "the double backward trick to compute forward mode gradients. This is not allowed in strict mode."
    ),
    "double_back": (
        "The jacobian of the user-provided function is independent of input %d. This is not allowed in "
        "strict mode."
    ),
    "double_back_trick": (
        "The hessian of the user-provided function is independent of entry %d in the grad_jacobian. This is "
        "not allowed in strict mode as it prevents from using the double backward trick to replace forward "
        "mode AD."
    ),
}


def _filled(grads, like, strict, create_graph, stage):
    """Zeros for gradients that are missing; strict mode does not have them."""
    result = []
    for i, grad in enumerate(grads):
        if grad is None:
            if strict:
                raise RuntimeError(_INDEPENDENT[stage] % i)
            grad = torch.zeros_like(like[i])
        elif strict and create_graph and not grad.requires_grad:
            raise RuntimeError(
                "The %s of the user-provided function is independent of input %d. This is not allowed in "
                "strict mode when create_graph=True." % ("hessian" if "double" in stage else "jacobian", i)
            )
        result.append(grad)
    return tuple(result)


def _grad(outputs, inputs, weights=None, create_graph=False, retain_graph=None):
    """Gradients, None for what does not depend; outputs that need no gradient are left out."""
    weights = (None,) * len(outputs) if weights is None else weights
    pairs = [(o, w) for o, w in zip(outputs, weights) if o is not None and o.requires_grad]
    if not pairs:
        return (None,) * len(inputs)
    outputs, weights = zip(*pairs)
    return torch.autograd.grad(
        outputs,
        inputs,
        weights,
        allow_unused=True,
        create_graph=create_graph,
        retain_graph=retain_graph,
    )


def _given_v(v, other, is_tuple, who, create_graph, text):
    """The vector of a product, checked against what it is multiplied with."""
    if v is not None:
        _, v = _as_tuple(v, "v", who)
        v = _prepared(v, create_graph, False)
        _check_v(v, other, is_tuple)
    elif len(other) != 1 or other[0].nelement() != 1:
        raise RuntimeError(text)
    return v


_ONE_INPUT = (
    "The vector v can only be None if the input to the user-provided function is a single Tensor with a "
    "single element."
)


# --- products ---


def vjp(func, inputs, v=None, create_graph=False, strict=False):
    """vjp(func, inputs, v=None, create_graph=False, strict=False) -> (outputs, product)

    The product of a vector with the Jacobian of `func` at `inputs`: one backward pass.

    Example::

        >>> torch.autograd.functional.vjp(lambda x: x**2, torch.tensor([1., 2.]), torch.ones(2))
        (tensor([1., 4.]), tensor([2., 4.]))
    """
    with torch.enable_grad():
        inputs_tuple, inputs = _as_tuple(inputs, "inputs", "vjp")
        inputs = _prepared(inputs, create_graph, True)
        outputs_tuple, outputs = _as_tuple(func(*inputs), _OUTPUTS, "vjp")
        _check_requires_grad(outputs, "outputs", strict)
        text = (
            "The vector v can only be None if the user-provided function returns a single Tensor with a "
            "single element."
        )
        v = _given_v(v, outputs, outputs_tuple, "vjp", create_graph, text)
    with torch.set_grad_enabled(create_graph or torch.is_grad_enabled()):
        product = _grad(outputs, inputs, v, create_graph)
        product = _filled(product, inputs, strict, create_graph, "back")
    outputs, product = _finished(outputs, create_graph), _finished(product, create_graph)
    return _unpack(outputs, outputs_tuple), _unpack(product, inputs_tuple)


def jvp(func, inputs, v=None, create_graph=False, strict=False):
    """jvp(func, inputs, v=None, create_graph=False, strict=False) -> (outputs, product)

    The product of the Jacobian of `func` at `inputs` with a vector, by differentiating a backward pass with
    respect to the weights of its outputs.

    Example::

        >>> torch.autograd.functional.jvp(lambda x: x**2, torch.tensor([1., 2.]), torch.ones(2))
        (tensor([1., 4.]), tensor([2., 4.]))
    """
    with torch.enable_grad():
        inputs_tuple, inputs = _as_tuple(inputs, "inputs", "jvp")
        inputs = _prepared(inputs, create_graph, True)
        v = _given_v(v, inputs, inputs_tuple, "jvp", create_graph, _ONE_INPUT)
        outputs_tuple, outputs = _as_tuple(func(*inputs), _OUTPUTS, "jvp")
        _check_requires_grad(outputs, "outputs", strict)
        weights = tuple([torch.zeros_like(out, requires_grad=True) for out in outputs])
        grads = _grad(outputs, inputs, weights, True)
        _check_requires_grad(grads, "grad_inputs", strict)
    with torch.set_grad_enabled(create_graph or torch.is_grad_enabled()):
        product = _grad(grads, weights, v, create_graph)
        product = _filled(product, outputs, strict, create_graph, "back_trick")
    outputs, product = _finished(outputs, create_graph), _finished(product, create_graph)
    return _unpack(outputs, outputs_tuple), _unpack(product, outputs_tuple)


def _scalar_and_jacobian(func, inputs, who, strict):
    outputs_tuple, outputs = _as_tuple(func(*inputs), _OUTPUTS, who)
    _check_requires_grad(outputs, "outputs", strict)
    if outputs_tuple:
        raise RuntimeError("The function given to %s should return a single Tensor" % who)
    if outputs[0].nelement() != 1:
        raise RuntimeError(
            "The Tensor returned by the function given to %s should contain a single element" % who
        )
    jac = _grad(outputs, inputs, create_graph=True)
    _check_requires_grad(jac, "jacobian", strict)
    return outputs, jac


def vhp(func, inputs, v=None, create_graph=False, strict=False):
    """vhp(func, inputs, v=None, create_graph=False, strict=False) -> (output, product)

    The product of a vector with the Hessian of a function that gives one number.

    Example::

        >>> torch.autograd.functional.vhp(lambda x: (x**3).sum(), torch.tensor([1., 2.]), torch.ones(2))
        (tensor(9.), tensor([ 6., 12.]))
    """
    with torch.enable_grad():
        inputs_tuple, inputs = _as_tuple(inputs, "inputs", "vhp")
        inputs = _prepared(inputs, create_graph, True)
        v = _given_v(v, inputs, inputs_tuple, "vhp", create_graph, _ONE_INPUT)
        outputs, jac = _scalar_and_jacobian(func, inputs, "vhp", strict)
    with torch.set_grad_enabled(create_graph or torch.is_grad_enabled()):
        product = _grad(jac, inputs, v, create_graph)
        product = _filled(product, inputs, strict, create_graph, "double_back")
    outputs, product = _finished(outputs, create_graph), _finished(product, create_graph)
    return outputs[0], _unpack(product, inputs_tuple)


def hvp(func, inputs, v=None, create_graph=False, strict=False):
    """hvp(func, inputs, v=None, create_graph=False, strict=False) -> (output, product)

    The product of the Hessian of a function that gives one number with a vector.

    Example::

        >>> torch.autograd.functional.hvp(lambda x: (x**3).sum(), torch.tensor([1., 2.]), torch.ones(2))
        (tensor(9.), tensor([ 6., 12.]))
    """
    with torch.enable_grad():
        inputs_tuple, inputs = _as_tuple(inputs, "inputs", "hvp")
        inputs = _prepared(inputs, create_graph, True)
        v = _given_v(v, inputs, inputs_tuple, "hvp", create_graph, _ONE_INPUT)
        outputs, jac = _scalar_and_jacobian(func, inputs, "hvp", strict)
        weights = tuple([torch.zeros_like(value, requires_grad=True) for value in inputs])
        double_back = _grad(jac, inputs, weights, True)
        _check_requires_grad(jac, "hessian", strict)
    with torch.set_grad_enabled(create_graph or torch.is_grad_enabled()):
        product = _grad(double_back, weights, v, create_graph)
        product = _filled(product, inputs, strict, create_graph, "double_back_trick")
    outputs, product = _finished(outputs, create_graph), _finished(product, create_graph)
    return outputs[0], _unpack(product, inputs_tuple)


# --- matrices ---


_NOT_TOGETHER = (
    "torch.autograd.functional.jacobian: `%s` and `%s` are not supported together%s. Please either set "
    "`%s` or `%s`."
)


def _check_strategy(strategy, create_graph, strict):
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError(
            'Expected strategy to be either "forward-mode" or "reverse-mode". Hint: If your function has '
            'more outputs than inputs, "forward-mode" tends to be more performant. Otherwise, prefer to use '
            '"reverse-mode".'
        )
    if strategy == "forward-mode":
        forward, backward = 'strategy="forward-mode"', 'strategy="reverse-mode"'
        if create_graph:
            raise NotImplementedError(
                _NOT_TOGETHER % ("create_graph=True", forward, " (yet)", "create_graph=False", backward)
            )
        if strict:
            raise RuntimeError(_NOT_TOGETHER % ("strict=True", forward, " (yet)", "strict=False", backward))


def _rows(i, out, inputs, create_graph, strict, vectorize):
    """The Jacobian of one output, a tensor per input."""
    columns = [[] for _ in inputs]
    for element in out.reshape(-1).unbind(0) if out.nelement() else ():
        weights = (torch.ones_like(element),) if vectorize else None  # refuses complex outputs otherwise
        grads = _grad((element,), inputs, weights, retain_graph=True, create_graph=create_graph)
        for k, grad in enumerate(grads):
            if grad is None:
                if strict:
                    raise RuntimeError(
                        "Output %d of the user-provided function is independent of input %d. This is not "
                        "allowed in strict mode." % (i, k)
                    )
                grad = torch.zeros_like(inputs[k])
            elif strict and create_graph and not grad.requires_grad:
                raise RuntimeError(
                    "The jacobian of the user-provided function is independent of input %d. This is not "
                    "allowed in strict mode when create_graph=True." % i
                )
            columns[k].append(grad)
    shapes = [out.size() + value.size() for value in inputs]
    return tuple(
        [
            torch.stack(column).view(shape) if column else value.new_zeros(shape)
            for column, value, shape in zip(columns, inputs, shapes)
        ]
    )


def _jacobian_forward(func, inputs, vectorize):
    """By forward mode, one run of the function per element of the inputs.  Nests are lists here, where they stay nests."""
    from minitorch.func._forward import jacobians

    inputs_tuple, inputs = _as_tuple(inputs, "inputs", "jacobian")
    if not vectorize:
        raise NotImplementedError(
            "Computing Jacobian using forward-AD or forward-over-reverse Hessian isonly implemented for "
            "`vectorize=True`."
        )
    if not inputs:
        raise AssertionError("Expected at least one tensor")
    for value in inputs:
        if not (value.is_floating_point() or value.is_complex()):
            raise ValueError("Expected primal to be floating point or complex, but got: %s" % value.dtype)
    inputs = _prepared(inputs, False, False)
    was_tuple = []

    def checked(*values):
        outputs_tuple, outputs = _as_tuple(func(*values), "outputs", None)
        was_tuple.append(outputs_tuple)
        return outputs

    with torch.enable_grad():
        _, _, result, _ = jacobians(checked, list(inputs), guard=contextlib.nullcontext)
    result = [[part.detach() for part in row] for row in result]
    return _unpack_matrix(result, was_tuple[0], inputs_tuple)


def jacobian(func, inputs, create_graph=False, strict=False, vectorize=False, strategy="reverse-mode"):
    """jacobian(func, inputs, create_graph=False, strict=False, vectorize=False, strategy='reverse-mode')

    All derivatives of the outputs with respect to the inputs: for a tensor in and out a tensor of the shape
    of the output followed by that of the input; nested tuples, outputs first, for tuples.  `create_graph`: the result can be
    differentiated (reverse mode only).  `strict`: an output that does not depend on an input is a RuntimeError, not zeros.
    `strategy`: "reverse-mode", a backward pass per element of the output, or "forward-mode", a tangent per element of
    the input, for which PyTorch asks for `vectorize`; that changes nothing else here.  TypeError for a func that gives no
    tensors.

    Example::

        >>> torch.autograd.functional.jacobian(lambda x: x**2, torch.tensor([1., 2.]))
        tensor([[2., 0.],
                [0., 4.]])
    """
    _check_strategy(strategy, create_graph, strict)
    if strategy == "forward-mode":
        return _jacobian_forward(func, inputs, vectorize)
    with torch.enable_grad():
        inputs_tuple, inputs = _as_tuple(inputs, "inputs", "jacobian")
        inputs = _prepared(inputs, create_graph, True)
        outputs_tuple, outputs = _as_tuple(func(*inputs), _OUTPUTS, "jacobian")
        _check_requires_grad(outputs, "outputs", strict)
        if strict and vectorize:
            raise RuntimeError(
                _NOT_TOGETHER % ("strict=True", "vectorized=True", "", "strict=False", "vectorize=False")
            )
        result = tuple(
            [_rows(i, out, inputs, create_graph, strict, vectorize) for i, out in enumerate(outputs)]
        )
    return _unpack_matrix(_finished(result, create_graph), outputs_tuple, inputs_tuple)


def hessian(
    func,
    inputs,
    create_graph=False,
    strict=False,
    vectorize=False,
    outer_jacobian_strategy="reverse-mode",
):
    """hessian(func, inputs, create_graph=False, strict=False, vectorize=False,
    outer_jacobian_strategy='reverse-mode')

    All second derivatives of a function that gives one number.

    Example::

        >>> torch.autograd.functional.hessian(lambda x: (x**3).sum(), torch.tensor([1., 2.]))
        tensor([[ 6.,  0.],
                [ 0., 12.]])
    """
    inputs_tuple, inputs = _as_tuple(inputs, "inputs", "hessian")
    if outer_jacobian_strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError('Expected strategy to be either "forward-mode" or "reverse-mode".')

    def scalar(*values):
        out = func(*values)
        is_tuple, outputs = _as_tuple(out, _OUTPUTS, "hessian")
        _check_requires_grad(outputs, "outputs", strict)
        if is_tuple:
            raise RuntimeError("The function given to hessian should return a single Tensor")
        if out.nelement() != 1:
            raise RuntimeError(
                "The Tensor returned by the function given to hessian should contain a single element"
            )
        return out.squeeze()

    def first(*values):
        if outer_jacobian_strategy == "forward-mode":
            values = tuple([value.requires_grad_(True) for value in values])
        jac = jacobian(scalar, values, create_graph=True)
        _check_requires_grad(jac, "jacobian", strict)
        return jac

    result = jacobian(first, inputs, create_graph, strict, vectorize, strategy=outer_jacobian_strategy)
    return _unpack_matrix(result, inputs_tuple, inputs_tuple)
