# SPDX-License-Identifier: BSD-3-Clause
"""out=: what refuses to share memory, exact dtypes, gradients; where it does not exist; what in-place ops check first."""

import warnings

import pytest


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def raises(torch, code, kind, text=""):
    with pytest.raises(kind) as info:
        eval(code, {"t": torch, "F": torch.nn.functional, "x": torch.ones(3)})
    assert type(info.value) is kind and text in str(info.value), repr(info.value)


@pytest.mark.parametrize(
    "call",
    [
        "t.gather(x, 0, i, out=x)",
        "t.index_select(x, 0, i, out=x)",
        "t.take(x, i, out=x)",
        "t.outer(x, x, out=x)",
        "t.masked_select(x, x > 0, out=x)",
        "t.nonzero(i, out=i)",
        "t.take_along_dim(x, i, 0, out=x)",
    ],
)
def test_shared_memory(torch, call):
    for x, i in ((torch.arange(3.0), torch.tensor([0, 1, 2])),):
        with pytest.raises(RuntimeError, match="single memory location"):
            eval(call, {"t": torch, "x": x, "i": i})
        assert x.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    "call,text",
    [
        (
            "t.sort(x, out=(t.ones(3), t.ones(3)))",
            "Expected out tensor to have dtype long int, but got float instead",
        ),
        ("t.sort(x, out=(t.ones(3).double(), t.ones(3).long()))", "Expected out tensor to have dtype float"),
        ("t.topk(x, 2, out=(t.ones(2), t.ones(2)))", "Expected out tensor to have dtype long int"),
        ("t.cummin(x, 0, out=(t.ones(3), t.ones(3)))", "expected scalar_type Long but found Float"),
        (
            "t.cummax(x, 0, out=(t.ones(3).double(), t.ones(3).long()))",
            "expected scalar_type Float but found Double",
        ),
        ("t.searchsorted(x, x, out=t.ones(3))", "output tensor's dtype is wrong"),
        ("t.bucketize(x, x, out_int32=True, out=t.ones(3).long())", "output tensor's dtype is wrong"),
        ("t.logcumsumexp(x, 0, out=t.ones(3).double())", "expected scalar_type Float but found Double"),
        ("t.nonzero(x, out=t.ones(3))", "nonzero: Expected out tensor to have scalar type Long"),
        (
            "t.masked_select(x, x > 0, out=t.ones(3).double())",
            "self and result must have the same scalar type",
        ),
    ],
)
def test_exact_dtypes(torch, call, text):
    raises(torch, call, RuntimeError, text)


@pytest.mark.parametrize(
    "call",
    [
        "t.hstack((w, w), out=t.ones(4))",
        "t.vstack((w, w), out=t.ones(2, 2))",
        "t.dstack((w, w), out=t.ones(1, 2, 2))",
        "t.column_stack((w, w), out=t.ones(2, 2))",
        "t.outer(w, w, out=t.ones(2, 2))",
    ],
)
def test_composites_do_not_record(torch, call):
    raises(
        torch,
        call.replace("w", "t.ones(2, requires_grad=True)"),
        RuntimeError,
        "functions with out=... arguments don't support automatic differentiation",
    )


@pytest.mark.parametrize(
    "call",
    [
        "t.sum(x, out=x)",
        "t.prod(x, out=x)",
        "t.count_nonzero(x, out=x)",
        "t.isnan(x, out=x)",
        "t.isinf(x, out=x)",
        "t.flip(x, [0], out=x)",
        "t.roll(x, 1, out=x)",
        "t.rot90(x, out=x)",
        "t.rsub(x, 1, out=x)",
        "t.celu(x, out=x)",
        "t.relu(x, out=x)",
        "t.index_fill(x, 0, i, 1, out=x)",
        "t.masked_fill(x, x > 0, 1, out=x)",
        "t.masked_scatter(x, x > 0, x, out=x)",
        "t.constant_pad_nd(x, [1, 1], out=x)",
        "t.std_mean(x, out=(x, x))",
        "t.var_mean(x, out=(x, x))",
        "t.dist(x, x, out=x)",
        "t.put(x, i, x, out=x)",
    ],
)
def test_no_out(torch, call):
    with pytest.raises(TypeError):
        eval(call, {"t": torch, "x": torch.ones(2), "i": torch.tensor([0])})


