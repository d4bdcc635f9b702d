"""Views: which ops make them, what they share, and what they refuse."""

import warnings

import pytest


def strides(t):
    return tuple(t.stride())


def shares(a, b):
    return a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr()


VIEW_CALLS = {
    "index int": lambda t, x: x[1],
    "index slice": lambda t, x: x[:, 1:],
    "index ellipsis": lambda t, x: x[...],
    "index none": lambda t, x: x[None],
    "index all": lambda t, x: x[:],
    "index empty tuple": lambda t, x: x[()],
    "adjoint": lambda t, x: x.adjoint(),
    "as_strided": lambda t, x: x.as_strided((2, 2), (1, 2)),
    "diagonal": lambda t, x: x.diagonal(),
    "linalg.diagonal": lambda t, x: t.linalg.diagonal(x),
    "expand": lambda t, x: x.expand(5, 2, 3, 4),
    "expand_as": lambda t, x: x.expand_as(x),
    "broadcast_to": lambda t, x: x.broadcast_to(2, 3, 4),
    "movedim": lambda t, x: x.movedim(0, 1),
    "moveaxis": lambda t, x: x.moveaxis(0, 1),
    "narrow": lambda t, x: x.narrow(1, 0, 2),
    "permute": lambda t, x: x.permute(2, 0, 1),
    "select": lambda t, x: x.select(0, 1),
    "squeeze": lambda t, x: x.squeeze(),
    "squeeze dim": lambda t, x: x.squeeze(0),
    "transpose": lambda t, x: x.transpose(0, 1),
    "swapaxes": lambda t, x: x.swapaxes(0, 1),
    "swapdims": lambda t, x: x.swapdims(0, 1),
    "t": lambda t, x: x[0].t(),
    "T": lambda t, x: x[0].T,
    "H": lambda t, x: x[0].H,
    "mT": lambda t, x: x.mT,
    "mH": lambda t, x: x.mH,
    "unflatten": lambda t, x: x.unflatten(2, (2, 2)),
    "unfold": lambda t, x: x.unfold(2, 2, 1),
    "unsqueeze": lambda t, x: x.unsqueeze(0),
    "view": lambda t, x: x.view(6, 4),
    "view_as": lambda t, x: x.view_as(x),
    "reshape": lambda t, x: x.reshape(4, 6),
    "reshape_as": lambda t, x: x.reshape_as(x),
    "ravel": lambda t, x: x.ravel(),
    "flatten": lambda t, x: x.flatten(),
    "unbind": lambda t, x: x.unbind(1)[1],
    "split": lambda t, x: x.split(2, 1)[1],
    "split_with_sizes": lambda t, x: x.split_with_sizes([1, 2], 1)[1],
    "chunk": lambda t, x: x.chunk(2, 2)[1],
    "tensor_split": lambda t, x: x.tensor_split(2, 2)[1],
    "hsplit": lambda t, x: x.hsplit(3)[1],
    "vsplit": lambda t, x: x.vsplit(2)[1],
    "dsplit": lambda t, x: x.dsplit(2)[1],
    "_neg_view": lambda t, x: x._neg_view(),
    "alias": lambda t, x: t.ops.aten.alias(x) if hasattr(t.ops, "aten") else t.alias(x),
}


@pytest.mark.item("M4.20")
@pytest.mark.parametrize("name", sorted(set(VIEW_CALLS) - {"alias"}))
def test_views_share_and_know_their_root(torch, name):
    x = torch.arange(24.0).mul(1).reshape(2, 3, 4).clone()
    v = VIEW_CALLS[name](torch, x)
    assert v is not x and v._is_view() and shares(v, x)
    assert v._base is x and not x._is_view() and x._base is None
    inner = v.unsqueeze(0)
    assert inner._base is x
    # a write is seen on the other side
    before = v._version
    x.add_(1)
    assert v._version == before + 1
    tracked = torch.zeros(2, 3, 4, requires_grad=True)
    with torch.no_grad():
        w = VIEW_CALLS[name](torch, tracked)
    assert w._is_view() and w._base is tracked and w.requires_grad and w.grad_fn is None


