"""Classes derived from Tensor: metaclasses, other bases, slots, hooks of class creation; object's own methods on tensors."""

import abc
import copy
import gc
import operator
import weakref

import pytest


@pytest.mark.item("M6.30", "M6.33")
def test_metaclass_beside_that_of_tensors(torch):
    class Meta(abc.ABCMeta, type(torch.Tensor)):
        pass

    class Other(type(torch.Tensor), abc.ABCMeta):
        pass

    for meta in (Meta, Other):

        class Sub(torch.Tensor, metaclass=meta):
            @abc.abstractmethod
            def unfinished(self):
                pass

        s = torch.ones(2).as_subclass(Sub)
        assert (type(s), type(s + 1), Sub([1.0, 2.0]).tolist()) == (Sub, Sub, [1, 2])
        assert not isinstance(torch.ones(2), Sub) and isinstance(s, torch.Tensor)
        Sub.register(int)
        assert issubclass(int, Sub) and isinstance(5, Sub)


@pytest.mark.item("M6.33")
def test_base_is_only_for_tensor(torch):
    for name in ("TensorBase", "_TensorBase"):
        base = getattr(torch._C, name, torch._C.TensorBase)
        with pytest.raises(RuntimeError, match="Cannot subclass _TensorBase directly"):
            type(torch.Tensor)("Direct", (base,), {})
        with pytest.raises(RuntimeError, match="Cannot subclass|Cannot directly construct"):
            base()


@pytest.mark.minitorch_only(reason="PyTorch makes the object, which is no tensor")
@pytest.mark.item("M6.33")
def test_metaclass_that_skips_the_check(torch):
    class Skips(type(torch.Tensor)):
        def __init__(cls, *args):
            pass

    cls = Skips("Direct", (torch._C.TensorBase,), {})
    with pytest.raises(RuntimeError, match="Cannot directly construct"):
        cls()
    with pytest.raises(TypeError):
        torch.ones(1).as_subclass(cls)


@pytest.mark.item("M6.30")
def test_other_bases(torch):
    class Other:
        x = 5

        def __init__(self, *args):
            self.y = 1

        def hello(self):
            return "hello"

    for bases in ((torch.Tensor, Other), (Other, torch.Tensor)):
        made = type("Both", bases, {})([1.0, 2.0])
        assert (made.tolist(), made.hello(), made.x, made.y) == ([1, 2], "hello", 5, 1)
        assert type(made + 1) is type(made)
    for base in (int, dict, Exception):
        with pytest.raises(TypeError, match="lay-?out conflict"):
            type("Both", (torch.Tensor, base), {})


@pytest.mark.item("M6.30")
def test_init_of_object_takes_nothing(torch):
    class Passes(torch.Tensor):
        def __init__(self, data):
            super().__init__(data)

    class PassesNothing(torch.Tensor):
        def __init__(self, data):
            super().__init__()

    with pytest.raises(TypeError, match="takes exactly one argument"):
        Passes([1.0])
    assert PassesNothing([1.0]).tolist() == [1]


@pytest.mark.item("M6.30", "M6.34")
def test_slots(torch):
    class Slotted(torch.Tensor):
        __slots__ = ("q", "w")

    a = Slotted([1.0])
    a.q, a.other = 5, 6
    b = torch.ones(2).as_subclass(Slotted)
    assert (a.q, a.other, hasattr(a, "w"), hasattr(b, "q"), hasattr(a + 1, "q")) == (
        5,
        6,
        False,
        False,
        False,
    )
    again = copy.copy(a)
    assert (type(again), again.q, again.tolist()) == (Slotted, 5, [1])