@pytest.mark.parametrize(
    "call",
    [
        "t.softmax(x, 0, out=o)",
        "t.log_softmax(x, 0, out=o)",
        "t.kron(x, x[:1], out=o)",
        "t.argsort(x, stable=True, out=o.long())",
        "t._C._nn.linear(x, w, out=o)",
    ],
)
def test_out_of_composites(torch, call):
    x, w = torch.tensor([3.0, 1.0]), torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    out = torch.zeros(2)
    got = eval(call, {"t": torch, "x": x, "w": w, "o": out})
    want = eval(call.replace(", out=o.long()", "").replace(", out=o", ""), {"t": torch, "x": x, "w": w})
    assert got.tolist() == want.tolist() and (got is out or "long" in call)


@pytest.mark.parametrize(
    "call,text",
    [
        ("t.ones(2, requires_grad=True).bitwise_and_(t.ones(2))", "leaf Variable"),
        ("t.ones(2, requires_grad=True).gcd_(t.ones(2).long())", "leaf Variable"),
        ("t.ones(2).expand(2, 2).bitwise_and_(t.ones(2))", "more than one element of the written-to tensor"),
        ("t.ones(2).long().expand(2, 2).erf_()", "more than one element of the written-to tensor"),
        ("t.ones(2).bool().expand(2, 2).round_()", "more than one element of the written-to tensor"),
        ("F.leaky_relu_(t.ones(2).long().expand(2, 2))", "more than one element of the written-to tensor"),
        ("t.ones(2).bitwise_and_(t.ones(3, 2))", "doesn't match the broadcast shape"),
    ],
)
def test_order_of_checks(torch, call, text):
    raises(torch, call, RuntimeError, text)


def test_bucketize_of_a_number(torch):
    assert (
        torch.bucketize(2, torch.arange(4)).item() == 2
        and torch.bucketize(2.5, torch.arange(4.0)).item() == 3
    )
    got = torch.bucketize(2, torch.arange(4), right=True, out_int32=True)
    assert got.item() == 3 and got.dtype is torch.int32


def test_pixel_shuffle_copies(torch):
    x = torch.ones(1, 2, 2, 2)
    for f in (torch.pixel_shuffle, torch.pixel_unshuffle):
        assert f(x, 1)._base is None and f(x, 1).data_ptr() != x.data_ptr()


def test_randint_of_wide_floats(torch):
    torch.manual_seed(7)
    got = torch.randint(0, 2**62, (3,), dtype=torch.float64).tolist()
    assert got == [1.407639518939637e18, 5.5190436835283354e17, 3.4755367561548805e18]
    torch.manual_seed(7)
    got = torch.randint(0, 2**62, (3,), dtype=torch.bfloat16).tolist()
    assert got == [1.4051230837395948e18, 6.07985949695017e17, 3.494793310839505e18]


def test_like_with_a_memory_format(torch):
    for device in ("cpu", "meta"):
        x = torch.ones(1, 2, 3, 4, device=device)
        for f in (torch.rand_like, torch.randn_like, lambda x, **k: torch.randint_like(x, 5, **k)):
            assert f(x, memory_format=torch.channels_last).stride() == (24, 1, 8, 2)


@pytest.mark.parametrize(
    "call,text",
    [
        ("t._C._nn.reflection_pad1d(t.ones(1, 3), [1])", "padding size is expected to be 2, but got: 1"),
        (
            "t._C._nn.reflection_pad2d(t.ones(1, 3, 3), [1, 2])",
            "padding size is expected to be 4, but got: 2",
        ),
        ("t._C._nn.replication_pad3d(t.ones(1, 3, 3, 3), [1, 2])", "padding size is expected to be 6"),
    ],
)
def test_length_of_a_padding(torch, call, text):
    raises(torch, call, RuntimeError, text)