@pytest.mark.item("M4.20")
def test_complex_views(torch):
    z = torch.zeros(3, 2, dtype=torch.complex64)
    for v in (z.real, z.imag, z.conj(), torch.view_as_real(z), z.conj().imag, z.mH, z.H):
        assert v._is_view() and v._base is z and shares(v, z)
    r = torch.zeros(3, 2)
    assert torch.view_as_complex(r)._base is r


@pytest.mark.item("M4.20")
def test_what_is_no_view(torch):
    x = torch.zeros(2, 3)
    assert not x.detach()._is_view() and x.detach()._base is None and shares(x.detach(), x)
    assert not x.data._is_view() and shares(x.data, x)
    for copy in (
        x.clone(),
        x + 0,
        x.t().contiguous(),
        x.t().reshape(6),
        x.repeat(1, 1),
        x[torch.tensor([0])],
    ):
        assert not copy._is_view() and copy._base is None and not shares(copy, x)
    assert x.view(3, 2).detach()._base is None
    base = torch.zeros(4, requires_grad=True)
    assert base[1:].requires_grad and base[1:].grad_fn is not None


@pytest.mark.item("M4.21")
def test_view_of_sizes(torch):
    x = torch.arange(24.0).reshape(2, 3, 4)
    assert (
        x.view(6, 4).shape == x.view([6, 4]).shape == x.view(torch.Size([6, 4])).shape == x.view((6, 4)).shape
    )
    assert x.view(-1, 12).shape == (2, 12) and x.view(24).shape == (24,)
    one = torch.ones(1, 1)
    assert one.view([]).shape == () and one.view(()).shape == () and one.view(1, 1, 1).shape == (1, 1, 1)
    t = x.transpose(0, 1)  # 3 x 2 x 4
    assert strides(t.view(3, 2, 2, 2)) == (4, 12, 2, 1)  # a dim may be split
    assert strides(x[:, :, ::2].view(6, 2)) == (4, 2)
    assert strides(x.permute(2, 0, 1).view(2, 2, 6)) == (2, 1, 4)
    assert strides(x.view(2, 1, 12)) == (12, 12, 1)
    assert torch.zeros(0, 3).view(3, 0, 5).shape == (3, 0, 5)
    assert torch.zeros(0, 3).view(-1, 3).shape == (0, 3)


@pytest.mark.item("M4.21")
def test_view_of_sizes_refuses(torch):
    x = torch.zeros(2, 3, 4)
    for shape, text in (
        ((5, 5), r"shape '\[5, 5\]' is invalid for input of size 24"),
        ((-1, 5), r"shape '\[-1, 5\]' is invalid for input of size 24"),
        ((-1, -1), "only one dimension can be inferred"),
        ((-2, 12), "invalid shape dimension"),
    ):
        with pytest.raises(RuntimeError, match=text):
            x.view(shape)
    with pytest.raises(RuntimeError, match="reshape"):
        x.transpose(0, 1).view(24)
    with pytest.raises(RuntimeError, match="reshape"):
        x[:, :2].view(16)
    with pytest.raises(RuntimeError, match="ambiguous"):
        torch.zeros(0, 3).view(-1, 0)
    with pytest.raises(TypeError):
        x.view()
    with pytest.raises(TypeError):
        x.view(2.0, 12)


@pytest.mark.item("M4.22")
def test_view_as_another_dtype(torch):
    x = torch.tensor([1.0, -2.0])
    bits = x.view(torch.int32)
    assert bits.tolist() == [0x3F800000, -0x40000000] and shares(bits, x) and not bits._is_view()
    bits[0] = 0
    assert x[0].item() == 0
    assert strides(torch.zeros(4, 6).t().view(torch.int32)) == (1, 6)  # same size: any layout
    y = torch.zeros(3, 4)
    assert y.view(torch.float64).shape == (3, 2) and strides(y.view(torch.float64)) == (2, 1)
    assert y.view(torch.int16).shape == (3, 8) and strides(y.view(torch.int16)) == (8, 1)
    assert y.view(torch.complex64).shape == (3, 2) and y.view(torch.float32) is not y
    assert y[:, 2:].view(torch.int64).storage_offset() == 1
    assert y[1:].view(torch.uint8).storage_offset() == 16
    assert torch.zeros(8, 3)[::2].view(torch.uint8).shape == (4, 12)
    assert torch.zeros(()).view(torch.int32).shape == ()


