# SPDX-License-Identifier: BSD-3-Clause
"""The module _C: its tables of functions, flags, base types, sub-modules and helpers."""

import gc
import pickle
import subprocess
import sys
import warnings

import pytest

REPLACED = set(
    "einsum split norm meshgrid stft istft unique_consecutive cdist tensordot cartesian_prod block_diag lu "
    "broadcast_tensors chain_matmul nonzero unique svd_lowrank atleast_1d atleast_2d atleast_3d".split()
)


# --- the tables ---


@pytest.mark.item("M1.01")
def test_every_function_of_the_table_is_a_function_of_the_package(torch):
    table = torch._C._VariableFunctions
    names = [n for n in dir(table) if not n.startswith("__") and n not in torch.PRIVATE_OPS]
    assert len(names) > 450
    for name in names:
        function = getattr(table, name)
        found = getattr(torch, name)
        if name not in REPLACED:
            assert found is function, name
            assert found.__module__ == torch.__name__, name
        assert name in torch.__all__ or name.startswith("_") or name == "segment_reduce", name


@pytest.mark.item("M1.01")
def test_all_names_exist(torch):
    for name in torch.__all__:
        assert hasattr(torch, name), name
    for (
        name
    ) in "Tensor tensor add zeros is_tensor manual_seed save load Size float32 no_grad device pi".split():
        assert name == "device" or name == "Size" or name in dir(torch)


@pytest.mark.item("M1.01")
def test_star_imports(torch, lib_name):
    code = "import sys; sys.path[:0] = %r\nfrom %s import *\nprint(add(tensor([1]), 2), manual_seed(3).initial_seed())\n"
    code += "from %s._C import *\nprint(default_generator.device)"
    done = subprocess.run(
        [sys.executable, "-c", code % (sys.path, lib_name, lib_name)], capture_output=True, text=True
    )
    assert done.stdout == "tensor([3]) 3\ncpu\n", done.stderr


@pytest.mark.item("M1.02")
def test_flags(torch):
    C = torch._C
    for name in "_has_cuda _has_cudnn _has_mkldnn _has_mps _has_xpu _has_magma has_openmp has_mkl has_lapack has_spectral".split():
        assert type(getattr(C, name)) is bool, name
    for name in "has_openmp has_mkl has_lapack has_spectral".split():
        assert getattr(torch, name) is getattr(C, name)
    if not C._has_cuda:
        assert not torch.cuda.is_available()
    assert C._has_mps is False and C._has_xpu is False


@pytest.mark.item("M1.03")
def test_default_generator(torch):
    state = torch.get_rng_state()
    try:
        assert torch.manual_seed(3) is torch.default_generator
        assert torch._C.default_generator is torch.default_generator
        assert torch.random.default_generator is torch.default_generator
        assert type(torch.default_generator) is torch.Generator
        assert torch.default_generator.initial_seed() == 3
    finally:
        torch.set_rng_state(state)


@pytest.mark.item("M1.74")
def test_variable_functions(torch):
    C = torch._C
    kind = C._VariableFunctionsClass
    assert type(C._VariableFunctions) is kind
    assert isinstance(kind.__dict__["add"], staticmethod)
    for call in (kind, type(C._VariableFunctions)):
        with pytest.raises(TypeError, match="cannot create"):
            call()
    assert torch.tensor is C._VariableFunctions.tensor is kind.tensor
    assert repr(torch.tensor).startswith("<built-in method tensor of type object at 0x")
    assert repr(torch.add).startswith("<built-in method add of type object at 0x")
    assert torch.add.__module__ == torch.__name__ and torch.add.__name__ == "add"
    assert torch.add.__qualname__ == "_VariableFunctionsClass.add"
    for name in ("add", "tensor", "zeros", "matmul", "sum", "max"):
        function = getattr(torch, name)
        for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
            assert pickle.loads(pickle.dumps(function, protocol)) is function, name


@pytest.mark.item("M1.75")
def test_hand_written_functions(torch):
    names = "tensor as_tensor from_numpy frombuffer asarray arange range full randint nonzero numel".split()
    for name in names + ["promote_types", "result_type"]:
        assert callable(getattr(torch, name)), name
        assert hasattr(torch._C._VariableFunctions, name) or name in REPLACED, name


