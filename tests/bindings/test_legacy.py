# SPDX-License-Identifier: BSD-3-Clause
"""torch.Tensor(...), torch.FloatTensor and its like, x.new(...), subclasses."""

import warnings

import numpy as np
import pytest


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def raises(call, kind, text=""):
    with pytest.raises(kind) as info:
        call()
    assert type(info.value) is kind and text in str(info.value), repr(info.value)


class AsIndex:
    def __index__(self):
        return 7


def test_sizes(torch):
    T = torch.Tensor
    assert T().shape == (0,) and T(device="cpu").shape == (0,)
    assert T(2, 3).shape == (2, 3) and T(torch.Size([2, 3])).shape == (2, 3) and T(1).shape == (1,)
    assert T(np.int64(3)).shape == (3,) and T(np.array(3)).shape == (3,) and T(AsIndex()).shape == (7,)
    assert T(2, torch.tensor(3)).shape == (2, 3) and T(torch.tensor(2), torch.tensor(3)).shape == (2, 3)
    assert T(size=(2, 3)).shape == (2, 3) and T(2, 3, device="cpu").shape == (2, 3)
    assert T(2).dtype is torch.float32


def test_data(torch):
    T = torch.Tensor
    for data in ((2, 3), [2, 3], range(2, 4), np.array([2, 3]), bytearray(b"\2\3"), np.array([2.0, 3.0])):
        t = T(data)
        assert t.dtype is torch.float32 and t.tolist() == [2.0, 3.0]
    assert T(np.array(3.0)).shape == () and T(data=[1]).tolist() == [1.0]
    assert T(()).shape == (0,) and T([]).shape == (0,) and T([2**70]).tolist() == [2.0**70]
    assert T([AsIndex()]).tolist() == [7.0] and T([1], device="cpu").tolist() == [1.0]
    a = np.zeros(3, dtype=np.float32)
    T(a)[0] = 5
    assert a[0] == 5.0


def test_aliases(torch):
    x, i = torch.ones(2, 3), torch.ones(2, dtype=torch.int32)
    leaf = torch.ones(2, requires_grad=True)
    y = torch.Tensor(x)
    assert y is not x and y.data_ptr() == x.data_ptr() and torch.Tensor(i).dtype is torch.int32
    assert torch.Tensor(leaf).requires_grad and torch.Tensor(leaf).grad_fn is not None
    s = torch.arange(4.0).untyped_storage()
    assert (
        torch.Tensor(s).tolist() == [0.0, 1.0, 2.0, 3.0] and torch.FloatTensor(s).data_ptr() == s.data_ptr()
    )
    assert torch.Tensor(torch.arange(4.0)._typed_storage()).shape == (4,)
    raises(
        lambda: torch.Tensor(torch.arange(4)._typed_storage()),
        RuntimeError,
        "Expected a Storage of type Float or an UntypedStorage, but got type Long for argument 1 'storage'",
    )


def test_errors(torch):
    T = torch.Tensor
    raises(lambda: T(1.0), TypeError, "new(): data must be a sequence (got float)")
    raises(lambda: T(True), TypeError, "new(): data must be a sequence (got bool)")
    raises(lambda: T(None), TypeError, "new(): data must be a sequence (got NoneType)")
    raises(lambda: T({}), TypeError, "new(): data must be a sequence (got dict)")
    raises(lambda: T(np.float64(3)), TypeError, "new(): data must be a sequence (got numpy.float64)")
    raises(lambda: T("a"), TypeError, "new(): invalid data type 'str'")
    raises(lambda: T(["a"]), ValueError, "too many dimensions 'str'")
    raises(lambda: T([[1, 2], [3]]), ValueError, "expected sequence of length 2 at dim 1 (got 1)")
    raises(lambda: T([1j]), TypeError, "must be real number, not complex")
    raises(lambda: T(-1), RuntimeError, "Trying to create tensor with negative dimension -1: [-1]")
    raises(lambda: T(2, -1), RuntimeError, "Trying to create tensor with negative dimension -1: [2, -1]")
    raises(lambda: T(2, 3.0), TypeError, "argument 'size' failed to unpack the object at pos 2")
    raises(lambda: T(2, None), TypeError, "argument 'size' failed to unpack the object at pos 2")
    for call in (
        lambda: T(2.0, 3),
        lambda: T([1], [2]),
        lambda: T(2, dtype=torch.float32),
        lambda: T(size=2),
        lambda: T(2, requires_grad=True),
        lambda: T(2, 3, foo=1),
    ):
        raises(call, TypeError, "new() received an invalid combination of arguments - got (")
    raises(
        lambda: T(torch.ones(1), device="cpu"),
        RuntimeError,
        "Use torch.tensor(...) or torch.as_tensor(...) instead.",
    )
    raises(
        lambda: T(2, device="meta"),
        RuntimeError,
        "legacy constructor expects device type: cpu but device type: meta",
    )
    raises(lambda: T(2**62, 2**62), RuntimeError, "Storage size calculation overflowed")


