"""Saved values that were changed before backward."""

import pytest

TEXT = "one of the variables needed for gradient computation has been modified by an inplace operation: "
HINT = (
    " Hint: enable anomaly detection to find the operation that failed to compute its gradient, with "
    "torch.autograd.set_detect_anomaly(True, check_nan=False)."
)


def leaf(torch, *size, **kw):
    return torch.ones(*size, requires_grad=True, **kw)


def error_of(run):
    with pytest.raises(RuntimeError) as e:
        run()
    return str(e.value)


def test_output(torch):
    y = leaf(torch, 3).exp()
    y.add_(1)
    assert error_of(y.sum().backward) == TEXT + (
        "[torch.FloatTensor [3]], which is output 0 of Exp, is at version 1; expected version 0 instead."
        + HINT
    )


def test_input(torch):
    y = leaf(torch, 3, 2) * 1
    z = y * y
    y.add_(1)
    assert error_of(z.sum().backward) == TEXT + (
        "[torch.FloatTensor [3, 2]], which is output 0 of Add, is at version 1; expected version 0 instead."
        + HINT
    )


def test_leaf(torch):
    x = leaf(torch, 3, 2)
    z = x * x
    with torch.no_grad():
        x.add_(1)
    assert error_of(z.sum().backward) == TEXT + (
        "[torch.FloatTensor [3, 2]] is at version 1; expected version 0 instead." + HINT
    )


def test_constant(torch):
    x, c = leaf(torch, 2), torch.ones(2, dtype=torch.float64)
    z = x * c
    c.add_(1)
    assert "[torch.DoubleTensor [2]] is at version 1; expected version 0" in error_of(z.sum().backward)


def test_view(torch):
    y = leaf(torch, 3, 2) * 1
    z = y[0] * y[1]
    y.add_(1)
    assert "[torch.FloatTensor [2]], which is output 0 of AsStrided, is at version 1" in error_of(
        z.sum().backward
    )


def test_names_of_special_nodes(torch):
    def run(y):
        z = y * y
        with torch.no_grad():
            y.add_(1)
        return error_of(z.sum().backward)

    y = torch.zeros(4)
    y.copy_(leaf(torch, 4))
    assert "output 0 of torch::autograd::CopyBackwards, is at version 2; expected version 1" in run(y)
    y = torch.zeros(4)
    y[:2].mul_(leaf(torch, 2))
    assert "output 0 of torch::autograd::CopySlices, is at version 2; expected version 1" in run(y)


def test_every_way_to_the_memory_counts(torch):
    changes = [
        lambda t: t.add_(1),
        lambda t: t.view(3, 1)[1:].zero_(),
        lambda t: t.__setitem__(0, 5.0),
        lambda t: t.detach().mul_(2),
    ]
    for change in changes:
        y = leaf(torch, 3).exp()
        change(y)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            y.sum().backward()


def test_unrelated_changes_are_fine(torch):
    x = leaf(torch, 3)
    y = x + 1
    y.add_(5)
    y.sum().backward()
    assert x.grad.tolist() == [1, 1, 1]
    y = x * 2
    y.add_(1)
    y.sum().backward()
    assert x.grad.tolist() == [3, 3, 3]


def test_lists(torch):
    x = leaf(torch, 2)
    y = x * 1
    z = torch.stack([y, y])
    y.add_(1)
    z.sum().backward()
    assert x.grad.tolist() == [2, 2]


def test_versions_of_aliases(torch):
    x = torch.zeros(4)
    v, d, data = x[:2], x.detach(), x.data
    x.add_(1)
    assert (x._version, v._version, d._version, data._version) == (1, 1, 1, 0)
    v.add_(1)
    data.add_(1)
    assert (x._version, data._version) == (2, 1)


def test_retry_after_the_error(torch):
    x = leaf(torch, 2)
    y = x.exp()
    z = (y * x).sum()
    with torch.no_grad():
        y.add_(1)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            z.backward()
    assert x.grad is None
    (x * 2).sum().backward()
    assert x.grad.tolist() == [2, 2]
