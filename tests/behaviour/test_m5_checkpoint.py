"""torch.utils.checkpoint: both kinds, random streams, the second run and its errors, nesting."""

import contextlib
import gc
import importlib
import warnings
import weakref

import pytest

BOTH = pytest.mark.parametrize("reentrant", [True, False])


@pytest.fixture
def cp(torch):
    return importlib.import_module(torch.__name__ + ".utils.checkpoint")


def leaf(torch, n=3):
    return torch.linspace(0.1, 1, n).requires_grad_()


def counted(function):
    def run(*args, **kwargs):
        run.calls += 1
        return function(*args, **kwargs)

    run.calls = 0
    return run


@pytest.mark.item("M5.115")
@BOTH
def test_gradients_are_those_of_the_function(torch, cp, reentrant):
    f = counted(lambda a, b, n: (a.sin() * b.exp()).sum() * n)
    x, y = leaf(torch), leaf(torch)
    out = cp.checkpoint(f, x, y, 3, use_reentrant=reentrant)
    assert f.calls == 1 and torch.equal(out, f(x, y, 3))
    expected = torch.autograd.grad(f(x, y, 3), (x, y))
    f.calls = 0
    out.backward()
    assert f.calls == 1 and torch.equal(x.grad, expected[0]) and torch.equal(y.grad, expected[1])
    with torch.no_grad():
        assert not cp.checkpoint(f, x, y, 3, use_reentrant=reentrant).requires_grad


@pytest.mark.item("M5.115")
@BOTH
def test_several_outputs_and_shared_parameters(torch, cp, reentrant):
    weight = leaf(torch)

    def f(a):
        return a * weight, "text", (a * 2).sum(), a > 0.5

    x = leaf(torch)
    one, text, two, plain = cp.checkpoint(f, x, use_reentrant=reentrant)
    assert text == "text" and not plain.requires_grad
    (one.sum() + two).backward()
    assert torch.allclose(x.grad, weight.detach() + 2) and torch.allclose(weight.grad, x.detach())


@pytest.mark.item("M5.115")
@BOTH
def test_random_numbers_are_the_same(torch, cp, reentrant):
    seen = []

    def f(a):
        noise = torch.rand(3)
        seen.append(noise)
        return (a * noise).sum()

    x = leaf(torch)
    torch.manual_seed(7)
    out = cp.checkpoint(f, x, use_reentrant=reentrant)
    after = torch.rand(2)
    state = torch.get_rng_state()
    out.backward()
    assert torch.equal(seen[0], seen[1]) and torch.equal(x.grad, seen[0])
    assert torch.equal(state, torch.get_rng_state())  # the second run leaves no trace
    torch.manual_seed(7)
    torch.rand(3)
    assert torch.equal(after, torch.rand(2))
    seen.clear()
    cp.checkpoint(f, x, use_reentrant=reentrant, preserve_rng_state=False).backward()
    assert not torch.equal(seen[0], seen[1])


@pytest.mark.item("M5.115")
def test_use_reentrant_has_to_be_said(torch, cp):
    x = leaf(torch)
    with pytest.warns(UserWarning, match="the use_reentrant parameter should be passed explicitly"):
        out = cp.checkpoint(torch.exp, x)
    assert out.grad_fn.name() == "CheckpointFunctionBackward"
    with pytest.warns(UserWarning, match="the use_reentrant parameter should be passed explicitly"):
        cp.checkpoint_sequential([torch.exp, torch.sin], 2, x)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert cp.checkpoint(torch.exp, x, use_reentrant=False).grad_fn.name() == "ExpBackward0"
        cp.checkpoint(torch.exp, x, use_reentrant=True)


