# SPDX-License-Identifier: BSD-3-Clause
"""Functions of the torch namespace whose Python form does more than one C op."""

from minitorch import _C
from minitorch._C import _has_torch_function as has_torch_function
from minitorch._C import _has_torch_function_unary as has_torch_function_unary
from minitorch.overrides import _as_given

__all__ = [
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "block_diag",
    "broadcast_shapes",
    "broadcast_tensors",
    "cartesian_prod",
    "cdist",
    "chain_matmul",
    "einsum",
    "istft",
    "lu",
    "meshgrid",
    "norm",
    "pca_lowrank",
    "split",
    "stft",
    "svd_lowrank",
    "tensordot",
    "unique",
    "unique_consecutive",
    "unravel_index",
]

_VF = _C._VariableFunctions


def _override(func, relevant, *args, **kwargs):
    from minitorch.overrides import handle_torch_function

    return handle_torch_function(func, relevant, *args, **kwargs)


def split(tensor, split_size_or_sections, dim=0):
    """split(tensor, split_size_or_sections, dim=0) -> tuple of Tensors

    Views of chunks of the given size (the last may be smaller), or of the given sizes.

    Example::

        >>> torch.split(torch.arange(5), 2)
        (tensor([0, 1]), tensor([2, 3]), tensor([4]))
    """
    if has_torch_function_unary(tensor):
        return _override(split, (tensor,), tensor, split_size_or_sections, dim=dim)
    return tensor.split(split_size_or_sections, dim)


def broadcast_tensors(*tensors):
    """broadcast_tensors(*tensors) -> tuple of Tensors: expanded to their common shape."""
    if has_torch_function(tensors):
        return _override(broadcast_tensors, tensors, *tensors)
    return _VF.broadcast_tensors(tensors)


def broadcast_shapes(*shapes):
    """broadcast_shapes(*shapes) -> Size: the shape that tensors of these shapes broadcast to.

    Example::

        >>> torch.broadcast_shapes((2, 1), (3,))
        torch.Size([2, 3])
    """
    result = []
    for shape in shapes:
        if isinstance(shape, int):
            shape = (shape,)
        for size in shape:
            if not isinstance(size, int):
                raise RuntimeError(
                    "Input shapes should be of type ints, a tuple of ints, or a list of ints, got %s"
                    % (shape,)
                )
            if size < 0:
                raise RuntimeError(
                    "Trying to create tensor with negative dimension (%d): (%d)" % (size, size)
                )
        shape = list(shape)
        if len(shape) > len(result):
            result = [1] * (len(shape) - len(result)) + result
        for i in range(1, len(shape) + 1):
            size = shape[-i]
            if size == 1 or size == result[-i]:
                continue
            if result[-i] != 1:
                raise RuntimeError(
                    "Shape mismatch: objects cannot be broadcast to a single shape: %s"
                    % ", ".join(map(str, shapes))
                )
            result[-i] = size
    return _C.Size(result)


def einsum(*args):
    """einsum(equation, *operands) -> Tensor: sum of products over the indices named in the equation.

    Example::

        >>> torch.einsum("i,j->ij", torch.ones(2), torch.arange(3.0))
        tensor([[0., 1., 2.],
                [0., 1., 2.]])
    """
    if len(args) < 2:
        raise ValueError(
            "einsum(): must specify the equation string and at least one operand, "
            "or at least one operand and its subscripts list"
        )
    if isinstance(args[0], str):
        equation, operands = args[0], args[1:]
    elif isinstance(args[0], _C.TensorBase):
        equation, operands = _equation_of(args)
    elif has_torch_function(args[1:]):  # who overrides may take anything for an equation
        equation, operands = args[0], args[1:]
    elif hasattr(type(args[0]), "__torch_function__"):
        equation, operands = _equation_of(args)
    else:
        raise TypeError(
            "einsum(): argument 'equation' (position 1) must be str, not %s" % type(args[0]).__name__
        )
    if has_torch_function(operands):
        return _override(einsum, operands, equation, *operands)
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        return einsum(equation, *operands[0])
    return _VF.einsum(equation, operands)