@pytest.mark.item("M4.22")
def test_view_as_another_dtype_refuses(torch):
    y = torch.zeros(3, 5)
    for bad, dtype, text in (
        (y, torch.float64, r"self.size\(-1\)"),
        (torch.zeros(4, 6).t(), torch.float64, r"self.stride\(-1\)"),
        (torch.zeros(3, 4)[:, 1:3], torch.float64, r"self.storage_offset\(\)"),
        (torch.zeros(3, 5)[:, :4], torch.float64, r"self.stride\(0\)"),
        (torch.zeros(()), torch.float64, r"self.dim\(\)"),
        (torch.zeros(()), torch.int16, r"self.dim\(\)"),
        (torch.zeros(4, 6).t(), torch.int16, r"self.stride\(-1\)"),
    ):
        with pytest.raises(RuntimeError, match=text):
            bad.view(dtype)
    z = torch.zeros(2, dtype=torch.complex64)
    for lazy in (z.conj(), z.conj().imag):
        with pytest.raises(RuntimeError):
            lazy.view(torch.int32)


@pytest.mark.item("M4.23")
def test_as_strided(torch):
    x = torch.arange(24.0).clone().reshape(2, 12).clone()
    v = x[1].as_strided((2,), (1,))
    assert v.storage_offset() == 12 and v.tolist() == [12, 13] and v._base is x
    assert x[1].as_strided((2,), (1,), 0).tolist() == [0, 1]
    assert torch.as_strided(x, (2, 2), (12, 3), 1).tolist() == [[1, 4], [13, 16]]
    assert x.as_strided((3, 3), (0, 1)).tolist() == [[0, 1, 2]] * 3
    assert x.as_strided((), ()).item() == 0 and x.as_strided((0,), (5,), 100).shape == (0,)
    y = torch.arange(6.0)
    assert y.as_strided_((2, 3), (3, 1)) is y and y.shape == (2, 3)


@pytest.mark.item("M4.23")
def test_as_strided_refuses(torch):
    x = torch.zeros(24)
    for size, stride, offset, text in (
        ((2,), (1, 1), 0, "mismatch|match"),
        ((2,), (-1,), 5, "[Nn]egative"),
        ((2,), (1,), -1, "offset"),
        ((100,), (1,), 0, "out of bounds"),
        ((2,), (24,), 0, "out of bounds"),
        ((1,), (1,), 24, "out of bounds"),
        ((-1,), (1,), 0, ""),
    ):
        with pytest.raises(RuntimeError, match=text):
            x.as_strided(size, stride, offset)
    with pytest.raises(RuntimeError, match=r"100.*bytes|400.*96"):
        x.as_strided((100,), (1,))


@pytest.mark.item("M4.23")
@pytest.mark.minitorch_only(
    reason="PyTorch's check of the extent overflows, and the tensor reads foreign memory"
)
def test_as_strided_extent_beyond_63_bits(torch):
    x = torch.zeros(24)
    for call in (x.as_strided, x.clone().as_strided_):
        with pytest.raises(RuntimeError):
            call((2, 2), (2**62, 2**62))
        with pytest.raises(RuntimeError):
            call((2**62, 8), (1, 1))


@pytest.mark.item("M4.24")
def test_expand(torch):
    x = torch.zeros(2, 3, 4)
    assert strides(x.expand(5, 2, 3, 4)) == (0, 12, 4, 1) and x.expand(-1, 3, -1).shape == (2, 3, 4)
    assert strides(torch.zeros(1, 3).expand(4, -1)) == (0, 1)
    assert torch.zeros(1, 3).expand(0, 3).shape == (0, 3) and torch.zeros(()).expand(2, 3).shape == (2, 3)
    assert x.expand(torch.Size([2, 3, 4])).shape == x.expand([2, 3, 4]).shape
    assert torch.zeros(3, 1).expand_as(torch.zeros(2, 3, 4)).shape == (2, 3, 4)
    v = torch.zeros(3)
    for size, text in (
        ((3, 2), "3"),
        ((-1, 3), "-1"),
        ((), "greater or equal|dimensions"),
        ((2,), "must match"),
    ):
        with pytest.raises(RuntimeError, match=text):
            v.expand(size)


