"""Dispatch keys, devices that do not mix, missing kernels, the meta device."""

import re

import pytest


def keys(torch, t):
    return set(re.findall(r"\w+", str(torch._C._dispatch_keys(t)).split("(", 1)[1]))


@pytest.mark.item("M4.50")
def test_keys_of_tensors(torch):
    dense = {"CPU", "ADInplaceOrView", "AutogradCPU", "AutocastCPU"}
    x = torch.zeros(2)
    assert keys(torch, x) == keys(torch, x.clone().requires_grad_()) == keys(torch, x[:1]) == dense
    assert keys(torch, torch.zeros(2, device="meta")) == {"Meta", "ADInplaceOrView", "AutogradMeta"} | (
        keys(torch, torch.zeros(2, device="meta")) & {"AutocastMeta"}
    )
    z = torch.zeros(2, dtype=torch.complex64)
    assert keys(torch, z) == dense and keys(torch, z.conj()) == dense | {"Conjugate"}
    assert keys(torch, x._neg_view()) == dense | {"Negative"}
    assert (
        keys(torch, z.conj().imag) == dense | {"Negative"} and keys(torch, z.conj().resolve_conj()) == dense
    )
    with torch.inference_mode():
        inference = torch.zeros(2)
    assert keys(torch, inference) == {"CPU", "AutocastCPU"}


@pytest.mark.item("M4.50")
def test_has_and_highest(torch):
    key_set = torch._C._dispatch_keys(torch.zeros(2))
    assert key_set.has(torch._C.DispatchKey.CPU) and not key_set.has(torch._C.DispatchKey.Conjugate)
    assert key_set.highestPriorityTypeId() == torch._C.DispatchKey.AutocastCPU
    assert torch._C._dispatch_key_name(torch._C.DispatchKey.CPU) == "CPU"


@pytest.mark.item("M4.51")
def test_keys_of_the_thread(torch):
    def names(which):
        return set(
            re.findall(
                r"\w+", str(getattr(torch._C, "_dispatch_tls_local_%s_set" % which)()).split("(", 1)[1]
            )
        )

    include, exclude = names("include"), names("exclude")
    assert include == {"BackendSelect", "ADInplaceOrView"}
    assert exclude and all(name.startswith("Autocast") for name in exclude)
    with torch.no_grad():
        assert (names("include"), names("exclude")) == (include, exclude)
    with torch.inference_mode():
        assert "ADInplaceOrView" not in names("include")
        assert names("exclude") > exclude and any(name.startswith("Autograd") for name in names("exclude"))
    assert (names("include"), names("exclude")) == (include, exclude)


COMPOSITES = {
    "reshape": (lambda t, x: x.reshape(6), "ViewBackward0"),
    "reshape copy": (lambda t, x: x.t().reshape(6), "UnsafeViewBackward0"),
    "flatten": (lambda t, x: x.flatten(), "ViewBackward0"),
    "ravel": (lambda t, x: x.ravel(), "ViewBackward0"),
    "contiguous": (lambda t, x: x.t().contiguous(), "CloneBackward0"),
    "swapaxes": (lambda t, x: x.swapaxes(0, 1), "TransposeBackward0"),
    "movedim": (lambda t, x: x.movedim(0, 1), "PermuteBackward0"),
    "mT": (lambda t, x: x.mT, "TransposeBackward0"),
    "matmul": (lambda t, x: x.matmul(x.t()), "MmBackward0"),
    "linear": (lambda t, x: t.nn.functional.linear(x, t.ones(2, 3)), "MmBackward0"),
    "chunk": (lambda t, x: x.chunk(2)[0], "SplitBackward0"),
    "hsplit": (lambda t, x: x.hsplit(3)[0], "SliceBackward0"),
    "float": (lambda t, x: x.double(), "ToCopyBackward0"),
    "type_as": (lambda t, x: x.type_as(t.ones(1, dtype=t.float64)), "ToCopyBackward0"),
    "square": (lambda t, x: x.square(), "PowBackward0"),
    "multiply": (lambda t, x: x.multiply(2), "MulBackward0"),
    "true_divide": (lambda t, x: x.true_divide(2), "DivBackward0"),
    "outer": (lambda t, x: x[0].outer(x[0]), "MulBackward0"),
    "tile": (lambda t, x: x.tile(2), "RepeatBackward0"),
    "expand_as": (lambda t, x: x.expand_as(t.ones(2, 2, 3)), "ExpandBackward0"),
    "broadcast_to": (lambda t, x: x.broadcast_to(2, 2, 3), "ExpandBackward0"),
    "hstack": (lambda t, x: t.hstack([x, x]), "CatBackward0"),
    "einsum": (lambda t, x: t.einsum("ij->ji", x), "PermuteBackward0"),
    "view_as": (lambda t, x: x.view_as(x), "ViewBackward0"),
    "unflatten": (lambda t, x: x.unflatten(1, (3, 1)), "ViewBackward0"),
    "dropout off": (lambda t, x: t.nn.functional.dropout(x * 1, 0.5, False), "MulBackward0"),
}


@pytest.mark.item("M4.52")
@pytest.mark.parametrize("name", sorted(COMPOSITES))
def test_composites_record_their_parts(torch, name):
    call, node = COMPOSITES[name]
    x = torch.ones(2, 3, requires_grad=True)
    assert type(call(torch, x).grad_fn).__name__ == node


