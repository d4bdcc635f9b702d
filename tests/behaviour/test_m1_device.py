# SPDX-License-Identifier: BSD-3-Clause
"""torch.device: forms, parsing, text, comparison, and as a context manager."""

import copy
import pickle

import pytest


@pytest.fixture
def no_accelerator(torch):
    if torch.cuda.is_available():
        pytest.skip("there is an accelerator here")


@pytest.mark.item("M1.60")
def test_forms(torch):
    for d, kind, index in (
        (torch.device("cpu"), "cpu", None),
        (torch.device("cuda:1"), "cuda", 1),
        (torch.device("cuda", 1), "cuda", 1),
        (torch.device("cuda", index=1), "cuda", 1),
        (torch.device(type="cuda", index=2), "cuda", 2),
        (torch.device(type="cuda"), "cuda", None),
        (torch.device("cpu", 0), "cpu", 0),
        (torch.device("cuda:127"), "cuda", 127),
        (torch.device("meta"), "meta", None),
        (torch.device(torch.device("cuda:3")), "cuda", 3),
        (torch.device("cuda", None), "cuda", None),
    ):
        assert type(d) is torch.device
        assert d.type == kind and d.index == index
    for attribute in ("type", "index"):
        with pytest.raises(AttributeError):
            setattr(torch.device("cpu"), attribute, 0)


@pytest.mark.item("M1.60")
def test_a_number_needs_an_accelerator(torch, no_accelerator):
    for call in (lambda: torch.device(0), lambda: torch.device(1), lambda: torch.zeros(1, device=0)):
        with pytest.raises((RuntimeError, AssertionError)):
            call()


BAD_STRINGS = [
    "", "other", "cpu:", "cpu:x", "cpu:-1", "cpu:00", "cuda:01", "cpu ", " cpu", "cpu:0 ", "cpu:0:1", "cpu:0.5",
    "cuda:99999999999", "cuda:1,2", "CPU", ":0", "cpu::", "cu", "cuda0", "cpu:+1", "cpu\n",
]  # fmt: skip


@pytest.mark.item("M1.61")
@pytest.mark.parametrize("text", BAD_STRINGS)
def test_bad_strings(torch, text):
    with pytest.raises(RuntimeError):
        torch.device(text)
    with pytest.raises(RuntimeError):
        torch.zeros(1, device=text)


@pytest.mark.item("M1.61")
def test_unknown_type_lists_the_known_ones(torch):
    with pytest.raises(RuntimeError, match="cpu.*cuda.*meta") as info:
        torch.device("other:1")
    assert "other" in str(info.value)
    with pytest.raises(RuntimeError, match="Invalid device string: 'cpu:x'"):
        torch.device("cpu:x")


@pytest.mark.item("M1.61")
@pytest.mark.parametrize(
    "args", [(), (1.5,), (None,), (True,), ("cuda", "1"), ("cuda", 1.5), ("cuda", True), ("cpu", 0, 0), ([],)]
)
def test_bad_types(torch, args):
    with pytest.raises(TypeError):
        torch.device(*args)


@pytest.mark.item("M1.61")
def test_bad_numbers(torch):
    for call in (
        lambda: torch.device("cuda", -1),
        lambda: torch.device("cuda:0", 1),
        lambda: torch.device(type="cuda:0", index=0),
        lambda: torch.device(-1),
    ):
        with pytest.raises(RuntimeError):
            call()
    with pytest.raises(TypeError):
        torch.device("cuda", indx=1)


@pytest.mark.item("M1.62")
def test_text_and_comparison(torch):
    d = torch.device("cuda", 1)
    assert repr(d) == "device(type='cuda', index=1)" and str(d) == "cuda:1"
    assert repr(torch.device("cpu")) == "device(type='cpu')" and str(torch.device("cpu")) == "cpu"
    assert f"{d}" == "cuda:1"
    assert d == torch.device("cuda:1") and not d != torch.device("cuda:1")
    assert torch.device("cpu") != torch.device("cpu:0")
    assert d != "cuda:1" and not d == "cuda:1" and d != 1 and d != None  # noqa: E711
    for compare in ("__lt__", "__le__", "__gt__", "__ge__"):
        with pytest.raises(TypeError):
            {"__lt__": lambda a, b: a < b, "__le__": lambda a, b: a <= b}.get(compare, lambda a, b: a > b)(
                d, d
            )


