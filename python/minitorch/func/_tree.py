# SPDX-License-Identifier: BSD-3-Clause
"""Nested lists, tuples and dicts of tensors, flat and back."""

import minitorch as torch
from minitorch.utils import _pytree


def flatten(tree):
    """(leaves, rebuild): rebuild(list of as many values) -> a tree of the same structure."""
    leaves, spec = _pytree.tree_flatten(tree)
    return leaves, spec.unflatten


def structure(tree):
    """How a tree is built."""
    return _pytree.tree_structure(tree)


def same_structure(one, two):
    """Whether both are built alike."""
    return structure(one) == structure(two)


def spread(prefix, tree):
    """A leaf of `prefix` for every leaf of `tree`: prefix is a tree that may end earlier, None counts as a leaf."""
    leaves = _pytree._broadcast_to_and_flatten(prefix, _pytree.tree_structure(tree))
    if leaves is None:
        raise ValueError("the structure of the dimensions is not that of the values")
    return leaves


def bare(tensor):
    """The tensor without its class: what a transform hands to a function has none."""
    if type(tensor) is torch.Tensor:
        return tensor
    with torch._C.DisableTorchFunctionSubclass():
        return tensor.as_subclass(torch.Tensor)


def check_outputs(leaves, who):
    """What a function gives is tensors, one at least."""
    if not leaves or (len(leaves) == 1 and leaves[0] is None):
        raise RuntimeError(
            "%s: Expected f to be a function that has non-empty output (got output = %s)" % (who, leaves)
        )
    for leaf in leaves:
        if not isinstance(leaf, torch.Tensor):
            raise RuntimeError(
                "%s: expected f(*primals) to return only tensors, got unsupported type %s" % (who, type(leaf))
            )


def has_gradients(tensor):
    """Whether numbers of this dtype have gradients."""
    return tensor.is_floating_point() or tensor.is_complex()


def check_differentiable(leaves):
    """Backward passes start at numbers that have gradients."""
    for leaf in leaves:
        if not has_gradients(leaf):
            raise RuntimeError(
                "vjp(f, ...): All outputs of f must be floating-point or complex Tensors, got Tensor with dtype %s"
                % leaf.dtype
            )


def check_given(leaves):
    """The arguments to differentiate by must be tensors."""
    for leaf in leaves:
        if not isinstance(leaf, torch.Tensor):
            raise ValueError("Thing passed to transform API must be Tensor, got %s" % type(leaf))


def check_real(leaves, who, what):
    """Jacobians are of real functions."""
    for i, leaf in enumerate(leaves):
        if leaf.is_complex():
            raise RuntimeError(
                "%s: Expected all %s to be real but received complex tensor at flattened input idx: %d"
                % (who, what, i)
            )
