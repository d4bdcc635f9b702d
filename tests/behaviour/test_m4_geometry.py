"""Sizes, strides and memory formats."""

import pytest


def strides(t):
    return tuple(t.stride())


@pytest.mark.item("M4.01")
@pytest.mark.parametrize("ndim", [0, 1, 5, 6, 7, 64, 65, 128])
def test_many_dims(torch, ndim):
    shape = (1,) * max(0, ndim - 2) + (2, 3)[: min(ndim, 2)]
    x = torch.arange(1.0, torch.Size(shape).numel() + 1).reshape(shape)
    assert x.dim() == ndim and tuple(x.shape) == shape and x.is_contiguous()
    y = x + x
    assert tuple(y.shape) == shape and y.flatten().tolist() == [2 * v for v in x.flatten().tolist()]
    assert (x * 2).neg().exp().shape == x.shape and x.clone().stride() == x.stride()
    assert torch.zeros(shape).shape == x.shape and torch.ones_like(x).sum().item() == x.numel()


@pytest.mark.item("M4.01")
def test_strides_beyond_the_inline_ones(torch):
    x = torch.zeros(2, 3, 4, 5, 6, 7, 8)
    assert strides(x) == (20160, 6720, 1680, 336, 56, 8, 1)
    y = x.permute(6, 5, 4, 3, 2, 1, 0)
    assert strides(y) == (1, 8, 56, 336, 1680, 6720, 20160) and tuple(y.shape) == (8, 7, 6, 5, 4, 3, 2)
    y.resize_(2, 2)
    assert strides(y) == (2, 1)
    y.resize_(1, 2, 1, 2, 1, 2, 1)
    assert strides(y) == (8, 4, 4, 2, 2, 1, 1)


@pytest.mark.item("M4.01")
def test_reductions_take_dims_up_to_64(torch):
    x = torch.ones((1,) * 64)
    assert x.sum(63).dim() == 63 and x.sum((0, 1)).dim() == 62
    y = torch.ones((1,) * 65)
    for call in (lambda: y.sum(64), lambda: y.sum((0, 1)), lambda: y.amax(0), lambda: y.any(0)):
        with pytest.raises(RuntimeError, match="64"):
            call()
    assert y.sum().item() == 1


@pytest.mark.item("M4.02")
def test_attributes(torch):
    x = torch.zeros(2, 3, 4, dtype=torch.int16)
    v = x[1]
    assert tuple(x.shape) == tuple(x.size()) == (2, 3, 4) and x.size(1) == x.size(-2) == 3
    assert isinstance(x.shape, torch.Size) and x.shape.numel() == 24
    assert strides(x) == (12, 4, 1) and x.stride(0) == 12 and x.stride(-1) == 1
    assert x.storage_offset() == 0 and v.storage_offset() == 12
    assert x.numel() == x.nelement() == 24
    assert x.dim() == x.ndimension() == x.ndim == 3
    assert x.element_size() == x.itemsize == 2 and x.nbytes == 48
    assert x.dtype is torch.int16 and x.device == torch.device("cpu") and x.layout is torch.strided
    assert x.is_cpu and not x.is_cuda and not x.is_meta and not x.is_sparse
    assert not x.is_quantized and not x.is_mkldnn and x.get_device() == -1
    m = torch.zeros(2, device="meta")
    assert m.is_meta and not m.is_cpu and m.nbytes == 8
    for call in (lambda: x.size(3), lambda: x.stride(-4)):
        with pytest.raises(IndexError, match="out of range"):
            call()
    for name in ("is_cpu", "ndim", "shape", "itemsize", "nbytes", "layout", "device", "dtype", "is_meta"):
        with pytest.raises((AttributeError, TypeError)):
            setattr(x, name, 1)


@pytest.mark.item("M4.03")
def test_is_contiguous(torch):
    assert torch.zeros(2, 3).is_contiguous() and not torch.zeros(2, 3).t().is_contiguous()
    assert (
        torch.zeros(4, 1).as_strided((4, 1), (1, 7)).is_contiguous()
    )  # a size of 1 has no stride that counts
    assert torch.zeros(8).as_strided((1, 4), (100, 1)).is_contiguous()
    assert torch.zeros(0, 3).t().is_contiguous() and torch.zeros(5)[:0].is_contiguous()
    assert torch.zeros(()).is_contiguous() and not torch.zeros(1, 3).expand(2, 3).is_contiguous()
    assert not torch.zeros(6)[::2].is_contiguous()


