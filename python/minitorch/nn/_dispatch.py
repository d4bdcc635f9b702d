# SPDX-License-Identifier: BSD-3-Clause
"""Decorators of the functions of nn.functional."""

from functools import lru_cache, wraps

from minitorch.overrides import handle_torch_function, has_torch_function

MODULE = "minitorch.nn.functional"


def overridable(function):
    """Puts the override check in front of a function: any of its arguments may carry an override.  Functions
    that are called often write the check out instead, which saves a call."""

    @wraps(function)
    def public(*args, **kwargs):
        if has_torch_function((*args, *kwargs.values()) if kwargs else args):
            args, kwargs = _arguments(function)(*args, **kwargs)
            return handle_torch_function(public, (*args, *kwargs.values()), *args, **kwargs)
        return function(*args, **kwargs)

    public.__module__ = MODULE
    return public


@lru_cache(maxsize=None)
def _arguments(function):
    """A function with the name and the parameters of `function` that gives (args, kwargs) as overrides see them: what has a default
    goes by its name."""
    import inspect

    parameters = inspect.signature(function).parameters.values()
    args = [p.name for p in parameters if p.default is p.empty and p.kind is not p.KEYWORD_ONLY]
    kwargs = [p.name for p in parameters if p.name not in args]
    scope = {}
    exec(
        "def %s%s: return (%s), dict(%s)"
        % (
            function.__name__,
            _with_names_for_defaults(inspect.signature(function)),
            "".join(name + ", " for name in args),
            ", ".join("%s=%s" % (name, name) for name in kwargs),
        ),
        scope,
    )
    made = scope[function.__name__]
    made.__defaults__, made.__kwdefaults__ = function.__defaults__, function.__kwdefaults__
    return made


def _with_names_for_defaults(signature):
    """The signature as source text, every default None."""
    return signature.replace(
        parameters=[
            p.replace(default=p.empty if p.default is p.empty else None, annotation=p.empty)
            for p in signature.parameters.values()
        ]
    )


def with_indices_or_not(plain, indexed, position, name):
    """A function that calls `indexed` when its argument `return_indices`, at that position, is true, else
    `plain`."""

    def function(*args, **kwargs):
        if len(args) > position:
            wanted = args[position]
        else:
            wanted = kwargs.get("return_indices", False)
        return (indexed if wanted else plain)(*args, **kwargs)

    function.__name__ = function.__qualname__ = name
    function.__module__ = MODULE
    function.__doc__ = plain.__doc__
    function.__wrapped__ = plain  # for inspect.signature
    return function


def publish(namespace, names):
    """Functions written in a private module appear as members of nn.functional."""
    for name in names:
        namespace[name].__module__ = MODULE


def boolean_dispatch(arg_name, arg_index, default, if_true, if_false, module_name, func_name):
    """A function that calls `if_true` when its argument `arg_name`, at position `arg_index`, is true (`default` if it is not given),
    else `if_false`."""

    def function(*args, **kwargs):
        wanted = kwargs.get(arg_name, args[arg_index] if arg_index < len(args) else default)
        return (if_true if wanted else if_false)(*args, **kwargs)

    if func_name is not None:
        function.__name__ = func_name
    if module_name is not None:
        function.__module__ = module_name
    function.__doc__ = if_true.__doc__ or if_false.__doc__
    return function