@pytest.mark.item("M1.75")
def test_aliases_of_sparse_functions(torch):
    a, b = torch.ones(2, 3), torch.arange(6.0).reshape(3, 2)
    for name in ("spmm", "dsmm"):
        function = getattr(torch, name)
        assert torch.equal(function(a, b), a @ b)
        assert function.__name__ == name
        with pytest.raises(RuntimeError):
            function(a, a)
        out = torch.empty(2, 2)
        assert function(a, b, out=out) is out
    for name in ("saddmm", "hsmm", "sspaddmm", "hspmm"):
        assert callable(getattr(torch, name)), name


@pytest.mark.item("M1.76")
def test_sub_modules(torch):
    C = torch._C
    for name in ("_nn", "_linalg", "_fft", "_special", "_return_types", "_nested", "_sparse"):
        assert type(getattr(C, name)) is type(sys), name
    assert torch.linalg.vector_norm is C._linalg.linalg_vector_norm
    assert torch.linalg.multi_dot is C._linalg.linalg_multi_dot
    assert torch.special.expit is C._special.special_expit
    assert torch.special.erf is C._special.special_erf
    assert torch.nn.functional.gelu is C._nn.gelu
    assert torch.nn.functional.softplus is C._nn.softplus
    assert C._return_types.max is torch.return_types.max


# --- named results ---


@pytest.mark.item("M1.77")
def test_named_results(torch):
    x = torch.tensor([[1.0, 5.0, 2.0], [7.0, 0.0, 3.0]])
    r = torch.max(x, 0)
    kind = torch.return_types.max
    assert type(r) is kind and isinstance(r, tuple) and issubclass(kind, tuple)
    assert torch.equal(r.values, torch.tensor([7.0, 5.0, 3.0])) and r[1] is r.indices
    values, indices = r
    assert values is r.values and len(r) == 2
    assert repr(r) == ("torch.return_types.max(\nvalues=tensor([7., 5., 3.]),\nindices=tensor([1, 0, 1]))")
    assert r == (values, indices)
    assert kind.__name__ == "max" and str(kind) == "<class '%s.return_types.max'>" % torch.__name__
    out = (torch.empty(3), torch.empty(3, dtype=torch.long))
    assert type(torch.max(x, 0, out=out)) is torch.return_types.max_out
    with pytest.raises(TypeError):
        kind([1])
    with pytest.raises(AttributeError):
        r.values = 1


@pytest.mark.item("M1.77")
def test_named_results_pickle(torch):
    r = torch.sort(torch.tensor([3.0, 1.0, 2.0]))
    again = pickle.loads(pickle.dumps(r))
    assert type(again) is torch.return_types.sort
    assert torch.equal(again.values, r.values) and torch.equal(again.indices, r.indices)
    made = torch.return_types.sort((1, 2))
    assert made.values == 1 and made.indices == 2


RESULTS = {
    "aminmax": ("min", "max"),
    "cummax": ("values", "indices"),
    "cummin": ("values", "indices"),
    "kthvalue": ("values", "indices"),
    "max": ("values", "indices"),
    "median": ("values", "indices"),
    "min": ("values", "indices"),
    "mode": ("values", "indices"),
    "nanmedian": ("values", "indices"),
    "sort": ("values", "indices"),
    "topk": ("values", "indices"),
}


@pytest.mark.item("M1.77")
@pytest.mark.parametrize("name", RESULTS)
def test_fields_of_named_results(torch, name):
    x = torch.tensor([[1.0, 5.0, 2.0], [7.0, 0.0, 3.0]])
    call = getattr(torch, name)
    arguments = {"aminmax": (), "sort": ()}.get(name, (1,))
    r = call(x, *arguments)
    assert type(r) is getattr(torch.return_types, name)
    assert type(getattr(x, name)(*arguments)) is type(r)
    for i, field in enumerate(RESULTS[name]):
        assert getattr(r, field) is r[i]
    twin = getattr(torch.return_types, name + "_out")
    assert twin is not type(r) and issubclass(twin, tuple)