@pytest.mark.item("M4.03")
def test_is_contiguous_for_a_format(torch):
    last, last_3d = torch.channels_last, torch.channels_last_3d
    x = torch.zeros(2, 3, 4, 5)
    y = x.contiguous(memory_format=last)
    assert not x.is_contiguous(memory_format=last) and x.is_contiguous(memory_format=torch.contiguous_format)
    assert y.is_contiguous(memory_format=last) and not y.is_contiguous()
    assert not y.is_contiguous(memory_format=last_3d)
    for shape in ((2, 1, 4, 4), (2, 3, 1, 1)):
        z = torch.zeros(shape)
        assert z.is_contiguous() and z.is_contiguous(memory_format=last), shape
    w = torch.zeros(2, 3, 2, 4, 5).contiguous(memory_format=last_3d)
    assert strides(w) == (120, 1, 60, 15, 3) and w.is_contiguous(memory_format=last_3d)
    assert torch.zeros(2, 1, 2, 4, 5).is_contiguous(memory_format=last_3d)
    assert not torch.zeros(3, 4).is_contiguous(memory_format=last)
    assert not torch.zeros(2, 3, 4).is_contiguous(memory_format=last_3d)
    assert not torch.zeros(0, 3, 4, 5).is_contiguous(memory_format=last)


@pytest.mark.item("M4.04")
def test_contiguous(torch):
    x = torch.arange(24.0).reshape(2, 3, 2, 2)
    assert x.contiguous() is x
    t = x.permute(3, 2, 1, 0)
    c = t.contiguous()
    assert c is not t and strides(c) == (12, 6, 2, 1) and c.equal(t) and not c._is_view()
    y = x.contiguous(memory_format=torch.channels_last)
    assert strides(y) == (12, 1, 6, 3) and y.equal(x) and y.contiguous(memory_format=torch.channels_last) is y
    one = torch.zeros(2, 1, 4, 4)
    assert one.contiguous(memory_format=torch.channels_last) is one
    for bad, fmt, rank in (
        (torch.zeros(2, 3), torch.channels_last, 4),
        (torch.zeros(2, 3, 4), torch.channels_last, 4),
        (x, torch.channels_last_3d, 5),
    ):
        with pytest.raises(RuntimeError, match="required rank %d" % rank):
            bad.contiguous(memory_format=fmt)
    with pytest.raises(RuntimeError, match="preserve"):
        t.contiguous(memory_format=torch.preserve_format)


@pytest.mark.item("M4.05")
def test_layout_of_two_operands(torch):
    a, b = torch.zeros(3, 2), torch.zeros(2, 3)
    assert strides(a.t() + b) == (1, 2) and strides(b + a.t()) == (3, 1)
    square, other = torch.zeros(3, 3), torch.zeros(3, 3)
    assert strides(square.t() + other) == (1, 3) and strides(other + square.t()) == (3, 1)
    assert strides(a.t() + 1) == (1, 2) and strides(1 + a.t()) == (1, 2)
    assert strides(a.t() + torch.zeros(2, 1)) == (1, 2)
    assert strides(torch.zeros(3) + a.t()) == (1, 2)
    assert strides(torch.zeros(()) + a.t()) == (1, 2)
    assert strides(a.t().exp()) == (1, 2) and strides(a.t() > b.mul(0)) == (1, 2)
    # neither dense nor contiguous: the order of the dims stays, the gaps go
    gaps = torch.zeros(4, 6)[::2, ::3].t()
    assert strides(gaps + gaps) == (1, 2)
    assert strides(torch.zeros(2, 3, 4).permute(2, 0, 1).neg()) == (1, 12, 4)
    assert strides(torch.zeros(1, 3).expand(2, 3) + 1) == (3, 1)


