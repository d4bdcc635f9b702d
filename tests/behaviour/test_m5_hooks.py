"""Hooks: which value they belong to, how long they live, and hooks that do what hooks should not."""

import gc
import threading
import weakref

import pytest


def leaf(torch, *values):
    return torch.tensor(values or (1.0, 2.0), requires_grad=True)


class Tracker:
    """Something to hang on a closure and to miss."""

    def __call__(self, *args):
        return None


# --- values that change in place ---


@pytest.mark.item("M5.51")
def test_hooks_belong_to_the_value_they_were_put_on(torch):
    x = leaf(torch)
    seen = []
    y = x * 2
    y.register_hook(lambda g: seen.append(("before", g.tolist())))
    y.mul_(10)
    y.register_hook(lambda g: seen.append(("after", g.tolist())))
    (y * 3).sum().backward()
    assert seen == [("after", [3, 3]), ("before", [30, 30])]
    assert x.grad.tolist() == [60, 60]


@pytest.mark.item("M5.51")
def test_hooks_replace_the_gradient_of_their_value(torch):
    x = leaf(torch)
    y = x * 2
    y.register_hook(lambda g: g * 100)
    y.mul_(10)
    y.register_hook(lambda g: g + 1)
    y.sum().backward()
    assert x.grad.tolist() == [2 * 100 * 10 * 2] * 2


@pytest.mark.item("M5.51")
def test_hooks_of_several_outputs_changed_in_place(torch):
    x = torch.ones(4, requires_grad=True)
    seen = []
    a, b = torch.unsafe_split(x * 1, 2)
    a.register_hook(lambda g: seen.append(("a", g.tolist())))
    b.register_hook(lambda g: seen.append(("b", g.tolist())))
    b.mul_(5)
    b.register_hook(lambda g: seen.append(("b new", g.tolist())))
    (a + b).sum().backward()
    assert seen == [("b new", [1, 1]), ("a", [1, 1]), ("b", [5, 5])]


@pytest.mark.item("M5.51")
def test_hooks_of_a_base_changed_through_a_view(torch):
    x = torch.ones(4, requires_grad=True)
    seen = []
    base = x * 1
    base.register_hook(lambda g: seen.append(("old", g.tolist())))
    base[:2].mul_(5)
    base.register_hook(lambda g: seen.append(("new", g.tolist())))
    base.sum().backward()
    assert seen == [("new", [1, 1, 1, 1]), ("old", [5, 5, 1, 1])]


@pytest.mark.item("M5.51")
def test_hooks_of_a_view_stay_with_its_discarded_node(torch):
    x = torch.ones(4, requires_grad=True)
    seen = []
    base = x * 1
    view = base[:2]
    view.register_hook(lambda g: seen.append("before"))
    view.mul_(5)
    view.register_hook(lambda g: seen.append("after"))
    view.sum().backward(retain_graph=True)
    assert seen == ["after"]
    other = base[2:]
    base.mul_(2)
    assert other.grad_fn.name() == "AsStridedBackward0"  # made anew; PyTorch crashes without asking
    other.register_hook(lambda g: seen.append("renewed"))
    other.sum().backward()
    assert seen == ["after", "renewed"]


@pytest.mark.item("M5.51")
def test_hook_of_a_leaf_that_stops_being_one(torch):
    x = torch.ones(2, requires_grad=True)
    seen = []
    b = torch.zeros(2)
    b.copy_(x)
    b.register_hook(lambda g: seen.append(g.tolist()))
    b.detach_()
    b.requires_grad_()
    b.sum().backward()
    assert b.grad.tolist() == [1, 1]


# --- changes of hooks while they run ---


@pytest.mark.item("M5.50")
def test_hook_that_removes_itself_and_others(torch):
    x, seen = leaf(torch), []

    def once(g):
        seen.append("once")
        h1.remove()
        h3.remove()

    h1 = x.register_hook(once)
    x.register_hook(lambda g: seen.append("stays"))
    h3 = x.register_hook(lambda g: seen.append("removed"))
    x.sum().backward()
    assert seen[:2] == ["once", "stays"]
    del seen[:]
    x.sum().backward()
    assert seen == ["stays"]


@pytest.mark.item("M5.50")
def test_hook_that_adds_hooks(torch):
    x, seen = leaf(torch), []
    y = x * 2

    def add(g):
        if len(seen) < 3:
            y.register_hook(lambda g: seen.append("new"))
            x.register_hook(lambda g: seen.append("leaf"))
            y.grad_fn.register_hook(lambda gi, go: seen.append("post"))

    y.register_hook(add)
    y.sum().backward(retain_graph=True)
    first = list(seen)
    assert "leaf" in first and "post" in first
    y.sum().backward()
    assert seen.count("new") >= 1 and x.grad.tolist() == [4, 4]


