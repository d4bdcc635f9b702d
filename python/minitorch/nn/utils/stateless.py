# SPDX-License-Identifier: BSD-3-Clause
"""A call of a module with other parameters and buffers in place of its own."""

import contextlib
import warnings

import minitorch as torch

__all__ = ["functional_call"]


def _tied_names(module):
    """For names of tensors that the module holds more than once, all their names."""
    groups = {}
    for named in (module.named_parameters, module.named_buffers):
        for name, tensor in named(remove_duplicate=False):
            groups.setdefault(id(tensor), []).append(name)
    return {name: names for names in groups.values() if len(names) > 1 for name in names}


def _with_ties(module, given):
    result, tied = dict(given), _tied_names(module)
    for name in given:
        if name not in tied:
            continue
        values = {id(given[other]) for other in tied[name] if other in given}
        if len(values) > 1:
            raise ValueError(
                "functional_call got multiple values for keys %s, which are tied. Consider using "
                "tie_weights=False" % sorted(tied[name])
            )
        for other in tied[name]:
            result[other] = given[name]
    return result


def _check_names(module, given):
    known = set()
    for named in (module.named_parameters, module.named_buffers):
        known.update(name for name, _ in named(remove_duplicate=False))
    unexpected = [name for name in given if name not in known]
    missing = sorted(known - set(given))
    told = []
    if unexpected:
        told.append("Unexpected key(s): %s." % ", ".join(map(repr, unexpected)))
    if missing:
        told.append("Missing key(s): %s." % ", ".join(map(repr, missing)))
    if told:
        raise RuntimeError(
            "Error(s) in reparametrizing for %s:\n\t%s" % (module._get_name(), "\n\t".join(told))
        )


_ABSENT = object()


def _swap(module, name, value):
    """Puts a tensor in place of a member, or takes it away; returns what was there."""
    path, _, last = name.rpartition(".")
    owner = module.get_submodule(path)
    for table in (owner._parameters, owner._buffers):
        if last in table:
            old, table[last] = table[last], value
            return old
    old = getattr(owner, last, _ABSENT)
    if value is _ABSENT:
        delattr(owner, last)
    else:
        setattr(owner, last, value)
    return old


@contextlib.contextmanager
def _reparametrize_module(module, parameters_and_buffers, tie_weights=False, strict=False):
    given = _with_ties(module, parameters_and_buffers) if tie_weights else dict(parameters_and_buffers)
    if strict:
        _check_names(module, given)
    old = {}
    try:
        for name, value in given.items():
            old[name] = _swap(module, name, value)
        yield
    finally:
        for name, value in old.items():
            new = _swap(module, name, value)
            if name in parameters_and_buffers:
                # Buffers that the call has replaced are the caller's to see.
                parameters_and_buffers[name] = new


def _functional_call(
    module, parameters_and_buffers, args=None, kwargs=None, *, tie_weights=True, strict=False
):
    if isinstance(module, torch.nn.DataParallel):
        raise RuntimeError("The stateless API can't be used with nn.DataParallel module")
    if args is None:
        args = ()
    elif not isinstance(args, tuple):
        args = (args,)
    with _reparametrize_module(module, parameters_and_buffers, tie_weights, strict):
        return module(*args, **(kwargs or {}))


def functional_call(
    module, parameters_and_buffers, args=None, kwargs=None, *, tie_weights=True, strict=False
):
    """functional_call(module, parameters_and_buffers, args=None, kwargs=None, *, tie_weights=True,
    strict=False)

    Deprecated name of torch.func.functional_call.
    """
    warnings.warn(
        "`torch.nn.utils.stateless.functional_call` is deprecated as of PyTorch 2.0 and will be removed in "
        "a future version of PyTorch. Please use `torch.func.functional_call` instead which is a drop-in "
        "replacement.",
        FutureWarning,
        stacklevel=2,
    )
    return _functional_call(
        module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights, strict=strict
    )
