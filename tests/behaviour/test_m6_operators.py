"""Operators: what `func` is and is called, calls by name with whatever overrides, operators that are replaced in classes."""

import operator
import pickle

import pytest


def answering(torch, bases=()):
    """A class whose override answers with func, args and kwargs."""

    class Answers(*bases):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func, args, kwargs or {}

    return Answers


NAMES = {
    "add": ("add", "add", "add_"),
    "sub": ("sub", "__rsub__", "sub_"),
    "mul": ("mul", "mul", "mul_"),
    "truediv": ("div", "__rdiv__", "div_"),
    "floordiv": ("__floordiv__", "__rfloordiv__", "floor_divide_"),
    "mod": ("remainder", "__rmod__", "remainder_"),
    "pow": ("pow", "__rpow__", "pow_"),
    "matmul": ("matmul", "matmul", None),
    "lshift": ("__lshift__", "__rlshift__", "__ilshift__"),
    "rshift": ("__rshift__", "__rrshift__", "__irshift__"),
    "and_": ("__and__", "bitwise_and", "__iand__"),
    "or_": ("__or__", "bitwise_or", "__ior__"),
    "xor": ("__xor__", "bitwise_xor", "__ixor__"),
}


@pytest.mark.item("M6.20", "M6.21", "M6.24")
@pytest.mark.parametrize("name", NAMES)
def test_names_of_operators(torch, name):
    s = torch.ones(2).as_subclass(answering(torch, (torch.Tensor,)))
    function, in_place = getattr(operator, name), getattr(operator, "i" + name.strip("_"))
    two = torch.ones(2) if name == "matmul" else 2
    calls = [lambda: function(s, two), lambda: function(two, s), lambda: in_place(s, two)]
    for call, expected in zip(calls, NAMES[name]):
        if expected is None:
            continue
        func, args, _ = call()
        own = call is not calls[1] or name != "matmul"  # the left one is a tensor as well
        assert func.__name__ == expected and (args[0] is s and args[1] is two if own else args[1] is s)
        members = [n for n in dir(torch.Tensor) if getattr(torch.Tensor, n) is func]
        assert members
        dotted = torch.overrides.resolve_name(func)
        assert dotted.rpartition(".")[2] in members


@pytest.mark.item("M6.20", "M6.24")
def test_one_object_of_several_names(torch):
    T = torch.Tensor
    for pair in ("__rdiv__ __rtruediv__", "__neg__ neg", "__abs__ abs", "__pos__ positive"):
        first, second = pair.split()
        assert getattr(T, first) is getattr(T, second)
    for name in "__rsub__ __rdiv__ __floordiv__ __rfloordiv__ __rmod__ __rpow__ __rmatmul__ __rlshift__ __rrshift__".split():
        member = getattr(T, name)
        assert (member.__name__, member.__qualname__) == (name, "Tensor." + name)
        assert member.__module__.endswith("torch._tensor")
        assert pickle.loads(pickle.dumps(member)) is member
    assert torch.overrides.resolve_name(T.__rdiv__) == "torch.Tensor.__rtruediv__"
    for name in ("__bool__", "__int__", "__float__", "__index__", "__add__", "__getitem__"):
        assert torch.overrides.resolve_name(getattr(T, name)) == "torch.Tensor." + name


IN_PYTHON = "__floordiv__ __ipow__ __pow__ __rdiv__ __rfloordiv__ __rlshift__ __rmatmul__ __rmod__ __rpow__ __rrshift__ __rsub__"


@pytest.mark.item("M6.08", "M6.12", "M6.20")
@pytest.mark.parametrize("name", IN_PYTHON.split())
def test_call_by_name_with_what_overrides(torch, name):
    member, duck = getattr(torch.Tensor, name), answering(torch)()
    assert member(duck, 2) == (member, (duck, 2), {})
    assert member(duck, other=2) == (member, (duck,), {"other": 2})
    assert member(torch.ones(2), duck) is not NotImplemented
    assert member(duck) == (member, (duck,), {})
    for wrong in (None, "a", object()):
        if name != "__rdiv__":  # a call of a method of it
            assert member(wrong, 2) is NotImplemented

    class Refuses:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return NotImplemented

    assert member(Refuses(), 2) is NotImplemented
    assert member(torch.ones(2), "a") is NotImplemented
    assert member(torch.ones(2)) is NotImplemented


