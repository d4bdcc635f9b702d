# SPDX-License-Identifier: BSD-3-Clause
"""Losses and embeddings: what the op table cannot say. The numbers are PyTorch's."""

import pytest


def test_embedding_renorm(torch):
    table = torch.tensor([[3.0, 4.0], [0.3, 0.4], [6.0, 8.0]])
    index = torch.tensor([[0, 0], [1, 0]])
    out = torch.embedding_renorm_(table, index, 1.0, 2.0)
    assert out is table
    assert table.tolist() == [
        [0.6000000238418579, 0.800000011920929],
        [0.30000001192092896, 0.4000000059604645],
        [6.0, 8.0],
    ]
    before = table.tolist()
    with pytest.raises(RuntimeError, match="'indices' to have one of the following scalar types: Long, Int"):
        torch.embedding_renorm_(table, index.short(), 1.0, 2.0)
    with pytest.raises(RuntimeError, match="Expected 2-dimensional tensor, but got 1-dimensional tensor"):
        torch.embedding_renorm_(table[0], index, 1.0, 2.0)
    with pytest.raises(IndexError):
        torch.embedding_renorm_(table, index + 5, 1.0, 2.0)
    assert table.tolist() == before


def test_embedding_with_max_norm(torch):
    table = torch.tensor([[3.0, 4.0], [0.3, 0.4]], requires_grad=True)
    out = torch.nn.functional.embedding(torch.tensor([0, 1, 0]), table, max_norm=2.5)
    assert out.tolist()[0] == pytest.approx([1.5, 2.0])
    assert table.tolist()[0] == pytest.approx([1.5, 2.0])
    out.sum().backward()
    assert table.grad.tolist() == [[2.0, 2.0], [1.0, 1.0]]


@pytest.mark.parametrize("value", [1.5, -0.1, float("nan"), float("inf")])
def test_probabilities_are_checked(torch, value):
    loss = torch.nn.functional.binary_cross_entropy
    with pytest.raises(RuntimeError, match="all elements of input should be between 0 and 1"):
        loss(torch.tensor([0.5, value]), torch.tensor([1.0, 0.0]))


def test_probabilities_at_the_ends(torch):
    loss = torch.nn.functional.binary_cross_entropy
    assert loss(torch.tensor([-0.0]), torch.tensor([1.0])).item() == 100.0
    assert loss(torch.tensor([0.0, 1.0]), torch.tensor([0.0, 1.0])).item() == 0.0
    out = loss(torch.empty(3, device="meta"), torch.empty(3, device="meta"))
    assert out.shape == () and out.device.type == "meta"


@pytest.mark.parametrize(
    "dtype,name", [("float32", "Float"), ("int32", "Int"), ("bool", "Bool"), ("complex64", "ComplexFloat")]
)
def test_targets_are_classes(torch, dtype, name):
    """The dtype of the target is looked at before anything else."""
    target = torch.zeros(2, dtype=getattr(torch, dtype))
    said = "expected target dtype to be Long or Byte, but got %s$" % name
    F = torch.nn.functional
    for call in (
        lambda: F.nll_loss(torch.ones(2, 3), target),
        lambda: F.nll_loss(torch.ones(2, 3, dtype=torch.int32), target),
        lambda: torch._C._nn.nll_loss(torch.ones(5, 3), target),
        lambda: F.nll_loss(torch.ones(2, 3, 1, 1), target.view(2, 1, 1)),
        lambda: F.cross_entropy(torch.ones(2, 3), target),
    ):
        with pytest.raises(RuntimeError, match=said):
            call()


def test_classes_in_bytes(torch):
    F = torch.nn.functional
    assert F.nll_loss(torch.ones(2, 3), torch.zeros(2, dtype=torch.uint8)).item() == -1
    with pytest.raises(RuntimeError, match="expected scalar type Long but found Byte"):
        F.nll_loss(torch.ones(2, 3, 1, 1), torch.zeros(2, 1, 1, dtype=torch.uint8))
