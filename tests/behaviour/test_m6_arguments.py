"""What functions written in Python hand on to overrides: args and kwargs as PyTorch's, whatever the call looked like."""

import gzip
import json
import os
import sys

import pytest

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, TESTS)
import override_calls  # noqa: E402
import override_lists  # noqa: E402

# PyTorch loses an argument on the way: the weight, the check for ambiguity.
LOSES = {"nn.functional.l1_loss", "Tensor.dim_order"}

# Other calls are refused here: an object for several results or for a choice in words, positions that only PyTorch has.
REFUSED = {
    "histogramdd",
    "searchsorted",
    "subtract",
    "Tensor.is_set_to",
    "Tensor.to",
    "linalg.cholesky_ex",
} | {
    "linalg.eigh",
    "linalg.inv_ex",
    "linalg.multi_dot",
    "linalg.svd",
    "dequantize",
}


def recorded():
    with gzip.open(os.path.join(TESTS, "data", "overrides.json.gz")) as f:
        return json.load(f)["calls"]


@pytest.mark.item("M6.05", "M6.22")
@pytest.mark.filterwarnings("ignore")
def test_arguments_handed_on(torch):
    wrong, count = [], 0
    for path, name, args, kwargs, *expected in recorded():
        full = ".".join(filter(None, (path, name)))
        function = getattr(override_lists.namespace(torch, path), name, None)
        if function is None:
            assert name.startswith("_"), full
            continue
        if torch.__name__ != "torch" and full in LOSES:
            continue
        count += 1
        given = override_calls.Objects(torch).call(function, args, kwargs)
        if given is None and full in REFUSED and torch.__name__ != "torch":
            continue
        if given is None or given[0] is not function or list(given[1:]) != expected:
            wrong.append((full, args, kwargs, given and given[1:], expected))
    assert wrong == []
    assert count > 2000


@pytest.mark.item("M6.22")
def test_arguments_are_checked_first(torch):
    """A call that does not fit the parameters is Python's TypeError, whoever overrides."""

    class Duck:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            raise AssertionError

    F, d = torch.nn.functional, Duck()
    for call, words in (
        (lambda: F.l1_loss(d), r"l1_loss\(\) missing 1 required positional argument: 'target'"),
        (lambda: F.dropout2d(d, nonsense=1), r"dropout2d\(\) got an unexpected keyword argument 'nonsense'"),
        (lambda: F.fold(d, 1, 1, output_size=2), r"fold\(\) got multiple values for argument 'output_size'"),
        (lambda: F.unfold(d), r"unfold\(\) missing 1 required positional argument: 'kernel_size'"),
    ):
        with pytest.raises(TypeError, match=words):
            call()