# What PyTorch does when out= meets memory that is read: a row is (call, shape of x, words for the places of out=).
# "part" begins one element behind x, "same" where x does, "itself" is one element expanded.
OVERLAPS = [
    ("t.tril(x, out=o)", (3, 3), "part same itself"),
    ("t.triu(x, out=o)", (3, 3), "part same itself"),
    ("t.bmm(x, x, out=o)", (2, 3, 3), "part same itself"),
    ("t.mv(x, t.ones(3), out=o)", (3, 3), "part same itself"),
    ("t.softmax(x, 0, out=o)", (3, 3), "part same"),
    ("t.sum(x, 0, out=o)", (3, 3), "part same itself"),
    ("t.prod(x, 0, out=o)", (3, 3), "part same itself"),
    ("t.cummax(x, 0, out=(o, t.empty(0, dtype=t.int64)))", (3, 3), "part same itself"),
    ("t.mm(x, x, out=o)", (3, 3), "part same"),
    ("t.cumsum(x, 0, out=o)", (3, 3), "same"),
    ("t.exp(x, out=o)", (3, 3), "same"),
    ("t.sort(x, 0, out=(o, t.empty(0, dtype=t.int64)))", (3, 3), "same"),
    ("t.div(x, 2, rounding_mode='floor', out=o)", (3, 3), "same"),
    ("t.baddbmm(x, x, x, out=o)", (2, 3, 3), "same"),
    ("t.addbmm(x, t.ones(2, 3, 3), t.ones(2, 3, 3), out=o)", (3, 3), "same"),
    ("t.addmv(x, t.ones(3, 3), t.ones(3), out=o)", (3,), "same"),
    ("t.addmm(x, t.ones(2, 3), t.ones(3, 3), out=o)", (3,), "part same"),
    ("t.median(x, 0, out=(o, t.empty(0, dtype=t.int64)))", (3, 3), "part same"),
    ("t.median(x, 1, out=(o, t.empty(0, dtype=t.int64)))", (3, 3), ""),
    ("t.nanmedian(x.t(), 0, out=(o, t.empty(0, dtype=t.int64)))", (3, 3), ""),
    ("t.nanmedian(x, 1, out=(o, t.empty(0, dtype=t.int64)))", (2, 3, 3), "part same"),
]


@pytest.mark.parametrize("place", ["part", "same", "itself"])
@pytest.mark.parametrize("call,shape,accepted", OVERLAPS)
def test_memory_of_results(torch, call, shape, accepted, place):
    count = torch.Size(shape).numel()
    values = torch.arange(float(count)).remainder(5).reshape(shape)
    names = {"t": torch, "F": torch.nn.functional}
    plain = call.replace(", out=(o, t.empty(0, dtype=t.int64))", "").replace(", out=o", "")
    want = eval(plain, {**names, "x": values})
    want = want if isinstance(want, torch.Tensor) else want[0]
    memory = torch.zeros(2 * count + 20, dtype=torch.float32)
    x = memory[:count].view(shape).copy_(values)
    if place == "itself":
        o = torch.zeros((), dtype=want.dtype).expand(want.shape)
    else:
        at = 1 if place == "part" else 0
        o = memory[at : at + want.numel()].view(want.shape)
    if place in accepted.split():
        eval(call, {**names, "x": x, "o": o})
    elif place != "itself":
        with pytest.raises(RuntimeError, match="unsupported operation: some elements"):
            eval(call, {**names, "x": x, "o": o})


@pytest.mark.minitorch_only(reason="PyTorch reads what it has just written")
@pytest.mark.parametrize(
    "call,shape,at",
    [
        (*row[:2], at)
        for row in OVERLAPS
        for at, word in enumerate(("same", "part"))
        if word in row[2].split()
    ],
)
def test_results_that_overlap_are_right(torch, call, shape, at):
    """Where shared memory is accepted, the result is that of separate memory."""
    count = torch.Size(shape).numel()
    memory = torch.arange(float(2 * count + 20)).remainder(5)
    x = memory[:count].view(shape)
    plain = call.replace(", out=(o, t.empty(0, dtype=t.int64))", "").replace(", out=o", "")
    want = eval(plain, {"t": torch, "x": x.clone()})
    want = want if isinstance(want, torch.Tensor) else want[0]
    o = memory[at : at + want.numel()].view(want.shape)
    eval(call, {"t": torch, "x": x, "o": o})
    assert torch.equal(o, want)