@pytest.mark.item("M4.05")
def test_channels_last_propagates(torch):
    x = torch.ones(2, 3, 4, 5).contiguous(memory_format=torch.channels_last)
    y = torch.ones(2, 3, 4, 5)
    bias = torch.ones(3, 1, 1)
    nhwc = (60, 1, 15, 3)
    for name, result in {
        "unary": x.exp(),
        "number": x * 2,
        "same": x + x,
        "first": x + y,
        "broadcast": x + bias,
        "broadcast left": bias + x,
        "compare": x > 0.5,
        "cast": x.double(),
        "where": torch.where(x > 0, x, 0.0),
        "clamp": x.clamp(0, 1),
        "ternary": torch.addcmul(x, x, x),
        "relu": torch.relu(x),
        "gelu": torch.nn.functional.gelu(x),
        "like": torch.zeros_like(x),
        "clone": x.clone(),
        "lerp": torch.lerp(x, x, 0.5),
        "dropout": torch.nn.functional.dropout(x, 0.5, True),
        "cat": torch.cat([x, x], 0),
    }.items():
        assert strides(result) == nhwc, name
    assert strides(y + x) == (60, 20, 5, 1)
    assert strides(torch.cat([x, x], 1)) == (120, 1, 30, 6)
    assert strides(torch.zeros_like(x, memory_format=torch.contiguous_format)) == (60, 20, 5, 1)
    z = torch.ones(2, 3, 2, 4, 5).contiguous(memory_format=torch.channels_last_3d)
    for result in (z.exp(), z + z, z * 2, z.clone(), torch.relu(z), z.half()):
        assert strides(result) == (120, 1, 60, 15, 3)


@pytest.mark.item("M4.05")
def test_channels_last_through_layers(torch):
    F = torch.nn.functional
    x = torch.rand(2, 4, 8, 8).contiguous(memory_format=torch.channels_last)
    w = torch.rand(6, 4, 3, 3)

    def is_last(t):
        return t.is_contiguous(memory_format=torch.channels_last) and not t.is_contiguous()

    assert is_last(F.conv2d(x, w)) and is_last(F.conv2d(x, w.contiguous(memory_format=torch.channels_last)))
    assert (
        is_last(F.max_pool2d(x, 2)) and is_last(F.avg_pool2d(x, 2)) and is_last(F.adaptive_avg_pool2d(x, 3))
    )
    assert is_last(F.interpolate(x, scale_factor=2)) and is_last(
        F.interpolate(x, scale_factor=2, mode="bilinear")
    )
    bn = torch.nn.BatchNorm2d(4)
    assert is_last(bn(x)) and is_last(bn.eval()(x))
    assert is_last(F.group_norm(x, 2)) and is_last(F.pad(x, (1, 1)))
    assert strides(F.softmax(x, 1)) == strides(x.masked_fill(x > 2, 0.0)) == (256, 64, 8, 1)
    assert strides(F.pixel_shuffle(x, 2)) == (256, 1, 16, 1)


@pytest.mark.item("M4.06")
def test_clone_and_formats(torch):
    x = torch.arange(120.0).reshape(2, 3, 4, 5)
    nhwc = (60, 1, 15, 3)
    assert strides(x.permute(3, 1, 0, 2).clone()) == strides(x.permute(3, 1, 0, 2))
    assert strides(x.permute(3, 1, 0, 2).clone(memory_format=torch.contiguous_format)) == (24, 8, 4, 1)
    assert strides(x[:, ::2].clone()) == (40, 20, 5, 1)
    assert strides(x[:1].expand(2, 3, 4, 5).clone()) == (60, 20, 5, 1)
    for y in (
        x.clone(memory_format=torch.channels_last),
        x.to(memory_format=torch.channels_last),
        x.to(torch.float64, memory_format=torch.channels_last),
        torch.empty(2, 3, 4, 5, memory_format=torch.channels_last),
        torch.empty_like(x, memory_format=torch.channels_last),
        torch.rand_like(x, memory_format=torch.channels_last),
        x.float().contiguous(memory_format=torch.channels_last),
        torch.zeros(1).resize_(2, 3, 4, 5, memory_format=torch.channels_last),
        torch.zeros(1).resize_as_(x, memory_format=torch.channels_last),
    ):
        assert strides(y) == nhwc
    assert strides(torch.empty(2, 3, 2, 4, 5, memory_format=torch.channels_last_3d)) == (120, 1, 60, 15, 3)
    z = x.contiguous(memory_format=torch.channels_last)
    assert z.to(memory_format=torch.channels_last) is z and z.to(memory_format=torch.preserve_format) is z
    assert strides(z.double()) == nhwc and strides(z.to(torch.float64)) == nhwc
    assert strides(z.double(memory_format=torch.contiguous_format)) == (60, 20, 5, 1)
    for bad in (
        lambda: torch.empty(2, 3, memory_format=torch.channels_last),
        lambda: torch.zeros(2, 3).clone(memory_format=torch.channels_last),
        lambda: torch.zeros(4).resize_(2, 2, memory_format=torch.channels_last),
        lambda: torch.empty(2, 3, 4, 5, memory_format=torch.preserve_format),
    ):
        with pytest.raises(RuntimeError):
            bad()