@pytest.mark.item("M4.25")
def test_orders_of_dims(torch):
    x = torch.zeros(2, 3, 4)
    assert x.transpose(0, -1).shape == (4, 3, 2) and x.permute(2, 0, 1).shape == x.permute(
        (2, 0, 1)
    ).shape == (4, 2, 3)
    assert x.movedim((0, 1), (1, 2)).shape == (4, 2, 3) and x.movedim(0, -1).shape == (3, 4, 2)
    assert x.mT.shape == (2, 4, 3) and torch.zeros(3).t().shape == (3,) and torch.zeros(()).t().shape == ()
    for call in (
        lambda: x.transpose(0, 3),
        lambda: x.permute(0, 1, 3),
        lambda: x.movedim(0, 5),
        lambda: x.swapaxes(-4, 0),
    ):
        with pytest.raises(IndexError, match="range"):
            call()
    for call in (
        lambda: x.permute(0, 0, 1),
        lambda: x.permute(0, 1),
        lambda: x.movedim((0, 0), (1, 2)),
        lambda: x.movedim((0, 1), (1, 1)),
        lambda: x.movedim((0, 1), (1,)),
        lambda: x.t(),
        lambda: torch.zeros(3).mT,
        lambda: torch.zeros(3).mH,
        lambda: x.H,
        lambda: torch.zeros(3).H,
        lambda: torch.zeros(3).adjoint(),
    ):
        with pytest.raises(RuntimeError):
            call()


@pytest.mark.item("M4.25")
def test_deprecated_orders_warn(torch):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert torch.zeros(2, 3, 4).T.shape == (4, 3, 2)
        assert torch.zeros(()).H.shape == ()
    assert all(issubclass(w.category, UserWarning) for w in caught)


@pytest.mark.item("M4.26")
def test_squeeze_and_unsqueeze(torch):
    x = torch.zeros(1, 3, 1, 4)
    assert (
        x.squeeze().shape == (3, 4) and x.squeeze(0).shape == (3, 1, 4) and x.squeeze(1).shape == (1, 3, 1, 4)
    )
    assert (
        x.squeeze((0, 2)).shape == (3, 4)
        and x.squeeze((-2, 1)).shape == (1, 3, 4)
        and x.squeeze(()).shape == x.shape
    )
    y = torch.zeros(3, 4)
    assert [tuple(y.unsqueeze(d).shape) for d in (-3, -1, 0, 2)] == [
        (1, 3, 4),
        (3, 4, 1),
        (1, 3, 4),
        (3, 4, 1),
    ]
    for call in (
        lambda: y.unsqueeze(3),
        lambda: y.unsqueeze(-4),
        lambda: x.squeeze(4),
        lambda: x.squeeze((0, 5)),
    ):
        with pytest.raises(IndexError, match="range"):
            call()
    assert torch.zeros(()).unsqueeze(-1).shape == (1,) and torch.zeros(()).squeeze(0).shape == ()


@pytest.mark.item("M4.26")
def test_select_narrow_unfold_diagonal(torch):
    x = torch.arange(12.0).reshape(3, 4)
    assert x.select(1, -1).tolist() == [3, 7, 11] and x.narrow(0, 1, 2).tolist() == x[1:].tolist()
    assert x.narrow(0, -2, 1).tolist() == [x[1].tolist()] and x.narrow(0, 3, 0).shape == (0, 4)
    assert x.narrow(0, torch.tensor(1), 1).tolist() == [x[1].tolist()]
    assert x.unfold(1, 2, 2).tolist() == [[[0, 1], [2, 3]], [[4, 5], [6, 7]], [[8, 9], [10, 11]]]
    assert (
        x.diagonal().tolist() == [0, 5, 10]
        and x.diagonal(1).tolist() == [1, 6, 11]
        and x.diagonal(-2).tolist() == [8]
    )
    assert x.diagonal(9).shape == (0,) and strides(x.diagonal()) == (5,)
    for call in (
        lambda: x.select(0, 3),
        lambda: x.select(2, 0),
        lambda: x.narrow(0, 4, 1),
        lambda: x.narrow(2, 0, 1),
        lambda: x.narrow(0, -4, 1),
    ):
        with pytest.raises(IndexError):
            call()
    for call in (
        lambda: x.narrow(0, 2, 2),
        lambda: x.narrow(0, 0, -1),
        lambda: x.unfold(0, 5, 1),
        lambda: x.unfold(0, 2, 0),
        lambda: x.diagonal(0, 1, 1),
    ):
        with pytest.raises(RuntimeError):
            call()
    assert torch.zeros(()).unfold(0, 1, 1).shape == (1,)


