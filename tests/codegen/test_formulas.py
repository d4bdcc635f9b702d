"""Every gradient line of the catalog, evaluated with PyTorch, against PyTorch's own gradient."""

import warnings

import pytest

torch = pytest.importorskip("torch")
if not hasattr(torch.ops, "aten") or "minitorch" in torch.__name__:
    pytest.skip("needs PyTorch", allow_module_level=True)

from interpreter import Interpreter, read_catalog  # noqa: E402
from emit_grads import node_name  # noqa: E402

CATALOG = read_catalog()
F64 = torch.float64
NAN = float("nan")


def T(*shape, low=0.3, high=2.7):
    """Distinct positive numbers, away from integers and zero."""
    n = 1
    for s in shape:
        n *= s
    values = torch.linspace(low, high, n, dtype=F64) if n > 1 else torch.full((n,), 0.7, dtype=F64)
    order = torch.randperm(n, generator=torch.Generator().manual_seed(n))
    return (values[order] + 0.013).reshape(shape)


def S(*shape):
    """Numbers of both signs."""
    return T(*shape, low=-1.9, high=1.8)


def U(*shape):
    """Between -1 and 1."""
    return T(*shape, low=-0.93, high=0.9)


def P(*shape):
    """Between 0 and 1."""
    return T(*shape, low=0.05, high=0.9)


I = torch.tensor  # noqa: E741
M = torch.tensor([[True, False, True], [False, False, True]])