@pytest.mark.item("M4.06")
def test_dim_order(torch):
    x = torch.zeros(2, 3, 4, 5)
    assert x.dim_order() == (0, 1, 2, 3)
    assert x.contiguous(memory_format=torch.channels_last).dim_order() == (0, 2, 3, 1)
    assert x.permute(3, 0, 2, 1).dim_order() == (1, 3, 2, 0)
    assert torch.zeros(()).dim_order() == ()
    one = torch.zeros(2, 1, 3)
    assert one.dim_order() == (0, 1, 2)
    with pytest.raises(RuntimeError):
        one.dim_order(ambiguity_check=True)
    assert x.dim_order(ambiguity_check=True) == (0, 1, 2, 3)
    both = [torch.contiguous_format, torch.channels_last]
    assert x.dim_order(ambiguity_check=both) == (0, 1, 2, 3)
    with pytest.raises(RuntimeError):
        torch.zeros(2, 1, 4, 5).dim_order(ambiguity_check=both)
    with pytest.raises(TypeError):
        x.dim_order(ambiguity_check="yes")


@pytest.mark.item("M4.07")
def test_internal_overlap(torch):
    def expanded():
        return torch.zeros(1, 3).expand(4, 3)

    rows = torch.ones(4, 3)
    for write in (
        lambda t: t.add_(1),
        lambda t: t.mul_(2),
        lambda t: t.copy_(rows),
        lambda t: t.exp_(),
        lambda t: t.clamp_(0, 1),
        lambda t: t.normal_(),
        lambda t: t.uniform_(),
        lambda t: torch.add(rows, 1, out=t),
        lambda t: torch.exp(rows, out=t),
        lambda t: t.addcmul_(rows, rows),
        lambda t: t.scatter_(0, torch.zeros(4, 3, dtype=torch.int64), rows),
        lambda t: t.index_add_(0, torch.arange(4), rows),
        lambda t: t.index_copy_(0, torch.arange(4), rows),
        lambda t: t.__iadd__(1),
        lambda t: t.masked_scatter_(rows > 0, rows),
        lambda t: t.random_(),
    ):
        t = expanded()
        with pytest.raises(RuntimeError, match="single memory location"):
            write(t)
        assert t.eq(0).all()
    assert expanded().zero_().eq(0).all() and expanded().fill_(2).eq(2).all()


@pytest.mark.item("M4.07")
def test_internal_overlap_that_warns(torch):
    for write in (
        lambda t: t.index_fill_(0, torch.tensor([1]), 2.0),
        lambda t: t.masked_fill_(torch.ones(4, 3, dtype=torch.bool), 2.0),
        lambda t: t.index_put_((torch.tensor([1]),), torch.tensor(2.0)),
    ):
        with pytest.warns(UserWarning, match="expanded"):
            write(torch.zeros(1, 3).expand(4, 3))


@pytest.mark.item("M4.07")
def test_overlap_of_two(torch):
    x = torch.arange(6.0)
    for call in (
        lambda: x[1:].add_(x[:-1]),
        lambda: torch.add(x[1:], 1, out=x[:-1]),
        lambda: x[1:].copy_(x[:-1]),
        lambda: torch.sin(x[:-1], out=x[1:]),
    ):
        with pytest.raises(RuntimeError, match="overlap|single memory location|memory location"):
            call()
    assert x.tolist() == [0, 1, 2, 3, 4, 5]
    assert x.add_(x).tolist() == [0, 2, 4, 6, 8, 10]
    assert torch.mul(x, 2, out=x).tolist() == [0, 4, 8, 12, 16, 20]
    assert x[:3].add_(x[3:]).tolist() == [12, 20, 28]
    assert x.view(2, 3)[0].add_(x[:3]).tolist() == [24, 40, 56]
    assert x[::2].add_(x[1::2]).tolist() == [64.0, 68.0, 36.0]


@pytest.mark.item("M4.07")
def test_debug_has_internal_overlap(torch):
    overlap = torch._debug_has_internal_overlap
    assert overlap(torch.zeros(3, 4)) == 0 and overlap(torch.zeros(3, 4).t()) == 0
    assert overlap(torch.zeros(1, 3).expand(4, 3)) == 1 and overlap(torch.zeros(1).expand(1)) == 0
    assert overlap(torch.zeros(6).as_strided((2, 3), (1, 1))) == 2
    assert overlap(torch.zeros(6)[::2]) == 2
