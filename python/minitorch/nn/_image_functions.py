# SPDX-License-Identifier: BSD-3-Clause
"""Functions of nn.functional that look at tensors as images: resizing, sampling, padding, patches."""

import math
import warnings

import minitorch as torch
from minitorch import _C
from minitorch.functional import _unwritten
from minitorch.nn._dispatch import overridable, publish
from minitorch.overrides import handle_torch_function, has_torch_function_unary

_nn = _C._nn
_VF = _C._VariableFunctions

GRID_SAMPLE_INTERPOLATION_MODES = {"bilinear": 0, "nearest": 1, "bicubic": 2}
GRID_SAMPLE_PADDING_MODES = {"zeros": 0, "border": 1, "reflection": 2}


def pad(input, pad, mode="constant", value=None):
    """pad(input, pad, mode="constant", value=None) -> Tensor

    Pads the last dimensions; `pad` holds (before, after) for the last dimension, then for the one before it,
    and so on.
    """
    if has_torch_function_unary(input):
        return handle_torch_function(torch.nn.functional.pad, (input,), input, pad, mode=mode, value=value)
    return _nn.pad(input, pad, mode, value)


# --- resizing ---

_LINEAR = {3: "linear", 4: "bilinear", 5: "trilinear"}
_SUPPORTED = "nearest | linear | bilinear | bicubic | trilinear | lanczos | area | nearest-exact"


def _is_integer(x):
    if isinstance(x, torch.Tensor):
        return not x.is_floating_point()
    return isinstance(x, int) or hasattr(x, "__index__")


def _output_geometry(input, size, scale_factor):
    """(output_size, scale_factors), one of them None."""
    dims = input.dim() - 2
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is not None:
        if not isinstance(size, (list, tuple)):
            return [size] * dims, None
        if len(size) != dims:
            raise ValueError(
                "Input and output must have the same number of spatial dimensions, but got input with "
                "spatial dimensions of %s and output size of %s. Please provide input tensor in (N, C, d1, "
                "d2, ...,dK) format and output size in (o1, o2, ...,oK) "
                "format." % (list(input.shape[2:]), size)
            )
        if not all([_is_integer(x) for x in size]):
            raise TypeError(
                "expected size to be one of int or Tuple[int] or Tuple[int, int] or Tuple[int, int, int], "
                "but got size with types %s" % [type(x) for x in size]
            )
        return size, None
    if scale_factor is None:
        raise ValueError("either size or scale_factor should be defined")
    if not isinstance(scale_factor, (list, tuple)):
        return None, [scale_factor] * dims
    if len(scale_factor) != dims:
        raise ValueError(
            "Input and scale_factor must have the same number of spatial dimensions, but got input with "
            "spatial dimensions of %s and scale_factor of shape %s. Please provide input tensor in (N, C, "
            "d1, d2, ...,dK) format and scale_factor in (s1, s2, ...,sK) "
            "format." % (list(input.shape[2:]), scale_factor)
        )
    return None, scale_factor


def interpolate(
    input,
    size=None,
    scale_factor=None,
    mode="nearest",
    align_corners=None,
    recompute_scale_factor=None,
    antialias=False,
):
    """interpolate(input, size=None, scale_factor=None, mode="nearest", align_corners=None,
    recompute_scale_factor=None, antialias=False) -> Tensor

    Resizes the spatial dimensions to `size`, or by `scale_factor`.
    """
    if has_torch_function_unary(input):
        return handle_torch_function(
            interpolate,
            (input,),
            input,
            size=size,
            scale_factor=scale_factor,
            mode=mode,
            align_corners=align_corners,
            recompute_scale_factor=recompute_scale_factor,
            antialias=antialias,
        )
    if mode in ("nearest", "area", "nearest-exact"):
        if align_corners is not None:
            raise ValueError(
                "align_corners option can only be set with the interpolating modes: linear | bilinear | "
                "bicubic | trilinear"
            )
    elif align_corners is None:
        align_corners = False
    ndim = input.dim()
    output_size, scales = _output_geometry(input, size, scale_factor)
    if recompute_scale_factor and size is not None:
        raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
    if (recompute_scale_factor or mode == "area") and scales is not None:
        output_size = [int(math.floor(length * scale)) for length, scale in zip(input.shape[2:], scales)]
        scales = None
    if antialias and not (mode in ("bilinear", "bicubic", "lanczos") and ndim == 4):
        raise ValueError(
            "Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires a 4-D "
            "tensor as input"
        )
    if ndim in _LINEAR:
        dims = ndim - 2
        if mode == "nearest":
            return getattr(_nn, "upsample_nearest%dd" % dims)(input, output_size, scales)
        if mode == "nearest-exact":
            return getattr(_nn, "_upsample_nearest_exact%dd" % dims)(input, output_size, scales)
        if mode == "area":
            return getattr(torch.nn.functional, "adaptive_avg_pool%dd" % dims)(input, output_size)
        if mode == _LINEAR[ndim]:
            name = "_upsample_bilinear2d_aa" if antialias else "upsample_%s%dd" % (mode, dims)
            return getattr(_nn, name)(input, output_size, align_corners, scales)
        if ndim == 4 and mode == "bicubic":
            name = "_upsample_bicubic2d_aa" if antialias else "upsample_bicubic2d"
            return getattr(_nn, name)(input, output_size, align_corners, scales)
        if ndim == 4 and mode == "lanczos":
            if align_corners:
                raise ValueError("Lanczos mode does not support align_corners=True")
            if not antialias:
                raise ValueError("Lanczos mode requires antialias=True")
            return _nn._upsample_lanczos2d_aa(input, output_size, align_corners, scales)
        for needed, name in _LINEAR.items():
            if mode == name:
                raise NotImplementedError("Got %dD input, but %s mode needs %dD input" % (ndim, mode, needed))
    raise NotImplementedError(
        "Input Error: Only 3D, 4D and 5D input Tensors supported (got %dD) for the modes: %s (got %s)"
        % (ndim, _SUPPORTED, mode)
    )


