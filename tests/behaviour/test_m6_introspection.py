"""What can be overridden, as `torch.overrides` tells it; wrap_torch_function; foreach; the cost where nothing overrides."""

import gzip
import importlib
import inspect
import json
import os
import subprocess
import sys
import warnings

import pytest

from override_kinds import Log, duck, mode, subclass

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, TESTS)
import override_lists  # noqa: E402


@pytest.fixture(scope="module")
def recorded():
    with gzip.open(os.path.join(TESTS, "data", "overrides.json.gz")) as f:
        return json.load(f)


@pytest.fixture(scope="module")
def own(torch):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return override_lists.lists(torch)


def in_scope(torch, recorded, path):
    """Names that a namespace has on both sides, but for those that only say that their subject is out of scope.  The lists speak of
    public functions and of members of Tensor."""
    names = {name for name, _ in override_lists.members(torch, path)} & set(recorded["members"][path])
    if path == "Tensor":
        names -= {name for name in dir(object) if getattr(object, name) is getattr(torch.Tensor, name)}
    else:
        names = {name for name in names if not name.startswith("_")}
    if torch.__name__ == "torch":
        return names
    from minitorch import _out_of_scope

    table = _out_of_scope.METHODS if path == "Tensor" else _out_of_scope.FUNCTIONS
    return names - {name for group in table.values() for name in group.split()}


@pytest.mark.item("M6.70", "M6.71", "M6.72")
@pytest.mark.parametrize("path", override_lists.NAMESPACES)
@pytest.mark.parametrize("kind", ["ignored", "overridable", "testing"])
def test_lists_are_those_of_pytorch(torch, recorded, own, kind, path):
    names = in_scope(torch, recorded, path)
    given, expected = names & set(own[kind][path]), names & set(recorded[kind][path])
    if kind == "ignored":  # what PyTorch has in no list may be ignored as well
        given -= names - set(recorded["overridable"][path]) - expected
    assert sorted(given) == sorted(expected)


@pytest.mark.item("M6.70")
def test_ignored(torch):
    o = torch.overrides
    ignored = o.get_ignored_functions()
    assert type(ignored) is set
    assert o.get_ignored_functions() is ignored
    for (
        name
    ) in "tensor zeros ones rand arange device dtype save load set_num_threads manual_seed is_tensor".split():
        assert getattr(torch, name) in ignored
    assert torch.Tensor.as_subclass in ignored
    for name in "add relu matmul einsum cat split norm".split():
        assert getattr(torch, name) not in ignored


@pytest.mark.item("M6.70", "M6.71", "M6.72")
def test_no_warnings(torch):
    """In a process of its own: the answers are kept."""
    program = (
        "import warnings; warnings.simplefilter('error'); import %s as torch; o = torch.overrides;"
        "o.get_ignored_functions(); o.get_overridable_functions(); o.get_testing_overrides(); print('quiet')"
    )
    said = subprocess.run(
        [sys.executable, "-c", program % torch.__name__], capture_output=True, text=True, env=os.environ
    )
    assert said.stdout.strip() == "quiet", said.stderr


@pytest.mark.item("M6.71")
def test_overridable(torch):
    o = torch.overrides
    table = o.get_overridable_functions()
    modules = [k for k in table if inspect.ismodule(k) or k is torch.Tensor]
    assert torch.nn.init not in modules
    named = {
        torch,
        torch.functional,
        torch.nn.functional,
        torch.Tensor,
        torch.linalg,
        torch.fft,
        torch.special,
    }
    assert set(modules) == named
    for key, functions in table.items():
        if key not in named:
            assert len(functions) == 1
            assert functions[0].__name__ == "__get__"
    assert torch.Tensor.shape in table
    assert table[torch.Tensor.shape] == [torch.Tensor.shape.__get__]
    every = [f for functions in table.values() for f in functions]
    assert not set(every) & o.get_ignored_functions()
    for namespace in named - {torch.Tensor}:
        for function in table[namespace]:
            names = [n for n in dir(namespace) if getattr(namespace, n, None) is function]
            assert any(name[0].islower() and not name.endswith("_") for name in names)
    assert torch.Tensor.add_ in table[torch.Tensor]


@pytest.mark.item("M6.71", "M6.72", "M6.70")
def test_sizes(torch, recorded, own):
    """In scope is nearly everything."""
    o = torch.overrides
    assert len(o.get_testing_overrides()) > 1300
    assert sum(map(len, o.get_overridable_functions().values())) > 1300
    if torch.__name__ == "torch":
        assert len(o.get_ignored_functions()) == 253
        assert len(o.get_testing_overrides()) == 1426
        sizes = {k: len(v) for k, v in o.get_overridable_functions().items()}
        assert (sizes[torch], sizes[torch.functional], sizes[torch.nn.functional]) == (500, 21, 114)
        assert (sizes[torch.Tensor], sizes[torch.linalg], sizes[torch.fft], sizes[torch.special]) == (
            632,
            41,
            20,
            56,
        )


