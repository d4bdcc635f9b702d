"""Who takes part, and as what: classes as arguments, registered subclasses, numbers and lists whose class overrides, devices."""

import abc
import copy
import io
import itertools
import signal

import pytest


def handler(log, answer=7):
    def torch_function(cls, func, types, args=(), kwargs=None):
        log.append((cls, func.__name__, types))
        return answer

    return classmethod(torch_function)


def asked(log, call):
    """(the result, who was asked with which types)"""
    log.clear()
    result = call()
    return result, [(cls, types) for cls, _, types in log]


@pytest.mark.item("M6.04")
def test_classes_as_arguments(torch):
    log, t = [], torch.ones(2, 2)
    A = type("A", (), {"__torch_function__": handler(log)})
    linear = torch.nn.functional.linear
    calls = [
        lambda: torch.add(A, 1),
        lambda: t + A,
        lambda: torch.cat([t, A]),
        lambda: torch.zeros(A),
        lambda: torch.where(A, t, t),
        lambda: t[A],
        lambda: linear(t, A),
    ]
    for call in calls:
        result, [(cls, types)] = asked(log, call)
        assert (result, cls, set(types)) == (7, A, {A})


@pytest.mark.item("M6.04")
def test_classes_whose_metaclass_overrides(torch):
    log = []
    method = handler(log).__func__
    Meta = type("Meta", (type,), {"__torch_function__": method})
    A = Meta("A", (), {})
    assert asked(log, lambda: torch.add(A, 1)) == (7, [(A, (A,))])


@pytest.mark.item("M6.04")
def test_classes_of_tensors_are_no_tensors(torch):
    Sub = type("Sub", (torch.Tensor,), {})
    with pytest.raises(TypeError, match="argument 'input' .*must be Tensor, not "):
        torch.add(Sub, 1)
    with pytest.raises(TypeError, match="must be Tensor, not "):
        torch.neg(torch.Tensor)


@pytest.mark.item("M6.02")
def test_registered_subclasses_come_first(torch):
    log = []
    P = abc.ABCMeta("P", (), {"__torch_function__": handler(log, NotImplemented)})
    Q = type("Q", (), {"__torch_function__": handler(log, 3)})
    P.register(Q)
    assert asked(log, lambda: torch.add(P(), Q())) == (3, [(Q, (Q, P))])
    assert asked(log, lambda: torch.add(Q(), P())) == (3, [(Q, (Q, P))])
    assert asked(log, lambda: torch.cat([P(), Q()])) == (3, [(Q, (Q, P))])


@pytest.mark.item("M6.04")
def test_a_metaclass_that_cannot_say(torch):
    class Odd(type):
        def __subclasscheck__(cls, other):
            if other.__name__ != "A":
                return type.__subclasscheck__(cls, other)
            raise ValueError("who knows")

    B = Odd("B", (), {"__torch_function__": handler([])})
    A = type("A", (), {"__torch_function__": handler([])})
    with pytest.raises((ValueError, SystemError)):
        torch.add(B(), A())
    assert torch.add(torch.ones(1), 1).item() == 2


def number(log, base):
    return type(base.__name__.title(), (base,), {"__torch_function__": handler(log)})


@pytest.mark.item("M6.03")
def test_numbers_that_override_where_a_tensor_may_stand(torch):
    log, t, mask, index = [], torch.ones(2), torch.ones(2, dtype=torch.bool), torch.tensor([0])
    u, i = number(log, float)(1.0), number(log, int)(1)
    ask = {
        "clamp": lambda: torch.clamp(t, u),
        "clamp by name": lambda: t.clamp(max=u),
        "clamp_": lambda: t.clone().clamp_(u),
        "clip": lambda: t.clip(u),
        "linspace": lambda: torch.linspace(0, u, 3),
        "logspace": lambda: torch.logspace(u, 2, 3),
        "lerp": lambda: torch.lerp(t, t, u),
        "masked_fill": lambda: t.masked_fill(mask, u),
        "masked_fill_": lambda: t.masked_fill_(mask, u),
        "index_fill": lambda: t.index_fill(0, index, u),
        "float_power": lambda: torch.float_power(t, u),
        "normal": lambda: torch.normal(t, u),
        "repeat_interleave": lambda: torch.repeat_interleave(t, i),
        "zeros": lambda: torch.zeros(i),
    }
    for name, call in ask.items():
        assert (name, asked(log, call)[0]) == (name, 7)
        assert len(log) == 1
    silent = {
        "clamp with a number": lambda: torch.clamp(t, 0, u),
        "normal of numbers": lambda: torch.normal(u, 1.0, (2,)),
        "full": lambda: torch.full((2,), u),
        "full_like": lambda: torch.full_like(t, u),
        "arange": lambda: torch.arange(u),
        "split": lambda: torch.split(t, i),
        "topk": lambda: torch.topk(t, i),
        "dim": lambda: t.sum(number(log, int)(0)),
    }
    for name, call in silent.items():
        assert (name, asked(log, call)[1]) == (name, [])


