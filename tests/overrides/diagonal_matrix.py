"""A diagonal matrix that is no tensor: it keeps n numbers instead of n * n, and works in functions that know it."""


def make(torch):
    class Diagonal:
        """Diagonal(n, value): value on the diagonal of an n x n matrix."""

        functions = {}

        def __init__(self, n, value):
            self.n, self.value = n, value

        def __repr__(self):
            return "Diagonal(n=%d, value=%s)" % (self.n, self.value)

        def tensor(self):
            return self.value * torch.eye(self.n)

        @classmethod
        def implements(cls, function):
            return lambda implementation: cls.functions.setdefault(function, implementation)

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            if func not in cls.functions or not all(issubclass(t, (Diagonal, torch.Tensor)) for t in types):
                return NotImplemented
            return cls.functions[func](*args, **(kwargs or {}))

    def dense(x):
        return x.tensor() if isinstance(x, Diagonal) else x

    @Diagonal.implements(torch.mean)
    def mean(matrix):
        return matrix.value / matrix.n

    @Diagonal.implements(torch.matmul)
    def matmul(a, b):
        if isinstance(a, Diagonal) and isinstance(b, Diagonal):
            return Diagonal(a.n, a.value * b.value)
        return a.value * b if isinstance(a, Diagonal) else a * b.value

    @Diagonal.implements(torch.add)
    def add(a, b, *, out=None):
        if isinstance(a, Diagonal) and isinstance(b, Diagonal):
            return Diagonal(a.n, a.value + b.value)
        return torch.add(dense(a), dense(b), out=out)

    @Diagonal.implements(torch.linalg.inv)
    def inv(a):
        return Diagonal(a.n, 1 / a.value)

    @Diagonal.implements(torch.einsum)
    def einsum(equation, *operands):
        return torch.einsum(equation, *map(dense, operands))

    @Diagonal.implements(torch.Tensor.__getitem__)
    def getitem(tensor, index):
        return tensor[index.tensor().bool()]

    return Diagonal
