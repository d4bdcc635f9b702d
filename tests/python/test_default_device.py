# SPDX-License-Identifier: BSD-3-Clause
"""The default device, as a block and as a setting."""

import threading

import pytest


def kinds(torch):
    made = (
        torch.ones(2),
        torch.tensor([1]),
        torch.empty(3),
        torch.as_tensor([1, 2]),
        torch.rand(2),
        torch.arange(3),
        torch.linspace(0, 1, 3),
        torch.randperm(4),
        torch.full((2,), 1.0),
        torch.ones(2, device="cpu"),
        torch.zeros_like(torch.ones(2, device="cpu")),
    )
    return [t.device.type for t in made]


def test_block(torch):
    with torch.device("meta") as device:
        assert device == torch.device("meta")
        assert kinds(torch) == ["meta"] * 9 + ["cpu"] * 2
        assert torch.nn.Linear(2, 3).weight.device.type == "meta"
        assert torch.get_default_device() == torch.device("meta")
        with torch.device("cpu"):
            assert torch.ones(1).device.type == "cpu"
        assert torch.ones(1).device.type == "meta"
    assert kinds(torch) == ["cpu"] * 11
    with pytest.raises(RuntimeError, match="mode stack"):
        torch.device("cpu").__exit__(None, None, None)


def test_setting(torch):
    seen = []
    torch.set_default_device("meta")
    try:
        assert kinds(torch) == ["meta"] * 9 + ["cpu"] * 2
        with torch.device("cpu"):
            assert torch.ones(1).device.type == "cpu"
        thread = threading.Thread(target=lambda: seen.append(torch.ones(1).device.type))
        thread.start()
        thread.join()
        torch.set_default_device("cpu")
        assert torch.ones(1).device.type == "cpu"
    finally:
        torch.set_default_device(None)
    assert seen == ["cpu"] and torch.ones(1).device.type == "cpu"
    assert torch.get_default_device() == torch.device("cpu")


def test_a_mode_sees_the_device(torch):
    seen = []

    class Log(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append((func, (kwargs or {}).get("device")))
            return func(*args, **(kwargs or {}))

    with Log():
        with torch.device("meta"):
            assert torch.zeros(2).device.type == "meta"
    assert (torch.zeros, torch.device("meta")) in seen