@pytest.mark.item("M6.08")
def test_values_by_name(torch):
    T, t = torch.Tensor, torch.tensor([5, 2])
    assert T.__rsub__(t, 1).tolist() == [-4, -1]
    assert T.__rdiv__(t, 1).tolist() == T.__rtruediv__(t, 1).tolist() == [pytest.approx(0.2), 0.5]
    assert T.__floordiv__(t, 2).tolist() == [2, 1] and T.__rfloordiv__(t, 11).tolist() == [2, 5]
    assert T.__rmod__(t, 7).tolist() == [2, 1] and T.__rpow__(t, 2).tolist() == [32, 4]
    assert T.__pow__(t, 2).tolist() == [25, 4] and T.__rlshift__(t, 1).tolist() == [32, 4]
    assert T.__rrshift__(t, 64).tolist() == [2, 16]
    assert T.__rmatmul__(t, torch.tensor([[1, 0], [0, 1]])).tolist() == [5, 2]
    assert T.__ipow__(t, 2) is t and t.tolist() == [25, 4]
    assert T.__neg__(t).tolist() == [-25, -4] and T.__abs__(-t).tolist() == [25, 4]


@pytest.mark.item("M6.42")
@pytest.mark.parametrize("name", [n for n in IN_PYTHON.split() if n != "__ipow__"])
def test_redispatch_of_operators(torch, name):
    seen = []

    class Logs(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            seen.append(func.__name__)
            if func is member:
                return torch.overrides.redispatch_function(func, types, args, kwargs or {})
            return super().__torch_function__(func, types, args, kwargs or {})

    member, s = getattr(torch.Tensor, name), torch.tensor([1, 2]).as_subclass(Logs)
    other = torch.tensor([1, 2]) if "matmul" in name else 2
    result = member(s, other)
    assert (
        isinstance(result, torch.Tensor) and result.tolist() == member(torch.tensor([1, 2]), other).tolist()
    )
    assert seen[0] == member.__name__ and seen.count(member.__name__) <= 2


SLOTS = "sub truediv floordiv mod pow lshift rshift matmul"


@pytest.mark.item("M6.30")
@pytest.mark.parametrize("name", SLOTS.split())
def test_operators_of_classes(torch, name):
    function, dunder = getattr(operator, name), "__%s__" % name
    reflected = "__r%s__" % name
    t = torch.tensor([3, 1])
    own = type("Own", (torch.Tensor,), {dunder: lambda self, other: "own", "__torch_function__": None})
    back = type("Back", (torch.Tensor,), {reflected: lambda self, other: "back"})
    plain = type("Plain", (torch.Tensor,), {})
    for cls in (own, back):
        cls.__torch_function__ = torch._C._disabled_torch_function_impl
    o, b, p = [t.clone().as_subclass(cls) for cls in (own, back, plain)]
    two = t if name == "matmul" else 2
    assert function(o, two) == function(o, t) == "own"
    assert function(two, b) == function(t, b) == "back"
    expected = function(t, two).tolist()
    assert function(p, two).tolist() == function(b, two).tolist() == expected
    expected = function(two, t).tolist()
    assert function(two, p).tolist() == function(two, o).tolist() == expected


@pytest.mark.item("M6.30")
@pytest.mark.parametrize("name", SLOTS.split())
def test_operators_replaced_in_tensor(torch, name):
    """Replaced for a time, as tests and tracers do."""
    function, reflected = getattr(operator, name), "__r%s__" % name
    t, p = torch.tensor([3, 1]), torch.tensor([3, 1]).as_subclass(type("Plain", (torch.Tensor,), {}))
    two = t if name == "matmul" else 2
    before = [function(two, x).tolist() for x in (t, p)]
    original = getattr(torch.Tensor, reflected)
    was_own = reflected in vars(torch.Tensor)
    setattr(torch.Tensor, reflected, lambda self, other: "replaced")
    try:
        if name != "matmul":
            assert function(two, t) == function(two, p) == "replaced"
        later = type("Later", (torch.Tensor,), {})
        if name != "matmul":
            assert function(two, torch.tensor([3, 1]).as_subclass(later)) == "replaced"
    finally:
        setattr(torch.Tensor, reflected, original)
    assert was_own
    assert [function(two, x).tolist() for x in (t, p)] == before
    assert getattr(torch.Tensor, reflected) is original
