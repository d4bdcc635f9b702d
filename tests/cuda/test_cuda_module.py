"""torch.cuda itself: devices, messages, laziness, and what happens without a device."""

import os
import subprocess
import sys

import pytest


def run(code, **env):
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, env={**os.environ, **env}
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_devices(torch):
    assert torch.cuda.device_count() >= 1 and torch.cuda.current_device() == 0
    assert isinstance(torch.cuda.get_device_name(), str)
    properties = torch.cuda.get_device_properties("cuda:0")
    assert properties.total_memory > 0 and properties.multi_processor_count > 0
    assert torch.cuda.get_device_capability(0) == (properties.major, properties.minor)
    with torch.cuda.device(0):
        assert torch.zeros(1, device="cuda").device.index == 0
    torch.cuda.init()
    assert torch.cuda.is_initialized()


def test_unknown_device(torch):
    for call in (
        lambda: torch.zeros(1, device="cuda:99"),
        lambda: torch.cuda.set_device(99),
        lambda: torch.ones(1).cuda(99),
    ):
        with pytest.raises(RuntimeError, match="invalid device ordinal"):
            call()
    with pytest.raises(RuntimeError, match="Invalid device, must be cuda device"):
        torch.ones(1).cuda("cpu")
    with pytest.raises(ValueError, match="Expected a cuda device"):
        torch.cuda.synchronize("cpu")


def test_mixed_devices(torch):
    x, y = torch.ones(3, device="cuda"), torch.ones(3)
    for call in (
        lambda: x + y,
        lambda: y + x,
        lambda: x.add_(y),
        lambda: y.add_(x),
        lambda: torch.where(x > 0, x, y),
    ):
        with pytest.raises(
            RuntimeError,
            match="Expected all tensors to be on the same device, but found at least two devices",
        ):
            call()
    assert (x + torch.tensor(2.0)).tolist() == [3.0] * 3
    assert (torch.tensor(2) * x).is_cuda
    with pytest.raises(RuntimeError):
        torch.add(x, x, out=torch.empty(3))


def test_refusal_names_op_and_backend(torch):
    x = torch.ones(3, 3, device="cuda")
    for name, call in (
        ("aten::cumsum", lambda: x.cumsum(0)),
        ("aten::sort", lambda: x.sort()),
        ("aten::mm", lambda: torch.mm(x, x)),
    ):
        with pytest.raises(
            NotImplementedError, match="Could not run '%s.*' with arguments from the 'CUDA' backend" % name
        ):
            call()


def test_gradients_reach_leaves_on_both_devices(torch):
    host = torch.ones(4, requires_grad=True)
    there = torch.arange(4.0, device="cuda", requires_grad=True)
    (host.cuda() * there).sum().backward()
    assert host.grad.device.type == "cpu" and host.grad.tolist() == [0, 1, 2, 3]
    assert there.grad.is_cuda and there.grad.tolist() == [1, 1, 1, 1]
    scale = torch.tensor(2.0, requires_grad=True)
    (there.detach() * scale).sum().backward()
    assert scale.grad.device.type == "cpu" and scale.grad.item() == 6


def test_legacy_types(torch):
    x = torch.ones(2, device="cuda")
    assert x.type() == "torch.cuda.FloatTensor" and isinstance(x, torch.cuda.FloatTensor)
    assert not isinstance(x, torch.FloatTensor)


def test_import_does_not_load_the_extension():
    out = run(
        "import sys, minitorch as torch; torch.ones(3).sum(); import minitorch.cuda; torch.cuda.manual_seed_all(1)\n"
        "print('minitorch._C_cuda' in sys.modules); torch.cuda.is_available(); print('minitorch._C_cuda' in sys.modules)"
    )
    assert out.split() == ["False", "True"]


def test_several_devices(torch, emu):
    out = run(
        "import minitorch as torch\n"
        "assert torch.cuda.device_count() == 2\n"
        "x = torch.arange(4.0, device='cuda:1'); y = x.to('cuda:0')\n"
        "assert (x.device.index, y.device.index) == (1, 0) and x.tolist() == y.tolist()\n"
        "assert (x + x).device.index == 1 and torch.cuda.current_device() == 0\n"
        "with torch.cuda.device(1): assert torch.ones(1, device='cuda').device.index == 1\n"
        "torch.cuda.set_device(1)\n"
        "assert torch.ones(1, device='cuda').sum().device.index == 1\n"
        "try: x + y\n"
        "except RuntimeError as exc: print(exc)\n",
        MT_EMU_DEVICES="2",
    )
    assert "found at least two devices, cuda:1 and cuda:0" in out


def test_no_device(torch, emu):
    out = run(
        "import minitorch as torch\n"
        "print(torch.cuda.is_available(), torch.cuda.device_count(), torch.cuda.memory_allocated())\n"
        "for call in (lambda: torch.zeros(1, device='cuda'), lambda: torch.cuda.current_device(), lambda: torch.ones(1).cuda()):\n"
        "    try: call()\n"
        "    except RuntimeError as exc: print(exc)\n",
        MT_EMU_DEVICES="0",
    )
    assert out.splitlines() == ["False 0 0"] + ["No CUDA GPUs are available"] * 3


def test_a_host_function_cannot_read_device_memory(torch, emu):
    code = (
        "import ctypes, minitorch as torch\n"
        "x = torch.ones(4, device='cuda'); torch.cuda.synchronize(); ctypes.string_at(x.data_ptr(), 4)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode != 0