def upsample(input, size=None, scale_factor=None, mode="nearest", align_corners=None):
    """The old name of interpolate."""
    warnings.warn(
        "`nn.functional.upsample` is deprecated. Use `nn.functional.interpolate` instead.", stacklevel=2
    )
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input, size=None, scale_factor=None):
    """The old name of interpolate in nearest mode."""
    warnings.warn(
        "`nn.functional.upsample_nearest` is deprecated. Use `nn.functional.interpolate` instead.",
        stacklevel=2,
    )
    return interpolate(input, size, scale_factor, mode="nearest")


def upsample_bilinear(input, size=None, scale_factor=None):
    """The old name of interpolate in bilinear mode."""
    warnings.warn(
        "`nn.functional.upsample_bilinear` is deprecated. Use `nn.functional.interpolate` instead.",
        stacklevel=2,
    )
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)


# --- sampling ---


def _warn_align_corners():
    warnings.warn(
        "Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. "
        "Please specify align_corners=True if the old behavior is desired. See the documentation of "
        "grid_sample for details.",
        stacklevel=4,
    )


@overridable
def grid_sample(input, grid, mode="bilinear", padding_mode="zeros", align_corners=None):
    """grid_sample(input, grid, mode="bilinear", padding_mode="zeros", align_corners=None) -> Tensor

    The values of the input at the places of the grid, whose coordinates run from -1 to 1.
    """
    if mode not in GRID_SAMPLE_INTERPOLATION_MODES:
        raise ValueError(
            "nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: "
            "'%s'" % mode
        )
    if padding_mode not in GRID_SAMPLE_PADDING_MODES:
        raise ValueError(
            "nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or 'reflection', "
            "but got: '%s'" % padding_mode
        )
    if align_corners is None:
        _warn_align_corners()
        align_corners = False
    return _VF.grid_sampler(
        input,
        grid,
        GRID_SAMPLE_INTERPOLATION_MODES[mode],
        GRID_SAMPLE_PADDING_MODES[padding_mode],
        align_corners,
    )


@overridable
def affine_grid(theta, size, align_corners=None):
    """affine_grid(theta, size, align_corners=None) -> Tensor

    The grid for grid_sample that applies a batch of affine matrices.
    """
    if align_corners is None:
        _warn_align_corners()
        align_corners = False
    if not theta.is_floating_point():
        raise ValueError("Expected theta to have floating point type, but got %s" % theta.dtype)
    if len(size) not in (4, 5):
        raise NotImplementedError(
            "affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, respectively. Got "
            "size %s." % (size,)
        )
    dims = len(size) - 2
    if theta.dim() != 3 or theta.shape[-2] != dims or theta.shape[-1] != dims + 1:
        raise ValueError(
            "Expected a batch of %dD affine matrices of shape Nx%dx%d for size %s. Got %s."
            % (dims, dims, dims + 1, size, theta.shape)
        )
    if align_corners and min(size[-dims:]) == 1:
        warnings.warn(
            "Since version 1.3.0, affine_grid behavior has changed for unit-size grids when "
            "align_corners=True. This is not an intended use case of affine_grid. See the documentation of "
            "affine_grid for details.",
            stacklevel=3,
        )
    elif min(size) <= 0:
        raise ValueError("Expected non-zero, positive output size. Got %s" % (size,))
    return _VF.affine_grid_generator(theta, size, align_corners)


# --- patches ---


@overridable
def unfold(input, kernel_size, dilation=1, padding=0, stride=1):
    """unfold(input, kernel_size, dilation=1, padding=0, stride=1) -> Tensor

    The sliding blocks of a batch of images as columns.
    """
    return _unwritten(
        unfold, input, kernel_size=kernel_size, dilation=dilation, padding=padding, stride=stride
    )


@overridable
def fold(input, output_size, kernel_size, dilation=1, padding=0, stride=1):
    """fold(input, output_size, kernel_size, dilation=1, padding=0, stride=1) -> Tensor

    Adds columns of sliding blocks up to images.
    """
    return _unwritten(
        fold,
        input,
        output_size=output_size,
        kernel_size=kernel_size,
        dilation=dilation,
        padding=padding,
        stride=stride,
    )


__all__ = [
    "pad",
    "interpolate",
    "upsample",
    "upsample_nearest",
    "upsample_bilinear",
    "grid_sample",
    "affine_grid",
    "unfold",
    "fold",
]
publish(globals(), __all__)
__all__ += ["GRID_SAMPLE_INTERPOLATION_MODES", "GRID_SAMPLE_PADDING_MODES"]