@pytest.mark.item("M1.62")
def test_hash(torch):
    devices = [torch.device(t, i) for t in ("cpu", "cuda", "meta") for i in (None, 0, 1, 2, 100)]
    assert len(set(devices)) == len({hash(d) for d in devices}) == len(devices)
    assert hash(torch.device("cuda", 1)) == hash(torch.device("cuda:1"))


@pytest.mark.item("M1.62")
def test_pickle_and_copy(torch):
    for d in (torch.device("cpu"), torch.device("cuda:2"), torch.device("meta")):
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            assert pickle.loads(pickle.dumps(d, protocol)) == d
        assert copy.copy(d) == d and copy.deepcopy(d) == d
    assert torch.device("cuda:2").__reduce__() == (torch.device, ("cuda", 2))
    assert torch.device("cpu").__reduce__() == (torch.device, ("cpu",))
    assert torch.device.__module__ == torch.__name__


FOREIGN = "xpu mkldnn opengl opencl ideep hip ve fpga maia xla lazy vulkan mps hpu mtia privateuseone".split()


@pytest.mark.item("M1.63")
@pytest.mark.parametrize("name", FOREIGN)
def test_foreign_types_parse_only(torch, name):
    assert torch.device(name).type == name
    assert torch.device(name + ":1").index == 1
    assert repr(torch.device(name, 1)) == "device(type='%s', index=1)" % name
    assert pickle.loads(pickle.dumps(torch.device(name))) == torch.device(name)
    with pytest.raises((RuntimeError, NotImplementedError, AssertionError, ImportError)):
        torch.zeros(1, device=name)
    with pytest.raises((RuntimeError, NotImplementedError, AssertionError, ImportError)):
        torch.ones(1).to(name)


@pytest.mark.item("M1.63")
def test_cuda_not_there(torch, no_accelerator):
    for call in (
        lambda: torch.zeros(1, device="cuda"),
        lambda: torch.ones(1).to("cuda"),
        lambda: torch.ones(1).cuda(),
        lambda: torch.tensor([1], device="cuda:0"),
    ):
        with pytest.raises((AssertionError, RuntimeError), match="CUDA|NVIDIA"):
            call()


@pytest.mark.item("M1.64")
def test_cpu_tensors_have_no_index(torch):
    for device in ("cpu", "cpu:0", "cpu:1", torch.device("cpu", 3)):
        for x in (
            torch.zeros(1, device=device),
            torch.tensor([1], device=device),
            torch.empty(1, device=device),
            torch.ones(1).to(device),
            torch.zeros_like(torch.ones(1), device=device),
        ):
            assert x.device == torch.device("cpu") and x.device.index is None
    assert repr(torch.zeros(1, device="cpu:1").device) == "device(type='cpu')"
    assert type(torch.zeros(1).device) is torch.device


@pytest.mark.item("M1.65")
def test_context_manager(torch):
    device = torch.device("meta")
    with device as entered:
        assert entered is None or entered is device
        assert torch.zeros(1).device.type == "meta"
        assert torch.tensor([1]).device.type == "meta"
        assert torch.arange(3).device.type == "meta"
        assert torch.zeros(1, device="cpu").device.type == "cpu"
        with torch.device("cpu"):
            assert torch.zeros(1).device.type == "cpu"
        assert torch.zeros(1).device.type == "meta"
    assert torch.zeros(1).device.type == "cpu"
    with pytest.raises(KeyError):
        with device:
            raise KeyError
    assert torch.zeros(1).device.type == "cpu"


@pytest.mark.item("M1.65")
def test_a_device_is_not_callable(torch):
    with pytest.raises(TypeError):
        torch.device("meta")(lambda: None)


@pytest.mark.item("M1.61")
def test_words_of_the_refusal(torch):
    types = (
        "cpu, cuda, ipu, xpu, mkldnn, opengl, opencl, ideep, hip, ve, fpga, maia, xla, lazy, vulkan, mps, meta, hpu, mtia, "
        "privateuseone"
    )
    unknown = "Expected one of %s device type at start of device string: nope" % types
    for call, text in (
        (lambda: torch.device("nope"), unknown),
        (lambda: torch.device("nope:1"), unknown),
        (lambda: torch.device("nope", 1), unknown),
        (lambda: torch.zeros(1, device="nope"), unknown),
        (lambda: torch.device(""), "Device string must not be empty"),
        (lambda: torch.device(":1"), "Invalid device string: ':1'"),
        (lambda: torch.device(" cpu"), "Invalid device string: ' cpu'"),
        (lambda: torch.device("cpu:"), "Invalid device string: 'cpu:'"),
    ):
        with pytest.raises(RuntimeError) as info:
            call()
        assert str(info.value) == text