@pytest.mark.item("M1.77")
def test_named_result_of_a_subclass(torch):
    class T(torch.Tensor):
        pass

    r = torch.ones(2, 3).as_subclass(T).max(0)
    assert type(r) is torch.return_types.max
    assert type(r.values) is T and type(r.indices) is T


# --- streams, storages, tensors ---


@pytest.mark.item("M1.70")
def test_stream(torch):
    s = torch.Stream()
    assert type(torch.Stream) is type and isinstance(s, torch.Stream)
    assert (
        s.device == torch.device("cpu") and s.stream_id == 0 and s.device_index == -1 and s.device_type == 0
    )
    assert repr(s) == "torch.Stream device_type=cpu, device_index=-1, stream_id=0"
    assert s == torch.Stream("cpu") and hash(s) == hash(torch.Stream(device="cpu")) and s != 3
    other = torch.Stream(stream_id=1, device_index=0, device_type=1)
    assert other != s and other.stream_id == 1 and other.device_index == 0
    assert other.device == torch.device("cuda:0")
    assert other == torch.Stream(stream_id=1, device_index=0, device_type=1)
    assert s.query() is True and s.synchronize() is None
    with pytest.raises(RuntimeError, match="events"):
        s.record_event()
    for name in ("wait_event", "wait_stream"):
        assert callable(getattr(s, name))


@pytest.mark.item("M1.70")
def test_event(torch):
    e = torch.Event()
    assert isinstance(e, torch.Event) and e.device == torch.device("cpu") and e.event_id == 0
    assert repr(e) == "torch.Event device_type=cpu, device_index=-1, event_flag=0, event_id=0"
    assert "event_flag=1" in repr(torch.Event(enable_timing=True))
    assert torch.Event("cpu").device == torch.device("cpu")
    for name in ("record", "wait", "query", "synchronize", "elapsed_time"):
        assert callable(getattr(e, name))


@pytest.mark.item("M1.71")
def test_storage_base(torch):
    with pytest.raises(RuntimeError, match="subclass it"):
        torch._C.StorageBase()

    class S(torch._C.StorageBase):
        pass

    assert isinstance(S(), torch._C.StorageBase)
    assert S(3).nbytes() == 3
    assert issubclass(torch.UntypedStorage, torch._C.StorageBase)


@pytest.mark.item("M1.72")
def test_tensor_base(torch):
    C = torch._C
    assert issubclass(C._TensorMeta, type) and type(torch.Tensor) is C._TensorMeta
    assert type(C.TensorBase) is C._TensorMeta
    assert C.TensorBase is C._TensorBase and issubclass(torch.Tensor, C.TensorBase)
    with pytest.raises(RuntimeError, match="[Cc]annot directly construct"):
        C.TensorBase()
    with pytest.raises(RuntimeError, match="Cannot subclass"):
        type("Sub", (C.TensorBase,), {})

    class T(torch.Tensor):
        pass

    class U(T):
        pass

    assert type(T) is C._TensorMeta
    assert type(torch.ones(2).as_subclass(U)) is U
    assert isinstance(T([1.0, 2.0]), T)


@pytest.mark.item("M1.73")
def test_instance_checks(torch):
    class T(torch.Tensor):
        pass

    t = torch.ones(2).as_subclass(T)
    assert not isinstance(t, torch.nn.Parameter)
    t._is_param = True
    assert isinstance(t, torch.nn.Parameter)
    t._is_param = False
    assert not isinstance(t, torch.nn.Parameter)
    assert isinstance(torch.nn.Parameter(torch.ones(1)), torch.nn.Parameter)
    for x in (torch.ones(2), t, torch.nn.Parameter(torch.ones(1)), torch.ones(1, requires_grad=True)):
        assert isinstance(x, torch.autograd.Variable)
        assert isinstance(x, torch.Tensor)
    assert not isinstance(3, torch.autograd.Variable)
    assert not isinstance(torch.ones(2), T)


