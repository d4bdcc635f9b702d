# SPDX-License-Identifier: BSD-3-Clause
"""Exception classes, what C errors become, torch._check and its kin, warnings from C."""

import pickle
import subprocess
import sys
import warnings

import pytest


class Private(Exception):
    pass


# --- classes ---


@pytest.mark.item("M1.20")
def test_classes(torch):
    C = torch._C
    assert C.FatalError.__bases__ == (Exception,)
    assert not issubclass(C.FatalError, RuntimeError)
    for name in ("_LinAlgError", "OutOfMemoryError", "AcceleratorError"):
        assert issubclass(getattr(C, name), RuntimeError), name
    assert torch.linalg.LinAlgError is C._LinAlgError
    assert torch.OutOfMemoryError is C.OutOfMemoryError
    assert torch.cuda.OutOfMemoryError is C.OutOfMemoryError
    assert torch.AcceleratorError is C.AcceleratorError


@pytest.mark.item("M1.20")
def test_classes_have_names_that_pickle(torch):
    for kind in (torch._C._LinAlgError, torch.OutOfMemoryError, torch.AcceleratorError, torch._C.FatalError):
        again = pickle.loads(pickle.dumps(kind("words")))
        assert type(again) is kind and again.args == ("words",)
    assert str(torch.OutOfMemoryError) == "<class '%s.OutOfMemoryError'>" % torch.__name__


# --- C errors ---


@pytest.mark.item("M1.21")
def test_kinds_of_c_errors(torch):
    x = torch.ones(2, 3)
    with pytest.raises(RuntimeError):
        x.view(5)
    with pytest.raises(IndexError):
        x[2]
    with pytest.raises(IndexError):
        x.sum(7)
    with pytest.raises(TypeError):
        torch.add(x, "a")
    with pytest.raises(ValueError):
        int(x)
    with pytest.raises(NotImplementedError):
        torch.ones(2, device="meta").tolist()


@pytest.mark.item("M1.21")
@pytest.mark.parametrize("n", [2**50, 2**58])
def test_allocation_failure_says_memory(torch, n):
    with pytest.raises(RuntimeError, match="memory") as info:
        torch.empty(n, dtype=torch.uint8)
    assert not isinstance(info.value, torch.OutOfMemoryError)


@pytest.mark.item("M1.21")
def test_exception_crosses_backward_unchanged(torch):
    error = Private("from a hook")

    def hook(grad):
        raise error

    x = torch.ones(2, requires_grad=True)
    y = x * 2
    y.register_hook(hook)
    with pytest.raises(Private) as info:
        y.sum().backward()
    assert info.value is error
    assert "hook" in [entry.name for entry in info.traceback]


