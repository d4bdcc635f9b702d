"""Dtypes that store, convert and compare more than they compute: wider unsigned integers, complex32, floats of eight bits.

What a code of a small float means is worked out here from the format, and rounding by looking for the nearest code.
"""

import math
import pickle
import struct

import pytest

UNSIGNED = ["uint16", "uint32", "uint64"]
# mantissa bits, bias, has infinity, minus zero is NaN
FORMATS = {
    "float8_e4m3fn": (3, 7, False, False),
    "float8_e5m2": (2, 15, True, False),
    "float8_e4m3fnuz": (3, 8, False, True),
    "float8_e5m2fnuz": (2, 16, False, True),
}
FLOAT8 = list(FORMATS) + ["float8_e8m0fnu"]
SHELLS = UNSIGNED + ["complex32"] + FLOAT8
ALL = SHELLS + ["float4_e2m1fn_x2"]
LOOPS = [
    "bool",
    "uint8",
    "int8",
    "int16",
    "int32",
    "int64",
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "complex64",
    "complex128",
]


def decode(name, code):
    """The number that a code stands for."""
    if name == "float8_e8m0fnu":
        return math.nan if code == 255 else 2.0 ** (code - 127)
    mantissa_bits, bias, has_inf, fnuz = FORMATS[name]
    sign, code7 = -1.0 if code >> 7 else 1.0, code & 127
    exponent, mantissa = code7 >> mantissa_bits, code7 & ((1 << mantissa_bits) - 1)
    if fnuz and code == 128:
        return math.nan
    if has_inf and exponent == 31:
        return sign * math.inf if mantissa == 0 else math.nan
    if not has_inf and not fnuz and code7 == 127:
        return math.nan
    if exponent == 0:
        return sign * mantissa * 2.0 ** (1 - bias - mantissa_bits)
    return sign * (1 + mantissa / (1 << mantissa_bits)) * 2.0 ** (exponent - bias)


def same(a, b):
    return (a != a and b != b) or (a == b and math.copysign(1, a) == math.copysign(1, b))


def elements(torch, name, codes):
    return torch.tensor(codes, dtype=torch.uint8).view(getattr(torch, name))


# --- names and properties ---


@pytest.mark.item("M1.40")
def test_names_and_aliases(torch):
    for name in ALL:
        dtype = getattr(torch, name)
        assert isinstance(dtype, torch.dtype) and repr(dtype) == "torch." + name
        assert pickle.loads(pickle.dumps(dtype)) is dtype
    assert torch.chalf is torch.complex32
    sizes = {"uint16": 2, "uint32": 4, "uint64": 8, "complex32": 4}
    for name in ALL:
        dtype = getattr(torch, name)
        assert dtype.itemsize == sizes.get(name, 1)
        assert dtype.is_floating_point == name.startswith("float")
        assert dtype.is_complex == (name == "complex32")
        assert dtype.is_signed == (not name.startswith("uint") and name != "float8_e8m0fnu")


@pytest.mark.item("M1.41")
def test_real_and_complex_partners(torch):
    assert torch.complex32.to_real() is torch.float16
    assert torch.float16.to_complex() is torch.complex32
    assert torch.complex32.to_complex() is torch.complex32
    for name in UNSIGNED + FLOAT8:
        assert getattr(torch, name).to_real() is getattr(torch, name)
        with pytest.raises(RuntimeError, match="Unknown Complex"):
            getattr(torch, name).to_complex()


@pytest.mark.item("M1.43", "M1.44")
def test_finfo_and_iinfo(torch):
    for name in UNSIGNED:
        info = torch.iinfo(getattr(torch, name))
        assert (info.bits, info.min, info.max) == (int(name[4:]), 0, 2 ** int(name[4:]) - 1)
        with pytest.raises(TypeError):
            torch.finfo(getattr(torch, name))
    for name, (mantissa_bits, bias, has_inf, fnuz) in FORMATS.items():
        info = torch.finfo(getattr(torch, name))
        greatest = max(v for v in (decode(name, c) for c in range(128)) if math.isfinite(v))
        assert (info.bits, info.max, info.min) == (8, greatest, -greatest)
        assert info.tiny == info.smallest_normal == 2.0 ** (1 - bias)
        assert info.dtype == name
    assert [torch.finfo(getattr(torch, n)).eps for n in FLOAT8] == [0.125, 0.25, 0.125, 0.125, 1.0]
    assert torch.finfo(torch.float8_e8m0fnu).min == 2.0**-127
    assert torch.finfo(torch.complex32).max == 65504