@pytest.mark.item("M1.78")
def test_engine(torch):
    engine = torch.autograd.Variable._execution_engine
    assert isinstance(engine, torch._C._ImperativeEngine)
    assert str(torch._C._ImperativeEngine) == "<class '%s._C._EngineBase'>" % torch.__name__
    for name in ("run_backward", "queue_callback", "is_checkpoint_valid"):
        assert name in dir(engine) and callable(getattr(engine, name))
    assert engine.is_checkpoint_valid() is True
    with pytest.raises(RuntimeError, match="backward pass"):
        engine.queue_callback(lambda: None)


@pytest.mark.item("M1.78")
def test_engine_runs(torch):
    engine = torch.autograd.Variable._execution_engine
    x = torch.ones(2, requires_grad=True)
    y = (x * 3).sum()
    ones = torch.ones(())
    engine.run_backward((y,), (ones,), True, False, (), allow_unreachable=True, accumulate_grad=True)
    assert x.grad.tolist() == [3, 3]
    (grad,) = engine.run_backward(
        (y,), (ones,), False, False, (x,), allow_unreachable=True, accumulate_grad=False
    )
    assert grad.tolist() == [3, 3] and x.grad.tolist() == [3, 3]
    with pytest.raises(RuntimeError):
        engine.run_backward((x * 2,), (), False, False)
    with pytest.raises(RuntimeError):
        engine.run_backward((y,), (None,), False, False)
    order = []

    def hook(grad):
        engine.queue_callback(lambda: order.append("callback"))
        order.append("hook")

    y = x * 3
    y.register_hook(hook)
    y.sum().backward()
    assert order == ["hook", "callback"]


@pytest.mark.item("M1.79")
def test_autograd_bases(torch):
    C = torch._C
    assert issubclass(torch.autograd.Function, C._FunctionBase)
    assert issubclass(torch.autograd.Variable, C._LegacyVariableBase)
    assert type(C._functions) is type(sys) and type(C._autograd) is type(sys)
    with pytest.raises(RuntimeError, match="forbidden"):
        C._autograd.SavedTensor()


@pytest.mark.item("M1.79")
def test_variable_makes_tensors(torch):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        x = torch.ones(2)
        v = torch.autograd.Variable(x, requires_grad=True)
    assert type(v) is torch.Tensor and v.requires_grad and v is not x
    assert v.data_ptr() == x.data_ptr()
    assert not x.requires_grad


# --- helpers ---


@pytest.mark.item("M1.80")
def test_dispatch_keys(torch):
    C = torch._C
    K = C.DispatchKey
    x = torch.ones(2, 3)
    keys = C._dispatch_keys(x)
    assert type(keys) is C.DispatchKeySet
    assert keys.has(K.CPU) and keys.has(K.AutogradCPU) and not keys.has(K.Conjugate) and not keys.has(K.Meta)
    assert repr(keys).startswith("DispatchKeySet(CPU")
    assert keys.highestPriorityTypeId() in (K.AutocastCPU, K.AutogradCPU)
    z = torch.ones(1, dtype=torch.complex64).conj()
    assert C._dispatch_keys(z).has(K.Conjugate) and not C._dispatch_keys(z).has(K.Negative)
    assert C._dispatch_keys(z.imag).has(K.Negative)
    assert C._dispatch_keys(torch.ones(1, device="meta")).has(K.Meta)
    assert not C._dispatch_keys(torch.ones(1, device="meta")).has(K.CPU)
    assert C._dispatch_key_name(K.CPU) == "CPU" and C._dispatch_key_parse("CPU") == K.CPU
    assert K.CPU.name == "CPU" and repr(K.CPU).startswith("<DispatchKey.CPU: ")
    assert K.CPU != K.Meta and len({K.CPU, K.Meta, K.CPU}) == 2
    with pytest.raises(RuntimeError, match="nope"):
        C._dispatch_key_parse("nope")
    for ask in (C._dispatch_tls_local_include_set, C._dispatch_tls_local_exclude_set):
        assert type(ask()) is C.DispatchKeySet
    assert C.DispatchKeySet(K.CPU).has(K.CPU) and not C.DispatchKeySet(K.CPU).has(K.Meta)
    both = C.DispatchKeySet(K.CPU) | C.DispatchKeySet(K.Conjugate)
    assert both.has(K.CPU) and both.has(K.Conjugate)
    assert (both & C.DispatchKeySet(K.CPU)) == C.DispatchKeySet(K.CPU)
    assert not both.remove(K.CPU).has(K.CPU)