@pytest.mark.item("M1.21")
def test_exception_crosses_a_custom_function_unchanged(torch):
    error = Private("backward")

    class F(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            raise error

    class G(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            raise error

        @staticmethod
        def backward(ctx, grad):
            return grad

    x = torch.ones(2, requires_grad=True)
    with pytest.raises(Private) as info:
        F.apply(x).sum().backward()
    assert info.value is error
    with pytest.raises(Private) as info:
        G.apply(x)
    assert info.value is error


@pytest.mark.item("M1.21")
def test_exception_of_an_element_function_crosses_unchanged(torch):
    error = Private("element")

    def fail(*values):
        raise error

    for call in (
        lambda: torch.ones(3).apply_(fail),
        lambda: torch.ones(3).map_(torch.ones(3), fail),
        lambda: torch.Size(fail() for _ in range(3)),
    ):
        with pytest.raises(Private) as info:
            call()
        assert info.value is error


@pytest.mark.item("M1.21")
def test_exception_of_an_override_crosses_unchanged(torch):
    error = Private("override")

    class T(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            raise error

    with pytest.raises(Private) as info:
        torch.add(torch.ones(2).as_subclass(T), 1)
    assert info.value is error


# --- torch._check ---

CHECKS = {
    "_check": RuntimeError,
    "_check_index": IndexError,
    "_check_value": ValueError,
    "_check_type": TypeError,
    "_check_not_implemented": NotImplementedError,
}


@pytest.mark.item("M1.22")
@pytest.mark.parametrize("name", CHECKS)
def test_check(torch, name):
    check, kind = getattr(torch, name), CHECKS[name]
    calls = []

    def message():
        calls.append(1)
        return "the reason"

    assert check(True) is None
    assert check(True, message) is None
    assert not calls
    with pytest.raises(kind, match="the reason"):
        check(False, message)
    assert calls == [1]
    with pytest.raises(kind, match="Expected cond to be True"):
        check(False)
    for bad in (1, None, "yes", torch.tensor(True)):
        with pytest.raises(TypeError, match="cond must be a bool"):
            check(bad)
    with pytest.raises(TypeError, match="message must be a callable"):
        check(False, "not callable")


@pytest.mark.item("M1.22")
@pytest.mark.filterwarnings("ignore:_check_is_size:FutureWarning")
def test_check_with_and_is_size(torch):
    with pytest.raises(Private, match="m"):
        torch._check_with(Private, False, lambda: "m")
    assert torch._check_with(Private, True, lambda: "m") is None
    assert torch._check_is_size(3) is None
    assert torch._check_is_size(0, max=0) is None
    with pytest.raises(RuntimeError):
        torch._check_is_size(-1)


@pytest.mark.item("M1.22")
def test_check_tensor_all(torch):
    assert torch._check_tensor_all(torch.tensor([True, True])) is None
    assert torch._check_tensor_all(torch.tensor([], dtype=torch.bool)) is None
    with pytest.raises(RuntimeError, match="why"):
        torch._check_tensor_all(torch.tensor([True, False]), lambda: "why")
    with pytest.raises(TypeError):
        torch._check_tensor_all(True)
    with pytest.raises(TypeError):
        torch._check_tensor_all(torch.tensor([1, 2]))
    with pytest.raises(Private):
        torch._check_tensor_all_with(Private, torch.tensor(False))


@pytest.mark.item("M1.22")
def test_assert(torch):
    assert torch._assert(True, "fine") is None
    with pytest.raises(AssertionError, match="not fine"):
        torch._assert(False, "not fine")
    with pytest.raises(AssertionError):
        torch._assert(torch.tensor(False), "not fine")


# --- warnings ---


@pytest.mark.item("M1.23")
def test_a_warning_is_at_the_line_of_the_user(torch):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        torch.add(torch.ones(3), 1, out=torch.empty(2))
    assert [w.category for w in caught] == [UserWarning]
    assert caught[0].filename == __file__
    assert "resized" in str(caught[0].message)


@pytest.mark.item("M1.23")
def test_a_resized_out_warns_every_time(torch):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(3):
            torch.add(torch.ones(3), 1, out=torch.empty(2))
    assert len(caught) == 3


@pytest.mark.item("M1.23")
def test_a_warning_made_an_error_comes_from_the_call(torch):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="resized"):
            torch.add(torch.ones(3), 1, out=torch.empty(2))


ONCE = """
import sys, importlib, warnings
torch = importlib.import_module(sys.argv[1])

def count(call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(3):
            call()
    return len(caught)

x = torch.ones(2)
call = lambda: torch.add(x, 2, x)
assert not torch.is_warn_always_enabled()
print(count(call), count(call))
torch.set_warn_always(True)
assert torch.is_warn_always_enabled()
print(count(call))
torch.set_warn_always(False)
print(count(call))
"""


@pytest.mark.item("M1.23")
def test_a_deprecation_warns_once_unless_told_otherwise(torch, lib_name):
    done = subprocess.run(
        [sys.executable, "-c", "import sys; sys.path[:0] = %r\n%s" % (sys.path, ONCE), lib_name],
        capture_output=True,
        text=True,
    )
    assert done.stdout.split() == ["1", "0", "3", "0"], done.stderr


@pytest.mark.item("M1.23")
def test_set_warn_always_round_trip(torch):
    before = torch.is_warn_always_enabled()
    try:
        torch.set_warn_always(True)
        assert torch.is_warn_always_enabled() is True
        torch.set_warn_always(False)
        assert torch.is_warn_always_enabled() is False
    finally:
        torch.set_warn_always(before)
    with pytest.raises(RuntimeError, match="expects a bool"):
        torch.set_warn_always(1)


@pytest.mark.item("M1.24")
def test_cheap_functions(torch):
    C = torch._C
    before = C._get_warnAlways()
    assert before is False or before is True
    C._set_warnAlways(True)
    assert C._get_warnAlways() is True
    C._set_warnAlways(before)
    assert C._log_api_usage_once("a test") is None
    assert isinstance(C._get_cpp_backtrace(0, 1), str)
