"""`torch._foreach_*`: an op for every tensor of a list gives what the op gives for each."""

import pytest

UNARY = (
    "abs acos asin atan ceil cos cosh erf erfc exp expm1 floor frac lgamma log log10 log1p log2 neg reciprocal "
    "round rsqrt sigmoid sign sin sinh sqrt tan tanh trunc"
).split()


def lists(torch):
    return [torch.tensor([0.25, 0.5]), torch.tensor([[0.75], [0.125]], dtype=torch.float64)]


def same(torch, got, want):
    assert type(got) is tuple and len(got) == len(want)
    for a, b in zip(got, want):
        assert a.dtype == b.dtype and torch.equal(a, b)


@pytest.mark.parametrize("name", UNARY)
def test_unary(torch, name):
    given = lists(torch)
    want = [getattr(torch, name)(t) for t in given]
    same(torch, getattr(torch, "_foreach_" + name)(given), want)
    assert getattr(torch, "_foreach_%s_" % name)(given) is given
    same(torch, tuple(given), want)


@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "clamp_max", "clamp_min", "pow"])
def test_operand_forms(torch, name):
    op, each = getattr(torch, name), getattr(torch, "_foreach_" + name)
    given, others = lists(torch), [torch.tensor([0.5, 0.125]), torch.tensor([2.0], dtype=torch.float64)]
    same(torch, each(given, 0.375), [op(t, 0.375) for t in given])
    same(torch, each(given, [0.5, 2]), [op(t, n) for t, n in zip(given, [0.5, 2])])
    same(torch, each(given, others), [op(t, o) for t, o in zip(given, others)])
    written = tuple(t.clone() for t in given)
    assert getattr(torch, "_foreach_%s_" % name)(written, others) is written
    same(torch, written, [op(t, o) for t, o in zip(given, others)])
    assert [t._version for t in written] == [1, 1]


def test_one_tensor_without_dimensions(torch):
    given, one = lists(torch), torch.tensor(3.0)
    for name in ("add", "mul", "div"):
        same(
            torch,
            getattr(torch, "_foreach_" + name)(given, one),
            [getattr(torch, name)(t, one) for t in given],
        )


def test_three_lists(torch):
    a, b, c = lists(torch), lists(torch), lists(torch)
    for name in ("addcmul", "addcdiv"):
        op, each = getattr(torch, name), getattr(torch, "_foreach_" + name)
        same(torch, each(a, b, c), [op(*ts) for ts in zip(a, b, c)])
        same(torch, each(a, b, c, 2.0), [op(*ts, value=2.0) for ts in zip(a, b, c)])
        same(torch, each(a, b, c, [2.0, 3]), [op(*ts, value=v) for ts, v in zip(zip(a, b, c), [2.0, 3])])
    same(torch, torch._foreach_lerp(a, b, c), [torch.lerp(*ts) for ts in zip(a, b, c)])
    same(
        torch,
        torch._foreach_lerp(a, [t + 1 for t in b], 0.5),
        [torch.lerp(t, u + 1, 0.5) for t, u in zip(a, b)],
    )


def test_others(torch):
    given = lists(torch)
    same(torch, torch._foreach_norm(given, 1), [torch.linalg.vector_norm(t, 1) for t in given])
    same(torch, torch._foreach_max(given), [t.max() for t in given])
    same(torch, torch._foreach_pow(2.0, given), [torch.pow(2.0, t) for t in given])
    square = [torch.eye(2), torch.ones(2, 2)]
    same(torch, torch._foreach_mm(square, square), [t @ t for t in square])
    copies = torch._foreach_clone(given)
    same(torch, copies, given)
    torch._foreach_zero_(copies)
    assert all(t.abs().sum() == 0 for t in copies) and given[0][0] == 0.25
    torch._foreach_copy_(list(copies), given)
    same(torch, copies, given)


def test_gradients(torch):
    x, y = torch.tensor([2.0], requires_grad=True), torch.tensor([3.0], requires_grad=True)
    a, b = torch._foreach_mul([x, y], [y, x])
    (a + 2 * b).backward()
    assert x.grad.tolist() == [9.0] and y.grad.tolist() == [6.0]


def test_refusals(torch):
    one = [torch.ones(1)]
    for call in (
        lambda: torch._foreach_exp([]),
        lambda: torch._foreach_add(one, one * 2),
        lambda: torch._foreach_add(one * 2, [1.0]),
        lambda: torch._foreach_add([torch.ones(2)], [torch.ones(3)]),
    ):
        with pytest.raises(RuntimeError):
            call()
    for call in (
        lambda: torch._foreach_exp(3),
        lambda: torch._foreach_add(one, "a"),
        lambda: torch._foreach_exp([1]),
    ):
        with pytest.raises(TypeError):
            call()


@pytest.mark.minitorch_only(reason="PyTorch writes what comes before the mistake")
def test_a_list_is_written_as_a_whole_or_not_at_all(torch):
    given = [torch.ones(2), torch.ones(2, dtype=torch.int64)]
    with pytest.raises(RuntimeError):
        torch._foreach_exp_(given)
    with pytest.raises(RuntimeError):
        torch._foreach_add_([given[0], torch.ones(3)], [torch.ones(2), torch.ones(2)])
    assert given[0].tolist() == [1.0, 1.0] and given[0]._version == 0
