# SPDX-License-Identifier: BSD-3-Clause
"""Transforms by backward passes.  Their arguments become the start of a graph of their own, which hangs on the graph around
it where there is one; results lose their history when it leads to nothing but these arguments."""

import functools

import minitorch as torch
from minitorch import _C
from minitorch.func._tree import (
    bare,
    check_differentiable,
    check_given,
    check_outputs,
    check_real,
    flatten,
    has_gradients,
    same_structure,
)


_VJP = "vjp(f, *primals)"


def start(leaves):
    """Tensors to differentiate by: views of those that have a history, new leaves else.  Tangents stay."""
    return [_C._adopt(x.view_as(x) if x.requires_grad else _new_leaf(x)) for x in map(bare, leaves)]


def _new_leaf(tensor):
    if not has_gradients(tensor):
        raise RuntimeError("only Tensors of floating point dtype can require gradients")
    leaf = _without_history(plain(tensor))
    leaf.requires_grad = True
    return leaf


def plain(tensor):
    """The tensor; a copy of an inference tensor, which could not be saved."""
    return tensor.clone() if tensor.is_inference() and not torch.is_inference_mode_enabled() else tensor


def _without_history(tensor):
    """detach(), but with the tangent."""
    forward_ad = torch.autograd.forward_ad
    if forward_ad._current_level >= 0:
        value, tangent = forward_ad.unpack_dual(tensor)
        if tangent is not None:
            return forward_ad.make_dual(value.detach(), tangent.detach())
    return tensor.detach()


def _foreign(tensor, own):
    """Whether the history of a tensor leads to a leaf that is not in `own` (ids)."""
    if tensor.grad_fn is None:
        return tensor.requires_grad and id(tensor) not in own
    seen, todo = set(), [tensor.grad_fn]
    while todo:
        node = todo.pop()
        if node in seen:
            continue
        seen.add(node)
        if type(node).__name__ == "AccumulateGrad":
            if id(node.variable) not in own:
                return True
        todo.extend([n for n, _ in node.next_functions if n is not None])
    return False


def finish(tree, started, recording):
    """The results without the history that only this transform made."""
    leaves, rebuild = flatten(tree)
    own = {id(x) for x in started if x.is_leaf}
    result = []
    for leaf in leaves:
        if isinstance(leaf, torch.Tensor) and leaf.requires_grad and not (recording and _foreign(leaf, own)):
            leaf = _without_history(leaf)
        result.append(leaf)
    return rebuild(result)


def pick(args, argnums, who):
    """(the arguments at argnums, as a tree; a function that puts others in their place)."""
    numbers = (argnums,) if isinstance(argnums, int) else argnums
    if numbers == ():
        raise RuntimeError("argnums must be non-empty")
    if not isinstance(numbers, tuple):
        raise RuntimeError("argnums must be int or Tuple[int, ...], got: %s" % type(argnums))
    for n in numbers:
        if not isinstance(n, int):
            raise RuntimeError("argnum must be int, got: %s" % type(n))
        if not -len(args) <= n < len(args):
            raise RuntimeError("Got argnum=%d, but only %d positional inputs" % (n, len(args)))
    numbers = [n % len(args) for n in numbers]
    if len(set(numbers)) != len(numbers):
        raise RuntimeError("argnums elements must be unique, got %r" % (argnums,))
    chosen = args[numbers[0]] if isinstance(argnums, int) else tuple([args[n] for n in numbers])

    def replace(tree):
        values = (tree,) if isinstance(argnums, int) else tree
        result = list(args)
        for n, value in zip(numbers, values):
            result[n] = value
        return result

    return chosen, replace


def split_aux(output, has_aux, who):
    if not has_aux:
        return output, None
    if not isinstance(output, tuple) or len(output) != 2:
        raise RuntimeError(
            "%s: output of function f should be a tuple: (output, aux) if has_aux is True" % who
        )
    for leaf in flatten(output[1])[0]:
        if not isinstance(leaf, torch.Tensor):
            raise RuntimeError("Expected tensors, got unsupported type %s" % type(leaf))
    return output


def _call(func, args, kwargs, argnums, has_aux, who):
    """(starts of the arguments at argnums, what makes a tree of such, output, aux) of a call that is recorded."""
    chosen, replace = pick(args, argnums, who)
    leaves, rebuild = flatten(chosen)
    check_given(leaves)
    started = start(leaves)
    output, aux = split_aux(func(*replace(rebuild(started)), **kwargs), has_aux, who)
    return started, rebuild, output, aux


def grads_of(outputs, started, weights=None, retain=True):
    """Gradients with history, zeros where nothing depends on an argument."""
    pairs = [
        (o, w)
        for o, w in zip(outputs, weights if weights is not None else [None] * len(outputs))
        if o.requires_grad
    ]
    found = [None] * len(started)
    wanted = [k for k, x in enumerate(started) if x.requires_grad]
    if pairs and wanted:
        outs, given = zip(*pairs)
        grads = torch.autograd.grad(
            outs,
            [started[k] for k in wanted],
            given,
            create_graph=True,
            retain_graph=retain,
            allow_unused=True,
        )
        for k, grad in zip(wanted, grads):
            found[k] = grad
    return [torch.zeros_like(x) if g is None else g for g, x in zip(found, started)]