def _equation_of(args):
    """The string form of einsum(op1, [0, 1], op2, [1, 2], ..., [out])."""

    def letters(subscripts):
        text = ""
        for s in subscripts:
            if s is Ellipsis:
                text += "..."
            elif 0 <= s < 26:
                text += chr(ord("A") + s)
            elif 26 <= s < 52:
                text += chr(ord("a") + s - 26)
            else:
                raise ValueError(
                    "einsum(): subscript in subscript list is not within the valid range [0, 52)"
                )
        return text

    equation = ",".join(letters(sub) for sub in args[1::2])
    if len(args) % 2 == 1:
        equation += "->" + letters(args[-1])
        return equation, args[:-1:2]
    return equation, args[::2]


def meshgrid(*tensors, indexing=None):
    """meshgrid(*tensors, indexing=None) -> tuple of Tensors: grids of coordinates; indexing 'ij' or 'xy'."""
    if has_torch_function(tensors):
        return _override(meshgrid, tensors, *tensors, indexing=indexing)
    if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)):
        tensors = tensors[0]
    if indexing is None:
        return _VF.meshgrid(tensors)
    return _VF.meshgrid(tensors, indexing=indexing)


def cartesian_prod(*tensors):
    """cartesian_prod(*tensors) -> Tensor: all combinations of the elements of 1-D tensors, one a row."""
    if has_torch_function(tensors):
        return _override(cartesian_prod, tensors, *tensors)
    return _VF.cartesian_prod(tensors)


def block_diag(*tensors):
    """block_diag(*tensors) -> Tensor: a matrix with the tensors, of at most two dimensions, along its diagonal."""
    if has_torch_function(tensors):
        return _override(block_diag, tensors, *tensors)
    return _VF.block_diag(tensors)


def cdist(x1, x2, p=2.0, compute_mode="use_mm_for_euclid_dist_if_necessary"):
    """cdist(x1, x2, p=2.0, compute_mode="use_mm_for_euclid_dist_if_necessary") -> Tensor

    Distances in the p-norm between all pairs of rows of two batches of matrices.
    """
    if has_torch_function((x1, x2)):
        return _override(cdist, (x1, x2), x1, x2, p=p, compute_mode=compute_mode)
    modes = {
        "use_mm_for_euclid_dist_if_necessary": None,
        "use_mm_for_euclid_dist": 1,
        "donot_use_mm_for_euclid_dist": 2,
    }
    if compute_mode not in modes:
        raise ValueError("%s is not a valid value for compute_mode" % (compute_mode,))
    return _VF.cdist(x1, x2, p, modes[compute_mode])


def stft(
    input,
    n_fft,
    hop_length=None,
    win_length=None,
    window=None,
    center=True,
    pad_mode="reflect",
    normalized=False,
    onesided=None,
    return_complex=None,
    align_to_window=None,
):
    """stft(input, n_fft, hop_length=None, win_length=None, window=None, center=True, pad_mode="reflect", ...) -> Tensor

    Fourier transforms of overlapping pieces of signals.  Not implemented: NotImplementedError.
    """
    options = dict(
        hop_length=hop_length,
        win_length=win_length,
        window=window,
        center=center,
        pad_mode=pad_mode,
        normalized=normalized,
        onesided=onesided,
        return_complex=return_complex,
        align_to_window=align_to_window,
    )
    if has_torch_function_unary(input):
        return _override(stft, (input,), input, n_fft, **options)
    return _VF.stft(input, n_fft, **options)


@_as_given
def istft(
    input,
    n_fft,
    hop_length=None,
    win_length=None,
    window=None,
    center=True,
    normalized=False,
    onesided=None,
    length=None,
    return_complex=False,
):
    """istft(input, n_fft, hop_length=None, win_length=None, window=None, center=True, normalized=False, ...) -> Tensor

    The signals of what stft made.  Not implemented: NotImplementedError.
    """
    options = dict(
        hop_length=hop_length,
        win_length=win_length,
        window=window,
        center=center,
        normalized=normalized,
        onesided=onesided,
        length=length,
        return_complex=return_complex,
    )
    return _VF.istft(input, n_fft, **options)


