"""Which dtype a result has, and what numbers become on the way there."""

import itertools
import math
import warnings

import pytest

# The rows of the table: what a dtype gives with each of ORDER, both dimensioned.
ORDER = "u8 i8 i16 i32 i64 f16 bf16 f32 f64 c32 c64 c128".split()
TABLE = {
    "b8": "u8 i8 i16 i32 i64 f16 bf16 f32 f64 c32 c64 c128",
    "u8": "u8 i16 i16 i32 i64 f16 bf16 f32 f64 c32 c64 c128",
    "i8": "i16 i8 i16 i32 i64 f16 bf16 f32 f64 c32 c64 c128",
    "i16": "i16 i16 i16 i32 i64 f16 bf16 f32 f64 c32 c64 c128",
    "i32": "i32 i32 i32 i32 i64 f16 bf16 f32 f64 c32 c64 c128",
    "i64": "i64 i64 i64 i64 i64 f16 bf16 f32 f64 c32 c64 c128",
    "f16": "f16 f16 f16 f16 f16 f16 f32 f32 f64 c32 c64 c128",
    "bf16": "bf16 bf16 bf16 bf16 bf16 f32 bf16 f32 f64 c64 c64 c128",
    "f32": "f32 f32 f32 f32 f32 f32 f32 f32 f64 c64 c64 c128",
    "f64": "f64 f64 f64 f64 f64 f64 f64 f64 f64 c128 c128 c128",
    "c32": "c32 c32 c32 c32 c32 c32 c64 c64 c128 c32 c64 c128",
    "c64": "c64 c64 c64 c64 c64 c64 c64 c64 c128 c64 c64 c128",
    "c128": "c128 c128 c128 c128 c128 c128 c128 c128 c128 c128 c128 c128",
}
NAMES = dict(
    zip(
        ["b8"] + ORDER,
        "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex32 complex64 complex128".split(),
    )
)
TOKENS = list(NAMES)


def lattice(a, b):
    if a == "b8" and b == "b8":
        return "b8"
    return TABLE[b].split()[ORDER.index(a)] if b == "b8" else TABLE[a].split()[ORDER.index(b)]


def dtype_of(torch, token):
    return getattr(torch, NAMES[token])


def category(token):
    return {"b": 0, "u": 1, "i": 1, "f": 2, "c": 3}["f" if token == "bf16" else token[0]]


COMPLEX_OF = {"f16": "c32", "bf16": "c64", "f32": "c64", "f64": "c128"}


def outrank(high, low):
    """`low` is of a group with less weight: only a higher category of it counts, and a float keeps its width."""
    if category(high) >= category(low):
        return high
    return COMPLEX_OF.get(high, low)


@pytest.mark.item("M4.60", "M4.61")
@pytest.mark.parametrize("a", TOKENS)
def test_every_pair(torch, a):
    da = dtype_of(torch, a)
    for b in TOKENS:
        db, result = dtype_of(torch, b), dtype_of(torch, lattice(a, b))
        assert torch.promote_types(da, db) is result is torch.promote_types(db, da)
        row_a, row_b = torch.ones(2, dtype=da), torch.ones(2, dtype=db)
        zero_a, zero_b = torch.ones((), dtype=da), torch.ones((), dtype=db)
        assert torch.result_type(row_a, row_b) is result and torch.result_type(zero_a, zero_b) is result
        mixed = outrank(a, b)
        assert torch.result_type(row_a, zero_b) is dtype_of(torch, mixed), (a, b)
        assert (row_a * row_b).dtype is result and (zero_a * zero_b).dtype is result
        assert (row_a * zero_b).dtype is (zero_b * row_a).dtype is dtype_of(torch, mixed)
        assert torch.cat([row_a, row_b]).dtype is result
        assert torch.where(torch.tensor([True, False]), row_a, row_b).dtype is result
        assert torch.can_cast(da, db) == (category(a) <= category(b))
        assert (row_a == row_b).dtype is torch.bool
        if category(a) < 3 and category(b) < 3:
            assert torch.div(row_a, row_b).dtype is (result if result.is_floating_point else torch.float32)


