"""backward and autograd.grad: arguments, results, errors, order."""

import pytest


def leaf(torch, *size, **kw):
    return torch.ones(*size, requires_grad=True, **kw)


def test_implicit_gradient(torch):
    for shape in ((), (1,), (1, 1)):
        x = leaf(torch, shape)
        (x * 3).backward()
        assert x.grad.shape == x.shape and x.grad.sum().item() == 3
    with pytest.raises(RuntimeError, match="grad can be implicitly created only for scalar outputs"):
        (leaf(torch, 3) * 1).backward()
    with pytest.raises(
        RuntimeError, match="element 0 of tensors does not require grad and does not have a grad_fn"
    ):
        torch.ones(1).backward()
    with pytest.raises(RuntimeError, match="only for real scalar outputs but got torch.complex64"):
        torch.ones(1, dtype=torch.complex64, requires_grad=True).backward()


def test_given_gradient(torch):
    x = leaf(torch, 3)
    (x * 2).backward(torch.tensor([1.0, 2.0, 3.0]))
    assert x.grad.tolist() == [2, 4, 6]
    with pytest.raises(
        RuntimeError,
        match=r"grad_output\[0\] has a shape of torch.Size\(\[2\]\) and "
        r"output\[0\] has a shape of torch.Size\(\[3\]\)",
    ):
        (x * 1).backward(torch.ones(2))
    with pytest.raises(RuntimeError, match="Mismatch in shape"):
        leaf(torch, 1, 1).backward(torch.ones(()))
    with pytest.raises(RuntimeError, match="required to have the same dtype"):
        (x * 1).sum().backward(torch.ones((), dtype=torch.complex64))


def test_gradient_has_the_dtype_of_the_leaf(torch):
    for dtype in (torch.float64, torch.int64, torch.float16):
        x = leaf(torch, 2)
        (x * 2).backward(torch.ones(2, dtype=dtype))
        assert x.grad.dtype == torch.float32 and x.grad.tolist() == [2, 2]
    x = leaf(torch, 2)
    (x.double() * 2).sum().backward()
    assert x.grad.dtype == torch.float32
    x, y = leaf(torch, 2), leaf(torch, 2, dtype=torch.float64)
    (x * y).sum().backward()
    assert x.grad.dtype == torch.float32 and y.grad.dtype == torch.float64


def test_broadcast_is_undone(torch):
    cases = [
        ((3,), (2, 3)),
        ((1, 3), (2, 3)),
        ((2, 1), (2, 3)),
        ((), (2, 3)),
        ((1,), (2, 3)),
        ((2, 1, 1), (1, 4, 3)),
        ((1, 1), (3,)),
    ]
    for a, b in cases:
        x, y = leaf(torch, a), leaf(torch, b)
        z = x + y * 2
        z.sum().backward()
        assert x.grad.shape == x.shape and y.grad.shape == y.shape
        assert x.grad.sum().item() == z.numel() and y.grad.sum().item() == 2 * z.numel()


def test_empty_leaf(torch):
    x = leaf(torch, 0, 3)
    (x * 2).sum().backward()
    assert x.grad.shape == (0, 3)


def test_unused_leaf_stays_without_gradient(torch):
    x, y = leaf(torch, 2), leaf(torch, 2)
    x.sum().backward()
    assert y.grad is None


def test_diamond(torch):
    x = torch.tensor(3.0, requires_grad=True)
    a = x * 2
    b = a * x
    c = a + b
    (b * c).backward()
    # b = 2x^2, c = 2x + 2x^2: d(bc) = d(4x^3 + 4x^4) = 12x^2 + 16x^3
    assert x.grad.item() == 12 * 9 + 16 * 27


