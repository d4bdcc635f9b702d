"""A subclass that keeps a log of the calls it takes part in, and a mode that logs every call of a block."""


def make(torch):
    def describe(value):
        if isinstance(value, torch.Tensor):
            with torch._C.DisableTorchFunction():
                return "%s%s" % (type(value).__name__, list(value.shape))
        if isinstance(value, (list, tuple)):
            return "[%s]" % ", ".join(map(describe, value))
        return repr(value)

    def line(func, args, kwargs):
        name = torch.overrides.resolve_name(func) or func.__name__
        words = [describe(a) for a in args]
        words += ["%s=%s" % (k, describe(v)) for k, v in (kwargs or {}).items()]
        return "%s(%s)" % (name, ", ".join(words))

    class Logging(torch.Tensor):
        log = []

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            cls.log.append(line(func, args, kwargs))
            return super().__torch_function__(func, types, args, kwargs or {})

    class LoggingMode(torch.overrides.TorchFunctionMode):
        def __init__(self):
            self.log = []

        def __torch_function__(self, func, types, args=(), kwargs=None):
            self.log.append(line(func, args, kwargs))
            return func(*args, **(kwargs or {}))

    return Logging, LoggingMode