@pytest.mark.item("M4.60")
@pytest.mark.parametrize("default", ["float16", "bfloat16", "float32", "float64"])
def test_numbers(torch, default):
    floats = {v: k for k, v in NAMES.items()}
    torch.set_default_dtype(getattr(torch, default))
    try:
        for token in TOKENS:
            for shape in ((2,), ()):
                x = torch.ones(shape, dtype=dtype_of(torch, token))
                with_int = "i64" if token == "b8" else token
                with_float = token if category(token) >= 2 else floats[default]
                expected = [(True, token), (1, with_int), (1.5, with_float)]
                expected += [(1j, token if category(token) == 3 else COMPLEX_OF[with_float])]
                for number, want in expected:
                    assert torch.result_type(x, number) is dtype_of(torch, want), (token, number)
                    assert (x * number).dtype is dtype_of(torch, want), (token, number)
    finally:
        torch.set_default_dtype(torch.float32)


@pytest.mark.item("M4.60")
def test_numbers_wrap_into_the_dtype(torch):
    x = torch.tensor([1], dtype=torch.int8)
    assert (x + 200).tolist() == [-55] and (x + 200).dtype is torch.int8
    assert (torch.tensor([1], dtype=torch.uint8) + 300).tolist() == [45]
    assert (x + torch.tensor(1.5, dtype=torch.float64)).dtype is torch.float64
    assert (torch.ones(2) + torch.tensor(1.5, dtype=torch.float64)).dtype is torch.float32
    assert (torch.ones((), dtype=torch.int64) + torch.ones(1, dtype=torch.int8)).dtype is torch.int8
    assert torch.result_type(torch.ones(1, dtype=torch.int8), torch.tensor(2.0)) is torch.float32
    # three groups at once
    rows, zero = torch.ones(2, dtype=torch.int16), torch.tensor(1.0, dtype=torch.float16)
    assert torch.add(rows, zero).dtype is torch.float16
    assert torch.where(torch.tensor(True), rows, zero).dtype is torch.float16
    assert torch.clamp(rows, 0.5).dtype is torch.float32


@pytest.mark.item("M4.62")
def test_wrapped_numbers(torch):
    for number, dtype in ((1, torch.int64), (True, torch.bool), (1.5, torch.float32), (1j, torch.complex64)):
        result = torch.mul(number, number)
        assert result.dtype is dtype and result.shape == ()
    total = torch.add(1, 1)
    assert total.item() == 2
    # no longer wrapped: a plain 0-d tensor outranks bool, and stays what it is
    assert torch.result_type(total, torch.tensor(1, dtype=torch.int8)) is torch.int64
    assert torch.result_type(torch.add(1.5, 1), torch.tensor(1, dtype=torch.float64)) is torch.float64
    x = torch.tensor(2.5, dtype=torch.float64)
    assert (torch.ones(2, dtype=torch.float16) * x).dtype is torch.float16
    assert torch.result_type(torch.tensor(1), 1.0) is torch.float32


@pytest.mark.item("M4.63")
def test_results_must_be_castable(torch):
    i, b, f = torch.ones(2, dtype=torch.int64), torch.ones(2, dtype=torch.bool), torch.ones(2)
    for call in (
        lambda: i.add_(1.5),
        lambda: b.add_(1),
        lambda: f.add_(1j),
        lambda: i.mul_(f),
        lambda: i.div_(2),
        lambda: i.sqrt_(),
        lambda: torch.add(f, f, out=torch.empty(2, dtype=torch.int64)),
        lambda: torch.mul(f, 1j, out=torch.empty(2)),
        lambda: torch.sqrt(f, out=torch.empty(2, dtype=torch.int64)),
        lambda: b.mul_(2),
        lambda: i.true_divide_(i),
    ):
        with pytest.raises(RuntimeError, match="can't be cast to the desired output type"):
            call()
    assert i.tolist() == [1, 1] and b.tolist() == [True, True]
    assert torch.ones(2, dtype=torch.int8).add_(300).tolist() == [45, 45]
    assert torch.ones(2, dtype=torch.float16).add_(torch.ones(2, dtype=torch.float64)).dtype is torch.float16
    out = torch.empty(2, dtype=torch.float64)
    assert torch.add(i, i, out=out) is out and out.tolist() == [2.0, 2.0]
    assert torch.eq(f, f, out=torch.empty(2)).tolist() == [1.0, 1.0]


