# SPDX-License-Identifier: BSD-3-Clause
"""torch.dtype, finfo, iinfo, layout, memory_format, qscheme: singletons and what they answer."""

import copy
import pickle

import pytest

# name: aliases, size, floating, complex, signed, short name
DTYPES = {
    "float16": ("half", 2, True, False, True, "f16"),
    "float32": ("float", 4, True, False, True, "f32"),
    "float64": ("double", 8, True, False, True, "f64"),
    "bfloat16": (None, 2, True, False, True, "bf16"),
    "complex64": ("cfloat", 8, False, True, True, "c64"),
    "complex128": ("cdouble", 16, False, True, True, "c128"),
    "uint8": (None, 1, False, False, False, "u8"),
    "int8": (None, 1, False, False, True, "i8"),
    "int16": ("short", 2, False, False, True, "i16"),
    "int32": ("int", 4, False, False, True, "i32"),
    "int64": ("long", 8, False, False, True, "i64"),
    "bool": (None, 1, False, False, False, "b8"),
}
INTEGERS = {"uint8": (0, 255), "int8": (-128, 127), "int16": (-(2**15), 2**15 - 1)}
INTEGERS.update(int32=(-(2**31), 2**31 - 1), int64=(-(2**63), 2**63 - 1))


def package(torch):
    return torch.__name__


# --- dtype ---


@pytest.mark.item("M1.40", "M1.41")
@pytest.mark.parametrize("name", DTYPES)
def test_attributes(torch, name):
    alias, size, floating, is_complex, signed, short = DTYPES[name]
    d = getattr(torch, name)
    assert isinstance(d, torch.dtype) and type(d) is torch.dtype
    if alias:
        assert getattr(torch, alias) is d
    assert torch.zeros(1, dtype=d).dtype is d
    assert d.itemsize == size == torch.zeros(1, dtype=d).element_size()
    assert d.is_floating_point is floating
    assert d.is_complex is is_complex
    assert d.is_signed is signed
    assert d.abbr == short
    assert d.__module__ == package(torch)
    for attribute in ("is_floating_point", "is_complex", "is_signed", "itemsize", "abbr"):
        with pytest.raises(AttributeError):
            setattr(d, attribute, 1)


@pytest.mark.item("M1.41")
def test_to_real_and_to_complex(torch):
    for real, is_complex in (("float32", "complex64"), ("float64", "complex128")):
        real, is_complex = getattr(torch, real), getattr(torch, is_complex)
        assert real.to_complex() is is_complex and is_complex.to_real() is real
        assert real.to_real() is real and is_complex.to_complex() is is_complex
    assert torch.bfloat16.to_complex() is torch.complex64
    for name in ("float16", "bfloat16", "int64", "uint8", "bool"):
        assert getattr(torch, name).to_real() is getattr(torch, name)
    for name in ("int8", "int16", "int32", "int64", "uint8", "bool"):
        with pytest.raises(RuntimeError):
            getattr(torch, name).to_complex()


@pytest.mark.item("M1.41")
def test_not_constructible(torch):
    with pytest.raises(TypeError, match="cannot create"):
        torch.dtype()
    with pytest.raises(TypeError):
        torch.dtype("float32")
    with pytest.raises(TypeError, match="not an acceptable base type"):
        type("Sub", (torch.dtype,), {})


@pytest.mark.item("M1.42")
@pytest.mark.parametrize("name", DTYPES)
def test_text_identity_and_pickle(torch, name):
    d = getattr(torch, name)
    assert repr(d) == str(d) == "torch." + name
    assert d == d and not d != d
    assert d != name and d != "torch." + name
    assert {d: 1}[getattr(torch, name)] == 1
    assert copy.copy(d) is d and copy.deepcopy([d])[0] is d
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(d, protocol)) is d
    assert d.__reduce__() == name


@pytest.mark.item("M1.42")
def test_hashes_differ(torch):
    assert len({getattr(torch, name) for name in DTYPES}) == len(DTYPES)
    assert torch.float32 != torch.float64
    with pytest.raises(TypeError):
        torch.float32 < torch.float64


# --- finfo and iinfo ---

