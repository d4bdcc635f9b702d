"""Runs of the graph: what they execute, in which order, on which threads, and what becomes of errors."""

import gc
import sys
import threading
import traceback
import weakref

import pytest


def leaf(torch, *values):
    return torch.tensor(values or (1.0, 2.0), requires_grad=True)


def function(torch, body, name="Step"):
    """A Function that gives its input back; its backward is `body`."""

    class Step(torch.autograd.Function):
        @staticmethod
        def forward(ctx, t):
            return t.clone()

        @staticmethod
        def backward(ctx, g):
            return body(g)

    Step.__name__ = name
    return Step.apply


# --- arguments ---


@pytest.mark.item("M5.23")
def test_create_graph_warns_about_the_cycle(torch, recwarn):
    x = leaf(torch)
    torch.set_warn_always(True)  # else it comes once per process
    try:
        with pytest.warns(UserWarning, match="reference cycle"):
            (x * x).sum().backward(create_graph=True)
        x.grad = None
        (x * x).sum().backward()
        torch.autograd.grad((x * x).sum(), x, create_graph=True)
    finally:
        torch.set_warn_always(False)
    assert not recwarn.list


@pytest.mark.item("M5.20", "M5.24")
def test_refused_calls_change_nothing(torch):
    x, w = leaf(torch), leaf(torch)
    y = (x * w).sum()
    for call in (
        lambda: torch.autograd.grad(y, [x, torch.ones(2)]),
        lambda: torch.autograd.grad(y, [x, 1]),
        lambda: torch.autograd.grad(y, [x], torch.ones(3)),
        lambda: y.backward(torch.ones(2)),
        lambda: y.backward(inputs=[]),
        lambda: y.backward(inputs=[x, 3]),
        lambda: torch.autograd.backward([y, torch.ones(())]),
        lambda: torch.autograd.backward([y, x]),
    ):
        with pytest.raises((RuntimeError, TypeError)):
            call()
    assert x.grad is None and w.grad is None
    y.backward()
    assert x.grad.tolist() == [1, 2]


@pytest.mark.item("M5.24")
def test_an_unused_input_does_not_free_less(torch):
    """The error about it comes when the graph has been run."""
    x, u = leaf(torch), leaf(torch)
    y = (x * x).sum()
    with pytest.raises(RuntimeError, match="not have been used"):
        torch.autograd.grad(y, [x, u])
    with pytest.raises(RuntimeError, match="second time"):
        torch.autograd.grad(y, x)


@pytest.mark.item("M5.24")
def test_results_have_no_other_owner(torch):
    x = leaf(torch)
    (g,) = torch.autograd.grad((x * 2).sum(), x)
    g.add_(1)
    assert torch.autograd.grad((x * 2).sum(), x)[0].tolist() == [2, 2]
    a, b = torch.autograd.grad((x * 2).sum(), [x, x])
    assert a.tolist() == b.tolist() == [2, 2]


@pytest.mark.item("M5.26")
def test_edge_keeps_the_graph_alive(torch):
    x = leaf(torch)
    y = x * x
    edge = torch.autograd.graph.get_gradient_edge(y)
    del y
    gc.collect()
    assert torch.autograd.grad(edge, x, torch.ones(2))[0].tolist() == [2, 4]
    doubled = function(torch, lambda g: g * 2)
    y = doubled(x * 3)
    edge = torch.autograd.graph.get_gradient_edge(y)
    assert edge.ownership_token is not None and edge.node.name() == "StepBackward"
    del y
    gc.collect()
    torch.autograd.backward(edge, torch.ones(2))
    assert x.grad.tolist() == [6, 6]


# --- what is executed ---


@pytest.mark.item("M5.28")
def test_branches_that_lead_nowhere_are_not_run(torch):
    runs = []
    a = function(torch, lambda g: (runs.append("a"), g)[1])
    b = function(torch, lambda g: (runs.append("b"), g)[1])
    x, w = leaf(torch), leaf(torch)
    y = (a(x) * b(w)).sum()
    torch.autograd.grad(y, x, retain_graph=True)
    assert runs == ["a"]
    y.backward(inputs=[w], retain_graph=True)
    assert runs == ["a", "b"] and x.grad is None
    y.backward(retain_graph=True)
    assert sorted(runs[2:]) == ["a", "b"]
    torch.autograd.grad(y, [leaf(torch)], allow_unused=True)
    assert len(runs) == 4


