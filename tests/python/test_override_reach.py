"""Calls that are easily forgotten by the override protocol."""

import importlib
import inspect

import pytest


@pytest.fixture
def recorder(torch):
    """A subclass that answers every call with -1 and keeps (func, args) in `calls`."""

    class Recorder(torch.Tensor):
        calls = []

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            cls.calls.append((func, args))
            return -1

    return Recorder


class Duck:
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return ("duck", func, args)


@pytest.fixture
def mode(torch):
    class Mode(torch.overrides.TorchFunctionMode):
        def __init__(self):
            self.calls = []

        def __torch_function__(self, func, types, args=(), kwargs=None):
            self.calls.append(func)
            return func(*args, **(kwargs or {}))

    return Mode()


@pytest.mark.parametrize("name", ["_is_view", "is_distributed", "is_set_to", "is_same_size"])
def test_questions_of_methods(torch, recorder, name):
    x = recorder(torch.ones(2))
    arguments = (x,) if name in ("is_set_to", "is_same_size") else ()
    assert getattr(x, name)(*arguments) == -1
    assert recorder.calls[-1][0] == getattr(torch.Tensor, name)


def test_question_about_another_tensor(torch, recorder):
    x, y = torch.ones(2), recorder(torch.ones(2))
    assert x.is_set_to(y) == -1 and x.is_same_size(y) == -1


@pytest.mark.minitorch_only(reason="PyTorch has no such methods")
def test_methods_of_our_own(torch, recorder):
    x = recorder(torch.ones(2))
    assert x.__array_namespace__() == -1 and x.to_device("cpu") == -1 and x.__bytes__() == -1