@pytest.mark.item("M1.40")
def test_not_as_the_default_dtype(torch):
    for name in ALL:
        with pytest.raises(TypeError):
            torch.set_default_dtype(getattr(torch, name))
    assert torch.get_default_dtype() is torch.float32


# --- promotion ---


@pytest.mark.item("M4.61")
def test_unsigned_promote_with_floats_only(torch):
    for name in UNSIGNED:
        dtype = getattr(torch, name)
        assert torch.promote_types(dtype, dtype) is dtype
        for other in LOOPS + ["complex32"] + UNSIGNED:
            partner = getattr(torch, other)
            if partner is dtype:
                continue
            for pair in ((dtype, partner), (partner, dtype)):
                if partner.is_floating_point:
                    assert torch.promote_types(*pair) is partner
                else:
                    with pytest.raises(RuntimeError, match="uint16, uint32, uint64"):
                        torch.promote_types(*pair)


@pytest.mark.item("M4.61")
def test_complex32_is_the_least_complex(torch):
    expected = {"bfloat16": "complex64", "float32": "complex64", "float64": "complex128"}
    for other in LOOPS:
        partner = getattr(torch, other)
        result = expected.get(other, other if partner.is_complex else "complex32")
        assert torch.promote_types(torch.complex32, partner) is getattr(torch, result)
        assert torch.promote_types(partner, torch.complex32) is getattr(torch, result)


@pytest.mark.item("M4.61")
def test_float8_promotes_with_itself_only(torch):
    for name in FLOAT8:
        dtype = getattr(torch, name)
        assert torch.promote_types(dtype, dtype) is dtype
        for other in LOOPS + SHELLS:
            if other == name:
                continue
            with pytest.raises(RuntimeError, match="Float8"):
                torch.promote_types(dtype, getattr(torch, other))


@pytest.mark.item("M4.61")
def test_can_cast_goes_by_category(torch):
    rank = lambda d: 3 if d.is_complex else 2 if d.is_floating_point else 0 if d is torch.bool else 1  # noqa: E731
    for a in LOOPS + SHELLS:
        for b in LOOPS + SHELLS:
            a_, b_ = getattr(torch, a), getattr(torch, b)
            assert torch.can_cast(a_, b_) == (rank(a_) <= rank(b_)), (a, b)


@pytest.mark.item("M4.60")
def test_result_type_beside_numbers_and_0d(torch):
    for name in SHELLS:
        dtype = getattr(torch, name)
        row = torch.zeros(2, dtype=dtype)
        for number in (True, 1):
            assert torch.result_type(row, number) is dtype
        if name in UNSIGNED:
            assert torch.result_type(row, 1.5) is torch.float32
            assert torch.result_type(row, 1j) is torch.complex64
            assert torch.result_type(row, torch.tensor(1)) is dtype
            assert (
                torch.result_type(torch.ones(2, dtype=torch.int16), torch.tensor(1, dtype=dtype))
                is torch.int16
            )
        else:
            assert torch.result_type(row, 1.5) is dtype
        if name in FLOAT8:
            with pytest.raises(RuntimeError):
                torch.result_type(row, 1j)
    assert torch.result_type(torch.zeros(2, dtype=torch.float16), 1j) is torch.complex32
    assert (torch.ones(2, dtype=torch.float16) * 1j).dtype is torch.complex32


# --- numbers in and out ---


