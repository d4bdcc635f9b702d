# SPDX-License-Identifier: BSD-3-Clause
"""vmap: a function of single examples applied to a batch, one after the other."""

import functools

import minitorch as torch
from minitorch import _C
from minitorch.func._tree import bare, flatten, spread

_RANDOM = (
    "vmap: called random operation while in randomness error mode. Please either use the 'same' or 'different' randomness "
    "flags on vmap or perform the randomness operation out of vmap"
)


def vmap(func, in_dims=0, out_dims=0, randomness="error", *, chunk_size=None):
    """vmap(func, in_dims=0, out_dims=0, randomness='error', *, chunk_size=None) -> function of a batch

    `in_dims`: the dimension of each argument to go along, None for arguments that are the same for all; an int for all, or a
    structure like the arguments.  `out_dims`: where the dimension stands in the results.  Examples are computed one after
    the other, which is no faster than a loop.  `randomness`: "error" forbids random numbers (RuntimeError), "same"
    gives every example the same, "different" its own.  `chunk_size` must be positive and changes nothing.
    Unlike in PyTorch, `func` may look at values (`.item()`, `if`): a program that does will not run there.  ValueError for dimensions that do not fit.

    Example::

        >>> torch.func.vmap(torch.dot)(torch.ones(2, 3), torch.ones(2, 3))
        tensor([3., 3.])
    """
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(
            "Only allowed values for randomness are 'error', 'different', or 'same'. Got %s" % randomness
        )
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError("vmap: chunk_size should be None or greater than 0. (got %s)" % chunk_size)

    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        leaves, rebuild = flatten(args)
        dims = _checked_dims(in_dims, args, leaves)
        named, rebuild_named = flatten(kwargs)
        named_dims = [0 if isinstance(v, torch.Tensor) else None for v in named]
        count = _batch_size(leaves + named, dims + named_dims)
        results, examples = [], []
        state = torch.get_rng_state()
        for i in range(count or 1):
            if randomness == "same":
                torch.set_rng_state(state)
            one, one_named = _sliced(leaves, dims, i, count), _sliced(named, named_dims, i, count)
            examples.append(one + one_named)
            with _C._Transform(True):
                results.append(func(*rebuild(one), **rebuild_named(one_named)))
            if randomness == "error" and i == 0 and not torch.equal(state, torch.get_rng_state()):
                raise RuntimeError(_RANDOM)
        return _stacked(results, out_dims, examples, count, getattr(func, "__name__", repr(func)))

    return wrapper


def _sliced(leaves, dims, i, count):
    return [leaf if dim is None else _example(leaf, dim, i, count) for leaf, dim in zip(leaves, dims)]


def _example(leaf, dim, i, count):
    """Number i of a batch; of an empty one zeros, which tell the shapes of results."""
    leaf = bare(leaf)
    return leaf.select(dim, i) if count else leaf.sum(dim, dtype=leaf.dtype)


def _checked_dims(in_dims, args, leaves):
    if not isinstance(in_dims, (int, tuple, list)) or isinstance(in_dims, bool):
        raise ValueError(
            "vmap(f, in_dims=%s, ...)(<inputs>): expected `in_dims` to be int or a (potentially nested) tuple matching the "
            "structure of inputs, got: %s." % (in_dims, type(in_dims))
        )
    if not args:
        raise ValueError(
            "vmap(f)(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are trying to vmap over a function "
            "with no inputs. The latter is unsupported."
        )
    try:
        dims = spread(in_dims if isinstance(in_dims, int) else tuple(in_dims), args)
    except ValueError:
        raise ValueError(
            "vmap(f, in_dims=%s, ...)(<inputs>): in_dims is not compatible with the structure of `inputs`."
            % (in_dims,)
        ) from None
    result = []
    for leaf, dim in zip(leaves, dims):
        if dim is not None and not isinstance(leaf, torch.Tensor):
            raise ValueError(
                "vmap(f, in_dims=%s, ...)(<inputs>): Got in_dim=%s for an input but the input is of type %s. We cannot "
                "vmap over non-Tensor arguments, please use None as the respective in_dim"
                % (in_dims, dim, type(leaf))
            )
        if dim is not None and not -leaf.dim() <= dim < leaf.dim():
            raise ValueError(
                "vmap(f, in_dims=%s, ...)(<inputs>): Got in_dim=%s for some input, but that input is a Tensor of "
                "dimensionality %d so expected in_dim to satisfy -%d <= in_dim < %d."
                % (in_dims, dim, leaf.dim(), leaf.dim(), leaf.dim())
            )
        result.append(dim)
    return result


def _batch_size(leaves, dims):
    sizes = [leaf.size(dim) for leaf, dim in zip(leaves, dims) if dim is not None]
    if not sizes:
        raise ValueError("vmap: at least one of the inputs must be mapped over")
    if len(set(sizes)) > 1:
        raise ValueError(
            "vmap: Expected all tensors to have the same size in the mapped dimension, got sizes %s for the mapped "
            "dimension" % sizes
        )
    return sizes[0]


def _differs(column, examples):
    """Whether results belong to one example each."""
    return any(a is x for a, example in zip(column, examples) for x in example) or any(
        not torch.equal(a, column[0]) and not torch.allclose(a, column[0], 0, 0, True) for a in column[1:]
    )


def _stacked(results, out_dims, examples, count, name):
    columns = [flatten(result)[0] for result in results]
    first, rebuild = flatten(results[0])
    try:
        dims = spread(out_dims, results[0])
    except ValueError:
        raise ValueError(
            "vmap(f, ..., out_dims=%s): out_dims is not compatible with the structure of the outputs."
            % (out_dims,)
        ) from None
    stacked = []
    for k, (leaf, dim) in enumerate(zip(first, dims)):
        if not isinstance(leaf, torch.Tensor):
            raise ValueError(
                "vmap(f, ...): `f` must only return Tensors, got type %s. Did you mean to set out_dims= to None for "
                "output?" % type(leaf)
            )
        column = [column[k] for column in columns]
        if dim is None and _differs(column, examples):
            raise ValueError(
                "vmap(%s, ...): `%s` can not return a BatchedTensor when out_dim is None" % (name, name)
            )
        many = None if dim is None else torch.stack(column, dim)
        stacked.append(leaf if many is None else many if count else many.narrow(dim, 0, 0))
    return rebuild(stacked)