def test_typed(torch):
    x, i = torch.ones(2, 3), torch.ones(2, dtype=torch.int32)
    for name, dtype in (
        ("Float", torch.float32),
        ("Double", torch.float64),
        ("Half", torch.float16),
        ("BFloat16", torch.bfloat16),
        ("Long", torch.int64),
        ("Int", torch.int32),
        ("Short", torch.int16),
        ("Char", torch.int8),
        ("Byte", torch.uint8),
        ("Bool", torch.bool),
    ):
        kind = getattr(torch, name + "Tensor")
        assert repr(kind) == "<class 'torch.%sTensor'>" % name and kind.dtype is dtype
        t = kind([1, 0])
        assert t.dtype is dtype and type(t) is torch.Tensor and isinstance(t, kind) and kind(2).shape == (2,)
        assert isinstance(x, kind) == (dtype is torch.float32)
    F = torch.FloatTensor
    assert F.__name__ == "FloatTensor" and F.__module__ == "torch" and not F.is_cuda and not F.is_sparse
    assert repr(type(F)) == "<class 'torch.tensortype'>" and F.layout is torch.strided
    assert not issubclass(torch.Tensor, F) and not issubclass(F, torch.Tensor) and not isinstance(3, F)
    assert F(x).data_ptr() == x.data_ptr() and not isinstance(torch.ones(1, device="meta"), F)
    assert torch.LongTensor([1.5, 2]).tolist() == [1, 2]
    raises(lambda: F(i), TypeError, "expected TensorOptions(dtype=float, device=cpu")
    raises(lambda: torch.IntTensor(torch.arange(4.0)._typed_storage()), RuntimeError, "but got type Float")
    raises(lambda: torch.ByteTensor([300]), RuntimeError, "type uint8 without overflow")
    raises(lambda: F(2, device="meta"), RuntimeError, "legacy constructor expects device type")
    raises(lambda: F(2, foo=1), TypeError, "invalid combination of arguments")
    with pytest.raises(TypeError):
        type("Derived", (F,), {})


def test_new(torch):
    x, i = torch.ones(2, 3), torch.ones(2, dtype=torch.int32)
    assert x.new(2, 3).shape == (2, 3) and x.new().shape == (0,) and x.new([1, 2]).tolist() == [1.0, 2.0]
    assert i.new([2, 3.7]).tolist() == [2, 3] and i.new(2).dtype is torch.int32
    assert x.new(torch.Size([2])).shape == (2,) and x.new((2, 3)).tolist() == [2.0, 3.0]
    assert x.new(x).data_ptr() == x.data_ptr() and torch.ones(2, device="meta").new(2).is_meta
    assert not torch.ones(2, requires_grad=True).new([1.0]).requires_grad
    raises(lambda: x.new(i), TypeError, "expected TensorOptions(dtype=float")
    raises(lambda: x.new(x, device="cpu"), RuntimeError, "Use torch.as_tensor(...) instead.")
    raises(lambda: x.new(1.0), TypeError, "data must be a sequence (got float)")
    raises(lambda: x.new(dtype=torch.int32), TypeError, "invalid combination of arguments")

    class Sub(torch.Tensor):
        pass

    assert type(x.as_subclass(Sub).new(2)) is Sub


