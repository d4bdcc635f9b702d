"""Tensors as Python objects: identity while C holds them, deaths, weak references, cycles, swapping."""

import gc
import importlib
import weakref

import pytest


class Note:
    """Something whose death can be seen."""


def tracker():
    note = Note()
    return note, weakref.ref(note)


@pytest.fixture
def special(torch):
    class Special(torch.Tensor):
        pass

    return Special


@pytest.mark.item("M5.120")
def test_objects_in_the_hands_of_c(torch, special):
    x, y = torch.ones(2), torch.ones(2, requires_grad=True)
    x.foo = 1
    number = id(x)
    y.grad = x
    del x
    gc.collect()
    assert y.grad.foo == 1 and id(y.grad) == number and y.grad is y.grad
    s = torch.ones(2).as_subclass(special)
    s.bar = "b"
    y.grad = s
    del s
    assert type(y.grad) is special and y.grad.bar == "b"
    leaf = torch.ones(2, requires_grad=True)
    leaf.name_of_it = "leaf"
    out = leaf * leaf
    node = out.grad_fn
    del leaf
    gc.collect()
    assert node._saved_self.name_of_it == "leaf" and node._saved_self is node._saved_other
    assert node.next_functions[0][0].variable.name_of_it == "leaf"
    base = torch.ones(2)
    base.foo = 2
    view = base[0]
    del base
    assert view._base.foo == 2


@pytest.mark.item("M5.120")
def test_arguments_of_hooks(torch):
    seen = []
    x = torch.ones(2, requires_grad=True)
    y = x * 2

    def hook(g):
        g.mark = "seen"
        seen.append(g)
        return None

    y.register_hook(hook)
    y.register_hook(lambda g: seen.append(g))
    y.sum().backward()
    assert seen[0] is seen[1] and seen[1].mark == "seen"