FLOATS = {
    "float16": (16, 2.0**-10, 65504.0, 2.0**-14, 1e-3),
    "bfloat16": (16, 2.0**-7, 3.3895313892515355e38, 2.0**-126, 1e-2),
    "float32": (32, 2.0**-23, 3.4028234663852886e38, 2.0**-126, 1e-6),
    "float64": (64, 2.0**-52, 1.7976931348623157e308, 2.0**-1022, 1e-15),
}


@pytest.mark.item("M1.43")
@pytest.mark.parametrize("name", FLOATS)
def test_finfo(torch, name):
    bits, eps, largest, tiny, resolution = FLOATS[name]
    info = torch.finfo(getattr(torch, name))
    assert type(info) is torch.finfo
    assert (info.bits, info.eps, info.max, info.min) == (bits, eps, largest, -largest)
    assert info.tiny == info.smallest_normal == tiny
    assert info.resolution == resolution
    assert info.dtype == name and type(info.dtype) is str
    for attribute in ("bits", "max", "dtype"):
        with pytest.raises(AttributeError):
            setattr(info, attribute, 1)


@pytest.mark.item("M1.43")
def test_finfo_text(torch):
    expected = {
        "float16": "finfo(resolution=0.001, min=-65504, max=65504, eps=0.000976562, "
        "smallest_normal=6.10352e-05, tiny=6.10352e-05, dtype=float16)",
        "bfloat16": "finfo(resolution=0.01, min=-3.38953e+38, max=3.38953e+38, eps=0.0078125, "
        "smallest_normal=1.17549e-38, tiny=1.17549e-38, dtype=bfloat16)",
        "float32": "finfo(resolution=1e-06, min=-3.40282e+38, max=3.40282e+38, eps=1.19209e-07, "
        "smallest_normal=1.17549e-38, tiny=1.17549e-38, dtype=float32)",
        "float64": "finfo(resolution=1e-15, min=-1.79769e+308, max=1.79769e+308, eps=2.22045e-16, "
        "smallest_normal=2.22507e-308, tiny=2.22507e-308, dtype=float64)",
    }
    for name, text in expected.items():
        assert repr(torch.finfo(getattr(torch, name))) == str(torch.finfo(getattr(torch, name))) == text


@pytest.mark.item("M1.43")
def test_finfo_arguments(torch):
    assert torch.finfo() == torch.finfo(torch.get_default_dtype())
    assert torch.finfo(type=torch.float64).bits == 64
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        assert torch.finfo().dtype == "float64"
    finally:
        torch.set_default_dtype(before)
    assert torch.finfo(torch.complex64).dtype == "float32"
    assert torch.finfo(torch.complex128).max == torch.finfo(torch.float64).max
    for name in INTEGERS:
        with pytest.raises(TypeError, match="iinfo"):
            torch.finfo(getattr(torch, name))
    for bad in (torch.bool, "float32", 3, None):
        with pytest.raises(TypeError):
            torch.finfo(bad)
    with pytest.raises(TypeError):
        torch.finfo(torch.float32, 1)


@pytest.mark.item("M1.43", "M1.44")
def test_infos_compare_by_dtype(torch):
    for info, a, b in ((torch.finfo, torch.float32, torch.float64), (torch.iinfo, torch.int8, torch.int64)):
        assert info(a) == info(a) and not info(a) != info(a)
        assert info(a) != info(b) and not info(a) == info(b)
        with pytest.raises(TypeError):
            info(a) < info(b)
        with pytest.raises(TypeError, match="unhashable"):
            hash(info(a))


@pytest.mark.item("M1.44")
@pytest.mark.parametrize("name", INTEGERS)
def test_iinfo(torch, name):
    info = torch.iinfo(getattr(torch, name))
    assert type(info) is torch.iinfo
    assert (info.min, info.max) == INTEGERS[name]
    assert info.bits == 8 * getattr(torch, name).itemsize
    assert info.dtype == name
    assert repr(info) == str(info)
    assert repr(info) == "iinfo(min=%.6g, max=%.6g, dtype=%s)" % (info.min, info.max, name)


