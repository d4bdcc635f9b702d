"""Every function with a stand-in, called on objects that override: the override is called once, with the public object as func."""

import contextlib
import inspect
import os
import sys

import pytest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import override_lists  # noqa: E402


class Seen(Exception):
    """Ends the call where the override is reached."""


def objects(torch, calls):
    """An unrelated object and a tensor that note the call and end it."""

    def note(cls, func, types, args=(), kwargs=None):
        calls.append((func, types, args, kwargs))
        raise Seen

    Duck = type("Duck", (), {"__torch_function__": classmethod(note), "__iter__": None})
    Sub = type("Sub", (torch.Tensor,), {"__torch_function__": classmethod(note)})
    return Duck(), torch.ones(2, 2).as_subclass(Sub)


def mode(torch, calls):
    class Notes(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            calls.append((func, types, args, kwargs))
            raise Seen

    return Notes()


def argument_lists(stand_in, first, other):
    """Arguments for the parameters without default: `first`, then `other`; then with tuples where lists are taken."""
    parameters = inspect.signature(stand_in).parameters.values()
    required = [p for p in parameters if p.default is p.empty]
    n = sum(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in required)
    keywords = {p.name: True for p in required if p.kind is p.KEYWORD_ONLY}
    plain = [first] + [other] * (n - 1)
    if n:
        yield plain[:n], keywords
    yield plain + [other], keywords
    yield ["ij,jk", first, other], keywords
    yield [(first, other)] + plain[1:n], keywords
    yield [(first, other)] * 2 + plain[2:n], keywords
    for number in (1, 2):
        yield plain[: n - number] + [1] * number, keywords
    yield plain + [other, other], keywords
    yield plain + [other, other, other], keywords
    yield [1, first], {}
    for more in range(9):
        yield [first, other, (other,)] + [other] * more, {}
    yield [first, (1,)] + plain[2:n], {}
    for name in ("size", "upper"):
        yield [first] + [other] * (name == "upper"), {name: 1 if name == "size" else True}
    yield [first], {}


def cases(torch):
    """(namespace, name, object, stand-in)"""
    tables = {path: dict(override_lists.members(torch, path)) for path in override_lists.NAMESPACES}
    for path, name, stand_in in override_lists.stand_ins(torch):
        yield path, name, tables[path][name], stand_in


def calls_of(member, stand_in, first, other, calls):
    """The calls of the override in the first way to call the member that reaches it."""
    for args, kwargs in argument_lists(stand_in, first, other):
        calls.clear()
        try:
            member(*args, **kwargs)
        except Seen:
            return calls[:]
        except Exception:
            continue
    return []


# Names for the function of another name, as PyTorch has them; operators are in the table overrides_func.
ALIASES = {
    "_grad": "grad",
    "_grad_fn": "grad_fn",
    "ndimension": "dim",
    "nelement": "numel",
    "dsmm": "mm",
    "spmm": "mm",
}


def is_member(torch, path, name, member, func):
    if path == "Tensor" and name.startswith("__"):
        return True
    if func is member or (path == "Tensor" and func == member):  # what reads a property is made anew
        return True
    alias = dict(override_lists.members(torch, path)).get(ALIASES.get(name))
    return alias is not None and func == alias


def complaint(torch, path, name, member, found, kinds, may_be_empty=False):
    """What is wrong with the calls of the override, or None."""
    if len(found) != 1:
        return "called %d times" % len(found)
    func, types, args, kwargs = found[0]
    if not is_member(torch, path, name, member, func):
        return "func is %r" % (func,)
    if not (types or may_be_empty) or not set(types) <= kinds or len(set(types)) != len(types):
        return "types are %r" % (types,)
    if type(args) is not tuple or not (kwargs is None or type(kwargs) is dict):
        return "args %r, kwargs %r" % (type(args), type(kwargs))
    return None


# PyTorch's own exceptions: they do not ask, or say another name.
ELSEWHERE = {
    "Tensor._autocast_to_full_precision",
    "Tensor._autocast_to_reduced_precision",
    "Tensor._coalesced_",
    "Tensor.sparse_resize_",
    "Tensor.sparse_resize_and_clear_",
    "Tensor.set_",
    "functional.pca_lowrank",
    "functional.svd_lowrank",
    "hsmm",
    "lobpcg",
    "pca_lowrank",
    "saddmm",
    "svd_lowrank",
}


def sweep(torch, kind):
    """{member: what is wrong} of those that do not do what they should."""
    calls = []
    duck, sub = objects(torch, calls)
    plain, wrong = torch.ones(2, 2), {}
    with mode(torch, calls) if kind == "mode" else contextlib.nullcontext():
        first = {"duck": duck, "tensor": sub, "mode": plain}[kind]
        for path, name, member, stand_in in cases(torch):
            receiver = sub if path == "Tensor" and kind == "duck" else first
            found = calls_of(member, stand_in, receiver, duck, calls)
            kinds = {type(receiver), type(duck), torch.Tensor}
            said = complaint(torch, path, name, member, found, kinds, kind == "mode")
            if said:
                wrong[".".join(filter(None, (path, name)))] = said
    return wrong


@pytest.mark.item("M6.05", "M6.20", "M6.72")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["duck", "tensor", "mode"])
def test_every_function(torch, kind):
    wrong = sweep(torch, kind)
    if torch.__name__ == "torch":
        wrong = {name: said for name, said in wrong.items() if name not in ELSEWHERE}
    assert wrong == {}
    assert len(list(cases(torch))) > 1300


# A stand-in that says less than the function needs, or a first argument in words.
NOT_ENOUGH = {
    "einsum",
    "frobenius_norm",
    "native_layer_norm",
    "scatter",
    "segment_reduce",
    "solve_triangular",
}


@pytest.mark.item("M6.72")
@pytest.mark.filterwarnings("ignore")
def test_what_stand_ins_need_is_enough(torch):
    """A function called with an object for each argument that its stand-in needs."""
    calls, wrong = [], []
    duck, _ = objects(torch, calls)
    for path, name, member, stand_in in cases(torch):
        parameters = [p for p in inspect.signature(stand_in).parameters.values() if p.default is p.empty]
        if path in ("Tensor", "autograd") or name.startswith("_") or name in NOT_ENOUGH:
            continue
        args = [duck for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        kwargs = {p.name: duck for p in parameters if p.kind is p.KEYWORD_ONLY}
        calls.clear()
        try:
            member(*(args or [duck]), **kwargs)
        except Seen:
            continue
        except Exception as error:
            wrong.append((path, name, str(error)[:60]))
    assert wrong == []