@pytest.mark.item("M6.72")
def test_stand_ins(torch):
    o = torch.overrides
    table = o.get_testing_overrides()
    assert str(inspect.signature(table[torch.add])) == "(input, other, out=None)"
    assert table[torch.add](1, 2) == table[torch.add](1, other=2, out=3) == -1
    with pytest.raises(TypeError):
        table[torch.add]()
    for functions in o.get_overridable_functions().values():
        for function in functions:
            assert function in table or function is getattr(torch, "autocast", None)
    for function, stand_in in table.items():
        inspect.signature(stand_in)
        assert callable(function)
    for name in "add add_ __add__ __iadd__ __radd__ bitwise_and __and__ __iand__ __rand__".split():
        assert getattr(torch.Tensor, name) in table
    assert table[torch.Tensor.shape.__get__](5) == -1
    assert torch.tensor not in table
    assert torch.autograd.grad not in table


@pytest.mark.item("M6.72")
@pytest.mark.parametrize(
    "name",
    "abs mul cat softmax split nn.functional.linear nn.functional.max_pool2d fft.fft special.erf Tensor.add Tensor.numpy".split(),
)
def test_required_parameters(torch, recorded, name):
    path, _, last = name.rpartition(".")
    function = getattr(override_lists.namespace(torch, path), last)
    given = inspect.signature(torch.overrides.get_testing_overrides()[function])
    required = [p.name for p in given.parameters.values() if p.default is p.empty]
    text = recorded["signatures"][(path + "." if path else ".") + last]
    there = eval("lambda %s: 0" % text[1:-1].replace("<", "'").replace(">", "'"), {"nan": 0, "inf": 0})
    expected = [p.name for p in inspect.signature(there).parameters.values() if p.default is p.empty]
    assert required == expected


@pytest.mark.item("M6.73")
def test_methods_and_properties(torch):
    is_member = torch.overrides.is_tensor_method_or_property
    for f in (
        torch.Tensor.add,
        torch.Tensor.add_,
        torch.Tensor.split,
        torch.Tensor.shape.__get__,
        torch.Tensor.__getitem__,
    ):
        assert is_member(f)
    for f in (
        torch.add,
        torch.nn.functional.relu,
        torch.split,
        torch.einsum,
        torch.Tensor.grad.__set__,
        print,
    ):
        assert not is_member(f)
    assert torch.Tensor.add in torch.overrides._get_tensor_methods()
    assert torch.add not in torch.overrides._get_tensor_methods()


@pytest.mark.item("M6.74")
def test_wrap_torch_function(torch):
    log = Log(torch)
    D = duck(log)
    seen = []

    class Keeps:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            seen.append((func, types, args, kwargs))
            return "kept"

    @torch.overrides.wrap_torch_function(lambda a, b=None, *rest: (a, b, *rest))
    def wrapped(a, b=None, *rest):
        """words"""
        return "own", a, b, rest

    assert (wrapped.__name__, wrapped.__doc__) == ("wrapped", "words")
    assert wrapped.__wrapped__(1) == ("own", 1, None, ())
    assert wrapped(1, 2, 3) == ("own", 1, 2, (3,))
    k = Keeps()
    assert wrapped(k, b=2) == wrapped(1, k) == wrapped(1, 2, k) == "kept"
    assert seen == [
        (wrapped, (Keeps,), (k,), {"b": 2}),
        (wrapped, (Keeps,), (1, k), {}),
        (wrapped, (Keeps,), (1, 2, k), {}),
    ]
    with mode(log):
        assert wrapped(1) == ("own", 1, None, ())
    assert len(log) == 1
    with pytest.raises(TypeError, match="missing 1 required"):
        wrapped()
    assert torch.overrides.has_torch_function_unary(D())


@pytest.mark.item("M6.10")
@pytest.mark.parametrize("path", ["C", "Python"])
def test_plain_method_warns(torch, path):
    """Once per process, so in processes of their own."""
    program = (
        "import warnings, %s as torch\n"
        "class P:\n"
        "    def __torch_function__(self, func, types, args=(), kwargs=None): return 7\n"
        "class S(torch.Tensor):\n"
        "    def __torch_function__(self, func, types, args=(), kwargs=None): return 7\n"
        "with warnings.catch_warnings(record=True) as caught:\n"
        "    warnings.simplefilter('always')\n"
        "    assert %s == 7\n"
        "    assert (torch.ones(2).as_subclass(S) + 1) == 7\n"
        "print([w.category.__name__ for w in caught if 'plain method is deprecated' in str(w.message)])"
    )
    call = {"C": "torch.add(P(), 1)", "Python": "torch.nn.functional.softmax(P(), 0)"}[path]
    said = subprocess.run(
        [sys.executable, "-c", program % (torch.__name__, call)],
        capture_output=True,
        text=True,
        env=os.environ,
    )
    expected = {"C": "['UserWarning']", "Python": "['DeprecationWarning', 'UserWarning']"}[path]
    assert said.stdout.strip() == expected, said.stderr