# Arguments by operator, as (args, kwargs) tuples; others are made from the types of the signature.
# fmt: off
SPECIAL = {
    "asin": [((U(2, 3),), {})],
    "acos": [((U(2, 3),), {})],
    "special_i1": [((S(2, 3),), {}), ((I([0.0, NAN], dtype=F64),), {})],
    "special_i1e": [((S(2, 3),), {}), ((I([0.0, NAN], dtype=F64),), {})],
    "special_entr": [((S(2, 3),), {}), ((I([0.0, NAN], dtype=F64),), {})],
    "ldexp.Tensor": [((S(2, 3), I([1, 2, 3])), {}),  # PyTorch takes 2 ** -1 for 0 here
        ((S(2, 3), S(3)), {})],
    "atanh": [((U(2, 3),), {})],
    "erfinv": [((U(2, 3),), {})],
    "acosh": [((T(2, 3) + 1,), {})],
    "log": [((T(2, 3),), {})],
    "logit": [((P(2, 3),), {}), ((P(2, 3), 0.1), {})],
    "gelu": [((S(2, 3),), {}), ((S(2, 3),), {"approximate": "tanh"})],
    "gelu_backward": [((T(2, 3), S(2, 3)), {}), ((T(2, 3), S(2, 3)), {"approximate": "tanh"})],
    "leaky_relu": [((S(2, 3), 0.2), {})],
    "hardtanh": [((S(2, 3), -0.8, 1.1), {})],
    "leaky_relu_backward": [((T(2, 3), S(2, 3), 0.2, False), {})],
    "softplus": [((S(2, 3), 1.5, 2.0), {})],
    "softplus_backward": [((T(2, 3), S(2, 3), 1.5, 2.0), {})],
    "elu": [((S(2, 3), 1.3, 0.9, 1.1), {})],
    "threshold": [((S(2, 3), 0.4, 2.0), {})],
    "elu_backward": [((T(2, 3), 1.3, 0.9, 1.1, False, S(2, 3)), {}),
        ((T(2, 3), 1.3, 0.9, 1.1, True, S(2, 3)), {})],
    "threshold_backward": [((T(2, 3), S(2, 3), 0.4), {})],
    "hardtanh_backward": [((T(2, 3), S(2, 3), -0.8, 1.1), {})],
    "hardshrink": [((S(2, 3), 0.5), {})],
    "softshrink": [((S(2, 3), 0.5), {})],
    "hardshrink_backward": [((T(2, 3), S(2, 3), 0.5), {})],
    "softshrink_backward": [((T(2, 3), S(2, 3), 0.5), {})],
    "round.decimals": [((S(2, 3),), {"decimals": 1})],
    "polygamma": [((1, T(2, 3)), {})],
    "nan_to_num": [((I([1.0, float("nan"), float("inf"), -float("inf")], dtype=F64),), {})],
    "add.Tensor": [((S(2, 3), S(3)), {}), ((S(2, 3), S(2, 3)), {"alpha": 2.5})],
    "sub.Tensor": [((S(2, 3), S(3)), {}), ((S(2, 3), S(2, 3)), {"alpha": 2.5})],
    "rsub.Tensor": [((S(2, 3), S(3)), {"alpha": 2.0})],
    "rsub.Scalar": [((S(2, 3), 1.5, 2), {})],
    "div.Tensor_mode": [((S(2, 3), T(3)), {"rounding_mode": m}) for m in (None, "trunc", "floor")],
    "pow.Tensor_Scalar": [((T(2, 3), e), {}) for e in (0, 1, 2, 2.5, -1)],
    "pow.Scalar": [((1.7, S(2, 3)), {})],
    "pow.Tensor_Tensor": [((T(2, 3), S(2, 3)), {}),
        ((I([0.0, 0.0, 2.0], dtype=F64), I([0.0, 2.0, 0.0], dtype=F64)), {})],
    "maximum": [((I([1.0, 2.0, 3.0], dtype=F64), I([1.0, 3.0, 2.0], dtype=F64)), {})],
    "minimum": [((I([1.0, 2.0, 3.0], dtype=F64), I([1.0, 3.0, 2.0], dtype=F64)), {})],
    "fmax": [((I([1.0, 2.0, 3.0, NAN], dtype=F64), I([1.0, 3.0, NAN, 1.0], dtype=F64)), {})],
    "fmin": [((I([1.0, 2.0, 3.0, NAN], dtype=F64), I([1.0, 3.0, NAN, 1.0], dtype=F64)), {})],
    "copysign.Tensor": [((S(2, 3), S(3)), {}), ((I([0.0, 1.0], dtype=F64), I([1.0, -1.0], dtype=F64)), {})],
    "copysign.Scalar": [((S(2, 3), -1.0), {})],
    "xlogy.Tensor": [((S(2, 3), T(2, 3)), {}), ((I([0.0, 1.0], dtype=F64), I([0.0, 2.0], dtype=F64)), {})],
    "xlogy.Scalar_Self": [((1.5, T(2, 3)), {})],
    "xlogy.Scalar_Other": [((S(2, 3), 1.5), {}), ((I([0.0, 0.0], dtype=F64), 0.0), {})],
    "where.self": [((M, S(2, 3), S(3)), {})],
    "lerp.Scalar": [((S(2, 3), T(2, 3), 0.3), {})],
    "clamp": [((S(2, 3), -0.8, 1.1), {}), ((S(2, 3), None, 1.1), {}), ((S(2, 3), -0.8), {})],
    "clamp.Tensor": [((S(2, 3), S(3) - 1, S(3) + 1), {}), ((S(2, 3), None, S(3)), {}), ((S(2, 3), S(3)), {}),
        ((S(2, 3), S(3) + 1, S(3)), {})],
    "clamp_min": [((S(2, 3), 0.2), {})],
    "clamp_max": [((S(2, 3), 0.2), {})],
    "addcmul": [((S(2, 3), S(3), S(2, 3)), {"value": 1.5})],
    "addcdiv": [((S(2, 3), S(3), T(2, 3)), {"value": 1.5})],
    "masked_fill.Scalar": [((S(2, 3), M, 1.5), {})],
    "masked_fill.Tensor": [((S(2, 3), M, I(1.5, dtype=F64)), {})],
    "remainder.Scalar": [((S(2, 3), 0.7), {})],
    "fmod.Scalar": [((S(2, 3), 0.7), {})],
    "sum.dim_IntList": [((S(2, 3, 4), [0, 2]), {}), ((S(2, 3), [1], True), {}), ((S(2, 3), None), {})],
    "nansum": [((I([[1.0, float("nan")], [2.0, 3.0]], dtype=F64), [0]), {})],
    "mean.dim": [((S(2, 3, 4), [0, 2]), {}), ((S(2, 3), None, True), {})],
    "prod.dim_int": [((S(2, 3), 1), {})],
    "max.dim": [((S(2, 3), 1), {}), ((S(2, 3), 0, True), {})],
    "min.dim": [((S(2, 3), 1), {})],
    "max": [((I([1.0, 3.0, 3.0], dtype=F64),), {})],
    "min": [((I([1.0, 1.0, 3.0], dtype=F64),), {})],
    "amax": [((I([[1.0, 3.0, 3.0], [4.0, 1.0, 2.0]], dtype=F64), [1]), {}), ((S(2, 3),), {}),
        ((S(2, 3), [0], True), {})],
    "amin": [((S(2, 3), [1]), {})],
    "aminmax": [((S(2, 3),), {}), ((S(2, 3),), {"dim": 1})],
    "var.correction": [((S(2, 3, 2), [1, 2]), {}), ((S(2, 3),), {"correction": 0}),
        ((S(2, 3), [0], ), {"keepdim": True})],
    "std.correction": [((S(2, 3, 2), [1, 2]), {}), ((S(2, 3),), {"correction": 0})],
    "var_mean.correction": [((S(2, 3, 2), [1, 2]), {})],
    "std_mean.correction": [((S(2, 3, 2), [1]), {"keepdim": True})],
    "logsumexp": [((S(2, 3), [1]), {}), ((S(2, 3), [0, 1], True), {})],
    "linalg_vector_norm": [((S(2, 3), p, d), {})
        for p in (0, 0.5, 1, 1.5, 2, 3, float("inf"), -float("inf")) for d in (None, [1])],
    "cumsum": [((S(2, 3), 1), {})],
    "cumprod": [((S(2, 3), 1), {})],
    "cummax": [((S(2, 3), 1), {})],
    "cummin": [((S(2, 3), 1), {})],
    "logcumsumexp": [((S(2, 3), 1), {})],
    "sort": [((S(2, 3), 1), {})],
    "sort.stable": [((S(2, 3),), {"stable": True, "dim": 0})],
    "topk": [((S(2, 5), 2), {})],
    "kthvalue": [((S(2, 5), 2), {}), ((S(2, 3), 1, 0, True), {})],
    "median.dim": [((S(2, 5), 1), {}), ((S(2, 3), 0, True), {})],
    "nanmedian.dim": [((S(2, 5), 1), {})],
    "glu": [((S(2, 4),), {}), ((S(4, 3), 0), {})],
    "view": [((S(2, 3), [3, 2]), {})],
    "_unsafe_view": [((S(2, 3), [3, 2]), {})],
    "transpose.int": [((S(2, 3), 0, 1), {})],
    "permute": [((S(2, 3, 4), [2, 0, 1]), {})],
    "squeeze": [((S(2, 1, 3),), {})],
    "squeeze.dim": [((S(2, 1, 3), 1), {})],
    "squeeze.dims": [((S(2, 1, 1, 3), [1, 2]), {})],
    "unsqueeze": [((S(2, 3), 1), {})],
    "expand": [((S(2, 1, 3), [4, 2, 5, 3]), {})],
    "select.int": [((S(2, 3), 1, 2), {})],
    "slice.Tensor": [((S(2, 5), 1, 1, 4, 2), {}), ((S(2, 5), 0), {})],
    "select_backward": [((S(2), [2, 3], 1, 2), {})],
    "split.Tensor": [((S(2, 5), 2, 1), {})],
    "split_with_sizes": [((S(2, 5), [2, 3], 1), {})],
    "unbind.int": [((S(2, 3), 1), {})],
    "unsafe_split.Tensor": [((S(2, 5), 2, 1), {})],
    "unsafe_split_with_sizes": [((S(2, 5), [2, 3], 1), {})],
    "as_strided": [((S(3, 3), [2, 2], [1, 2], 1), {}), ((S(3, 3), [2, 2], [1, 2]), {})],
    "diagonal": [((S(3, 4), 1), {})],
    "diagonal_backward": [((S(3), [3, 4], 1, 0, 1), {})],
    "unfold": [((S(2, 5), 1, 3, 2), {})],
    "unfold_backward": [((S(2, 2, 3), [2, 5], 1, 3, 2), {})],
    "view_as_real": [((torch.view_as_complex(S(3, 2)),), {})],
    "view_as_complex": [((S(3, 2),), {})],
    "view_copy": [((S(2, 3), [3, 2]), {})],
    "expand_copy": [((S(2, 1, 3), [4, 2, 5, 3]), {})],
    "select_copy.int": [((S(2, 3), 1, 2), {})],
    "permute_copy": [((S(2, 3, 4), [2, 0, 1]), {})],
    "transpose_copy.int": [((S(2, 3), 0, 1), {})],
    "squeeze_copy": [((S(2, 1, 3),), {})],
    "squeeze_copy.dim": [((S(2, 1, 3), 1), {})],
    "squeeze_copy.dims": [((S(2, 1, 1, 3), [1, 2]), {})],
    "unsqueeze_copy": [((S(2, 3), 1), {})],
    "as_strided_copy": [((S(3, 3), [2, 2], [1, 2], 1), {}), ((S(3, 3), [2, 2], [1, 2]), {})],
    "unfold_copy": [((S(2, 5), 1, 3, 2), {})],
    "view_as_real_copy": [((torch.view_as_complex(S(3, 2)),), {})],
    "view_as_complex_copy": [((S(3, 2),), {})],
    "select_scatter": [((S(3, 4), S(3), 1, 2), {})],
    "diagonal_scatter": [((S(3, 4), S(3), 1), {})],
    "as_strided_scatter": [((S(3, 3), S(2, 2), [2, 2], [1, 2], 1), {})],
    "cat": [(([S(2, 3), S(2, 4)], 1), {})],
    "stack": [(([S(2, 3), T(2, 3)], 1), {})],
    "constant_pad_nd": [((S(2, 3), [1, 2, -1, 1], 0.5), {})],
    "roll": [((S(2, 3), [1, 2], [0, 1]), {}), ((S(2, 3), [2]), {})],
    "flip": [((S(2, 3), [1]), {})],
    "repeat": [((S(2, 3), [2, 1, 3]), {})],
    "reflection_pad1d": [((S(1, 2, 5), [2, 1]), {}), ((S(2, 5), [0, 3]), {})],
    "reflection_pad2d": [((S(1, 2, 4, 5), [2, 1, 1, 3]), {})],
    "reflection_pad3d": [((S(1, 1, 3, 4, 3), [2, 1, 1, 3, 0, 2]), {})],
    "replication_pad1d": [((S(1, 2, 5), [2, 1]), {}), ((S(2, 5), [0, 7]), {})],
    "replication_pad2d": [((S(1, 2, 4, 5), [2, 1, 1, 5]), {})],
    "replication_pad3d": [((S(1, 1, 3, 4, 3), [2, 1, 1, 3, 0, 4]), {})],
    "block_diag": [(([S(2, 3), T(2), S(1, 2)],), {})],
    "pixel_shuffle": [((S(1, 8, 2, 3), 2), {})],
    "pixel_unshuffle": [((S(1, 2, 4, 6), 2), {})],
    "channel_shuffle": [((S(1, 6, 2, 2), 2), {})],
    "tril": [((S(3, 3),), {})],
    "triu": [((S(3, 3), 1), {})],
    "diag_embed": [((S(2, 3), 1), {})],
    "trace": [((S(3, 4),), {})],
    "index.Tensor": [((S(4, 3), [I([0, 2, 2])]), {}), ((S(4, 3), [None, I([0, 2, 2])]), {})],
    "index_put_": [((S(4, 3), [I([0, 2])], S(2, 3)), {}), ((S(4, 3), [I([0, 2])], S(2, 3), True), {})],
    "index_put": [((S(4, 3), [I([0, 2])], S(2, 3)), {}), ((S(4, 3), [I([0, 2, 2])], S(3, 3), True), {})],
    "index_select": [((S(4, 3), 0, I([0, 2, 2])), {})],
    "index_add": [((S(4, 3), 0, I([0, 2, 2]), S(3, 3)), {}),
        ((S(4, 3), 0, I([0, 2, 2]), S(3, 3)), {"alpha": 2.0})],
    "index_copy": [((S(4, 3), 0, I([0, 2]), S(2, 3)), {})],
    "index_fill.int_Scalar": [((S(4, 3), 0, I([0, 2]), 1.5), {})],
    "index_fill.int_Tensor": [((S(4, 3), 0, I([0, 2]), I(1.5, dtype=F64)), {})],
    "gather": [((S(4, 3), 1, I([[0, 1], [2, 2], [1, 1], [0, 0]])), {})],
    "scatter.src": [((S(3, 4), 1, I([[0, 1], [2, 3]]), S(2, 2)), {})],
    "scatter.value": [((S(3, 4), 1, I([[0, 1], [2, 3]]), 1.5), {})],
    "scatter_add": [((S(3, 4), 1, I([[0, 0], [2, 3]]), S(2, 2)), {})],
    "index_reduce": [((S(4, 3), 0, I([0, 2, 2]), S(3, 3), r), {"include_self": s})
        for r in ("prod", "mean", "amax", "amin") for s in (True, False)],
    "take": [((S(2, 3), I([0, 5, 5])), {})],
    "put": [((S(2, 3), I([0, 5]), S(2)), {}), ((S(2, 3), I([0, 5]), S(2), True), {})],
    "masked_select": [((S(2, 3), M), {}), ((S(3), M), {})],
    "masked_scatter": [((S(2, 3), M, S(2, 3)), {})],
    "mm": [((S(2, 3), S(3, 4)), {})],
    "bmm": [((S(2, 2, 3), S(2, 3, 4)), {})],
    "mv": [((S(2, 3), S(3)), {})],
    "dot": [((S(3), T(3)), {})],
    "vdot": [((S(3), T(3)), {})],
    "addmm": [((S(2, 4), S(2, 3), S(3, 4)), {"beta": 0.5, "alpha": 1.5}), ((S(4), S(2, 3), S(3, 4)), {})],
    "addmv": [((S(2), S(2, 3), S(3)), {"beta": 0.5, "alpha": 1.5})],
    "baddbmm": [((S(2, 2, 4), S(2, 2, 3), S(2, 3, 4)), {"beta": 0.5, "alpha": 1.5})],
    "addbmm": [((S(2, 4), S(5, 2, 3), S(5, 3, 4)), {"beta": 0.5, "alpha": 1.5})],
    "addr": [((S(2, 3), S(2), S(3)), {"beta": 0.5, "alpha": 1.5})],
    "convolution": [((S(2, 2, 5, 5), S(4, 2, 3, 3), S(4), [1, 2], [1, 0], [1, 1], False, [0, 0], 1), {}),
        ((S(2, 2, 5), S(4, 2, 3), None, [1], [1], [1], False, [0], 1), {})],
    "max_pool2d_with_indices": [((S(1, 2, 4, 4), [2, 2]), {})],
    "avg_pool2d": [((S(1, 2, 4, 4), [2, 2]), {})],
    "_adaptive_avg_pool2d": [((S(1, 2, 4, 5), [2, 3]), {})],
    "_softmax": [((S(2, 3), 1, False), {})],
    "_log_softmax": [((S(2, 3), 1, False), {})],
    "_softmax_backward_data": [((S(2, 3), P(2, 3), 1, F64), {})],
    "_log_softmax_backward_data": [((S(2, 3), S(2, 3), 1, F64), {})],
    "_scaled_dot_product_flash_attention_for_cpu": [
        ((S(1, 2, 3, 4), S(1, 2, 5, 4), S(1, 2, 5, 4)), {}),
        ((S(1, 2, 3, 4), S(1, 2, 3, 4), S(1, 2, 3, 4), 0.0, True), {"scale": -0.3}),
    ],
    "native_layer_norm": [((S(2, 3), [3], T(3), S(3), 1e-5), {}), ((S(2, 3), [3], None, None, 1e-5), {})],
    "native_batch_norm": [((S(4, 3), T(3), S(3), None, None, True, 0.1, 1e-5), {}),
        ((S(4, 3), T(3), S(3), S(3), T(3), False, 0.1, 1e-5), {})],
    "native_group_norm": [((S(2, 4, 3), T(4), S(4), 2, 4, 3, 2, 1e-5), {})],
    "mse_loss": [((S(2, 3), T(2, 3), r), {}) for r in (0, 1, 2)],
    "smooth_l1_loss": [((S(2, 3), T(2, 3), r, 0.7), {}) for r in (0, 1, 2)],
    "huber_loss": [((S(2, 3), T(2, 3), r, 0.7), {}) for r in (0, 1, 2)],
    "binary_cross_entropy": [((P(2, 3), P(2, 3), w, r), {}) for r in (0, 1, 2) for w in (None, T(3))],
    "binary_cross_entropy_with_logits": [((S(2, 3), P(2, 3), w, p, r), {}) for r in (0, 1)
        for w in (None, T(3)) for p in (None, T(3))],
    "nll_loss_forward": [((S(3, 4), I([0, 2, 3]), T(4), r, 2), {}) for r in (0, 1, 2)],
    "nll_loss2d_forward": [((S(2, 4, 2, 2), torch.arange(8).reshape(2, 2, 2) % 4, T(4), 1, -100), {})],
    "embedding": [((S(5, 3), I([0, 2, 2])), {}), ((S(5, 3), I([[0, 2], [2, 1]]), 2), {})],
    "embedding_dense_backward": [((S(3, 2), I([0, 2, 2]), 5, 2, False), {}),
        ((S(3, 2), I([0, 2, 2]), 5, -1, False), {})],
    "copy_": [((S(2, 3), S(3)), {})],
    "fill_.Tensor": [((S(2, 3), I(1.5, dtype=F64)), {})],
    "fill.Tensor": [((S(2, 3), I(1.5, dtype=F64)), {})],
    "fill_.Scalar": [((S(2, 3), 1.5), {})],
    "fill.Scalar": [((S(2, 3), 1.5), {})],
    "complex": [((S(3), T(3)), {})],
    "polar": [((T(3), S(3)), {})],
    "_reshape_alias": [((T(4), [2, 2], [2, 1]), {})],
    "_to_copy": [((S(2, 3),), {"dtype": torch.float32})],
}
# fmt: on
# Compared elsewhere, or without a counterpart in PyTorch.
SKIP = {
    "as_strided_backward": "private",
    "as_strided_double_backward": "private",
    "logcumsumexp_backward_real": "private",
    "logcumsumexp_tangent_real": "private",
    "slice_backward_opt": "private",
    "_log_sigmoid_backward": "private",
    "_gelu_erf": "private",
    "_gelu_tanh": "private",
    "adaptive_avg_pool2d_backward": "private",
    "convolution_backward": "second order, needs convolution_double_backward",
    "native_layer_norm_backward": "second order, needs layer_norm_double_backward",
    "native_batch_norm_backward": "second order, needs batch_norm_double_backward",
    "native_group_norm_backward": "second order, needs group_norm_double_backward",
    "max_pool2d_with_indices_backward": "checked by hand below",
    "avg_pool2d_backward": "PyTorch's own check is the same",
    "nll_loss_backward": "the gradient with respect to self is zero",
    "nll_loss2d_backward": "as nll_loss_backward",
    "_scatter_reduce_last": "it raises",
    "scatter_reduce.two": "needs scatter_reduce_backward",
    "_conj": "a lazy view",
    "_neg_view": "a lazy view",
    "silu_backward": "checked by hand below",
    "logit_backward": "checked by hand below",
    "mish_backward": "checked by hand below",
    "hardsigmoid_backward": "PyTorch has no gradient of it",
    "norm_along": "no op of PyTorch; the gradient of linalg_vector_norm",
    "div_by_number": "no op of PyTorch; the gradient of div",
    "view_as_complex_copy": "PyTorch does not differentiate it",
    "as_strided_scatter": "checked by hand below: PyTorch's gradient is zero where self counts, and not where it is replaced",
}
# Called as an operator, PyTorch names these otherwise than through its Python functions.
OTHER_NODES = {"special_ndtr": "MulBackward1"}
CASES = [
    e
    for e in CATALOG.entries
    if e.grad == "formulas" and e.schema.full_name not in SKIP and e.family != "random"
]