@pytest.mark.item("M5.28", "M5.54")
def test_producer_of_a_captured_tensor_is_not_run(torch):
    runs = []
    a = function(torch, lambda g: (runs.append("a"), g)[1])
    x = leaf(torch)
    h = a(x)
    y = (h * 2).sum()
    assert torch.autograd.grad(y, h, retain_graph=True)[0].tolist() == [2, 2] and runs == []
    torch.autograd.grad(y, [h, x])
    assert runs == ["a"]


@pytest.mark.item("M5.28")
def test_will_engine_execute_node(torch):
    will = torch._C._will_engine_execute_node
    x, w = leaf(torch), leaf(torch)
    a, b = x * 2, w * 3
    seen = []

    def hook(g):
        seen.append([will(n) for n in nodes])

    y = (a * b).sum()
    outside = (x * 5).grad_fn
    leaves = [t.grad_fn.next_functions[0][0] for t in (a, b)]
    nodes = [a.grad_fn, b.grad_fn, outside, *leaves]
    y.grad_fn.register_prehook(lambda g: hook(g))
    y.backward(retain_graph=True)
    y.backward(inputs=[x], retain_graph=True)
    with pytest.raises(RuntimeError, match="leaf node"):
        torch.autograd.grad(y, w, retain_graph=True)
    del nodes[3:]
    torch.autograd.grad(y, w, retain_graph=True)
    torch.autograd.grad(y, a, retain_graph=True)
    assert seen == [
        [True, True, False, True, True],
        [True, False, False, True, False],
        [False, True, False],
        [True, False, False],
    ]
    with pytest.raises(RuntimeError, match="during the backward pass"):
        will(y.grad_fn)
    with pytest.raises((RuntimeError, TypeError)):
        will(x)

    def ask_for_a_tensor(g):
        with pytest.raises((RuntimeError, TypeError)):
            will(x)
        seen.append("asked")

    y.grad_fn.register_prehook(ask_for_a_tensor)
    y.backward()
    assert seen[-1] == "asked"


@pytest.mark.item("M5.28")
def test_number_of_a_run(torch):
    numbers = []
    number = torch._C._current_graph_task_id

    def hook(g):
        numbers.append(number())

    x = leaf(torch)
    y = x * 2
    y.register_hook(hook)
    z = y * 3
    z.register_hook(hook)
    assert number() == -1
    z.sum().backward(retain_graph=True)
    z.sum().backward()
    assert numbers[0] == numbers[1] != numbers[2] == numbers[3] and -1 not in numbers
    assert number() == -1

    def nested(g):
        before = number()
        with torch.enable_grad():
            u = leaf(torch) * 2
            u.register_hook(hook)
            u.sum().backward()
        assert number() == before != numbers[-1]

    y = x * 2
    y.register_hook(nested)
    y.sum().backward()


@pytest.mark.item("M5.28")
def test_node_that_is_being_run(torch):
    x = leaf(torch)
    y = x * 2
    seen = []
    y.grad_fn.register_hook(lambda gi, go: seen.append(torch._C._current_autograd_node()))
    y.sum().backward()
    assert seen == [y.grad_fn]


@pytest.mark.item("M5.28")
def test_execution_order(torch):
    order, orders = torch._C._current_graph_task_execution_order, []
    x, w = leaf(torch), leaf(torch)
    a = x * 2
    b = w * 3
    c = (a * b).sum()
    c.register_hook(lambda g: orders.append([n.name().replace("torch::autograd::", "") for n in order()]))
    with torch.autograd.set_multithreading_enabled(False):
        c.backward(retain_graph=True)
        c.backward(inputs=[x], retain_graph=True)
        torch.autograd.grad(c, b, retain_graph=True)
    mul = "MulBackward0"
    assert orders == [
        ["SumBackward0", mul, mul, "AccumulateGrad", mul, "AccumulateGrad"],
        ["SumBackward0", mul, mul, "AccumulateGrad"],
        ["SumBackward0", mul, mul],
    ]
    with pytest.raises(RuntimeError, match="multithreading disabled"):
        c.backward(retain_graph=True)
    with pytest.raises(RuntimeError, match="during the backward pass"):
        order()