@pytest.mark.item("M6.56")
def test_enable_reentrant_dispatch(torch):
    with pytest.raises(RuntimeError, match="__torch_dispatch__"), torch.overrides.enable_reentrant_dispatch():
        pass


@pytest.mark.item("M6.61")
def test_constructors_of_the_default_device(torch):
    affected = importlib.import_module(torch.__name__ + ".utils._device")._device_constructors()
    names = """empty empty_permuted empty_strided ones zeros full eye arange linspace logspace rand randn randint randperm
        tril_indices triu_indices bartlett_window blackman_window hamming_window hann_window kaiser_window tensor
        as_tensor asarray scalar_tensor""".split()
    assert {getattr(torch, name) for name in names} | {torch.fft.fftfreq, torch.fft.rfftfreq} <= set(affected)
    others = "normal from_numpy frombuffer ones_like zeros_like rand_like full_like add".split()
    assert not {getattr(torch, name) for name in others} & set(affected)


@pytest.mark.item("M6.75")
def test_plain_tensors_run_no_python(torch):
    """No function in Python is called for a plain tensor, nor for a subclass that switches its override off."""
    t = torch.ones(2)
    off = t.as_subclass(
        type("Off", (torch.Tensor,), {"__torch_function__": torch._C._disabled_torch_function_impl})
    )
    events = []

    def note(frame, event, arg):
        events.append(event)

    def run(action):
        events.clear()
        sys.setprofile(note)
        try:
            action()
        finally:
            sys.setprofile(None)
        return events.count("call") - 1  # the action itself

    parameter = torch.nn.Parameter(t)
    for x in (t, off, parameter):
        for action in (
            lambda: torch.add(x, 1),
            lambda: x + x,
            lambda: x.add(1),
            lambda: x.shape,
            lambda: x[0],
            lambda: torch.cat([x, t]),
            lambda: x.sum(),
        ):
            assert run(action) == 0
    s = t.as_subclass(type("Sub", (torch.Tensor,), {}))
    assert run(lambda: s + 1) >= 1


@pytest.mark.item("M6.76")
def test_foreach(torch):
    log = Log(torch)
    d, t = duck(log)(), torch.ones(2)
    s = t.as_subclass(subclass(log))
    assert not hasattr(torch, "foreach")
    calls = [
        lambda: torch._foreach_add([d], 1),
        lambda: torch._foreach_add([t, d], [1, 2]),
        lambda: torch._foreach_add([t, t], [t, d]),
        lambda: torch._foreach_add([t, t], [1, d]),
        lambda: torch._foreach_add([t], d),
        lambda: torch._foreach_add((t, d), (t, t), alpha=2),
        lambda: torch._foreach_mul_([t, d], 2),
        lambda: torch._foreach_sqrt([t, d]),
        lambda: torch._foreach_norm([d]),
        lambda: torch._foreach_addcmul([t], [t], [d], 1.0),
        lambda: torch._foreach_addcdiv([t], [d], [t], [1.0]),
        lambda: torch._foreach_lerp([t], [d], 0.5),
        lambda: torch._foreach_zero_([d]),
        lambda: torch._foreach_copy_([t], [d]),
    ]
    names = []
    for call in calls:
        assert call() == -1
        assert len(log) == 1
        names.append(log[0].partition("(")[0].rpartition(".")[2])
        assert log[0].endswith("types(Duck)")
        log.clear()
    assert names == (
        ["_foreach_add"] * 6
        + "_foreach_mul_ _foreach_sqrt _foreach_norm _foreach_addcmul _foreach_addcdiv _foreach_lerp".split()
        + ["_foreach_zero_", "_foreach_copy_"]
    )
    result = torch._foreach_add([t, s], 1)
    assert [type(r).__name__ for r in result] == ["Sub", "Sub"]
    for wrong in (
        lambda: torch._foreach_add([d], "a"),
        lambda: torch._foreach_add([d], 1, nonsense=1),
        lambda: torch._foreach_add(),
        lambda: torch._foreach_sqrt([d], 1),
        lambda: torch._foreach_add([1, d], 1),
    ):
        log.clear()
        with pytest.raises(TypeError):
            wrong()
        assert log == []
    log.clear()
    with mode(log):
        torch._foreach_add([t], 1)
    assert log == ["Mode: torch._foreach_add([Tensor], 1) None types()"]