def test_conversions_of_python(torch):
    class Answers(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            name = func.__name__
            return {"__complex__": 2 + 1j, "__int__": 3, "__float__": 4.5, "__index__": 1, "__bool__": False}[
                name
            ]

    x = Answers(torch.ones(1))
    assert (complex(x), int(x), float(x), [5, 6][x], bool(x)) == (2 + 1j, 3, 4.5, 6, False)


@pytest.mark.parametrize(
    "name", ["sym_int", "sym_float", "sym_not", "sym_max", "sym_min", "sym_ite", "sym_sum"]
)
def test_functions_of_numbers(torch, name):
    function, count = getattr(torch, name), {"sym_max": 2, "sym_min": 2, "sym_ite": 3}.get(name, 1)
    args = ([Duck()],) if name == "sym_sum" else tuple([Duck() for _ in range(count)])
    assert function(*args) == ("duck", function, args)
    assert torch.sym_int(2.5) == 2 and torch.sym_max(1, 2.5) == 2.5 and torch.sym_sum([1, 2]) == 3


def test_names_out_of_scope(torch, recorder, mode):
    x = recorder(torch.ones(2))
    assert x.to_sparse() == -1 and x.int_repr() == -1
    assert recorder.calls[-1][0] == torch.Tensor.int_repr

    class Minus(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            return func.__name__

    with Minus():
        assert torch.sparse_coo_tensor(1, 1, 1) == "sparse_coo_tensor"


def test_einsum_leaves_the_equation_to_who_overrides(torch):
    equation, operands = Duck(), (Duck(), Duck())
    assert torch.einsum(equation, *operands) == ("duck", torch.einsum, (equation, *operands))


def test_out_dtype_of_products(torch):
    square = torch.ones(2, 2)
    batch = square.unsqueeze(0)
    for name, args in (
        ("mm", (square, square)),
        ("bmm", (batch, batch)),
        ("addmm", (square, square, square)),
        ("baddbmm", (batch, batch, batch)),
    ):
        function, duck = getattr(torch, name), Duck()
        assert function(duck, *args[1:], torch.float64) == (
            "duck",
            function,
            (duck, *args[1:], torch.float64),
        )
        with pytest.raises(NotImplementedError):
            function(*args, torch.float64)
        with pytest.raises(TypeError):
            function(*args, 3)


# --- operators of two classes ---

REFLECTED = "add sub mul truediv pow floordiv mod and or xor lshift rshift matmul"


@pytest.mark.parametrize("name", [n for n in REFLECTED.split()])
def test_reflected_operator_of_the_right_class(torch, name):
    import operator

    class Declines(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return NotImplemented

    class Reflected(torch.Tensor):
        calls = []

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            cls.calls.append((func, [type(a) for a in args]))
            return -1 if len(cls.calls) > 1 else NotImplemented

    function = getattr(operator, name if name not in ("and", "or") else name + "_")
    assert function(Declines(torch.ones(1).long()), Reflected(torch.ones(1).long())) == -1
    assert [kinds for _, kinds in Reflected.calls] == [[Declines, Reflected], [Reflected, Declines]]
    with pytest.raises(TypeError, match="unsupported operand type"):
        function(Declines(torch.ones(1).long()), Declines(torch.ones(1).long()))


def test_reflected_method_written_in_python(torch):
    asked = []

    class Declines(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            asked.append(cls.__name__)
            return NotImplemented

    class Own(Declines):
        def __rpow__(self, other):
            return "own"

    class Other(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            asked.append(cls.__name__)
            return NotImplemented

    assert Other(torch.ones(1)) ** Own(torch.ones(1)) == "own"
    assert asked == ["Other", "Own"]


# --- modes ---


def test_device_under_a_mode(torch, mode):
    with mode:
        device = torch.device("cpu", 0)
    assert device == torch.device("cpu:0") and mode.calls == [torch.device]


def test_parse_to_under_a_mode(torch, mode):
    with mode:
        parsed = torch._C._nn._parse_to("cpu", torch.float64)
    assert parsed[:3] == (torch.device("cpu"), torch.float64, False)
    assert mode.calls[0] == torch._C._nn._parse_to


def test_class_method_of_a_mode(torch):
    class Mode(torch.overrides.TorchFunctionMode):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            raise AssertionError

    x = torch.ones(1)
    with pytest.raises(RuntimeError, match="classmethod is not supported, please make it a plain method"):
        with Mode():
            x + x
    assert torch._C._len_torch_function_stack() == 0 and (x + x).item() == 2


def test_enabling_guard(torch):
    class Sub(torch.Tensor):
        pass

    x = Sub(torch.ones(2))
    with torch._C.DisableTorchFunctionSubclass():
        guard = torch._C._EnableTorchFunction()
        assert type(x.sum()) is Sub
        del guard
        assert type(x.sum()) is torch.Tensor
    assert type(x.sum()) is Sub


# --- stand-ins ---


def test_stand_ins_take_every_overload(torch):
    table = torch.overrides.get_testing_overrides()
    for function, arguments, keywords in (
        (torch.max, (1, 0), {}),
        (torch.max, (1,), {}),
        (torch.mean, (1, 0), {}),
        (torch.div, (1, 2), {"rounding_mode": None}),
        (torch.sort, (1,), {"stable": True}),
        (torch.where, (1, 2, 3), {}),
        (torch.where, (1,), {}),
        (torch.trapezoid, (1,), {}),
        (torch.add, (1, 2), {"out": None}),
        (torch.Tensor.random_, (1,), {}),
        (torch.Tensor.bernoulli_, (1,), {}),
        (torch.Tensor.histogram, (1,), {}),
        (torch.Tensor.__rand__, (1, 2), {}),
        (torch.Tensor.__complex__, (1,), {}),
        (torch.segment_reduce, (1, "max"), {}),
    ):
        assert table[function](*arguments, **keywords) == -1, function
    with pytest.raises(TypeError):
        table[torch.max]()
    assert list(inspect.signature(table[torch.add]).parameters)[:2] == ["input", "other"]


def test_names_of_modules(torch):
    assert torch.linalg.inv.__module__.endswith("torch._C._linalg")
    assert torch._C._nn.__name__.endswith("torch._C._nn")
    assert set(torch.functional.__all__) >= {"einsum", "cdist", "stft"}
    assert "nonzero" not in torch.functional.__all__ and callable(torch.functional.cdist)
    assert torch.overrides.resolve_name(torch.cdist) == "torch.functional.cdist"


@pytest.mark.minitorch_only(reason="PyTorch's numerical derivatives of such inputs are wrong")
@pytest.mark.parametrize("fast", [True, False])
def test_gradcheck_of_what_is_no_tensor(torch, fast):
    """A wrapper that unwraps, calls and wraps."""

    class Wrapper:
        def __init__(self, data):
            self.inner = data

        def __getattr__(self, name):
            value = getattr(self.inner, name)
            if not callable(value) or isinstance(value, torch.device):
                return wrap(value)
            return lambda *args, **kwargs: wrap(getattr(self.inner, name)(*unwrap(args), **kwargs))

        def __getitem__(self, key):
            return wrap(self.inner[unwrap(key)])

        def __bool__(self):
            return bool(self.inner)

        def __setitem__(self, key, value):
            self.inner[unwrap(key)] = unwrap(value)

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return wrap(func(*unwrap(args), **{k: unwrap(v) for k, v in (kwargs or {}).items()}))

    for name in "add sub mul truediv gt".split():
        method = "__%s__" % name
        setattr(Wrapper, method, lambda self, other, m=method: wrap(getattr(self.inner, m)(unwrap(other))))

    def wrap(value):
        if type(value) in (tuple, list):
            return type(value)(map(wrap, value))
        return Wrapper(value) if isinstance(value, torch.Tensor) else value

    def unwrap(value):
        if type(value) in (tuple, list):
            return type(value)(map(unwrap, value))
        return value.inner if isinstance(value, Wrapper) else value

    check = importlib.import_module(torch.__name__ + ".autograd.gradcheck").gradcheck
    x, y = [Wrapper(torch.tensor(v, dtype=torch.float64).requires_grad_()) for v in (5.0, 6.0)]
    assert check(torch.mul, (x, y), fast_mode=fast)
    assert not check(lambda a, b: torch.mul(a.detach(), b), (x, y), fast_mode=fast, raise_exception=False)
