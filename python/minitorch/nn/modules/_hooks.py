# SPDX-License-Identifier: BSD-3-Clause
"""Hooks that hold for all modules, and the way a module is called when any hook is set.

`Module.__call__` looks whether there is a hook; only then does it come here.
"""

import warnings
import weakref
from collections import OrderedDict

import minitorch as torch
from minitorch.utils.hooks import BackwardHook, RemovableHandle

buffer_registration = OrderedDict()
module_registration = OrderedDict()
parameter_registration = OrderedDict()

backward_pre = OrderedDict()
backward = OrderedDict()
forward_pre = OrderedDict()
forward = OrderedDict()
forward_always_called = OrderedDict()
forward_with_kwargs = OrderedDict()

# Global backward hooks are all of the full kind (True) or all of the old kind (False).
global_is_full = None


class WrappedHook:
    """A hook that gets the module, held weakly, as its first argument."""

    def __init__(self, hook, module=None):
        self.hook = hook
        self.with_module = module is not None
        if self.with_module:
            self.module = weakref.ref(module)

    def __call__(self, *args, **kwargs):
        if not self.with_module:
            return self.hook(*args, **kwargs)
        module = self.module()
        if module is None:
            raise RuntimeError("You are trying to call the hook of a dead Module!")
        return self.hook(module, *args, **kwargs)

    def __getstate__(self):
        state = {"hook": self.hook, "with_module": self.with_module}
        if self.with_module:
            state["module"] = self.module()
        return state

    def __setstate__(self, state):
        self.hook = state["hook"]
        self.with_module = state["with_module"]
        if self.with_module:
            if state["module"] is None:
                raise RuntimeError("You are trying to revive the hook of a dead Module!")
            self.module = weakref.ref(state["module"])


def add(hooks, hook, prepend=False, extra_dict=None):
    handle = RemovableHandle(hooks, extra_dict=extra_dict)
    hooks[handle.id] = hook
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


def run_registration(hooks, module, name, value):
    """The value to register after the global registration hooks have seen it."""
    for hook in hooks.values():
        answer = hook(module, name, value)
        if answer is not None:
            value = answer
    return value


# --- hooks of all modules ---


def register_module_buffer_registration_hook(hook):
    """`hook(module, name, buffer)` runs before any module registers a buffer and may return another one."""
    return add(buffer_registration, hook)


def register_module_module_registration_hook(hook):
    """`hook(module, name, submodule)` runs before any module registers a submodule and may return another
    one."""
    return add(module_registration, hook)


def register_module_parameter_registration_hook(hook):
    """`hook(module, name, param)` runs before any module registers a parameter and may return another one."""
    return add(parameter_registration, hook)


def register_module_forward_pre_hook(hook):
    """`hook(module, args)` runs before the forward of every module and may return other arguments."""
    return add(forward_pre, hook)


def register_module_forward_hook(hook, *, with_kwargs=False, always_call=False):
    """`hook(module, args, output)` runs after the forward of every module and may return another output."""
    handle = add(forward, hook, extra_dict=forward_always_called)
    if with_kwargs:
        forward_with_kwargs[handle.id] = True
    if always_call:
        forward_always_called[handle.id] = True
    return handle


def _set_global_kind(full):
    global global_is_full
    if global_is_full is not None and global_is_full is not full:
        raise RuntimeError(
            "Cannot use both regular backward hooks and full backward hooks as a global Module hook. "
            "Please use only one of them."
        )
    global_is_full = full


def register_module_backward_hook(hook):
    """Old kind of backward hook of all modules; use register_module_full_backward_hook."""
    _set_global_kind(False)
    return add(backward, hook)


def register_module_full_backward_pre_hook(hook):
    """`hook(module, grad_output)` runs before the gradients of every module are computed."""
    return add(backward_pre, hook)


def register_module_full_backward_hook(hook):
    """`hook(module, grad_input, grad_output)` runs when the gradients of the inputs of any module are
    there."""
    _set_global_kind(True)
    return add(backward, hook)


# --- calling a module that has hooks ---


def _run_forward_pre_hooks(module, args, kwargs):
    with_kwargs = module._forward_pre_hooks_with_kwargs
    for key, hook in [*forward_pre.items(), *module._forward_pre_hooks.items()]:
        if key in with_kwargs:
            answer = hook(module, args, kwargs)
            if answer is None:
                continue
            if not isinstance(answer, tuple) or len(answer) != 2:
                raise RuntimeError(
                    "forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got %s."
                    % (answer,)
                )
            args, kwargs = answer
        else:
            answer = hook(module, args)
            if answer is not None:
                args = answer if isinstance(answer, tuple) else (answer,)
    return args, kwargs


def _first_tensor(value):
    while not isinstance(value, torch.Tensor):
        if isinstance(value, dict):
            value = next(item for item in value.values() if isinstance(item, torch.Tensor))
        else:
            value = value[0]
    return value


