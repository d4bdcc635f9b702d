# SPDX-License-Identifier: BSD-3-Clause
"""Helpers around tensors and modules. Submodules load at first use."""

_SUBMODULES = (
    "_contextlib",
    "_device",
    "_mode_utils",
    "_pytree",
    "checkpoint",
    "data",
    "dlpack",
    "hooks",
    "serialization",
)

__all__ = ["set_module", "swap_tensors"]


def __getattr__(name):
    if name in _SUBMODULES:
        from importlib import import_module

        return import_module("%s.%s" % (__name__, name))
    raise AttributeError("module %r has no attribute %r" % (__name__, name))


def __dir__():
    return sorted(set(globals()) | set(_SUBMODULES))


def set_module(obj, mod):
    """Sets the module name that `obj` is printed with."""
    if not isinstance(mod, str):
        raise TypeError("The mod argument should be a string")
    obj.__module__ = mod


def swap_tensors(t1, t2):
    """swap_tensors(t1, t2)

    Exchanges the contents of two tensors (values, class, attributes); each object keeps its identity.
    RuntimeError when one has weak references, when their slots differ, or when something else holds them.
    """
    import copyreg
    import weakref

    import minitorch as torch
    from minitorch import _C

    slots = []
    for tensor, name in ((t1, "t1"), (t2, "t2")):
        if weakref.getweakrefs(tensor):
            raise RuntimeError("Cannot swap %s because it has weakref associated with it" % name)
        slots.append(set(copyreg._slotnames(type(tensor))))
    if slots[0] != slots[1]:
        raise RuntimeError("Cannot swap t1 and t2 if they have different slots")

    def poisoned(grad_outputs):
        raise RuntimeError(
            "Trying to execute AccumulateGrad node that was poisoned by swap_tensors this can happen when "
            "you try to run backward on a tensor that was swapped. Change device and dtype of a module "
            "before running forward."
        )

    for tensor, name in ((t1, "t1"), (t2, "t2")):
        count = tensor._use_count()
        if count > 1:
            node = (
                torch.autograd.graph.get_gradient_edge(tensor).node if count == 2 and tensor.is_leaf else None
            )
            if node is None or tensor._use_count() != 2:
                raise RuntimeError(
                    "Expected use_count of %s to be 1 or 2 with an AccumulateGrad node but got %d make "
                    "sure you are not holding references to the tensor in other places." % (name, count)
                )
            node.register_prehook(poisoned)

    t1.__class__, t2.__class__ = t2.__class__, t1.__class__
    t1.__dict__, t2.__dict__ = t2.__dict__, t1.__dict__
    for slot in slots[0]:
        values = [getattr(t, slot) if hasattr(t, slot) else poisoned for t in (t2, t1)]
        for tensor, value in zip((t1, t2), values):
            if value is not poisoned:
                setattr(tensor, slot, value)
            elif hasattr(tensor, slot):
                delattr(tensor, slot)
    _C._swap_tensor_impl(t1, t2)