@pytest.mark.item("M6.03")
def test_lists_that_override_for_the_sizes(torch):
    log, t = [], torch.ones(2)
    for base in (list, tuple):
        sizes = number(log, base)([2])
        for call in (
            lambda: torch.zeros(sizes),
            lambda: torch.rand(sizes),
            lambda: torch.empty(sizes),
            lambda: t.view(sizes),
            lambda: t.reshape(sizes),
            lambda: t.repeat(sizes),
            lambda: t.expand(sizes),
        ):
            assert asked(log, call)[0] == 7
        assert asked(log, lambda: torch.full(sizes, 1.0))[0].tolist() == [1, 1]
        assert asked(log, lambda: torch.ones(size=sizes))[0].tolist() == [1, 1]
        assert log == []


@pytest.mark.item("M6.03")
def test_devices_ask(torch):
    log = []
    D = type("D", (), {"__torch_function__": handler(log)})
    for call in (
        lambda: torch.device(D()),
        lambda: torch.device("cpu", D()),
        lambda: torch.device("cpu", index=D()),
        lambda: torch.device(type=D()),
        lambda: torch.device(device=D()),
        lambda: torch.device(D(), D()),
    ):
        assert asked(log, call) == (7, [(D, (D,))])
        assert log[0][1] == "device"
    with pytest.raises(TypeError):
        torch.device(D(), D(), D())


@pytest.mark.item("M6.31")
@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="signals by time")
def test_endless_types_can_be_interrupted(torch):
    def stop(*_):
        raise InterruptedError

    old = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    try:
        with pytest.raises(InterruptedError):
            torch.Tensor.__torch_function__(torch.add, itertools.repeat(torch.Tensor), (1, 1))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)


@pytest.mark.item("M6.21")
def test_inversion_has_words_of_its_own(torch):
    for t in (torch.ones(1), torch.ones(1, dtype=torch.complex64)):
        for invert in (lambda: ~t, lambda: t.__invert__()):
            with pytest.raises(TypeError, match="is only implemented on integer and Boolean-type tensors"):
                invert()
        with pytest.raises(NotImplementedError, match="bitwise_not_cpu"):
            torch.bitwise_not(t)
    assert (~torch.tensor([True, False])).tolist() == [False, True]
    assert (~torch.tensor([0, 5])).tolist() == [-1, -6]


@pytest.mark.item("M6.35")
def test_a_class_that_says_another_shape_prints(torch):
    class Inner(torch.Tensor):
        @property
        def shape(self):
            return super().shape[1:]

    assert repr(torch.ones(2, 1).as_subclass(Inner)) == "Inner([[1.],\n       [1.]])"
    assert repr(torch.zeros(2000, 1).as_subclass(Inner)).count("\n") == 6
    assert repr(torch.ones(0, 3).as_subclass(Inner)) == "Inner([], size=(3,))"


@pytest.mark.item("M6.60")
def test_steps_are_counted_on_the_cpu_whatever_the_default_device_is(torch):
    for name in ("Adam", "AdamW"):
        p = torch.nn.Parameter(torch.ones(2))
        p.grad = torch.ones(2)
        with torch.device("meta"):
            optimizer = getattr(torch.optim, name)([p], lr=0.1, weight_decay=0.0)
            optimizer.step()
        assert p.tolist() == pytest.approx([0.9, 0.9])
        assert optimizer.state[p]["step"].device.type == "cpu"
    p = torch.nn.Parameter(torch.ones(2, device="meta"))
    p.grad = torch.ones(2, device="meta")
    with pytest.raises((NotImplementedError, RuntimeError), match="meta tensor"):
        torch.optim.ASGD([p]).step()