@pytest.mark.item("M6.05")
def test_methods_that_python_restricts(torch):
    class Anything(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return "any"

    class Mixed:
        def __bool__(self):
            return False

        def __len__(self):
            return 7

    t = torch.zeros(3).as_subclass(Anything)
    # Called by name they give what the override gives; Python's own functions insist on a type.
    assert torch.Tensor.__bool__(t) == t.__bool__() == "any"
    assert torch.Tensor.__len__(t) == t.__len__() == "any"
    with pytest.raises(TypeError, match="should return bool"):
        bool(t)
    with pytest.raises(TypeError):
        len(t)
    first = type("First", (Mixed, torch.Tensor), {})
    last = type("Last", (torch.Tensor, Mixed), {})
    one = torch.ones(1)
    assert (bool(one.as_subclass(first)), len(one.as_subclass(first))) == (False, 7)
    assert (bool(one.as_subclass(last)), len(one.as_subclass(last))) == (True, 1)
    last.__len__ = Mixed.__len__
    assert len(one.as_subclass(last)) == 7
    del last.__len__
    assert len(one.as_subclass(last)) == 1


@pytest.mark.item("M6.03")
def test_tensors_for_numbers(torch):
    """A tensor where one number is expected is the number, or wrong; only in lists, and where a tensor may stand too, it overrides."""

    class Sub(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            if func.__name__ in ("__index__", "__float__", "__int__"):
                return super().__torch_function__(func, types, args, kwargs)
            return "overrides"

    def number(value, **kwargs):
        return torch.tensor(value, **kwargs).as_subclass(Sub)

    t, one = torch.ones(2, 2), number(1)
    for call in (
        lambda: torch.full((2,), one),
        lambda: torch.add(t, t, alpha=one),
        lambda: torch.addcmul(t, t, t, value=one),
        lambda: torch.arange(one),
        lambda: torch.cumsum(t, one),
        lambda: torch.softmax(t, one),
        lambda: torch.eye(one),
        lambda: t.new_full((2,), one),
        lambda: torch.std(t, 0, correction=one),
        lambda: torch.dropout(t, number(0.5), False),
        lambda: torch.nn.functional.elu(t, one),
        lambda: torch.stack([t], one),
    ):
        assert type(call()) is torch.Tensor
    for call in (
        lambda: torch.clamp(t, min=one),
        lambda: t.clamp(one, one),
        lambda: torch.lerp(t, t, number(0.5)),
        lambda: torch.linspace(0, one, 3),
        lambda: t.masked_fill(t > 0, one),
        lambda: torch.zeros(2, one),
        lambda: t.repeat(one, 1),
        lambda: torch.repeat_interleave(t, one),
        lambda: torch.tensor_split(t, one),
        lambda: t.fill_(one),
        lambda: torch.flip(t, [one]),
    ):
        assert call() == "overrides"
    for call in (
        lambda: torch.zeros(2, dtype=one),
        lambda: torch.zeros(2, device=one),
        lambda: torch.rand(2, generator=one),
        lambda: torch.div(t, t, rounding_mode=one),
        lambda: torch.sum(t, 0, one),
        lambda: torch.cumsum(t, number(0.5)),
        lambda: torch.add(t, t, alpha=number([1.0])),
        lambda: torch.add(t, t, alpha=number(1.0, requires_grad=True)),
        lambda: torch.unsqueeze(t, number([0, 1])),
    ):
        with pytest.raises(TypeError):
            call()


@pytest.mark.item("M6.03")
def test_objects_for_other_arguments(torch):
    """Who overrides may stand for a dtype, a device, a switch as well."""

    class Duck:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func.__name__, types

    d, t = Duck(), torch.ones(2, 2)
    calls = {
        "zeros": lambda: torch.zeros(2, requires_grad=d),
        "new_zeros": lambda: t.new_zeros(2, requires_grad=d),
        "tensor": lambda: torch.tensor([1.0], dtype=d),
        "as_tensor": lambda: torch.as_tensor([1.0], dtype=d),
        "asarray": lambda: torch.asarray([1.0], copy=d),
        "from_file": lambda: torch.from_file(d),
        "is_contiguous": lambda: t.is_contiguous(memory_format=d),
        "requires_grad_": lambda: t.requires_grad_(d),
        "numpy": lambda: t.numpy(force=d),
        "pin_memory": lambda: t.pin_memory(d),
        "size": lambda: t.size(d),
        "stride": lambda: t.stride(d),
    }
    assert {name: call() for name, call in calls.items()} == {name: (name, (Duck,)) for name in calls}
    assert torch.tensor([1.0], device=d, requires_grad=True)[0] == "tensor"
    for call in (
        lambda: torch.tensor([1.0], nonsense=d),
        lambda: torch.tensor([1.0], dtype=5, nonsense=d),
        lambda: torch.tensor(dtype=d),
        lambda: t.numpy(nonsense=d),
    ):
        with pytest.raises(TypeError):
            call()


@pytest.mark.item("M6.03")
def test_parts_of_a_tensor_are_set_to_numbers_and_tensors(torch):
    class Duck:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            raise AssertionError

    for t, part in ((torch.ones(2), "real"), (torch.ones(2) * 1j, "real"), (torch.ones(2) * 1j, "imag")):
        for value, read in (
            (2, [2, 2]),
            (True, [1, 1]),
            (torch.tensor([3.0, 4.0]), [3, 4]),
            (torch.tensor(5), [5, 5]),
        ):
            setattr(t, part, value)
            assert getattr(t, part).tolist() == read
        for wrong in (None, "a", [1, 2], object(), Duck()):
            with pytest.raises(TypeError, match="can't assign a .* to a torch.FloatTensor"):
                setattr(t, part, wrong)
        with pytest.raises(RuntimeError, match="without overflow"):
            setattr(t, part, 1j)