@pytest.mark.item("M5.50")
def test_hook_that_deletes_its_tensor_and_graph(torch):
    x = leaf(torch)
    names = {"y": x * 2}

    def hook(g):
        names.clear()
        gc.collect()

    names["y"].register_hook(hook)
    s = names["y"].sum()
    names["s"] = s
    del s
    names["s"].backward()
    assert names == {} and x.grad.tolist() == [2, 2]


@pytest.mark.item("M5.50")
def test_hook_that_deletes_the_dictionary_of_hooks(torch):
    x, seen = leaf(torch), []

    def hook(g):
        seen.append(1)
        x._backward_hooks = None
        gc.collect()
        return g * 2

    x.register_hook(hook)
    x.register_hook(lambda g: seen.append(2))
    x.sum().backward()
    assert seen[0] == 1 and x.grad.tolist() == [2, 2]
    x.sum().backward()
    assert x.grad.tolist() == [3, 3]


@pytest.mark.item("M5.50")
def test_hook_that_changes_the_gradient_it_is_given(torch):
    """Discouraged, but no crash: the gradient is that tensor."""
    x, w = leaf(torch), leaf(torch)
    y = x * 1
    y.register_hook(lambda g: (g.mul_(10), None)[1])
    (y + w).backward(torch.ones(2))
    assert x.grad.shape == w.grad.shape == (2,)
    z = leaf(torch)
    h = z * 2
    h.register_hook(lambda g: g.clone().mul_(10))
    h.sum().backward()
    assert z.grad.tolist() == [20, 20]


@pytest.mark.item("M5.50")
def test_hook_that_keeps_its_gradient_alive(torch):
    x, kept = leaf(torch), []
    for _ in range(3):
        y = x * 2
        y.register_hook(kept.append)
        (y * 3).sum().backward()
    assert [g.tolist() for g in kept] == [[3, 3]] * 3
    x.grad.zero_()
    assert [g.tolist() for g in kept] == [[3, 3]] * 3


@pytest.mark.item("M5.50")
def test_hook_that_changes_a_saved_value(torch):
    x = leaf(torch)
    w = torch.ones(2)
    y = x * w
    z = y * 1

    def hook(g):
        w.add_(1)

    z.register_hook(hook)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()
    assert x.grad is None


@pytest.mark.item("M5.50", "M5.30")
def test_hook_that_runs_another_thread_on_its_graph(torch):
    x = leaf(torch)
    y = x * x
    seen = []

    def hook(g):
        if not seen:
            seen.append(1)
            worker = threading.Thread(
                target=lambda: seen.append(torch.autograd.grad(s, x, retain_graph=True))
            )
            worker.start()
            worker.join()

    y.register_hook(hook)
    s = y.sum()
    s.backward(retain_graph=True)
    assert seen[1][0].tolist() == [2, 4] == x.grad.tolist()


@pytest.mark.item("M5.50", "M5.30")
def test_graph_freed_by_another_thread_while_it_runs(torch):
    x = leaf(torch)
    y = x * x
    z = y * 1
    errors = []

    def hook(g):
        if not errors:
            errors.append(None)
            worker = threading.Thread(target=s.backward)
            worker.start()
            worker.join()

    z.register_hook(hook)
    s = z.sum()
    with pytest.raises(RuntimeError, match="second time"):
        s.backward()
    assert x.grad.tolist() == [2, 4]


@pytest.mark.item("M5.50")
def test_hook_that_sets_requires_grad_or_data_of_its_leaf(torch):
    x, w = leaf(torch), leaf(torch)
    y = (x * w).sum()
    y.register_hook(lambda g: (x.requires_grad_(False), None)[1])
    y.backward()
    assert w.grad.tolist() == [1, 2]
    u = leaf(torch)
    y = (u * 2).sum()
    y.register_hook(lambda g: setattr(u, "data", torch.zeros(2)))
    y.backward()
    assert u.grad.tolist() == [2, 2]


@pytest.mark.item("M5.50")
def test_graph_that_a_weak_reference_reaches_only(torch):
    x = leaf(torch)
    y = x * x
    seen = []
    ref = weakref.ref(y)
    y.register_hook(lambda g: seen.append(ref() is not None))
    s = y.sum()
    del y
    s.backward()
    assert len(seen) == 1 and x.grad.tolist() == [2, 4]


