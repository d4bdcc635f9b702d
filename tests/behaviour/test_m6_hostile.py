"""Overrides and modes that misbehave: an exception, and the stack, the switches and the references as before."""

import contextlib
import gc
import operator
import sys
import threading

import pytest

from override_kinds import Log, duck, mode, state, subclass


@pytest.fixture
def shallow():
    """Little room for recursion: the limit is reached soon."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(300)
    yield
    sys.setrecursionlimit(limit)


@pytest.fixture(autouse=True)
def same_state(torch):
    before = state(torch)
    yield
    assert state(torch) == before


def override(answer):
    """A class whose override calls `answer(func, types, args, kwargs)`."""

    class Override:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return answer(func, types, args, kwargs or {})

    return Override


def tensor_override(torch, answer):
    return type(
        "Sub", (torch.Tensor,), {"__torch_function__": override(answer).__dict__["__torch_function__"]}
    )


def operations(torch, x):
    """Calls of every kind of entry point with x, a tensor or not, as their operand."""
    t, F = torch.ones(2, 2), torch.nn.functional
    return {
        "function": lambda: torch.add(t, x),
        "keyword": lambda: torch.add(input=t, other=x),
        "out": lambda: torch.add(t, t, out=x),
        "list": lambda: torch.cat([t, x]),
        "tuple": lambda: torch.stack((x, t)),
        "size": lambda: torch.zeros(2, x),
        "operator": lambda: t * x,
        "reflected": lambda: x - t,
        "comparison": lambda: t < x,
        "method": lambda: t.mul(x),
        "in place": lambda: t.add_(x),
        "augmented": lambda: operator.iadd(t, x),
        "index": lambda: t[x],
        "nested index": lambda: t[0, (x, 0)],
        "store": lambda: t.__setitem__(0, x),
        "python": lambda: torch.einsum("ij,jk", t, x),
        "functional": lambda: F.softmax(x, 0),
        "native functional": lambda: F.gelu(x),
        "linalg": lambda: torch.linalg.inv(x),
        "fft": lambda: torch.fft.fft(x),
        "special": lambda: torch.special.erf(x),
        "foreach": lambda: torch._foreach_add([t, x], 1),
        "init": lambda: torch.nn.init.uniform_(x),
        "grad": lambda: torch.autograd.grad(t, x),
        "pad": lambda: F.pad(t, [0, x]),
    }


def tensor_operations(torch, s):
    return {
        "shape": lambda: s.shape,
        "grad": lambda: s.grad,
        "set": lambda: setattr(s, "grad", None),
        "delete": lambda: delattr(s, "grad"),
        "set requires_grad": lambda: setattr(s, "requires_grad", True),
        "neg": lambda: -s,
        "invert": lambda: ~s,
        "pow": lambda: s**2,
        "reflected pow": lambda: 2**s,
        "reflected div": lambda: 2 / s,
        "and": lambda: s & 1,
        "shift": lambda: 1 << s,
        "item": lambda: s.item(),
        "dim": lambda: s.dim(),
        "size": lambda: s.size(),
        "tolist": lambda: s.tolist(),
        "numpy": lambda: s.numpy(),
        "len": lambda: len(s),
        "bool": lambda: bool(s),
        "float": lambda: float(s),
        "int": lambda: int(s),
        "index": lambda: s.__index__(),
        "complex": lambda: complex(s),
        "repr": lambda: repr(s),
        "format": lambda: format(s),
        "iter": lambda: list(s),
        "contains": lambda: 1 in s,
        "getitem": lambda: s[0],
        "setitem": lambda: s.__setitem__(0, 1),
        "split": lambda: s.split(1),
        "backward": lambda: s.backward(),
        "new_zeros": lambda: s.new_zeros(1),
        "new_tensor": lambda: s.new_tensor([1]),
        "to": lambda: s.to("cpu"),
        "type": lambda: s.type(),
        "detach": lambda: s.detach(),
        "zero_": lambda: s.zero_(),
        "requires_grad_": lambda: s.requires_grad_(),
        "storage": lambda: s.untyped_storage(),
        "deepcopy": lambda: s.__deepcopy__({}),
        "reduce": lambda: s.__reduce_ex__(2),
    }


KINDS = [
    "function", "keyword", "out", "list", "tuple", "size", "operator", "reflected", "comparison", "method", "in place",
    "augmented", "index", "nested index", "store", "python", "functional", "native functional", "linalg", "fft",
    "special", "foreach", "init", "grad", "pad",
]  # fmt: skip
TENSOR_KINDS = [
    "shape", "grad", "set", "delete", "set requires_grad", "neg", "invert", "pow", "reflected pow", "reflected div",
    "and", "shift", "item", "dim", "size", "tolist", "numpy", "len", "bool", "float", "int", "index", "complex", "repr",
    "format", "iter", "contains", "getitem", "setitem", "split", "backward", "new_zeros", "new_tensor", "to", "type",
    "detach", "zero_", "requires_grad_", "storage", "deepcopy", "reduce",
]  # fmt: skip


def test_the_kinds_are_complete(torch):
    assert list(operations(torch, None)) == KINDS
    assert list(tensor_operations(torch, None)) == TENSOR_KINDS


class Mine(Exception):
    pass


def raises(func, types, args, kwargs):
    raise Mine(func.__name__)


@pytest.mark.item("M6.09")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("under", ["nothing", "mode"])
def test_override_raises(torch, kind, under):
    x = override(raises)()
    block = torch.overrides.BaseTorchFunctionMode() if under == "mode" else contextlib.nullcontext()
    with block, pytest.raises(Mine):
        operations(torch, x)[kind]()


@pytest.mark.item("M6.09")
@pytest.mark.parametrize("kind", TENSOR_KINDS)
def test_override_of_subclass_raises(torch, kind):
    s = torch.ones(2).as_subclass(tensor_override(torch, raises))
    with pytest.raises(Mine):
        tensor_operations(torch, s)[kind]()


@pytest.mark.item("M6.09", "M6.50")
@pytest.mark.parametrize("kind", TENSOR_KINDS)
def test_mode_raises(torch, kind):
    class Raises(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            raise Mine

    t = torch.ones(2)
    with Raises(), torch.overrides.BaseTorchFunctionMode():
        depth = state(torch)
        with pytest.raises(Mine):
            tensor_operations(torch, t)[kind]()
        assert state(torch) == depth


REFUSED = {"operator", "reflected", "comparison", "augmented"}  # Python's own words then


@pytest.mark.item("M6.07", "M6.08")
@pytest.mark.parametrize("kind", KINDS)
def test_everyone_refuses(torch, kind):
    x = override(lambda *a: NotImplemented)()
    words = (
        "not supported|unsupported" if kind in REFUSED else "returned NotImplemented|no implementation found"
    )
    with pytest.raises(TypeError, match=words):
        operations(torch, x)[kind]()


@pytest.mark.item("M6.07", "M6.08")
@pytest.mark.parametrize("kind", TENSOR_KINDS)
def test_subclass_refuses(torch, kind):
    s = torch.ones(2).as_subclass(tensor_override(torch, lambda *a: NotImplemented))
    with pytest.raises(TypeError):
        tensor_operations(torch, s)[kind]()


@pytest.mark.minitorch_only(reason="PyTorch asks Tensor itself then, and recurses to the limit")
@pytest.mark.item("M6.07")
@pytest.mark.parametrize("kind", TENSOR_KINDS)
def test_mode_refuses(torch, kind):
    class Refuses(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            return NotImplemented

    t = torch.ones(2)
    with Refuses(), pytest.raises(TypeError, match="NotImplemented|no implementation found|unsupported"):
        tensor_operations(torch, t)[kind]()


@pytest.mark.item("M6.09")
@pytest.mark.parametrize("kind", sorted(set(KINDS) - {"reflected"}))
def test_endless_recursion(torch, shallow, kind):
    x = override(lambda func, types, args, kwargs: func(*args, **kwargs))()
    with pytest.raises(RecursionError):
        operations(torch, x)[kind]()


@pytest.mark.item("M6.09")
@pytest.mark.parametrize("kind", TENSOR_KINDS)
def test_endless_recursion_of_a_subclass(torch, shallow, kind):
    s = torch.ones(2).as_subclass(
        tensor_override(torch, lambda func, types, args, kwargs: func(*args, **kwargs))
    )
    with pytest.raises(RecursionError):
        tensor_operations(torch, s)[kind]()


@pytest.mark.item("M6.53")
def test_endless_recursion_of_a_mode(torch, shallow):
    class Again(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            with self:
                return func(*args, **(kwargs or {}))

    t = torch.ones(2)
    for action in (lambda: torch.add(t, 1), lambda: t.shape, lambda: t[0], lambda: torch.norm(t)):
        with Again(), pytest.raises(RecursionError):
            action()
    assert (t + 1).tolist() == [2, 2]


# --- the attribute itself ---


def attribute_cases(torch):
    class NotCallable:
        __torch_function__ = 5

    class Nothing:
        __torch_function__ = None

    class Words:
        __torch_function__ = "text"

    class NoArguments:
        @classmethod
        def __torch_function__(cls):
            return 1

    class Raises:
        @property
        def __torch_function__(self):
            raise KeyError("k")

    class RaisesAttributeError:
        @property
        def __torch_function__(self):
            raise AttributeError("k")

    class Meta(type):
        def __getattr__(cls, name):
            raise KeyError(name)

    class OfMeta(metaclass=Meta):
        pass

    return [NotCallable(), Nothing(), Words(), NoArguments(), Raises(), RaisesAttributeError(), OfMeta()]


@pytest.mark.item("M6.01", "M6.09")
@pytest.mark.parametrize("kind", sorted(set(KINDS) - REFUSED - {"store", "grad"}))
@pytest.mark.parametrize("case", range(7))
def test_attribute_that_is_no_override(torch, kind, case):
    with pytest.raises((TypeError, IndexError, AttributeError, RuntimeError)):
        operations(torch, attribute_cases(torch)[case])[kind]()


@pytest.mark.item("M6.01", "M6.11")
def test_attribute_that_raises_is_none(torch):
    has = torch.overrides.has_torch_function_unary
    assert [has(x) for x in attribute_cases(torch)] == [True, True, True, True, False, False, False]

    class Sub(torch.Tensor):
        @property
        def __torch_function__(self):
            raise KeyError("k")

    s = torch.ones(2).as_subclass(Sub)
    assert not has(s)
    assert type(s + 1) is torch.Tensor
    assert s.shape == (2,)


@pytest.mark.item("M6.01")
def test_attribute_of_the_instance(torch):
    class Plain:
        pass

    class Dynamic:
        def __getattr__(self, name):
            if name == "__torch_function__":
                return lambda *a: "dynamic"
            raise AttributeError(name)

    x = Plain()
    x.__torch_function__ = lambda func, types, args=(), kwargs=None: (func, types)
    assert torch.add(x, 1) == (torch.add, (Plain,))
    assert torch.add(Dynamic(), 1) == "dynamic"
    s = torch.ones(2).as_subclass(type("Sub", (torch.Tensor,), {}))
    s.__torch_function__ = lambda *a: "instance"
    assert s + 1 == "instance"
    assert s.shape == "instance"
    off = torch.ones(2).as_subclass(
        type("Off", (torch.Tensor,), {"__torch_function__": torch._C._disabled_torch_function_impl})
    )
    assert type(off + 1) is torch.Tensor
    off.__torch_function__ = lambda *a: "instance"
    assert off + 1 == "instance"
    t = torch.ones(2)
    t.__torch_function__ = lambda *a: "instance"
    assert (t + 1).tolist() == [2, 2]  # an exact tensor never takes part


@pytest.mark.item("M6.01")
def test_classes_as_arguments(torch):
    D = duck(Log(torch))
    assert torch.add(D, 1) == -1
    assert torch.ones(2) + D == -1
    assert torch.cat([D, torch.ones(1)]) == -1
    assert torch.overrides.has_torch_function_unary(D)
    with pytest.raises(TypeError):
        torch.add(int, 1)


# --- what changes during the call ---


@pytest.mark.item("M6.02")
def test_class_changes_during_the_call(torch):
    class Other:
        pass

    log = []

    class After:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            log.append([t.__name__ for t in types])
            return "answer"

    class First(After):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            args[0][1].__class__ = Other
            return NotImplemented

    first, second = First(), After()
    with pytest.raises((TypeError, AttributeError, RuntimeError)):
        torch.cat([first, second])
    assert torch.cat([After()]) == "answer"
    assert log == [["After"]]


@pytest.mark.item("M6.02")
def test_override_is_removed_during_the_call(torch):
    class Vanishes:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            del Vanishes.__torch_function__
            return NotImplemented

    with pytest.raises(TypeError, match="NotImplemented"):
        torch.add(Vanishes(), Vanishes())
    with pytest.raises(TypeError, match="must be Tensor"):
        torch.add(Vanishes(), 1)

    class RemovesOther:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            del Other.__torch_function__
            return NotImplemented

    class Other:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return "unreachable"

    with pytest.raises((AttributeError, RuntimeError)):
        torch.cat([RemovesOther(), Other()])


@pytest.mark.item("M6.02", "M6.03")
def test_list_is_emptied_during_the_call(torch):
    class Empties:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            args[0].clear()
            gc.collect()
            return NotImplemented

    log = Log(torch)
    given = [Empties(), duck(log, "Second")(), Empties()]
    assert torch.cat(given) == -1
    assert given == []
    log.names()


# --- modes ---


@pytest.mark.item("M6.54")
@pytest.mark.parametrize("thing", [5, "text", object(), [], 1.5])
def test_nonsense_on_the_stack(torch, thing):
    torch._C._push_on_torch_function_stack(thing)
    try:
        assert torch._C._get_function_stack_at(0) is thing
        with pytest.raises((RuntimeError, AttributeError)):
            torch.add(1, 2)
        assert torch._C._len_torch_function_stack() == 1
    finally:
        torch._C._pop_torch_function_stack()


@pytest.mark.minitorch_only(reason="PyTorch ignores None there")
@pytest.mark.item("M6.54")
def test_none_on_the_stack(torch):
    test_nonsense_on_the_stack(torch, None)


@pytest.mark.item("M6.54")
def test_empty_stack(torch):
    C, o = torch._C, torch.overrides
    for pop in (
        C._pop_torch_function_stack,
        o._pop_mode,
        lambda: o.TorchFunctionMode().__exit__(None, None, None),
    ):
        with pytest.raises(RuntimeError, match="empty"):
            pop()
    with pytest.raises(RuntimeError):
        C._get_function_stack_at(0)
    with pytest.raises(TypeError):
        C._get_function_stack_at("x")
    with pytest.raises(RuntimeError, match="empty"), o._pop_mode_temporarily():
        pass


@pytest.mark.minitorch_only(reason="PyTorch ends the process")
@pytest.mark.item("M6.54")
def test_places_that_the_stack_does_not_have(torch):
    for place in (-1, -(2**31), 2**31, 10**30):
        with pytest.raises((RuntimeError, OverflowError)):
            torch._C._get_function_stack_at(place)


@pytest.mark.item("M6.54")
def test_mode_that_pops_or_pushes(torch):
    C = torch._C

    class Pops(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            C._pop_torch_function_stack()

    with Pops(), pytest.raises(RuntimeError, match="empty"):
        torch.add(1, 1)

    class Pushes(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            for _ in range(40):
                C._push_on_torch_function_stack(self)
            return "pushed"

    p = Pushes()
    C._push_on_torch_function_stack(p)
    assert torch.add(1, 1) == "pushed"
    assert C._len_torch_function_stack() == 41
    assert all(C._pop_torch_function_stack() is p for _ in range(41))


@pytest.mark.item("M6.54")
def test_mode_without_another_owner(torch):
    log = Log(torch)
    torch._C._push_on_torch_function_stack(mode(log))
    gc.collect()
    assert torch.add(1, 1).item() == 2
    torch._C._pop_torch_function_stack()
    log.names()


@pytest.mark.item("M6.50", "M6.54")
def test_generators_switch_modes(torch):
    """A generator enters and leaves its modes when it runs: the stack is a stack of the thread, not of the frame."""
    log = Log(torch)

    def steps(name):
        with mode(log, name):
            yield
            yield torch.add(1, 1)

    a, b = steps("a"), steps("b")
    next(a)
    next(b)
    assert torch._C._len_torch_function_stack() == 2
    next(b)
    assert [line.split(":")[0] for line in log] == ["b", "a"]
    b.close()
    assert torch._C._len_torch_function_stack() == 1
    a.close()
    assert torch._C._len_torch_function_stack() == 0


@pytest.mark.item("M6.50", "M6.40")
def test_threads_have_their_own_state(torch):
    C, seen, errors = torch._C, {}, []
    barrier = threading.Barrier(4)

    def work(i):
        try:
            log = Log(torch)
            with contextlib.ExitStack() as stack:
                for _ in range(i):
                    stack.enter_context(mode(log))
                if i % 2:
                    stack.enter_context(C.DisableTorchFunctionSubclass())
                barrier.wait()
                for _ in range(200):
                    torch.add(1, 1)
                seen[i] = (len(log), C._len_torch_function_stack(), C._is_torch_function_enabled())
            assert state(torch) == (0, True, False, False, True, False)
        except BaseException as e:
            errors.append(e)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not errors
    assert seen == {i: (200 * i, i, i % 2 == 0) for i in range(4)}


@pytest.mark.item("M6.54")
def test_modes_of_a_thread_that_ended(torch):
    """A thread may end with modes on its stack; nobody else sees them, and the next thread starts without."""
    depths = []

    def work():
        depths.append(torch._C._len_torch_function_stack())
        torch._C._push_on_torch_function_stack(torch.overrides.BaseTorchFunctionMode())
        torch.add(1, 1)

    for _ in range(20):
        t = threading.Thread(target=work)
        t.start()
        t.join()
    assert depths == [0] * 20


@pytest.mark.minitorch_only(reason="PyTorch keeps the modes of a thread that ended")
@pytest.mark.item("M6.54")
def test_modes_of_a_thread_are_freed_with_it(torch):
    import weakref

    refs = []

    def work():
        m = torch.overrides.BaseTorchFunctionMode()
        refs.append(weakref.ref(m))
        torch._C._push_on_torch_function_stack(m)

    t = threading.Thread(target=work)
    t.start()
    t.join()
    gc.collect()
    assert refs[0]() is None


# --- references ---


def counted(torch, action, objects, rounds=50):
    """Growth of the reference counts of the objects over repeated actions."""
    for _ in range(5):
        action()
    gc.collect()
    before = [sys.getrefcount(o) for o in objects]
    for _ in range(rounds):
        action()
    gc.collect()
    return [after - b for after, b in zip([sys.getrefcount(o) for o in objects], before)]


@pytest.mark.minitorch_only(reason="PyTorch loses what setters, bool and store are answered")
@pytest.mark.item("M6.05", "M6.06", "M6.09")
@pytest.mark.parametrize("answer", ["value", "refuse", "raise"])
def test_no_reference_is_lost(torch, answer):
    result = object()

    def answers(func, types, args, kwargs):
        if answer == "raise":
            raise Mine
        return result if answer == "value" else NotImplemented

    D, S = override(answers), tensor_override(torch, answers)
    d, s = D(), torch.ones(2).as_subclass(S)
    objects = [
        d,
        s,
        D,
        S,
        result,
        NotImplemented,
        torch.add,
        torch.Tensor.add,
        torch.Tensor.shape,
        torch.einsum,
    ]
    actions = list(operations(torch, d).values()) + list(tensor_operations(torch, s).values())

    def every():
        for action in actions:
            with contextlib.suppress(Exception):
                action()

    growth = counted(torch, every, objects)
    assert max(map(abs, growth)) < 25, growth


@pytest.mark.item("M6.50")
def test_no_reference_is_lost_under_modes(torch):
    t, log = torch.ones(2), Log(torch)
    m = mode(log)
    actions = list(tensor_operations(torch, t).values())

    def every():
        with m, m:
            for action in actions:
                with contextlib.suppress(Exception):
                    action()
        log.clear()

    growth = counted(torch, every, [m, t, type(m), torch.Tensor.add])
    assert max(map(abs, growth)) < 25, growth


@pytest.mark.item("M6.06")
def test_answers_and_arguments_are_released(torch):
    import weakref

    class Thing:
        pass

    refs = []

    def answers(func, types, args, kwargs):
        thing = Thing()
        refs.append(weakref.ref(thing))
        return thing

    d = override(answers)()
    kept = [torch.add(d, 1), torch.cat([d]), torch.einsum("i", d), torch.ones(2) + d]
    assert all(r() is not None for r in refs)
    del kept
    gc.collect()
    assert all(r() is None for r in refs)


# --- nonsense in Python's entries ---


@pytest.mark.item("M6.74", "M6.24", "M6.73")
def test_nonsense(torch):
    o = torch.overrides
    with pytest.raises(TypeError):
        o.handle_torch_function(torch.add, None)
    with pytest.raises(TypeError, match="no implementation found"):
        o.handle_torch_function(torch.add, ())
    with pytest.raises(TypeError):
        o.wrap_torch_function(None)(len)([1])
    with pytest.raises(TypeError):
        o.wrap_torch_function(lambda *a: 5)(len)([1])
    with pytest.raises(AttributeError):
        o.is_tensor_method_or_property(5)
    assert o.resolve_name(5) is None


@pytest.mark.minitorch_only(reason="PyTorch ends the process where args are a list, or no sequence")
@pytest.mark.item("M6.42", "M6.41")
def test_nonsense_for_redispatch(torch):
    C, o, t = torch._C, torch.overrides, torch.ones(1)
    assert o.redispatch_function(torch.add, (), [t, 1], {}).item() == 2
    for args, kwargs in ((5, {}), (None, {}), ((t, 1), 5), ((t, 1), [("alpha", 2)])):
        with pytest.raises(TypeError):
            o.redispatch_function(torch.add, (), args, kwargs)
        with pytest.raises(TypeError):
            C._disabled_torch_function_impl(torch.add, (), args, kwargs)
    assert C._is_torch_function_enabled()


@pytest.mark.item("M6.42")
def test_skip_does_not_outlive_the_call(torch):
    log = Log(torch)
    s = torch.ones(2).as_subclass(subclass(log))
    for func, args in ((len, ([],)), (5, ()), (lambda: 1 / 0, ()), (torch.add, (s, "a")), (torch.add, (s,))):
        with contextlib.suppress(Exception):
            torch.overrides.redispatch_function(func, (), args, {})
        log.clear()
        s + 1
        assert len(log) == 1


@pytest.mark.minitorch_only(reason="PyTorch has __torch_dispatch__")
@pytest.mark.item("M6.33")
def test_dispatch_is_refused(torch):
    class Dispatches(torch.Tensor):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    class Inherits(Dispatches):
        pass

    t = torch.ones(2)
    for make in (
        lambda cls: t.as_subclass(cls),
        lambda cls: torch.Tensor._make_subclass(cls, t),
        lambda cls: torch.Tensor._make_wrapper_subclass(cls, (2,)),
        lambda cls: cls([1.0]),
        lambda cls: cls(),
    ):
        for cls in (Dispatches, Inherits):
            with pytest.raises(NotImplementedError, match="__torch_dispatch__"):
                make(cls)

    class Later(torch.Tensor):
        pass

    assert type(t.as_subclass(Later)) is Later
    Later.__torch_dispatch__ = classmethod(lambda *a: None)
    with pytest.raises(NotImplementedError, match="Later defines __torch_dispatch__"):
        t.as_subclass(Later)
    del Later.__torch_dispatch__
    assert type(t.as_subclass(Later)) is Later

    class Off(torch.Tensor):
        __torch_dispatch__ = torch._C._disabled_torch_dispatch_impl

    assert type(t.as_subclass(Off)) is Off


@pytest.mark.item("M6.30")
def test_result_that_changes_while_it_is_converted(torch):
    class Meta(type(torch.Tensor)):
        def __instancecheck__(cls, instance):
            out.clear()
            return False

    class A(torch.Tensor, metaclass=Meta):
        pass

    out = [torch.ones(3), torch.ones(2)]
    result = A.__torch_function__(lambda: out, (), ())
    assert [type(t) for t in result[:1]] == [A] and result[0].tolist() == [1, 1, 1]
    assert out == []