def default_args(entry):
    args = []
    for arg in entry.schema.args:
        if arg.keyword_only or arg.default is not None:
            break
        if not arg.type.is_tensor:
            pytest.fail("no sample for %s" % entry.schema.full_name)
        args.append(T(2, 3) if not args else S(2, 3))
    return [(tuple(args), {})]


def is_float(value):
    return isinstance(value, torch.Tensor) and (value.is_floating_point() or value.is_complex())


def bind(entry, args, kwargs):
    """Values by argument name; tensors become leaves that require gradients."""
    env, defaults = {}, {"None": None, "True": True, "False": False}
    wanted = {n for g in entry.grads for n in g.inputs}
    for i, arg in enumerate(entry.schema.args):
        if i < len(args):
            value = args[i]
        elif arg.name in kwargs:
            value = kwargs[arg.name]
        elif arg.default in defaults:
            value = defaults[arg.default]
        elif arg.default.startswith("["):
            value = [int(x) for x in arg.default[1:-1].split(",") if x.strip()]
        elif arg.type.is_list:
            value = [int(arg.default)] * arg.type.size
        elif arg.default[0] in "\"'":
            value = arg.default[1:-1]
        else:
            value = float(arg.default) if set(arg.default) & set(".e") else int(arg.default)
        if arg.name in wanted and is_float(value):
            value = value.clone().requires_grad_()
        if arg.name in wanted and isinstance(value, list) and value and is_float(value[0]):
            value = [v.clone().requires_grad_() for v in value]
        env[arg.name] = value
    return env