@pytest.mark.item("M5.50")
def test_object_that_comes_back_in_its_destructor(torch):
    """A hook whose destructor keeps the tensor of the hook."""
    saved = []

    class Phoenix:
        def __init__(self, t):
            self.t = t

        def __call__(self, g):
            return g * 2

        def __del__(self):
            saved.append(self.t)

    x = leaf(torch)
    y = x * 1
    y.register_hook(Phoenix(y))
    y.sum().backward()
    assert x.grad.tolist() == [2, 2]
    del y
    gc.collect()
    for t in saved:
        assert (t * 3).tolist() == [3, 6]
    assert len(saved) <= 1


# --- life ---


def collected(make):
    """Whether what `make` gives a weak reference to dies with the collector's help."""
    gone = make()
    gc.collect()
    gc.collect()
    return gone() is None


@pytest.mark.item("M5.56")
@pytest.mark.parametrize("kind", ["tensor", "leaf", "pre", "post", "accumulate"])
def test_hooks_die_with_their_tensor(torch, kind):
    def make():
        x = leaf(torch)
        y = x * 2
        tracker = Tracker()
        if kind == "tensor":
            y.register_hook(tracker)
        elif kind == "leaf":
            x.register_hook(tracker)
        elif kind == "pre":
            y.grad_fn.register_prehook(tracker)
        elif kind == "post":
            y.grad_fn.register_hook(tracker)
        else:
            x.register_post_accumulate_grad_hook(tracker)
        y.sum().backward()
        return weakref.ref(tracker)

    assert collected(make)


@pytest.mark.item("M5.56")
@pytest.mark.parametrize("kind", ["leaf", "pre", "post"])
def test_cycles_through_hooks_are_collected(torch, kind):
    def make():
        x = leaf(torch)
        y = x * 2
        tracker = Tracker()
        tracker.cycle = x
        if kind == "leaf":
            x.register_hook(tracker)
        elif kind == "pre":
            tracker.cycle = y.grad_fn
            y.grad_fn.register_prehook(tracker)
        else:
            tracker.cycle = y.grad_fn
            y.grad_fn.register_hook(tracker)
        return weakref.ref(tracker)

    assert collected(make)


@pytest.mark.item("M5.56")
@pytest.mark.minitorch_only(reason="PyTorch leaks cycles through the hooks of a result")
def test_cycles_through_hooks_of_results_are_collected(torch):
    def make():
        y = leaf(torch) * 2
        tracker = Tracker()
        tracker.cycle = y
        y.register_hook(tracker)
        return weakref.ref(tracker)

    assert collected(make)


@pytest.mark.item("M5.56")
@pytest.mark.minitorch_only(reason="PyTorch leaks cycles through these")
def test_cycles_through_accumulate_hooks_are_collected(torch):
    def make():
        x = leaf(torch)
        tracker = Tracker()
        tracker.cycle = x
        x.register_post_accumulate_grad_hook(tracker)
        return weakref.ref(tracker)

    assert collected(make)


@pytest.mark.item("M5.56")
def test_cycles_live_as_long_as_the_graph(torch):
    x = leaf(torch)
    tracker = Tracker()
    tracker.cycle = x
    x.register_hook(tracker)
    gone = weakref.ref(tracker)
    y = x * 2
    del x, tracker
    gc.collect()
    assert gone() is not None
    y.sum().backward()
    assert gone().cycle.grad.tolist() == [2, 2]
    del y
    gc.collect()
    assert gone() is None


@pytest.mark.item("M5.56")
def test_removed_hooks_are_dropped(torch):
    x = leaf(torch)
    for register in (x.register_hook, x.register_post_accumulate_grad_hook, (x * 2).grad_fn.register_hook):
        tracker = Tracker()
        gone = weakref.ref(tracker)
        handle = register(tracker)
        del tracker
        gc.collect()
        assert gone() is not None
        handle.remove()
        gc.collect()
        assert gone() is None


@pytest.mark.item("M5.56")
def test_handles_do_not_keep_hooks(torch):
    x = leaf(torch)
    tracker = Tracker()
    gone = weakref.ref(tracker)
    handle = x.register_hook(tracker)
    del x, tracker
    gc.collect()
    assert gone() is None
    handle.remove()


@pytest.mark.item("M5.57")
def test_refused_dictionary_changes_nothing(torch):
    x, seen = leaf(torch), []
    x.register_hook(lambda g: seen.append(1))
    for name in ("_backward_hooks", "_post_accumulate_grad_hooks"):
        with pytest.raises(RuntimeError):
            delattr(x, name)
    x.sum().backward()
    assert seen == [1]


@pytest.mark.item("M5.57")
@pytest.mark.minitorch_only(reason="PyTorch takes any object for a dictionary and crashes when the hooks run")
def test_hooks_that_are_no_dictionary(torch):
    x, seen = leaf(torch), []
    x.register_hook(lambda g: seen.append(1))
    before = x._backward_hooks
    for bad in (5, [1], "hooks", object()):
        with pytest.raises(TypeError):
            x._backward_hooks = bad
    assert x._backward_hooks is before
    x.sum().backward()
    assert seen == [1]


