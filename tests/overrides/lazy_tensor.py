"""A recorder: nothing is computed until a value is asked for, then the recorded calls run, each once."""


def make(torch):
    class Lazy:
        """Lazy(func, args, kwargs): the result of a call that is yet to be made."""

        calls = 0

        def __init__(self, func, args=(), kwargs=None):
            self.func, self.args, self.kwargs = func, args, kwargs or {}
            self.result = None

        @classmethod
        def of(cls, tensor):
            return cls(lambda: tensor)

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return cls(func, args, kwargs)

        def __getattr__(self, name):
            if name.startswith("_"):
                raise AttributeError(name)
            method = getattr(torch.Tensor, name)
            if callable(method):
                return lambda *args, **kwargs: Lazy(method, (self, *args), kwargs)
            return getattr(self.value(), name)

        def __add__(self, other):
            return torch.add(self, other)

        def __mul__(self, other):
            return torch.mul(self, other)

        def value(self):
            """The tensor; what it depends on is computed first."""
            if self.result is None:
                Lazy.calls += 1
                self.result = self.func(*map(run, self.args), **{k: run(v) for k, v in self.kwargs.items()})
                self.args = self.kwargs = None
            return self.result

    def run(x):
        if isinstance(x, Lazy):
            return x.value()
        return type(x)(map(run, x)) if type(x) in (list, tuple) else x

    return Lazy
