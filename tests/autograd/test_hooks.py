"""Hooks on tensors, leaves and nodes; retained gradients."""

import gc
import weakref

import pytest


def leaf(torch, *size, **kw):
    return torch.ones(*size, requires_grad=True, **kw)


def test_tensor_hook_replaces(torch):
    x = leaf(torch, 2)
    y = x * 2
    seen = []
    y.register_hook(lambda g: seen.append(g.tolist()))
    y.register_hook(lambda g: 10 * g)
    y.register_hook(lambda g: seen.append(g.tolist()))
    (y * 3).sum().backward()
    assert seen == [[3, 3], [30, 30]] and x.grad.tolist() == [60, 60]


def test_handle(torch):
    x = leaf(torch, 2)
    y = x * 2
    handle = y.register_hook(lambda g: g * 100)
    handle.remove()
    handle.remove()
    with y.register_hook(lambda g: g * 10):
        y.sum().backward(retain_graph=True)
    assert x.grad.tolist() == [20, 20]
    y.sum().backward()
    assert x.grad.tolist() == [22, 22]


def test_leaf_hook_sees_the_sum_once(torch):
    x = leaf(torch, 1)
    seen = []
    x.register_hook(lambda g: seen.append(g.item()))
    (x * 2 + x * 3).backward()
    assert seen == [5]


def test_hook_needs_grad(torch):
    with pytest.raises(
        RuntimeError, match="cannot register a hook on a tensor that doesn't require gradient"
    ):
        torch.ones(1).register_hook(print)


def test_undefined_gradients_reach_hooks(torch):
    x = leaf(torch, 3)
    a, b = (x * 1).unbind()[:2]
    log = []
    a.register_hook(lambda g: log.append(g))
    b.register_hook(lambda g: log.append(g.item()))
    b.backward()
    assert log == [None, 1] and x.grad.tolist() == [0, 1, 0]


def test_order_around_a_leaf(torch):
    x = leaf(torch, 2)
    y = x * 1
    log = []
    node = y.grad_fn.next_functions[0][0]
    node.register_prehook(lambda gs: log.append("pre"))
    node.register_hook(lambda gi, go: log.append(("post", len(gi), go[0].tolist())))
    x.register_hook(lambda g: log.append("tensor 1"))
    x.register_post_accumulate_grad_hook(lambda p: log.append(("accumulated", p is x, p.grad.tolist())))
    x.register_hook(lambda g: log.append("tensor 2"))
    y.sum().backward()
    assert log == ["tensor 1", "tensor 2", "pre", ("accumulated", True, [1, 1]), ("post", 0, [1, 1])]
    log.clear()
    torch.autograd.grad((x * 1).sum(), x)
    assert log == ["tensor 1", "tensor 2"], "grad runs no hook of the accumulator"


def test_order_around_a_node(torch):
    x = leaf(torch, 2)
    y = x * 1
    log = []
    y.retain_grad()
    y.grad_fn.register_hook(lambda gi, go: log.append("post"))
    y.grad_fn.register_prehook(lambda gs: log.append(("pre", y.grad.tolist())))
    y.register_hook(lambda g: g * 7)
    y.sum().backward()
    assert log == [("pre", [7, 7]), "post"]


def test_node_hooks_replace(torch):
    x = leaf(torch, 2)
    y = x * 2
    y.grad_fn.register_prehook(lambda gs: (gs[0] * 10,))
    y.grad_fn.register_hook(lambda gi, go: (gi[0] + 1, None))
    y.sum().backward()
    assert x.grad.tolist() == [21, 21]


def test_node_hook_with_wrong_number(torch):
    x = leaf(torch, 2)
    y = x * 2
    y.grad_fn.register_hook(lambda gi, go: (gi[0],))
    with pytest.raises(RuntimeError, match="has returned an incorrect number of values"):
        y.sum().backward()


def test_post_accumulate_hook(torch):
    x = leaf(torch, 2)

    def step(p):
        with torch.no_grad():
            p -= 0.5 * p.grad
        p.grad = None

    handle = x.register_post_accumulate_grad_hook(step)
    (x * x).sum().backward()
    assert x.grad is None and x.tolist() == [0, 0]
    handle.remove()
    with pytest.raises(
        RuntimeError, match="post accumulate grad hooks cannot be registered on non-leaf tensors"
    ):
        (x * 1).register_post_accumulate_grad_hook(step)


