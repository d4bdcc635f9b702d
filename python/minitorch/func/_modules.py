# SPDX-License-Identifier: BSD-3-Clause
"""Modules as functions of their parameters."""

import minitorch as torch


def _owner(module, name):
    """(the submodule that has the tensor, its own name there)."""
    *path, last = name.split(".")
    for part in path:
        module = getattr(module, part)
    return module, last


def _table(owner, name):
    return owner._parameters if name in owner._parameters else owner._buffers


def _tied(module, given):
    """The tensors that are one with a given one under another name."""
    names = {}
    for source in (
        module.named_parameters(remove_duplicate=False),
        module.named_buffers(remove_duplicate=False),
    ):
        for name, tensor in source:
            names.setdefault(id(tensor), []).append(name)
    result = dict(given)
    for group in names.values():
        values = {id(given[name]) for name in group if name in given}
        if len(values) > 1:
            raise ValueError(
                "functional_call got multiple values for keys %s, which are tied. Consider using tie_weights=False"
                % group
            )
        for name in group if values else ():
            result.setdefault(name, next(given[n] for n in group if n in given))
    return result


def functional_call(
    module, parameter_and_buffer_dicts, args=None, kwargs=None, *, tie_weights=True, strict=False
):
    """functional_call(module, parameter_and_buffer_dicts, args=None, kwargs=None, *, tie_weights=True, strict=False)

    module(*args, **kwargs) with other tensors in the place of its parameters and buffers: a dict by name, or several.  The
    module is as before afterwards; what it has put in the place of a buffer is in the dict then.  `tie_weights`: a tensor that has two names in the module is replaced under both.
    `strict`: all names must be there and no others (RuntimeError).

    Example::

        >>> linear = torch.nn.Linear(2, 1)
        >>> new = {"weight": torch.ones(1, 2), "bias": torch.zeros(1)}
        >>> torch.func.functional_call(linear, new, torch.ones(1, 2))
        tensor([[2.]])
    """
    if isinstance(parameter_and_buffer_dicts, dict):
        given = dict(parameter_and_buffer_dicts)
    elif isinstance(parameter_and_buffer_dicts, (list, tuple)):
        given = {}
        for part in parameter_and_buffer_dicts:
            if not isinstance(part, dict):
                raise ValueError(
                    "Expected all elements of parameter_and_buffer_dicts to be dictionaries, got %s"
                    % type(part)
                )
            repeated = sorted(set(given) & set(part))
            if repeated:
                raise ValueError(
                    "%s appeared in multiple dictionaries; behavior of functional call is ambiguous"
                    % repeated
                )
            given.update(part)
    else:
        raise ValueError(
            "Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got %s"
            % type(parameter_and_buffer_dicts)
        )
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    if strict:
        _check_names(module, given)
    replaced, existing = [], set(_names(module))
    try:
        for name, tensor in (_tied(module, given) if tie_weights else given).items():
            if name not in existing:
                continue
            owner, last = _owner(module, name)
            table = _table(owner, last)
            replaced.append((table, last, name, table[last]))
            table[last] = tensor
        return module(*args, **(kwargs or {}))
    finally:
        for table, last, name, old in reversed(replaced):
            if name in given and isinstance(parameter_and_buffer_dicts, dict):
                parameter_and_buffer_dicts[name] = table[last]
            table[last] = old


def _names(module):
    for tensors in (module.named_parameters, module.named_buffers):
        for name, _ in tensors(remove_duplicate=False):
            yield name


def _check_names(module, given):
    names = set(_names(module))
    unexpected, missing = sorted(set(given) - names), sorted(names - set(given))
    if unexpected or missing:
        raise RuntimeError(
            "Error(s) in reparametrizing for %s:%s%s"
            % (
                type(module).__name__,
                "\n\tUnexpected key(s): %s." % ", ".join(map(repr, unexpected)) if unexpected else "",
                "\n\tMissing key(s): %s." % ", ".join(map(repr, missing)) if missing else "",
            )
        )


def stack_module_state(models):
    """stack_module_state(models) -> (params, buffers): tensors of several modules of one class, stacked by name.

    Example::

        >>> params, buffers = torch.func.stack_module_state([torch.nn.Linear(2, 1) for _ in range(3)])
        >>> params["weight"].shape
        torch.Size([3, 1, 2])
    """
    if len(models) == 0:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if not (all(m.training for m in models) or all(not m.training for m in models)):
        raise RuntimeError("stack_module_state: Expected all models to have the same training/eval mode.")
    if not all(type(m) is type(models[0]) for m in models):
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    params, buffers = {}, {}
    for name, first in models[0].named_parameters():
        all_of_it = [dict(m.named_parameters())[name] for m in models]
        params[name] = torch.stack(all_of_it).detach().requires_grad_(first.requires_grad)
    for name, _ in models[0].named_buffers():
        buffers[name] = torch.stack([dict(m.named_buffers())[name] for m in models])
    return params, buffers


def replace_all_batch_norm_modules_(root):
    """replace_all_batch_norm_modules_(root) -> root

    Batch norms in the module `root`, itself included, forget their running statistics, which transforms may not change: they
    use those of the batch.

    Example::

        >>> torch.func.replace_all_batch_norm_modules_(torch.nn.BatchNorm1d(2)).track_running_stats
        False
    """
    for module in root.modules():
        if isinstance(module, torch.nn.modules.batchnorm._BatchNorm):
            module.running_mean = module.running_var = module.num_batches_tracked = None
            module.track_running_stats = False
    return root