@pytest.mark.item("M5.28")
def test_graph_is_kept(torch):
    keep, kept = torch._C._autograd._get_current_graph_task_keep_graph, []
    y = leaf(torch) * 2
    y.register_hook(lambda g: kept.append(keep()))
    y.sum().backward(retain_graph=True)
    y.sum().backward()
    assert kept == [True, False] and keep()
    number = torch._C._autograd._get_sequence_nr()
    assert (leaf(torch) * 2).grad_fn._sequence_nr() == number == torch._C._autograd._get_sequence_nr() - 1


# --- order ---


@pytest.mark.item("M5.29")
def test_later_nodes_run_first(torch):
    order = []

    def step(name, t):
        out = t * 1
        out.register_hook(lambda g: order.append(name))
        return out

    x = leaf(torch)
    a = step("a", x)
    b = step("b", x)
    c = step("c", x)
    (c + a + b).sum().backward()
    assert order == ["c", "b", "a"]
    del order[:]
    a = step("a", x)
    b = step("b", a)
    c = step("c", a)
    d = step("d", x)
    (b + c + d).sum().backward()
    assert order == ["d", "c", "b", "a"]


@pytest.mark.item("M5.29")
def test_leaves_are_accumulated_as_soon_as_they_are_ready(torch):
    order = []
    x, w = leaf(torch), leaf(torch)
    x.register_post_accumulate_grad_hook(lambda t: order.append("x"))
    w.register_post_accumulate_grad_hook(lambda t: order.append("w"))
    h = w * 1
    h.register_hook(lambda g: order.append("h"))
    (h + x).sum().backward()
    assert order == ["x", "h", "w"]


@pytest.mark.item("M5.29")
def test_graph_runs_in_the_calling_thread(torch):
    threads = []
    x = leaf(torch)
    y = x * 2
    y.register_hook(lambda g: threads.append(threading.get_ident()))
    y.sum().backward(retain_graph=True)
    worker = threading.Thread(target=lambda: y.sum().backward())
    worker.start()
    worker.join()
    assert threads[0] == threading.get_ident() != threads[1]
    assert x.grad.tolist() == [4, 4]


@pytest.mark.item("M5.29")
@pytest.mark.parametrize("depth", [1, 2, 100])
def test_nested_runs(torch, depth):
    log = []

    class Nested(torch.autograd.Function):
        @staticmethod
        def forward(ctx, t, level):
            ctx.level = level
            return t.clone()

        @staticmethod
        def backward(ctx, g):
            log.append(ctx.level)
            if ctx.level:
                with torch.enable_grad():
                    t = torch.ones(1, requires_grad=True)
                    Nested.apply(t, ctx.level - 1).sum().backward()
                assert t.grad.item() == 1
            return g, None

    x = torch.ones(1, requires_grad=True)
    Nested.apply(x, depth).sum().backward()
    assert log == list(range(depth, -1, -1)) and x.grad.item() == 1


@pytest.mark.item("M5.29")
def test_nested_run_into_the_same_leaf(torch):
    x = leaf(torch)

    def again(g):
        with torch.enable_grad():
            (x * 10).sum().backward()
        return g

    (function(torch, again)(x) * 1).sum().backward()
    assert x.grad.tolist() == [11, 11]


@pytest.mark.item("M5.29", "M5.30")
def test_nested_run_through_the_node_being_run(torch):
    """A hook runs the very graph it belongs to, once."""
    x = leaf(torch)
    y = (x * x).sum()
    depth = []

    def hook(g):
        if not depth:
            depth.append(1)
            y.backward(retain_graph=True)

    (y * 1).register_hook(lambda g: None)
    y.register_hook(hook)
    y.backward(retain_graph=True)
    assert x.grad.tolist() == [4, 8]
    y.backward()
    assert x.grad.tolist() == [6, 12]


