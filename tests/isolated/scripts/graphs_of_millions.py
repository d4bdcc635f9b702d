"""Graphs of millions of nodes, of several shapes, run and freed by a thread with a stack of 256 KiB."""

import threading

import minitorch as torch

errors = []


class Same(torch.autograd.Function):
    @staticmethod
    def forward(ctx, t):
        ctx.save_for_backward(t)
        return t.clone()

    @staticmethod
    def backward(ctx, g):
        return g


def chain():
    x = torch.ones(1, requires_grad=True)
    y = x
    for _ in range(2_000_000):
        y = -y
    y.backward(retain_graph=True)
    assert x.grad.item() == 1
    assert torch.autograd.grad(y, x)[0].item() == 1


def ladder():
    """Every node leads to two earlier ones."""
    x = torch.ones(1, requires_grad=True)
    a = b = x
    for _ in range(500_000):
        a, b = b, a - b
    (a + b).backward()
    assert x.grad is not None


def fan():
    """A node with half a million edges, and as many nodes before it."""
    x = torch.ones(1, requires_grad=True)
    torch.cat([x * 2 for _ in range(500_000)]).sum().backward()
    assert x.grad.item() == 1_000_000


def functions():
    x = torch.ones(1, requires_grad=True)
    y = x
    for _ in range(200_000):
        y = Same.apply(y)
    y.backward()
    assert x.grad.item() == 1


def writes():
    x = torch.ones(2, requires_grad=True)
    y = x.clone()
    for _ in range(200_000):
        y[:1].neg_()
    y.sum().backward()
    assert x.grad.tolist() == [1, 1]


def second():
    x = torch.ones(1, requires_grad=True)
    y = x
    for _ in range(200_000):
        y = y.sin()
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    assert torch.isfinite(torch.autograd.grad(g, x)[0]).all()


def work():
    try:
        for part in (chain, ladder, fan, functions, writes, second):
            part()
    except BaseException as e:  # noqa: B902
        errors.append(e)


threading.stack_size(256 * 1024)
thread = threading.Thread(target=work)
thread.start()
thread.join()
assert not errors, errors
print("ok")