@pytest.mark.item("M4.64")
def test_integer_division(torch):
    a = torch.tensor([7, -7, 7, -7])
    b = torch.tensor([2, 2, -2, -2])
    assert (a / b).tolist() == [3.5, -3.5, -3.5, 3.5] and (a / b).dtype is torch.float32
    assert (a // b).tolist() == [3, -4, -4, 3] and (a % torch.tensor([3, 3, -3, -3])).tolist() == [
        1,
        2,
        -2,
        -1,
    ]
    assert a.fmod(3).tolist() == [1, -1, 1, -1]
    assert torch.div(a, b, rounding_mode="trunc").tolist() == [3, -3, -3, 3]
    assert torch.div(a, b, rounding_mode="floor").tolist() == [3, -4, -4, 3]
    assert torch.div(a, b, rounding_mode=None).dtype is torch.float32
    with pytest.raises(RuntimeError, match="rounding_mode"):
        torch.div(a, b, rounding_mode="up")
    for call in (
        lambda: a // 0,
        lambda: a % 0,
        lambda: a.fmod(0),
        lambda: torch.div(a, torch.zeros_like(a), rounding_mode="trunc"),
        lambda: torch.remainder(a, torch.zeros_like(a)),
    ):
        with pytest.raises(RuntimeError, match="ZeroDivisionError"):
            call()
    f = torch.tensor([1.0, -1.0, 0.0])
    assert (f / 0).tolist()[:2] == [math.inf, -math.inf] and math.isnan((f / 0)[2].item())
    assert (f // 0).tolist()[:2] == [math.inf, -math.inf] and all(math.isnan(v) for v in (f % 0).tolist())


@pytest.mark.item("M4.64")
@pytest.mark.minitorch_only(reason="PyTorch ends the process with SIGFPE for 32 and 64 bits")
def test_least_integer_by_minus_one(torch):
    for dtype in (torch.int8, torch.int16, torch.int32, torch.int64):
        low = torch.iinfo(dtype).min
        x = torch.tensor([low, 5], dtype=dtype)
        assert (
            (x // -1).tolist() == [low, -5] and (x % -1).tolist() == [0, 0] and x.fmod(-1).tolist() == [0, 0]
        )
        assert torch.div(x, -1, rounding_mode="trunc").tolist() == [low, -5]


@pytest.mark.item("M4.64")
def test_integer_powers(torch):
    x = torch.tensor([1, 2, -1, 3])
    with pytest.raises(RuntimeError, match="negative"):
        x**-1
    assert (x ** torch.tensor([-1, -1, -1, -2])).tolist() == [1, 0, -1, 0]
    assert (
        (x**2).tolist() == [1, 4, 1, 9]
        and (x**0.5).dtype is torch.float32
        and (x**2.0).dtype is torch.float32
    )
    assert (2 ** x.abs()).tolist() == [2, 4, 2, 8]
    with pytest.raises(RuntimeError):
        torch.addcdiv(x, x, x)
    assert torch.addcmul(x, x, x).tolist() == [2, 6, 0, 12]


@pytest.mark.item("M4.65")
def test_unary_results(torch):
    for token in ("b8", "u8", "i8", "i16", "i32", "i64"):
        x = torch.ones(3, dtype=dtype_of(torch, token))
        for name in "sqrt exp log sin cos tanh sigmoid erf rsqrt reciprocal log1p expm1 atan".split():
            assert getattr(torch, name)(x).dtype is torch.float32, (name, token)
        for name in ("sum", "prod"):
            assert getattr(x, name)().dtype is torch.int64
        for name in ("cumsum", "cumprod"):
            assert getattr(x, name)(0).dtype is torch.int64
        assert x.sum(dtype=torch.int32).dtype is torch.int32
        for call in (lambda: x.mean(), lambda: x.var(), lambda: x.std(), lambda: x.norm()):
            with pytest.raises(RuntimeError):
                call()
        for name in ("isnan", "isinf", "isfinite"):
            assert getattr(x, name)().dtype is torch.bool
        assert x.any().dtype is x.all().dtype is (torch.uint8 if token == "u8" else torch.bool)
        if token != "b8":
            for name in "floor ceil round trunc abs neg square sign".split():
                assert getattr(x, name)().dtype is x.dtype, name
            assert x.argmax().dtype is x.argmin().dtype is torch.int64
            assert x.mean(dtype=torch.float32).dtype is torch.float32
    with pytest.raises(RuntimeError):
        torch.ones(2, dtype=torch.bool).argmax()
    assert torch.ones(2).eq(1).dtype is torch.ones(2, dtype=torch.int8).lt(1).dtype is torch.bool
    assert torch.ones(2, dtype=torch.float16).sum().dtype is torch.float16
    assert torch.ones(2, dtype=torch.complex64).abs().dtype is torch.float32
    torch.set_default_dtype(torch.float64)
    try:
        assert torch.ones(2, dtype=torch.int64).sqrt().dtype is (torch.tensor([1]) / 2).dtype is torch.float64
    finally:
        torch.set_default_dtype(torch.float32)


@pytest.mark.item("M4.66")
def test_bool_arithmetic(torch):
    a = torch.tensor([False, False, True, True])
    b = torch.tensor([False, True, False, True])
    assert (a + b).tolist() == [False, True, True, True] and (a + b).dtype is torch.bool
    assert (a * b).tolist() == [False, False, False, True]
    assert (a ^ b).tolist() == [False, True, True, False] and (~a).tolist() == [True, True, False, False]
    for call in (
        lambda: a - b,
        lambda: -a,
        lambda: 1 - a,
        lambda: a - True,
        lambda: a.neg(),
        lambda: True - a,
    ):
        with pytest.raises(RuntimeError, match=r"\^|~|bitwise_not|logical_xor|logical_not"):
            call()
    assert (a + 1).tolist() == [1, 1, 2, 2] and (a * 2.5).tolist() == [0, 0, 2.5, 2.5]
    assert (a / b)[3].item() == 1.0 and (a // torch.ones(4, dtype=torch.int64)).dtype is torch.int64


@pytest.mark.item("M4.67")
def test_alpha(torch):
    i, f, b = torch.ones(2, dtype=torch.int64), torch.ones(2), torch.ones(2, dtype=torch.bool)
    for call, text in (
        (lambda: torch.add(i, 1, alpha=1.5), "integral"),
        (lambda: torch.sub(i, i, alpha=1.5), "integral"),
        (lambda: torch.add(f, f, alpha=1j), "complex"),
        (lambda: torch.add(i, i, alpha=True), "[Bb]oolean"),
        (lambda: torch.add(f, f, alpha=True), "[Bb]oolean"),
    ):
        with pytest.raises(RuntimeError, match=text):
            call()
    assert torch.add(b, b, alpha=True).tolist() == [True, True]
    assert torch.add(f, f, alpha=2).tolist() == [3, 3] and torch.add(i, f, alpha=1.5).tolist() == [2.5, 2.5]
    assert torch.add(f.to(torch.complex64), f, alpha=1j).tolist() == [1 + 1j] * 2


@pytest.mark.item("M4.68")
def test_joining_promotes(torch):
    i, f, d = torch.ones(2, dtype=torch.int64), torch.ones(2), torch.ones(2, dtype=torch.float64)
    assert torch.cat([i, f]).dtype is torch.float32 and torch.stack([i, d]).dtype is torch.float64
    assert torch.cat([i, torch.ones(2, dtype=torch.bool)]).dtype is torch.int64
    assert (
        torch.where(i > 0, i, f).dtype is torch.float32 and torch.where(i > 0, i, 1.5).dtype is torch.float32
    )
    with pytest.raises((TypeError, RuntimeError)):
        torch.cat([i, f], out=torch.empty(4, dtype=torch.int64))
    with pytest.raises(RuntimeError, match="overflow"):
        torch.where(torch.tensor([True]), torch.ones(1, dtype=torch.int8), 1000)
    assert torch.cat([i, f], out=torch.empty(4, dtype=torch.float64)).dtype is torch.float64


@pytest.mark.item("M4.68")
def test_what_wants_one_dtype(torch):
    f, d = torch.ones(2, 2), torch.ones(2, 2, dtype=torch.float64)
    index = torch.tensor([0, 1])
    for call in (
        lambda: f @ d,
        lambda: torch.mm(f, d),
        lambda: torch.mv(f, d[0]),
        lambda: torch.dot(f[0], d[0]),
        lambda: torch.bmm(f[None], d[None]),
        lambda: torch.addmm(f, f, d),
        lambda: torch.lerp(f, d, 0.5),
        lambda: f.index_add(0, index, d),
        lambda: f.index_copy(0, index, d),
        lambda: f.index_put((index,), d),
        lambda: f.scatter(0, index[None], d),
        lambda: f.masked_scatter(f > 0, d),
        lambda: torch.nn.functional.linear(f, d),
    ):
        with pytest.raises(RuntimeError, match="dtype|scalar type|same type"):
            call()


@pytest.mark.item("M4.69")
def test_casting_values(torch):
    nan, inf = math.nan, math.inf
    for source, target, expected in (
        (300.0, torch.uint8, 44),
        (-1.0, torch.uint8, 255),
        (1.9, torch.int32, 1),
        (-1.9, torch.int32, -1),
        (nan, torch.int32, -(2**31)),
        (nan, torch.int64, -(2**63)),
        (inf, torch.int64, -(2**63)),
        (nan, torch.bool, True),
        (0.1, torch.bool, True),
        (-0.0, torch.bool, False),
        (200, torch.int8, -56),
        (70000, torch.int16, 4464),
        (-1, torch.uint8, 255),
        (2**40, torch.int32, 0),
        (2**24 + 1, torch.float32, 2.0**24),
        (2**24 + 3, torch.float32, 2.0**24 + 4),
        (True, torch.float16, 1.0),
        (65504.0, torch.float16, 65504.0),
        (65519.0, torch.float16, 65504.0),
        (65520.0, torch.float16, inf),
        (1 + 2.0**-11, torch.float16, 1.0),
        (1 + 3 * 2.0**-11, torch.float16, 1 + 2.0**-9),
        (2.0**-25, torch.float16, 0.0),
        (2.0**-24, torch.float16, 2.0**-24),
        (1 + 2.0**-8, torch.bfloat16, 1.0),
        (1 + 3 * 2.0**-8, torch.bfloat16, 1 + 2.0**-6),
        (1e40, torch.float32, inf),
        (2.5, torch.complex64, 2.5 + 0j),
    ):
        dtype = torch.float64 if isinstance(source, float) else None
        got = torch.tensor([source], dtype=dtype).to(target)
        assert got.dtype is target and got.item() == expected, (source, target)
    assert torch.tensor([1j, 0j]).to(torch.bool).tolist() == [True, False]
    assert torch.tensor([nan]).to(torch.float16).isnan().item()


@pytest.mark.item("M4.69")
def test_complex_to_real_drops_the_imaginary_part(torch):
    with warnings.catch_warnings(record=True):  # once in a process
        z = torch.tensor([1 + 2j, -3.5 - 1j])
        assert z.to(torch.float32).tolist() == [1.0, -3.5] and z.to(torch.int32).tolist() == [1, -3]
        assert torch.zeros(2).copy_(z).tolist() == [1.0, -3.5]


@pytest.mark.item("M4.70")
def test_out_is_resized(torch):
    with pytest.warns(UserWarning, match="was resized"):
        out = torch.zeros(2)
        assert torch.add(torch.ones(3), 1, out=out) is out and out.tolist() == [2, 2, 2]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for shape in ((0,), (3,), (0, 5)):
            assert torch.add(torch.ones(3), 1, out=torch.zeros(shape)).tolist() == [2, 2, 2]
        strided = torch.zeros(6)[::2]
        assert torch.add(torch.ones(3), 1, out=strided) is strided and strided.stride() == (2,)
    for call in (
        lambda o: torch.exp(torch.zeros(3), out=o),
        lambda o: torch.sum(torch.ones(2, 3), 0, out=o),
        lambda o: torch.mm(torch.ones(3, 1), torch.ones(1, 1), out=o),
        lambda o: torch.cat([torch.ones(3)], out=o),
        lambda o: torch.cumsum(torch.ones(3), 0, out=o),
        lambda o: torch.index_select(torch.ones(3), 0, torch.arange(3), out=o),
    ):
        with pytest.warns(UserWarning, match="resized"):
            assert call(torch.zeros(7)).numel() == 3


@pytest.mark.item("M4.71")
def test_low_precision_sums(torch):
    for dtype in (torch.float16, torch.bfloat16):
        assert torch.ones(5120, dtype=dtype).sum().item() == 5120
        assert torch.ones(5120, 3, dtype=dtype).sum(0).tolist() == [5120] * 3
        assert torch.ones(3, 5120, dtype=dtype).sum(1).tolist() == [5120] * 3
        assert torch.ones(5120, dtype=dtype).mean().item() == 1
        # odd numbers are rounded once, at the end
        assert torch.ones(4099, dtype=dtype).sum().item() == torch.tensor(4099.0).to(dtype).item()
        assert torch.full((1000,), 0.1, dtype=dtype).sum().item() == pytest.approx(
            1000 * torch.tensor(0.1, dtype=dtype).item(), rel=2**-8
        )
    assert torch.ones(70000, dtype=torch.float16).sum().item() == math.inf
    assert torch.ones(70000, dtype=torch.float16).mean().item() == 1
    assert torch.full((4,), 60000.0, dtype=torch.float16).sum().item() == math.inf
    x = torch.ones(4096, dtype=torch.bfloat16)
    assert x.cumsum(0)[-1].item() == 4096 and (x @ x).item() == 4096


@pytest.mark.item("M4.61")
def test_promotion_is_a_join(torch):
    for a, b in itertools.product(TOKENS, TOKENS):
        assert lattice(lattice(a, b), b) == lattice(a, b) == lattice(a, lattice(a, b))
        assert torch.can_cast(dtype_of(torch, a), dtype_of(torch, lattice(a, b)))


def values_without_dimensions(torch):
    return [
        torch.tensor(2.0),
        torch.tensor(2),
        torch.tensor(2.5, dtype=torch.float64),
        torch.tensor(True),
        torch.tensor(2.0, dtype=torch.float16),
    ]


@pytest.mark.item("M4.61")
def test_tensors_without_dimensions_where_numbers_may_stand(torch):
    """They take part as tensors: their dtype counts where the category of the others is lower."""
    i, f = torch.tensor([1, 2, 3]), torch.tensor([1.0, 2.0, 3.0])
    f32, i64, f64, f16 = torch.float32, torch.int64, torch.float64, torch.float16
    for call in (
        lambda x, v: torch.clamp(x, min=v),
        lambda x, v: x.clamp(v, v),
        lambda x, v: torch.clip(x, max=v),
    ):
        values = values_without_dimensions(torch)
        assert [call(i, v).dtype for v in values] == [f32, i64, f64, i64, f16]
        assert [call(f, v).dtype for v in values] == [f32] * 5
    assert torch.clamp(i, min=torch.tensor(2.5, dtype=f64)).tolist() == [2.5, 2.5, 3.0]
    low = torch.tensor(2.0, requires_grad=True)
    f.clamp(min=low).sum().backward()
    assert low.grad.item() == 1
    for v in values_without_dimensions(torch):
        assert torch.lerp(f, f + 1, v).dtype == f32
    v = torch.tensor(0.5, dtype=f64, requires_grad=True)
    result = torch.lerp(f, f + 2, v)
    result.sum().backward()
    assert (result.dtype, result.tolist(), v.grad.item(), v.grad.dtype) == (f32, [2, 3, 4], 6, f64)
    assert torch.lerp(i, i + 2, torch.tensor(0.5, dtype=f64)).tolist() == [2, 3, 4]
    with pytest.raises(RuntimeError, match="expected dtype float for `weight` but got dtype double"):
        torch.lerp(f, f, torch.tensor([0.5], dtype=f64))
    for x, big in ((i, 1e30), (i, float("nan")), (f.half(), 1e30), (f, 1e300), (i.to(torch.uint8), 300.0)):
        with pytest.raises(RuntimeError, match="cannot be converted to type .* without overflow"):
            x.masked_fill(x > 1, torch.tensor(big, dtype=f64))
    for call in (lambda x, v: x.index_fill(0, i - 1, v), lambda x, v: x.masked_fill(i > 1, v)):
        with pytest.raises(RuntimeError, match="onver"):
            call(f, torch.tensor(1j))