def takes_gradient(value):
    """Is a gradient compared? Not of whole numbers."""
    return value is None or isinstance(value, list) or is_float(value)


def aten(entry):
    op = getattr(torch.ops.aten, entry.name)
    return getattr(op, entry.schema.overload or "default")


def compare(entry, args, kwargs):
    env = bind(entry, args, kwargs)
    call = dict(env)
    first = entry.schema.args[0].name
    if entry.only_inplace:
        call[first] = env[first] * 1
    result = aten(entry)(**call)
    if entry.kind == "compare":  # the in-place form writes the answer into floats, with gradients of zero
        result = getattr(getattr(torch.ops.aten, entry.name + "_"), entry.schema.overload)(
            env[first] * 1, *args[1:]
        )
    outs = list(result) if isinstance(result, (tuple, list)) else [result]
    grads = [
        torch.ones_like(o) * (0.4 + 0.3 * torch.arange(o.numel(), dtype=F64).reshape(o.shape)).to(o.dtype)
        if o.requires_grad
        else None
        for o in outs
    ]
    if entry.name == "native_group_norm":
        grads[1:] = [None, None]  # PyTorch takes another road when the statistics have gradients
    live = [(o, g) for o, g in zip(outs, grads) if g is not None]
    if entry.schema.full_name not in OTHER_NODES:
        name = live[0][0].grad_fn.name().replace("torch::autograd::", "")
        assert name == node_name(CATALOG, entry)
    names = [n for g in entry.grads for n in g.inputs if takes_gradient(env[n])]
    inputs = [
        (n, t) for n in names for t in (env[n] if isinstance(env[n], list) else [env[n]]) if t is not None
    ]
    expected = torch.autograd.grad(
        [o for o, _ in live], [t for _, t in inputs], [g for _, g in live], allow_unused=True
    )
    scope = {
        k: v.detach()
        if isinstance(v, torch.Tensor)
        else [t.detach() if isinstance(t, torch.Tensor) else t for t in v]
        if isinstance(v, list)
        else v
        for k, v in env.items()
    }
    add_results(entry, scope, outs, grads)
    at = 0
    for gradient in entry.grads:
        if not all(takes_gradient(env[n]) for n in gradient.inputs):
            continue
        got = evaluate(entry, gradient, scope, env)
        for value in got:
            tensor, want = inputs[at][1], expected[at]
            at += 1
            if value is None and want is None:
                continue
            value = torch.zeros_like(tensor) if value is None else value
            want = torch.zeros_like(tensor) if want is None else want
            if not tensor.is_complex() and value.is_complex():
                value = value.real
            value = value.sum_to_size(tensor.shape).to(tensor.dtype)
            torch.testing.assert_close(
                value, want, equal_nan=True, msg=lambda m: "%s: %s" % (gradient.where, m)
            )


