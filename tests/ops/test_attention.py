"""The fused attention against the same made of products, which PyTorch's recorded values hold (test_ops.py)."""

import itertools

import pytest


def by_parts(torch, q, k, v, mask=None, is_causal=False, scale=None):
    scores = q @ k.transpose(-2, -1) * (q.shape[-1] ** -0.5 if scale is None else scale)
    if is_causal:
        mask = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf")) if mask.dtype == torch.bool else scores + mask
    return scores.softmax(-1).nan_to_num(0.0) @ v


SHAPES = [(2, 3, 5, 7, 4), (1, 1, 1, 1, 1), (1, 2, 130, 70, 16), (1, 2, 70, 130, 8), (1, 1, 3, 9000, 2)]
KINDS = ["plain", "causal", "bool mask", "added mask", "scale", "nothing to see"]


def options(torch, kind, batch, n_queries, n_keys):
    return {
        "plain": {},
        "causal": {"is_causal": True},
        "bool mask": {"attn_mask": torch.rand(n_queries, n_keys) > 0.3},
        "added mask": {"attn_mask": torch.randn(batch, 1, n_queries, n_keys, dtype=torch.float64)},
        "scale": {"scale": -0.3},
        "nothing to see": {"attn_mask": torch.zeros(n_queries, n_keys, dtype=torch.bool)},
    }[kind]


@pytest.mark.parametrize("shape, kind", list(itertools.product(SHAPES, KINDS)))
def test_values_and_gradients(torch, shape, kind):
    batch, heads, n_queries, n_keys, width = shape
    torch.manual_seed(0)
    kw = options(torch, kind, batch, n_queries, n_keys)
    # heads beside each other within a position, as a projection gives them
    leaves = [
        torch.randn(batch, n, heads, width, dtype=torch.float64, requires_grad=True)
        for n in (n_queries, n_keys, n_keys)
    ]
    parts = [t.transpose(1, 2) for t in leaves]
    out = torch.nn.functional.scaled_dot_product_attention(*parts, **kw)
    assert out.grad_fn.name() == "ScaledDotProductFlashAttentionForCpuBackward0"
    assert out.stride() == torch.empty_like(parts[0]).stride()
    plain = {("mask" if name == "attn_mask" else name): value for name, value in kw.items()}
    want = by_parts(torch, *parts, **plain)
    weight = torch.randn(out.shape, dtype=torch.float64)
    assert torch.allclose(out, want, atol=1e-12)
    ours = torch.autograd.grad((out * weight).sum(), leaves)
    theirs = torch.autograd.grad((want * weight).sum(), leaves)
    for a, b in zip(ours, theirs):
        assert torch.allclose(a, b.nan_to_num(0.0) if kind == "nothing to see" else b, atol=1e-11)


@pytest.mark.minitorch_only(reason="PyTorch cannot differentiate its fused attention twice")
def test_second_order(torch):
    torch.manual_seed(0)
    leaves = [torch.randn(1, 2, 3, 4, dtype=torch.float64, requires_grad=True) for _ in range(3)]
    assert torch.autograd.gradgradcheck(
        lambda *t: torch.nn.functional.scaled_dot_product_attention(*t, is_causal=True), leaves
    )


def test_what_does_not_fit_takes_the_parts(torch):
    x = torch.randn(1, 2, 3, 4, requires_grad=True)
    F = torch.nn.functional
    for args, kw in [
        ((x, x, x), {"attn_mask": torch.zeros(3, 3, requires_grad=True)}),
        ((x, x, torch.randn(1, 2, 3, 6)), {}),
        ((x[0], x[0], x[0]), {}),
        ((x.transpose(2, 3),) * 3, {}),
    ]:
        out = F.scaled_dot_product_attention(*args, **kw)
        assert "Flash" not in out.grad_fn.name()
        assert torch.allclose(out, by_parts(torch, *args, mask=kw.get("attn_mask")), atol=1e-6)


def test_threads_change_no_bit(torch):
    torch.manual_seed(0)
    q, k, v = (torch.randn(4, 8, 64, 32) for _ in range(3))
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        one = torch.nn.functional.scaled_dot_product_attention(q, k, v)
        torch.set_num_threads(3)
        assert torch.equal(one, torch.nn.functional.scaled_dot_product_attention(q, k, v))
    finally:
        torch.set_num_threads(before)
