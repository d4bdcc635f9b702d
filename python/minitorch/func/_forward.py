# SPDX-License-Identifier: BSD-3-Clause
"""Transforms along directions: in forward mode where that is free, else by differentiating a backward pass twice (there is one
level of forward mode, so that inner ones of nested transforms take the other way)."""

import functools

import minitorch as torch
from minitorch import _C
from minitorch.func._reverse import finish, grads_of, jacrev, pick, plain, split_aux, start
from minitorch.func._tree import (
    bare,
    check_given,
    check_outputs,
    check_real,
    flatten,
    has_gradients,
    same_structure,
    structure,
)


_JVP = "jvp(f, primals, tangents)"
_INDEPENDENT = (
    "jvp(f, primals, tangents, strict=True): The output of f is independent of the inputs. This is not allowed with "
    "strict=True."
)


def _dual(func, leaves, rebuild, tangents, has_aux, who, strict, guard):
    """(output, tangents of its leaves, aux) in forward mode."""
    forward_ad = torch.autograd.forward_ad
    with guard(), forward_ad.dual_level():
        duals = [_C._adopt(forward_ad.make_dual(plain(x), plain(t))) for x, t in zip(leaves, tangents)]
        output, aux = split_aux(func(*rebuild(duals)), has_aux, who)
        outputs, rebuild_output = flatten(output)
        check_outputs(outputs, who)
        values, derivatives = [], []
        for out in outputs:
            value, tangent = forward_ad.unpack_dual(out)
            if tangent is None and strict:
                raise RuntimeError(_INDEPENDENT)
            values.append(value)
            derivatives.append(torch.zeros_like(value) if tangent is None else tangent)
        aux_leaves, rebuild_aux = flatten(aux)
        aux_values = [forward_ad.unpack_dual(a)[0] if isinstance(a, torch.Tensor) else a for a in aux_leaves]
        return rebuild_output(values), rebuild_output(derivatives), rebuild_aux(aux_values)


def _twice(func, leaves, rebuild, tangents, has_aux, who, strict, guard):
    """The same by two backward passes: the first is linear in its weights, the second differentiates it by them."""
    recording = torch.is_grad_enabled()
    with guard(), torch.enable_grad():
        started = start(leaves)
        output, aux = split_aux(func(*rebuild(started)), has_aux, who)
        outputs, rebuild_output = flatten(output)
        check_outputs(outputs, who)
        if strict and not all(out.requires_grad for out in outputs):
            raise RuntimeError(_INDEPENDENT)
        weights = [torch.zeros_like(out, requires_grad=has_gradients(out)) for out in outputs]
        grads = grads_of(outputs, started, weights)
        derivatives = grads_of(grads, weights, list(tangents))
    own = started + weights
    return [finish(tree, own, recording) for tree in (output, rebuild_output(derivatives), aux)]


def _along(func, primals, tangents, has_aux, who, strict=False, guard=_C._Transform):
    leaves, rebuild = flatten(primals)
    directions, _ = flatten(tangents)
    for what, values in (("primals", leaves), ("tangents", directions)):
        for value in values:
            if not isinstance(value, torch.Tensor):
                raise RuntimeError(
                    "%s: Expected %s to only contain Tensors, got %s" % (who, what, type(value))
                )
    for x, t in zip(leaves, directions):
        if x.shape != t.shape:
            raise RuntimeError(
                "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not "
                "supported. Tensor is of size %s while the given forward gradient is of size %s."
                % (list(x.shape), list(t.shape))
            )
    if guard is _C._Transform:
        leaves, directions = [bare(x) for x in leaves], [bare(t) for t in directions]
    free = torch.autograd.forward_ad._current_level < 0 and _C._is_fwd_grad_enabled()
    return (_dual if free else _twice)(func, leaves, rebuild, directions, has_aux, who, strict, guard)


def jvp(func, primals, tangents, *, strict=False, has_aux=False):
    """jvp(func, primals, tangents, *, strict=False, has_aux=False) -> (output, product) or (output, product, aux)

    The value of func at `primals`, a tuple, and its derivative along `tangents`, a tuple of the same structure and shapes.

    Example::

        >>> torch.func.jvp(torch.sin, (torch.tensor(0.),), (torch.tensor(2.),))
        (tensor(0.), tensor(2.))
    """
    who = _JVP
    if not isinstance(primals, tuple):
        raise RuntimeError(
            "%s: Expected primals to be a tuple. E.g. it should be valid to call f(*primals)." % who
        )
    if not same_structure(primals, tangents):
        raise RuntimeError(
            "%s: Expected primals and tangents to have the same python structure. For example, if primals is a tuple of 3 "
            "tensors, tangents also must be. Got primals with structure %s and tangents with structure %s"
            % (who, structure(primals), structure(tangents))
        )
    if not primals:
        raise RuntimeError("%s: Expected primals to be non-empty, got ()" % who)
    output, product, aux = _along(func, primals, tangents, has_aux, who, strict)
    return (output, product, aux) if has_aux else (output, product)