@pytest.mark.item("M6.05")
def test_transposed_convolutions_hand_on_tuples(torch):
    seen = []

    class Sub(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            seen.append((func, args))
            return super().__torch_function__(func, types, args, kwargs or {})

    for n in (1, 2, 3):
        layer = getattr(torch.nn, "ConvTranspose%dd" % n)(1, 1, 1)
        seen.clear()
        layer(torch.ones((1, 1) + (2,) * n).as_subclass(Sub))
        args = dict((func.__name__, args) for func, args in seen)["conv_transpose%dd" % n]
        assert args[3:] == ((1,) * n, (0,) * n, (0,) * n, 1, (1,) * n)


@pytest.mark.item("M6.31")
def test_functions_that_are_transformed_see_no_class(torch):
    class Sub(torch.Tensor):
        pass

    func, seen = torch.func, set()
    x = torch.arange(3.0).as_subclass(Sub)

    def square(x):
        seen.add(type(x))
        return x * x

    def total(x):
        return square(x).sum()

    for transform, result in (
        (lambda: func.grad(total)(x), [0, 2, 4]),
        (lambda: func.grad_and_value(total)(x)[1], 5),
        (lambda: func.vmap(square)(x), [0, 1, 4]),
        (lambda: func.jacrev(square)(x).diagonal(), [0, 2, 4]),
        (lambda: func.hessian(total)(x).diagonal(), [2, 2, 2]),
        (lambda: func.vjp(square, x)[0], [0, 1, 4]),
        (lambda: func.vjp(square, x)[1](x)[0], [0, 2, 8]),
    ):
        seen.clear()
        value = transform()
        assert (type(value), seen, value.tolist()) == (torch.Tensor, {torch.Tensor}, result)
    assert [type(v) for v in func.jvp(square, (x,), (x,))] == [torch.Tensor] * 2


@pytest.mark.item("M6.51")
def test_modes_do_not_see_the_insides_of_saving_and_checkpoints(torch):
    seen = []

    class Names(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(func.__name__)
            return func(*args, **(kwargs or {}))

    t, leaf = torch.ones(2), torch.ones(2, requires_grad=True)
    checkpoint = torch.utils.checkpoint.checkpoint
    for action, expected in (
        (lambda: torch.save(t, io.BytesIO()), set()),
        (lambda: copy.copy(t), {"empty"}),
        (lambda: checkpoint(torch.sin, leaf, use_reentrant=False), {"sin"}),
    ):
        seen.clear()
        with Names():
            action()
        creating = {"empty", "set_", "sin", "is_conj", "is_neg"}
        assert creating & set(seen) == expected
    with torch.device("meta"):
        checkpoint(torch.sin, leaf, use_reentrant=False).sum().backward()
    assert leaf.grad.tolist() == torch.cos(t).tolist()


@pytest.mark.minitorch_only(reason="PyTorch reads objects that are freed already")
@pytest.mark.item("M6.11")
def test_indices_that_vanish(torch):
    """Code of a metaclass empties the lists whose elements are being asked."""
    outer, inner = [], []

    class Meta(type):
        def __subclasscheck__(cls, sub):
            outer.clear(), inner.clear()
            return False

    def kind(name):
        return Meta(
            name, (), {"__torch_function__": classmethod(lambda cls, func, types, args=(), kwargs=None: name)}
        )

    A, B, C = kind("A"), kind("B"), kind("C")

    class Vanishing:
        def __getattr__(self, name):
            outer.clear(), inner.clear()
            raise AttributeError(name)

    t = torch.zeros(3)
    for _ in range(3):
        outer[:], inner[:] = [A(), B(), C()], [B(), A()]
        assert t[outer] == "A"
        outer[:], inner[:] = [A(), [B(), C()]], [B(), A()]
        assert t[(inner, outer)] in ("A", "B")
        outer[:] = [Vanishing(), A()]
        with pytest.raises((TypeError, IndexError, RuntimeError)):
            t[outer, Vanishing()]
