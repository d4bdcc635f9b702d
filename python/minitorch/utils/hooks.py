# SPDX-License-Identifier: BSD-3-Clause
"""Handles of hooks, and the machinery of the backward hooks of modules."""

import warnings
import weakref
from collections import OrderedDict

import minitorch as torch

__all__ = ["RemovableHandle", "unserializable_hook", "warn_if_has_hooks", "BackwardHook"]


class RemovableHandle:
    """Takes a hook out of its dictionary: `remove()`, or at the end of a `with` block.  `extra_dict`: a
    dictionary, or a list of them, that loses the same key."""

    next_id = 0

    def __init__(self, hooks_dict, *, extra_dict=None):
        self.hooks_dict_ref = weakref.ref(hooks_dict)
        self.id = RemovableHandle.next_id
        RemovableHandle.next_id += 1
        if extra_dict is None:
            extra_dict = ()
        elif not isinstance(extra_dict, list):
            extra_dict = (extra_dict,)
        self.extra_dict_ref = tuple([weakref.ref(extra) for extra in extra_dict])

    def remove(self):
        for ref in (self.hooks_dict_ref,) + self.extra_dict_ref:
            hooks = ref()
            if hooks is not None:
                hooks.pop(self.id, None)

    def __getstate__(self):
        return (self.hooks_dict_ref(), self.id, tuple([ref() for ref in self.extra_dict_ref]))

    def __setstate__(self, state):
        # A dictionary that is gone is replaced by one that dies at once: a dead reference.
        self.hooks_dict_ref = weakref.ref(OrderedDict() if state[0] is None else state[0])
        self.id = state[1]
        RemovableHandle.next_id = max(RemovableHandle.next_id, self.id + 1)
        extra = state[2] if len(state) > 2 and state[2] is not None else ()
        self.extra_dict_ref = tuple(
            [weakref.ref(OrderedDict() if hooks is None else hooks) for hooks in extra]
        )

    def __enter__(self):
        return self

    def __exit__(self, type, value, traceback):
        self.remove()


def unserializable_hook(f):
    """Decorator: no warning when a tensor with this hook is saved without it."""
    f.__torch_unserializable__ = True
    return f


def warn_if_has_hooks(tensor):
    hooks = tensor._backward_hooks
    if not hooks:
        return
    for hook in hooks.values():
        if not hasattr(hook, "__torch_unserializable__"):
            warnings.warn(
                "backward hook %r on tensor will not be serialized.  If this is expected, you can decorate "
                "the function with @torch.utils.hooks.unserializable_hook to suppress this warning" % (hook,),
                stacklevel=2,
            )


def _identity_function():
    """A custom autograd function that returns its inputs: its node is where hooks of modules are put."""
    global _identity
    if _identity is None:

        class BackwardHookFunction(torch.autograd.Function):
            @staticmethod
            def forward(ctx, *args):
                ctx.mark_non_differentiable(*[arg for arg in args if not arg.requires_grad])
                return args

            @staticmethod
            def backward(ctx, *args):
                return args

        _identity = BackwardHookFunction
    return _identity


_identity = None


class BackwardHook:
    """The backward hooks of one call of a module.  Inputs and outputs are passed through an identity node
    each; the output node collects the gradients of the outputs (and runs the pre-hooks), the input node runs
    the user hooks when the gradients of the inputs have arrived."""

    def __init__(self, module, user_hooks, user_pre_hooks):
        self.module = module
        self.user_hooks = user_hooks
        self.user_pre_hooks = user_pre_hooks
        self.grad_outputs = None
        self.n_inputs = self.n_outputs = -1
        self.input_places = self.output_places = None

    @staticmethod
    def _spread(places, values, size):
        spread = [None] * size
        for place, value in zip(places, values):
            spread[place] = value
        return tuple(spread)

    def _pass_through(self, args, attach):
        """The arguments with their tensors behind an identity node, and the places of the tensors; (args,
        None) when nothing requires a gradient."""
        places = [i for i, arg in enumerate(args) if isinstance(arg, torch.Tensor)]
        tensors = [args[i] for i in places]
        if not torch.is_grad_enabled() or not any([tensor.requires_grad for tensor in tensors]):
            return args, None
        fresh = _identity_function().apply(*tensors)
        if len(fresh) == 0:
            raise RuntimeError("Cannot set Module backward hook for a Module with no input Tensors.")
        nodes = [t.grad_fn for t in fresh if t.grad_fn is not None]
        nodes = [node for node in nodes if node.name() == "BackwardHookFunctionBackward"]
        if not nodes:
            raise RuntimeError("Error while setting up backward hooks.")
        attach(nodes[0])
        passed = list(args)
        for place, tensor in zip(places, fresh):
            passed[place] = tensor
        return (tuple(passed) if type(args) is tuple else type(args)(*passed)), places

    def setup_input_hook(self, args):
        def hook(grad_input, grad_output):
            if self.grad_outputs is None:
                return None  # the gradient did not come through the outputs of the module
            result = self._spread(self.input_places, grad_input, self.n_inputs)
            for user_hook in self.user_hooks:
                answer = user_hook(self.module, result, self.grad_outputs)
                if answer is None:
                    continue
                if len(answer) != len(result):
                    raise RuntimeError(
                        "Backward hook returned an invalid number of grad_input, got %d, but expected %d"
                        % (len(answer), len(result))
                    )
                result = answer
            self.grad_outputs = None
            return tuple([result[place] for place in self.input_places])

        passed, self.input_places = self._pass_through(args, lambda node: node.register_hook(hook))
        self.n_inputs = len(args)
        return passed

    def _without_inputs(self):
        """No input requires a gradient: the hooks run here, and cannot change anything."""
        warnings.warn(
            "Full backward hook is firing when gradients are computed with respect to module outputs since "
            "no inputs require gradients.",
            stacklevel=6,
        )
        grad_inputs = (None,) * self.n_inputs
        for user_hook in self.user_hooks:
            answer = user_hook(self.module, grad_inputs, self.grad_outputs)
            if answer is not None and not (
                isinstance(answer, tuple) and all([item is None for item in answer])
            ):
                raise RuntimeError(
                    "Backward hook for Modules where no input requires gradient should always return None "
                    "or None for all gradients."
                )
        self.grad_outputs = None

    def setup_output_hook(self, args):
        def hook(grad_input, grad_output):
            self.grad_outputs = self._spread(self.output_places, grad_output, self.n_outputs)
            expected = len(self.grad_outputs)
            for pre_hook in self.user_pre_hooks:
                answer = pre_hook(self.module, self.grad_outputs)
                if answer is None:
                    continue
                if len(answer) != expected:
                    raise RuntimeError(
                        "Backward pre hook returned an invalid number of grad_output, got %d, but expected %d"
                        % (len(answer), expected)
                    )
                self.grad_outputs = answer
            grads = self.grad_outputs
            if self.input_places is None:
                self._without_inputs()
            return None if grads is None else tuple([grads[place] for place in self.output_places])

        is_tuple = isinstance(args, tuple)
        args = args if is_tuple else (args,)
        passed, self.output_places = self._pass_through(args, lambda node: node.register_hook(hook))
        self.n_outputs = len(args)
        return passed if is_tuple else passed[0]