@pytest.mark.item("M5.115")
def test_what_the_reentrant_kind_refuses(torch, cp):
    x = leaf(torch)
    out = cp.checkpoint(torch.exp, x, use_reentrant=True).sum()
    for call in (
        lambda: torch.autograd.grad(out, x, retain_graph=True),
        lambda: out.backward(inputs=[x], retain_graph=True),
    ):
        with pytest.raises(RuntimeError, match="incompatible with .grad\\(\\) or passing an `inputs`"):
            call()
    out.backward()
    assert torch.allclose(x.grad, x.detach().exp())
    with pytest.raises(ValueError, match="Unexpected keyword arguments: k"):
        cp.checkpoint(lambda a, k: a, x, k=1, use_reentrant=True)
    for option in ({"context_fn": lambda: (1, 2)}, {"debug": True}):
        with pytest.raises(ValueError, match="only supported when use_reentrant=False"):
            cp.checkpoint(torch.exp, x, use_reentrant=True, **option)
    with pytest.warns(UserWarning, match="None of the inputs have requires_grad=True"):
        cp.checkpoint(torch.exp, torch.ones(2), use_reentrant=True)
    w = leaf(torch)
    out = cp.checkpoint(lambda a: (a * w).detach(), x, use_reentrant=True)
    with pytest.raises(RuntimeError, match="none of output has requires_grad=True"):
        out.sum().backward()


@pytest.mark.item("M5.115")
def test_what_the_other_kind_can(torch, cp):
    x, w = leaf(torch), leaf(torch)
    out = cp.checkpoint(lambda a, *, k: (a * w).exp() * k, x.detach(), k=2, use_reentrant=False)
    (g,) = torch.autograd.grad(out.sum(), w)
    v = (x * w).detach()
    assert torch.allclose(g, 2 * x.detach() * v.exp())
    out = cp.checkpoint(lambda t: t["a"][0].exp(), {"a": [x]}, use_reentrant=False)
    out.sum().backward()
    assert torch.allclose(x.grad, x.detach().exp())
    (g,) = torch.autograd.grad(cp.checkpoint(torch.exp, x, use_reentrant=False).sum(), x, create_graph=True)
    (gg,) = torch.autograd.grad(g.sum(), x)
    assert torch.allclose(gg, x.detach().exp())


@pytest.mark.item("M5.115")
def test_retained_graphs_run_again_each_time(torch, cp):
    f = counted(lambda a: a.exp().sin())
    x = leaf(torch)
    out = cp.checkpoint(f, x, use_reentrant=False).sum()
    out.backward(retain_graph=True)
    out.backward(retain_graph=True)
    assert f.calls == 3
    out.backward()
    assert f.calls == 4
    e = x.detach().exp()
    assert torch.allclose(x.grad, 3 * e * e.cos())


@pytest.mark.item("M5.115")
def test_nothing_is_kept(torch, cp):
    alive = []

    def f(a):
        inner = a * 2
        alive.append(weakref.ref(inner))
        return inner.exp().sum()

    for reentrant in (True, False):
        x = leaf(torch)
        out = cp.checkpoint(f, x, use_reentrant=reentrant)
        gc.collect()
        assert alive[-1]() is None
        out.backward()
        del out
        gc.collect()
        assert all(ref() is None for ref in alive)


@pytest.mark.item("M5.115")
def test_saved_tensors_are_looked_at_once(torch, cp):
    x = leaf(torch)
    out = cp.checkpoint(lambda a: a.exp(), x, use_reentrant=False)
    first = out.grad_fn._saved_result
    assert torch.equal(first, out) and torch.equal(out.grad_fn._saved_result, out)

    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            ctx.save_for_backward(a)
            return a * 2

        @staticmethod
        def backward(ctx, g):
            ctx.saved_tensors
            ctx.saved_tensors
            return g

    out = cp.checkpoint(Twice.apply, x, use_reentrant=False)
    with pytest.raises(RuntimeError, match="already unpacked once"):
        out.sum().backward()


@pytest.mark.item("M5.115")
def test_early_stop(torch, cp):
    log = []

    def f(a):
        a = a.exp()
        log.append("first")
        a = a.sin()
        log.append("second")
        return a + 1

    x = leaf(torch)
    for wanted, options, manager in (
        (["first"], {}, contextlib.nullcontext()),
        (["first", "second"], {"early_stop": False}, contextlib.nullcontext()),
        (["first", "second"], {}, cp.set_checkpoint_early_stop(False)),
        (["first"], {"early_stop": False}, cp.set_checkpoint_early_stop(True)),
    ):
        with manager:
            out = cp.checkpoint(f, x, use_reentrant=False, **options)
        log.clear()
        out.sum().backward()
        assert log == wanted
    with pytest.raises(KeyError):
        with cp.set_checkpoint_early_stop(False):
            raise KeyError