def add_results(entry, scope, outs, grads):
    returns = entry.schema.returns
    if returns[0][0].is_list:
        scope["grads"] = grads
        return
    zeros = [torch.zeros_like(o) if g is None else g for o, g in zip(outs, grads)]
    for i, (_, name) in enumerate(returns):
        scope["grad%d" % i], scope["result%d" % i] = zeros[i], outs[i].detach()
        if name:
            scope["grad_" + name] = zeros[i]
            if entry.schema.arg_index(name) < 0:
                scope.setdefault(name, outs[i].detach())
    if len(returns) == 1:
        scope["result"], scope["grad"] = outs[0].detach(), grads[0]


def evaluate(entry, gradient, scope, env):
    scope = dict(scope)
    if len(gradient.inputs) > 1:
        scope["grad_input_mask"] = [env[n] is not None for n in gradient.inputs]
        scope = {k: v for k, v in scope.items()}
        for name in gradient.inputs:
            if env[name] is None:
                scope[name] = None
    text = gradient.text.replace("bias.shape", "(None if bias is None else bias.shape)")
    if any(env[n] is None for n in gradient.inputs) and len(gradient.inputs) == 1:
        return []
    with torch.no_grad():
        value = Interpreter(CATALOG).run(text, scope)
    if len(gradient.inputs) > 1:
        return [v for v, n in zip(value, gradient.inputs) if env[n] is not None]
    return list(value) if isinstance(value, (list, tuple)) else [value]