def _basis(leaves):
    """For every element of every leaf, directions that are one there and zero elsewhere."""
    for k, x in enumerate(leaves):
        for j in range(x.numel()):
            one = torch.zeros(x.numel(), dtype=x.dtype, device=x.device)
            one[j] = 1
            yield [one.view(x.shape) if i == k else torch.zeros_like(y) for i, y in enumerate(leaves)]


def jacfwd(func, argnums=0, has_aux=False, *, randomness="error"):
    """jacfwd(func, argnums=0, has_aux=False, *, randomness='error') -> function that gives the Jacobian of func.

    By one run of func per element of the arguments; else as `jacrev`. RuntimeError for complex arguments or outputs.

    Example::

        >>> torch.func.jacfwd(lambda x: x**2)(torch.tensor([1., 2.]))
        tensor([[2., 0.],
                [0., 4.]])
    """

    if randomness not in ("error", "different", "same"):
        raise RuntimeError(
            "Only allowed values for randomness are 'error', 'different', or 'same'. Got %s" % randomness
        )

    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        who = _JVP
        chosen, replace = pick(args, argnums, who)
        leaves, rebuild = flatten(chosen)
        check_given(leaves)
        check_real(leaves, "jacfwd", "inputs")

        def of_leaves(*values):
            return func(*replace(rebuild(list(values))), **kwargs)

        outputs, rebuild_output, parts, aux = jacobians(of_leaves, leaves, has_aux, who)
        check_real(outputs, "jacfwd", "outputs")
        matrix = rebuild_output([rebuild(part) for part in parts])
        return (matrix, aux) if has_aux else matrix

    return wrapper


def _version(tensor):
    return None if tensor.is_inference() else tensor._version


def jacobians(func, leaves, has_aux=False, who="jacobian", guard=_C._Transform):
    """(outputs of func, what makes a tree of such, for each the list of its Jacobians by the leaves, aux)"""
    columns, output, aux = [], None, None
    before, versions = [x.clone() for x in leaves], [_version(x) for x in leaves]
    for directions in _basis(leaves):
        changed = columns and versions != [
            _version(x) for x in leaves
        ]  # func works in place: each run needs its own
        values = [x.clone() for x in before] if changed else leaves
        output, product, aux = _along(func, tuple(values), tuple(directions), has_aux, who, guard=guard)
        columns.append(flatten(product)[0])
    if output is None:
        output, aux = split_aux(func(*leaves), has_aux, who)
    outputs, rebuild_output = flatten(output)
    parts = [_assemble(columns, k, out, leaves) for k, out in enumerate(outputs)]
    return outputs, rebuild_output, parts, aux


def _assemble(columns, k, out, leaves):
    """The Jacobians of output k by each argument."""
    result, at = [], 0
    for x in leaves:
        size = out.shape + x.shape
        part = [column[k] for column in columns[at : at + x.numel()]]
        result.append(torch.stack(part, -1).reshape(size) if part else out.new_zeros(size))
        at += x.numel()
    return result


def hessian(func, argnums=0):
    """hessian(func, argnums=0) -> function that gives the matrix of second derivatives: jacfwd of jacrev.

    Example::

        >>> torch.func.hessian(lambda x: (x**3).sum())(torch.tensor([1., 2.]))
        tensor([[ 6.,  0.],
                [ 0., 12.]])
    """
    return jacfwd(jacrev(func, argnums), argnums)


def linearize(func, *primals):
    """linearize(func, *primals) -> (output, jvp_fn)

    jvp_fn(*tangents) gives the derivative of func at `primals` along tangents of the same structure; func runs once.

    Example::

        >>> output, derivative = torch.func.linearize(torch.sin, torch.tensor(0.))
        >>> derivative(torch.tensor(2.))
        tensor(2.)
    """
    who = "linearize(f, *primals)"
    leaves, rebuild = flatten(primals)
    check_given(leaves)
    recording = torch.is_grad_enabled()
    with _C._Transform(), torch.enable_grad():
        started = start(leaves)
        output = func(*rebuild(started))
        outputs, rebuild_output = flatten(output)
        check_outputs(outputs, who)
        weights = [torch.zeros_like(out, requires_grad=has_gradients(out)) for out in outputs]
        grads = grads_of(outputs, started, weights)

    def jvp_fn(*tangents):
        if not same_structure(primals, tangents):
            raise RuntimeError(
                "Expected the tangents %s to have the same structure as the primals %s" % (tangents, primals)
            )
        directions, _ = flatten(tangents)
        for i, (x, t) in enumerate(zip(leaves, directions)):
            for what in ("shape", "dtype"):
                if getattr(x, what) != getattr(t, what):
                    raise RuntimeError(
                        "tangent:%d with %s %s in flattened pytree doesn't match the %s %s of the corresponding primal."
                        % (i, what, getattr(t, what), what, getattr(x, what))
                    )
        mode = torch.is_grad_enabled()
        with torch.enable_grad():
            products = grads_of(grads, weights, directions)
        return rebuild_output(finish(products, started + weights, mode))

    return finish(output, started, recording), jvp_fn
