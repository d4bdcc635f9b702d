"""The version counter."""

import threading

import pytest


def bumps(torch, call, make=None):
    x = make() if make else torch.ones(2, 3)
    before = x._version
    call(x)
    return x._version - before


IN_PLACE = {
    "add_": lambda t, x: x.add_(1),
    "mul_": lambda t, x: x.mul_(x),
    "exp_": lambda t, x: x.exp_(),
    "clamp_": lambda t, x: x.clamp_(0, 1),
    "copy_": lambda t, x: x.copy_(t.zeros(2, 3)),
    "zero_": lambda t, x: x.zero_(),
    "fill_": lambda t, x: x.fill_(2),
    "fill_diagonal_": lambda t, x: x.fill_diagonal_(2),
    "index_put_": lambda t, x: x.index_put_((t.tensor([0]),), t.tensor(1.0)),
    "index_fill_": lambda t, x: x.index_fill_(0, t.tensor([0]), 1.0),
    "index_add_": lambda t, x: x.index_add_(0, t.tensor([0]), t.ones(1, 3)),
    "index_copy_": lambda t, x: x.index_copy_(0, t.tensor([0]), t.ones(1, 3)),
    "masked_fill_": lambda t, x: x.masked_fill_(x > 0, 1.0),
    "masked_scatter_": lambda t, x: x.masked_scatter_(x > 0, t.ones(6)),
    "scatter_": lambda t, x: x.scatter_(0, t.zeros(1, 3, dtype=t.int64), 1.0),
    "scatter_add_": lambda t, x: x.scatter_add_(0, t.zeros(1, 3, dtype=t.int64), t.ones(1, 3)),
    "setitem number": lambda t, x: x.__setitem__(0, 1),
    "setitem slice": lambda t, x: x.__setitem__((slice(None), 0), t.ones(2)),
    "setitem mask": lambda t, x: x.__setitem__(x > 0, 1.0),
    "setitem index": lambda t, x: x.__setitem__(t.tensor([1]), t.ones(1, 3)),
    "iadd": lambda t, x: x.__iadd__(1),
    "imul": lambda t, x: x.__imul__(2.0),
    "uniform_": lambda t, x: x.uniform_(),
    "normal_": lambda t, x: x.normal_(),
    "bernoulli_": lambda t, x: x.bernoulli_(),
    "random_": lambda t, x: x.random_(),
    "exponential_": lambda t, x: x.exponential_(),
    "t_": lambda t, x: x.t_(),
    "transpose_": lambda t, x: x.transpose_(0, 1),
    "squeeze_": lambda t, x: x.squeeze_(),
    "unsqueeze_": lambda t, x: x.unsqueeze_(0),
    "as_strided_": lambda t, x: x.as_strided_((2,), (1,)),
    "set_ storage": lambda t, x: x.set_(t.zeros(2).untyped_storage()),
    "set_ tensor": lambda t, x: x.set_(t.zeros(2)),
    "set_ nothing": lambda t, x: x.set_(),
    "resize_ other": lambda t, x: x.resize_(3, 3),
    "resize_as_ other": lambda t, x: x.resize_as_(t.zeros(1)),
    "relu_": lambda t, x: t.relu_(x),
    "dropout_": lambda t, x: t.dropout_(x, 0.5, True),
    "tril_": lambda t, x: x.tril_(),
    "addmm_": lambda t, x: x.addmm_(t.ones(2, 2), t.ones(2, 3)),
    "lerp_": lambda t, x: x.lerp_(t.ones(2, 3), 0.5),
    "put_": lambda t, x: x.put_(t.tensor([0]), t.ones(1)),
    "out= add": lambda t, x: t.add(t.ones(2, 3), 1, out=x),
    "out= exp": lambda t, x: t.exp(t.ones(2, 3), out=x),
    "out= cat": lambda t, x: t.cat([t.ones(1, 3), t.ones(1, 3)], out=x),
    "out= mm": lambda t, x: t.mm(t.ones(2, 2), t.ones(2, 3), out=x),
    "out= cumsum": lambda t, x: t.cumsum(t.ones(2, 3), 0, out=x),
    "out= sum": lambda t, x: t.sum(t.ones(2, 2, 3), 0, out=x),
}