@pytest.mark.item("M6.30")
def test_hooks_of_class_creation(torch):
    log = []

    class Base(torch.Tensor):
        def __init_subclass__(cls, **kwargs):
            log.append((cls.__name__, kwargs))

        def __class_getitem__(cls, key):
            return cls.__name__, key

    class Mixin:
        def __init_subclass__(cls, **kwargs):
            log.append(("mixin", kwargs))

    class Derived(Base, k=3):
        pass

    class Mixed(torch.Tensor, Mixin, z=1):
        pass

    assert log == [("Derived", {"k": 3}), ("mixin", {"z": 1})]
    assert Derived[5] == ("Derived", 5)
    with pytest.raises(TypeError):
        torch.Tensor[5]
    with pytest.raises(TypeError, match="takes no keyword arguments"):
        type(torch.Tensor)("Wrong", (torch.Tensor,), {}, k=3)


@pytest.mark.item("M6.21")
def test_methods_of_object(torch):
    class Sub(torch.Tensor):
        def __setattr__(self, name, value):
            object.__setattr__(self, name, (value,) if name == "noted" else value)

        def __delattr__(self, name):
            object.__delattr__(self, name)

    for t in (torch.ones(2), torch.ones(2).as_subclass(type("Plain", (torch.Tensor,), {})), Sub([1.0, 1.0])):
        object.__setattr__(t, "x", 1)
        object.__setattr__(t, "requires_grad", True)
        t.grad = torch.ones(2)
        assert (t.x, t.requires_grad, object.__getattribute__(t, "grad").tolist()) == (1, True, [1, 1])
        object.__delattr__(t, "x")
        object.__delattr__(t, "grad")
        assert not hasattr(t, "x") and t.grad is None
        for action in (
            lambda t=t: object.__setattr__(t, "shape", 1),
            lambda t=t: object.__delattr__(t, "shape"),
            lambda t=t: object.__getattribute__(t, "absent"),
            lambda t=t: setattr(t, "shape", 1),
            lambda t=t: delattr(t, "absent"),
        ):
            with pytest.raises(AttributeError):
                action()
        for call in (lambda: torch.Tensor.__setattr__(t, "x"), lambda: torch.Tensor.__delattr__(t)):
            with pytest.raises(TypeError):
                call()
        with pytest.raises(TypeError, match="must be string"):
            torch.Tensor.__setattr__(t, 5, 1)
    s = Sub([1.0])
    s.noted = 5
    assert s.noted == (5,)


@pytest.mark.item("M6.21")
def test_attributes_do_not_keep_alive(torch):
    class Thing:
        pass

    def cycle(t):
        thing = Thing()
        thing.t, t.thing = t, thing
        return weakref.ref(thing)

    refs = [cycle(torch.ones(1)), cycle(torch.ones(1).as_subclass(type("Sub", (torch.Tensor,), {})))]
    gc.collect()
    assert [r() for r in refs] == [None, None]


@pytest.mark.item("M6.02")
def test_class_of_a_tensor_changes(torch):
    class A(torch.Tensor):
        pass

    class B(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            args[0].__class__ = A
            return NotImplemented

    s = torch.ones(2).as_subclass(A)
    for wrong in (int, object, torch.nn.Module):
        with pytest.raises(TypeError):
            s.__class__ = wrong
    s.__class__ = B
    with pytest.raises(TypeError):
        torch.add(s, 1)
    assert type(s) is A and type(s + 1) is A
    s.__class__ = B
    with pytest.raises(TypeError):
        operator.add(s, 1)
    assert type(s) is A


@pytest.mark.item("M6.51", "M6.61")
def test_range_asks_nobody(torch):
    log = []

    class Notes(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            log.append(func)
            return func(*args, **(kwargs or {}))

    class Duck:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return -1

    with pytest.warns(UserWarning, match="range"), Notes():
        numbers = torch.range(0, 3)
    assert (log, numbers.tolist()) == ([], [0, 1, 2, 3])
    for call in (lambda: torch.range(Duck(), 3), lambda: torch.range(0, 3, out=Duck())):
        with pytest.raises(TypeError):
            call()
    with pytest.warns(UserWarning):
        assert torch.overrides.redispatch_function(torch.range, (), (0, 3), {}).tolist() == [0, 1, 2, 3]
    with torch.device("meta"), pytest.warns(UserWarning):
        assert torch.range(0, 3).device.type == "cpu"
