import numpy as _numpy

class Tensor:
    def __iter__(self) -> Iterator[Tensor]: ...
    def split(self, split_size: Union[_int, Sequence[_int]], dim: _int = 0) -> Tuple[Tensor, ...]: ...
    def register_hook(self, hook: Callable[[Tensor], Optional[Tensor]]) -> RemovableHandle: ...
    def norm(
        self,
        p: Union[_float, _str, None] = "fro",
        dim: Union[_int, Sequence[_int], None] = None,
        keepdim: _bool = False,
        dtype: Optional[_Dtype] = None,
    ) -> Tensor: ...
    @overload
    def nonzero(self, *, as_tuple: Literal[False] = False) -> Tensor: ...
    @overload
    def nonzero(self, *, as_tuple: Literal[True]) -> Tuple[Tensor, ...]: ...
    @overload
    def unique(
        self,
        sorted: _bool = True,
        return_inverse: Literal[False] = False,
        return_counts: Literal[False] = False,
        dim: Optional[_int] = None,
    ) -> Tensor: ...
    @overload
    def unique(
        self,
        sorted: _bool = True,
        return_inverse: _bool = False,
        return_counts: _bool = False,
        dim: Optional[_int] = None,
    ) -> Tuple[Tensor, ...]: ...
    @overload
    def unique_consecutive(
        self,
        return_inverse: Literal[False] = False,
        return_counts: Literal[False] = False,
        dim: Optional[_int] = None,
    ) -> Tensor: ...
    @overload
    def unique_consecutive(
        self, return_inverse: _bool = False, return_counts: _bool = False, dim: Optional[_int] = None
    ) -> Tuple[Tensor, ...]: ...
    def lu(self, pivot: _bool = True, get_infos: _bool = False) -> Tuple[Tensor, ...]: ...
    def __array__(self, dtype: Any = None, *, copy: Optional[_bool] = None) -> _numpy.ndarray[Any, Any]: ...
    @classmethod
    def __torch_function__(
        cls,
        func: Callable[..., Any],
        types: Iterable[type],
        args: Tuple[Any, ...] = (),
        kwargs: Optional[Mapping[_str, Any]] = None,
    ) -> Any: ...