@pytest.mark.item("M4.26")
def test_splits(torch):
    x = torch.arange(7.0)
    assert [p.tolist() for p in x.split(3)] == [[0, 1, 2], [3, 4, 5], [6]]
    assert [len(p) for p in x.split([2, 0, 5])] == [2, 0, 5]
    assert [len(p) for p in x.chunk(3)] == [3, 3, 1] and len(torch.arange(4).chunk(3)) == 2
    assert [len(p) for p in x.tensor_split(3)] == [3, 2, 2] and [len(p) for p in x.tensor_split([1, 5])] == [
        1,
        4,
        2,
    ]
    assert [len(p) for p in x.tensor_split(torch.tensor([2, 2, 9]))] == [2, 0, 5, 0]
    assert [len(p) for p in torch.zeros(0).split(0)] == [0]
    assert len(torch.zeros(2, 3).unbind()) == 2 and torch.zeros(2, 3).unbind(1)[0].shape == (2,)
    for call in (
        lambda: x.split([3, 3]),
        lambda: x.split(-1),
        lambda: x.split(0),
        lambda: x.chunk(0),
        lambda: x.tensor_split(0),
        lambda: x.split([8, -1]),
        lambda: x.chunk(-1),
    ):
        with pytest.raises(RuntimeError):
            call()
    with pytest.raises((RuntimeError, IndexError)):
        torch.zeros(()).unbind()


@pytest.mark.item("M4.26")
def test_flatten_and_unflatten(torch):
    x = torch.zeros(2, 3, 4, 5)
    assert (
        x.flatten(1, 2).shape == (2, 12, 5)
        and x.flatten(-2).shape == (2, 3, 20)
        and torch.zeros(()).flatten().shape == (1,)
    )
    assert x.unflatten(1, (3, 1)).shape == (2, 3, 1, 4, 5) and x.unflatten(-1, (-1, 5)).shape == (
        2,
        3,
        4,
        1,
        5,
    )
    with pytest.raises(RuntimeError):
        x.flatten(2, 1)
    with pytest.raises(IndexError):
        x.flatten(0, 4)
    for sizes in ((2, 2), (-1, 2), (), (-1, -1)):
        with pytest.raises(RuntimeError):
            x.unflatten(1, sizes)


@pytest.mark.item("M4.27")
def test_complex_parts(torch):
    z = torch.tensor([1 + 2j, 3 - 4j])
    pairs = torch.view_as_real(z)
    assert pairs.tolist() == [[1, 2], [3, -4]] and strides(pairs) == (2, 1)
    assert torch.view_as_complex(torch.tensor([[1.0, 2.0]])).tolist() == [1 + 2j]
    assert z.real.tolist() == [1, 3] and z.imag.tolist() == [2, -4] and strides(z.imag) == (2,)
    z.real = torch.tensor([7.0, 8.0])
    z.imag = torch.tensor([0.0, 1.0])
    assert z.tolist() == [7 + 0j, 8 + 1j]
    z.real[0] = 5
    assert z[0].item() == 5
    x = torch.ones(2)
    assert x.real is x
    x.real = torch.zeros(2)
    assert x.tolist() == [0, 0]
    with pytest.raises(RuntimeError):
        x.imag
    with pytest.raises(RuntimeError):
        torch.view_as_real(x)
    for bad in (torch.zeros(3), torch.zeros(2, 2).t(), torch.zeros(()), torch.zeros(2, dtype=torch.int64)):
        with pytest.raises(RuntimeError):
            torch.view_as_complex(bad)
    with pytest.raises(RuntimeError):
        torch.view_as_real(z.conj())