def test_subclass_constructor(torch):
    class Sub(torch.Tensor):
        pass

    x = torch.ones(2, 3)
    s = Sub(x)
    assert type(s) is Sub and s._is_view() and s._base is x and s.data_ptr() == x.data_ptr()
    assert type(Sub([1.0, 2.0])) is Sub and Sub(2, 3).shape == (2, 3)
    assert Sub(torch.ones(2, requires_grad=True)).requires_grad


def test_make_subclass(torch):
    class Sub(torch.Tensor):
        pass

    x = torch.ones(2, 3)
    make = torch.Tensor._make_subclass
    s = make(Sub, x)
    assert type(s) is Sub and s.data_ptr() == x.data_ptr() and not s._is_view() and s._base is None
    assert make(Sub, x, True).requires_grad and make(Sub, x, require_grad=True).is_leaf
    assert not make(Sub, torch.ones(2, requires_grad=True) * 2).requires_grad
    assert type(make(torch.Tensor, s)) is torch.Tensor
    raises(
        lambda: make(Sub, 3),
        TypeError,
        "_make_subclass(): argument 'data' (position 2) must be Tensor, not int",
    )
    raises(lambda: make(int, x), TypeError, "does not inherit from Tensor")
    raises(lambda: make(3, x), TypeError, "cls must be a type (got int)")
    raises(lambda: make(Sub), TypeError, '_make_subclass() missing 1 required positional arguments: "data"')
    raises(
        lambda: make(Sub, torch.ones(2, dtype=torch.int32), True),
        RuntimeError,
        "Only Tensors of floating point",
    )
    raises(
        lambda: torch.Tensor._make_wrapper_subclass(Sub, (2, 3)), TypeError, "must define __torch_dispatch__"
    )


def test_as_subclass(torch):
    class Sub(torch.Tensor):
        pass

    x, leaf = torch.ones(2, 3), torch.ones(2, requires_grad=True)
    s = x.as_subclass(Sub)
    assert type(s) is Sub and s._base is x and s.data_ptr() == x.data_ptr()
    assert leaf.as_subclass(Sub).grad_fn is not None and type(s.as_subclass(torch.Tensor)) is torch.Tensor
    assert x.as_subclass(torch.Tensor) is not x and x.as_subclass(cls=Sub).shape == (2, 3)
    raises(lambda: x.as_subclass(int), TypeError, "does not inherit from Tensor")
    raises(lambda: x.as_subclass(3), TypeError, "cls must be a type (got int)")


def test_type(torch):
    x = torch.ones(2, 3)
    assert (
        x.type() == x.type(None) == "torch.FloatTensor"
        and torch.ones(2, dtype=torch.bool).type() == "torch.BoolTensor"
    )
    assert torch.ones(2, dtype=torch.complex64).type() == "torch.ComplexFloatTensor"
    assert torch.ones(2, device="meta").type() == "torch.meta.FloatTensor"
    for same in (torch.float32, torch.FloatTensor, "torch.FloatTensor", torch.Tensor):
        assert x.type(same) is x
    for other in (torch.int32, torch.IntTensor, "torch.IntTensor"):
        assert x.type(other).dtype is torch.int32
    assert x.type(torch.int32, True).dtype is torch.int32 and x.type(
        dtype=torch.int32, non_blocking=True
    ).shape == (2, 3)
    assert x.type("torch.ComplexFloatTensor").dtype is torch.complex64
    for bad in ("FloatTensor", "torch.float32", "foo"):
        raises(lambda: x.type(bad), ValueError, "invalid type: '%s'" % bad)
    raises(lambda: x.type(int), ValueError, "invalid type: 'int'")
    raises(lambda: x.type(3), TypeError, "dtype must be a type, str, or dtype object")
    raises(lambda: x.type(foo=3), TypeError, "type() got an unexpected keyword argument 'foo'")
