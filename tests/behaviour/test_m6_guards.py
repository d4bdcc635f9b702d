"""Guards that are deleted or forgotten by overrides; classes and attributes that answer the protocol's questions in odd ways."""

import gc
import threading

import pytest

from override_kinds import state


@pytest.fixture(autouse=True)
def same_state(torch):
    before = state(torch)
    yield
    assert state(torch) == before


def sub(torch, answer):
    def torch_function(cls, func, types, args=(), kwargs=None):
        return answer(func, types, args, kwargs or {})

    cls = type("Sub", (torch.Tensor,), {"__torch_function__": classmethod(torch_function)})
    return torch.ones(2).as_subclass(cls)


def modes(torch):
    return torch.is_inference_mode_enabled(), torch.is_grad_enabled()


@pytest.mark.item("M6.09")
def test_inference_mode_ends_with_its_guard(torch):
    Guard = torch._C._InferenceMode
    g = Guard(True)
    assert modes(torch) == (True, False)
    g.__enter__()
    inner = Guard(False)
    assert modes(torch) == (False, True)
    inner.__exit__(None, None, None)
    inner.__exit__(None, None, None)
    assert modes(torch) == (True, False)
    del inner
    assert modes(torch) == (True, False)
    del g
    assert modes(torch) == (False, True)
    with torch.no_grad():
        g = Guard(True)
        g.__enter__()
        torch._C._set_grad_enabled(True)
        g.__exit__(None, None, None)
        assert modes(torch) == (False, False)


@pytest.mark.item("M6.09")
@pytest.mark.parametrize("how", ["deleted", "raised", "cycle"])
def test_override_forgets_a_guard(torch, how):
    def answer(func, types, args, kwargs):
        guard = torch.inference_mode()
        guard.__enter__()
        if how == "raised":
            raise ValueError
        if how == "cycle":
            guard.itself = guard
        del guard
        return modes(torch)

    s = sub(torch, answer)
    if how == "raised":
        with pytest.raises(ValueError):
            s + 1
    else:
        assert (s + 1)[0] is (how == "cycle")
    gc.collect()
    assert modes(torch) == (False, True)


@pytest.mark.minitorch_only(reason="PyTorch changes the state of the thread that frees the guard")
@pytest.mark.item("M6.09")
def test_guard_freed_by_another_thread(torch):
    made = []

    def work():
        made.append(torch._C._InferenceMode(True))

    t = threading.Thread(target=work)
    t.start()
    t.join()
    with torch.inference_mode():
        made.clear()
        gc.collect()
        assert modes(torch) == (True, False)


@pytest.mark.item("M6.40")
def test_enabling_guard_in_a_cycle(torch):
    def answer(func, types, args, kwargs):
        kept = [torch._C._EnableTorchFunction()]
        kept.append(kept)
        return 5

    s = sub(torch, answer)
    assert s + 1 == 5
    gc.collect()
    with torch._C.DisableTorchFunction():
        guard = torch._C._EnableTorchFunction()
        assert s + 1 == 5
        del guard
        assert type(s + 1) is torch.Tensor
    gc.collect()


@pytest.mark.item("M6.02")
def test_classes_that_cannot_be_compared(torch):
    class Meta(type):
        def __eq__(cls, other):
            raise KeyError("never asked")

        __hash__ = type.__hash__

    class First(metaclass=Meta):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return cls.__name__

    class Second(First):
        pass

    for call in (torch.add, torch.nn.functional.l1_loss):
        assert call(First(), Second()) == "Second"
        assert call(First(), torch.ones(2)) == "First"
    assert torch.ones(2) + First() == "First"


@pytest.mark.item("M6.02", "M6.09")
def test_class_that_does_not_say_whether_it_is_a_subclass(torch):
    class Meta(type):
        def __subclasscheck__(cls, other):
            raise KeyError("sub")

        def __instancecheck__(cls, other):
            raise KeyError("instance")

    class First(metaclass=Meta):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return cls.__name__

    class Second(First):
        pass

    with pytest.raises(KeyError):
        torch.nn.functional.l1_loss(First(), Second())
    assert torch.add(First(), 1) == "First"
    s = torch.ones(2).as_subclass(type("Sub", (torch.Tensor,), {}))
    with pytest.raises(KeyError):
        type(s).__torch_function__(torch.add, (First,), (s, 1))


@pytest.mark.item("M6.01", "M6.09")
def test_override_that_is_none(torch):
    class Nothing:
        __torch_function__ = None

    for call in (
        lambda: torch.add(Nothing(), 1),
        lambda: torch.nn.functional.softmax(Nothing(), 0),
        lambda: torch.nn.functional.l1_loss(Nothing(), torch.ones(2)),
        lambda: torch.einsum("i", Nothing()),
    ):
        with pytest.raises(TypeError, match="'NoneType' object is not callable"):
            call()


@pytest.mark.item("M6.50", "M6.54")
@pytest.mark.parametrize("kind", ["property", "number", "static", "deleted", "instance", "changes class"])
@pytest.mark.parametrize("path", ["C", "Python"])
def test_modes_whose_override_is_odd(torch, kind, path):
    Mode = torch.overrides.TorchFunctionMode

    def raises(self):
        raise KeyError("p")

    def changes(self, func, types, args=(), kwargs=None):
        self.__class__ = torch.overrides.BaseTorchFunctionMode
        return func(*args, **(kwargs or {}))

    def deletes(self, func, types, args=(), kwargs=None):
        del cls.__torch_function__
        return func(*args, **(kwargs or {}))

    override = {
        "property": property(raises),
        "number": 5,
        "static": staticmethod(lambda func, types, args=(), kwargs=None: "static"),
        "deleted": deletes,
        "instance": Mode.__torch_function__,
        "changes class": changes,
    }[kind]
    cls = type("Odd", (Mode,), {"__torch_function__": override})
    t, m = torch.ones(2), cls()
    if kind == "instance":
        m.__torch_function__ = lambda func, types, args=(), kwargs=None: "instance"
    call = {"C": lambda: torch.add(t, 1), "Python": lambda: torch.nn.functional.softmax(t, 0)}[path]
    expected = {
        ("property", "C"): (KeyError, RuntimeError),
        ("property", "Python"): KeyError,
        ("number", "C"): RuntimeError,
        ("number", "Python"): TypeError,
        ("static", "C"): RuntimeError,
        ("static", "Python"): "static",
        ("deleted", "C"): torch.Tensor,
        ("deleted", "Python"): torch.Tensor,
        ("instance", "C"): RuntimeError,
        ("instance", "Python"): "instance",
        ("changes class", "C"): torch.Tensor,
        ("changes class", "Python"): torch.Tensor,
    }[kind, path]
    with m:
        depth = torch._C._len_torch_function_stack()
        if expected is torch.Tensor:
            assert type(call()) is torch.Tensor
        elif isinstance(expected, str):
            assert call() == expected
        else:
            with pytest.raises(expected):
                call()
        assert torch._C._len_torch_function_stack() == depth
        if kind == "deleted":
            with pytest.raises(NotImplementedError):
                call()