@pytest.mark.item("M1.80")
def test_memory_questions(torch):
    C = torch._C
    x = torch.arange(6.0).reshape(2, 3)
    assert C._is_alias_of(x, x[0]) is True and C._is_alias_of(x, x.clone()) is False
    assert C._is_alias_of(x[0], x[1]) is True
    assert C._overlaps(x, x[0]) is True and C._overlaps(x, x.clone()) is False
    assert C._has_storage(x) is True
    assert C._storage_address(x) == x.untyped_storage()._cdata
    assert C._data_address(x) == C._data_address(x[1]) == x.data_ptr()
    alone = torch.ones(3)
    storage = alone.untyped_storage()
    count = C._storage_Use_Count(storage._cdata)
    view = alone[1:]
    assert C._storage_Use_Count(storage._cdata) == count + 1
    del view
    assert C._storage_Use_Count(storage._cdata) == count


@pytest.mark.item("M1.80")
def test_internal_overlap(torch):
    ask, x = torch._debug_has_internal_overlap, torch.ones(2, 3)
    assert ask(x) == ask(x.t()) == ask(x[1]) == 0
    assert ask(x[:1].expand(2, 3)) == ask(torch.ones(()).expand(4)) == 1
    assert ask(x.as_strided((2, 2), (1, 1))) == ask(x[:, ::2]) == 2
    assert ask(torch.ones(1, 3)) == ask(torch.ones(0, 3)) == ask(torch.ones(())) == 0


@pytest.mark.item("M1.80")
def test_weak_reference(torch):
    x = torch.ones(2)
    ref = torch._C._WeakTensorRef(x)
    assert ref.expired() is False
    del x
    gc.collect()
    assert ref.expired() is True
    a = torch.ones(2, requires_grad=True)
    b = a * 2
    ref = torch._C._WeakTensorRef(b)
    c = b * b
    del b
    assert ref.expired() is False
    del c
    assert ref.expired() is True


@pytest.mark.item("M1.80")
@pytest.mark.minitorch_only(reason="PyTorch crashes")
def test_weak_reference_to_something_else(torch):
    with pytest.raises(TypeError):
        torch._C._WeakTensorRef(3)


@pytest.mark.item("M1.80")
def test_graph_questions(torch):
    C = torch._C
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    z = y * 3
    assert C._current_autograd_node() is None and C._current_graph_task_id() == -1
    with pytest.raises(RuntimeError, match="during the backward pass"):
        C._will_engine_execute_node(y.grad_fn)
    seen = []

    def hook(grad):
        seen.append(C._current_graph_task_id())
        seen.append(C._will_engine_execute_node(x.grad_fn or y.grad_fn))
        seen.append(C._will_engine_execute_node(other.grad_fn))
        seen.append(C._current_autograd_node())

    other = x * 5
    z.register_hook(hook)
    z.sum().backward()
    assert seen[0] >= 0 and seen[1] is True and seen[2] is False
    assert seen[3] is z.grad_fn


@pytest.mark.item("M1.81")
def test_docstrings(torch):
    documented = (
        "add sub mul zeros ones tensor arange sum max sort cat where matmul exp softmax allclose".split()
    )
    for name in documented:
        doc = getattr(torch, name).__doc__
        assert doc.lstrip().startswith(name + "("), name
    for name in "add sum view reshape to item expand permute".split():
        doc = getattr(torch.Tensor, name).__doc__
        assert doc.lstrip().startswith(name + "("), name
    assert torch.relu.__doc__ is None or torch.relu.__doc__.lstrip().startswith("relu(")
    with pytest.raises(RuntimeError, match="already has a docstring"):
        torch._C._add_docstr(torch.add, "again")
