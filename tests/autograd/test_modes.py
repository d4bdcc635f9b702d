"""no_grad, enable_grad, set_grad_enabled."""

import threading

import pytest


def test_context_managers(torch):
    assert torch.is_grad_enabled()
    with torch.no_grad():
        assert not torch.is_grad_enabled()
        with torch.enable_grad():
            assert torch.is_grad_enabled()
        assert not torch.is_grad_enabled()
    with torch.set_grad_enabled(False):
        assert not torch.is_grad_enabled()
    assert torch.is_grad_enabled()
    with pytest.raises(KeyError), torch.no_grad():
        raise KeyError
    assert torch.is_grad_enabled()


def test_plain_call(torch):
    torch.set_grad_enabled(False)
    try:
        assert not torch.is_grad_enabled()
    finally:
        torch.set_grad_enabled(True)


def test_decorators(torch):
    @torch.no_grad()
    def off():
        return torch.is_grad_enabled()

    @torch.no_grad
    def bare():
        return torch.is_grad_enabled()

    @torch.enable_grad()
    def on():
        return torch.is_grad_enabled()

    assert not off() and not bare()
    with torch.no_grad():
        assert on()
    assert off.__name__ == "off"


def test_generators(torch):
    @torch.no_grad()
    def numbers():
        assert not torch.is_grad_enabled()
        got = yield torch.is_grad_enabled()
        assert got == "x" and not torch.is_grad_enabled()
        try:
            yield 1
        except KeyError:
            assert not torch.is_grad_enabled()
            yield 2

    g = numbers()
    assert next(g) is False and torch.is_grad_enabled()
    assert g.send("x") == 1 and torch.is_grad_enabled()
    assert g.throw(KeyError) == 2 and torch.is_grad_enabled()


def test_modes_belong_to_the_thread(torch):
    seen = []
    with torch.no_grad():
        t = threading.Thread(target=lambda: seen.append(torch.is_grad_enabled()))
        t.start()
        t.join()
    assert seen == [True]


def test_no_grad_records_nothing(torch):
    x = torch.ones(4, requires_grad=True)
    with torch.no_grad():
        y = x * 2
        v = x.view(2, 2)
        p = torch.zeros(4)
        p[1:].add_(x[1:])
    assert not y.requires_grad and y.grad_fn is None
    assert v.requires_grad and v.grad_fn is None and v.is_leaf
    assert not p.requires_grad