def test_several_roots(torch):
    x = leaf(torch, 2)
    a, b = (x * 2).sum(), (x * 3).sum()
    torch.autograd.backward([a, b])
    assert x.grad.tolist() == [5, 5]
    x.grad = None
    a, b = x * 2, x * 3
    torch.autograd.backward([a, b], [torch.ones(2), torch.ones(2) * 10])
    assert x.grad.tolist() == [32, 32]
    x.grad = None
    a = (x * 2).sum()
    torch.autograd.backward([a, a], retain_graph=True)
    assert x.grad.tolist() == [4, 4], "duplicated roots add up"
    x.grad = None
    y = x * 2
    z = (y * y).sum()
    torch.autograd.backward([z, y], [None, torch.ones(2)])
    assert x.grad.tolist() == [10, 10], "a root inside the graph of another"
    with pytest.raises(RuntimeError, match="got 2 tensors and 1 gradients"):
        torch.autograd.backward([a, a], [None])


def test_root_is_a_leaf(torch):
    x = leaf(torch, 1)
    x.backward()
    assert x.grad.tolist() == [1]
    assert torch.autograd.grad(x, x)[0].tolist() == [1]


def test_second_backward(torch):
    x = leaf(torch, 2)
    y = (x * x).sum()
    y.backward()
    with pytest.raises(
        RuntimeError, match="Trying to backward through the graph a second time .*retain_graph=True"
    ):
        y.backward()
    assert x.grad.tolist() == [2, 2]
    y = (x + x).sum()
    y.backward()
    y.backward()
    assert x.grad.tolist() == [6, 6], "nothing was saved, nothing is missing"
    y = (x * x).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.tolist() == [10, 10]


def test_saved_values_after_backward(torch):
    x = leaf(torch, 2, 2)
    y = x.exp()
    y.sum().backward()
    with pytest.raises(RuntimeError, match="after they have already been freed"):
        _ = y.grad_fn._saved_result
    y = x.sum(1)
    y.sum().backward()
    assert len(y.grad_fn._saved_dim) == 1, "plain values outlive the release"


def test_grad(torch):
    x, y = leaf(torch, 2), leaf(torch, 2)
    z = (x * y * y).sum()
    gx, gy = torch.autograd.grad(z, [x, y], retain_graph=True)
    assert gx.tolist() == [1, 1] and gy.tolist() == [2, 2]
    assert x.grad is None and y.grad is None
    assert isinstance(torch.autograd.grad(z, x), tuple)
    assert not gx.requires_grad


def test_grad_of_the_same_input_twice(torch):
    x = leaf(torch, 1)
    a, b = torch.autograd.grad(x * 2, [x, x])
    assert a.tolist() == [2] and b.tolist() == [2]


def test_grad_of_inner_values(torch):
    x = leaf(torch, 1)
    y = x * 2
    z = y * 3
    assert [g.tolist() for g in torch.autograd.grad(z, [y, x, z], retain_graph=True)] == [[3], [6], [1]]
    assert torch.autograd.grad(y, y)[0].tolist() == [1]


def test_grad_of_unused_input(torch):
    x, y = leaf(torch, 2), leaf(torch, 2)
    with pytest.raises(
        RuntimeError,
        match="The differentiated Tensor at index 0 appears to not have been used in the "
        "graph. Set allow_unused=True if this is the desired behavior.",
    ):
        torch.autograd.grad((x * 2).sum(), y)
    assert torch.autograd.grad((x * 2).sum(), [x, y], allow_unused=True)[1] is None
    g = torch.autograd.grad((x * 2).sum(), [x, y], materialize_grads=True)
    assert g[1].tolist() == [0, 0]
    other = y * 2
    assert torch.autograd.grad((x * 2).sum(), [other], allow_unused=True) == (None,)
    with pytest.raises(RuntimeError, match="One of the differentiated Tensors does not require grad"):
        torch.autograd.grad((x * 2).sum(), torch.ones(2))
    with pytest.raises(RuntimeError, match="cannot be empty"):
        torch.autograd.grad(x.sum(), [])


def test_grad_runs_only_what_is_needed(torch):
    log = []
    x, w = leaf(torch, 2), leaf(torch, 2)
    a = x * 2
    b = w * 3
    a.grad_fn.register_hook(lambda *_: log.append("a"))
    b.grad_fn.register_hook(lambda *_: log.append("b"))
    torch.autograd.grad((a * b).sum(), x)
    assert log == ["a"]