def tensordot(a, b, dims=2, out=None):
    """tensordot(a, b, dims=2, *, out=None) -> Tensor

    Products summed over dims: the last `dims` dimensions of a and the first of b, or the dimensions of two lists, the
    first for a, the second for b. Both have one dtype.

    Example::

        >>> torch.tensordot(torch.ones(2, 3), torch.ones(3, 4), dims=1).shape
        torch.Size([2, 4])
        >>> torch.tensordot(torch.ones(2, 3), torch.ones(4, 3), dims=([1], [1])).shape
        torch.Size([2, 4])
    """
    if has_torch_function((a, b)):
        return _override(tensordot, (a, b), a, b, dims=dims, out=out)
    if isinstance(dims, _C.TensorBase):
        dims = dims.tolist() if dims.numel() > 1 else dims.item()
    elif not isinstance(dims, (tuple, list, int)):
        raise RuntimeError(
            "tensordot expects dims to be int or tuple[list[int], list[int]] or list[list[int]] containing two "
            "lists, but got dims=%s" % (dims,)
        )
    if isinstance(dims, int):
        if dims < 0:
            raise RuntimeError("tensordot expects dims >= 0, but got dims=%d" % dims)
        if dims > min(a.dim(), b.dim()):
            raise RuntimeError("tensordot expects dims < ndim_a or ndim_b, but got dims=%d" % dims)
        dims = list(range(-dims, 0)), list(range(dims))
    dims_a, dims_b = dims
    return _VF.tensordot(a, b, dims_a, dims_b, **({} if out is None else {"out": out}))


def atleast_1d(*tensors):
    """atleast_1d(*tensors) -> Tensor or tuple of Tensors: tensors without dimensions get one of size 1."""
    if has_torch_function(tensors):
        return _override(atleast_1d, tensors, *tensors)
    return _VF.atleast_1d(tensors[0] if len(tensors) == 1 else tensors)


def atleast_2d(*tensors):
    """atleast_2d(*tensors) -> Tensor or tuple of Tensors: sizes 1 in front up to two dimensions."""
    if has_torch_function(tensors):
        return _override(atleast_2d, tensors, *tensors)
    return _VF.atleast_2d(tensors[0] if len(tensors) == 1 else tensors)


def atleast_3d(*tensors):
    """atleast_3d(*tensors) -> Tensor or tuple of Tensors: three dimensions, those of a matrix come first."""
    if has_torch_function(tensors):
        return _override(atleast_3d, tensors, *tensors)
    return _VF.atleast_3d(tensors[0] if len(tensors) == 1 else tensors)


@_as_given
def nonzero(input, *, out=None, as_tuple=False):
    """nonzero(input, *, out=None, as_tuple=False) -> Tensor or tuple of Tensors

    Places of the elements that are not zero, one a row; with as_tuple one tensor a dimension, good for indexing.

    Example::

        >>> torch.nonzero(torch.tensor([[0, 1], [2, 0]]))
        tensor([[0, 1],
                [1, 0]])
    """
    if not as_tuple:
        return _VF.nonzero(input, out=out)
    if out is not None:
        raise RuntimeError("nonzero does not support the out kwarg when as_tuple is True")
    return _VF.where(input)


