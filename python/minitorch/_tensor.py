# SPDX-License-Identifier: BSD-3-Clause
"""The class Tensor: what is written in Python on top of the C base.

The base supplies operators (reflected ones too), indexing, length, iteration, hash, attributes and all ops.
A method here begins with the override check.  One named after an operator takes the slot away from the base and makes the operator
slow, unless the metaclass keeps the slot: see kept_slots in csrc/bindings/tensor_type.c.
"""

import minitorch as torch
from minitorch import _C
from minitorch._out_of_scope import methods
from minitorch.overrides import (
    _unlisted,
    _as_given,
    handle_torch_function,
    has_torch_function_unary,
    has_torch_function_variadic,
)


class Tensor(_C._TensorBase):
    from minitorch._operators import (
        __abs__, __floordiv__, __ipow__, __neg__, __pos__, __pow__, __rdiv__, __rfloordiv__, __rlshift__, __rmatmul__, __rmod__,
        __rpow__, __rrshift__, __rsub__, __rtruediv__,
    )  # fmt: skip

    # --- autograd ---

    def backward(self, gradient=None, retain_graph=None, create_graph=False, inputs=None):
        """backward(gradient=None, retain_graph=None, create_graph=False, inputs=None)

        Computes the gradients of this tensor and adds them to `.grad` of the leaves (or of `inputs` only).  A
        tensor with more than one element needs `gradient`, of its own shape.
        """
        if has_torch_function_unary(self):
            return handle_torch_function(
                Tensor.backward,
                (self,),
                self,
                gradient=gradient,
                retain_graph=retain_graph,
                create_graph=create_graph,
                inputs=inputs,
            )
        if gradient is None and inputs is None:
            keep = create_graph if retain_graph is None else retain_graph
            _C._engine_run((self,), None, keep, create_graph, None, True, True, False)
        else:
            torch.autograd.backward(self, gradient, retain_graph, create_graph, inputs=inputs)

    def register_hook(self, hook):
        """register_hook(hook) -> RemovableHandle

        `hook(grad)` runs whenever the gradient of this tensor has been computed and may return another one.
        """
        if has_torch_function_unary(self):
            return handle_torch_function(Tensor.register_hook, (self,), self, hook)
        if not self.requires_grad:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        if self._backward_hooks is None:
            from collections import OrderedDict

            self._backward_hooks = OrderedDict()
            if self.grad_fn is not None:
                self.grad_fn._register_hook_dict(self)
        return _add_hook(self._backward_hooks, hook)

    def register_post_accumulate_grad_hook(self, hook):
        """register_post_accumulate_grad_hook(hook) -> RemovableHandle

        `hook(tensor)` runs after a gradient has been added to `.grad` of this leaf.
        """
        if has_torch_function_unary(self):
            return handle_torch_function(Tensor.register_post_accumulate_grad_hook, (self,), self, hook)
        if not self.requires_grad:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        if self.grad_fn is not None:
            raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
        if self._post_accumulate_grad_hooks is None:
            from collections import OrderedDict

            self._post_accumulate_grad_hooks = OrderedDict()
        return _add_hook(self._post_accumulate_grad_hooks, hook)

    def reinforce(self, reward):
        """reinforce(reward): removed; RuntimeError."""
        raise RuntimeError(
            "reinforce() was removed.  Use torch.distributions instead:\n"
            "m = torch.distributions.Categorical(probs)\n"
            "action = m.sample()\n"
            "next_state, reward = env.step(action)\n"
            "loss = -m.log_prob(action) * reward\n"
            "loss.backward()"
        )

    # --- copying and pickling ---

    def __deepcopy__(self, memo):
        """copy.deepcopy(tensor) -> Tensor: a copy of memory, gradient and attributes; leaves only."""
        if has_torch_function_unary(self):
            return handle_torch_function(Tensor.__deepcopy__, (self,), self, memo)
        from minitorch import _utils

        return _utils._deepcopy_tensor(self, memo)

    def __reduce_ex__(self, proto):
        """__reduce_ex__(protocol): what pickle writes."""
        from minitorch import _utils

        state = _utils._get_obj_state(self)
        if type(self) is Tensor and not state:
            return self._reduce_ex_internal(proto)
        if has_torch_function_unary(self):
            return handle_torch_function(Tensor.__reduce_ex__, (self,), self, proto)
        func, args = self._reduce_ex_internal(proto)
        return (_rebuild_from_type_v2, (func, type(self), args, state))

    def _reduce_ex_internal(self, proto):
        from minitorch import _utils

        return _utils._reduce_tensor(self)

    def __setstate__(self, state):
        """__setstate__(state): the state of an old pickle."""
        if has_torch_function_unary(self):
            return handle_torch_function(Tensor.__setstate__, (self,), self, state)
        if not self.is_leaf:
            raise RuntimeError("__setstate__ can be only called on leaf Tensors")
        if len(state) == 4:
            self.set_(*state)
            return
        if len(state) == 5:
            self.data = state[0]
            state = (state[3], state[4], state[2])
        self.requires_grad, _, self._backward_hooks = state

    def _clear_non_serializable_cached_data(self):
        if has_torch_function_unary(self):
            return handle_torch_function(Tensor._clear_non_serializable_cached_data, (self,), self)

    def module_load(self, other, assign=False):
        """module_load(other, assign=False)

        The tensor that takes the place of this parameter when a state dictionary holding `other` is loaded by
        swapping.
        """
        if has_torch_function_variadic(self, other):
            return handle_torch_function(Tensor.module_load, (self, other), self, other, assign=assign)
        return other.detach() if assign else self.copy_(other).detach()

    # --- storage ---

    def storage(self):
        """storage() -> TypedStorage

        The memory of this tensor, typed.  Deprecated: use `untyped_storage()`.
        """
        if has_torch_function_unary(self):
            return handle_torch_function(Tensor.storage, (self,), self)
        torch.storage._warn_typed_storage_removal(stacklevel=2)
        return self._typed_storage()

    def _typed_storage(self):
        return torch.storage.TypedStorage(
            wrap_storage=self.untyped_storage(), dtype=self.dtype, _internal=True
        )

    def storage_type(self):
        """storage_type() -> type

        The legacy storage class of this tensor, such as torch.FloatStorage.
        """
        if has_torch_function_unary(self):
            return handle_torch_function(Tensor.storage_type, (self,), self)
        torch.storage._warn_typed_storage_removal()
        return self._typed_storage()._get_legacy_storage_class()

    def is_shared(self):
        """is_shared() -> bool

        Whether the memory is shared between processes; always so for CUDA tensors.
        """
        if has_torch_function_unary(self):
            return handle_torch_function(Tensor.is_shared, (self,), self)
        return self.untyped_storage().is_shared()

    def share_memory_(self):
        """share_memory_() -> Tensor

        Moves the memory to where other processes can see it.  Nothing happens to CUDA tensors.
        """
        if has_torch_function_unary(self):
            return handle_torch_function(Tensor.share_memory_, (self,), self)
        self.untyped_storage().share_memory_()
        return self

    # --- printing and conversion ---

    def __repr__(self, *, tensor_contents=None):
        """repr(tensor) -> str: class, numbers, and what differs from the defaults."""
        if has_torch_function_unary(self):
            return handle_torch_function(Tensor.__repr__, (self,), self, tensor_contents=tensor_contents)
        from minitorch import _tensor_str

        return _tensor_str._str(self, tensor_contents=tensor_contents)

    def __format__(self, format_spec):
        """format(tensor, spec) -> str: of a tensor without dimensions as its number, else spec is empty."""
        if has_torch_function_unary(self):
            return handle_torch_function(Tensor.__format__, (self,), self, format_spec)
        if self.dim() == 0 and type(self) is Tensor and not self.is_meta:
            return self.item().__format__(format_spec)
        return object.__format__(self, format_spec)

    @_unlisted
    def __dir__(self):
        """dir(tensor) -> list of str."""
        if has_torch_function_unary(self):
            return handle_torch_function(Tensor.__dir__, (self,), self)
        names = set(dir(type(self)))
        names.update(self.__dict__)
        names.discard("volatile")
        if not self.is_cuda:
            names.discard("__cuda_array_interface__")
        return sorted(names)

    __array_priority__ = 1000  # NumPy leaves operators between its arrays and tensors to the tensor

    def __array_namespace__(self, api_version=None):
        """__array_namespace__(api_version=None) -> module: the functions of the array API standard for tensors."""
        if has_torch_function_unary(self):
            return handle_torch_function(Tensor.__array_namespace__, (self,), self, api_version=api_version)
        import minitorch.array_api

        if api_version not in (None, "2021.12", "2022.12", "2023.12", "2024.12", "2025.12"):
            raise ValueError("unknown revision of the array API standard: %r" % (api_version,))
        return minitorch.array_api

    def to_device(self, device, /, *, stream=None):
        """to_device(device, /, *, stream=None) -> Tensor: the tensor on that device, itself if it is there (array API)."""
        if has_torch_function_unary(self):
            return handle_torch_function(Tensor.to_device, (self,), self, device, stream=stream)
        return self.to(device=device)

    def __array__(self, dtype=None, *, copy=None):
        """__array__(dtype=None, *, copy=None) -> numpy.ndarray: what NumPy makes of the tensor, sharing memory where it can."""
        if has_torch_function_unary(self):
            return handle_torch_function(Tensor.__array__, (self,), self, dtype=dtype)
        array = self.numpy()
        if dtype is not None and array.dtype != dtype:
            if copy is False:
                raise ValueError("cannot convert a tensor to another dtype without a copy")
            return array.astype(dtype)
        return array.copy() if copy else array

    def __array_wrap__(self, array, context=None, return_scalar=False):
        """__array_wrap__(array, context=None, return_scalar=False) -> Tensor: the result of a NumPy function as a tensor."""
        if has_torch_function_unary(self):
            return handle_torch_function(Tensor.__array_wrap__, (self,), self, array=array)
        if array.dtype == bool:
            array = array.astype("uint8")
        return torch.from_numpy(array)

    def __contains__(self, element, /):
        """element in tensor -> bool: whether a number or tensor equals an element."""
        if has_torch_function_unary(self):
            return handle_torch_function(Tensor.__contains__, (self,), self, element)
        if isinstance(element, (Tensor, int, float, complex)) or _is_number(element):
            return bool((element == self).any().item())
        raise RuntimeError(
            "Tensor.__contains__ only supports Tensor or scalar, but you passed in a %s." % type(element)
        )

    @property
    def volatile(self):
        """False; a mark of old programs, with a warning."""
        if has_torch_function_unary(self):
            return handle_torch_function(Tensor.volatile.__get__, (self,), self)
        import warnings

        warnings.warn("volatile was removed (Variable.volatile is always False)", stacklevel=2)
        return False

    @volatile.setter
    def volatile(self, value):
        if has_torch_function_unary(self):
            return handle_torch_function(Tensor.volatile.__set__, (self,), self, value)
        import warnings

        warnings.warn(
            "volatile was removed and now has no effect. Use `with torch.no_grad():` instead.", stacklevel=2
        )

    @property
    def __cuda_array_interface__(self):
        """The description of a CUDA tensor for other libraries."""
        if has_torch_function_unary(self):
            return handle_torch_function(Tensor.__cuda_array_interface__.__get__, (self,), self)
        if not self.is_cuda:
            raise AttributeError(
                "Can't get __cuda_array_interface__ on non-CUDA tensor type: %s If CUDA data is required use "
                "tensor.cuda() to copy tensor to device memory." % self.type()
            )
        if self.requires_grad:
            raise RuntimeError(
                "Can't get __cuda_array_interface__ on Variable that requires grad. If gradients aren't "
                "required, use var.detach() to get Variable that doesn't require grad."
            )
        size = self.element_size()
        strides = None if self.is_contiguous() else tuple([stride * size for stride in self.stride()])
        pointer = self.data_ptr() if self.numel() > 0 else 0
        return {
            "typestr": torch._utils._dtype_to_typestr(self.dtype),
            "shape": tuple(self.shape),
            "strides": strides,
            "data": (pointer, False),
            "version": 2,
        }

    def __dlpack__(self, *, stream=-1, max_version=None, dl_device=None, copy=None):
        """__dlpack__(*, stream=-1, max_version=None, dl_device=None, copy=None) -> capsule: the memory for another library."""
        if has_torch_function_unary(self):
            return handle_torch_function(
                Tensor.__dlpack__,
                (self,),
                self,
                stream=stream,
                max_version=max_version,
                dl_device=dl_device,
                copy=copy,
            )
        if (stream is None or stream == -1) and self.is_cpu and not self.is_neg():
            return _C._dlpack_export(self, max_version, dl_device, copy)
        return torch.utils.dlpack._export(self, stream, max_version, dl_device, copy)

    def __dlpack_device__(self):
        """__dlpack_device__() -> (device type, index), as DLPack numbers them."""
        if has_torch_function_unary(self):
            return handle_torch_function(Tensor.__dlpack_device__, (self,), self)
        return torch.utils.dlpack._device_of(self)

    # --- overrides ---

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        """The default handler of subclasses: runs the function with subclass handling off and turns every
        exact tensor of the result into this class."""
        return _C._torch_function_default(cls, func, types, args, kwargs, _NOT_WRAPPED)

    __torch_dispatch__ = _C._disabled_torch_dispatch_impl

    # --- ops whose Python form does more than the C op ---

    def __iter__(self):
        """iter(tensor): over the slices of the first dimension."""
        if self.dim() == 0:
            raise TypeError("iteration over a 0-d tensor")
        return iter(self.unbind(0))

    def record_stream(self, stream):
        """record_stream(stream)

        Says that work on a CUDA stream uses this tensor: its memory is not given to others before that is done.
        """
        if has_torch_function_unary(self):
            return handle_torch_function(Tensor.record_stream, (self,), self, stream)
        if not self.is_cuda:
            raise NotImplementedError(
                "Could not run 'aten::record_stream' with arguments from the '%s' backend."
                % ("Meta" if self.is_meta else "CPU")
            )
        torch.cuda._record_stream(self.untyped_storage(), stream)

    def __reversed__(self):
        """reversed(tensor) -> Tensor: flipped along the first dimension."""
        if has_torch_function_unary(self):
            return handle_torch_function(Tensor.__reversed__, (self,), self)
        return self if self.dim() == 0 else self.flip(0)

    def norm(self, p="fro", dim=None, keepdim=False, dtype=None):
        """norm(p="fro", dim=None, keepdim=False, dtype=None) -> Tensor

        See torch.norm.
        """
        if has_torch_function_unary(self):
            return handle_torch_function(
                Tensor.norm, (self,), self, p=p, dim=dim, keepdim=keepdim, dtype=dtype
            )
        return torch.norm(self, p, dim, keepdim, dtype=dtype)

    @_as_given
    def nonzero(self, *, as_tuple=False):
        """nonzero(*, as_tuple=False) -> Tensor or tuple of Tensors

        See torch.nonzero.
        """
        return (_C._VariableFunctions.where if as_tuple else _C._VariableFunctions.nonzero)(self)

    def split(self, split_size, dim=0):
        """split(split_size, dim=0) -> tuple of Tensors

        See torch.split.
        """
        if has_torch_function_unary(self):
            return handle_torch_function(Tensor.split, (self,), self, split_size, dim=dim)
        if isinstance(split_size, Tensor):
            try:
                split_size = int(split_size)
            except ValueError:
                pass
        if isinstance(split_size, int):
            return _C._VariableFunctions.split(self, split_size, dim)
        return _C._VariableFunctions.split_with_sizes(self, split_size, dim)

    def unique(self, sorted=True, return_inverse=False, return_counts=False, dim=None):
        """unique(sorted=True, return_inverse=False, return_counts=False, dim=None)

        See torch.unique.
        """
        if has_torch_function_unary(self):
            return handle_torch_function(
                Tensor.unique,
                (self,),
                self,
                sorted=sorted,
                return_inverse=return_inverse,
                return_counts=return_counts,
                dim=dim,
            )
        return torch.unique(
            self, sorted=sorted, return_inverse=return_inverse, return_counts=return_counts, dim=dim
        )

    def unique_consecutive(self, return_inverse=False, return_counts=False, dim=None):
        """unique_consecutive(return_inverse=False, return_counts=False, dim=None)

        See torch.unique_consecutive.
        """
        if has_torch_function_unary(self):
            return handle_torch_function(
                Tensor.unique_consecutive,
                (self,),
                self,
                return_inverse=return_inverse,
                return_counts=return_counts,
                dim=dim,
            )
        return torch.unique_consecutive(
            self, return_inverse=return_inverse, return_counts=return_counts, dim=dim
        )

    @_unlisted
    def unflatten(self, dim, sizes):
        """unflatten(dim, sizes) -> Tensor

        See torch.unflatten.
        """
        if has_torch_function_unary(self):
            return handle_torch_function(Tensor.unflatten, (self,), self, dim, sizes)
        if not sizes:
            raise RuntimeError("unflatten: sizes must be non-empty")
        return _C._TensorBase.unflatten(self, dim, sizes)

    def lu(self, pivot=True, get_infos=False):
        """lu(pivot=True, get_infos=False)

        See torch.lu.
        """
        if has_torch_function_unary(self):
            return handle_torch_function(Tensor.lu, (self,), self, pivot=pivot, get_infos=get_infos)
        factors, pivots, infos = torch._lu_with_info(self, pivot=pivot, check_errors=not get_infos)
        return (factors, pivots, infos) if get_infos else (factors, pivots)

    def stft(
        self,
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
        """See torch.stft."""
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
        if has_torch_function_unary(self):
            return handle_torch_function(Tensor.stft, (self,), self, n_fft, **options)
        return torch.stft(self, n_fft, **options)

    def istft(
        self,
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
        """See torch.istft."""
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
        if has_torch_function_unary(self):
            return handle_torch_function(Tensor.istft, (self,), self, n_fft, **options)
        return torch.istft(self, n_fft, **options)

    def resize(self, *sizes):
        """resize(*sizes) -> Tensor: a view of another shape (deprecated)."""
        if has_torch_function_unary(self):
            return handle_torch_function(Tensor.resize, (self,), self, *sizes)
        return _resized(
            "resize", self, sizes[0] if len(sizes) == 1 and not isinstance(sizes[0], int) else sizes
        )

    def resize_as(self, tensor):
        """resize_as(tensor) -> Tensor: a view of the shape of another tensor (deprecated)."""
        if has_torch_function_variadic(self, tensor):
            return handle_torch_function(Tensor.resize_as, (self, tensor), self, tensor)
        return _resized("resize_as", self, tensor.size())

    def apply_(self, callable):
        """apply_(callable) -> Tensor

        Replaces every element x by `callable(x)`, a number.  For CPU tensors that need no gradient; slow.

            >>> torch.tensor([1.0, 2.0]).apply_(lambda x: x * x)
            tensor([1., 4.])
        """
        if has_torch_function_unary(self):
            return handle_torch_function(Tensor.apply_, (self,), self, callable)
        return _map_elements("apply_", self, {}, callable)

    def map_(self, tensor, callable):
        """map_(tensor, callable) -> Tensor

        Replaces every element x by `callable(x, y)`; y is the element of `tensor`, which is of the same type and
        can be expanded to this shape.

            >>> torch.tensor([1.0, 2.0]).map_(torch.tensor([3.0, 4.0]), lambda x, y: x * y)
            tensor([3., 8.])
        """
        if has_torch_function_variadic(self, tensor):
            return handle_torch_function(Tensor.map_, (self, tensor), self, tensor, callable)
        return _map_elements("map_", self, {"other": tensor}, callable)

    @_as_given
    def map2_(self, x, y, callable):
        """map2_(x, y, callable) -> Tensor

        Like map_ with two tensors: every element becomes `callable(element, x, y)`.
        """
        return _map_elements("map2_", self, {"x": x, "y": y}, callable)

    @_as_given
    def to_dense(self, dtype=None, *, masked_grad=None):
        """to_dense(dtype=None, *, masked_grad=None) -> Tensor: this tensor, which is dense, or a copy of that dtype."""
        if dtype is not None and not isinstance(dtype, torch.dtype):
            raise TypeError("to_dense(): argument 'dtype' must be torch.dtype, not %s" % type(dtype).__name__)
        return self if dtype is None else self.to(dtype)

    def dequantize(self):
        """dequantize() -> Tensor: the tensor as float32; no tensor is quantized here."""
        if has_torch_function_unary(self):
            return handle_torch_function(Tensor.dequantize, (self,), self)
        return self.to(torch.float32)

    def dense_dim(self):
        """dense_dim() -> int: the number of dimensions; all are dense."""
        if has_torch_function_unary(self):
            return handle_torch_function(Tensor.dense_dim, (self,), self)
        return self.dim()

    def sparse_dim(self):
        """sparse_dim() -> int: 0, the number of sparse dimensions."""
        if has_torch_function_unary(self):
            return handle_torch_function(Tensor.sparse_dim, (self,), self)
        return 0

    def is_distributed(self):
        """is_distributed() -> bool: False, no tensor is spread over processes."""
        if has_torch_function_unary(self):
            return handle_torch_function(Tensor.is_distributed, (self,), self)
        return False

    def to_sparse_coo(self):
        """to_sparse_coo() -> Tensor

        The same as to_sparse().
        """
        return self.to_sparse()

    def dim_order(self, *, ambiguity_check=False):
        """dim_order(*, ambiguity_check=False) -> tuple

        The dimensions from the outermost to the innermost in memory.
        """
        if has_torch_function_unary(self):
            return handle_torch_function(Tensor.dim_order, (self,), self, ambiguity_check=ambiguity_check)
        return _dim_order(self, ambiguity_check)

    def index(self, positions, dims):
        """First-class dimensions are not part of this library."""
        if has_torch_function_unary(self):
            return handle_torch_function(Tensor.index, (self,), self, positions, dims)
        raise NotImplementedError("Tensor.index(): first-class dimensions are not supported")

    # --- removed ops ---

    def solve(self, other):
        raise _removed("solve", "torch.linalg.solve")

    def lstsq(self, other):
        raise _removed("lstsq", "torch.linalg.lstsq")

    def eig(self, eigenvectors=False):
        raise _removed("eig", "torch.linalg.eig")

    def symeig(self, eigenvectors=False):
        raise _removed("symeig", "torch.linalg.eigh or torch.linalg.eigvalsh")

    __module__ = "minitorch"


def _rebuild_from_type_v2(func, new_type, args, state):
    """The inverse of `Tensor.__reduce_ex__` for subclasses and tensors with attributes."""
    from minitorch import _utils

    return _utils._rebuild_with_type(func, new_type, args, state)


def _rebuild_from_type(func, type, args, dict):
    """The same for files written by old versions."""
    result = func(*args)
    if type is not Tensor:
        result = result.as_subclass(type)
    result.__dict__ = dict
    return result


def _add_hook(hooks, hook):
    from minitorch.utils.hooks import RemovableHandle

    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    return handle


def _is_number(element):
    from numbers import Number

    return isinstance(element, Number)


def _removed(name, instead):
    return RuntimeError(
        "This function was deprecated since version 1.9 and is now removed. Tensor.%s is gone; please use %s."
        % (name, instead)
    )


def _resized(name, tensor, sizes):
    import warnings

    warnings.warn("non-inplace %s is deprecated" % name, stacklevel=3)
    numel = 1
    for size in sizes:
        numel *= size
    if numel != tensor.numel():
        raise RuntimeError(
            "requested resize to %s (%d elements in total), but the given tensor has a size of %s (%d "
            "elements). autograd's resize can only change the shape of a given tensor, while preserving "
            "the number of elements. "
            % ("x".join(map(str, sizes)), numel, "x".join(map(str, tensor.shape)), tensor.numel())
        )
    return tensor.contiguous().view(*sizes)


def _dim_order(tensor, check):
    formats = ()
    if not isinstance(check, bool):
        formats = check
        if not isinstance(check, list) or not all(isinstance(item, torch.memory_format) for item in check):
            raise TypeError("The ambiguity_check argument must be a bool or a list of memory formats.")
    sizes = tensor.shape
    strides = tensor.stride()
    if check or formats or isinstance(check, list):
        unclear = 1 in sizes or any(a == b for a, b in zip(strides, strides[1:]))
        fitting = [form for form in formats if tensor.is_contiguous(memory_format=form)]
        if unclear and len(fitting) != 1:
            raise RuntimeError(
                "The tensor does not have unique dim order, or cannot map to exact one of the given memory "
                "formats."
            )
    ndim = len(sizes)
    plain = tensor.is_contiguous()
    last = ndim == 4 and tensor.is_contiguous(memory_format=torch.channels_last)
    if plain != last:
        return tuple(range(ndim)) if plain else (0, 2, 3, 1)
    # Insertion sort from the innermost dimension; a broadcast dimension (stride 0) moves nobody.
    order = list(range(ndim - 1, -1, -1))
    for place in range(1, len(order)):
        spot = place
        for before in range(place - 1, -1, -1):
            inner, outer = order[before], order[spot]
            if strides[inner] == 0 or strides[outer] == 0:
                continue
            if strides[inner] < strides[outer]:
                break
            if strides[inner] > strides[outer] or sizes[inner] > sizes[outer]:
                order[before], order[spot] = outer, inner
                spot = before
    return tuple(order[::-1])


# Results of these stay plain tensors.
_NOT_WRAPPED = {Tensor._base.__get__, Tensor.grad.__get__, Tensor._grad.__get__}


for _name, _method in methods():
    setattr(Tensor, _name, _method)
for _name, _modern in (
    ("div", "truediv"),
    ("idiv", "itruediv"),
    ("nonzero", "bool"),
    ("long", "int"),
):
    setattr(Tensor, "__%s__" % _name, getattr(_C._TensorBase, "__%s__" % _modern))  # names of Python 2


def _map_elements(name, tensor, others, function):
    """Stores function(x, ...) for the elements of the tensor and of the others, all of one type; all or nothing."""
    for argument, other in others.items():
        if not isinstance(other, Tensor):
            raise TypeError(
                "%s(): argument '%s' must be Tensor, not %s" % (name, argument, type(other).__name__)
            )
        if other.type() != tensor.type() or other.device != tensor.device:
            raise TypeError(
                "%s: expected %s for '%s' (got %s)" % (name, tensor.type(), argument, other.type())
            )
    if tensor.requires_grad or any(other.requires_grad for other in others.values()):
        raise RuntimeError("Can't call %s() on a tensor that requires grad; use tensor.detach()" % name)
    if not callable(function):
        raise TypeError(
            "%s(): argument 'callable' must be callable, not %s" % (name, type(function).__name__)
        )
    if tensor.device.type not in ("cpu", "meta"):
        raise TypeError("%s is only implemented on CPU tensors" % name)
    if tensor.device.type == "meta":
        return tensor
    columns = [t.expand(tensor.shape).reshape(-1).tolist() for t in (tensor, *others.values())]
    numbers = [_number(name, function(*row)) for row in zip(*columns)]
    if numbers:
        tensor.data.copy_(torch.tensor(numbers, dtype=tensor.dtype).view(tensor.shape))
    return tensor


def _number(name, value):
    if isinstance(value, (int, float, complex)):
        return value
    if isinstance(value, Tensor):
        return value.item()
    raise TypeError("%s: the callable must return a number, not %s" % (name, type(value).__name__))