@pytest.mark.item("M5.115")
def test_the_second_run_must_be_like_the_first(torch, cp):
    assert issubclass(cp.CheckpointError, RuntimeError)

    def run(first, second, **options):
        functions = [first, second, second]
        x = leaf(torch)
        cp.checkpoint(lambda a: functions.pop(0)(a), x, use_reentrant=False, **options).sum().backward()
        return x.grad

    with pytest.raises(cp.CheckpointError, match="have different metadata"):
        run(lambda a: a.exp(), lambda a: a[:2].exp())
    with pytest.raises(cp.CheckpointError, match=r"saved metadata: .*\nrecomputed metadata: "):
        run(lambda a: a.exp(), lambda a: a.double().exp())
    with pytest.raises(cp.CheckpointError, match="A different number of tensors was saved"):
        run(lambda a: a.exp().sin(), lambda a: a.exp())
    with pytest.raises(cp.CheckpointError, match="trying to save more tensors during recomputation"):
        run(lambda a: a.exp(), lambda a: a.exp().sin(), early_stop=False)
    run(lambda a: a.exp(), lambda a: a.exp().sin())  # stops before the difference
    with pytest.raises(cp.CheckpointError, match="perations executed during recomputation"):
        run(lambda a: a.exp(), lambda a: a[:2].exp(), debug=True)
    with cp.set_checkpoint_debug_enabled(True):
        with pytest.raises(cp.CheckpointError, match="perations executed during recomputation"):
            run(lambda a: a.exp(), lambda a: a[:2].exp())
    g = run(lambda a: a.exp(), lambda a: a.double().exp(), determinism_check="none")
    assert torch.allclose(g, leaf(torch).detach().exp())
    with pytest.raises(ValueError, match="determinism_check should be one of"):
        run(torch.exp, torch.exp, determinism_check="some")
    with pytest.raises(ZeroDivisionError):
        run(lambda a: a.exp(), lambda a: 1 / 0)


@pytest.mark.item("M5.115")
def test_context_fn(torch, cp):
    log = []

    @contextlib.contextmanager
    def note(name):
        log.append("in " + name)
        yield
        log.append("out " + name)

    x = leaf(torch)
    out = cp.checkpoint(
        lambda a: (log.append("run"), a.exp())[1],
        x,
        use_reentrant=False,
        early_stop=False,
        context_fn=lambda: (note("first"), note("second")),
    )
    assert log == ["in first", "run", "out first"]
    out.sum().backward()
    assert log[3:] == ["in second", "run", "out second"]
    with pytest.raises(ValueError, match="debug=True is incompatible with non-default context_fn"):
        cp.checkpoint(torch.exp, x, use_reentrant=False, debug=True, context_fn=lambda: (1, 2))
    pair = cp.noop_context_fn()
    assert len(pair) == 2
    with pair[0], pair[1]:
        pass
    with pytest.raises(RuntimeError, match="suppressed an exception"):
        cp.checkpoint(
            lambda a: 1 / 0,
            x,
            use_reentrant=False,
            context_fn=lambda: (contextlib.suppress(ZeroDivisionError), contextlib.nullcontext()),
        )


@pytest.mark.item("M5.115")
@BOTH
def test_nesting(torch, cp, reentrant):
    calls = []

    def inner(a):
        calls.append("inner")
        return a.exp().sin()

    def middle(a):
        calls.append("middle")
        return cp.checkpoint(inner, a.cos(), use_reentrant=reentrant).tanh()

    def outer(a):
        calls.append("outer")
        return cp.checkpoint(middle, a * 2, use_reentrant=reentrant).sigmoid()

    x = leaf(torch)
    out = cp.checkpoint(outer, x, use_reentrant=reentrant).sum()
    out.backward()
    (expected,) = torch.autograd.grad((x * 2).cos().exp().sin().tanh().sigmoid().sum(), x)
    assert torch.allclose(x.grad, expected)
    assert calls[:3] == ["outer", "middle", "inner"] and calls.count("inner") >= 2


@pytest.mark.item("M5.115")
def test_backward_inside(torch, cp):
    def f(a):
        b = a * a
        (g,) = torch.autograd.grad(b.sum(), a, create_graph=True)
        return (g * b).sum()

    x = leaf(torch)
    cp.checkpoint(f, x, use_reentrant=False).backward()
    assert torch.allclose(x.grad, 6 * x.detach() ** 2)


