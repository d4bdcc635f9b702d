# SPDX-License-Identifier: BSD-3-Clause
"""Hooks on what operations save for backward, and the tools made of them.  Public through `torch.autograd.graph`."""

import contextlib

import minitorch as torch
from minitorch import _C

__all__ = [
    "saved_tensors_hooks",
    "save_on_cpu",
    "disable_saved_tensors_hooks",
    "allow_mutation_on_saved_tensors",
]


class saved_tensors_hooks:
    """saved_tensors_hooks(pack_hook, unpack_hook)

    Context manager: for every tensor that an operation inside saves for backward, what `pack_hook(tensor)` returns is kept
    instead, and backward gets `unpack_hook(packed)`, which must be a tensor of the same values.  Of nested ones the
    innermost counts.  A pack hook that changes its argument in place is a RuntimeError.

    Example::

        >>> x = torch.ones(2, requires_grad=True)
        >>> with torch.autograd.graph.saved_tensors_hooks(lambda t: t.tolist(), torch.tensor):
        ...     y = x * x
        >>> y.grad_fn._raw_saved_self.data
        [1.0, 1.0]
        >>> y.sum().backward()
        >>> x.grad
        tensor([2., 2.])
    """

    def __init__(self, pack_hook, unpack_hook):
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook

    def __enter__(self):
        _C._push_saved_tensors_default_hooks(self.pack_hook, self.unpack_hook)

    def __exit__(self, *exception):
        _C._pop_saved_tensors_default_hooks()


class save_on_cpu(saved_tensors_hooks):
    """save_on_cpu(pin_memory=False, device_type='cuda')

    Context manager: what operations inside save for backward is moved to the CPU, and back when backward needs it.
    `pin_memory`: into pinned memory, where there is an accelerator.

    Example::

        >>> x = torch.ones(2, requires_grad=True)
        >>> with torch.autograd.graph.save_on_cpu():
        ...     y = x.exp()
        >>> y.sum().backward()
    """

    def __init__(self, pin_memory=False, device_type="cuda"):
        accelerator = getattr(torch, device_type, torch.cuda)
        pinned = pin_memory and accelerator.is_available()

        def pack_to_cpu(tensor):
            if not pin_memory:
                return tensor.device, tensor.cpu()
            packed = torch.empty(tensor.size(), dtype=tensor.dtype, layout=tensor.layout, pin_memory=pinned)
            packed.copy_(tensor)
            return tensor.device, packed

        def unpack_from_cpu(packed):
            device, tensor = packed
            return tensor.to(device, non_blocking=pin_memory)

        super().__init__(pack_to_cpu, unpack_from_cpu)


@contextlib.contextmanager
def disable_saved_tensors_hooks(error_message):
    """disable_saved_tensors_hooks(error_message)

    Context manager: entering `saved_tensors_hooks` inside it is a RuntimeError with that message, and so is this
    manager itself where hooks are active.

    Example::

        >>> with torch.autograd.graph.disable_saved_tensors_hooks("not here"):
        ...     with torch.autograd.graph.save_on_cpu():
        ...         pass
        Traceback (most recent call last):
            ...
        RuntimeError: not here
    """
    before = _C._saved_tensors_hooks_get_disabled_error_message()
    try:
        _C._saved_tensors_hooks_disable(error_message)
        yield
    finally:
        if before is None:
            _C._saved_tensors_hooks_enable()
        else:
            _C._saved_tensors_hooks_disable(before)


class _Kept:
    """A saved value: the tensor, and a copy of it that shares memory until somebody writes."""

    __slots__ = ("value", "__weakref__")

    def __init__(self, value):
        self.value = value


class _AllowMutationOnSavedContext:
    """What `allow_mutation_on_saved_tensors` gives: `clear()` drops the saved values."""

    def __init__(self):
        self._kept = []

    def clear(self):
        """clear(): drops everything that was saved inside; backward of it is an error then."""
        for kept in self._kept:
            kept = kept()
            if kept is not None:
                kept.value = None
        self._kept = []


_allowing = False


@contextlib.contextmanager
def allow_mutation_on_saved_tensors():
    """allow_mutation_on_saved_tensors() -> context

    Context manager: tensors that were saved for backward inside may be changed in place; backward, which has to run inside
    too, sees the values that they had.  Memory is copied only where something is written.  Not to be nested.

    Example::

        >>> with torch.autograd.graph.allow_mutation_on_saved_tensors():
        ...     x = torch.ones(2, requires_grad=True)
        ...     y = x.clone()
        ...     z = (y * y).sum()
        ...     y.mul_(10)
        ...     z.backward()
        tensor([10., 10.], grad_fn=<MulBackward0>)
        >>> x.grad
        tensor([2., 2.])
    """
    import weakref

    global _allowing
    context = _AllowMutationOnSavedContext()

    def pack(tensor):
        with torch.no_grad():
            kept = _Kept(_snapshot(tensor.detach()))
        context._kept.append(weakref.ref(kept))
        return kept

    def unpack(kept):
        if kept.value is None or not _allowing:
            raise AssertionError(
                "Trying to backward outside of the 'allow_mutation_on_saved_tensors' context in which the graph "
                "was originally recorded."
            )
        return kept.value

    if _allowing:
        raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
    with saved_tensors_hooks(pack, unpack):
        _allowing = True
        try:
            yield context
        finally:
            context.clear()
            _allowing = False


def _snapshot(tensor):
    """The values of now: memory is shared until it is written, where that can be noticed."""
    try:
        return torch._lazy_clone(tensor)
    except RuntimeError:
        return tensor.clone()