@pytest.mark.item("M1.44")
def test_iinfo_refuses(torch):
    for name in FLOATS:
        with pytest.raises(TypeError, match="finfo"):
            torch.iinfo(getattr(torch, name))
    for bad in (torch.complex64, torch.bool, "int8", 1, None):
        with pytest.raises(TypeError):
            torch.iinfo(bad)
    with pytest.raises(TypeError):
        torch.iinfo()


@pytest.mark.item("M1.45")
def test_python_types_stand_for_dtypes(torch):
    for python, d in ((float, "float64"), (int, "int64"), (bool, "bool"), (complex, "complex128")):
        d = getattr(torch, d)
        assert torch.zeros(2, dtype=python).dtype is d
        assert torch.tensor([1], dtype=python).dtype is d
        assert torch.ones(2).to(python).dtype is d
        assert torch.ones(2).to(dtype=python).dtype is d
        assert torch.ones(2).sum(dtype=python).dtype is d
        assert torch.full((2,), 1, dtype=python).dtype is d
        assert torch.arange(3).to("cpu", python).dtype is d


@pytest.mark.item("M1.45")
def test_what_is_no_dtype(torch):
    numpy = pytest.importorskip("numpy")
    for bad in ("float32", "int", 5, 1.5, str, numpy.float32, numpy.dtype("float32"), object()):
        with pytest.raises(TypeError, match="dtype") as info:
            torch.zeros(2, dtype=bad)
        assert "zeros" in str(info.value) and type(bad).__name__ in str(info.value)
        with pytest.raises(TypeError, match="dtype"):
            torch.tensor([1], dtype=bad)
        with pytest.raises(TypeError):
            torch.ones(2).sum(dtype=bad)
    assert torch.zeros(2, dtype=None).dtype is torch.get_default_dtype()


# --- layout, memory_format, qscheme ---

LAYOUTS = "strided sparse_coo sparse_csr sparse_csc sparse_bsr sparse_bsc _mkldnn jagged".split()
FORMATS = "contiguous_format preserve_format channels_last channels_last_3d".split()
QSCHEMES = (
    "per_tensor_affine per_channel_affine per_tensor_symmetric per_channel_symmetric "
    "per_channel_affine_float_qparams"
).split()


@pytest.mark.item("M1.50")
def test_named_singletons(torch):
    for kind, names in ((torch.layout, LAYOUTS), (torch.memory_format, FORMATS), (torch.qscheme, QSCHEMES)):
        seen = set()
        for name in names:
            value = getattr(torch, name)
            assert type(value) is kind
            assert repr(value) == str(value) == "torch." + name
            seen.add(value)
        assert len(seen) == len(names)
        with pytest.raises(TypeError):
            kind()
        with pytest.raises(TypeError):
            type("Sub", (kind,), {})
    assert torch.legacy_contiguous_format is torch.contiguous_format
    assert torch.zeros(2).layout is torch.strided
    assert torch.channels_last != torch.channels_last_3d


@pytest.mark.item("M1.50")
def test_layouts_as_arguments(torch):
    x = torch.zeros(2, layout=torch.strided)
    assert x.layout is torch.strided
    for bad in ("strided", 0, torch.float32, torch.contiguous_format):
        with pytest.raises(TypeError, match="layout"):
            torch.zeros(2, layout=bad)
    for bad in ("contiguous_format", 0, torch.strided):
        with pytest.raises(TypeError, match="memory_format"):
            torch.zeros(2).contiguous(memory_format=bad)


@pytest.mark.item("M1.50")
@pytest.mark.minitorch_only(reason="PyTorch makes a sparse tensor")
def test_tensors_are_strided(torch):
    with pytest.raises((NotImplementedError, RuntimeError), match="sparse_coo"):
        torch.zeros(2, layout=torch.sparse_coo)


@pytest.mark.item("M1.51")
def test_pickle_gives_the_singleton(torch):
    for name in LAYOUTS + FORMATS + QSCHEMES:
        value = getattr(torch, name)
        for protocol in range(4, pickle.HIGHEST_PROTOCOL + 1):
            assert pickle.loads(pickle.dumps(value, protocol)) is value, name
        assert copy.deepcopy(value) is value, name
