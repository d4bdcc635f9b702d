# SPDX-License-Identifier: BSD-3-Clause
"""torch.tensor and Tensor.new_tensor: dtype inference, shapes, conversions, errors."""

import warnings

import numpy as np
import pytest


class Sequence:
    def __init__(self, *items):
        self.items = items

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


class BadItem(Sequence):
    def __len__(self):
        return 3

    def __getitem__(self, i):
        raise KeyError(i)


class BadLater(BadItem):
    def __getitem__(self, i):
        if i:
            raise KeyError(i)
        return 1.0


class BadLength(Sequence):
    def __len__(self):
        raise RuntimeError("no length")


class AsFloat:
    def __float__(self):
        return 2.5


class AsIndex:
    def __index__(self):
        return 7


class CudaArray:
    def __init__(self, interface):
        self.__cuda_array_interface__ = interface


INF, NAN = float("inf"), float("nan")


def names(torch):
    self_list = []
    self_list.append(self_list)
    deep = 1.0
    for _ in range(130):
        deep = [deep]
    return dict(
        torch=torch,
        np=np,
        t=torch.tensor,
        Sequence=Sequence,
        BadItem=BadItem,
        BadLater=BadLater,
        BadLength=BadLength,
        AsFloat=AsFloat,
        AsIndex=AsIndex,
        CudaArray=CudaArray,
        inf=INF,
        nan=NAN,
        self_list=self_list,
        deep=deep,
        f32=torch.float32,
        f64=torch.float64,
        f16=torch.float16,
        bf16=torch.bfloat16,
        i8=torch.int8,
        i16=torch.int16,
        i32=torch.int32,
        i64=torch.int64,
        u8=torch.uint8,
        b=torch.bool,
        c64=torch.complex64,
        c128=torch.complex128,
    )


def same(got, want):
    if isinstance(want, (list, tuple)):
        return len(got) == len(want) and all(same(g, w) for g, w in zip(got, want))
    return got == want or (want != want and got != got)