@pytest.mark.item("M5.29")
def test_nested_run_frees_the_graph_of_the_outer_one(torch):
    x = leaf(torch)
    h = x * x
    y = (h * h).sum()

    def hook(g):
        handle.remove()
        y.backward()

    handle = h.register_hook(hook)
    with pytest.raises(RuntimeError, match="second time"):
        y.backward()
    z = (x * x).sum()
    x.grad = None
    z.backward()
    assert x.grad.tolist() == [2, 4]


# --- threads ---


def in_threads(count, work):
    errors = []

    def guarded(i):
        try:
            start.wait()
            work(i)
        except BaseException as e:  # noqa: B902
            errors.append(e)

    start = threading.Barrier(count)
    threads = [threading.Thread(target=guarded, args=(i,)) for i in range(count)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    if errors:
        raise errors[0]


@pytest.fixture
def fast_switching():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.item("M5.29")
def test_threads_run_one_graph(torch, fast_switching):
    x, w = leaf(torch), leaf(torch)
    y = x
    for _ in range(20):
        y = y * w + x.sin().detach() * 0
    y = y.sum()
    (expected,) = torch.autograd.grad(y, w, retain_graph=True)

    def work(i):
        for _ in range(20):
            (g,) = torch.autograd.grad(y, w, retain_graph=True)
            assert torch.equal(g, expected)

    in_threads(4, work)


@pytest.mark.item("M5.29")
def test_threads_accumulate_into_one_leaf(torch, fast_switching):
    x = torch.zeros(3, requires_grad=True)
    x.grad = torch.zeros(3)

    def work(i):
        for _ in range(50):
            (x * 2).sum().backward()

    in_threads(4, work)
    assert x.grad.tolist() == [400, 400, 400]


LARGE = 500_000  # kernels let other threads run


@pytest.mark.item("M5.29", "M5.41")
def test_threads_accumulate_large_gradients(torch, fast_switching):
    x, g = torch.zeros(LARGE, requires_grad=True), torch.ones(LARGE)

    def work(i):
        for _ in range(10):
            (x * 2).backward(g)

    in_threads(4, work)
    assert x.grad.eq(80).all()
    for _ in range(10):  # the first gradients of all threads meet
        x.grad = None
        in_threads(3, lambda i: (x * 2).backward(g))
        assert x.grad.eq(6).all()


@pytest.mark.item("M5.29", "M5.44")
@pytest.mark.minitorch_only(reason="in PyTorch threads may overwrite what others add to a retained gradient")
def test_threads_retain_large_gradients(torch, fast_switching):
    x, g = torch.zeros(LARGE, requires_grad=True), torch.ones(LARGE)
    y = x + 1
    y.retain_grad()

    def work(i):
        for _ in range(8):
            y.backward(g, retain_graph=True)

    in_threads(3, work)
    assert y.grad.eq(24).all() and x.grad.eq(24).all()


@pytest.mark.minitorch_only(
    reason="PyTorch adds to a gradient that another thread drops, and sometimes loses what it adds"
)
@pytest.mark.item("M5.29", "M5.42")
def test_gradient_is_dropped_while_threads_add_to_it(torch, fast_switching):
    x, g = torch.zeros(LARGE, requires_grad=True), torch.ones(LARGE)

    def work(i):
        for _ in range(15):
            if i:
                (x * 2).backward(g)
            else:
                x.grad = None

    in_threads(4, work)
    x.grad = None
    (x * 2).backward(g)
    assert x.grad.eq(2).all()


@pytest.mark.item("M5.29")
def test_threads_run_and_free_graphs_of_large_tensors(torch, fast_switching):
    for retain in (True, False):
        x = torch.ones(LARGE, requires_grad=True)
        y = ((x * x).sqrt() * x).sum()
        results = []

        def work(i, x=x, y=y, retain=retain, results=results):
            try:
                results.append(torch.autograd.grad(y, x, retain_graph=retain)[0])
            except RuntimeError as e:
                assert "second time" in str(e) and not retain

        in_threads(3, work)
        assert len(results) >= 1 and all(r.eq(2).all() for r in results)


@pytest.mark.item("M5.29")
def test_threads_share_a_part_of_their_graphs(torch, fast_switching):
    x = leaf(torch)
    trunk = (x * x).exp().log()  # 2x altogether
    heads = [(trunk * (i + 1)).sum() for i in range(4)]
    results = [[] for _ in heads]

    def work(i):
        for _ in range(25):
            results[i].append(torch.autograd.grad(heads[i], x, retain_graph=True)[0])

    in_threads(4, work)
    for i, values in enumerate(results):
        assert all(torch.allclose(v, 2 * x.detach() * (i + 1)) for v in values)


@pytest.mark.item("M5.29")
def test_hooks_of_threads_see_their_own_run(torch, fast_switching):
    x = leaf(torch)
    h = x * 1
    seen = {}

    def hook(g):
        seen.setdefault(threading.get_ident(), set()).add((torch._C._current_graph_task_id(), g[0].item()))

    h.register_hook(hook)
    y = (h * 1).sum()

    def work(i):
        for _ in range(20):
            y.backward(torch.tensor(float(i)), retain_graph=True)

    in_threads(3, work)
    assert len(seen) == 3
    assert all(len(v) == 20 and len({g for _, g in v}) == 1 for v in seen.values())
    runs = [r for v in seen.values() for r, _ in v]
    assert len(set(runs)) == 60


@pytest.mark.item("M5.29", "M5.22")
def test_threads_free_one_graph(torch, fast_switching):
    """Whoever comes late gets an error or a right result, never a wrong one."""
    for _ in range(30):
        x = leaf(torch)
        y = x
        for _ in range(10):
            y = (y * y).sqrt()
        y = y.sum()
        outcomes = []

        def work(i, y=y, x=x, outcomes=outcomes):
            try:
                (g,) = torch.autograd.grad(y, x)
            except RuntimeError as e:
                assert "second time" in str(e)
            else:
                outcomes.append(g)

        in_threads(3, work)
        assert all(torch.allclose(g, torch.ones(2)) for g in outcomes)


@pytest.mark.item("M5.29")
def test_threads_nest_runs(torch, fast_switching):
    x = leaf(torch)
    shared = (x * x).sum()

    def nested(g):
        with torch.enable_grad():
            (inner,) = torch.autograd.grad(shared, x, retain_graph=True)
        return g * inner

    step = function(torch, nested)

    def work(i):
        for _ in range(15):
            (g,) = torch.autograd.grad(step(step(x)).sum(), x)
            assert g.tolist() == [4, 16]

    in_threads(4, work)


# --- errors ---


class Special(Exception):
    pass


def raises(torch, message="on purpose"):
    def body(g):
        raise Special(message)

    return function(torch, body)


@pytest.mark.item("M5.30")
def test_exception_of_a_backward_comes_through(torch):
    x = leaf(torch)
    y = raises(torch)(x).sum()
    with pytest.raises(Special, match="on purpose") as caught:
        y.backward()
    names = [f.name for f in traceback.extract_tb(caught.value.__traceback__)]
    assert names[-1] == "body" and "backward" in names
    assert x.grad is None
    (x * 2).sum().backward()
    assert x.grad.tolist() == [2, 2]


@pytest.mark.item("M5.30")
@pytest.mark.parametrize("kind", ["tensor", "pre", "post", "accumulate"])
def test_exception_of_a_hook_comes_through(torch, kind):
    x, later = leaf(torch), []
    y = x * 2

    def bad(*args):
        raise Special("in a hook")

    def good(*args):
        later.append(1)

    for hook in (bad, good):
        if kind == "tensor":
            y.register_hook(hook)
        elif kind == "pre":
            y.grad_fn.register_prehook(hook)
        elif kind == "post":
            y.grad_fn.register_hook(hook)
        else:
            x.register_post_accumulate_grad_hook(hook)
    with pytest.raises(Special, match="in a hook"):
        y.sum().backward()
    assert later == []
    assert x.grad is None if kind != "accumulate" else x.grad.tolist() == [2, 2]
    with pytest.raises(Special):
        y.sum().backward() if kind in ("tensor", "pre") else (x * 2).register_hook(bad) and raises(torch)(
            x
        ).sum().backward()
    z = leaf(torch)
    (z * 3).sum().backward()
    assert z.grad.tolist() == [3, 3]


@pytest.mark.item("M5.30")
def test_gradients_of_an_interrupted_run_are_dropped(torch):
    """A second run does not see what the first left on its way."""
    x = leaf(torch)
    h = x * 3
    fail = [True]

    def hook(g):
        if fail[0]:
            raise Special

    t = h * 1
    t.register_hook(hook)
    y = (t + h * 10).sum()
    with pytest.raises(Special):
        y.backward(retain_graph=True)
    fail[0] = False
    y.backward()
    assert x.grad.tolist() == [33, 33]


@pytest.mark.item("M5.30")
def test_exception_crosses_nested_runs(torch):
    x = leaf(torch)
    inner = raises(torch, "deep inside")

    def outer(g):
        with torch.enable_grad():
            inner(leaf(torch)).sum().backward()
        return g

    with pytest.raises(Special, match="deep inside") as caught:
        function(torch, outer)(x).sum().backward()
    names = [f.name for f in traceback.extract_tb(caught.value.__traceback__)]
    assert names[-1] == "body" and names.count("outer") == 1
    assert not torch._C._current_graph_task_id() != -1


@pytest.mark.item("M5.29", "M5.30")
def test_exception_crosses_deeply_nested_runs_with_its_traceback(torch):
    class Nested(torch.autograd.Function):
        @staticmethod
        def forward(ctx, t, level):
            ctx.level = level
            return t.clone()

        @staticmethod
        def backward(ctx, g):
            if ctx.level == 0:
                raise Special("at the bottom")
            with torch.enable_grad():
                Nested.apply(torch.ones(1, requires_grad=True), ctx.level - 1).sum().backward()
            return g, None

    with pytest.raises(Special, match="at the bottom") as caught:
        Nested.apply(torch.ones(1, requires_grad=True), 150).sum().backward()
    lines = [f.line for f in traceback.extract_tb(caught.value.__traceback__)]
    assert 'raise Special("at the bottom")' in lines
    x = leaf(torch)
    (x * 2).sum().backward()
    assert x.grad.tolist() == [2, 2]


@pytest.mark.item("M5.30")
def test_caught_exception_of_a_nested_run_does_no_harm(torch):
    x = leaf(torch)

    def outer(g):
        try:
            with torch.enable_grad():
                raises(torch)(leaf(torch)).sum().backward()
        except Special:
            pass
        return g * 7

    function(torch, outer)(x).sum().backward()
    assert x.grad.tolist() == [7, 7]


@pytest.mark.item("M5.30")
def test_exceptions_of_threads_are_their_own(torch, fast_switching):
    x = leaf(torch)
    shared = x * 2

    def work(i):
        for k in range(20):
            y = (raises(torch, "thread %d" % i) if i % 2 else function(torch, lambda g: g))(shared).sum()
            if i % 2:
                with pytest.raises(Special, match="thread %d" % i):
                    torch.autograd.grad(y, x, retain_graph=True)
            else:
                assert torch.autograd.grad(y, x, retain_graph=True)[0].tolist() == [2, 2]

    in_threads(4, work)


@pytest.mark.item("M5.30")
def test_exception_objects_are_not_kept(torch):
    x = leaf(torch)

    class Marked(Exception):
        pass

    def body(g):
        raise Marked

    try:
        function(torch, body)(x).sum().backward()
    except Marked as e:
        gone = weakref.ref(e)
    gc.collect()
    assert gone() is None


# --- callbacks ---


@pytest.mark.item("M5.31")
def test_callbacks_run_at_the_end(torch):
    engine = torch.autograd.Variable._execution_engine
    x, log = leaf(torch), []
    y = x * 2

    def hook(g):
        engine.queue_callback(lambda: log.append(("end", None if x.grad is None else x.grad.tolist())))
        log.append("hook")

    y.register_hook(hook)
    y.sum().backward(retain_graph=True)
    assert log == ["hook", ("end", [2, 2])]
    with pytest.raises(RuntimeError, match="during backward"):
        engine.queue_callback(lambda: None)

    def failing(g):
        engine.queue_callback(fail)
        engine.queue_callback(lambda: log.append("not reached"))

    def fail():
        raise Special("at the end")

    z = x * 3
    z.register_hook(failing)
    with pytest.raises(Special, match="at the end"):
        z.sum().backward()
    assert log[-1] != "not reached"
    with pytest.raises(Special):
        raises(torch)(y).sum().backward()


@pytest.mark.item("M5.31")
def test_callbacks_are_not_run_after_an_error(torch):
    engine = torch.autograd.Variable._execution_engine
    x, log = leaf(torch), []
    y = raises(torch)(x)
    z = y * 1
    z.register_hook(lambda g: engine.queue_callback(lambda: log.append(1)))
    with pytest.raises(Special):
        z.sum().backward()
    assert log == []


# --- grad mode ---


@pytest.mark.item("M5.32")
@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("mode", [False, True])
@pytest.mark.filterwarnings("ignore:Using backward")
def test_grad_mode_inside_backward(torch, create_graph, mode):
    x, modes = leaf(torch), []
    y = function(torch, lambda g: (modes.append(torch.is_grad_enabled()), g)[1])(x) * 1
    y.register_hook(lambda g: modes.append(torch.is_grad_enabled()))
    x.register_hook(lambda g: modes.append(torch.is_grad_enabled()))
    x.register_post_accumulate_grad_hook(lambda t: modes.append(torch.is_grad_enabled()))
    s = y.sum()
    with torch.set_grad_enabled(mode):
        s.backward(create_graph=create_graph)
        assert torch.is_grad_enabled() == mode
    assert modes == [create_graph] * 4


@pytest.mark.item("M5.32")
def test_grad_mode_comes_back_after_errors_and_nesting(torch):
    x, modes = leaf(torch), []

    def outer(g):
        modes.append(torch.is_grad_enabled())
        with torch.enable_grad():
            t = leaf(torch)
            u = (t * t).sum()
        u.backward(retain_graph=True)
        modes.append(torch.is_grad_enabled())
        torch.autograd.grad(u, t, create_graph=True)
        modes.append(torch.is_grad_enabled())
        return g

    function(torch, outer)(x).sum().backward()
    assert modes == [False] * 3 and torch.is_grad_enabled()
    with pytest.raises(Special):
        raises(torch)(x).sum().backward()
    assert torch.is_grad_enabled()
    s = raises(torch)(x).sum()
    with torch.no_grad():
        with pytest.raises(Special):
            s.backward()
        assert not torch.is_grad_enabled()

    def switch(g):
        torch._C._set_grad_enabled(True)
        return g

    (function(torch, switch)(x) * 1).sum().backward()
    assert torch.is_grad_enabled()
    s = (function(torch, switch)(x) * 1).sum()
    with torch.no_grad():
        s.backward()
        assert not torch.is_grad_enabled()


# --- derivatives of any order ---


@pytest.mark.item("M5.23")
def test_derivatives_of_high_order(torch):
    x = torch.tensor(0.5, dtype=torch.float64, requires_grad=True)
    y = x.sin()
    for order in range(12):
        expected = [x.sin(), x.cos(), -x.sin(), -x.cos()][order % 4]
        assert y.item() == pytest.approx(expected.item())
        (y,) = torch.autograd.grad(y, x, create_graph=True)
    z = x.exp() * x.exp()
    for order in range(6):
        assert z.item() == pytest.approx(2.0**order * 2.718281828459045)
        (z,) = torch.autograd.grad(z, x, create_graph=True)


@pytest.mark.item("M5.23")
def test_graph_of_a_gradient_is_freed_with_it(torch):
    x = leaf(torch)
    held = x.clone()
    gone = weakref.ref(held)
    y = (held * held * held).sum()
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    del y, held
    assert gone() is not None
    del g
    gc.collect()
    assert gone() is None
