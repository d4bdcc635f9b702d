"""What recording leaves behind: flags, node names, edges, saved values."""

import gc
import weakref

import pytest


def leaf(torch, *size, **kw):
    return torch.ones(*size, requires_grad=True, **kw)


def test_worked_example(torch):
    x = leaf(torch, 2, 2)
    y = x + 2
    z = y * y * 3
    o = z.mean()
    assert y.grad_fn.name() == "AddBackward0"
    assert z.grad_fn.name() == "MulBackward0"
    assert z.grad_fn.next_functions[0][0].name() == "MulBackward0"
    assert o.grad_fn.name() == "MeanBackward0"
    o.backward()
    assert x.grad.tolist() == [[4.5, 4.5], [4.5, 4.5]]


def test_flags_of_results(torch):
    x, plain = leaf(torch, 3), torch.ones(3)
    assert x.is_leaf and x.grad_fn is None and x.requires_grad
    assert plain.is_leaf and not plain.requires_grad
    y = x * 2
    assert not y.is_leaf and y.requires_grad and y.output_nr == 0
    assert not (plain * 2).requires_grad and (plain * 2).grad_fn is None
    assert (plain * y).requires_grad
    with torch.no_grad():
        z = x * 2
    assert not z.requires_grad and z.is_leaf and z.grad_fn is None


def test_integer_results_never_require_grad(torch):
    x = leaf(torch, 4)
    for r in (x.argmax(), x > 0, x == 1, x.argsort(), torch.isnan(x)):
        assert not r.requires_grad and r.grad_fn is None
    values, indices = x.max(0)
    assert values.requires_grad and not indices.requires_grad
    assert values.grad_fn.name() == "MaxBackward0"


def test_next_functions(torch):
    x = leaf(torch, 2)
    y = x * 2
    edges = y.grad_fn.next_functions
    assert isinstance(edges, tuple) and len(edges) == 2
    node, index = edges[0]
    assert index == 0 and node.name() == "torch::autograd::AccumulateGrad"
    assert node.variable is x
    assert edges[1] == (None, 0)
    z = y + x
    assert z.grad_fn.next_functions[0][0] is y.grad_fn
    assert z.grad_fn.next_functions[1][0] is node, "one accumulator while it lives"


def test_output_numbers(torch):
    a, b = leaf(torch, 4).split(2)
    assert (a.output_nr, b.output_nr) == (0, 1)
    assert a.grad_fn is b.grad_fn
    s = a + b
    assert [e[1] for e in s.grad_fn.next_functions] == [0, 1]


def test_saved_values(torch):
    x = leaf(torch, 3)
    y = x * x
    assert y.grad_fn._saved_self is x and y.grad_fn._saved_other is x
    e = x.exp()
    saved = e.grad_fn._saved_result
    assert saved is not e and saved.tolist() == e.tolist()
    assert saved.grad_fn is e.grad_fn


def test_only_what_is_needed_is_saved(torch):
    x, c = leaf(torch, 3), torch.ones(3)
    y = x * c
    assert y.grad_fn._saved_self is None, "only the gradient of x is asked for"
    assert y.grad_fn._saved_other is c
    y = x * 1
    z = y * c
    y.zero_()
    z.sum().backward()
    assert x.grad.tolist() == [1, 1, 1]


def test_sequence_numbers(torch):
    x = leaf(torch, 2)
    y = x * 2
    z = y * 2
    assert z.grad_fn._sequence_nr() > y.grad_fn._sequence_nr()
    assert y.grad_fn.next_functions[0][0]._sequence_nr() == 2**64 - 1


def test_grad_fn_is_one_object(torch):
    x = leaf(torch, 2)
    y = x * 2
    with torch.no_grad():
        first = y.grad_fn
    assert y.grad_fn is first


def test_not_implemented(torch):
    x = leaf(torch, 3)
    y = torch.heaviside(x, torch.ones(3))
    assert y.grad_fn.name() == "torch::autograd::NotImplemented"
    with pytest.raises(RuntimeError, match="derivative for aten::heaviside is not implemented"):
        y.sum().backward()


def test_rounding_has_zero_gradient(torch):
    for name in ("round", "floor", "ceil", "trunc", "sign"):
        x = leaf(torch, 3)
        getattr(x, name)().sum().backward()
        assert x.grad.tolist() == [0, 0, 0], name


def test_requires_grad_setter(torch):
    x = torch.ones(3)
    x.requires_grad = True
    assert x.requires_grad
    assert x.requires_grad_(False) is x and not x.requires_grad
    with pytest.raises(RuntimeError, match="only Tensors of floating point"):
        torch.ones(3, dtype=torch.int64).requires_grad_()
    with pytest.raises(
        RuntimeError, match="only Tensors of floating point and complex dtype can require gradients"
    ):
        torch.ones(3, dtype=torch.int64).requires_grad = True
    y = leaf(torch, 3) * 1
    assert y.requires_grad_() is y
    for bad in (
        lambda: setattr(y, "requires_grad", False),
        lambda: setattr(y, "requires_grad", True),
        lambda: y.requires_grad_(False),
    ):
        with pytest.raises(RuntimeError, match="you can only change requires_grad flags of leaf variables."):
            bad()


def test_factories_under_no_grad(torch):
    with torch.no_grad():
        assert torch.ones(1, requires_grad=True).requires_grad


def test_detach(torch):
    x = leaf(torch, 3)
    y = x * 2
    d = y.detach()
    assert not d.requires_grad and d.is_leaf and d._base is None and not d._is_view()
    assert d.data_ptr() == y.data_ptr()
    d.add_(1)
    assert y._version == 1
    z = x * 2
    assert z.detach_() is z and z.is_leaf and not z.requires_grad and z._version == 0
    with pytest.raises(RuntimeError, match="Can't detach views in-place"):
        (x * 1)[0:2].detach_()


def test_accumulator_is_held_by_the_graph_only(torch):
    x = leaf(torch, 2)
    y = x * 2
    node = y.grad_fn.next_functions[0][0]
    assert (x * 3).grad_fn.next_functions[0][0] is node
    del y, node
    gc.collect()
    (x * 2).sum().backward()
    (x * 2).sum().backward()
    assert x.grad.tolist() == [4, 4]


def test_graph_keeps_its_leaf(torch):
    class Tag:
        pass

    x = leaf(torch, 2)
    x.tag = Tag()
    ref = weakref.ref(x.tag)
    y = x * 2
    del x
    gc.collect()
    assert ref() is not None
    assert y.grad_fn.next_functions[0][0].variable.tag is ref()
    del y
    gc.collect()
    assert ref() is None


def test_saved_inputs_die_with_the_graph(torch):
    class Tag:
        pass

    x = leaf(torch, 2)
    y = x * 2
    y.tag = Tag()
    ref = weakref.ref(y.tag)
    z = (y * y).sum()
    del y
    gc.collect()
    assert ref() is not None
    z.backward()
    gc.collect()
    assert ref() is None, "backward frees what it saved"
    assert x.grad.tolist() == [8, 8]
