"""Anomaly mode: its switches, NaN gradients, the stack of the forward call, causes of causes."""

import warnings

import pytest


@pytest.fixture
def fails(torch):
    """A Function whose backward raises."""

    class Fails(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            raise RuntimeError("deliberate")

    return Fails


def leaf(torch):
    return torch.ones(2, requires_grad=True)


def warnings_of(call, *raises):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with pytest.raises(raises[0], match=raises[1]):
            call()
    assert all(w.category is UserWarning for w in caught)
    return [str(w.message) for w in caught]


@pytest.mark.item("M5.111")
def test_switches(torch):
    assert not torch.is_anomaly_enabled() and torch.is_anomaly_check_nan_enabled()
    autograd = torch.autograd
    for check in (True, False):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with autograd.set_detect_anomaly(True, check_nan=check):
                assert torch.is_anomaly_enabled() and torch.is_anomaly_check_nan_enabled() == check
                with autograd.set_detect_anomaly(False):
                    assert not torch.is_anomaly_enabled() and torch.is_anomaly_check_nan_enabled()
                assert torch.is_anomaly_enabled() and torch.is_anomaly_check_nan_enabled() == check
        with pytest.warns(UserWarning, match="Anomaly Detection has been enabled"):
            manager = autograd.detect_anomaly(check_nan=check)
        assert not torch.is_anomaly_enabled()
        with manager:
            assert torch.is_anomaly_enabled() and torch.is_anomaly_check_nan_enabled() == check
        assert not torch.is_anomaly_enabled() and torch.is_anomaly_check_nan_enabled()
    autograd.set_detect_anomaly(True)
    assert torch.is_anomaly_enabled()
    autograd.set_detect_anomaly(False)
    assert not torch.is_anomaly_enabled()
    with pytest.raises(KeyError):
        with autograd.set_detect_anomaly(True):
            raise KeyError
    assert not torch.is_anomaly_enabled()
    assert autograd.anomaly_mode.detect_anomaly is autograd.detect_anomaly


@pytest.mark.item("M5.111")
def test_nan(torch):
    x = torch.zeros(2, requires_grad=True)

    def run(**options):
        with torch.autograd.set_detect_anomaly(True, **options):
            (x.sqrt() * 0).sum().backward()

    (text,) = warnings_of(
        run, RuntimeError, "Function 'SqrtBackward0' returned nan values in its 0th output."
    )
    assert text.startswith(
        "Error detected in SqrtBackward0. Traceback of forward call that caused the error:\n"
    )
    assert "(x.sqrt() * 0)" in text and "in run" in text
    x.grad = None
    run(check_nan=False)
    assert x.grad.isnan().all()
    (x.sqrt() * 0).sum().backward()  # off again


@pytest.mark.item("M5.111")
def test_which_output_is_nan(torch):
    class F(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, b, n):
            return a * 2

        @staticmethod
        def backward(ctx, g):
            return g, g * float("nan"), None

    def run():
        with torch.autograd.set_detect_anomaly(True):
            F.apply(leaf(torch), leaf(torch), 3).sum().backward()

    warnings_of(run, RuntimeError, "Function 'FBackward' returned nan values in its 1th output.")
    z = torch.ones(2, dtype=torch.complex64, requires_grad=True)

    def run_complex():
        with torch.autograd.set_detect_anomaly(True):
            (z * complex(float("nan"), 0)).abs().sum().backward()

    warnings_of(run_complex, RuntimeError, "returned nan values in its 0th output")


@pytest.mark.item("M5.111")
def test_no_forward_information(torch, fails):
    y = fails.apply(leaf(torch))

    def run():
        with torch.autograd.set_detect_anomaly(True):
            y.sum().backward()

    (text,) = warnings_of(run, RuntimeError, "deliberate")
    assert text.startswith(
        "Error detected in FailsBackward. No forward pass information available. Enable detect anomaly during "
        "forward pass for more information."
    )

    def quiet():
        fails.apply(leaf(torch)).sum().backward()

    assert warnings_of(quiet, RuntimeError, "deliberate") == []


@pytest.mark.item("M5.111")
def test_metadata(torch):
    x = leaf(torch)
    assert (x * 2).grad_fn.metadata == {}
    with torch.autograd.set_detect_anomaly(True):
        y = x * 2
        node = y.grad_fn
        assert set(node.metadata) == {"traceback_"} and "y = x * 2" in node.metadata["traceback_"][-1]
        assert isinstance(node.metadata["traceback_"], list)
        del node
        assert "traceback_" in y.grad_fn.metadata
        (g,) = torch.autograd.grad((y * y).sum(), x, create_graph=True)
        assert set(g.grad_fn.metadata) == {"traceback_", "parent_"}
        assert g.grad_fn.metadata["parent_"] is y.grad_fn
    node = (x * 3).grad_fn
    node.metadata["mine"] = 1
    assert node.metadata == {"mine": 1}


@pytest.mark.item("M5.111")
def test_causes_of_causes(torch, fails):
    def run():
        with torch.autograd.set_detect_anomaly(True):
            x = leaf(torch)
            (g,) = torch.autograd.grad(Twice.apply(x).sum(), x, create_graph=True)  # the outer call
            g.sum().backward()

    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return fails.apply(g * 2 + ctx.saved_tensors[0])  # the inner call

    texts = warnings_of(run, RuntimeError, "deliberate")
    assert len(texts) == 2
    assert texts[0].startswith(
        "Error detected in FailsBackward. Traceback of forward call that caused the error:\n"
    )
    assert "the inner call" in texts[0]
    assert (
        texts[1]
        .strip()
        .startswith(
            "Previous calculation was induced by TwiceBackward. Traceback of forward call that induced the previous "
            "calculation:\n"
        )
    )
    assert "the outer call" in texts[1]


@pytest.mark.item("M5.111")
def test_three_levels(torch):
    with torch.autograd.set_detect_anomaly(True):
        x = torch.zeros(2, requires_grad=True)
        y = x**3
        (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
        (gg,) = torch.autograd.grad(g.sum(), x, create_graph=True)
        depth, node = 0, gg.grad_fn
        while "parent_" in node.metadata:
            node = node.metadata["parent_"]
            depth += 1
        assert depth == 2


@pytest.mark.item("M5.111")
def test_a_changed_saved_tensor_is_explained(torch):
    def run():
        with torch.autograd.set_detect_anomaly(True):
            y = leaf(torch).exp()
            y.mul_(2)
            y.sum().backward()

    (text,) = warnings_of(
        run, RuntimeError, "Hint: the backtrace further above shows the operation that failed"
    )
    assert "y = leaf(torch).exp()" in text


@pytest.mark.item("M5.111")
def test_the_error_survives_warnings_as_errors(torch, fails):
    with torch.autograd.set_detect_anomaly(True):
        y = fails.apply(leaf(torch))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises((RuntimeError, UserWarning)):
                y.sum().backward()
    (leaf(torch) * 2).sum().backward()


@pytest.mark.item("M5.111")
def test_memory(torch):
    """A node keeps text of frames, not the frames."""
    import gc
    import weakref

    class Local:
        pass

    def make():
        local = Local()
        with torch.autograd.set_detect_anomaly(True):
            return leaf(torch) * 2, weakref.ref(local)

    y, ref = make()
    gc.collect()
    assert ref() is None


def boom(*args):
    raise ValueError("boom")


def nan(grads):
    return tuple(g * float("nan") for g in grads)


HOOKS = {  # what fails: the node that is blamed
    "a tensor hook": ("Exp", lambda x, y, z: z.register_hook(boom)),
    "a tensor hook further down": ("Mul", lambda x, y, z: y.register_hook(boom)),
    "a hook of a leaf": ("torch::autograd::AccumulateGrad", lambda x, y, z: x.register_hook(boom)),
    "a hook of a node": ("Exp", lambda x, y, z: z.grad_fn.register_hook(boom)),
    "a hook before a node": ("Exp", lambda x, y, z: z.grad_fn.register_prehook(boom)),
    "a hook after accumulation": (
        "torch::autograd::AccumulateGrad",
        lambda x, y, z: x.register_post_accumulate_grad_hook(boom),
    ),
    "a gradient of a wrong shape": ("Exp", lambda x, y, z: z.register_hook(lambda g: g.sum())),
    "a wrong number of gradients": (
        "Exp",
        lambda x, y, z: z.grad_fn.register_hook(lambda a, b: (a[0], a[0])),
    ),
    "NaN from a hook of a node": ("Exp", lambda x, y, z: z.grad_fn.register_hook(lambda a, b: nan(a))),
    "NaN from a tensor hook": ("Exp", lambda x, y, z: z.register_hook(lambda g: g * float("nan"))),
}


@pytest.mark.item("M5.111")
@pytest.mark.parametrize("name", HOOKS)
def test_hooks_that_fail(torch, name):
    blamed, register = HOOKS[name]
    blamed += "" if "::" in blamed else "Backward0"
    with torch.autograd.set_detect_anomaly(True):
        x = leaf(torch)
        y = x * 2
        z = y.exp()
        register(x, y, z)
        texts = warnings_of(z.sum().backward, (ValueError, RuntimeError), "boom|nan|invalid|number|size")
    assert len(texts) == 1
    assert texts[0].startswith(
        "Error detected in %s. Traceback of forward call that caused the error:\n" % blamed
    )
    assert "test_hooks_that_fail" in texts[0]


@pytest.mark.item("M5.111")
def test_results_that_do_not_fit(torch):
    class Wrong(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            return g.new_ones(7)

    with torch.autograd.set_detect_anomaly(True):
        y = Wrong.apply(leaf(torch))
        texts = warnings_of(y.sum().backward, RuntimeError, "invalid gradient at index 0")
    assert len(texts) == 1 and "Error detected in WrongBackward" in texts[0]


@pytest.mark.item("M5.53")
def test_post_hooks_see_gradients_that_fit(torch):
    shapes = []
    x, b = torch.ones(2, 3, requires_grad=True), torch.ones(3, requires_grad=True)
    y = x * b
    y.grad_fn.register_hook(lambda results, grads: shapes.append([tuple(r.shape) for r in results]))
    y.sum().backward()
    assert shapes == [[(2, 3), (3,)]]
