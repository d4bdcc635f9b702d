"""A tensor with a physical unit: units multiply and divide, sums need equal ones, and whatever is not known is refused."""

from collections import Counter


def make(torch):
    class Unit(torch.Tensor):
        """Unit(data, m=1, s=-2): numbers in metres per second squared."""

        @staticmethod
        def __new__(cls, data, **powers):
            made = torch.as_tensor(data).as_subclass(cls)
            made.powers = Counter({name: n for name, n in powers.items() if n})
            return made

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            units = [a.powers if isinstance(a, Unit) else Counter() for a in args]
            with torch._C.DisableTorchFunctionSubclass():
                result = func(*args, **(kwargs or {}))
                if not isinstance(result, torch.Tensor):
                    return result
                return cls(result, **rule(func)(*units))

        def __repr__(self):
            with torch._C.DisableTorchFunctionSubclass():
                unit = " ".join("%s^%d" % power for power in sorted(self.powers.items()))
                return "%s %s" % (self.tolist(), unit or "1")

    def product(a, b):
        return {name: a[name] + b[name] for name in a | b}

    def quotient(a, b):
        return {name: a[name] - b[name] for name in set(a) | set(b)}

    def same(*units):
        if any(unit != units[0] for unit in units):
            raise ValueError("units differ: %s" % ", ".join(str(dict(unit)) for unit in units))
        return units[0]

    rules = {
        same: (torch.add, torch.sub, torch.Tensor.add, torch.Tensor.sub, torch.Tensor.sum, torch.sum),
        product: (torch.mul, torch.Tensor.mul, torch.matmul, torch.Tensor.matmul),
        quotient: (torch.div, torch.Tensor.div),
        lambda a: {name: n // 2 for name, n in a.items()}: (torch.sqrt, torch.Tensor.sqrt),
    }

    def rule(func):
        for found, functions in rules.items():
            if func in functions:
                return found
        raise TypeError("no rule for the unit of %s" % func.__name__)

    return Unit