@pytest.mark.parametrize(
    "dtype,call,kind,text",
    [
        ("float32", "x.clamp_min_(1j)", NotImplementedError, "clamp is not supported for complex types"),
        ("float32", "x.clamp_max(1j)", NotImplementedError, "clamp is not supported for complex types"),
        ("int32", "x.clamp_max_(1j)", NotImplementedError, "clamp is not supported for complex types"),
        (
            "bool",
            "t.clamp_min(x, 1j, out=x)",
            NotImplementedError,
            "clamp is not supported for complex types",
        ),
        (
            "float32",
            "x.clamp_(1j)",
            RuntimeError,
            "value cannot be converted to type double without overflow",
        ),
        (
            "float16",
            "x.clamp(0, 1j)",
            RuntimeError,
            "value cannot be converted to type double without overflow",
        ),
        (
            "int32",
            "x.clamp_min_(1.5)",
            RuntimeError,
            "result type Float can't be cast to the desired output type int",
        ),
        (
            "int16",
            "x.clamp_(max=1.5)",
            RuntimeError,
            "result type Float can't be cast to the desired output type short int",
        ),
        (
            "int64",
            "x.clamp_(0, 1j)",
            RuntimeError,
            "result type ComplexFloat can't be cast to the desired output type",
        ),
        (
            "bool",
            "x.clamp_max_(1)",
            RuntimeError,
            "result type Long can't be cast to the desired output type bool",
        ),
        (
            "bool",
            "x.clamp_min_(t.tensor(1))",
            RuntimeError,
            "result type Long can't be cast to the desired output type Bool",
        ),
        ("float64", "x.clamp_max_(t.tensor(1j))", RuntimeError, "result type ComplexDouble can't be cast"),
    ],
)
def test_limits_of_other_dtypes(torch, dtype, call, kind, text):
    x = torch.ones(2).to(getattr(torch, dtype))
    with pytest.raises(kind) as info:
        eval(call, {"t": torch, "x": x})
    assert type(info.value) is kind and text in str(info.value)
    assert x.tolist() == [1, 1]


def test_limit_of_bools_is_a_tensor(torch):
    assert torch.tensor([True, False]).clamp_min_(torch.tensor(True)).tolist() == [True, True]
    x = torch.tensor([1.0, 5.0], requires_grad=True)
    limit = torch.tensor(3.0, requires_grad=True)
    y = x.clamp_min(limit)
    y.sum().backward()
    assert y.grad_fn.name() == "ClampMinBackward1" and x.grad.tolist() == [0, 1] and limit.grad.item() == 1


def test_losses_in_the_memory_of_probabilities(torch):
    loss = torch._C._nn.binary_cross_entropy
    memory = torch.linspace(0.1, 0.9, 30)
    x, y = memory[:9].view(3, 3), torch.full((3, 3), 0.5)
    for out in (memory[1:10].view(3, 3), memory[0], memory[4]):
        with pytest.raises(RuntimeError, match="unsupported operation: some elements"):
            loss(x, y, None, 0 if out.dim() else 1, out=out)
    want = loss(x, y, None, 0)
    assert torch.equal(loss(x, y, None, 0, out=x), want) and torch.equal(x, want)


@pytest.mark.minitorch_only(reason="PyTorch's result depends on the processor: zeros on some")
def test_products_into_their_operands(torch):
    m = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    torch.mm(m, m, out=m)
    assert m.tolist() == [[7.0, 10.0], [15.0, 22.0]]
    torch.addmm(m, torch.ones(2, 2), torch.ones(2, 2), out=m)
    assert m.tolist() == [[9.0, 12.0], [17.0, 24.0]]
    torch.matmul(m, torch.ones(2, 2), out=m)
    assert m.tolist() == [[21.0, 21.0], [41.0, 41.0]]
