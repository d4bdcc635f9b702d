# SPDX-License-Identifier: BSD-3-Clause
"""Parameter and Buffer: tensors that a module registers when they are assigned to it, and their uninitialised
forms for lazy modules."""

import minitorch as torch
from minitorch import _C

__all__ = [
    "Parameter",
    "UninitializedParameter",
    "is_lazy",
    "Buffer",
    "UninitializedBuffer",
    "UninitializedTensorMixin",
]

_make_subclass = torch.Tensor._make_subclass


class _ParameterMeta(_C._TensorMeta):
    def __instancecheck__(cls, instance):
        if type.__instancecheck__(cls, instance):
            return True
        # Instances of other tensor classes can be parameters too.
        return (
            cls is Parameter and isinstance(instance, torch.Tensor) and getattr(instance, "_is_param", False)
        )


class Parameter(torch.Tensor, metaclass=_ParameterMeta):
    """Parameter(data=None, requires_grad=True)

    A tensor that becomes one of the parameters of the module it is assigned to.
    """

    def __new__(cls, data=None, requires_grad=True):
        if data is None:
            data = torch.empty(0)
        kind = type(data)
        if kind is torch.Tensor or kind is Parameter:
            return _make_subclass(cls, data, requires_grad)
        result = data.detach().requires_grad_(requires_grad)
        if type(result) is not kind:
            raise RuntimeError(
                "Creating a Parameter from an instance of type %s requires that detach() returns an "
                "instance of the same type, but return type %s was found instead. To use the type as a "
                "Parameter, please correct the detach() semantics defined by its __torch_dispatch__() "
                "implementation." % (kind.__name__, type(result).__name__)
            )
        result._is_param = True
        return result

    def __deepcopy__(self, memo):
        if id(self) not in memo:
            memo[id(self)] = type(self)(
                self.data.clone(memory_format=torch.preserve_format), self.requires_grad
            )
        return memo[id(self)]

    def __repr__(self):
        return "Parameter containing:\n" + super().__repr__()

    def __reduce_ex__(self, proto):
        from collections import OrderedDict

        from minitorch import _utils

        state = _utils._get_obj_state(self)
        args = (self.data, self.requires_grad, OrderedDict())
        if state:
            return (_utils._rebuild_parameter_with_state, args + (state,))
        return (_utils._rebuild_parameter, args)

    __torch_function__ = _C._disabled_torch_function_impl


class _BufferMeta(_C._TensorMeta):
    def __instancecheck__(cls, instance):
        if type.__instancecheck__(cls, instance):
            return True
        return cls is Buffer and isinstance(instance, torch.Tensor) and getattr(instance, "_is_buffer", False)


class Buffer(torch.Tensor, metaclass=_BufferMeta):
    """Buffer(data=None, *, persistent=True)

    A tensor that becomes a buffer of the module it is assigned to.
    """

    def __new__(cls, data=None, *, persistent=True):
        if data is None:
            data = torch.empty(0)
        result = data.detach().requires_grad_(data.requires_grad)
        result.persistent = persistent
        result._is_buffer = True
        return result

    __torch_function__ = _C._disabled_torch_function_impl


# --- uninitialised parameters and buffers ---

_ALLOWED = (
    "__hash__ size copy_ is_complex is_floating_point half float double char short int long cuda cpu to "
    "get_device"
)


class UninitializedTensorMixin:
    """A tensor whose shape is not known yet: only moves, casts and `materialize` are allowed."""

    _allowed_methods = [
        getattr(torch.Tensor, name) for name in _ALLOWED.split() if hasattr(torch.Tensor, name)
    ]

    def materialize(self, shape, device=None, dtype=None):
        """Gives the tensor its shape; the values are not initialised."""
        data = self.data
        self.data = torch.empty(shape, device=device or data.device, dtype=dtype or data.dtype)
        self.__class__ = self.cls_to_become

    @property
    def shape(self):
        raise RuntimeError(
            "Can't access the shape of an uninitialized parameter or buffer. This error usually happens in "
            "`load_state_dict` when trying to load an uninitialized parameter into an initialized one. "
            "Call `forward` to initialize the parameters before accessing their attributes."
        )

    def share_memory_(self):
        raise RuntimeError(
            "Can't share memory on an uninitialized parameter or buffer. Call `forward` to initialize the "
            "parameters before calling `module.share_memory()`."
        )

    def __repr__(self):
        return "<%s>" % type(self).__name__

    def __reduce_ex__(self, proto):
        return (type(self), (self.requires_grad,))

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func in cls._allowed_methods or type(func).__name__ == "method-wrapper":
            return super().__torch_function__(func, types, args, kwargs or {})
        raise ValueError(
            "Attempted to use an uninitialized parameter in %s. This error happens when you are using a "
            "`LazyModule` or explicitly manipulating `torch.nn.parameter.%s` objects. When using "
            "LazyModules Call `forward` with a dummy batch to initialize the parameters before calling "
            "torch functions" % (func, cls.__name__)
        )


def is_lazy(param):
    """Whether `param` has no shape yet."""
    return isinstance(param, UninitializedTensorMixin)


class UninitializedParameter(UninitializedTensorMixin, Parameter):
    """UninitializedParameter(requires_grad=True, device=None, dtype=None)"""

    cls_to_become = Parameter

    def __new__(cls, requires_grad=True, device=None, dtype=None):
        return _make_subclass(cls, torch.empty(0, device=device, dtype=dtype), requires_grad)

    def __deepcopy__(self, memo):
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.requires_grad, self.data.device, self.data.dtype)
        return memo[id(self)]


class UninitializedBuffer(UninitializedTensorMixin, torch.Tensor):
    """UninitializedBuffer(requires_grad=False, device=None, dtype=None, persistent=True)"""

    cls_to_become = torch.Tensor

    def __new__(cls, requires_grad=False, device=None, dtype=None, persistent=True):
        result = _make_subclass(cls, torch.empty(0, device=device, dtype=dtype), requires_grad)
        result.persistent = persistent
        result._is_buffer = True
        return result


_C._register_parameter_class(Parameter)
