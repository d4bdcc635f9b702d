def tensor(
    data: Any,
    *,
    dtype: Optional[_Dtype] = None,
    device: Optional[_Device] = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor: ...
def as_tensor(data: Any, dtype: Optional[_Dtype] = None, device: Optional[_Device] = None) -> Tensor: ...
def asarray(
    obj: Any,
    *,
    dtype: Optional[_Dtype] = None,
    device: Optional[_Device] = None,
    copy: Optional[_bool] = None,
    requires_grad: _bool = False,
) -> Tensor: ...
def from_numpy(ndarray: Any) -> Tensor: ...
def frombuffer(
    buffer: Any, *, dtype: _Dtype, count: _int = -1, offset: _int = 0, requires_grad: _bool = False
) -> Tensor: ...
def from_file(
    filename: _str,
    shared: Optional[_bool] = None,
    size: _int = 0,
    *,
    dtype: Optional[_Dtype] = None,
    layout: Optional[_Layout] = None,
    device: Optional[_Device] = None,
    pin_memory: Optional[_bool] = None,
    requires_grad: _bool = False,
) -> Tensor: ...