def test_backward_with_inputs(torch):
    x, y = leaf(torch, 2), leaf(torch, 2)
    z = x * y
    z.sum().backward(inputs=[x], retain_graph=True)
    assert x.grad.tolist() == [1, 1] and y.grad is None
    z.sum().backward(inputs=[z, y], retain_graph=True)
    assert z.grad.tolist() == [1, 1] and z.retains_grad and y.grad.tolist() == [1, 1]
    assert x.grad.tolist() == [1, 1]
    z.sum().backward(inputs=x)
    assert x.grad.tolist() == [2, 2]
    with pytest.raises(RuntimeError, match="cannot be empty"):
        x.sum().backward(inputs=[])


def test_order_of_leaves_and_nodes(torch):
    log = []
    a, b, c = leaf(torch, 1), leaf(torch, 1), leaf(torch, 1)
    for name, t in zip("abc", (a, b, c)):
        t.register_hook(lambda g, name=name: log.append(name))
    (a * b + c).backward()
    assert log == ["c", "a", "b"]
    log.clear()
    torch.stack([c, a, b, a]).sum().backward()
    assert log == ["c", "b", "a"]


def test_later_nodes_run_first(torch):
    log = []
    x = leaf(torch, 1)
    first, second = x * 2, x * 3
    first.grad_fn.register_hook(lambda *_: log.append("first"))
    second.grad_fn.register_hook(lambda *_: log.append("second"))
    (first + second).backward()
    assert log == ["second", "first"]


def test_error_leaves_the_engine_usable(torch):
    x = leaf(torch, 2)
    y = x * 2
    handle = y.register_hook(lambda g: 1 // 0)
    z = (y * y).sum()
    with pytest.raises(ZeroDivisionError):
        z.backward(retain_graph=True)
    assert x.grad is None
    handle.remove()
    z.backward()
    assert x.grad.tolist() == [8, 8]


def test_grad_mode_inside(torch):
    seen = []
    x = leaf(torch, 1)
    y = x * 2
    y.register_hook(lambda g: seen.append(torch.is_grad_enabled()))
    y.backward(retain_graph=True)
    torch.autograd.grad(y, x, create_graph=True)
    with torch.no_grad():
        y.backward(retain_graph=True)
        assert not torch.is_grad_enabled()
    assert seen == [False, True, False] and torch.is_grad_enabled()

    def fail(g):
        raise KeyError

    y.register_hook(fail)
    with pytest.raises(KeyError):
        y.backward()
    assert torch.is_grad_enabled()


def test_nested_backward(torch):
    x, w = leaf(torch, 2), leaf(torch, 2)
    y = x * 2

    def hook(g):
        with torch.enable_grad():
            (w * 3).sum().backward()

    y.register_hook(hook)
    (y * y).sum().backward()
    assert w.grad.tolist() == [3, 3] and x.grad.tolist() == [8, 8]


def test_nested_backward_through_the_same_graph(torch):
    x = leaf(torch, 2)
    y = x * 2
    z = y * 3
    done = []

    def hook(g):
        if not done:
            done.append(1)
            with torch.enable_grad():
                loss = y.sum()
            loss.backward(retain_graph=True)

    z.register_hook(hook)
    z.sum().backward()
    assert x.grad.tolist() == [8, 8]


def test_two_threads_share_a_graph(torch):
    import threading

    x = leaf(torch, 4)
    y = x * 2
    for _ in range(50):
        y = y * 1.0 + 0
    z = y.sum()
    errors = []

    def work():
        try:
            for _ in range(5):
                z.backward(retain_graph=True)
        except Exception as e:  # noqa: BLE001
            errors.append(e)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not errors and x.grad.tolist() == [40] * 4


def test_leaf_that_stopped_requiring_grad(torch):
    x = leaf(torch, 2)
    y = x * 2
    x.requires_grad_(False)
    y.sum().backward()
    assert x.grad is None