@pytest.mark.parametrize("entry", CASES, ids=lambda e: e.schema.full_name)
def test_gradient_equals_pytorch(entry):
    if any(g.text == "not_implemented" for g in entry.grads):
        pytest.skip("not implemented")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for args, kwargs in SPECIAL.get(entry.schema.full_name) or default_args(entry):
            compare(entry, args, kwargs)


COMPLEX = (
    "abs exp log sqrt sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh sigmoid reciprocal rsqrt "
    "neg sgn expm1 log1p log2 log10 exp2 angle".split()
)


@pytest.mark.parametrize("name", COMPLEX)
def test_complex_gradient_equals_pytorch(name):
    entry = CATALOG.overloads(name)[0]
    z = torch.complex(S(5), T(5))
    compare(entry, (z,), {})


@pytest.mark.parametrize("name", ["add", "sub", "mul", "div"])
def test_complex_binary_gradient_equals_pytorch(name):
    entry = CATALOG.overloads(name)[0]
    compare(entry, (torch.complex(S(5), T(5)), torch.complex(T(5), S(5))), {})


def second_derivative(name, slope):
    """The gradient lines of a backward op, against autograd of its formula."""
    entry = CATALOG.overloads(name)[0]
    g, x = T(2, 3).requires_grad_(), S(2, 3).requires_grad_()
    grad = T(2, 3)
    expected = torch.autograd.grad(g * slope(x), (g, x), grad)
    scope = {"grad_output": g.detach(), "self": x.detach(), "grad": grad}
    for gradient, want in zip(entry.grads, expected):
        torch.testing.assert_close(Interpreter(CATALOG).run(gradient.text, scope), want)


