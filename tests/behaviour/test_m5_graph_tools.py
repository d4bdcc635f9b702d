"""Small tools around graphs and leaves: what they accept and what they say of the rest."""

import pytest


def leaf(torch, *size):
    return torch.ones(*(size or (2,)), requires_grad=True)


@pytest.mark.item("M5.50")
@pytest.mark.parametrize("value", [1, None, "x", [1], 1.5])
def test_increment_version_of_others(torch, value):
    with pytest.raises(RuntimeError, match="increment_version expect"):
        torch.autograd.graph.increment_version(value)
    x = torch.ones(1)
    with pytest.raises(RuntimeError, match="increment_version expects each"):
        torch.autograd.graph.increment_version([x, 2])


@pytest.mark.item("M5.50")
@pytest.mark.parametrize("value", [1, None, "x", [1]])
def test_version_counters_of_others(torch, value):
    with pytest.raises(AssertionError, match="Expected tensors to be a tuple"):
        torch.autograd._unsafe_preserve_version_counter(value)


@pytest.mark.item("M5.50")
def test_will_engine_execute_node(torch):
    will = torch._C._will_engine_execute_node
    x, other = leaf(torch), leaf(torch)
    y, q = x * 2, other * 2
    asked, unasked = (t.grad_fn.next_functions[0][0] for t in (y, q))
    seen = []

    def hook(g):
        seen.append(will(unasked))
        for value in (1, None, y):
            with pytest.raises(RuntimeError, match="expects an grad_fn, but got " + type(value).__name__):
                will(value)
        if refused:
            with pytest.raises(RuntimeError, match="A leaf node was passed"):
                will(asked)
        else:
            seen.append(will(asked))

    y.register_hook(hook)
    refused = False
    y.sum().backward(retain_graph=True)
    torch.autograd.grad(y.sum(), y, retain_graph=True)
    assert seen == [False, True, False, False]
    refused = True
    torch.autograd.grad((y + q).sum(), x, retain_graph=True)
    assert seen[4:] == [False]


@pytest.mark.item("M5.50")
def test_cotangents_that_are_no_tensors(torch):
    _, vjp = torch.func.vjp(lambda a: a * 2, torch.ones(2))
    for value in (1, "x"):
        with pytest.raises(
            TypeError, match="gradients can be either Tensors or None, but got " + type(value).__name__
        ):
            vjp(value)
    with pytest.raises(RuntimeError, match="implicitly created only for scalar outputs"):
        vjp(None)
    _, vjp = torch.func.vjp(lambda a: (a.sum(), a * 2), torch.ones(2))
    assert vjp((None, torch.ones(2)))[0].tolist() == [3, 3]


@pytest.mark.item("M5.70")
@pytest.mark.parametrize("on", [True, False])
def test_flag_of_a_view_that_is_out_of_date(torch, on):
    y = leaf(torch) * 1
    with torch.no_grad():
        v = y[:1]
    y.mul_(2)
    assert v.requires_grad_(on) is v
    v.requires_grad = on
    assert v.requires_grad


@pytest.mark.item("M5.70")
def test_detach_in_place_of_views_in_inference_mode(torch):
    x = leaf(torch, 3)
    with torch.inference_mode():
        i = torch.ones(3)
        for view in (i[1:], x[1:]):
            assert view.detach_() is view
    with torch.inference_mode():
        view = i[:1]
    assert view.detach_() is view
    with pytest.raises(RuntimeError, match="Can't detach views in-place"):
        (x * 1)[1:].detach_()


@pytest.mark.item("M5.97")
def test_classes_of_functions(torch):
    F = torch.autograd.Function
    for cls in (F, F._backward_cls):
        names = [c.__name__ for c in cls.__mro__]
        assert names[-3:] == ["FunctionCtx", "_HookMixin", "object"]
    hooks, handle = F._register_hook(None, print)
    assert list(hooks.values()) == [print]
    handle.remove()
    assert not hooks
    assert (
        type(torch.autograd.graph.register_multi_grad_hook([leaf(torch)], print)).__name__ == "_MultiHandle"
    )
