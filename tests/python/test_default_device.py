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


FACTORIES = {
    "arange": (3,),
    "as_tensor": ([1.0],),
    "asarray": ([1.0],),
    "bartlett_window": (3,),
    "blackman_window": (3,),
    "empty": (2,),
    "empty_permuted": ((2, 3), (0, 1)),
    "empty_strided": ((2,), (1,)),
    "eye": (2,),
    "fft.fftfreq": (4,),
    "fft.rfftfreq": (4,),
    "full": ((2,), 1.0),
    "hamming_window": (3,),
    "hann_window": (3,),
    "kaiser_window": (3,),
    "linspace": (0, 1, 3),
    "logspace": (0, 1, 3),
    "ones": (2,),
    "rand": (2,),
    "randint": (3, (2,)),
    "randn": (2,),
    "randperm": (3,),
    "scalar_tensor": (1.0,),
    "tensor": ([1.0],),
    "tril_indices": (2, 2),
    "triu_indices": (2, 2),
    "zeros": (2,),
}
OTHERS = {
    "full_like": ("tensor", 1.0),
    "nn.functional.one_hot": ("index",),
    "normal": (0.0, 1.0, (2,)),
    "ones_like": ("tensor",),
    "rand_like": ("tensor",),
    "randint_like": ("tensor", 3),
    "zeros_like": ("tensor",),
}


def devices_given(torch, name, args):
    """The devices that a factory is called with below the default one."""
    given = []

    class Notes(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            if func is not function:
                return func(*args, **(kwargs or {}))
            given.append((kwargs or {}).get("device"))
            return "made"

    function = torch
    for part in name.split("."):
        function = getattr(function, part)
    tensors = {"tensor": torch.ones(2), "index": torch.tensor([1])}
    args = [tensors[a] if isinstance(a, str) else a for a in args]
    given_explicitly = {"device": "cpu"} if name in FACTORIES else {}
    with Notes(), torch.device("meta"):
        assert function(*args) == "made"
        assert function(*args, **given_explicitly) == "made"
    return [device and str(device) for device in given]


@pytest.mark.parametrize("name", FACTORIES)
def test_device_is_given_to_factories(torch, name):
    assert devices_given(torch, name, FACTORIES[name]) == ["meta", "cpu"]


@pytest.mark.parametrize("name", OTHERS)
def test_device_is_given_to_no_other(torch, name):
    assert devices_given(torch, name, OTHERS[name]) == [None, None]


def test_every_factory_is_tried(torch):
    """Those in scope: what is in the set, but for names that only raise."""
    import importlib

    constructors = importlib.import_module(torch.__name__ + ".utils._device")._device_constructors()
    names = {f.__name__ for f in constructors if f.__name__[0] != "_"}
    tried = {name.replace(".", "_") for name in FACTORIES}
    out_of_scope = {"empty_quantized", "nested_tensor", "range"} | {
        n for n in names if n.startswith("sparse_")
    }
    assert names - out_of_scope == tried