VALUES = [
    # inference
    ("t([True, 2])", "int64", [1, 2]),
    ("t([1, 2.0])", "float32", [1.0, 2.0]),
    ("t([True, False])", "bool", [True, False]),
    ("t([False, 1.5])", "float32", [0.0, 1.5]),
    ("t([True, 1j])", "complex64", [1, 1j]),
    ("t(1)", "int64", 1),
    ("t(True)", "bool", True),
    ("t(1.5)", "float32", 1.5),
    ("t(1j)", "complex64", 1j),
    ("t([1, 2.5, 1j])", "complex64", [1, 2.5, 1j]),
    ("t([])", "float32", []),
    ("t(())", "float32", []),
    ("t([[], []])", "float32", [[], []]),
    ("t([[], [1]])", "float32", [[], []]),
    ("t([[], 1])", "float32", [[], []]),
    ("t([[[]], [[1]]])", "float32", [[[]], [[]]]),
    ("t([[1, 2], [3, 4]])", "int64", [[1, 2], [3, 4]]),
    ("t([[1, 2], (3, 4.5)])", "float32", [[1, 2], [3, 4.5]]),
    ("t([[1], range(1)])", "int64", [[1], [0]]),
    ("t(-2**63)", "int64", -(2**63)),
    ("t([2**62, -2**62, 2**40, 2**31])", "int64", [2**62, -(2**62), 2**40, 2**31]),
    ("t([2**63, 1.0])", "float32", [2.0**63, 1.0]),
    ("t([2**70, 1.0])", "float32", [2.0**70, 1.0]),
    ("t(range(3))", "int64", [0, 1, 2]),
    ("t(bytearray(b'ab'))", "int64", [97, 98]),
    ("t(memoryview(b'ab'))", "int64", [97, 98]),
    ("t(Sequence(1, 2))", "int64", [1, 2]),
    ("t([Sequence(1, 2), [3, 4]])", "int64", [[1, 2], [3, 4]]),
    ("t(Sequence())", "float32", []),
    ("t(torch.Size([1, 2]))", "int64", [1, 2]),
    # NumPy numbers and arrays
    ("t(np.float64(1))", "float64", 1.0),
    ("t([np.float64(1)])", "float64", [1.0]),
    ("t([np.float32(3), 1])", "float32", [3.0, 1.0]),
    ("t([np.float32(3), 1.0])", "float32", [3.0, 1.0]),
    ("t([np.float16(3), 1])", "float16", [3.0, 1.0]),
    ("t([np.int8(3), 1])", "int64", [3, 1]),
    ("t([np.int8(3)])", "int8", [3]),
    ("t([np.bool_(True)])", "bool", [True]),
    ("t([np.complex64(1j)])", "complex64", [1j]),
    ("t(np.complex128(1j))", "complex128", 1j),
    ("t([np.array([1, 2]), [3, 4]])", "int64", [[1, 2], [3, 4]]),
    ("t([[1, 2], np.array([1., 2.])])", "float64", [[1.0, 2.0], [1.0, 2.0]]),
    ("t([np.array([1, 2]), np.array([3., 4])])", "float64", [[1.0, 2.0], [3.0, 4.0]]),
    ("t([np.array([]), np.array([])])", "float64", [[], []]),
    ("t([np.zeros((0, 3))])", "float64", [[]]),
    ("t([[np.array([1, 2])], [[3, 4]]])", "int64", [[[1, 2]], [[3, 4]]]),
    ("t([np.array([1., 2.]).astype('>f4')])", "float32", [[1.0, 2.0]]),
    ("t([np.arange(6.).reshape(2, 3).T])", "float64", [[[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]]),
    ("t([np.arange(6.)[::-2]])", "float64", [[5.0, 3.0, 1.0]]),
    ("t([np.array([1.5, 300.])], dtype=i32)", "int32", [[1, 300]]),
    ("t(np.array(1.0))", "float64", 1.0),
    ("t([np.float64(1.5)], dtype=i32)", "int32", [1]),
    ("t([np.int64(5)], dtype=f32)", "float32", [5.0]),
    ("t([np.bool_(True)], dtype=b)", "bool", [True]),
    ("t([np.bool_(True)], dtype=f32)", "float32", [1.0]),
    ("t([np.complex128(1j)], dtype=b)", "bool", [True]),
    ("t([np.int64(2)], dtype=c64)", "complex64", [2]),
    ("t([np.float32(2)], dtype=c64)", "complex64", [2]),
    ("t([np.float32(1), torch.tensor(1., dtype=f64)])", "float64", [1.0, 1.0]),
    # tensors inside sequences
    ("t([torch.tensor([1]), torch.tensor([3])])", "int64", [1, 3]),
    ("t([torch.tensor(1), torch.tensor(3)])", "int64", [1, 3]),
    ("t([torch.tensor([[1.5]]), 2])", "float32", [1.5, 2.0]),
    ("t([torch.tensor(1.5, dtype=f64), 2])", "float64", [1.5, 2.0]),
    ("t([torch.tensor(1.5, dtype=f16), 2])", "float16", [1.5, 2.0]),
    ("t([torch.tensor(1.5, dtype=f16), 2.0])", "float32", [1.5, 2.0]),
    ("t([torch.tensor(True), 2])", "int64", [1, 2]),
    ("t([[torch.tensor(1), 2], [3, np.int64(4)]])", "int64", [[1, 2], [3, 4]]),
    ("t([[1, 2], torch.tensor([3, 4])])", "int64", [[1, 2], [3, 4]]),
    ("t([[1, 2], torch.tensor([3., 4])])", "float32", [[1.0, 2.0], [3.0, 4.0]]),
    ("t([torch.tensor(2)], dtype=f32)", "float32", [2.0]),
    ("t([torch.tensor(True)], dtype=i32)", "int32", [1]),
    ("t([torch.tensor([[2]])], dtype=b)", "bool", [True]),
    ("t([torch.tensor(1+0j)], dtype=f32)", "float32", [1.0]),
    ("t([torch.tensor(2)], dtype=c64)", "complex64", [2]),
    # an explicit dtype
    ("t(-1, dtype=u8)", "uint8", 255),
    ("t(-255, dtype=u8)", "uint8", 1),
    ("t([0, 255], dtype=u8)", "uint8", [0, 255]),
    ("t([127, -128], dtype=i8)", "int8", [127, -128]),
    ("t([32767, -32768], dtype=i16)", "int16", [32767, -32768]),
    ("t([2**31 - 1, -2**31], dtype=i32)", "int32", [2**31 - 1, -(2**31)]),
    ("t([1.9, -1.9, 2**40], dtype=i64)", "int64", [1, -1, 2**40]),
    ("t([1.5, True], dtype=i8)", "int8", [1, 1]),
    ("t(1e40, dtype=f32)", "float32", INF),
    ("t(70000, dtype=f16)", "float16", INF),
    ("t(1e40, dtype=bf16)", "bfloat16", INF),
    ("t([1, 2.5, -0.0], dtype=f16)", "float16", [1.0, 2.5, -0.0]),
    ("t([nan, 0.0, -0.0, 0.1, 2**70, 1, 0], dtype=b)", "bool", [True, False, False, True, True, True, False]),
    ("t([1+2j, 0j], dtype=b)", "bool", [True, False]),
    ("t([1], dtype=c64)", "complex64", [1]),
    ("t(1e40+0j, dtype=c64)", "complex64", complex(INF, 0)),
    ("t(2**63, dtype=f32)", "float32", 2.0**63),
    ("t(2**63, dtype=c64)", "complex64", 2.0**63),
    ("t(True, dtype=c128)", "complex128", 1),
    ("t([True, False], dtype=f64)", "float64", [1.0, 0.0]),
    ("t(AsFloat(), dtype=f32)", "float32", 2.5),
    ("t([AsFloat()], dtype=c64)", "complex64", [2.5]),
    ("t([AsIndex()], dtype=i32)", "int32", [7]),
    ("t([AsIndex(), 1.5], dtype=f32)", "float32", [7.0, 1.5]),
    ("t(AsIndex(), dtype=b)", "bool", True),
    ("t([[1], {2}], dtype=i32)", "int32", [[1], [2]]),
    ("t([[1], iter([2])], dtype=i32)", "int32", [[1], [2]]),
    ("t([1], dtype=float)", "float64", [1.0]),
    ("t([1.5], dtype=int)", "int64", [1]),
    ("t([1.5], dtype=bool)", "bool", [True]),
    ("t(data=[1])", "int64", [1]),
    ("t([1], device=None, dtype=None)", "int64", [1]),
    ("t([1], device='cpu:0')", "int64", [1]),
]

ERRORS = [
    ("t([[1], []])", ValueError, "expected sequence of length 1 at dim 1 (got 0)"),
    ("t([[1, 2], [3]])", ValueError, "expected sequence of length 2 at dim 1 (got 1)"),
    ("t([[[1], [1, 2]], [[2]]])", ValueError, "expected sequence of length 1 at dim 2 (got 2)"),
    ("t([1, [2]])", TypeError, "'list' object cannot be interpreted as an integer"),
    ("t([1.0, [2]])", TypeError, "must be real number, not list"),
    ("t([[1], 2])", TypeError, "not a sequence"),
    ("t([[1], 2.0])", TypeError, "not a sequence"),
    ("t([[1.0, 2], torch.tensor(3)])", TypeError, "not a sequence"),
    ("t([np.array([[1, 2], [3, 4]]), np.array([5, 6])])", TypeError, "not a sequence"),
    ("t([np.array([1, 2]), np.array([3])])", ValueError, "expected sequence of length 2 at dim 1 (got 1)"),
    ("t([[1], None])", RuntimeError, "Could not infer dtype of NoneType"),
    ("t([1.0, None])", RuntimeError, "Could not infer dtype of NoneType"),
    ("t([1j, None])", RuntimeError, "Could not infer dtype of NoneType"),
    ("t([np.complex128(1j), None])", TypeError, "must be real number, not NoneType"),
    ("t(None)", RuntimeError, "Could not infer dtype of NoneType"),
    ("t({})", RuntimeError, "Could not infer dtype of dict"),
    ("t(object())", RuntimeError, "Could not infer dtype of object"),
    ("t({1, 2})", RuntimeError, "Could not infer dtype of set"),
    ("t(iter([1]))", RuntimeError, "Could not infer dtype of list_iterator"),
    ("t(x for x in [1])", RuntimeError, "Could not infer dtype of generator"),
    ("t(AsIndex())", RuntimeError, "Could not infer dtype of AsIndex"),
    ("t(AsFloat())", RuntimeError, "Could not infer dtype of AsFloat"),
    ("t(b'ab')", TypeError, "invalid data type 'bytes'"),
    ("t('a')", TypeError, "invalid data type 'str'"),
    ("t('a', dtype=f32)", TypeError, "invalid data type 'str'"),
    ("t(['a'])", ValueError, "too many dimensions 'str'"),
    ("t(['a'], dtype=f32)", ValueError, "too many dimensions 'str'"),
    ("t([1, 'a'])", TypeError, "invalid data type 'str'"),
    ("t([1j, 'a'])", TypeError, "invalid data type 'str'"),
    ("t([''])", TypeError, "invalid data type 'str'"),
    ("t([b'a'])", TypeError, "invalid data type 'bytes'"),
    ("t(BadItem())", ValueError, "could not determine the shape of object type 'BadItem'"),
    ("t([BadItem()])", ValueError, "could not determine the shape of object type 'BadItem'"),
    ("t(BadLater())", KeyError, "1"),
    ("t([1, BadItem()])", KeyError, "0"),
    ("t(BadLength())", RuntimeError, "no length"),
    ("t([BadLength()])", RuntimeError, "no length"),
    ("t(self_list)", ValueError, "too many dimensions 'list'"),
    ("t([1, self_list])", TypeError, "self-referential"),
    ("t(deep)", ValueError, "too many dimensions 'list'"),
    ("t(2**63)", ValueError, "Overflow when unpacking long long"),
    ("t([2**63])", ValueError, "Overflow when unpacking long long"),
    ("t([-2**70], dtype=i64)", ValueError, "Overflow when unpacking long long"),
    ("t(2**70, dtype=u8)", ValueError, "Overflow when unpacking long long"),
    ("t(2**1100, dtype=f32)", OverflowError, "int too large to convert to float"),
    ("t([2**1100, 1.0])", OverflowError, "int too large to convert to float"),
    ("t(300, dtype=u8)", RuntimeError, "value cannot be converted to type uint8 without overflow"),
    ("t([1, 300], dtype=u8)", RuntimeError, "value cannot be converted to type uint8 without overflow"),
    ("t([np.int64(300)], dtype=u8)", RuntimeError, "type uint8 without overflow"),
    ("t([np.array([1, 300])], dtype=u8)", RuntimeError, "type uint8 without overflow"),
    ("t(-256, dtype=u8)", RuntimeError, "type uint8 without overflow"),
    ("t(128, dtype=i8)", RuntimeError, "type int8 without overflow"),
    ("t(-129, dtype=i8)", RuntimeError, "type int8 without overflow"),
    ("t(2**31, dtype=i32)", RuntimeError, "type int32 without overflow"),
    ("t(1e40, dtype=i32)", RuntimeError, "type int32 without overflow"),
    ("t(inf, dtype=i64)", RuntimeError, "type int64 without overflow"),
    ("t(nan, dtype=i64)", RuntimeError, "type int64 without overflow"),
    ("t(1e19, dtype=i64)", RuntimeError, "type int64 without overflow"),
    ("t(-1.5, dtype=u8)", RuntimeError, "type uint8 without overflow"),
    ("t(255.9, dtype=u8)", RuntimeError, "type uint8 without overflow"),
    ("t([127.5], dtype=i8)", RuntimeError, "type int8 without overflow"),
    ("t(1+0j, dtype=f32)", TypeError, "must be real number, not complex"),
    ("t([1+0j], dtype=i64)", TypeError, "'complex' object cannot be interpreted as an integer"),
    ("t(None, dtype=f32)", TypeError, "must be real number, not NoneType"),
    ("t(None, dtype=i64)", TypeError, "'NoneType' object cannot be interpreted as an integer"),
    ("t([None], dtype=b)", TypeError, "'NoneType' object cannot be interpreted as an integer"),
    ("t([{}], dtype=b)", TypeError, "'dict' object cannot be interpreted as an integer"),
    ("t([object()], dtype=c64)", TypeError, "must be real number, not object"),
    ("t(AsFloat(), dtype=i32)", TypeError, "'AsFloat' object cannot be interpreted as an integer"),
    ("t([np.float32(1.5)], dtype=i32)", TypeError, "object cannot be interpreted as an integer"),
    (
        "t([np.array([1.5], dtype=np.float32)], dtype=i32)",
        TypeError,
        "object cannot be interpreted as an integer",
    ),
    ("t([np.complex64(1)], dtype=i32)", TypeError, "object cannot be interpreted as an integer"),
    (
        "t([torch.tensor([1, 2]), torch.tensor([3, 4])])",
        TypeError,
        "only integer tensors of a single element",
    ),
    ("t([2, torch.tensor([1, 2])])", TypeError, "only integer tensors of a single element"),
    ("t([torch.tensor(2.5)], dtype=i32)", TypeError, "only integer tensors of a single element"),
    ("t([torch.tensor(2.5)], dtype=b)", TypeError, "only integer tensors of a single element"),
    ("t([torch.tensor([1., 2])])", ValueError, "only one element tensors can be converted to Python scalars"),
    ("t([2., torch.tensor([])])", ValueError, "only one element tensors can be converted to Python scalars"),
    ("t([torch.tensor([1j, 2])])", ValueError, "only one element tensors can be converted to Python scalars"),
    (
        "t([torch.tensor(1j)], dtype=f32)",
        RuntimeError,
        "value cannot be converted to type double without overflow",
    ),
    ("t([torch.tensor(1, device='meta')])", RuntimeError, "meta"),
    ("t(np.longdouble(1.5))", TypeError, "np.ndarray of type numpy." + np.longdouble.__name__),
    ("t([np.longdouble(1.5)])", TypeError, "np.ndarray of type numpy." + np.longdouble.__name__),
    ("t(np.datetime64('2020-01-01'))", TypeError, "can't convert np.ndarray of type numpy.datetime64"),
    ("t([np.array([1], dtype=object)])", TypeError, "can't convert np.ndarray of type numpy.object_"),
    ("t(np.ones(3).astype('>f4'))", ValueError, "byte order"),
    ("t(np.ones((2, 3))[::-1])", ValueError, "negative"),
    ("t(np.array(['a']))", TypeError, "numpy.str_. The only supported types are: float64, float32"),
    ("t(np.array([None]))", TypeError, "numpy.object_"),
    ("t(CudaArray({}))", TypeError, "attribute `shape` must exist"),
    ("t(CudaArray(3))", TypeError, "`__cuda_array_interface__` must be a dict"),
    ("t()", TypeError, 'tensor() missing 1 required positional arguments: "data"'),
    ("t([1], f32)", TypeError, "tensor() takes 1 positional argument but 2 were given"),
    ("t([1], foo=1)", TypeError, "tensor() got an unexpected keyword argument 'foo'"),
    ("t([1], data=[1])", TypeError, "tensor() got multiple values for argument 'data'"),
    ("t([1], dtype='float32')", TypeError, "tensor(): argument 'dtype' must be torch.dtype, not str"),
    ("t([1], device=1.5)", TypeError, "tensor(): argument 'device' must be torch.device, not float"),
    ("t([1], device='foo')", RuntimeError, "device type at start of device string: foo"),
    (
        "t([1], requires_grad=True)",
        RuntimeError,
        "Only Tensors of floating point and complex dtype can require gradients",
    ),
    ("t([1.], requires_grad=1)", TypeError, "tensor(): argument 'requires_grad' must be bool, not int"),
    (
        "t([1.], requires_grad=None)",
        TypeError,
        "tensor(): argument 'requires_grad' must be bool, not NoneType",
    ),
    ("t([1.], pin_memory=1)", TypeError, "tensor(): argument 'pin_memory' must be bool, not int"),
    ("t([1.], pin_memory=True)", RuntimeError, "pin"),
    ("t(np.ones(1), pin_memory=True)", RuntimeError, "Can't pin tensor constructed from numpy"),
    ("t([['a']], device='meta')", ValueError, "too many dimensions 'str'"),
]


@pytest.mark.parametrize("source,dtype,value", VALUES, ids=[row[0] for row in VALUES])
def test_value(torch, source, dtype, value):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        t = eval(source, names(torch))
    assert t.dtype is getattr(torch, dtype)
    assert same(t.tolist(), value), t.tolist()
    assert t.is_leaf and not t.requires_grad and t._version == 0 and t.storage_offset() == 0


@pytest.mark.parametrize("source,kind,text", ERRORS, ids=[row[0] for row in ERRORS])
def test_error(torch, source, kind, text):
    with pytest.raises(kind) as info:
        eval(source, names(torch))
    assert type(info.value) is kind and text in str(info.value)


def test_default_dtype(torch):
    try:
        torch.set_default_dtype(torch.float64)
        assert torch.tensor([1.0, 2]).dtype is torch.float64 and torch.tensor(1j).dtype is torch.complex128
        assert torch.tensor([[], []]).dtype is torch.float64 and torch.Tensor([1]).dtype is torch.float64
        torch.set_default_dtype(torch.bfloat16)
        assert torch.tensor([1.0, 2]).dtype is torch.bfloat16
        with pytest.raises(RuntimeError, match="invalid default scalar type for complex"):
            torch.tensor([1j])
    finally:
        torch.set_default_dtype(torch.float32)


def test_large_nests(torch):
    rows = [[i * 0.5 + k for i in range(100)] for k in range(100)]
    t = torch.tensor(rows)
    assert t.shape == (100, 100) and t.tolist() == rows
    rows[99][99] = 3
    assert torch.tensor(rows)[99, 99].item() == 3
    ints = [[i * 12345678901 - k for i in range(50)] for k in range(70)]
    assert torch.tensor(ints).tolist() == ints
    ints[-1][-1] = 0.5
    assert torch.tensor(ints).dtype is torch.float32
    assert torch.tensor([True] * 999 + [2]).tolist() == [1] * 999 + [2]


def test_tensor_source(torch):
    x = torch.ones(2, 3, requires_grad=True)
    with pytest.warns(UserWarning, match=r"clone\(\).detach\(\)|detach\(\).clone\(\)"):
        y = torch.tensor(x)
    assert y.is_leaf and not y.requires_grad and y.data_ptr() != x.data_ptr()
    with pytest.warns(UserWarning):
        z = torch.tensor(x.detach(), dtype=torch.float64, requires_grad=True)
    assert z.dtype is torch.float64 and z.requires_grad
    with pytest.warns(UserWarning):
        assert torch.tensor(torch.ones(2, 3).t()).stride() == (1, 3)
    with (
        pytest.warns(UserWarning),
        pytest.raises(RuntimeError, match="Can't pin tensor constructed from a variable"),
    ):
        torch.tensor(torch.ones(1), pin_memory=True)


def test_array_source(torch):
    a = np.arange(6.0).reshape(2, 3)
    t = torch.tensor(a)
    a[0, 0] = 9
    assert t[0, 0].item() == 0.0
    assert torch.tensor(a.T).stride() == (1, 3) and torch.tensor(a.T).tolist() == a.T.tolist()
    assert torch.tensor(a[:, ::2], dtype=torch.int32).tolist() == [[9, 2], [3, 5]]
    assert torch.tensor(np.zeros((0, 3))).shape == (0, 3)
    locked = np.arange(3.0)
    locked.flags.writeable = False
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert torch.tensor(locked).tolist() == [0.0, 1.0, 2.0]


def test_list_of_arrays_shares_nothing(torch):
    src = np.zeros(3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        t = torch.tensor([src, src])
    src[0] = 9
    assert t.sum().item() == 0.0


def test_requires_grad_item_warns(torch):
    x = torch.tensor(1.5, requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        t = torch.tensor([x, 2])
    assert t.tolist() == [1.5, 2.0] and not t.requires_grad


def test_meta(torch):
    for data, dtype, shape in (
        ([[1, 2.0]], torch.float32, (1, 2)),
        ([1, 2**70], torch.int64, (2,)),
        (np.ones(3), torch.float64, (3,)),
        ([[1, 2], [3]], torch.int64, (2, 2)),
    ):
        t = torch.tensor(data, device="meta")
        assert t.is_meta and t.dtype is dtype and t.shape == shape


def test_storage_source(torch):
    x = torch.arange(6.0)
    t = torch.tensor(x.untyped_storage(), dtype=torch.float32)
    assert t.tolist() == x.tolist() and t.data_ptr() == x.data_ptr()
    assert torch.tensor(x.untyped_storage()).dtype is torch.int64
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        typed = x._typed_storage()
        assert torch.tensor(typed).tolist() == x.tolist()
        with pytest.raises(
            RuntimeError, match="Expected a Storage of type Int or an UntypedStorage, but got Float"
        ):
            torch.tensor(typed, dtype=torch.int32)


def test_requires_grad(torch):
    assert torch.tensor([1.0], requires_grad=True).requires_grad
    assert torch.tensor([1j], requires_grad=True).is_leaf


def test_changing_list(torch):
    data = [1.0, 2.0, 3.0]

    class Eater:
        def __float__(self):
            data.clear()
            return 5.0

    data[0] = Eater()
    try:
        torch.tensor(data, dtype=torch.float32)
    except (RuntimeError, ValueError, IndexError, TypeError):
        pass
    assert torch.tensor([1, 2]).tolist() == [1, 2]


test_changing_list = pytest.mark.minitorch_only(reason="PyTorch reads freed memory")(test_changing_list)


@pytest.mark.minitorch_only(reason="PyTorch ends the process")
def test_hidden_cycle(torch):
    a = [1.0]
    b = [2.0, a]
    a.append(b)
    with pytest.raises((ValueError, RecursionError, TypeError)):
        torch.tensor([1.0, a])


@pytest.mark.minitorch_only(reason="PyTorch gives the least integer")
def test_float_beyond_int64(torch):
    with pytest.raises(RuntimeError, match="without overflow"):
        torch.tensor([2.0**63], dtype=torch.int64)


def test_new_tensor(torch):
    x = torch.ones(2, dtype=torch.int32)
    assert x.new_tensor([1.5, 2]).tolist() == [1, 2] and x.new_tensor([1]).dtype is torch.int32
    assert x.new_tensor([1], dtype=torch.float64).dtype is torch.float64
    assert x.new_tensor(np.arange(3)).dtype is torch.int32
    assert torch.ones(1, requires_grad=True).new_tensor([1.0]).requires_grad is False
    assert torch.ones(1).new_tensor([1.0], requires_grad=True).requires_grad
    assert torch.ones(1, device="meta").new_tensor([1, 2]).is_meta
    with pytest.warns(UserWarning, match="new_tensor"):
        y = x.new_tensor(torch.tensor([2.5]))
    assert y.tolist() == [2]
    for call, text in (
        (lambda: x.new_tensor(), "missing 1 required"),
        (lambda: x.new_tensor([1], torch.int32), "takes 1 positional argument but 2 were given"),
        (lambda: x.new_tensor([1], foo=2), "unexpected keyword argument 'foo'"),
        (lambda: x.new_tensor(1j), "'complex' object cannot be interpreted as an integer"),
    ):
        with pytest.raises(TypeError) as info:
            call()
        assert text in str(info.value)


def test_modes_see_one_call(torch):
    from importlib import import_module

    overrides = import_module(torch.__name__ + ".overrides")
    seen = []

    class Log(overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append((func, kwargs))
            return func(*args, **(kwargs or {}))

    with Log():
        torch.tensor([1], dtype=torch.int32)
        torch.as_tensor([1])
        torch.asarray([1])
        torch.from_numpy(np.ones(1))
        torch.Tensor([1])
    assert [f for f, _ in seen] == [torch.tensor, torch.as_tensor, torch.asarray]
    assert seen[0][1] == {"dtype": torch.int32} and not seen[1][1]
