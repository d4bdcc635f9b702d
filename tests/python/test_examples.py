"""The examples in docstrings say what they do."""

import doctest
import importlib
import sys

import pytest

minitorch = pytest.importorskip("minitorch")

MODULES = (
    "autograd.anomaly_mode autograd.function autograd.functional autograd.grad_mode autograd.gradcheck autograd.profiler "
    "autograd.graph func._batch func._forward func._modules func._reverse utils._pytree utils.checkpoint version jit overrides"
).split()


@pytest.mark.minitorch_only(reason="the docstrings are those of minitorch")
@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    importlib.import_module("minitorch." + name)
    module = sys.modules["minitorch." + name]
    for lazy in dir(module):
        getattr(module, lazy)
    result = doctest.testmod(
        module,
        extraglobs={"torch": minitorch},
        optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS,
    )
    assert result.attempted and not result.failed