@pytest.mark.item("M4.27")
def test_lazy_bits(torch):
    z = torch.tensor([1 + 2j, 3 - 4j])
    c = z.conj()
    assert c.is_conj() and not z.is_conj() and shares(c, z) and c.tolist() == [1 - 2j, 3 + 4j]
    assert not c.conj().is_conj() and c.conj().tolist() == z.tolist()
    assert (
        c.imag.is_neg() and not c.real.is_neg() and c.imag.tolist() == [-2, 4] and c.real.tolist() == [1, 3]
    )
    assert not c.resolve_conj().is_conj() and not shares(c.resolve_conj(), z)
    assert not c.imag.resolve_neg().is_neg() and c.imag.resolve_neg().tolist() == [-2, 4]
    x = torch.ones(2)
    assert x.conj() is x and not x.is_conj() and x.resolve_conj() is x and x.resolve_neg() is x
    n = x._neg_view()
    assert n.is_neg() and n.tolist() == [-1, -1] and shares(n, x) and not n._neg_view().is_neg()
    c[0] = 9 + 1j
    assert z[0].item() == 9 - 1j
    n.add_(3)
    assert x.tolist() == [-2, -2] and n.tolist() == [2, 2]
    assert not (c + 0).is_conj()
    assert torch.ones(2, 2, dtype=torch.complex64).mH.is_conj()


@pytest.mark.item("M4.28")
def test_views_in_place(torch):
    for name, args, shape in (
        ("t_", (), (3, 2)),
        ("transpose_", (0, 1), (3, 2)),
        ("transpose_", (0, 0), (2, 3)),
        ("squeeze_", (), (2, 3)),
        ("squeeze_", (0,), (2, 3)),
        ("unsqueeze_", (0,), (1, 2, 3)),
        ("swapaxes_", (0, 1), (3, 2)),
        ("swapdims_", (0, 1), (3, 2)),
        ("as_strided_", ((3,), (1,)), (3,)),
    ):
        x = torch.zeros(2, 3)
        assert getattr(x, name)(*args) is x and x.shape == shape and x._version == 1, name
    x = torch.zeros(2, requires_grad=True) * 2
    assert x.detach_() is x and x._version == 0 and x.grad_fn is None and not x.requires_grad
    base = torch.zeros(2, requires_grad=True) * 1
    with pytest.raises(RuntimeError, match="detach"):
        base[:1].detach_()


COPIES = {
    "view_copy": lambda t, x: t.view_copy(x, (6, 4)),
    "expand_copy": lambda t, x: t.expand_copy(x, (5, 2, 3, 4)),
    "select_copy": lambda t, x: t.select_copy(x, 0, 1),
    "slice_copy": lambda t, x: t.slice_copy(x, 1, 0, 2),
    "narrow_copy": lambda t, x: t.narrow_copy(x, 1, 0, 2),
    "permute_copy": lambda t, x: t.permute_copy(x, (2, 0, 1)),
    "transpose_copy": lambda t, x: t.transpose_copy(x, 0, 1),
    "t_copy": lambda t, x: t.t_copy(x[0]),
    "squeeze_copy": lambda t, x: t.squeeze_copy(x),
    "unsqueeze_copy": lambda t, x: t.unsqueeze_copy(x, 0),
    "diagonal_copy": lambda t, x: t.diagonal_copy(x),
    "as_strided_copy": lambda t, x: t.as_strided_copy(x, (2, 2), (1, 2)),
    "alias_copy": lambda t, x: t.alias_copy(x),
    "detach_copy": lambda t, x: t.detach_copy(x),
    "unfold_copy": lambda t, x: t.unfold_copy(x, 2, 2, 1),
}


@pytest.mark.item("M4.29")
@pytest.mark.parametrize("name", sorted(COPIES))
def test_copies_of_views(torch, name):
    x = torch.arange(24.0).reshape(2, 3, 4).clone()
    y = COPIES[name](torch, x)
    assert not y._is_view() and not shares(y, x) and y.is_contiguous()
    expected = y.clone()
    x.zero_()
    assert y.equal(expected)


