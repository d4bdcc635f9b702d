# SPDX-License-Identifier: BSD-3-Clause
"""The first line of errors about arguments: one signature that could be meant is explained, several are listed."""

import pytest

CASES = {
    "torch.sum('a')": "sum(): argument 'input' (position 1) must be Tensor, not str",
    "torch.add(1)": "add() received an invalid combination of arguments - got (int), but expected "
    "(Tensor input, Tensor other, *, Number alpha = 1, Tensor out = None)",
    "torch.mul(x, 'b')": "mul(): argument 'other' (position 2) must be Tensor, not str",
    "torch.zeros('a')": "zeros(): argument 'size' (position 1) must be tuple of ints, not str",
    "torch.stack(x, 'a')": "stack(): argument 'tensors' (position 1) must be tuple of Tensors, not Tensor",
    "x.transpose('a', 1)": "transpose(): argument 'dim0' (position 1) must be int, not str",
    "torch.matmul(x)": 'matmul() missing 1 required positional arguments: "other"',
    "torch.eye('a')": "eye(): argument 'n' (position 1) must be int, not str",
    "torch.gather(x, 0)": 'gather() missing 1 required positional arguments: "index"',
}


@pytest.mark.parametrize("call", CASES)
def test_text(torch, call):
    with pytest.raises(TypeError) as caught:
        eval(call, {"torch": torch, "x": torch.ones(2, 3)})
    assert str(caught.value).split("\n")[0].rstrip() == CASES[call]
