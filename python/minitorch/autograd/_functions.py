# SPDX-License-Identifier: BSD-3-Clause
"""Old Functions: what `Tensor.type` and `Tensor.resize` once were."""

import math

from minitorch.autograd.function import Function


class Type(Function):
    """Type.apply(tensor, dest_type): `tensor.type(dest_type)`; FutureWarning."""

    @staticmethod
    def forward(ctx, i, dest_type):
        import warnings

        warnings.warn(
            "`torch.autograd._functions.Type` is deprecated as of PyTorch 2.1, please use "
            "`torch.tensor.to(dtype=dtype)` instead.",
            category=FutureWarning,
            stacklevel=2,
        )
        ctx.dtype = i.dtype
        return i.type(dest_type)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.to(ctx.dtype), None


class Resize(Function):
    """Resize.apply(tensor, sizes): the same elements in another shape."""

    @staticmethod
    def forward(ctx, tensor, sizes):
        if tensor.numel() != math.prod(sizes):
            raise RuntimeError(
                "requested resize to %s (%d elements in total), but the given tensor has a size of %s (%d elements). "
                "autograd's resize can only change the shape of a given tensor, while preserving the number of elements. "
                % (
                    "x".join(map(str, sizes)),
                    math.prod(sizes),
                    "x".join(map(str, tensor.size())),
                    tensor.numel(),
                )
            )
        ctx.input_sizes = tensor.size()
        return tensor.contiguous().view(*sizes)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.contiguous().view(ctx.input_sizes), None
