"""In-place changes: programs of views and writes against finite differences; guards; detach, .data and out=."""

import gc
import random
import warnings
import weakref

import pytest


def leaf(torch, n=4, **kw):
    return torch.arange(1.0, n + 1, **kw).requires_grad_()


# --- programs of views and writes ---

VIEWS = [
    lambda b, r: b[: r.randint(1, b.shape[0])],
    lambda b, r: b[r.randrange(b.shape[0])],
    lambda b, r: b[:, :: r.randint(1, 2)] if b.dim() > 1 else b[:: r.randint(1, 2)],
    lambda b, r: b.t() if b.dim() == 2 else b.unsqueeze(0),
    lambda b, r: b.reshape(-1) if b.is_contiguous() else b.unsqueeze(-1),
    lambda b, r: b.view_as(b),
    lambda b, r: b.diagonal() if b.dim() == 2 else b.squeeze(),
    lambda b, r: b.narrow(0, 0, max(1, b.shape[0] // 2)),
    lambda b, r: b.flatten() if b.is_contiguous() else b.transpose(0, -1),
    lambda b, r: b.unfold(0, 1, 1),
    lambda b, r: b.permute(*range(b.dim() - 1, -1, -1)),
    lambda b, r: b.movedim(0, -1),
]


def write(t, r, x):
    k = r.randrange(9)
    if k == 0:
        t.mul_(r.choice([2.0, -0.5]))
    elif k == 1:
        t.add_(x[r.randrange(6)])
    elif k == 2:
        t.mul_(x[r.randrange(6)])
    elif k == 3:
        t.zero_()
    elif k == 4:
        t.copy_(x[r.randrange(6)] * 2)
    elif k == 5:
        t.sin_()
    elif k == 6:
        t.sub_(t * 0.5)
    elif k == 7:
        t.clamp_(-1, 1.5)
    else:
        t.pow_(2)


def program(seed, x):
    """A number out of six, by views of a base and writes through them."""
    r = random.Random(seed)
    base = (x * 1.5).view(2, 3) if r.random() < 0.5 else x.clone().view(3, 2)
    tensors, total = [base], 0
    for _ in range(r.randint(2, 7)):
        t = r.choice(tensors)
        if t.dim() and t.numel() and r.random() < 0.55:
            tensors.append(r.choice(VIEWS)(t, r))
        else:
            write(t, r, x)
        if r.random() < 0.3:
            total = total + (r.choice(tensors) * r.choice([1.0, 3.0])).sum()
    for t in tensors:
        total = total + (t * t).sum() * 0.1 + t.sum()
    return total


@pytest.mark.item("M5.62", "M5.63")
@pytest.mark.parametrize("seed", range(60))
def test_programs_of_views_and_writes(torch, seed):
    start = torch.tensor([0.3, -0.7, 1.1, 0.9, -1.3, 0.4], dtype=torch.float64)
    x = start.clone().requires_grad_()
    y = program(seed, x)
    if not y.requires_grad:
        return
    (got,) = torch.autograd.grad(y, x, allow_unused=True)
    got = torch.zeros(6) if got is None else got
    eps = 1e-6
    for i in range(6):
        values = []
        for sign in (1, -1):
            z = start.clone()
            z[i] += sign * eps
            values.append(program(seed, z).item())
        assert got[i].item() == pytest.approx((values[0] - values[1]) / (2 * eps), abs=1e-4)


# --- guards ---


def made_in(torch, mode, b):
    if mode == "plain":
        return b[:2]
    with getattr(torch, mode)():
        return b[:2]


@pytest.mark.item("M5.66")
@pytest.mark.parametrize("changed_in", ["plain", "no_grad"])
@pytest.mark.parametrize("made", ["plain", "no_grad", "inference_mode"])
@pytest.mark.parametrize("requires", [False, True])
def test_where_views_are_made_and_changed(torch, made, changed_in, requires):
    b = torch.ones(4, requires_grad=requires)
    b = b.clone() if requires else b
    v = made_in(torch, made, b)
    w = torch.ones(2, requires_grad=True)

    def change():
        v.mul_(w)

    if changed_in == "no_grad":
        with torch.no_grad():
            change()
        assert b.requires_grad == requires
        if requires and made != "plain":
            with pytest.raises(RuntimeError, match="modified inplace"):
                v.grad_fn
        return
    if made == "plain":
        change()
        assert b.requires_grad and v.requires_grad
        b.sum().backward()
        assert w.grad.tolist() == [1, 1]
    else:
        with pytest.raises(RuntimeError, match="no_grad mode" if made == "no_grad" else "inference"):
            change()
        assert v._version == b._version and b.tolist() == [1, 1, 1, 1]


@pytest.mark.item("M5.66")
def test_inference_tensors_and_recording(torch):
    with torch.inference_mode():
        t = torch.ones(2)
    w = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="[Ii]nference tensors"):
        w * t
    with pytest.raises(RuntimeError, match="[Ii]nference"):
        t.add_(1)
    with pytest.raises(RuntimeError, match="[Ii]nference"):
        t.requires_grad_()
    assert (w + t.clone()).requires_grad
    with torch.inference_mode():
        t.fill_(5)
    assert t.tolist() == [5, 5]


@pytest.mark.item("M5.65")
def test_guarded_views_after_a_change_of_the_base(torch):
    x = leaf(torch)
    base = x * 1
    parts = base.unbind()
    base.add_(1)
    for use in (
        lambda t: t + 1,
        lambda t: t.grad_fn,
        lambda t: t.is_leaf,
        lambda t: t.sum().backward(),
        lambda t: t.register_hook(print),
        lambda t: t.retain_grad(),
        lambda t: t.view(1),
        lambda t: torch.stack([t, t]),
        lambda t: torch.autograd.grad(base.sum(), t),
    ):
        with pytest.raises(RuntimeError, match="multiple views"):
            use(parts[0])
    assert parts[0].item() == 2 and parts[0].detach().item() == 2
    base.sum().backward()
    assert x.grad.tolist() == [1, 1, 1, 1]


# --- refused changes leave things as they were ---


@pytest.mark.item("M5.61")
def test_refused_writes_change_nothing(torch):
    x = leaf(torch, 4)
    view, h = x.view(2, 2), x * 2
    a, b = h.split(2)
    before = (x.tolist(), x._version, h.tolist(), h._version)
    for call in (
        lambda: x.add_(1),
        lambda: x.__setitem__(0, 5.0),
        lambda: view.mul_(2),
        lambda: view[0].copy_(torch.zeros(2)),
        lambda: x.clamp_(0, 1),
        lambda: x.index_fill_(0, torch.tensor([0]), 7.0),
        lambda: x.scatter_(0, torch.tensor([0]), 7.0),
        lambda: torch.nn.init.zeros_(a) and a.zero_(),
        lambda: a.add_(1),
        lambda: torch.add(x, x, out=x),
        lambda: x.bernoulli_(),
        lambda: x.resize_(2),
    ):
        try:
            with torch.enable_grad():
                call()
        except RuntimeError:
            pass
        else:
            assert a._version != before[3]
    assert x.tolist() == before[0] and x._version == before[1]


@pytest.mark.item("M5.61")
def test_leaf_check_comes_before_the_write_and_not_in_backward(torch):
    x = leaf(torch)
    y = (x * x).sum()
    with pytest.raises(RuntimeError, match="leaf Variable"):
        x.mul_(2)
    y.backward()
    assert x.grad.tolist() == [2, 4, 6, 8]


@pytest.mark.item("M5.60")
def test_version_is_checked_when_the_value_is_used(torch):
    x, w = leaf(torch), torch.ones(4)
    y = x * w
    w.add_(1)
    z = (x * 3).sum() + (y * 0).sum()
    with pytest.raises(RuntimeError, match="version 1; expected version 0"):
        z.backward()
    # what is not needed is not looked at
    u = leaf(torch)
    a, b = u * 2, (u * w).sin()
    w.add_(1)
    assert torch.autograd.grad(a.sum(), u)[0].tolist() == [2, 2, 2, 2]
    assert torch.autograd.grad(b.sum(), b)[0] is not None if b.dim() == 0 else True


@pytest.mark.item("M5.60")
def test_both_versions_are_named(torch):
    x = leaf(torch)
    w = torch.ones(4)
    w.add_(1)
    y = x * w
    for _ in range(3):
        w.add_(1)
    with pytest.raises(RuntimeError) as caught:
        y.sum().backward()
    text = str(caught.value)
    assert "[torch.FloatTensor [4]]" in text and "is at version 4; expected version 1 instead" in text
    assert "set_detect_anomaly(True" in text


# --- history ---


@pytest.mark.item("M5.63")
def test_view_and_base_through_a_long_chain(torch):
    x = leaf(torch)
    b = x.clone()
    v = b[:2]
    for _ in range(50):
        v.mul_(1.01)
        b.add_(0.01)
    (g,) = torch.autograd.grad(b.sum() + v.sum(), x)
    assert g.tolist() == pytest.approx([2 * 1.01**50] * 2 + [1, 1], rel=1e-5)


@pytest.mark.item("M5.63")
def test_graph_of_a_view_does_not_keep_the_view(torch):
    x = leaf(torch)
    b = x.clone()
    v = b[:2]
    v.mul_(2)
    gone = weakref.ref(v)
    del v
    gc.collect()
    assert gone() is None
    b.sum().backward()
    assert x.grad.tolist() == [2, 2, 1, 1]


@pytest.mark.item("M5.63")
def test_base_dies_before_its_view(torch):
    x = leaf(torch)
    b = x.clone()
    v = b[:2]
    v.mul_(3)
    del b
    gc.collect()
    v.sum().backward()
    assert x.grad.tolist() == [3, 3, 0, 0]
    v = x.clone()[1:]
    v.add_(1)
    v.mul_(2)
    assert torch.autograd.grad(v.sum(), x)[0].tolist() == [0, 2, 2, 2]


@pytest.mark.item("M5.63")
def test_second_derivative_through_a_view(torch):
    x = leaf(torch, 4, dtype=torch.float64)
    b = x.clone()
    b[:2].mul_(x[:2])
    b.view(2, 2)[1].pow_(3)
    (g,) = torch.autograd.grad(b.sum(), x, create_graph=True)
    assert g.tolist() == [2, 4, 27, 48]
    (h,) = torch.autograd.grad(g.sum(), x)
    assert h.tolist() == [2, 2, 18, 24]


@pytest.mark.item("M5.63")
def test_write_of_a_tensor_into_itself(torch):
    x = leaf(torch)
    b = x.clone()
    b[:2] = b[2:]
    assert torch.autograd.grad(b.sum(), x)[0].tolist() == [0, 0, 2, 2]
    b = x.clone()
    b[0] = b[1].clone() * b[2].clone()
    assert torch.autograd.grad(b.sum(), x)[0].tolist() == [0, 4, 3, 1]


@pytest.mark.item("M5.64")
def test_base_without_gradient_and_integer_parts(torch):
    w = torch.ones(2, requires_grad=True)
    b = torch.zeros(2, 2)
    rows = [b[i] for i in range(2)]
    rows[1].add_(w)
    assert b.requires_grad and all(r.requires_grad for r in rows)
    assert torch.autograd.grad(rows[0].sum(), w, retain_graph=True)[0].tolist() == [0, 0]
    assert torch.autograd.grad(b.sum(), w)[0].tolist() == [1, 1]


# --- detach, data ---


@pytest.mark.item("M5.67")
def test_detached_tensor_shares_memory_and_version(torch):
    x = leaf(torch)
    y = x.exp()
    d = y.detach()
    assert d._version == y._version == 0
    d.mul_(2)
    assert d._version == y._version == 1 and y.tolist() == d.tolist()
    with pytest.raises(RuntimeError, match="modified by an inplace"):
        y.sum().backward()
    z = x[1:].detach()
    assert z._base is None and not z._is_view() and z.storage_offset() == 1
    z.requires_grad_()
    assert z.is_leaf and z.requires_grad and not x.detach().requires_grad


@pytest.mark.item("M5.68")
def test_data_of_a_parameter(torch):
    p = torch.nn.Parameter(torch.ones(2))
    (p * 2).sum().backward()
    p.data -= 0.1 * p.grad
    assert p.tolist() == pytest.approx([0.8, 0.8]) and p.is_leaf and p._version == 0
    p.data = torch.zeros(2)
    assert isinstance(p, torch.nn.Parameter) and p.grad.tolist() == [2, 2]
    old = p.data
    p.data = torch.ones(3)
    assert old.tolist() == [0, 0] and p.grad.shape == (2,)
    p.grad = None
    p.sum().backward()
    assert p.grad.tolist() == [1, 1, 1]


@pytest.mark.item("M5.68")
def test_refused_data_changes_nothing(torch):
    x = leaf(torch)
    for bad in (torch.ones(2, dtype=torch.long), torch.ones(2, device="meta"), 1, None, [1.0], "x"):
        with pytest.raises((RuntimeError, TypeError)):
            x.data = bad
    assert x.tolist() == [1, 2, 3, 4] and x.requires_grad and x.is_leaf
    x.sum().backward()
    assert x.grad.tolist() == [1, 1, 1, 1]


# --- out= ---


@pytest.mark.item("M5.69")
@pytest.mark.parametrize(
    "name, n_args",
    [("add", 2), ("mul", 2), ("exp", 1), ("sum", 1), ("matmul", 2), ("cumsum", 1), ("clamp", 1), ("neg", 1)],
)
def test_out_with_gradients(torch, name, n_args):
    op = getattr(torch, name)
    more = {"cumsum": (0,), "clamp": (0, 2), "sum": (0,)}.get(name, ())
    x, plain = torch.ones(2, 2, requires_grad=True), torch.ones(2, 2)
    shape = op(*[plain] * n_args, *more).shape
    out, marked = torch.full(shape, 7.0), torch.full(shape, 7.0, requires_grad=True)
    for args, target in (([x] * n_args, out), ([plain] * n_args, marked)):
        with pytest.raises(RuntimeError, match="out=") as caught:
            op(*args, *more, out=target)
        assert name in str(caught.value) or name in ("sum", "matmul")
        assert target.eq(7).all() and target._version == 0
        with torch.no_grad():
            assert op(*args, *more, out=target) is target
        assert not target.eq(7).all()
        target.detach().fill_(7)
    assert not out.requires_grad and marked.requires_grad and marked.is_leaf


# --- copies and sizes ---


@pytest.mark.item("M5.70")
def test_parameter_resize(torch):
    p = torch.nn.Parameter(torch.ones(2))
    with pytest.raises(RuntimeError, match="resize"):
        p.resize_(4)
    with pytest.raises(RuntimeError, match="resize"):
        p.resize_as_(torch.ones(3))
    assert p.shape == (2,)
    p.data.resize_(4)
    assert p.shape in ((2,), (4,))


# --- indexing ---


@pytest.mark.item("M5.71")
@pytest.mark.parametrize(
    "index",
    [
        "0", "1, 2", ":, 1", "None, 1:", "[0, 1, 1]", "[0, 0], [1, 1]", ":, [2, 0, 2]", "[[0], [1]], [[0, 2]]",
        "..., 0", "x > 2", "x[:, 0] > 100", "[True, False]", "[1], :, None", "-1, [-1, 0]", "(), slice(None)", "1:, [1, 1]",
    ],
)  # fmt: skip
def test_gradients_of_reading_and_writing(torch, index):
    x = torch.arange(6.0, dtype=torch.float64).view(2, 3).requires_grad_()
    if index == "(), slice(None)":
        index = "slice(None), slice(None)"
    ix = eval("I[%s]" % index, {"I": Indices(), "x": x.detach()})
    ix = tuple(torch.tensor(i) if isinstance(i, list) else i for i in ix) if isinstance(ix, tuple) else ix
    weights = torch.arange(1.0, 7, dtype=torch.float64).view(2, 3)
    part = x[ix]
    (g,) = torch.autograd.grad((part * 2).sum(), x)
    counts = torch.zeros(2, 3, dtype=torch.float64)
    flat = torch.arange(6).view(2, 3)[ix].reshape(-1)
    for i in flat.tolist():
        counts.view(-1)[i] += 2
    assert g.tolist() == counts.tolist()
    value = torch.full(part.shape, 3.0, dtype=torch.float64, requires_grad=True)
    y = x.clone()
    y[ix] = value
    gx, gv = torch.autograd.grad((y * weights).sum(), [x, value])
    untouched = torch.ones(6, dtype=torch.float64)
    for i in flat.tolist():
        untouched[i] = 0
    assert gx.tolist() == (weights * untouched.view(2, 3)).tolist()
    assert gv.shape == value.shape
    if len(set(flat.tolist())) == flat.numel():
        assert gv.reshape(-1).tolist() == [weights.view(-1)[i].item() for i in flat.tolist()]


class Indices:
    def __getitem__(self, i):
        return i


def viewer(torch, count=1):
    class Viewer(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            views = x.view(-1), x[1:]
            return views[0] if count == 1 else views

        @staticmethod
        def backward(ctx, *grads):
            return grads[0]

    return Viewer


@pytest.mark.item("M5.66")
@pytest.mark.parametrize("mode", ["no_grad", "inference_mode"])
def test_views_of_a_function_without_recording(torch, mode):
    x = torch.ones(3, requires_grad=True)
    y = x * 1
    with getattr(torch, mode)():
        v = viewer(torch).apply(y)
    assert v._is_view() and v._base is y and v.requires_grad and v.grad_fn is None
    with pytest.raises(RuntimeError, match="no_grad mode.*inside a custom Function"):
        v.add_(1)
    with torch.no_grad():
        v.add_(1)
    with pytest.raises(RuntimeError, match="its base or another view of its base has been modified"):
        v.grad_fn
    y.sum().backward()
    assert x.grad.tolist() == [1, 1, 1] and y.tolist() == [2, 2, 2]


@pytest.mark.item("M5.66")
def test_several_views_of_a_function(torch):
    y = torch.ones(3, requires_grad=True) * 1
    a, b = viewer(torch, 2).apply(y)
    for view, number in ((a, 0), (b, 1)):
        with pytest.raises(RuntimeError, match="Output %d of Viewer.*returns multiple views" % number):
            view.add_(1)
    with pytest.raises(RuntimeError, match="created inside a custom Function"):
        viewer(torch).apply(y).add_(1)


@pytest.mark.item("M5.95")
def test_leaves_written_by_a_function(torch):
    class Writer(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            x.mul_(2)
            return x

        @staticmethod
        def backward(ctx, g):
            return g * 2

    with torch.no_grad():
        v = torch.ones(3, requires_grad=True)[1:]
    for leaf in (torch.ones(3, requires_grad=True), v):
        with pytest.raises(
            RuntimeError, match="^a leaf Variable that requires grad has been used in an in-place"
        ):
            Writer.apply(leaf)
    with pytest.raises(RuntimeError, match="^a view of a leaf Variable that requires grad is being used"):
        Writer.apply(torch.ones(3, requires_grad=True)[1:])


@pytest.mark.item("M5.67")
def test_formulas_refuse_what_was_detached(torch):
    """A formula would record without the history of what it saved; what only reads it may."""
    x = torch.tensor([2.0], requires_grad=True)
    text = (
        "Trying to use a saved tensor that has been detached in-place, i.e. with .detach_()."
        "This is not supported, please use out-of-place `.detach()` instead"
    )

    class Sin(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            ctx.save_for_backward(a)
            return a.sin()

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.saved_tensors[0]

    for f, refuses in (
        (lambda y: y * y * x, True),
        (lambda y: torch._foreach_mul([y], [y])[0], True),
        (lambda y: torch.cat([y.exp() * 2]), False),
        (Sin.apply, False),
    ):
        for create_graph in (False, True):
            y = x * 1
            z = f(y)
            y.detach_()
            if refuses:
                with pytest.raises(RuntimeError) as e:
                    torch.autograd.grad(z.sum(), x, create_graph=create_graph)
                assert str(e.value) == text
            else:
                torch.autograd.grad(z.sum(), x, create_graph=create_graph)
    y = x * 1
    z = y.sin()
    y.detach_()
    assert z.grad_fn._saved_self is y
    y.requires_grad_()
    with pytest.raises(RuntimeError):
        z.backward()


@pytest.mark.item("M5.62")
def test_writes_to_expanded_memory(torch):
    """Numbers may be written there, with tangents too; tensors may not."""
    fw = torch.autograd.forward_ad
    text = "unsupported operation: more than one element of the written-to tensor refers to a single memory location"
    three = torch.tensor(3.0)
    for value in (three, three.double()):
        x = torch.ones(2).expand(3, 2)
        with pytest.raises(RuntimeError, match=text):
            x.fill_(value)
        assert x.tolist() == [[1, 1]] * 3
    torch.ones(0).expand(3, 0).fill_(three)
    torch.ones(2, device="meta").expand(3, 2).fill_(three)
    mask = torch.tensor([True, False])
    for write, primal, slope in (
        (lambda x: x.fill_(3), [3, 3], [0, 0]),
        (lambda x: x.zero_(), [0, 0], [0, 0]),
        (lambda x: x.masked_fill_(mask, 3), [3, 1], [0, 1]),
    ):
        with fw.dual_level(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            x = fw.make_dual(torch.ones(2), torch.ones(2)).expand(3, 2)
            value, tangent = fw.unpack_dual(write(x))
            assert value.tolist() == [primal] * 3 and tangent.tolist() == [slope] * 3
            assert tangent.stride() == (0, 1)
    with fw.dual_level(), pytest.raises(RuntimeError, match=text):
        fw.make_dual(torch.ones(2), torch.ones(2)).expand(3, 2).copy_(torch.zeros(3, 2))