def _attach_old_hooks(module, hooks, args, result):
    grad_fn = _first_tensor(result).grad_fn
    if grad_fn is None:
        return
    for hook in hooks:
        grad_fn.register_hook(WrappedHook(hook, module))
    _warn_old_hooks(args, result, grad_fn)


def _all_tensors(value):
    """The tensors of a tensor or of a tuple of tensors; None for anything else."""
    if isinstance(value, torch.Tensor):
        return (value,)
    if isinstance(value, tuple) and all([isinstance(item, torch.Tensor) for item in value]):
        return value
    return None


def _warn_old_hooks(inputs, result, grad_fn):
    """Old hooks see the gradients of the last op only: says so where that is less than the module's."""
    results = _all_tensors(result)
    inputs = _all_tensors(inputs)
    plural, what, lost = "a non-full backward hook", None, "grad_output"
    if results is None:
        plural = "non-full backward hooks"
        what = "on a Module that does not return a single Tensor or a tuple of Tensors"
    elif inputs is None:
        plural, lost = "non-full backward hooks", "grad_input"
        what = "on a Module that does not take as input a single Tensor or a tuple of Tensors"
    else:
        nodes = {item.grad_fn for item in results if item.grad_fn is not None}
        if not nodes or (len(nodes) == 1 and grad_fn not in nodes):
            what = "when outputs are nested in python data structure"
        elif len(nodes) > 1:
            what = "when outputs are generated by different autograd Nodes"
        else:
            before = {item.grad_fn for item in inputs if item.grad_fn is not None}
            if before != {edge[0] for edge in grad_fn.next_functions}:
                what, lost = "when the forward contains multiple autograd Nodes", "grad_input"
    if what is not None:
        warnings.warn(
            "Using %s %s is deprecated and will be removed in future versions. This hook will be missing "
            "some %s%s. Please use register_full_backward_hook to get the documented behavior."
            % (plural, what, "of the " if plural[0] == "n" else "", lost),
            FutureWarning,
            stacklevel=6,
        )


class _Call:
    """One call of a module with hooks; keeps what the always-called hooks need when something raises."""

    def __init__(self, module, args, kwargs):
        self.module = module
        self.args = args
        self.kwargs = kwargs
        self.result = None
        self.done = set()

    def run(self):
        module = self.module
        full, old = [], []
        pre = [*backward_pre.values(), *module._backward_pre_hooks.values()]
        for hooks, is_full in (
            (backward, global_is_full),
            (module._backward_hooks, module._is_full_backward_hook),
        ):
            if is_full is not None:
                (full if is_full else old).extend(hooks.values())
        if forward_pre or module._forward_pre_hooks:
            self.args, self.kwargs = _run_forward_pre_hooks(module, self.args, self.kwargs)
        backward_hook = None
        if full or pre:
            backward_hook = BackwardHook(module, full, pre)
            self.args = backward_hook.setup_input_hook(self.args)
        self.result = module.forward(*self.args, **self.kwargs)
        for key, hook in [*forward.items(), *module._forward_hooks.items()]:
            if key in module._forward_hooks_always_called or key in forward_always_called:
                self.done.add(key)
            self.forward_hook(key, hook)
        if backward_hook is not None:
            if not isinstance(self.result, (torch.Tensor, tuple)):
                warnings.warn(
                    "For backward hooks to be called, module output should be a Tensor or a tuple of "
                    "Tensors but received %s" % type(self.result),
                    stacklevel=4,
                )
            self.result = backward_hook.setup_output_hook(self.result)
        if old:
            _attach_old_hooks(module, old, self.args, self.result)
        return self.result

    def forward_hook(self, key, hook):
        module = self.module
        if key in module._forward_hooks_with_kwargs or key in forward_with_kwargs:
            answer = hook(module, self.args, self.kwargs, self.result)
        else:
            answer = hook(module, self.args, self.result)
        if answer is not None:
            self.result = answer

    def after_error(self):
        """Runs the always-called hooks that have not run; their own errors are only reported."""
        module = self.module
        kinds = (
            (forward, forward_always_called, "global module"),
            (module._forward_hooks, module._forward_hooks_always_called, "module"),
        )
        for hooks, always, what in kinds:
            for key, hook in hooks.items():
                if key not in always or key in self.done:
                    continue
                try:
                    self.forward_hook(key, hook)
                except Exception as exc:
                    warnings.warn(
                        "%s forward hook with ``always_call=True`` raised an exception that was silenced "
                        "as another error was raised in forward: %s" % (what, exc),
                        stacklevel=4,
                    )


def call(module, args, kwargs):
    """What `module(*args, **kwargs)` does when there are hooks."""
    running = _Call(module, args, kwargs)
    try:
        return running.run()
    except Exception:
        running.after_error()
        raise
