# SPDX-License-Identifier: BSD-3-Clause
"""Questions and switches of the package: threads, determinism, anomaly mode, autocast state, plain-number helpers."""

import math
import subprocess
import sys

import pytest


# --- questions about tensors ---


@pytest.mark.item("M1.75")
def test_questions_about_a_tensor(torch):
    x = torch.ones(2)
    z = torch.ones(2, dtype=torch.complex64)
    assert torch.is_conj(z.conj()) is True and torch.is_conj(z) is False and torch.is_conj(x) is False
    assert torch.is_neg(z.conj().imag) is True and torch.is_neg(x) is False
    assert torch.is_signed(x) is True and torch.is_signed(x.to(torch.uint8)) is False
    assert torch.is_signed(torch.ones(1, dtype=torch.bool)) is False
    assert torch.is_inference(x) is False
    with torch.inference_mode():
        y = torch.ones(1)
    assert torch.is_inference(y) is y.is_inference() is True
    assert torch.get_device(x) == x.get_device() == -1
    for name in ("is_conj", "is_neg", "is_signed", "is_inference", "get_device"):
        ask = getattr(torch, name)
        ask(input=x)
        for bad in (3, None, "x", [1]):
            with pytest.raises(TypeError, match=name + ".*input.*must be Tensor"):
                ask(bad)
        with pytest.raises(TypeError, match='missing 1 required positional arguments: "input"'):
            ask()
        with pytest.raises(TypeError):
            ask(x, x)