def grad_and_value(func, argnums=0, has_aux=False):
    """grad_and_value(func, argnums=0, has_aux=False) -> function that gives (gradients, value of func).

    See `grad`.  With `has_aux`, (gradients, (value, aux)).

    Example::

        >>> torch.func.grad_and_value(lambda x: x**3)(torch.tensor(2.))
        (tensor(12.), tensor(8.))
    """

    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        who = "grad_and_value(f)(*args)"
        recording = torch.is_grad_enabled()
        with _C._Transform(), torch.enable_grad():
            started, rebuild, output, aux = _call(func, args, kwargs, argnums, has_aux, who)
            if not isinstance(output, torch.Tensor):
                raise RuntimeError("%s: Expected f(*args) to return a Tensor, got %s" % (who, type(output)))
            if output.dim() != 0:
                raise RuntimeError(
                    "%s: Expected f(*args) to return a scalar Tensor, got tensor with %d dims. Maybe you wanted to use "
                    "the vjp or jacrev APIs instead?" % (who, output.dim())
                )
            grads = rebuild(grads_of([output], started))
        grads, output, aux = [finish(tree, started, recording) for tree in (grads, output, aux)]
        return grads, (output, aux) if has_aux else output

    return wrapper


def grad(func, argnums=0, has_aux=False):
    """grad(func, argnums=0, has_aux=False) -> function that gives the gradients of func.

    func gives a scalar tensor, or (scalar, aux) with `has_aux`; then the result is (gradients, aux).  `argnums`: the
    argument to differentiate by, or a tuple of them; an argument may be a nest of tensors.  Nests: grad(grad(f)).
    RuntimeError for outputs that are no scalar tensors.

    Example::

        >>> torch.func.grad(torch.sin)(torch.tensor(0.))
        tensor(1.)
        >>> torch.func.grad(torch.func.grad(lambda x: x**3))(torch.tensor(2.))
        tensor(12.)
    """
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        grads, value = both(*args, **kwargs)
        return (grads, value[1]) if has_aux else grads

    return wrapper


def vjp(func, *primals, has_aux=False):
    """vjp(func, *primals, has_aux=False) -> (output, vjp_fn) or (output, vjp_fn, aux)

    vjp_fn(cotangents), built like the output, gives the products of them with the Jacobians, a tuple of one per primal.

    Example::

        >>> output, product = torch.func.vjp(torch.sin, torch.tensor([0., 1.]))
        >>> product(torch.ones(2))
        (tensor([1.0000, 0.5403]),)
    """
    who = _VJP
    recording = torch.is_grad_enabled()
    leaves, rebuild = flatten(primals)
    check_given(leaves)
    with _C._Transform(), torch.enable_grad():
        started = start(leaves)
        output, aux = split_aux(func(*rebuild(started)), has_aux, who)
    outputs, _ = flatten(output)
    check_outputs(outputs, who)
    check_differentiable(outputs)

    def vjp_fn(cotangents, retain_graph=True, create_graph=None):
        if not same_structure(output, cotangents):
            raise RuntimeError(
                "Expected pytree structure of cotangents to be the same as pytree structure of outputs to the function. "
                "cotangents: %s, primal output: %s" % (type(cotangents), type(output))
            )
        mode = torch.is_grad_enabled() if create_graph is None else create_graph
        weights = [plain(w) if isinstance(w, torch.Tensor) else w for w in flatten(cotangents)[0]]
        with torch.enable_grad():
            grads = grads_of(outputs, started, weights, retain_graph)
        result = rebuild(finish(grads, started, mode))
        return result

    result = finish(output, started, recording)
    return (result, vjp_fn, finish(aux, started, recording)) if has_aux else (result, vjp_fn)


def _rows(output, started):
    """For one output: its Jacobian by each argument, output sizes first."""
    rows = [
        grads_of([element], started) for element in (output.reshape(-1).unbind(0) if output.numel() else ())
    ]
    result = []
    for k, x in enumerate(started):
        size = output.shape + x.shape
        result.append(torch.stack([row[k] for row in rows]).view(size) if rows else x.new_zeros(size))
    return result


def jacrev(func, argnums=0, *, has_aux=False, chunk_size=None, _preallocate_and_copy=False):
    """jacrev(func, argnums=0, *, has_aux=False, chunk_size=None) -> function that gives the Jacobian of func.

    By one backward pass per element of the output.  Its size is that of the output followed by that of the argument;
    nests of outputs outside, nests of arguments inside.  `argnums`: the argument, or a tuple of several.  `chunk_size`: how many
    backward passes PyTorch would make at once; here it must only be positive (ValueError).

    Example::

        >>> torch.func.jacrev(lambda x: x**2)(torch.tensor([1., 2.]))
        tensor([[2., 0.],
                [0., 4.]])
    """
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")

    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        who = _VJP
        recording = torch.is_grad_enabled()
        with _C._Transform(), torch.enable_grad():
            started, rebuild, output, aux = _call(func, args, kwargs, argnums, has_aux, who)
            outputs, rebuild_output = flatten(output)
            check_outputs(outputs, who)
            check_differentiable(outputs)
            check_real(started, "jacrev", "inputs")
            check_real(outputs, "jacrev", "outputs")
            matrix = rebuild_output([rebuild(_rows(out, started)) for out in outputs])
        matrix = finish(matrix, started, recording)
        return (matrix, finish(aux, started, recording)) if has_aux else matrix

    return wrapper


def debug_unwrap(tensor, *, recurse=True):
    """debug_unwrap(tensor, *, recurse=True) -> Tensor

    The tensor without what a transform wraps it in: nothing here, so it is the tensor itself. TypeError for other objects.
    """
    if not isinstance(tensor, torch.Tensor):
        raise TypeError("debug_unwrap(): argument must be Tensor, not %s" % type(tensor).__name__)
    return tensor


def functionalize(func, *, remove="mutations"):
    """functionalize(func, *, remove='mutations'): not supported, NotImplementedError."""
    raise NotImplementedError("torch.func.functionalize: programs are not rewritten without in-place changes")
