# SPDX-License-Identifier: BSD-3-Clause
"""The `__torch_function__` protocol: subclasses, unrelated classes, modes, and the lists of functions."""

import pytest


@pytest.fixture
def kinds(torch):
    class A:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return "A", func, types, args, kwargs

    class B(A):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return "B", func, types, args, kwargs

    class Refuses:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return NotImplemented

    return A, B, Refuses


def logging_mode(torch, log):
    class Logs(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            log.append(func)
            return func(*args, **(kwargs or {}))

    return Logs()


def test_has_torch_function(torch, kinds):
    A, B, Refuses = kinds
    o = torch.overrides
    assert not o.has_torch_function((1, torch.ones(1), None))
    assert o.has_torch_function((1, A()))
    assert o.has_torch_function_unary(A())
    assert not o.has_torch_function_unary(torch.ones(1))
    assert o.has_torch_function_variadic(1, 2, B())
    assert o.is_tensor_like(A())
    assert o.is_tensor_like(torch.ones(1))
    assert not o.is_tensor_like(3)


def test_subclasses_come_first(torch, kinds):
    A, B, _ = kinds

    def f(*args):
        return torch.overrides.handle_torch_function(f, args, *args)

    name, func, types, args, kwargs = f(A(), B())
    assert (name, func) == ("B", f)
    assert set(types) == {A, B}
    assert f(B(), A())[0] == "B"
    assert f(1, A(), torch.ones(1))[0] == "A"


def test_all_refuse(torch, kinds):
    Refuses = kinds[2]

    def f(*args):
        return torch.overrides.handle_torch_function(f, args, *args)

    with pytest.raises(TypeError, match="no implementation found for .*f.* on types that implement"):
        f(Refuses())


def test_functions_written_in_python_and_c(torch, kinds):
    A, B, _ = kinds
    assert torch.nn.functional.relu(A())[1] is torch.nn.functional.relu
    assert torch.nn.functional.linear(torch.ones(1, 1), B())[0] == "B"
    assert torch.add(torch.ones(1), A())[0] == "A"
    assert torch.split(A(), 2)[1] is torch.split


def test_method_of_subclass(torch):
    seen = []

    class T(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            seen.append(func)
            return super().__torch_function__(func, types, args, kwargs or {})

    t = torch.ones(2).as_subclass(T)
    assert type(t.split(1)[0]) is T
    assert torch.Tensor.split in seen
    assert type(t + 1) is T
    assert type(t.sum()) is T
    assert t.requires_grad is False
    assert torch.Tensor.requires_grad.__get__ in seen


def test_disabled(torch):
    class T(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            raise AssertionError("called")

    t = torch.ones(2).as_subclass(T)
    with torch._C.DisableTorchFunctionSubclass():
        assert type(t + 1) is torch.Tensor

    class Plain(torch.Tensor):
        __torch_function__ = torch._C._disabled_torch_function_impl

    p = torch.ones(2).as_subclass(Plain)
    assert not torch.overrides.has_torch_function_unary(p)
    assert type(p + 1) is torch.Tensor


def test_modes_nest_and_restore(torch):
    log = []
    with logging_mode(torch, log), logging_mode(torch, log):
        torch.add(torch.ones(2), 1)
    assert log.count(torch.add) == 2
    assert log.count(torch.ones) == 2
    del log[:]
    torch.add(torch.ones(2), 1)
    assert not log


def test_mode_sees_functions_without_tensors(torch):
    class Replaces(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            return 7 if func is torch.zeros else func(*args, **(kwargs or {}))

    with Replaces():
        assert torch.zeros(3) == 7
        assert torch.ones(2).shape == (2,)


def test_mode_that_refuses(torch):
    class Refuses(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            return NotImplemented

    with Refuses(), pytest.raises(TypeError, match="no implementation found|returned NotImplemented"):
        torch.add(torch.ones(1), 1)
    assert torch.add(torch.ones(1), 1).item() == 2


def test_base_mode_passes_through(torch):
    with torch.overrides.BaseTorchFunctionMode():
        assert torch.add(torch.ones(1), 1).item() == 2


def test_wrap_torch_function(torch, kinds):
    A = kinds[0]

    @torch.overrides.wrap_torch_function(lambda a, b=0: (a, b))
    def g(a, b=0):
        """text"""
        return 5

    assert g(1) == 5
    assert g(A())[0] == "A"
    assert (g.__name__, g.__doc__) == ("g", "text")


def test_resolve_name(torch):
    o = torch.overrides
    assert o.resolve_name(torch.add) == "torch.add"
    assert o.resolve_name(torch.Tensor.add) == "torch.Tensor.add"
    assert o.resolve_name(torch.Tensor.grad.__get__) == "torch.Tensor.grad.__get__"
    assert o.resolve_name(torch.nn.functional.relu) == "torch.nn.functional.relu"


def test_lists(torch):
    o = torch.overrides
    ignored, testing, overridable = (
        o.get_ignored_functions(),
        o.get_testing_overrides(),
        o.get_overridable_functions(),
    )
    assert torch.is_tensor in ignored
    assert torch.tensor in ignored
    assert torch.add in testing
    assert torch.Tensor.add in testing
    assert torch.nn.functional.relu in testing
    assert torch.add in overridable[torch]
    assert torch.Tensor.add in overridable[torch.Tensor]
    assert torch.nn.functional.relu in overridable[torch.nn.functional]
    assert testing[torch.add](1, 2) == -1
    assert torch.Tensor.grad.__get__ in o.get_default_nowrap_functions()
    assert o.is_tensor_method_or_property(torch.Tensor.add)
    assert not o.is_tensor_method_or_property(torch.add)
