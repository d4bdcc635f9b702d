"""Tensors of PyTorch and of minitorch in one process: a TypeError where they meet, never a recursion. A stand-in plays PyTorch, with
the handler that its tensors inherit."""

import importlib.util
import operator
import subprocess
import sys
import types

import pytest

pytestmark = pytest.mark.minitorch_only(reason="about minitorch beside PyTorch")


@pytest.fixture
def other(torch, monkeypatch):
    """What PyTorch is to minitorch: a module `torch` with a class Tensor, whose metaclass is its own."""

    class Meta(type):
        pass

    class Tensor(metaclass=Meta):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            if not all(issubclass(cls, t) for t in types):
                return NotImplemented
            return func(*args, **(kwargs or {}))

        def __add__(self, other):
            return dispatch(Tensor.__add__, self, other)

        __radd__ = __add__

    class Sub(Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return super().__torch_function__(func, types, args, kwargs)

    def dispatch(func, *args):
        kinds = [type(a) for a in args if type(a) is not Tensor and hasattr(type(a), "__torch_function__")]
        for kind in kinds:
            answer = kind.__torch_function__(func, tuple(kinds), args, {})
            if answer is not NotImplemented:
                return answer
        return NotImplemented

    module = types.ModuleType("torch")
    module.Tensor, module.Sub, module.dispatch = Tensor, Sub, dispatch
    monkeypatch.setitem(sys.modules, "torch", module)
    return module


@pytest.mark.parametrize("kind", ["Tensor", "Sub"])
def test_their_tensor_in_our_functions(torch, other, kind):
    theirs, ours, F = getattr(other, kind)(), torch.ones(2), torch.nn.functional
    words = r"\(\): arguments must be tensors of minitorch, not <class .*%s'>" % kind
    for call in (
        lambda: torch.add(ours, theirs),
        lambda: torch.add(input=ours, other=theirs),
        lambda: torch.exp(theirs),
        lambda: torch.cat([ours, theirs]),
        lambda: torch.add(ours, ours, out=theirs),
        lambda: ours.mul(theirs),
        lambda: ours.copy_(theirs),
        lambda: ours[theirs],
        lambda: ours.__setitem__(0, theirs),
        lambda: F.softmax(theirs, 0),
        lambda: F.dropout2d(theirs),
        lambda: F.linear(ours, theirs),
        lambda: torch.nn.Linear(2, 2)(theirs),
        lambda: torch.einsum("i", theirs),
        lambda: torch.nn.init.uniform_(theirs),
        lambda: torch.autograd.grad(theirs, theirs),
    ):
        with pytest.raises(TypeError, match=words):
            call()
    for operation in (operator.add, operator.mul, operator.lt, operator.matmul, operator.pow):
        for operands in ((ours, theirs), (theirs, ours)):
            with pytest.raises(TypeError, match="not supported|unsupported"):
                operation(*operands)
    assert torch._C._is_torch_function_enabled() and torch._C._len_torch_function_stack() == 0
    assert (ours + 1).tolist() == [2, 2]


def test_our_tensor_in_their_functions(torch, other):
    class Sub(torch.Tensor):
        pass

    def theirs(*args):
        return other.dispatch(theirs, *args)

    for ours in (torch.ones(2), torch.ones(2).as_subclass(Sub), torch.nn.Parameter(torch.ones(2))):
        assert theirs(ours) is NotImplemented
        assert theirs(other.Tensor(), ours) is NotImplemented
        assert theirs(ours, ours) is NotImplemented
    assert torch._C._is_torch_function_enabled()


def test_the_same_call_again_with_other_arguments(torch):
    """Only the call that runs already is refused."""
    depth = []

    def count(x, n=0, *, k=0):
        depth.append((n, k))
        if n < 3:
            return torch.Tensor.__torch_function__(count, (), (x, n + 1), {"k": k})
        if k < 3:
            return torch.Tensor.__torch_function__(count, (), (x, n), {"k": k + 1})
        return x

    t = torch.ones(1)
    assert torch.Tensor.__torch_function__(count, (), (t,), {}) is t
    assert depth == [(0, 0), (1, 0), (2, 0), (3, 0), (3, 1), (3, 2), (3, 3)]


PROGRAM = """
import torch as theirs, minitorch as ours
a, b = theirs.ones(2), ours.ones(2)
for name, call in dict(
    ours=lambda: ours.add(b, a), theirs=lambda: theirs.add(a, b), plus=lambda: a + b, reflected=lambda: b + a,
    python=lambda: ours.nn.functional.softmax(a, 0), their_python=lambda: theirs.nn.functional.softmax(b, 0),
    parameter=lambda: theirs.cat([a, ours.nn.Parameter(b)]), their_parameter=lambda: ours.cat([b, theirs.nn.Parameter(a)]),
).items():
    try:
        print(name, call())
    except TypeError:
        pass
print(ours.from_dlpack(a).tolist(), theirs.from_dlpack(b).tolist())
"""


def test_with_pytorch():
    if importlib.util.find_spec("torch") is None:
        pytest.skip("no PyTorch")
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=120)
    assert (done.stdout, done.returncode) == ("[1.0, 1.0] [1.0, 1.0]\n", 0), done.stderr
