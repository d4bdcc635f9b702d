"""`.data = other` between forward and backward: a graph goes on with the shape and dtype it knows, or says that it cannot."""

import pytest

OTHERS = {
    "shape": lambda torch: torch.ones(3),
    "a dimension more": lambda torch: torch.ones(2, 2),
    "empty": lambda torch: torch.ones(0),
    "float64": lambda torch: torch.ones(2, dtype=torch.float64),
    "float16, shape": lambda torch: torch.ones(5, dtype=torch.float16),
}
CALLS = {  # what saves nothing of x, its result, x
    "sum": lambda torch, x: x.sum(),
    "cat": lambda torch, x: torch.cat([x, x]).sum(),
    "exp": lambda torch, x: x.exp().sum(),
    "square": lambda torch, x: (x * x).sum(),
    "softmax": lambda torch, x: (x.softmax(0) * torch.tensor([1.0, 2.0])).sum(),
    "index": lambda torch, x: x[torch.tensor([1, 1])].sum(),
    "matmul": lambda torch, x: x @ x,
    "prod": lambda torch, x: x.prod(),
    "norm": lambda torch, x: x.norm(),
    "std": lambda torch, x: x.std(),
    "sort": lambda torch, x: (x.sort()[0] * torch.tensor([1.0, 2.0])).sum(),
    "layer_norm": lambda torch, x: torch.nn.functional.layer_norm(x, (2,)).sum(),
}


@pytest.mark.item("M5.68")
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("is_leaf", [True, False])
def test_other_data_before_backward(torch, call, other, is_leaf):
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    x = w if is_leaf else w * 1
    y = CALLS[call](torch, x)
    x.data = OTHERS[other](torch)
    try:
        y.backward()
    except (RuntimeError, IndexError):
        return
    assert w.grad.dtype == torch.float32
    assert w.grad.shape in ((2,), (2, 2)) and (is_leaf or w.grad.shape == (2,))


@pytest.mark.item("M5.68")
def test_the_graph_goes_on_with_what_it_knows(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x.exp()
    x.data = torch.ones(3, dtype=torch.float64)
    y.sum().backward()
    assert x.grad.dtype == torch.float32 and torch.allclose(x.grad, torch.tensor([1.0, 2.0]).exp())
    z = torch.ones(2, requires_grad=True)
    y = (z * 2).sum()
    z.data = torch.ones(3)
    y.backward()
    assert z.grad.tolist() == [2, 2] and z.shape == (3,)
    x.grad = None
    (x * 2).sum().backward()  # the next one knows the new shape
    assert x.grad.dtype == torch.float64 and x.grad.tolist() == [2, 2, 2]


@pytest.mark.item("M5.68")
def test_an_old_graph_and_a_new_one(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    old = (x * 3).sum()
    x.data = torch.ones(2, dtype=torch.float64)
    new = (x * 2).sum()
    assert (
        old.grad_fn.next_functions[0][0].next_functions[0][0]
        is not new.grad_fn.next_functions[0][0].next_functions[0][0]
    )
    new.backward()
    assert x.grad.dtype == torch.float64 and x.grad.tolist() == [2, 2]
    old.backward()
    assert x.grad.dtype == torch.float64 and x.grad.tolist() == [5, 5]


@pytest.mark.item("M5.68")
def test_same_accumulator_after_another_shape(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    old = x * 3
    x.data = torch.ones(4)
    with pytest.raises(RuntimeError, match=r"got \[4\] but expected shape compatible with \[2\]"):
        (x * 2).sum().backward()
    old.sum().backward()
    assert x.grad.tolist() == [3, 3]
    del old
    x.grad = None
    (x * 2).sum().backward()
    assert x.grad.tolist() == [2] * 4


@pytest.mark.item("M5.68")
def test_other_data_of_the_result(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    y.data = torch.ones(3)
    with pytest.raises(
        RuntimeError,
        match=r"^invalid gradient at index 0 - got \[3\] but expected shape compatible with \[2\]$",
    ):
        y.backward(torch.ones(3))
    y.data = torch.ones(2, dtype=torch.float64)
    y.backward(torch.ones(2, dtype=torch.float64))
    assert x.grad.dtype == torch.float32 and x.grad.tolist() == [2, 2]


@pytest.mark.item("M5.68")
def test_views_of_a_tensor_with_other_data(torch):
    x = torch.ones(4, requires_grad=True)
    y = x * 1
    v = y[1:3]
    y.data = torch.ones(1)
    y.add_(1)
    for call in (lambda: v.grad_fn, lambda: v.sum().backward(), lambda: v.mul_(2), lambda: y.backward()):
        try:
            call()
        except RuntimeError:
            pass


@pytest.mark.item("M5.40")
def test_a_stolen_gradient_has_no_stride_of_zero(torch):
    def through(grad, size):
        class Given(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x.sum()

            @staticmethod
            def backward(ctx, g):
                return grad()

        x = torch.zeros(size, requires_grad=True)
        Given.apply(x).backward()
        return x.grad.stride()

    assert through(lambda: torch.empty_strided((1, 3), (0, 1)).zero_(), (1, 3)) == (3, 1)
    assert through(lambda: torch.empty_strided((1, 3), (7, 1)).zero_(), (1, 3)) == (7, 1)
    assert through(lambda: torch.empty_strided((3, 1), (1, 0)).zero_(), (3, 1)) == (1, 1)
    assert through(lambda: torch.empty_strided((0, 3), (5, 1)).zero_(), (0, 3)) == (3, 1)