@pytest.mark.item("M1.75")
def test_questions_go_to_overrides(torch):
    class T(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func

    t = torch.ones(2).as_subclass(T)
    for name in ("is_conj", "is_neg", "is_signed", "is_inference", "is_floating_point", "is_complex"):
        function = getattr(torch, name)
        assert function(t) is function


# --- threads ---


@pytest.mark.item("M1.02")
def test_threads(torch):
    n = torch.get_num_threads()
    assert type(n) is int and n >= 1
    torch.set_num_threads(1)
    assert torch.get_num_threads() == 1
    torch.set_num_threads(n)
    for function in (torch.set_num_threads, torch.set_num_interop_threads):
        for bad in (0, -1):
            with pytest.raises(RuntimeError, match="positive"):
                function(bad)
        for bad in ("a", 1.5, None):
            with pytest.raises((RuntimeError, TypeError), match="expects an int"):
                function(bad)
    assert type(torch.get_num_interop_threads()) is int and torch.get_num_interop_threads() >= 1
    assert torch.init_num_threads() is None
    assert torch.compiled_with_cxx11_abi() is True


@pytest.mark.item("M1.02")
def test_interop_threads_are_set_once(torch, lib_name):
    code = """import sys; sys.path[:0] = %r
import %s as torch
torch.set_num_interop_threads(3)
print(torch.get_num_interop_threads())
try:
    torch.set_num_interop_threads(2)
except RuntimeError as e:
    print("interop" in str(e))
"""
    done = subprocess.run([sys.executable, "-c", code % (sys.path, lib_name)], capture_output=True, text=True)
    assert done.stdout.split() == ["3", "True"], done.stderr


@pytest.mark.item("M1.02")
def test_flush_denormal(torch):
    tiny = torch.tensor([1e-310], dtype=torch.float64)
    try:
        if not torch.set_flush_denormal(True):
            pytest.skip("this processor keeps denormals")
        assert (tiny * 1).item() == 0.0
        assert torch.set_flush_denormal(False) is True
        assert (tiny * 1).item() == 1e-310
    finally:
        torch.set_flush_denormal(False)
    with pytest.raises(RuntimeError, match="expects a bool"):
        torch.set_flush_denormal(1)


# --- determinism, anomaly ---


@pytest.fixture
def keep_determinism(torch):
    yield
    torch.use_deterministic_algorithms(False)


@pytest.mark.item("M1.02")
def test_deterministic_debug_mode(torch, keep_determinism):
    assert torch.get_deterministic_debug_mode() == 0
    for given, read in (("warn", 1), (2, 2), ("default", 0), (1, 1), ("error", 2), (0, 0)):
        assert torch.set_deterministic_debug_mode(given) is None
        assert torch.get_deterministic_debug_mode() == read
        assert torch.are_deterministic_algorithms_enabled() is (read > 0)
        assert torch.is_deterministic_algorithms_warn_only_enabled() is (read == 1)
    torch.use_deterministic_algorithms(True)
    assert torch.get_deterministic_debug_mode() == 2
    torch.use_deterministic_algorithms(True, warn_only=True)
    assert torch.get_deterministic_debug_mode() == 1
    for bad in ("other", 7, -1):
        with pytest.raises(RuntimeError, match="invalid value of debug_mode"):
            torch.set_deterministic_debug_mode(bad)
    with pytest.raises(TypeError, match="must be str or int"):
        torch.set_deterministic_debug_mode(1.5)


@pytest.mark.item("M1.02")
def test_anomaly_flags(torch):
    assert torch.is_anomaly_enabled() is False and torch.is_anomaly_check_nan_enabled() is True
    try:
        torch.set_anomaly_enabled(True, False)
        assert torch.is_anomaly_enabled() is True and torch.is_anomaly_check_nan_enabled() is False
        torch.set_anomaly_enabled(True)
        assert torch.is_anomaly_check_nan_enabled() is True
    finally:
        torch.set_anomaly_enabled(False)
    assert torch.is_anomaly_enabled() is False
    with pytest.raises(TypeError, match="must be bool"):
        torch.set_anomaly_enabled(1)


# --- the state of autocast ---


@pytest.mark.item("M1.02")
def test_autocast_state(torch):
    assert torch.is_autocast_enabled() is torch.is_autocast_enabled("cuda") is False
    assert torch.is_autocast_cpu_enabled() is torch.is_autocast_enabled("cpu") is False
    try:
        torch.set_autocast_enabled(True)
        assert torch.is_autocast_enabled() is torch.is_autocast_enabled("cuda") is True
        assert torch.is_autocast_enabled("cpu") is False
        torch.set_autocast_enabled(False)
        torch.set_autocast_enabled("cpu", True)
        assert torch.is_autocast_cpu_enabled() is True and torch.is_autocast_enabled() is False
        torch.set_autocast_cpu_enabled(False)
        assert torch.is_autocast_enabled("cpu") is False
    finally:
        torch.set_autocast_enabled("cpu", False)
        torch.set_autocast_enabled("cuda", False)
    for call in (lambda: torch.set_autocast_enabled("cpu", 1), lambda: torch.set_autocast_enabled(1)):
        with pytest.raises(TypeError, match="enabled.*bool"):
            call()


@pytest.mark.item("M1.02")
def test_autocast_dtypes(torch):
    assert torch.get_autocast_dtype("cpu") is torch.get_autocast_cpu_dtype() is torch.bfloat16
    assert torch.get_autocast_dtype("cuda") is torch.get_autocast_gpu_dtype() is torch.float16
    try:
        torch.set_autocast_dtype("cpu", torch.float16)
        assert torch.get_autocast_cpu_dtype() is torch.float16
        torch.set_autocast_cpu_dtype(torch.bfloat16)
        assert torch.get_autocast_dtype("cpu") is torch.bfloat16
        torch.set_autocast_gpu_dtype(torch.bfloat16)
        assert torch.get_autocast_dtype("cuda") is torch.bfloat16
    finally:
        torch.set_autocast_dtype("cuda", torch.float16)
        torch.set_autocast_dtype("cpu", torch.bfloat16)
    with pytest.raises(RuntimeError):
        torch.get_autocast_dtype("nope")
    with pytest.raises(RuntimeError):
        torch.get_autocast_dtype("meta")
    with pytest.raises(TypeError, match="dtype"):
        torch.set_autocast_dtype("cpu", 1)
    with pytest.raises(TypeError, match="dtype"):
        torch.set_autocast_cpu_dtype(3)


@pytest.mark.item("M1.02")
def test_autocast_cache_and_nesting(torch):
    assert torch.is_autocast_cache_enabled() is True
    torch.set_autocast_cache_enabled(False)
    assert torch.is_autocast_cache_enabled() is False
    torch.set_autocast_cache_enabled(True)
    with pytest.raises(TypeError, match="enabled must be a bool"):
        torch.set_autocast_cache_enabled(1)
    assert torch.autocast_increment_nesting() == 1 and torch.autocast_increment_nesting() == 2
    assert torch.autocast_decrement_nesting() == 1 and torch.autocast_decrement_nesting() == 0
    assert torch.clear_autocast_cache() is None


# --- plain numbers ---


@pytest.mark.item("M1.75")
def test_sym_functions_on_numbers(torch):
    assert torch.sym_int(2.7) == 2 and torch.sym_int(-2.7) == -2 and torch.sym_int(5) == 5
    assert type(torch.sym_float(3)) is float and torch.sym_float(2.5) == 2.5
    assert torch.sym_not(True) is False and torch.sym_not(0) is True
    assert torch.sym_max(1, 2) == 2 and type(torch.sym_max(1, 2)) is int
    assert torch.sym_max(3, 2.0) == 3.0 and type(torch.sym_max(3, 2.0)) is float
    assert torch.sym_min(1.0, 2) == 1.0 and type(torch.sym_min(1.0, 2)) is float
    assert torch.sym_ite(True, 1, 2) == 1 and torch.sym_ite(False, 1, 2) == 2
    assert torch.sym_sum([1, 2, 3]) == 6 and torch.sym_sum([]) == 0
    assert math.isclose(torch.sym_sqrt(2), math.sqrt(2))
    with pytest.raises(OverflowError):
        torch.sym_int(float("inf"))
    for call in (
        lambda: torch.sym_max("a", 1),
        lambda: torch.sym_min(1, None),
        lambda: torch.sym_ite(1, 1, 2),
        lambda: torch.sym_ite(True, 1, 2.0),
    ):
        with pytest.raises(AssertionError):
            call()


# --- default tensor type, modules of devices ---


@pytest.mark.item("M1.75")
def test_default_tensor_type(torch):
    try:
        for given, d in ((torch.DoubleTensor, torch.float64), ("torch.FloatTensor", torch.float32)):
            torch.set_default_tensor_type(given)
            assert torch.get_default_dtype() is d and torch.zeros(1).dtype is d
        torch.set_default_tensor_type("torch.HalfTensor")
        assert torch.get_default_dtype() is torch.float16
    finally:
        torch.set_default_dtype(torch.float32)
    for bad in (torch.IntTensor, 3, torch.float64):
        with pytest.raises(TypeError, match="only floating-point types"):
            torch.set_default_tensor_type(bad)
    with pytest.raises(AttributeError, match="Nope"):
        torch.set_default_tensor_type("torch.Nope")
    assert torch.get_default_dtype() is torch.float32


@pytest.mark.item("M1.75")
def test_device_module(torch):
    for given in ("cpu", torch.device("cpu"), "cpu:0"):
        assert torch.get_device_module(given) is torch.cpu
    assert torch.get_device_module("cuda") is torch.cuda
    if not torch.cuda.is_available():
        assert torch.get_device_module() is torch.cpu
    with pytest.raises(RuntimeError, match="nope"):
        torch.get_device_module("nope")
    assert torch.cpu.is_available() is True and torch.cpu.device_count() == 1
    assert torch.cpu.current_device() == "cpu" and torch.cpu.synchronize() is None
    assert callable(torch.cpu.stream) and torch.cpu.current_stream() is not None


@pytest.mark.item("M1.18")
def test_thread_safe_generator(torch):
    assert torch.thread_safe_generator() is None


@pytest.mark.item("M1.75")
def test_typename(torch):
    assert torch.typename(torch.ones(1)) == "torch.FloatTensor"
    assert torch.typename(torch.nn.Parameter(torch.ones(1))) == "torch.FloatTensor"
    assert torch.typename(3) == "int" and torch.typename("x") == "str"
    assert torch.typename(torch.nn.Linear) == torch.__name__ + ".nn.modules.linear.Linear"
