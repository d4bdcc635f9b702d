# SPDX-License-Identifier: BSD-3-Clause
"""torch.func: functions that make functions: gradients, products with Jacobians, Jacobians, batches.

They are built on the graph and on forward mode, and nest; batches are loops.
"""

__all__ = [
    "grad",
    "grad_and_value",
    "vjp",
    "jvp",
    "jacrev",
    "jacfwd",
    "hessian",
    "linearize",
    "vmap",
    "functional_call",
    "stack_module_state",
    "replace_all_batch_norm_modules_",
    "debug_unwrap",
    "functionalize",
]

_LAZY = {
    "grad": "_reverse",
    "grad_and_value": "_reverse",
    "vjp": "_reverse",
    "jacrev": "_reverse",
    "jvp": "_forward",
    "jacfwd": "_forward",
    "hessian": "_forward",
    "linearize": "_forward",
    "vmap": "_batch",
    "functional_call": "_modules",
    "stack_module_state": "_modules",
    "replace_all_batch_norm_modules_": "_modules",
    "debug_unwrap": "_reverse",
    "functionalize": "_reverse",
}


def __getattr__(name):
    from importlib import import_module

    if name not in _LAZY:
        raise AttributeError("module 'torch.func' has no attribute '%s'" % name)
    value = getattr(import_module("minitorch.func." + _LAZY[name]), name)
    globals()[name] = value
    return value


def __dir__():
    return sorted({*globals(), *_LAZY})