@pytest.mark.item("M4.29")
def test_copies_take_out(torch):
    x = torch.arange(6.0).reshape(2, 3)
    out = torch.empty(0)
    assert torch.permute_copy(x, (1, 0), out=out) is out and out.tolist() == x.t().tolist()
    assert torch.view_copy(x, (3, 2), out=torch.empty(3, 2)).tolist() == x.view(3, 2).tolist()
    for parts in (torch.split_copy(x, 1), torch.unbind_copy(x), torch.split_with_sizes_copy(x, [1, 1])):
        assert len(parts) == 2 and all(not shares(p, x) for p in parts)
    z = torch.ones(2, dtype=torch.complex64)
    assert not shares(torch.view_as_real_copy(z), z)
    assert not shares(torch.view_as_complex_copy(torch.zeros(2, 2)), z)


@pytest.mark.item("M4.30")
def test_alias(torch):
    t = torch.zeros(2, requires_grad=True)
    for other in (torch.Tensor(torch.zeros(2)), torch.zeros(2).as_subclass(torch.Tensor)):
        assert isinstance(other, torch.Tensor)
    x = torch.zeros(3)
    for y in (torch.Tensor(x), x.as_subclass(torch.Tensor)):
        assert y is not x and y.data_ptr() == x.data_ptr() and y._is_view()
    assert type(t.as_subclass(torch.Tensor).grad_fn).__name__ == "AliasBackward0"


SAME = {
    "to dtype": lambda t, x: x.to(t.float32),
    "to device": lambda t, x: x.to("cpu"),
    "to tensor": lambda t, x: x.to(t.zeros(1)),
    "float": lambda t, x: x.float(),
    "cpu": lambda t, x: x.cpu(),
    "type_as": lambda t, x: x.type_as(t.zeros(1)),
    "type": lambda t, x: x.type(t.float32),
    "contiguous": lambda t, x: x.contiguous(),
    "flatten 1-d": lambda t, x: x.flatten(),
    "flatten one dim": lambda t, x: x.flatten(0, 0),
    "real": lambda t, x: x.real,
    "conj": lambda t, x: x.conj(),
    "conj_physical": lambda t, x: x.conj_physical(),
    "resolve_conj": lambda t, x: x.resolve_conj(),
    "resolve_neg": lambda t, x: x.resolve_neg(),
    "atleast_1d": lambda t, x: t.atleast_1d(x),
    "positive": lambda t, x: x.positive(),
    "unary plus": lambda t, x: +x,
    "as_tensor": lambda t, x: t.as_tensor(x),
    "asarray": lambda t, x: t.asarray(x),
    "dropout": lambda t, x: t.nn.functional.dropout(x, 0.5, False),
    "add_": lambda t, x: x.add_(1),
    "zero_": lambda t, x: x.zero_(),
    "copy_": lambda t, x: x.copy_(t.ones(3)),
    "clamp_": lambda t, x: x.clamp_(0, 1),
    "requires_grad_": lambda t, x: x.requires_grad_(),
    "resize_": lambda t, x: x.resize_(3),
    "squeeze_": lambda t, x: x.squeeze_(),
}
FRESH = {
    "view": lambda t, x: x.view(3),
    "reshape": lambda t, x: x.reshape(3),
    "expand": lambda t, x: x.expand(3),
    "expand_as": lambda t, x: x.expand_as(x),
    "broadcast_to": lambda t, x: x.broadcast_to(3),
    "squeeze": lambda t, x: x.squeeze(),
    "ravel": lambda t, x: x.ravel(),
    "t": lambda t, x: x.t(),
    "swapaxes": lambda t, x: x.swapaxes(0, 0),
    "view_as": lambda t, x: x.view_as(x),
    "detach": lambda t, x: x.detach(),
    "data": lambda t, x: x.data,
    "chunk": lambda t, x: x.chunk(1)[0],
    "slice": lambda t, x: x[:],
    "ellipsis": lambda t, x: x[...],
    "empty tuple": lambda t, x: x[()],
}


@pytest.mark.item("M4.31")
def test_identity(torch):
    for name, call in SAME.items():
        x = torch.zeros(3)
        assert call(torch, x) is x, name
    for name, call in FRESH.items():
        x = torch.zeros(3)
        y = call(torch, x)
        assert y is not x and y.data_ptr() == x.data_ptr(), name
    x = torch.zeros(2, 2)
    assert (
        torch.broadcast_tensors(x, x)[0] is x
        and torch.atleast_2d(x) is x
        and torch.atleast_3d(x[None])[0] is not x
    )
    # whether an expression hands out an object twice
    assert x.T is not x.T and x.data is not x.data