@pytest.mark.item("M4.40")
@pytest.mark.parametrize("name", sorted(IN_PLACE))
@pytest.mark.parametrize("grad_mode", [True, False])
def test_one_per_op(torch, name, grad_mode):
    assert torch.ones(2)._version == 0
    with torch.set_grad_enabled(grad_mode):
        assert bumps(torch, lambda x: IN_PLACE[name](torch, x)) == 1


@pytest.mark.item("M4.40")
def test_resize_to_the_same_sizes(torch):
    assert bumps(torch, lambda x: x.resize_(2, 3)) == 0
    assert bumps(torch, lambda x: x.resize_as_(torch.zeros(2, 3))) == 0
    x = torch.ones(2)
    for _ in range(5):
        x.add_(1)
    assert x._version == 5


@pytest.mark.item("M4.40")
def test_optimiser_steps(torch):
    p = torch.nn.Parameter(torch.ones(2))
    optimizer = torch.optim.SGD([p], lr=0.1)
    p.grad = torch.ones(2)
    before = p._version
    optimizer.step()
    assert p._version == before + 1


@pytest.mark.item("M4.41")
def test_who_shares_the_counter(torch):
    x = torch.zeros(2, 3)
    x.add_(1)
    v, d, data = x[0], x.detach(), x.data
    assert (v._version, d._version, data._version) == (1, 1, 0)
    v.add_(1)
    assert (x._version, v._version, d._version) == (2, 2, 2)
    d.add_(1)
    assert (x._version, v._version) == (3, 3)
    x.view(6)[1:].t().unsqueeze(0).zero_()
    assert x._version == d._version == 4
    data.add_(1)
    assert data._version == 1 and x._version == 4
    assert v.detach()._version == 4 and v.data._version == 0


@pytest.mark.item("M4.42")
def test_what_does_not_count(torch):
    x = torch.zeros(2, 3)
    x.requires_grad_()
    assert x._version == 0
    y = torch.zeros(2, requires_grad=True) * 1
    y.detach_()
    assert y._version == 0
    z = torch.zeros(3)
    z.data = torch.ones(4)
    assert z._version == 0 and z.shape == (4,)
    z.untyped_storage().fill_(1)
    z.untyped_storage().resize_(100)
    assert z._version == 0
    w = torch.zeros(3)
    w.apply_(lambda v: v + 1)
    w.map_(torch.ones(3), lambda a, b: a + b)
    assert w.tolist() == [2, 2, 2] and w._version == 0
    w.tolist(), w.clone(), w + 1, w[0].item(), w.is_contiguous()
    assert w._version == 0


@pytest.mark.item("M4.42")
def test_writes_through_numpy_do_not_count(torch):
    pytest.importorskip("numpy")
    x = torch.zeros(3)
    x.numpy()[0] = 5
    assert x[0].item() == 5 and x._version == 0


@pytest.mark.item("M4.43")
def test_copies_start_at_zero(torch):
    x = torch.zeros(2).add_(1)
    assert x._version == 1
    for copy in (x.clone(), x + 0, x.double(), x.contiguous().clone(), torch.empty_like(x)):
        assert copy._version == 0
    w = torch.ones(2, requires_grad=True)
    y = w * 2
    z = y * y
    assert z.grad_fn._saved_self._version == 0
    y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()


@pytest.mark.item("M4.44")
def test_inference_tensors_have_none(torch):
    with torch.inference_mode():
        x = torch.zeros(2)
        x.add_(1)
        with pytest.raises(RuntimeError, match="do not track version counter"):
            x._version
        assert torch.ones(2).is_inference()
    with pytest.raises(RuntimeError, match="do not track version counter"):
        x._version
    with pytest.raises(RuntimeError, match="do not track version counter"):
        x[0:1]._version
    normal = torch.zeros(2)
    with torch.inference_mode():
        normal.add_(1)
    assert normal._version == 1