def test_retain_grad(torch):
    x = leaf(torch, 2)
    y = x * 2
    y.retain_grad()
    y.retain_grad()
    assert y.retains_grad and not x.retains_grad
    (y * 3).sum().backward(retain_graph=True)
    first = y.grad
    assert first.tolist() == [3, 3]
    (y * 3).sum().backward()
    assert y.grad.tolist() == [6, 6] and y.grad is not first and first.tolist() == [3, 3]
    x.retain_grad()
    assert not x.retains_grad
    with pytest.raises(RuntimeError, match=r"can't retain_grad on Tensor that has requires_grad=False"):
        torch.ones(1).retain_grad()


def test_retain_grad_sees_replaced_gradients(torch):
    y = leaf(torch, 2) * 2
    y.retain_grad()
    y.register_hook(lambda g: g * 2)
    y.sum().backward()
    assert y.grad.tolist() == [2, 2]


def test_retain_grad_is_no_cycle(torch):
    y = leaf(torch, 2) * 2

    class Tag:
        pass

    y.tag = Tag()
    ref = weakref.ref(y.tag)
    y.retain_grad()
    z = (y * 2).sum()
    del y
    gc.collect()
    z.backward()
    assert ref() is None


def test_retained_gradient_follows_the_tensor_in_place(torch):
    x = leaf(torch, 2)
    y = x * 1
    seen = []
    y.retain_grad()
    y.register_hook(lambda g: seen.append(g.tolist()))
    y.mul_(2)
    (y * 5).sum().backward()
    assert y.grad.tolist() == [5, 5], "retain_grad belongs to the tensor"
    assert seen == [[10, 10]], "a hook belongs to the value"


def test_retained_gradients_of_base_and_view(torch):
    y = leaf(torch, 3) * 1
    v = y[:2]
    v.retain_grad()
    y.retain_grad()
    v.mul_(2)
    (v.sum() + y.sum()).backward()
    assert y.grad.tolist() == [2, 2, 1] and v.grad.tolist() == [1, 1]


def test_capture_and_hooks(torch):
    x = leaf(torch, 1)
    y = x * 2
    y.register_hook(lambda g: g * 100)
    assert torch.autograd.grad((y * 3).sum(), y, retain_graph=True)[0].tolist() == [300]
    gx = torch.autograd.grad((y * 3).sum(), [y, x])[1]
    assert gx.tolist() == [600]


def test_hook_on_a_view_before_a_change(torch):
    x = leaf(torch, 4)
    b = x * 1
    v = b[:2]
    log = []
    v.register_hook(lambda g: log.append("old"))
    v.mul_(2)
    v.register_hook(lambda g: log.append("new"))
    v.sum().backward()
    assert log == ["new"]


def test_hook_that_removes_itself(torch):
    x = leaf(torch, 2)
    y = x * 1
    log = []

    def hook(g):
        log.append(1)
        handle.remove()

    handle = y.register_hook(hook)
    y.register_hook(lambda g: log.append(2))
    y.sum().backward(retain_graph=True)
    y.sum().backward()
    assert log == [1, 2, 2]


def test_hook_closures_are_collected(torch):
    class Tag:
        pass

    def build():
        x = leaf(torch, 2)
        tag = Tag()
        x.register_hook(lambda g, x=x, tag=tag: None)
        return weakref.ref(tag)

    ref = build()
    gc.collect()
    assert ref() is None


def test_queue_callback(torch):
    engine = torch.autograd.Variable._execution_engine
    log = []
    x = leaf(torch, 1)
    y = x * 2

    def last():
        log.append("callback")
        if len(log) == 2:
            engine.queue_callback(last)

    def hook(g):
        log.append("hook")
        engine.queue_callback(last)

    y.register_hook(hook)
    y.backward()
    assert log == ["hook", "callback", "callback"]
    with pytest.raises(RuntimeError, match="Final callbacks can only be installed during backward pass"):
        engine.queue_callback(last)
