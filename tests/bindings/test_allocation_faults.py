# SPDX-License-Identifier: BSD-3-Clause
"""Conversions with the first, second, ... allocation failing: an exception, and nothing is lost."""

import gc
import io
import warnings

import numpy as np
import pytest

pytestmark = pytest.mark.minitorch_only(reason="failure injection")


def calls(torch):
    class Sub(torch.Tensor):
        pass

    x, leaf = torch.ones(2, 3), torch.ones(2, requires_grad=True)
    a, S, dl = np.arange(60.0).reshape(20, 3), torch.UntypedStorage, torch.utils.dlpack
    return {
        "list": lambda: torch.tensor([1.0] * 50),
        "restart": lambda: torch.tensor([True, 1, 2.5, 1j]),
        "mixed": lambda: torch.tensor([np.float32(1), torch.tensor(2.0), 3]),
        "arrays": lambda: torch.tensor([a, a]),
        "tensors": lambda: torch.tensor([[1, 2], torch.tensor([3, 4])]),
        "array": lambda: torch.tensor(a.T, dtype=torch.int32),
        "new_tensor": lambda: x.new_tensor([1, 2]),
        "as_tensor": lambda: torch.as_tensor(a),
        "convert": lambda: torch.as_tensor(leaf, dtype=torch.float64),
        "asarray": lambda: torch.asarray(leaf, copy=True, requires_grad=False),
        "frombuffer": lambda: torch.frombuffer(bytearray(80), dtype=torch.float32),
        "from_numpy": lambda: torch.from_numpy(a),
        "numpy": lambda: torch.ones(100).numpy(),
        "force": lambda: leaf.numpy(force=True),
        "buffer": lambda: memoryview(torch.ones(100)).tolist(),
        "capsule": lambda: dl.from_dlpack(dl.to_dlpack(torch.ones(100))),
        "sizes": lambda: torch.Tensor(2, 30),
        "alias": lambda: torch.Tensor(leaf),
        "subclass": lambda: torch.Tensor._make_subclass(Sub, x, True),
        "as_subclass": lambda: leaf.as_subclass(Sub),
        "type": lambda: x.type("torch.IntTensor"),
        "storage": lambda: torch.ones(100).untyped_storage(),
        "slice": lambda: S(1000)[10:20],
        "share": lambda: S(1000).share_memory_(),
        "set": lambda: torch.zeros(2).set_(S(1000), 0, (1, 2, 1, 2, 1, 2)),
        "record": lambda: S(100)._write_file(io.BytesIO(), False, True, 1),
    }


NAMES = (
    "list restart mixed arrays tensors array new_tensor as_tensor convert asarray frombuffer from_numpy numpy force buffer "
    "capsule sizes alias subclass as_subclass type storage slice share set record"
).split()


@pytest.mark.parametrize("name", NAMES)
def test_faults(torch, name):
    testing = torch._C._testing
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        call = calls(torch)[name]
        call()
        gc.collect()
        before = testing.alloc_stats()["live_blocks"]
        for n in range(1, 60):
            testing.fail_at(n)
            try:
                call()
                raised = False
            except RuntimeError:
                raised = True
            failed = testing.failed()
            testing.fail_at(0)
            assert raised == failed
            if not failed:
                break
        else:
            raise AssertionError("too many allocations")
        gc.collect()
        assert testing.alloc_stats()["live_blocks"] <= before
        call()