def norm(input, p="fro", dim=None, keepdim=False, out=None, dtype=None):
    """norm(input, p="fro", dim=None, keepdim=False, out=None, dtype=None) -> Tensor

    The p-norm of all elements, or along `dim`; "fro" is the 2-norm.

    Example::

        >>> torch.norm(torch.tensor([3.0, 4.0]))
        tensor(5.)
    """
    if has_torch_function_unary(input):
        return _override(norm, (input,), input, p=p, dim=dim, keepdim=keepdim, out=out, dtype=dtype)
    if isinstance(p, str):
        if p == "nuc":
            return _C._linalg.linalg_matrix_norm(
                input, "nuc", (-2, -1) if dim is None else dim, keepdim, dtype=dtype
            )
        if p != "fro":
            raise RuntimeError("only valid string values are 'fro' and 'nuc', found %s" % p)
        if dim is not None and not isinstance(dim, int):
            len(dim)  # a sequence, not a tensor
        p = 2
    if isinstance(dim, int):
        dim = (dim,)
    p = 2 if p is None else p
    if out is None:
        return _C._linalg.linalg_vector_norm(input, p, dim, keepdim, dtype=dtype)
    return _C._linalg.linalg_vector_norm(input, p, dim, keepdim, dtype=dtype, out=out)


def unique(input, sorted=True, return_inverse=False, return_counts=False, dim=None):
    """unique(input, sorted=True, return_inverse=False, return_counts=False, dim=None)

    The distinct elements (or slices along `dim`), with the index of each input element among them and their counts
    when asked for.

    Example::

        >>> torch.unique(torch.tensor([3, 1, 3]), return_counts=True)
        (tensor([1, 3]), tensor([1, 2]))
    """
    if has_torch_function_unary(input):
        return _override(
            unique,
            (input,),
            input,
            sorted=sorted,
            return_inverse=return_inverse,
            return_counts=return_counts,
            dim=dim,
        )
    if dim is None:
        values, inverse, counts = _VF._unique2(input, sorted, return_inverse, return_counts)
    else:
        values, inverse, counts = _VF.unique_dim(input, dim, sorted, return_inverse, return_counts)
    return _chosen(values, inverse, counts, return_inverse, return_counts)


def unique_consecutive(input, return_inverse=False, return_counts=False, dim=None):
    """unique_consecutive(input, return_inverse=False, return_counts=False, dim=None)

    Runs of equal elements reduced to one each.
    """
    if has_torch_function_unary(input):
        return _override(
            unique_consecutive,
            (input,),
            input,
            return_inverse=return_inverse,
            return_counts=return_counts,
            dim=dim,
        )
    values, inverse, counts = _VF.unique_consecutive(input, return_inverse, return_counts, dim)
    return _chosen(values, inverse, counts, return_inverse, return_counts)


def _chosen(values, inverse, counts, return_inverse, return_counts):
    if return_inverse and return_counts:
        return values, inverse, counts
    if return_inverse:
        return values, inverse
    if return_counts:
        return values, counts
    return values


def chain_matmul(*matrices, out=None):
    """chain_matmul(*matrices, out=None) -> Tensor

    The product of matrices (two dimensions each) in the order that takes the fewest multiplications.

    Example::

        >>> torch.chain_matmul(torch.ones(2, 3), torch.ones(3, 4), torch.ones(4, 1))
        tensor([[12.],
                [12.]])
    """
    if has_torch_function(matrices):
        return _override(chain_matmul, matrices, *matrices)
    product = _VF.chain_matmul(matrices)
    return product if out is None else _VF.mul(product, 1, out=out)


def unravel_index(indices, shape):
    """unravel_index(indices, shape) -> tuple of Tensors

    Coordinates in an array of that shape (an int or a sequence of ints, not negative) of the elements at these places in row-major
    order.  `indices` holds integers; TypeError otherwise.

    Example::

        >>> torch.unravel_index(torch.tensor([5, 7]), (2, 6))
        (tensor([0, 1]), tensor([5, 1]))
    """
    if has_torch_function_unary(indices):
        return _override(unravel_index, (indices,), indices, shape=shape)
    if indices.is_complex() or indices.is_floating_point() or indices.dtype == _bool():
        raise TypeError("expected 'indices' to be integer dtype, but got %s" % indices.dtype)
    if isinstance(shape, int):
        shape = (shape,)
    elif not isinstance(shape, (tuple, list)):
        raise TypeError("expected 'shape' to be int or sequence of ints, but got %s" % type(shape))
    for size in shape:
        if not isinstance(size, int):
            raise TypeError("expected 'shape' sequence to only contain ints, but got %s" % type(size))
    if any(size < 0 for size in shape):
        raise ValueError("'shape' cannot have negative values, but got %s" % (tuple(shape),))
    coordinates = []
    for size in reversed(shape):
        coordinates.append(indices % size)
        indices = indices.div(size, rounding_mode="floor")
    return tuple(reversed(coordinates))