# --- one hook for several tensors ---


@pytest.mark.item("M5.55")
def test_multi_grad_hook_in_threads_and_nested_runs(torch):
    a, b = leaf(torch), leaf(torch)
    calls = []
    handle = torch.autograd.graph.register_multi_grad_hook(
        (a, b), lambda gs: calls.append([g.tolist() for g in gs])
    )
    s = (a * b).sum()

    def work():
        for _ in range(10):
            s.backward(retain_graph=True)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(calls) == 30 and all(c == [[1, 2], [1, 2]] for c in calls)
    handle.remove()
    s.backward()
    assert len(calls) == 30


@pytest.mark.item("M5.55")
def test_multi_grad_hook_that_raises(torch):
    a, b = leaf(torch), leaf(torch)

    def hook(gs):
        raise KeyError("multi")

    for mode in ("all", "any"):
        with torch.autograd.graph.register_multi_grad_hook((a, b), hook, mode=mode):
            with pytest.raises(KeyError, match="multi"):
                (a * b).sum().backward()
    a.grad = b.grad = None
    (a * b).sum().backward()
    assert a.grad.tolist() == [1, 2]


@pytest.mark.item("M5.55")
def test_handle_of_several_hooks(torch):
    a, b = leaf(torch), leaf(torch)
    handle = torch.autograd.graph.register_multi_grad_hook((a, b), print)
    assert isinstance(handle, torch.utils.hooks.RemovableHandle)
    assert len(handle.__getstate__()) == 2
    other = type(handle).__new__(type(handle))
    other.__setstate__(handle.__getstate__())
    other.remove()
    assert len(a._backward_hooks) == 0


# --- exceptions ---


@pytest.mark.item("M5.50", "M5.30")
def test_error_in_a_hook_leaves_graph_and_gradients(torch):
    x, w = leaf(torch), leaf(torch)
    w.grad = torch.ones(2)
    y = x * w
    fail = [True]

    def hook(g):
        if fail[0]:
            raise ZeroDivisionError("hook")

    y.register_hook(hook)
    s = y.sum()
    for _ in range(3):
        with pytest.raises(ZeroDivisionError):
            s.backward()
    assert x.grad is None and w.grad.tolist() == [1, 1]
    fail[0] = False
    s.backward()
    assert x.grad.tolist() == [1, 2] and w.grad.tolist() == [2, 3]


@pytest.mark.item("M5.50", "M5.30")
@pytest.mark.parametrize(
    "exception", [KeyboardInterrupt, SystemExit, GeneratorExit, StopIteration, MemoryError]
)
def test_unusual_exceptions_come_through(torch, exception):
    x = leaf(torch)
    y = x * 2

    def hook(g):
        raise exception

    y.register_hook(hook)
    with pytest.raises(exception):
        y.sum().backward()
    x.grad = None
    (x * 2).sum().backward()
    assert x.grad.tolist() == [2, 2]


@pytest.mark.item("M5.50")
@pytest.mark.minitorch_only(reason="PyTorch starts threads until the process dies")
def test_recursion_without_end_in_a_hook(torch):
    x = leaf(torch)
    y = (x * 2).sum()

    def hook(g):
        y.backward(retain_graph=True)

    y.register_hook(hook)
    with pytest.raises(RecursionError):
        y.backward(retain_graph=True)
    z = leaf(torch)
    (z * 2).sum().backward()
    assert z.grad.tolist() == [2, 2]


# --- hooks that change the hooks of their node ---


@pytest.mark.item("M5.51")
@pytest.mark.parametrize("register", ["register_hook", "register_prehook"])
def test_hooks_added_by_a_hook_run_next_time(torch, register):
    x = leaf(torch)
    y = x * 2
    seen = []

    def hook(*args):
        seen.append(len(args))
        getattr(y.grad_fn, register)(hook)

    getattr(y.grad_fn, register)(hook)
    for count in (1, 2, 4):
        seen.clear()
        y.sum().backward(retain_graph=True)
        assert len(seen) == count


@pytest.mark.item("M5.51")
@pytest.mark.parametrize("register", ["register_hook", "register_prehook"])
def test_hooks_removed_by_a_hook_run_once_more(torch, register):
    y = leaf(torch) * 2
    seen, handles = [], []
    getattr(y.grad_fn, register)(lambda *args: (seen.append(1), handles[0].remove())[1])
    handles.append(getattr(y.grad_fn, register)(lambda *args: seen.append(2)))
    y.sum().backward(retain_graph=True)
    assert seen == [1, 2]
    y.sum().backward()
    assert seen == [1, 2, 1]