@pytest.mark.item("M4.45")
def test_tools(torch):
    graph = torch.autograd.graph
    x, y = torch.zeros(2), torch.zeros(2)
    graph.increment_version(x)
    assert x._version == 1
    graph.increment_version([x, y])
    graph.increment_version(t for t in (x, y))
    assert (x._version, y._version) == (3, 2)
    with torch.autograd._unsafe_preserve_version_counter(x):
        x.add_(1)
        x.mul_(2)
        assert x._version == 5
    assert x._version == 3
    with torch.autograd._unsafe_preserve_version_counter((x, y)):
        x.add_(1), y.add_(1)
    assert (x._version, y._version) == (3, 2)
    set_version = torch._C._autograd._unsafe_set_version_counter
    set_version((x,), (0,))
    assert x._version == 0
    set_version((x, y), (7, 8))
    assert (x._version, y._version) == (7, 8)
    with pytest.raises(RuntimeError, match="Cannot set"):
        set_version((x,), (-1,))
    view = x[:1]
    set_version((view,), (3,))
    assert x._version == 3


@pytest.mark.item("M4.46")
def test_failed_ops_do_not_count(torch):
    x = torch.zeros(2, 3)
    for call in (
        lambda: x.add_(torch.ones(4)),
        lambda: x.copy_(torch.ones(5)),
        lambda: x.index_fill_(0, torch.tensor([9]), 1.0),
        lambda: x.mul_(1j),
        lambda: x.__setitem__(5, 1),
        lambda: x.__setitem__(0, torch.ones(7)),
        lambda: x.transpose_(0, 5),
        lambda: torch.add(torch.ones(2), torch.ones(3), out=x),
        lambda: x.clamp_(),
        lambda: x.as_strided_((100,), (1,)),
    ):
        with pytest.raises((RuntimeError, IndexError)):
            call()
        assert x._version == 0
    assert x.shape == (2, 3) and x.eq(0).all()


@pytest.mark.item("M4.46")
def test_the_counter_wraps_at_32_bits(torch):
    x = torch.zeros(1)
    torch._C._autograd._unsafe_set_version_counter((x,), (2**32 - 1,))
    assert x._version == 2**32 - 1
    x.add_(1)
    assert x._version == 0
    v = x[:]
    torch._C._autograd._unsafe_set_version_counter((v,), (2**32 - 1,))
    v.add_(1)
    assert x._version == v._version == 0


@pytest.mark.item("M4.46")
def test_two_threads(torch):
    x = torch.zeros(1)
    view = x[:]

    def work(t):
        for _ in range(1000):
            t.add_(1)

    threads = [threading.Thread(target=work, args=(t,)) for t in (x, view)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert x._version == 2000


@pytest.mark.item("M4.40")
@pytest.mark.parametrize("name", ["dropout_", "feature_dropout_", "alpha_dropout_", "feature_alpha_dropout_"])
def test_dropout_counts_its_writes(torch, name):
    """One write that scales, one more that shifts; none where nothing is dropped."""
    drop = getattr(torch, name)
    for p, train, shape, want in (
        (0.5, True, (2, 3), 2 if "alpha" in name else 1),
        (1.0, True, (2, 3), 1),
        (0.0, True, (2, 3), 0),
        (0.5, False, (2, 3), 0),
        (0.5, True, (0, 3), 0),
    ):
        assert bumps(torch, lambda x: drop(x, p, train), lambda: torch.ones(shape)) == want
    y = torch.ones(2, 3, requires_grad=True) * 2
    assert drop(y, 0.5, True) is y
    assert y.grad_fn.name() == ("AddBackward0" if "alpha" in name else "MulBackward0")


@pytest.mark.item("M4.40")
@pytest.mark.parametrize("rows", [[0, 1], [0, 0, 2], []])
@pytest.mark.parametrize("longest", [1.0, 100.0])
def test_renormalising_counts_once(torch, rows, longest):
    index = torch.tensor(rows, dtype=torch.int64)
    shorten = lambda x: torch.embedding_renorm_(x, index, longest, 2.0)  # noqa: E731
    assert bumps(torch, shorten, lambda: torch.ones(4, 3)) == 1
