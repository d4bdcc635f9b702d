"""Classes that override, for the tables and tests of `torch.overrides`, and the readable name of what they are called with."""

_PLACES = (
    "",
    "nn.functional",
    "functional",
    "linalg",
    "fft",
    "special",
    "nn.init",
    "autograd",
    "_C",
    "_C._nn",
    "_C._VariableFunctions",
)


def _place(torch, path):
    for part in path.split(".") if path else ():
        torch = getattr(torch, part)
    return torch


def name(torch, func):
    """The name under which the public object `func` itself is found; `?` and its repr where it is none."""
    owner = getattr(func, "__self__", None)
    if func.__name__ in ("__get__", "__set__", "__delete__"):
        attribute = getattr(owner, "__name__", None) or owner.fget.__name__
        if getattr(torch.Tensor, attribute) is owner:
            return "Tensor.%s.%s" % (attribute, func.__name__)
    elif not func.__name__.startswith("__") and getattr(torch.Tensor, func.__name__, None) is func:
        return "Tensor." + func.__name__
    for attribute in dir(torch.Tensor):
        if getattr(torch.Tensor, attribute, None) is func:
            return "Tensor." + attribute
    for path in _PLACES:
        prefix = path.rpartition(".")[2] + "_"
        names = [func.__name__]
        if func.__name__.startswith(prefix):
            names.append(func.__name__[len(prefix) :])
        for attribute in names:
            if getattr(_place(torch, path), attribute, None) is func:
                return ".".join(filter(None, ("torch", path, attribute)))
    return "?%r" % (func,)


def describe(torch, value):
    """Tensors and overriding objects by their class, containers by their elements."""
    if type(value) in (list, tuple):
        inside = ", ".join(describe(torch, v) for v in value)
        return "[%s]" % inside if type(value) is list else "(%s%s)" % (inside, "," * (len(value) == 1))
    if isinstance(value, dict):
        return "{%s}" % ", ".join("%s=%s" % (k, describe(torch, v)) for k, v in value.items())
    if isinstance(value, torch.Tensor) or hasattr(type(value), "__torch_function__"):
        return type(value).__name__
    return repr(value)


class Log(list):
    """What overrides were called with: `log()` gives the lines and empties it."""

    def __init__(self, torch):
        super().__init__()
        self.torch = torch

    def note(self, who, func, types, args, kwargs):
        kinds = ", ".join(t.__name__ for t in types)
        call = "%s%s %s" % (name(self.torch, func), describe(self.torch, args), describe(self.torch, kwargs))
        self.append("%s: %s types(%s)" % (who, call, kinds))

    def __call__(self):
        lines, self[:] = self[:], []
        print("\n".join(lines) if lines else "nothing")

    def names(self):
        lines, self[:] = self[:], []
        print(" ".join(line.split(": ")[1].partition("(")[0] for line in lines) if lines else "nothing")


def duck(log, name="Duck", answer=-1, bases=(), attributes=()):
    """A class that is no tensor and answers every call with `answer`."""

    def torch_function(cls, func, types, args=(), kwargs=None):
        log.note(cls.__name__, func, types, args, kwargs)
        return answer

    return type(name, bases, {"__torch_function__": classmethod(torch_function), **dict(attributes)})


def subclass(log, name="Sub", bases=()):
    """A subclass of Tensor that notes the call and does what Tensor's own protocol does."""

    def torch_function(cls, func, types, args=(), kwargs=None):
        log.note(cls.__name__, func, types, args, kwargs)
        return super(made, cls).__torch_function__(func, types, args, kwargs or {})

    made = type(name, bases or (log.torch.Tensor,), {"__torch_function__": classmethod(torch_function)})
    return made


def mode(log, name="Mode", answer=None):
    """A mode that notes the call and makes it, or gives `answer`."""

    class Mode(log.torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            log.note(name, func, types, args, kwargs)
            if answer is not None:
                return answer
            return func(*args, **kwargs) if kwargs else func(*args)

    Mode.__name__ = Mode.__qualname__ = name
    return Mode()


def state(torch):
    """What overrides and modes must leave as it was, thread by thread."""
    C = torch._C
    return (
        C._len_torch_function_stack(),
        C._is_torch_function_enabled(),
        C._is_torch_function_all_disabled(),
        C._is_torch_function_mode_enabled(),
        torch.is_grad_enabled(),
        torch.is_inference_mode_enabled(),
    )