def test_logcumsumexp_second_derivatives():
    """The gradient lines of its two derivatives, against autograd of the sums that these are."""
    g, x, y = T(2, 3).requires_grad_(), S(2, 3).requires_grad_(), (S(2, 3) + 1).requires_grad_()
    grad = T(2, 3)
    for name, value in (
        ("logcumsumexp_backward_real", x.exp() * (g * (-y).exp()).flip([1]).cumsum(1).flip([1])),
        ("logcumsumexp_tangent_real", (g * x.exp()).cumsum(1) * (-y).exp()),
    ):
        entry = CATALOG.overloads(name)[0]
        expected = torch.autograd.grad(value, (g, x, y), grad)
        scope = dict(zip([a.name for a in entry.schema.args], (g.detach(), x.detach(), y.detach(), 1)))
        scope.update(grad=grad, result=value.detach())
        for gradient, want in zip(entry.grads, expected):
            torch.testing.assert_close(Interpreter(CATALOG).run(gradient.text, scope), want)


def test_silu_second_derivative():
    second_derivative("silu_backward", lambda x: x.sigmoid() * (1 + x * (1 - x.sigmoid())))


def test_mish_second_derivative():
    def slope(x):
        t = torch.nn.functional.softplus(x).tanh()
        return t + x * x.sigmoid() * (1 - t * t)

    second_derivative("mish_backward", slope)


