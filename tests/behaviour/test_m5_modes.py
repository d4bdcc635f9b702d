"""Grad modes: managers, decorators, generators, threads; inference tensors; the rarer switches."""

import asyncio
import threading
import warnings

import pytest


def leaf(torch):
    return torch.ones(2, requires_grad=True)


@pytest.fixture
def on(torch):
    return torch.is_grad_enabled


@pytest.mark.item("M5.80")
def test_managers(torch, on):
    x = leaf(torch)
    assert on() and not torch.is_inference_mode_enabled()
    with torch.no_grad():
        assert not on() and not (x * 2).requires_grad
        with torch.enable_grad():
            assert on() and (x * 2).requires_grad
        assert not on()
        with torch.set_grad_enabled(True):
            assert on()
        assert not on()
    with torch.set_grad_enabled(False):
        assert not on()
    with torch.inference_mode():
        assert not on() and torch.is_inference_mode_enabled()
        with torch.inference_mode(False):
            assert on() and not torch.is_inference_mode_enabled()
        with torch.enable_grad():
            assert on() and not (x * 2).requires_grad
    with torch.inference_mode(mode=False):
        assert on() and not torch.is_inference_mode_enabled()
    for manager in (
        torch.no_grad(),
        torch.enable_grad(),
        torch.set_grad_enabled(True),
        torch.inference_mode(),
    ):
        with pytest.raises(KeyError):
            with manager:
                raise KeyError
        assert on() and not torch.is_inference_mode_enabled()
    assert torch.no_grad().__enter__() is None
    torch.set_grad_enabled(True)


@pytest.mark.item("M5.80")
def test_set_grad_enabled_as_a_call(torch, on):
    torch.set_grad_enabled(False)
    assert not on()
    manager = torch.set_grad_enabled(True)
    assert on()
    with manager:
        assert on()
    assert not on()  # as it was when the manager was made
    torch.set_grad_enabled(True)
    manager = torch.set_grad_enabled(False)

    @manager
    def f():
        return on()

    assert on() and f() is False and on()  # decorating undoes the call
    for bad in (1, None, "x"):
        with pytest.raises((TypeError, RuntimeError)):
            torch.set_grad_enabled(bad)
    assert on()


@pytest.mark.item("M5.80")
def test_decorators(torch, on):
    def f(a, b=2):
        """Doc."""
        return on(), torch.is_inference_mode_enabled(), a, b

    expected = {
        torch.no_grad: (False, False),
        torch.enable_grad: (True, False),
        torch.inference_mode: (False, True),
    }
    for manager, modes in expected.items():
        for decorated in (manager()(f), manager(f)):
            assert decorated(1) == (*modes, 1, 2) and decorated(1, b=3)[3] == 3
            assert decorated.__name__ == "f" and decorated.__doc__ == "Doc."
            with torch.no_grad():
                assert decorated(1)[:2] == modes and not on()
            assert on()
    assert torch.set_grad_enabled(False)(f)(1)[0] is False
    assert torch.inference_mode(False)(f)(1)[:2] == (True, False)

    @torch.no_grad()
    def recursive(n):
        assert not on()
        return n if n == 0 else recursive(n - 1)

    assert recursive(5) == 0 and on()

    @torch.no_grad()
    def fails():
        raise KeyError

    with pytest.raises(KeyError):
        fails()
    assert on()

    class C:
        @torch.no_grad()
        def method(self):
            return on()

        @staticmethod
        @torch.no_grad()
        def static():
            return on()

    assert C().method() is False and C.static() is False


@pytest.mark.item("M5.80")
def test_decorated_classes(torch, on):
    for manager in (torch.no_grad, torch.enable_grad, torch.inference_mode):
        with torch.set_grad_enabled(manager is not torch.enable_grad):
            outside = on()
            with pytest.warns(FutureWarning, match="Decorating classes is deprecated"):

                @manager()
                class C:
                    def __init__(self):
                        self.made = on()

                    def method(self):
                        return on()

            assert C().made is not outside and C().method() is outside


@pytest.mark.item("M5.80")
def test_generators(torch, on):
    @torch.no_grad()
    def generator():
        got = []
        for i in range(3):
            assert not on()
            try:
                got.append((yield i))
            except KeyError:
                got.append("thrown")
                assert not on()
        return got

    @torch.enable_grad()
    def other():
        for i in range(2):
            assert on()
            yield i

    seen = []
    for i in generator():
        assert on()
        seen.append(i)
    assert seen == [0, 1, 2]
    g = generator()
    assert next(g) == 0 and on() and g.send("a") == 1 and on()
    with torch.no_grad():
        assert g.throw(KeyError()) == 2 and not on()
    with pytest.raises(StopIteration) as stop:
        next(g)
    assert stop.value.value == ["a", "thrown", None] and on()
    with torch.no_grad():
        for _ in other():
            assert not on()

    closed = []

    @torch.no_grad()
    def closing():
        try:
            yield 1
        finally:
            closed.append(on())

    g = closing()
    next(g)
    g.close()
    assert closed == [False] and on()

    @torch.no_grad()
    def failing():
        yield 1
        raise KeyError

    g = failing()
    next(g)
    with pytest.raises(KeyError):
        next(g)
    assert on()

    @torch.no_grad()
    def delegates():
        result = yield from generator()
        yield result

    g = delegates()
    assert [next(g), next(g), next(g), next(g)][:3] == [0, 1, 2] and on()


