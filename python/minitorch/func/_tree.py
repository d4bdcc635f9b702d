# SPDX-License-Identifier: BSD-3-Clause
"""Nested lists, tuples and dicts of tensors, flat and back."""

import minitorch as torch


def flatten(tree):
    """(leaves, rebuild): rebuild(list of as many values) -> a tree of the same structure."""
    if isinstance(tree, (list, tuple)):
        parts = [flatten(item) for item in tree]
        kind = type(tree)
        make = kind._make if hasattr(kind, "_make") else kind
        return _joined(parts, make)
    if isinstance(tree, dict):
        keys = list(tree)
        parts = [flatten(tree[key]) for key in keys]
        kind = type(tree)
        return _joined(parts, lambda values: kind(zip(keys, values)))
    return [tree], lambda values: values[0]


def _joined(parts, make):
    sizes = [len(leaves) for leaves, _ in parts]

    def rebuild(values):
        result, at = [], 0
        for size, (_, inner) in zip(sizes, parts):
            result.append(inner(values[at : at + size]))
            at += size
        return make(result)

    return [leaf for leaves, _ in parts for leaf in leaves], rebuild


def same_structure(one, two):
    """Whether both are built alike."""
    if isinstance(one, (list, tuple)):
        return isinstance(two, type(one)) and len(one) == len(two) and all(map(same_structure, one, two))
    if isinstance(one, dict):
        return (
            isinstance(two, dict)
            and one.keys() == two.keys()
            and all(same_structure(one[k], two[k]) for k in one)
        )
    return not isinstance(two, (list, tuple, dict))


def spread(prefix, tree):
    """A leaf of `prefix` for every leaf of `tree`: prefix is a tree that may end earlier, None counts as a leaf."""
    if isinstance(prefix, (list, tuple)):
        if not isinstance(tree, (list, tuple)) or len(prefix) != len(tree):
            raise ValueError("the structure of the dimensions is not that of the values")
        return [leaf for p, t in zip(prefix, tree) for leaf in spread(p, t)]
    if isinstance(prefix, dict):
        if not isinstance(tree, dict) or prefix.keys() != tree.keys():
            raise ValueError("the structure of the dimensions is not that of the values")
        return [leaf for key in tree for leaf in spread(prefix[key], tree[key])]
    return [prefix] * len(flatten(tree)[0])


def check_tensors(leaves, who, what):
    """TypeError-like complaint of the transforms when something is no tensor."""
    for leaf in leaves:
        if not isinstance(leaf, torch.Tensor):
            raise RuntimeError(
                "%s: Expected %s to only contain Tensors, got unsupported type %s." % (who, what, type(leaf))
            )