@pytest.mark.parametrize("eps", [None, 0.2])
def test_logit_second_derivative(eps):
    entry = CATALOG.overloads("logit_backward")[0]
    x = P(2, 3).requires_grad_()
    slope = 1 / (x * (1 - x))
    slope = slope if eps is None else torch.where((x < eps) | (x > 1 - eps), 0, slope)
    g, grad = T(2, 3), S(2, 3)
    want = torch.autograd.grad(g * slope, x, grad)[0]
    scope = {"grad_output": g, "self": x.detach(), "grad": grad, "eps": eps}
    torch.testing.assert_close(Interpreter(CATALOG).run(entry.grads[1].text, scope), want)


def test_as_strided_scatter():
    entry = CATALOG.overloads("as_strided_scatter")[0]
    grad = S(3, 3)
    scope = {"grad": grad, "src": T(2, 2), "size": [2, 2], "stride": [1, 2], "storage_offset": 1}
    want = grad.clone()
    want.view(-1)[[1, 2, 3, 4]] = 0
    torch.testing.assert_close(Interpreter(CATALOG).run(entry.grads[0].text, scope), want)
    want = grad.view(-1)[torch.tensor([[1, 3], [2, 4]])]
    torch.testing.assert_close(Interpreter(CATALOG).run(entry.grads[1].text, scope), want)


def test_max_pool_second_derivative():
    entry = CATALOG.overloads("max_pool2d_with_indices_backward")[0]
    indices = torch.nn.functional.max_pool2d(S(1, 2, 4, 4), 2, return_indices=True)[1]
    grad = T(1, 2, 4, 4)
    got = Interpreter(CATALOG).run(entry.grads[0].text, {"grad": grad, "indices": indices})
    want = grad.reshape(2, 16).gather(1, indices.reshape(2, 4)).reshape(1, 2, 2, 2)
    torch.testing.assert_close(got, want)


# Composites with a body in the formula language, against the operator they stand for.
COMPOSITES = {
    "square": (S(2, 3),),
    "selu": (S(2, 3),),
    "celu": (S(2, 3), 1.3),
    "isclose": (S(2, 3), S(2, 3) + 1e-9),
    "mse_loss": (S(2, 3), T(2, 3), 1),
    "l1_loss": (S(2, 3), T(2, 3), 2),
    "smooth_l1_loss": (S(2, 3), T(2, 3), 1, 0.7),
    "huber_loss": (S(2, 3), T(2, 3), 0, 0.7),
    "binary_cross_entropy": (P(2, 3), P(2, 3), T(3), 1),
    "binary_cross_entropy_with_logits": (S(2, 3), P(2, 3), T(3), T(3), 1),
    "kl_div": (S(2, 3), P(2, 3), 1),
    "nanmean": (I([[1.0, float("nan")], [2.0, 3.0]], dtype=F64), [0]),
    "addr": (S(2, 3), S(2), S(3)),
    "ldexp": (S(2, 3), S(3)),
    "diag": (S(3),),
    "trace": (S(3, 3),),
    "fliplr": (S(2, 3),),
    "outer": (S(2), S(3)),
    "atleast_3d": (S(2, 3),),
    "dist": (S(2, 3), T(2, 3), 2),
}


@pytest.mark.parametrize("name", sorted(COMPOSITES))
def test_composite_equals_pytorch(name):
    entry = CATALOG.overloads(name)[0]
    args = COMPOSITES[name]
    got = Interpreter(CATALOG).call_entry(
        entry, list(args), {a.name: bind(entry, args, {})[a.name] for a in entry.schema.args[len(args) :]}
    )
    torch.testing.assert_close(got, aten(entry)(*args))