@pytest.mark.item("M5.80")
def test_generator_whose_caller_changes_the_mode(torch, on):
    @torch.no_grad()
    def generator():
        assert not on()
        yield 1
        assert not on()
        yield 2

    g = generator()
    next(g)
    with torch.enable_grad():
        next(g)
        assert on()
    assert on()


@pytest.mark.item("M5.80")
def test_async_bodies_are_not_covered(torch, on):
    @torch.no_grad()
    async def f():
        return on()

    assert asyncio.run(f()) is True


@pytest.mark.item("M5.80")
def test_each_thread_has_its_modes(torch, on):
    seen = []

    def other():
        seen.append((on(), torch.is_inference_mode_enabled()))
        torch.set_grad_enabled(False)

    for manager in (torch.no_grad(), torch.inference_mode()):
        with manager:
            thread = threading.Thread(target=other)
            thread.start()
            thread.join()
    assert seen == [(True, False)] * 2 and on()


@pytest.mark.item("M5.80")
def test_names_and_reuse(torch, on):
    assert torch.autograd.no_grad is torch.no_grad and torch.autograd.inference_mode is torch.inference_mode
    assert torch.autograd.grad_mode.enable_grad is torch.enable_grad
    manager = torch.no_grad()
    for _ in range(2):
        with manager:
            assert not on()
    with torch.no_grad(), torch.no_grad():
        assert not on()
    assert on()
    assert repr(torch.set_grad_enabled(True)) == "torch.autograd.grad_mode.set_grad_enabled(mode=True)"
    with pytest.raises(TypeError):
        torch.no_grad(1, 2)
    assert torch.inference_mode()(lambda: torch.ones(1).is_inference())() is True


@pytest.mark.item("M5.81")
def test_factories_inside_no_grad(torch):
    with torch.no_grad():
        for made in (
            torch.ones(1, requires_grad=True),
            torch.zeros(1, requires_grad=True),
            torch.tensor([1.0], requires_grad=True),
            torch.rand(1, requires_grad=True),
            torch.empty(1, requires_grad=True),
            torch.ones_like(torch.ones(1), requires_grad=True),
            torch.ones(1).new_zeros(1, requires_grad=True),
            torch.ones(1).requires_grad_(),
            torch.nn.Parameter(torch.ones(1)),
        ):
            assert made.requires_grad and made.is_leaf
        assert not (made * 2).requires_grad
    assert (made * 2).requires_grad
    with torch.inference_mode():
        t = torch.ones(1, requires_grad=True)
        assert t.requires_grad and t.is_inference()


@pytest.mark.item("M5.83")
def test_rarer_switches(torch):
    c, autograd = torch._C, torch.autograd
    switches = (
        (autograd.grad_mode.set_multithreading_enabled, c._is_multithreading_enabled),
        (autograd._force_original_view_tracking, c._is_view_replay_enabled),
        (autograd.grad_mode.enforce_grad_layout_policy, c._is_grad_layout_enforcement_enabled),
    )
    for switch, read in switches:
        before = read()
        for mode in (not before, before):
            with switch(mode):
                assert read() is mode
                with pytest.raises(KeyError):
                    with switch(not mode):
                        assert read() is not mode
                        raise KeyError
                assert read() is mode
            assert read() is before
        switch(not before)
        assert read() is not before
        switch(before)
        assert read() is before
    assert autograd.set_multithreading_enabled is autograd.grad_mode.set_multithreading_enabled


@pytest.mark.item("M5.83")
def test_backward_works_under_the_switches(torch):
    x = leaf(torch)
    with torch.autograd.set_multithreading_enabled(False), torch.autograd._force_original_view_tracking(True):
        base = x * 1
        view = base[1:]
        view.mul_(3)
        base.sum().backward()
    assert x.grad.tolist() == [1, 3]


@pytest.mark.item("M5.82")
def test_inference_tensors_warn_nothing(torch):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with torch.inference_mode():
            t = torch.ones(2)
            t.add_(1)
            assert t.tolist() == [2, 2] and t.is_inference()