@pytest.mark.item("M4.52")
def test_missing_kernel_names_op_and_backend(torch):
    with pytest.raises(NotImplementedError, match="nonzero.*[Mm]eta"):
        torch.zeros(2, device="meta").nonzero()


@pytest.mark.item("M4.53")
def test_mixed_devices(torch):
    cpu, meta = torch.ones(3), torch.ones(3, device="meta")
    for call in (
        lambda: cpu + meta,
        lambda: meta * cpu,
        lambda: torch.maximum(cpu, meta),
        lambda: torch.where(cpu > 0, meta, meta),
        lambda: torch.cat([cpu, meta]),
        lambda: torch.addcmul(meta, cpu, meta),
    ):
        with pytest.raises(RuntimeError, match="meta.*cpu|cpu.*meta"):
            call()
    number = torch.tensor(2.0)
    for result in (meta + number, number * meta, torch.maximum(meta, number), meta.add_(number), meta + 1):
        assert result.is_meta and result.shape == (3,)


@pytest.mark.item("M4.53")
@pytest.mark.minitorch_only(reason="PyTorch lets these through and answers with stray memory")
def test_mixed_devices_that_pytorch_lets_through(torch):
    cpu, meta = torch.ones(3, 3), torch.ones(3, 3, device="meta")
    for call in (
        lambda: cpu.mm(meta),
        lambda: torch.nn.functional.linear(meta, cpu),
        lambda: cpu.add_(meta),
        lambda: meta.add_(cpu),
        lambda: cpu[torch.zeros(2, dtype=torch.int64, device="meta")],
    ):
        with pytest.raises(RuntimeError):
            call()


@pytest.mark.item("M4.54")
def test_missing_dtypes(torch):
    ones = torch.ones(2, 2)
    for call, dtype in (
        (lambda: ones.bool().abs(), "Bool"),
        (lambda: ones.bool().ceil(), "Bool"),
        (lambda: torch.arange(3, dtype=torch.bool), "Bool"),
        (lambda: ones.long().softmax(0), "Long"),
        (lambda: ones.bool() @ ones.bool(), "Bool"),
        (lambda: torch.bitwise_and(ones, ones), "Float"),
        (lambda: torch.gcd(ones, ones), "Float"),
        (lambda: torch.randperm(3, dtype=torch.bool), "Bool"),
        (lambda: ones.to(torch.complex64).lt(ones), "ComplexFloat"),
        (lambda: ones.int().normal_(), "Int"),
        (lambda: ones.long().uniform_(), "Long"),
        (lambda: ones.int().lerp(ones.int(), 1), "Int"),
    ):
        with pytest.raises(NotImplementedError, match="\".*\" not implemented for '%s'" % dtype) as info:
            call()
        assert isinstance(info.value, RuntimeError)


META_CALLS = {
    "add": lambda t, x: x + x,
    "exp": lambda t, x: x.exp(),
    "sum": lambda t, x: x.sum(1),
    "mean": lambda t, x: x.mean(),
    "matmul": lambda t, x: x @ x.t(),
    "transpose": lambda t, x: x.t(),
    "reshape": lambda t, x: x.t().reshape(12),
    "index": lambda t, x: x[1:, ::2],
    "cat": lambda t, x: t.cat([x, x], 1),
    "softmax": lambda t, x: x.softmax(0),
    "compare": lambda t, x: x > 1,
    "cast": lambda t, x: x.double(),
    "argmax": lambda t, x: x.argmax(1),
    "cumsum": lambda t, x: x.cumsum(0),
    "where": lambda t, x: t.where(x > 0, x, x),
    "zeros_like": lambda t, x: t.zeros_like(x),
    "sort": lambda t, x: x.sort(0)[1],
    "conv": lambda t, x: (
        t.nn.functional.conv1d(x[None], t.zeros(5, 3, 2, device="meta"))
        if x.is_meta
        else t.nn.functional.conv1d(x[None], t.zeros(5, 3, 2))
    ),
    "permuted": lambda t, x: x.t() * 2,
    "int": lambda t, x: x.int() / 2,
    "std": lambda t, x: x.std(0),
    "clone": lambda t, x: x.t().clone(),
    "bool any": lambda t, x: x.any(),
    "layer_norm": lambda t, x: t.nn.functional.layer_norm(x, (4,)),
}


@pytest.mark.item("M4.55")
@pytest.mark.parametrize("name", sorted(META_CALLS))
def test_meta_follows_shape_dtype_strides(torch, name):
    real = META_CALLS[name](torch, torch.ones(3, 4))
    meta = META_CALLS[name](torch, torch.ones(3, 4, device="meta"))
    assert meta.is_meta and meta.device.type == "meta"
    assert (meta.shape, meta.dtype, meta.stride()) == (real.shape, real.dtype, real.stride())


@pytest.mark.item("M4.55")
def test_meta_has_no_data(torch):
    x = torch.zeros(1, device="meta")
    for call in (lambda: x.item(), lambda: bool(x), lambda: float(x), lambda: int(x)):
        with pytest.raises(RuntimeError):
            call()
    for call in (
        lambda: x.tolist(),
        lambda: x.cpu(),
        lambda: x.nonzero(),
        lambda: x.to("cpu"),
        lambda: torch.ones(1).copy_(x),
    ):
        with pytest.raises(NotImplementedError):
            call()
    assert x.copy_(torch.ones(1)).is_meta and torch.empty_like(x, device="cpu").device.type == "cpu"
    assert "meta" in repr(x) and x.data_ptr() == 0