def _bool():
    import minitorch

    return minitorch.bool


@_as_given
def histogramdd(input, bins, *, range=None, weight=None, density=False, out=None):
    """histogramdd(input, bins, *, range=None, weight=None, density=False) -> (Tensor hist, tuple of Tensors bin_edges)

    Counts of points, the rows of `input`, in a grid of bins.  Not implemented: NotImplementedError.
    """
    return _unwritten(histogramdd, input, bins=bins, range=range, weight=weight, density=density, out=out)


def lu(A, pivot=True, get_infos=False, out=None):
    """lu(A, pivot=True, get_infos=False) -> (Tensor LU, Tensor pivots[, Tensor infos])

    The packed LU decomposition of matrices.  Not implemented: NotImplementedError.
    """
    return _unwritten(lu, A, pivot=pivot, get_infos=get_infos, out=out)


def svd_lowrank(A, q=6, niter=2, M=None):
    """svd_lowrank(A, q=6, niter=2, M=None) -> (Tensor U, Tensor S, Tensor V)

    About the q largest singular values.  Not implemented: NotImplementedError.
    """
    return _unwritten(svd_lowrank, A, q=q, niter=niter, M=M)


def pca_lowrank(A, q=None, center=True, niter=2):
    """pca_lowrank(A, q=None, center=True, niter=2) -> (Tensor U, Tensor S, Tensor V)

    Principal components.  Not implemented: NotImplementedError.
    """
    return _unwritten(pca_lowrank, A, q=q, center=center, niter=niter)


def lobpcg(
    A, k=None, B=None, X=None, n=None, iK=None, niter=None, tol=None, largest=None, method=None, tracker=None,
    ortho_iparams=None, ortho_fparams=None, ortho_bparams=None,
):  # fmt: skip
    """lobpcg(A, k=None, B=None, X=None, n=None, iK=None, niter=None, tol=None, largest=None, ...) -> (Tensor, Tensor)

    The largest or smallest eigenvalues of a positive definite problem.  Not implemented: NotImplementedError.
    """
    return _unwritten(
        lobpcg, A, k=k, B=B, X=X, n=n, iK=iK, niter=niter, tol=tol, largest=largest, method=method, tracker=tracker,
        ortho_iparams=ortho_iparams, ortho_fparams=ortho_fparams, ortho_bparams=ortho_bparams,
    )  # fmt: skip


def _batch_norm_impl_index(
    input, weight, bias, running_mean, running_var, training, momentum, eps, cudnn_enabled
):  # fmt: skip
    """Batch normalization with what its backward pass keeps.  Not implemented: NotImplementedError."""
    return _unwritten(_batch_norm_impl_index, input, weight=weight, bias=bias, training=training, eps=eps)


@_as_given
def is_distributed(input):
    """is_distributed(input) -> bool: False, no tensor is spread over processes."""
    return False


def is_vulkan_available():
    """is_vulkan_available() -> bool: False, there is no such backend."""
    return False


@_as_given
def dequantize(tensor):
    """dequantize(tensor) -> Tensor: the tensor as float32; no tensor is quantized here."""
    return tensor.dequantize()


def _unwritten(function, tensor, **keywords):
    """What a function without an implementation does: the override check, the check of the tensor, the refusal."""
    if has_torch_function_unary(tensor):
        return _override(function, (tensor,), tensor, **keywords)
    if not isinstance(tensor, _C._TensorBase):
        raise TypeError(
            "%s(): argument 'input' must be Tensor, not %s" % (function.__name__, type(tensor).__name__)
        )
    raise NotImplementedError("%s(): not implemented" % function.__name__)