@pytest.mark.item("M4.69")
def test_unsigned_numbers(torch):
    for name in UNSIGNED:
        dtype, top = getattr(torch, name), 2 ** int(name[4:]) - 1
        values = [0, 1, top // 2, top // 2 + 1, top]
        x = torch.tensor(values, dtype=dtype)
        assert x.tolist() == values and [v.item() for v in x] == values
        assert repr(x[4]).replace(" ", "") == "tensor(%d,dtype=torch.%s)" % (top, name)
        assert torch.full((1,), top, dtype=dtype).item() == top
        assert torch.full((1,), 1.9, dtype=dtype).item() == 1
        assert int(x[2]) == top // 2 and float(x[1]) == 1.0 and bool(x[1]) and not bool(x[0])
        for bad in (-0.5, math.nan, math.inf, 1j):
            with pytest.raises(RuntimeError):
                torch.full((1,), bad, dtype=dtype)
        with pytest.raises((RuntimeError, OverflowError)):
            torch.full((1,), top + 1, dtype=dtype)
        with pytest.raises((RuntimeError, OverflowError, ValueError)):
            torch.tensor([top + 1], dtype=dtype)
    assert torch.full((1,), -1, dtype=torch.uint16).item() == 65535
    with pytest.raises(TypeError):
        torch.tensor([1.5], dtype=torch.uint64)


@pytest.mark.item("M4.69")
def test_unsigned_casts(torch):
    values = [0, 1, 44, 255, 256, 65535, 65536, 2**31, 2**32 - 1]
    for name in UNSIGNED:
        bits = int(name[4:])
        dtype = getattr(torch, name)
        wide = torch.tensor(values)
        assert wide.to(dtype).tolist() == [v % 2**bits for v in values]
        assert torch.tensor([-1, -2]).to(dtype).tolist() == [2**bits - 1, 2**bits - 2]
        assert torch.tensor([1.9, 200.0, 65535.0]).to(dtype).tolist() == [1, 200, 65535]
        assert torch.tensor([True, False]).to(dtype).tolist() == [1, 0]
        top = torch.tensor([2**bits - 1], dtype=dtype)
        assert top.to(torch.int8).item() == -1
        assert top.to(torch.bool).item() is True
        assert top.to(torch.float64).item() == float(2**bits - 1)
        assert top.to(torch.float32).item() == struct.unpack("f", struct.pack("f", float(2**bits - 1)))[0]
        assert top.to(torch.complex128).item() == complex(float(2**bits - 1))
        assert top.to(torch.int64).item() == (2**bits - 1 if bits < 64 else -1)
        for other in UNSIGNED:
            assert top.to(getattr(torch, other)).item() == (2**bits - 1) % 2 ** int(other[4:])
    # one rounding only: by way of float64 this would be a tie
    odd = 2**63 + 2**39 + 1
    assert torch.tensor([odd], dtype=torch.uint64).to(torch.float32).item() == float(2**63 + 2**40)
    assert torch.tensor([1e19, 9.5e18, 2.0**63]).to(torch.uint64).tolist() == [
        int(torch.tensor(v).item()) for v in (1e19, 9.5e18, 2.0**63)
    ]


@pytest.mark.item("M4.69")
@pytest.mark.parametrize("name", FLOAT8)
def test_every_code_of_a_float8(torch, name):
    codes = list(range(256))
    x = elements(torch, name, codes)
    expected = [decode(name, c) for c in codes]
    for dtype in (torch.float32, torch.float64, torch.bfloat16):
        got = x.to(dtype).tolist()
        assert all(same(g, e) or (name == "float8_e8m0fnu" and g == e) for g, e in zip(got, expected)), dtype
    assert all(same(g, e) for g, e in zip(x.tolist(), expected))
    back = torch.tensor(expected, dtype=torch.float64).to(x.dtype)
    kept = [c for c in codes if expected[c] == expected[c]]
    assert back.view(torch.uint8)[kept].tolist() == kept
    assert all(
        v != v for v in back.to(torch.float32)[[c for c in codes if expected[c] != expected[c]]].tolist()
    )


def nearest(name, value):
    """The code nearest to a finite number, the even one of two; beyond the greatest None."""
    best = None
    for code in range(256):
        number = decode(name, code)
        if not math.isfinite(number) or (math.copysign(1, number) != math.copysign(1, value) and number != 0):
            continue
        key = (abs(number - value), code & 1, math.copysign(1, number) != math.copysign(1, value))
        best = min(best, (key, code)) if best else (key, code)
    return best[1]


@pytest.mark.item("M4.69")
@pytest.mark.parametrize("name", list(FORMATS))
def test_rounding_to_float8(torch, name):
    dtype = getattr(torch, name)
    finite = sorted({abs(decode(name, c)) for c in range(256) if math.isfinite(decode(name, c))})
    values = []
    for low, high in zip(finite, finite[1:]):
        middle = (low + high) / 2
        values += [low, middle, middle * (1 - 2**-20), middle * (1 + 2**-20)]
    values += [finite[1] / 4, finite[-1], 1e-30]
    values += [-v for v in values]
    got = torch.tensor(values, dtype=torch.float32).to(dtype).view(torch.uint8).tolist()
    expected = [nearest(name, v) for v in torch.tensor(values, dtype=torch.float32).tolist()]
    if FORMATS[name][3]:  # no minus zero
        expected = [0 if decode(name, e) == 0 or e == 128 else e for e in expected]
    assert got == expected


@pytest.mark.item("M4.69")
def test_beyond_the_greatest_float8(torch):
    x = torch.tensor([1e9, math.inf, -1e9, -math.inf, math.nan])
    inf, nan = math.inf, math.nan
    expected = {
        "float8_e4m3fn": [448.0, 448.0, -448.0, -448.0, nan],
        "float8_e5m2": [inf, inf, -inf, -inf, nan],
        "float8_e4m3fnuz": [nan] * 5,
        "float8_e5m2fnuz": [nan] * 5,
    }
    for name, numbers in expected.items():
        got = x.to(getattr(torch, name)).to(torch.float32).tolist()
        assert all(same(g, e) or (g != g and e != e) for g, e in zip(got, numbers)), name
    # just beyond: half a step above the greatest number still rounds to it
    assert torch.tensor([463.0, 464.0, 465.0]).to(torch.float8_e4m3fn).tolist() == [448.0] * 3
    assert torch.tensor([61439.0, 61440.0]).to(torch.float8_e5m2).tolist() == [57344.0, inf]
    e8m0 = torch.tensor([0.0, 1.0, 1.49, 1.5, 3.0, -2.0, 1e-40]).to(torch.float8_e8m0fnu)
    assert e8m0.tolist() == [2.0**-127, 1.0, 1.0, 2.0, 4.0, 2.0, 2.0**-127]
    assert torch.tensor([inf, nan]).to(torch.float8_e8m0fnu).isnan().all()


@pytest.mark.item("M4.69")
def test_complex32(torch):
    x = torch.tensor([1.5 - 2j, 3j, 65504 + 1e-8j])
    h = x.chalf()
    assert h.dtype is torch.complex32 and h.chalf() is h
    assert h.tolist() == [1.5 - 2j, 3j, 65504 + 0j]
    assert h.to(torch.complex128).tolist() == h.tolist()
    assert h.real.dtype is torch.float16 and h.imag.tolist() == [-2.0, 3.0, 0.0]
    assert torch.view_as_real(h).shape == (3, 2)
    assert torch.view_as_complex(torch.ones(2, 2, dtype=torch.float16)).dtype is torch.complex32
    assert h.conj().is_conj() and h.conj().resolve_conj().tolist() == [v.conjugate() for v in h.tolist()]
    assert h.conj().imag.is_neg() and h.conj().imag.resolve_neg().tolist() == [2.0, -3.0, -0.0]
    y = torch.tensor([1 + 1j, 2.0, -1j], dtype=torch.complex32)
    assert (y + y).tolist() == [2 + 2j, 4 + 0j, -2j] and (y * y).tolist() == [2j, 4 + 0j, -1 + 0j]
    assert (y - 1).tolist() == [1j, 1 + 0j, -1 - 1j] and (-y)[1].item() == -2
    assert (y + 1.5).dtype is torch.complex32 and (y + torch.ones(3)).dtype is torch.complex64
    assert torch.tensor([3 + 4j], dtype=torch.complex32).abs().tolist() == [5.0]
    assert torch.tensor([3 + 4j], dtype=torch.complex32).abs().dtype is torch.float16
    assert torch.randn(4, dtype=torch.complex32).dtype is torch.complex32


# --- creation, views, indexing ---


@pytest.mark.item("M4.54")
@pytest.mark.parametrize("name", SHELLS)
def test_creation_and_filling(torch, name):
    dtype = getattr(torch, name)
    zero = torch.zeros(3, dtype=torch.uint8).view(dtype)[0].item() if dtype.itemsize == 1 else 0
    assert torch.zeros(2, 3, dtype=dtype).tolist() == [[zero] * 3] * 2
    assert torch.ones(2, dtype=dtype).tolist() == [1, 1]
    assert torch.full((2,), 2, dtype=dtype).tolist() == [2, 2]
    x = torch.empty(2, 2, dtype=dtype)
    assert x.fill_(4).tolist() == [[4, 4]] * 2 and x.dtype is dtype
    assert x.zero_().tolist() == [[zero] * 2] * 2
    assert torch.ones_like(x).tolist() == [[1, 1]] * 2 and x.new_ones(1).dtype is dtype
    assert torch.scalar_tensor(2, dtype=dtype).item() == 2
    assert x.nbytes == 4 * dtype.itemsize


@pytest.mark.item("M4.54")
@pytest.mark.parametrize("name", SHELLS)
def test_moving_elements(torch, name):
    dtype = getattr(torch, name)
    x = torch.tensor([[1, 2, 4], [8, 16, 32]], dtype=torch.float32).to(dtype)
    rows = x.tolist()
    assert x.t().contiguous().tolist() == [list(c) for c in zip(*rows)]
    assert (
        x.clone().tolist() == rows and x[1].tolist() == rows[1] and x[:, 1:].tolist() == [r[1:] for r in rows]
    )
    assert x[torch.tensor([1, 0])].tolist() == rows[::-1]
    assert x[torch.tensor([True, False])].tolist() == rows[:1]
    assert x.index_select(1, torch.tensor([2, 0])).tolist() == [[r[2], r[0]] for r in rows]
    assert torch.cat([x, x]).tolist() == rows + rows and torch.stack([x, x]).tolist() == [rows, rows]
    assert x.flip(0).tolist() == rows[::-1] and x.roll(1, 1).tolist() == [r[-1:] + r[:-1] for r in rows]
    assert torch.where(torch.tensor([[True], [False]]), x, x.flip(0)).tolist() == [rows[0], rows[0]]
    assert x.repeat(2, 1).tolist() == rows + rows and x.unfold(1, 2, 1).shape == (2, 2, 2)
    assert x.reshape(3, 2).tolist() == [rows[0][:2], [rows[0][2], rows[1][0]], rows[1][1:]]
    y = torch.zeros(2, 3, dtype=dtype)
    y[0] = x[1]
    y[1, 2] = 1
    assert y[0].tolist() == rows[1] and y[1, 2].item() == 1
    assert y.copy_(x).tolist() == rows and x.view(torch.uint8).view(dtype).tolist() == rows
    assert torch.nn.functional.embedding(torch.tensor([1]), x).tolist() == rows[1:]


@pytest.mark.item("M4.54")
@pytest.mark.parametrize("name", SHELLS)
def test_comparison(torch, name):
    dtype = getattr(torch, name)
    x = torch.tensor([1.0, 2.0, 4.0]).to(dtype)
    y = torch.tensor([1.0, 4.0, 4.0]).to(dtype)
    assert (x == y).tolist() == [True, False, True] and (x != y).tolist() == [False, True, False]
    assert (x == 2).tolist() == [False, True, False] and x.isnan().tolist() == [False] * 3
    assert (x * y).tolist() == [1, 8, 16] and (x * y).dtype is dtype
    assert x.any().item() is True and x.all().item() is True
    if name != "complex32":
        assert torch.equal(x, x.clone()) and not torch.equal(x, y)
    for op in (torch.lt, torch.maximum, torch.floor_divide, torch.fmod):
        with pytest.raises(RuntimeError):
            op(x, y)
    for op in (torch.amax, torch.cummax, torch.logical_not, torch.square):
        with pytest.raises((NotImplementedError, TypeError)):
            op(x)


@pytest.mark.item("M4.54")
def test_nan_and_zero_of_float8(torch):
    x = elements(torch, "float8_e4m3fn", [0, 0x80, 0x7F, 0x38])
    assert (x == x).tolist() == [True, True, False, True]
    assert (x == 0).tolist() == [True, True, False, False]
    assert x.isnan().tolist() == [False, False, True, False]
    assert x.any().item() is True and x.all().item() is False
    assert elements(torch, "float8_e5m2", [0x7C, 0xFC, 0x7E, 0]).isinf().tolist() == [
        True,
        True,
        False,
        False,
    ]
    assert x.abs().view(torch.uint8).tolist() == [0, 0, 0x7F, 0x38]


@pytest.mark.item("M4.54", "M4.65")
@pytest.mark.parametrize("name", UNSIGNED)
def test_unsigned_arithmetic(torch, name):
    dtype, top = getattr(torch, name), 2 ** int(name[4:]) - 1
    x = torch.tensor([top, 6, 3], dtype=dtype)
    y = torch.tensor([2, 3, 5], dtype=dtype)
    assert (x * y).tolist() == [top - 1, 18, 15]
    assert (
        (x & y).tolist() == [2, 2, 1]
        and (x | y).tolist() == [top, 7, 7]
        and (x ^ y).tolist() == [top - 2, 5, 6]
    )
    assert (x / y).dtype is torch.float32
    assert torch.tensor([4, 9], dtype=dtype).sqrt().tolist() == [2.0, 3.0]
    assert torch.exp(y).dtype is torch.float32
    assert y.sum().item() == 10 and y.sum().dtype is torch.int64
    assert y.prod().item() == 30 and y.cumsum(0).tolist() == [2, 5, 10]
    assert x.sort().values.tolist() == [3, 6, top] and x.sort(descending=True).indices.tolist() == [0, 1, 2]
    assert x.floor().tolist() == x.tolist() and x.signbit().tolist() == [False] * 3
    assert x.isfinite().all().item() and not x.isinf().any().item()
    assert torch.tensor([3, 3, 1], dtype=dtype).unique().tolist() == [1, 3]
    for op in (torch.add, torch.sub):
        with pytest.raises(NotImplementedError):
            op(x, y)
    assert (y + torch.tensor([0.5, 0.5, 0.5])).tolist() == [2.5, 3.5, 5.5]


@pytest.mark.item("M4.69")
def test_indices_must_be_signed(torch):
    for name in UNSIGNED:
        with pytest.raises(IndexError):
            torch.arange(4)[torch.tensor([1, 2], dtype=getattr(torch, name))]


@pytest.mark.item("M4.54")
def test_what_has_no_kernel(torch):
    for name in SHELLS:
        dtype = getattr(torch, name)
        for make in (
            lambda: torch.arange(3, dtype=dtype),
            lambda: torch.linspace(0, 1, 3, dtype=dtype),
            lambda: torch.randperm(3, dtype=dtype),
            lambda: torch.tril_indices(2, 2, dtype=dtype),
            lambda: torch.ones(2, 2, dtype=dtype).exponential_(),
        ):
            with pytest.raises((NotImplementedError, RuntimeError)):
                make()


@pytest.mark.item("M4.54")
def test_float8_products(torch):
    for name in FORMATS:
        dtype = getattr(torch, name)
        a = torch.tensor([[1.0, 2.0], [0.5, 4.0]]).to(dtype)
        assert (a @ a).tolist() == [[2.0, 10.0], [2.5, 16.0]] and (a @ a).dtype is dtype


@pytest.mark.item("M4.54")
def test_float4_is_moved_only(torch):
    x = elements(torch, "float4_e2m1fn_x2", [0x12, 0x34, 0x56, 0x78])
    assert x.clone().view(torch.uint8).tolist() == [0x12, 0x34, 0x56, 0x78]
    assert x.view(2, 2).t().contiguous().view(torch.uint8).tolist() == [[0x12, 0x56], [0x34, 0x78]]
    assert torch.cat([x, x]).view(torch.uint8)[4:].tolist() == [0x12, 0x34, 0x56, 0x78]
    assert (x == x.view(2, 2).t().reshape(4)).tolist() == [True, False, False, True]
    assert torch.zeros(2, dtype=x.dtype).view(torch.uint8).tolist() == [0, 0]
    for bad in (
        lambda: x.to(torch.float32),
        lambda: torch.ones(2).to(x.dtype),
        lambda: torch.ones(2, dtype=x.dtype),
        lambda: x[0].item(),
        lambda: x + x,
        lambda: x == 1,
        lambda: torch.finfo(x.dtype).eps,
    ):
        with pytest.raises(NotImplementedError):
            bad()
    assert torch.finfo(x.dtype).bits == 8


# --- other libraries, gradients ---


@pytest.mark.item("M4.54")
def test_numpy_and_dlpack(torch):
    np = pytest.importorskip("numpy")
    for name in UNSIGNED:
        top = 2 ** int(name[4:]) - 1
        array = np.array([0, 1, top], dtype=name)
        x = torch.from_numpy(array)
        assert x.dtype is getattr(torch, name) and x.tolist() == [0, 1, top]
        array[0] = 5
        assert x[0].item() == 5 and x.numpy().dtype == array.dtype
        if name != "uint64":  # there PyTorch takes no NumPy number
            assert torch.tensor(array[2]).dtype is getattr(torch, name)
    for name in ["complex32"] + FLOAT8:
        with pytest.raises(TypeError, match="unsupported ScalarType"):
            torch.ones(2, dtype=getattr(torch, name)).numpy()
    for name in SHELLS:
        x = torch.ones(2, 3, dtype=getattr(torch, name))
        y = torch.from_dlpack(x)
        assert y.dtype is x.dtype and y.data_ptr() == x.data_ptr()


@pytest.mark.item("M4.54")
def test_requires_grad_and_backward_through_a_cast(torch):
    for name in UNSIGNED:
        with pytest.raises(RuntimeError):
            torch.zeros(2, dtype=getattr(torch, name), requires_grad=True)
    for name in FLOAT8:
        x = torch.ones(2, dtype=getattr(torch, name)).requires_grad_()
        (x.float() * 2).sum().backward()
        assert x.grad.dtype is x.dtype and x.grad.tolist() == [2.0, 2.0]
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    (w.to(torch.float8_e5m2).float() * 3).sum().backward()
    assert w.grad.tolist() == [3.0, 3.0]


@pytest.mark.item("M1.40")
def test_quantized_dtypes_are_names(torch):
    for name, size in (("quint8", 1), ("qint8", 1), ("qint32", 4), ("quint4x2", 1), ("quint2x4", 1)):
        dtype = getattr(torch, name)
        assert isinstance(dtype, torch.dtype) and repr(dtype) == "torch." + name and dtype.itemsize == size
        assert not dtype.is_floating_point and not dtype.is_complex and dtype.to_real() is dtype
        assert pickle.loads(pickle.dumps(dtype)) is dtype
        with pytest.raises(RuntimeError, match="quantized"):
            dtype.is_signed
        for make in (lambda: torch.zeros(2, dtype=dtype), lambda: torch.tensor([1], dtype=dtype)):
            with pytest.raises((RuntimeError, TypeError)):
                make()


@pytest.mark.item("M4.54")
def test_kernels_do_not_meet_dtypes_they_do_not_know(torch):
    F = torch.nn.functional
    for name in UNSIGNED + FLOAT8:
        x = torch.ones(1, 4, 4, 4, dtype=getattr(torch, name))
        for call in (
            lambda: F.interpolate(x, scale_factor=2, mode="bilinear"),
            lambda: F.interpolate(x[0], scale_factor=2, mode="linear"),
            lambda: F.interpolate(x, scale_factor=2, mode="bicubic"),
            lambda: F.avg_pool2d(x, 2),
            lambda: F.max_pool2d(x, 2),
            lambda: F.layer_norm(x, (4,)),
            lambda: F.batch_norm(x, torch.ones(4), torch.ones(4)),
            lambda: F.softmax(x, 1),
            lambda: F.conv2d(x, x),
            lambda: x.topk(2),
            lambda: x.logcumsumexp(0),
            lambda: x.bernoulli_(),
        ):
            with pytest.raises((NotImplementedError, RuntimeError)):
                call()


@pytest.mark.item("M4.54")
def test_float4_meets_no_other_dtype(torch):
    x = elements(torch, "float4_e2m1fn_x2", [0x12, 0x34])
    single = x[0]
    f = torch.ones(2)
    for call in (
        lambda: f * single,
        lambda: f + x,
        lambda: torch.add(f, f, out=x),
        lambda: torch.exp(f, out=x),
        lambda: torch.sum(f, 0, out=single),
        lambda: f.masked_fill(f > 0, single),
        lambda: torch.where(f > 0, f, single),
        lambda: f.cumsum(0, dtype=x.dtype),
        lambda: f.sum(dtype=x.dtype),
        lambda: f.copy_(x),
        lambda: x.copy_(f),
        lambda: f.fill_(single),
        lambda: torch.full((2,), 1.0, dtype=x.dtype),
        lambda: x.clamp(0, 1),
        lambda: x.any(),
    ):
        with pytest.raises((RuntimeError, TypeError)):
            call()
    assert x.view(torch.uint8).tolist() == [0x12, 0x34] and f.tolist() == [1, 1]