@pytest.mark.item("M5.120")
def test_what_forward_and_backward_of_functions_see(torch):
    class F(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            assert x.mark == 7
            return g * 2

    x = torch.ones(2, requires_grad=True)
    x.mark = 7
    y = F.apply(x)
    assert y.grad_fn.saved_tensors[0] is x
    del x
    y.sum().backward()


@pytest.mark.item("M5.121")
def test_deaths(torch, special):
    for make in (lambda: torch.ones(2), lambda: torch.ones(2).as_subclass(special)):
        t = make()
        note, gone = tracker()
        t.note = note
        del note
        assert gone() is not None
        del t
        assert gone() is None
        t = make()
        ref = weakref.ref(t)
        assert ref() is t
        del t
        assert ref() is None
        owner = torch.ones(2, requires_grad=True)
        t = make()
        ref = weakref.ref(t)
        owner.grad = t
        del t
        assert ref() is owner.grad and ref() is not None
        owner.grad = None
        assert ref() is None
    t = torch.ones(2)
    log = []
    ref = weakref.ref(t, lambda r: log.append("called"))
    del t
    assert log == ["called"] and ref() is None


@pytest.mark.item("M5.121")
def test_finalizers_run_once(torch):
    log = []

    class Final(torch.Tensor):
        def __del__(self):
            log.append(getattr(self, "name_of_it", None))

    t = torch.ones(2).as_subclass(Final)
    t.name_of_it = "a"
    del t
    assert log == ["a"]
    owner = torch.ones(2, requires_grad=True)
    t = torch.ones(2).as_subclass(Final)
    t.name_of_it = "b"
    owner.grad = t
    del t
    gc.collect()
    assert log == ["a"]
    del owner
    gc.collect()
    assert log == ["a", "b"]


@pytest.mark.item("M5.121")
def test_a_finalizer_may_bring_the_object_back(torch):
    kept = []

    class Back(torch.Tensor):
        def __del__(self):
            if not kept:
                kept.append(self)

    t = torch.ones(2).as_subclass(Back)
    t.foo = 5
    del t
    assert kept[0].foo == 5 and kept[0].tolist() == [1, 1] and type(kept[0]) is Back
    kept[0].add_(1)
    assert (kept[0] * 2).tolist() == [4, 4]
    kept.clear()


@pytest.mark.item("M5.121")
def test_slots(torch):
    class Slotted(torch.Tensor):
        __slots__ = ["slot"]

    t = torch.ones(2).as_subclass(Slotted)
    note, gone = tracker()
    t.slot = note
    owner = torch.ones(2, requires_grad=True)
    owner.grad = t
    del t, note
    gc.collect()
    assert owner.grad.slot is gone() and gone() is not None
    owner.grad = None
    assert gone() is None


@pytest.mark.item("M5.121")
def test_cycles_through_attributes(torch, special):
    class Slotted(torch.Tensor):
        __slots__ = ["slot"]

    def by_dict():
        t = torch.ones(2)
        t.me = t
        return t

    def two():
        a, b = torch.ones(1), torch.ones(1)
        a.other, b.other = b, a
        return a

    def by_slot():
        t = torch.ones(2).as_subclass(Slotted)
        t.slot = t
        return t

    def subclass():
        t = torch.ones(2).as_subclass(special)
        t.me = [t]
        return t

    for make in (by_dict, two, by_slot, subclass):
        t = make()
        note, gone = tracker()
        t.note = note
        ref = weakref.ref(t)
        del t, note
        gc.collect()
        assert ref() is None and gone() is None, make


@pytest.mark.item("M5.121")
def test_dead_and_living_weak_references(torch):
    t = torch.ones(2)
    ref = weakref.ref(t)
    del t
    assert ref() is None
    x = torch.ones(2, requires_grad=True)
    t = torch.ones(2)
    ref = weakref.ref(t)
    x.grad = t
    del t
    t = ref()
    assert t is x.grad
    x.grad = None
    assert ref() is t
    del t
    assert ref() is None


@pytest.mark.item("M5.122")
def test_collected_wrappers_keep_their_attributes(torch):
    """The wrapper is in a cycle that only C keeps alive."""
    x = torch.ones(2, requires_grad=True)
    t = torch.ones(2)
    t.me = t
    t.foo = "bar"
    x.grad = t
    del t
    gc.collect()
    assert x.grad.foo == "bar" and x.grad.me is x.grad
    leaf = torch.ones(2, requires_grad=True)
    leaf.cycle = [leaf]
    leaf.foo = "leaf"
    out = leaf * leaf
    del leaf
    for _ in range(3):
        gc.collect()
    assert (
        out.grad_fn._saved_self.foo == "leaf" and out.grad_fn._saved_self.cycle[0] is out.grad_fn._saved_self
    )


@pytest.mark.item("M5.99")
def test_cycles_through_the_graph(torch):
    """Hooks, closures and contexts that lead back to the tensors they belong to."""

    class F(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            out = x * 2
            ctx.out = out
            return out

        @staticmethod
        def backward(ctx, g):
            return g * 2

    def hook_of_leaf():
        x = torch.ones(2, requires_grad=True)
        x.register_hook(lambda g: x * 0)
        return x, x

    def context():
        x = torch.ones(2, requires_grad=True)
        y = F.apply(x)
        return y, y

    for make in (hook_of_leaf, context):
        for run in (False, True):
            t, start = make()
            note, gone = tracker()
            t.note = note
            if run:
                start.sum().backward()
            del t, start, note
            gc.collect()
            assert gone() is None, (make, run)


@pytest.mark.item("M5.56")
@pytest.mark.minitorch_only(reason="PyTorch keeps cycles through post-accumulate hooks for ever")
def test_cycle_through_a_post_accumulate_hook(torch):
    for run in (False, True):
        x = torch.ones(2, requires_grad=True)
        x.register_post_accumulate_grad_hook(lambda t, x=x: None if x.grad is None else None)
        note, gone = tracker()
        x.note = note
        if run:
            x.sum().backward()
        del x, note
        gc.collect()
        assert gone() is None, run


@pytest.mark.minitorch_only(reason="PyTorch hides these references from the collector and leaks")
@pytest.mark.item("M5.121")
def test_cycles_that_pytorch_does_not_see(torch):
    def view():
        base = torch.ones(2)
        base.part = base[0]
        return base

    def gradient():
        x = torch.ones(2, requires_grad=True)
        x.grad = torch.ones(2)
        x.grad.owner = x
        x.touch = 1
        return x

    def hook_of_node():
        x = torch.ones(2, requires_grad=True)
        y = x * 2
        y.grad_fn.register_hook(lambda *a: y is None)
        y.touch = 1
        return y

    def hook_of_result():
        x = torch.ones(2, requires_grad=True)
        y = x * 2
        y.register_hook(lambda g: y * 0)
        return y

    for make in (view, gradient, hook_of_node, hook_of_result):
        t = make()
        note, gone = tracker()
        t.note = note
        del t, note
        gc.collect()
        assert gone() is None, make


@pytest.mark.item("M5.121")
def test_living_things_survive_the_collector(torch):
    """What is reachable by one hidden and one open way."""
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    held = [y]
    y.register_hook(lambda g: held[0] * 0 + g)
    node = y.grad_fn
    y.foo = 1
    for _ in range(3):
        gc.collect()
    assert y.foo == 1 and node is y.grad_fn
    z = y + 1
    del y
    gc.collect()
    z.sum().backward()
    assert x.grad.tolist() == [2, 2]

    class F(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            ctx.inner = a.detach() * 3
            ctx.inner.ctx = ctx
            ctx.save_for_backward(ctx.inner)
            return a * 2

        @staticmethod
        def backward(ctx, g):
            assert ctx.saved_tensors[0] is ctx.inner
            return g * ctx.inner

    x.grad = None
    out = F.apply(x)
    for _ in range(3):
        gc.collect()
    out.sum().backward()
    assert x.grad.tolist() == [3, 3]


@pytest.mark.item("M5.123")
def test_swap(torch, special):
    swap = importlib.import_module(torch.__name__ + ".utils").swap_tensors
    a, b = torch.ones(2), torch.zeros(3, dtype=torch.float64)
    a.foo, b.bar = 1, 2
    ids, pointers = (id(a), id(b)), (a.data_ptr(), b.data_ptr())
    swap(a, b)
    assert (id(a), id(b)) == ids and (b.data_ptr(), a.data_ptr()) == pointers
    assert a.shape == (3,) and a.dtype == torch.float64 and b.tolist() == [1, 1]
    assert a.bar == 2 and b.foo == 1 and not hasattr(a, "foo")
    s, t = torch.ones(1).as_subclass(special), torch.zeros(1, requires_grad=True)
    swap(s, t)
    assert type(s) is torch.Tensor and type(t) is special and s.requires_grad and not t.requires_grad
    p, q = torch.nn.Parameter(torch.ones(2)), torch.nn.Parameter(torch.zeros(2))
    p.grad = torch.ones(2)
    swap(p, q)
    assert q.grad.tolist() == [1, 1] and p.grad is None and p.tolist() == [0, 0]


@pytest.mark.item("M5.123")
def test_what_swap_refuses(torch):
    swap = importlib.import_module(torch.__name__ + ".utils").swap_tensors

    class Slotted(torch.Tensor):
        __slots__ = ["one"]

    class Other(torch.Tensor):
        __slots__ = ["two"]

    a, b = torch.ones(2), torch.zeros(2)
    ref = weakref.ref(a)
    with pytest.raises(RuntimeError, match="has weakref"):
        swap(a, b)
    with pytest.raises(RuntimeError, match="has weakref"):
        swap(b, a)
    del ref
    swap(a, b)
    s, t = torch.ones(2).as_subclass(Slotted), torch.ones(2).as_subclass(Other)
    with pytest.raises(RuntimeError, match="different slots"):
        swap(s, t)
    owner = torch.ones(2, requires_grad=True)
    owner.grad = a
    with pytest.raises(RuntimeError):
        swap(a, torch.ones(2))
    owner.grad = None
    held = torch.ones(2, requires_grad=True)
    owner.grad = held.detach()
    owner.grad = held
    with pytest.raises(
        RuntimeError, match="Expected use_count of t1 to be 1 or 2 with an AccumulateGrad node"
    ):
        swap(held, torch.ones(2))
    assert a.tolist() == [0, 0]
    x, y = torch.ones(2, requires_grad=True), torch.zeros(2, requires_grad=True)
    out = (x + 1).sum()
    swap(x, y)
    with pytest.raises(RuntimeError, match="poisoned by swap_tensors"):
        out.backward()
    (x * 3).sum().backward()
    assert x.grad.tolist() == [3, 3]


@pytest.mark.item("M5.124")
def test_weak_tensor_references(torch):
    t = torch.ones(2)
    ref = torch._C._WeakTensorRef(t)
    assert ref.expired() is False
    x = torch.ones(2, requires_grad=True)
    x.grad = t
    del t
    assert not ref.expired()
    x.grad = None
    assert ref.expired() is True
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    y.retain_grad()
    ref = torch._C._WeakTensorRef(y)
    del y
    assert ref.expired()


@pytest.mark.item("M5.116")
def test_variable(torch):
    t = torch.ones(2)
    v = torch.autograd.Variable(t, requires_grad=True)
    assert type(v) is torch.Tensor and v.requires_grad and v.data_ptr() == t.data_ptr() and v is not t
    assert isinstance(v, torch.autograd.Variable) and isinstance(t, torch.autograd.Variable)
    assert not isinstance(3, torch.autograd.Variable)
    assert not torch.autograd.Variable(t).requires_grad and torch.autograd.Variable().shape == (0,)
    assert torch.autograd.variable.Variable is torch.autograd.Variable
    with pytest.warns(UserWarning, match="volatile"):
        assert t.volatile is False
    with pytest.raises(TypeError):
        torch.autograd.Variable(3)
    v.sum().backward()
    assert v.grad.tolist() == [1, 1] and t.grad is None
    x = torch.ones(2, requires_grad=True)
    assert torch.autograd.Variable(x).grad_fn is None


@pytest.mark.item("M5.117")
def test_profiler_names(torch):
    profiler = torch.autograd.profiler
    with profiler.record_function("a"):
        pass
    with profiler.record_function("a", "args") as r:
        assert r is not None

    @profiler.record_function("b")
    def f(x):
        """Doc."""
        return x + 1

    assert f(1) == 2 and f.__doc__ == "Doc."
    for manager in (profiler.emit_nvtx(enabled=False), profiler.profile(enabled=False)):
        with manager:
            torch.ones(1) + 1
    with profiler.profile() as prof:
        with profiler.record_function("block"):
            torch.ones(2).sum()
    assert "block" in [event.key for event in prof.key_averages()]
    event = [event for event in prof.key_averages() if event.key == "block"][0]
    assert event.count == 1 and event.cpu_time_total >= 0
    assert "block" in prof.key_averages().table() and "block" in prof.key_averages().table(
        sort_by="cpu_time_total"
    )
    assert prof.self_cpu_time_total >= 0
    assert torch.profiler is not None if hasattr(torch, "profiler") else True


@pytest.mark.item("M5.60")
def test_changed_tensors_are_named_by_their_type(torch):
    for dtype, name in (
        ("float32", "torch.FloatTensor"),
        ("float64", "torch.DoubleTensor"),
        ("float16", "torch.HalfTensor"),
        ("bfloat16", "CPUBFloat16Type"),
        ("complex64", "CPUComplexFloatType"),
        ("complex128", "CPUComplexDoubleType"),
    ):
        y = torch.ones(2, dtype=getattr(torch, dtype), requires_grad=True) * 1
        z = y * y
        y.add_(1)
        with pytest.raises(RuntimeError) as e:
            z.sum().abs().backward()
        assert "modified by an inplace operation: [%s [2]]" % name in str(e.value)


@pytest.mark.item("M5.03")
def test_texts_of_refusals(torch):
    x = torch.ones(2, requires_grad=True)
    for call, text in (
        (lambda: x.requires_grad_(True, 1), "takes from 0 to 1 positional arguments but 2 were given"),
        (lambda: x.requires_grad_(foo=1), "got an unexpected keyword argument 'foo'"),
        (
            lambda: x.requires_grad_(True, requires_grad=True),
            "got multiple values for argument 'requires_grad'",
        ),
    ):
        with pytest.raises(TypeError) as e:
            call()
        assert str(e.value) == "requires_grad_() " + text
    for name, text in (
        ("requires_grad", "requires_grad must be a bool"),
        ("data", "Deleting tensor data is not allowed. Delete tensor instead!"),
        ("_backward_hooks", "Deletion of _backwards_hooks not allowed!"),
    ):
        with pytest.raises(RuntimeError) as e:
            delattr(x, name)
        assert str(e.value) == text
    with torch.inference_mode():
        y = torch.ones(2)
    with pytest.raises(RuntimeError) as e:
        y.add_(1)
    assert str(e.value) == (
        "Inplace update to inference tensor outside InferenceMode is not allowed."
        "You can make a clone to get a normal tensor before doing inplace update."
        "See https://github.com/pytorch/rfcs/pull/17 for more details."
    )