@pytest.mark.item("M5.115")
def test_hooks_around_a_checkpoint_see_its_inputs(torch, cp):
    seen = []
    x = leaf(torch)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: (seen.append(t.shape), t)[1], lambda t: t):
        out = cp.checkpoint(lambda a: (a.exp() * a[0]).sum(), x, use_reentrant=False)
    assert seen == [(3,)]
    out.backward()


@pytest.mark.item("M5.115")
@BOTH
def test_sequential(torch, cp, reentrant):
    nn = torch.nn
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 1))
    x = leaf(torch)
    expected = torch.autograd.grad(model(x).sum(), [x, *model.parameters()])
    for functions in (model, list(model)):
        for segments in (1, 2, 3, 5):
            model.zero_grad()
            x.grad = None
            out = cp.checkpoint_sequential(functions, segments, x, use_reentrant=reentrant)
            out.sum().backward()
            for p, e in zip([x, *model.parameters()], expected):
                assert torch.allclose(p.grad, e)
    with pytest.raises(ValueError, match="Unexpected keyword arguments: foo"):
        cp.checkpoint_sequential(model, 2, x, use_reentrant=reentrant, foo=1)


@pytest.mark.item("M5.115")
def test_helpers(torch, cp):
    x = leaf(torch)
    a, b, c = cp.detach_variable((x, torch.ones(2), 3))
    assert a is not x and a.requires_grad and a.is_leaf and not b.requires_grad and c == 3
    with pytest.raises(RuntimeError, match="Only tuple of tensors is supported"):
        cp.detach_variable([x])
    with pytest.warns(UserWarning, match="Gradients will be None"):
        cp.check_backward_validity([torch.ones(1), 3])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cp.check_backward_validity([3, x])
    assert cp.get_device_states(x, torch.ones(2)) == ([], [])
    cp.set_device_states([], [])
    kind = cp.DefaultDeviceType.get_device_type()
    cp.DefaultDeviceType.set_device_type("cpu")
    assert cp.DefaultDeviceType.get_device_type() == "cpu"
    cp.DefaultDeviceType.set_device_type(kind)


@pytest.mark.item("M5.115")
def test_a_default_device_holds_in_the_second_run(torch, cp):
    seen = []

    def f(a):
        seen.append(torch.zeros(1).device.type)
        return a.exp()

    x = leaf(torch)
    with torch.device("meta"):
        out = cp.checkpoint(f, x, use_reentrant=False)
    out.sum().backward()
    assert seen == ["meta", "meta"]


@pytest.mark.item("M5.115")
def test_groups(torch, cp):
    f = counted(lambda a, b: (a.exp(), b.exp()))
    x, y = leaf(torch), leaf(torch)
    p, q = cp.checkpoint(f, x, y, use_reentrant=False)
    with cp.GraphExecGroup():
        p.sum().backward(retain_graph=True)
        q.sum().backward(retain_graph=True)
        assert f.calls == 2
        with pytest.raises(RuntimeError, match="Performing two backward calls that overlap"):
            p.sum().backward()
        with pytest.raises(RuntimeError):
            with cp.GraphExecGroup():
                pass
    assert torch.allclose(x.grad, x.detach().exp()) and torch.allclose(y.grad, y.detach().exp())


@pytest.mark.item("M5.115")
def test_default_device_type(torch):
    module = importlib.import_module(torch.__name__ + ".utils.checkpoint")
    expected = "cuda" if torch.cuda.is_available() else "cpu"
    assert module.DefaultDeviceType.get_device_type() == expected


@pytest.mark.item("M5.115")
def test_the_tip_of_an_error(torch):
    checkpoint = importlib.import_module(torch.__name__ + ".utils.checkpoint").checkpoint
    runs = []

    def fickle(t):
        runs.append(1)
        return t.exp().sin().cos() if len(runs) == 1 else t.exp()

    y = checkpoint(fickle, torch.ones(3, requires_grad=True), use_reentrant=False)
    with pytest.raises(RuntimeError) as error:
        y.sum().backward()
    lines = str(error.value).splitlines()
    assert lines[1:3] == [
        "Number of tensors saved during forward: 3",
        "Number of tensors saved during recomputation: 1.",
    ]
    assert lines[4] == "Tip: To see a more detailed error message, either pass `debug=True` to"
    assert lines[6].endswith("set_checkpoint_debug_enabled(True):` to")
