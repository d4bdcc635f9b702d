# SPDX-License-Identifier: BSD-3-Clause
"""The array API standard, revision 2025.12, over minitorch's Tensor: `import minitorch.array_api as xp`.

The functions follow the standard where `torch` differs from it: arrays without dimensions take part in type promotion, unsigned
integers promote with signed ones, axes are called `axis`, errors of shapes are ValueError.  Arrays are ordinary tensors; their operators
stay PyTorch's.
"""

from math import e, inf, nan, pi

from minitorch import (
    bfloat16,
    bool,
    complex64,
    complex128,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
)
from minitorch.array_api._creation import (
    arange,
    asarray,
    empty,
    empty_like,
    eye,
    from_dlpack,
    full,
    full_like,
    linspace,
    meshgrid,
    ones,
    ones_like,
    tril,
    triu,
    zeros,
    zeros_like,
)
from minitorch.array_api._dtypes import astype, can_cast, finfo, iinfo, isdtype, result_type
from minitorch.array_api._elementwise import *  # noqa: F403
from minitorch.array_api._elementwise import __all__ as _elementwise_names
from minitorch.array_api._info import __array_namespace_info__
from minitorch.array_api._linear import matmul, matrix_transpose, tensordot, vecdot
from minitorch.array_api._manipulation import (
    broadcast_arrays,
    broadcast_shapes,
    broadcast_to,
    concat,
    expand_dims,
    flip,
    moveaxis,
    permute_dims,
    repeat,
    reshape,
    roll,
    squeeze,
    stack,
    tile,
    unstack,
)
from minitorch.array_api._searching import (
    argmax,
    argmin,
    argsort,
    count_nonzero,
    isin,
    nonzero,
    searchsorted,
    sort,
    take,
    take_along_axis,
    unique_all,
    unique_counts,
    unique_inverse,
    unique_values,
    where,
)
from minitorch.array_api._statistical import (
    all,
    any,
    cumulative_prod,
    cumulative_sum,
    diff,
    max,
    mean,
    min,
    prod,
    std,
    sum,
    var,
)

__array_api_version__ = "2025.12"
newaxis = None

__all__ = [name for name in dir() if not name.startswith("_")] + [
    "__array_api_version__",
    "__array_namespace_info__",
]
