"""Custom Functions: apply, the two styles, ctx, what backward may return, materialized gradients."""

import gc
import warnings
import weakref

import pytest

from custom_functions import leaf, make


def identity(torch, backward, **members):
    return make(torch, lambda ctx, *xs: xs[0].clone(), backward, **members)


@pytest.mark.item("M5.90")
def test_apply(torch):
    seen = []

    def forward(ctx, x, k):
        seen.append((torch.is_grad_enabled(), x.requires_grad, (x * 2).requires_grad))
        ctx.k = k
        return x * k

    F = make(torch, forward, lambda ctx, g: (g * ctx.k, None), "Scale")
    x = leaf(torch, 2)
    y = F.apply(x, 3.0)
    assert seen == [(False, True, False)]
    node = y.grad_fn
    assert node.name() == "ScaleBackward" and type(node).__name__ == "ScaleBackward"
    assert isinstance(node, torch.autograd.function.BackwardCFunction)
    assert type(node)._forward_cls is F
    assert [fn for fn, _ in node.next_functions] == [fn for fn, _ in (x * 1).grad_fn.next_functions][:1]
    assert not y.is_leaf and y.requires_grad and node.k == 3.0
    y.sum().backward()
    assert x.grad.tolist() == [3, 3] and torch.is_grad_enabled()
    with torch.no_grad():
        assert F.apply(x, 3.0).grad_fn is None
    assert F.apply(x.detach(), 3.0).grad_fn is None


@pytest.mark.item("M5.90")
def test_what_forward_may_return(torch):
    marker = object()
    results = {
        "one": lambda x: x * 2,
        "tuple of one": lambda x: (x * 2,),
        "mixed": lambda x: (x * 2, 3, None, marker, "text"),
        "nothing": lambda x: None,
        "list": lambda x: [x * 2],
        "empty": lambda x: (),
    }
    x = leaf(torch, 2)
    got = {
        name: make(torch, lambda ctx, x, f: f(x), lambda ctx, *g: (g[0], None)).apply(x, f)
        for name, f in results.items()
    }
    assert got["one"].requires_grad
    assert type(got["tuple of one"]) is tuple and got["tuple of one"][0].requires_grad
    assert got["mixed"][1:] == (3, None, marker, "text") and got["mixed"][0].requires_grad
    assert got["nothing"] is None and got["empty"] == ()
    assert type(got["list"]) is list and not got["list"][0].requires_grad
    assert got["mixed"][0].grad_fn.name() == "FBackward" and got["mixed"][0].output_nr == 0


@pytest.mark.item("M5.90")
def test_inputs_of_any_kind(torch):
    F = make(
        torch,
        lambda ctx, a, x, b, y: x * y,
        lambda ctx, g: (None, g * 2, None, g * 3),
    )
    x, y = leaf(torch, 2), leaf(torch, 2)
    out = F.apply("s", x, [x], y)
    assert [type(fn).__name__ for fn, _ in out.grad_fn.next_functions] == ["AccumulateGrad"] * 2
    out.sum().backward()
    assert x.grad.tolist() == [2, 2] and y.grad.tolist() == [3, 3]


@pytest.mark.item("M5.91")
def test_two_styles(torch):
    class Old(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return 2 * x * g

    class New(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return x * x

        @staticmethod
        def setup_context(ctx, inputs, output):
            assert type(inputs) is tuple and isinstance(output, torch.Tensor)
            ctx.save_for_backward(*inputs)

        backward = Old.backward

    for F in (Old, New):
        x = torch.tensor([3.0, 4.0], requires_grad=True)
        y = F.apply(x)
        (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
        (gg,) = torch.autograd.grad(g.sum(), x)
        assert y.tolist() == [9, 16] and g.tolist() == [6, 8] and gg.tolist() == [2, 2]


@pytest.mark.item("M5.91")
def test_defaults_and_keywords_of_forward(torch):
    seen = []

    class F(torch.autograd.Function):
        @staticmethod
        def forward(x, a=2.0, b=3.0):
            return x * a * b

        @staticmethod
        def setup_context(ctx, inputs, output):
            seen.append(inputs[1:])
            ctx.factor = inputs[1] * inputs[2]

        @staticmethod
        def backward(ctx, g):
            seen.append(ctx.needs_input_grad)
            return g * ctx.factor, None, None

    x = leaf(torch, 1)
    F.apply(x).backward()
    F.apply(x, 5.0).backward()
    F.apply(x, b=4.0).backward()
    assert seen[0::2] == [(2.0, 3.0), (5.0, 3.0), (2.0, 4.0)] and x.grad.tolist() == [6 + 15 + 8]
    assert seen[1] == (True, False, False)
    with pytest.raises(TypeError):
        F.apply(x, c=1)
    with pytest.raises(TypeError, match="unexpected keyword argument 'x'"):
        identity(torch, lambda ctx, g: g).apply(x=x)


@pytest.mark.item("M5.91")
def test_setup_context_errors(torch):
    class Returns(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return x.clone()

        @staticmethod
        def setup_context(ctx, inputs, output):
            return 3

        @staticmethod
        def backward(ctx, g):
            return g

    x = leaf(torch, 2)
    Returns.apply(x).sum().backward()
    assert x.grad.tolist() == [1, 1]

    class Raises(Returns):
        @staticmethod
        def setup_context(ctx, inputs, output):
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        Raises.apply(x)
    assert torch.is_grad_enabled()
    with pytest.raises(NotImplementedError, match="setup_context is not implemented"):
        torch.autograd.Function.setup_context(None, (), None)


@pytest.mark.item("M5.92")
def test_every_member_of_ctx(torch):
    seen = {}

    def forward(ctx, x, y, n):
        ctx.save_for_backward(x, None, y)
        ctx.save_for_forward(x, None)
        ctx.note = {"n": n}
        seen["forward"] = ctx.needs_input_grad
        return x * n

    def backward(ctx, g):
        seen["backward"] = (ctx.needs_input_grad, ctx.saved_tensors, ctx.note)
        ctx.more = 1
        return g * ctx.note["n"], None, None

    F = make(torch, forward, backward)
    x, y = leaf(torch, 2), torch.zeros(2)
    out = F.apply(x, y, 4)
    assert out.grad_fn.saved_tensors[0] is x and out.grad_fn.saved_tensors[1] is None
    assert type(out.grad_fn.saved_tensors) is tuple
    out.sum().backward()
    assert seen["forward"] == (True, False, False) and type(seen["forward"]) is tuple
    needs, saved, note = seen["backward"]
    assert needs == (True, False, False) and saved[0] is x and saved[1] is None and saved[2] is y
    assert note == {"n": 4} and out.grad_fn.more == 1
    with pytest.raises(RuntimeError, match="after they have already been freed"):
        out.grad_fn.saved_tensors
    with pytest.raises(RuntimeError, match="after they have already been freed"):
        F.apply.__func__ and out.sum().backward()


@pytest.mark.item("M5.92")
def test_save_for_backward_takes_tensors(torch):
    for bad in (3, "s", [torch.ones(1)], (torch.ones(1),)):
        F = make(torch, lambda ctx, x, bad=bad: (ctx.save_for_backward(bad), x.clone())[1], lambda ctx, g: g)
        with pytest.raises(TypeError, match="can only save variables, but argument 0 is of type"):
            F.apply(leaf(torch, 2))
        F.apply(torch.ones(2))  # nothing is saved where nothing is recorded
    F = make(torch, lambda ctx, x: (ctx.save_for_forward(3), x.clone())[1], lambda ctx, g: g)
    with pytest.raises(AssertionError, match="save_for_forward expects all arguments to be tensors"):
        F.apply(leaf(torch, 2))

    def twice(ctx, x):
        ctx.save_for_backward(x)
        ctx.save_for_backward(x, x)
        return x.clone()

    assert len(make(torch, twice, lambda ctx, g: g).apply(leaf(torch, 2)).grad_fn.saved_tensors) == 2


@pytest.mark.item("M5.92")
def test_saved_values_know_their_version(torch):
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clone()

    F = make(torch, forward, lambda ctx, g: g * ctx.saved_tensors[0])
    x = leaf(torch, 2)
    mid = x * 1
    y = F.apply(mid)
    mid.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


@pytest.mark.item("M5.92")
def test_a_saved_output(torch):
    def forward(ctx, x):
        out = x.exp()
        ctx.save_for_backward(out)
        return out

    F = make(torch, forward, lambda ctx, g: g * ctx.saved_tensors[0])
    x = leaf(torch, 2)
    y = F.apply(x)
    again = y.grad_fn.saved_tensors[0]
    assert again is not y and again.grad_fn is y.grad_fn and again.data_ptr() == y.data_ptr()
    (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    (gg,) = torch.autograd.grad(g.sum(), x)
    assert torch.allclose(gg, x.exp())


@pytest.mark.item("M5.92")
def test_saved_variables_is_deprecated(torch):
    F = make(
        torch,
        lambda ctx, x: (ctx.save_for_backward(x), x.clone())[1],
        lambda ctx, g: g * ctx.saved_variables[0],
    )
    y = F.apply(leaf(torch, 2))
    with pytest.warns(DeprecationWarning, match="use 'saved_tensors'"):
        y.sum().backward()


@pytest.mark.item("M5.92")
def test_names_on_ctx(torch):
    y = identity(torch, lambda ctx, g: g).apply(leaf(torch, 1))
    node = y.grad_fn
    assert node.to_save is None and node.dirty_tensors is None and node.non_differentiable is None
    assert node.saved_for_forward is None and node.requires_grad is True
    assert node.metadata == {} and node.needs_input_grad == (True,)
    for name in (
        "save_for_backward save_for_forward mark_dirty mark_non_differentiable set_materialize_grads "
        "register_hook register_prehook name _register_hook_dict _sequence_nr next_functions "
        "_raw_saved_tensors maybe_clear_saved_tensors apply_jvp"
    ).split():
        assert hasattr(node, name), name
    with pytest.raises(TypeError):
        node.materialize_grads = 3
    assert node.to_save is None


@pytest.mark.item("M5.93")
def test_number_of_gradients(torch):
    x, y = leaf(torch, 2), leaf(torch, 2)
    for given, ok in (
        ((1, 1), True),
        ((1, 1, None), True),
        ((1, 1, None, None), True),
        ((1,), False),
        ((), False),
        ((1, 1, 1), False),
        ((1, 1, None, 1), False),
    ):
        F = make(
            torch,
            lambda ctx, x, y: x + y,
            lambda ctx, g: tuple([None if one is None else g for one in given]),
        )
        out = F.apply(x, y).sum()
        if ok:
            out.backward()
        else:
            with pytest.raises(
                RuntimeError,
                match=r"FBackward returned an incorrect number of gradients \(expected 2, got %d\)"
                % len(given),
            ):
                out.backward()
    assert x.grad.tolist() == [3, 3]
    F = make(torch, lambda ctx, x, y: x + y, lambda ctx, g: g)
    with pytest.raises(RuntimeError, match=r"incorrect number of gradients \(expected 2, got 1\)"):
        F.apply(x, y).sum().backward()
    F = make(torch, lambda ctx, x, y: x + y, lambda ctx, g: [g, g])
    with pytest.raises(RuntimeError, match="incorrect number of gradients"):
        F.apply(x, y).sum().backward()


@pytest.mark.item("M5.93")
def test_gradients_that_are_refused(torch):
    def run(gradient, *args):
        identity(torch, lambda ctx, g: gradient).apply(*args).sum().backward()

    x = leaf(torch, 3)
    for bad in (3, 1.5, "g", object()):
        with pytest.raises(RuntimeError, match="expected Variable or None"):
            run(bad, x)
    with pytest.raises(RuntimeError, match="expected Variable or None"):
        run([torch.ones(3)], x)
    with pytest.raises(
        RuntimeError,
        match=r"invalid gradient at index 0 - got \[2\] but expected shape compatible with \[3\]",
    ):
        run(torch.ones(2), x)
    with pytest.raises(RuntimeError, match="invalid gradient at index 1"):
        run((torch.ones(3), torch.ones(4)), x, x)
    with pytest.raises(RuntimeError, match="invalid gradient at index 0 - expected device cpu but got meta"):
        run(torch.ones(3, device="meta"), x)
    with pytest.raises(
        RuntimeError,
        match="returned a gradient different than None at position 2, but the corresponding forward input was "
        "not a Variable",
    ):
        run((torch.ones(3), torch.ones(3)), x, 5)
    assert x.grad is None


@pytest.mark.item("M5.93")
def test_gradients_that_are_made_to_fit(torch):
    def run(gradient, x):
        x.grad = None
        identity(torch, lambda ctx, g: gradient).apply(x).sum().backward()
        return x.grad

    assert run(torch.ones(2, 3), leaf(torch, 3)).tolist() == [2, 2, 2]
    assert run(torch.ones(4, 2, 3), leaf(torch, 2, 1)).tolist() == [[12], [12]]
    for dtype in (torch.float64, torch.float16, torch.int64, torch.bool):
        g = run(torch.ones(3, dtype=dtype), leaf(torch, 3))
        assert g.dtype == torch.float32 and g.tolist() == [1, 1, 1]
    assert run(None, leaf(torch, 3)) is None


@pytest.mark.item("M5.93")
def test_gradients_for_inputs_that_need_none_are_dropped(torch):
    x = leaf(torch, 2)
    for other in (torch.ones(2), torch.ones(2, dtype=torch.int64), torch.ones(5)):
        F = identity(torch, lambda ctx, g: (g, torch.ones(2)))
        x.grad = None
        F.apply(x, other).sum().backward()
        assert x.grad.tolist() == [1, 1] and other.grad is None


@pytest.mark.item("M5.94")
def test_materialized_gradients(torch):
    seen = []

    def forward(ctx, x, materialize):
        if materialize is not None:
            ctx.set_materialize_grads(materialize)
        whole = torch.ones(2, 3, dtype=torch.int64)
        ctx.mark_non_differentiable(whole)
        return x * 2, x.double().expand(3, 2), whole, 7

    F = make(torch, forward, lambda ctx, *g: (seen.append(g), None)[1:] + (None,))
    x = leaf(torch, 2)
    for materialize in (None, True, False):
        F.apply(x, materialize)[0].sum().backward()
    for g in seen[:2]:
        assert g[0].tolist() == [1, 1]
        assert g[1].dtype == torch.float64 and g[1].tolist() == [[0, 0]] * 3
        assert g[2].dtype == torch.int64 and g[2].shape == (2, 3) and not g[2].any()
        assert g[3] is None
    assert seen[2][1:] == (None, None, None) and seen[2][0] is not None
    with pytest.raises(TypeError):
        make(torch, lambda ctx, x: (ctx.set_materialize_grads(1), x)[1], lambda ctx, g: g).apply(x)


@pytest.mark.item("M5.94")
def test_no_gradient_at_all(torch):
    seen = []
    for materialize in (True, False):
        F = make(
            torch,
            lambda ctx, x: (ctx.set_materialize_grads(materialize), x.clone())[1],
            lambda ctx, g: (seen.append(g), g)[1],
        )
        cut = identity(torch, lambda ctx, g: None)
        x = leaf(torch, 2)
        cut.apply(F.apply(x)).sum().backward()
        assert (x.grad is None) == (not materialize)
    assert seen[0].tolist() == [0, 0] and seen[1] is None


@pytest.mark.item("M5.96")
def test_non_differentiable(torch):
    def forward(ctx, x):
        a, b, i = x * 2, x > 0, x.long()
        c = x * 3
        ctx.mark_non_differentiable(c)
        return a, b, i, c

    F = make(torch, forward, lambda ctx, ga, gb, gi, gc_: ga + (gb.sum() + gi.sum() + gc_.sum()))
    x = leaf(torch, 2)
    a, b, i, c = F.apply(x)
    assert [t.requires_grad for t in (a, b, i, c)] == [True, False, False, False]
    assert c.grad_fn is None and c.is_leaf and i.is_leaf
    (a + c).sum().backward()
    assert x.grad.tolist() == [1, 1]

    def only(ctx, x):
        y = x * 2
        ctx.mark_non_differentiable(y)
        return y

    assert not make(torch, only, lambda ctx, g: g).apply(x).requires_grad

    def odd(ctx, x, arg):
        ctx.mark_non_differentiable(arg)
        return x * 2

    with pytest.raises(RuntimeError, match="mark_non_differentiable only accepts variable"):
        make(torch, odd, lambda ctx, g: (g, None)).apply(x, 3)


@pytest.mark.item("M5.96")
def test_an_input_marked_non_differentiable(torch):
    def forward(ctx, x, y):
        ctx.mark_non_differentiable(x)
        return x, y * 2

    F = make(torch, forward, lambda ctx, a, b: (a, b))
    x, y = leaf(torch, 2), leaf(torch, 2)
    a, b = F.apply(x, y)
    assert a is not x and not a.requires_grad and a.data_ptr() == x.data_ptr() and b.requires_grad
    assert x.requires_grad


@pytest.mark.item("M5.96")
def test_once_differentiable(torch):
    from_module = torch.autograd.function.once_differentiable
    modes = []

    class F(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        @from_module
        def backward(ctx, g):
            """Doc."""
            modes.append(torch.is_grad_enabled())
            return 2 * ctx.saved_tensors[0] * g

    assert F.backward.__doc__ == "Doc." and F.backward.__name__ == "backward"
    x = leaf(torch, 2)
    F.apply(x).sum().backward()
    y = F.apply(x).sum()
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    assert modes == [False, False] and x.grad.tolist() == [2, 2]
    assert not g.requires_grad  # no incoming gradient needed one
    weight = torch.ones(2, requires_grad=True)
    (g,) = torch.autograd.grad(F.apply(x), x, weight, create_graph=True)
    assert g.requires_grad and "Error" in type(g.grad_fn).__name__
    with pytest.raises(RuntimeError, match="trying to differentiate twice a function that was marked with"):
        g.sum().backward()
    w = torch.ones(2, requires_grad=True)
    (g,) = torch.autograd.grad((F.apply(x * 1) * w).sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="marked with @once_differentiable"):
        g.sum().backward()


@pytest.mark.item("M5.96")
def test_once_differentiable_with_several_values(torch):
    once = torch.autograd.function.once_differentiable

    class F(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y, n):
            return x * y

        @staticmethod
        @once
        def backward(ctx, g):
            return g * 2, None, None

    x, y = leaf(torch, 2), leaf(torch, 2)
    out = F.apply(x, y, 3)
    weight = torch.ones(2, requires_grad=True)
    g = torch.autograd.grad(out, (x, y), weight, create_graph=True, allow_unused=True)
    assert g[0].tolist() == [2, 2] and g[1] is None and g[0].requires_grad


@pytest.mark.item("M5.97")
def test_instances(torch):
    F = identity(torch, lambda ctx, g: g)
    with pytest.warns(DeprecationWarning, match="should not be instantiated"):
        f = F()
    with pytest.raises(RuntimeError, match="Legacy autograd function with non-static forward method"):
        f(torch.ones(1))
    assert f.next_functions == () and f.metadata == {} and f.saved_tensors == ()
    assert isinstance(f.name(), str)
    assert repr(f).startswith("<") and f.requires_grad in (True, False)
    quiet = {
        name: getattr(f, name)
        for name in ("needs_input_grad to_save non_differentiable dirty_tensors saved_for_forward").split()
    }
    assert set(quiet.values()) == {None}
    unsafe = ("apply", "_register_hook_dict", "_sequence_nr", "_set_sequence_nr")  # where PyTorch does crash
    for name in dir(f):
        if name.startswith("__") or name in (unsafe if torch.__name__ == "torch" else ("apply",)):
            continue
        try:
            value = getattr(f, name)
        except (AttributeError, RuntimeError):
            continue
        if callable(value):
            for args in ((), (None,), (lambda *a: None,)):
                try:
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        value(*args)
                except Exception:
                    pass
    f.extra = 1
    assert f.extra == 1


@pytest.mark.item("M5.97")
def test_missing_pieces(torch):
    x = leaf(torch, 2)

    class Nothing(torch.autograd.Function):
        pass

    with pytest.raises(NotImplementedError, match="must implement the forward function"):
        Nothing.apply(x)

    class Forward(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

    y = Forward.apply(x)
    with pytest.raises(NotImplementedError, match="must implement either the backward or vjp method"):
        y.sum().backward()

    class Vjp(Forward):
        @staticmethod
        def vjp(ctx, g):
            return g * 5

    Vjp.apply(x).sum().backward()
    assert x.grad.tolist() == [5, 5]

    class Both(Vjp):
        @staticmethod
        def backward(ctx, g):
            return g

    y = Both.apply(x)
    with pytest.raises(RuntimeError, match="Implementing both 'backward' and 'vjp'"):
        y.sum().backward()
    with pytest.raises(NotImplementedError, match="must implement the jvp function"):
        torch.autograd.Function.jvp(None)


@pytest.mark.item("M5.97")
def test_non_static_methods(torch):
    class F(torch.autograd.Function):
        def forward(self, x):
            return x.clone()

        def backward(self, g):
            return g * 2

    x = leaf(torch, 2)
    F.apply(x).sum().backward()  # self is ctx
    assert x.grad.tolist() == [2, 2]


@pytest.mark.item("M5.98")
def test_names_of_the_module(torch):
    module = torch.autograd.function
    for name in (
        "FunctionCtx Function BackwardCFunction FunctionMeta InplaceFunction NestedIOFunction once_differentiable"
    ).split():
        assert hasattr(module, name), name
    assert issubclass(module.InplaceFunction, torch.autograd.Function)
    assert issubclass(module.NestedIOFunction, torch.autograd.Function)
    assert issubclass(module.BackwardCFunction, module.FunctionCtx)
    assert torch.autograd.Function is module.Function
    F = identity(torch, lambda ctx, g: g)
    assert F.generate_vmap_rule is False and callable(F.vmap)
    assert type(F) is module.FunctionMeta and isinstance(F._backward_cls, type)
    with pytest.raises(NotImplementedError):
        torch.autograd.Function.vmap(None, ())
    module._SingleLevelFunction


@pytest.mark.item("M5.98")
def test_vmap_attributes_are_tolerated(torch):
    class F(torch.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x):
            return x * 2

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def backward(ctx, g):
            return g * 2

        @staticmethod
        def jvp(ctx, t):
            return t * 2

    x = leaf(torch, 2)
    F.apply(x).sum().backward()
    assert x.grad.tolist() == [2, 2]

    class G(F):
        generate_vmap_rule = False

        @staticmethod
        def vmap(info, in_dims, x):
            return x * 2, 0

    G.apply(x).sum().backward()
    assert x.grad.tolist() == [4, 4]


@pytest.mark.item("M5.98")
def test_inplace_function(torch):
    class F(torch.autograd.function.InplaceFunction):
        @staticmethod
        def forward(ctx, x, inplace=False):
            if inplace:
                ctx.mark_dirty(x)
                return x.mul_(2)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2, None

    x = leaf(torch, 2)
    mid = x * 1
    assert F.apply(mid, True) is mid
    (mid + F.apply(x)).sum().backward()
    assert x.grad.tolist() == [4, 4]
    with pytest.warns(DeprecationWarning):
        assert F(True).inplace is True


@pytest.mark.item("M5.98")
def test_boxed_gradients(torch):
    seen = []

    class F(torch.autograd.Function):
        boxed_grads_call = True

        @staticmethod
        def forward(ctx, x):
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, grads):
            seen.append((type(grads), len(grads)))
            a, b = grads
            grads.clear()
            return a * 2 + b * 3

    assert torch.autograd.Function.boxed_grads_call is False
    x = leaf(torch, 2)
    a, b = F.apply(x)
    (a + b).sum().backward()
    assert seen == [(list, 2)] and x.grad.tolist() == [5, 5]


@pytest.mark.item("M5.98")
def test_saved_tensors_cleared_on_access(torch):
    errors = []

    class F(torch.autograd.Function):
        clear_saved_tensors_on_access = True

        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x * 2)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            (y,) = ctx.saved_tensors
            try:
                ctx.saved_tensors
            except RuntimeError as e:
                errors.append(str(e))
            return g * y

    assert torch.autograd.Function.clear_saved_tensors_on_access is False
    x = leaf(torch, 2)
    F.apply(x).sum().backward(retain_graph=True)
    assert x.grad.tolist() == [2, 2] and len(errors) == 1 and "accessed" in errors[0]


@pytest.mark.item("M5.98")
def test_nested_io_function(torch):
    class F(torch.autograd.function.NestedIOFunction):
        def forward_extended(self, pair, scale):
            a, (b,) = pair
            self.scale = scale
            return a + b, [a * scale]

        def backward_extended(self, g, more):
            return (g + more[0] * self.scale, (g,)), None

    with pytest.warns(DeprecationWarning):
        f = F()
    x, y = leaf(torch, 2), leaf(torch, 2)
    with pytest.raises(AttributeError):
        f((x, (y,)))
    with pytest.raises(ValueError, match="Auto nesting doesn't know how to process"):
        f((x, (y,)), 3)
    assert callable(F._do_forward) and callable(F._do_backward)
    with pytest.raises(NotImplementedError):
        torch.autograd.function.NestedIOFunction.backward_extended(None)
    with pytest.raises(NotImplementedError):
        torch.autograd.function.NestedIOFunction.forward_extended(None)


@pytest.mark.item("M5.99")
def test_subclasses_pass_through(torch):
    class Special(torch.Tensor):
        pass

    F = make(torch, lambda ctx, x: x, lambda ctx, g: g)
    G = make(torch, lambda ctx, x: x * 2, lambda ctx, g: g)
    x = torch.ones(2).as_subclass(Special).requires_grad_()
    assert type(F.apply(x)) is Special and type(G.apply(x)) is Special
    F.apply(x).sum().backward()
    assert x.grad.tolist() == [1, 1]


@pytest.mark.item("M5.99")
def test_nothing_leaks_through_cycles(torch):
    class Note:
        pass

    def forward(ctx, x, note):
        out = x * 2
        ctx.note, ctx.out, ctx.self = note, out, ctx
        ctx.save_for_backward(out)
        return out

    F = make(torch, forward, lambda ctx, g: (g, None))
    for run in (True, False):
        note = Note()
        gone = weakref.ref(note)
        y = F.apply(leaf(torch, 2), note)
        if run:
            y.sum().backward()
        del note, y
        gc.collect()
        assert gone() is None


@pytest.mark.item("M5.99")
def test_ctx_survives_its_graph(torch):
    kept = []

    def forward(ctx, x):
        kept.append(ctx)
        ctx.save_for_backward(x)
        return x * 2

    F = make(torch, forward, lambda ctx, g: g)
    y = F.apply(leaf(torch, 2))
    assert kept[0] is y.grad_fn
    del y
    gc.collect()
    assert kept[0].saved_tensors[0].tolist() == [1, 1]
    assert isinstance(kept[0].name(), str) and isinstance(kept[0].next_functions, tuple)


@pytest.mark.item("M5.99")
def test_no_early_free(torch):
    """The graph goes while a node of it runs."""

    class Holder:
        pass

    class F(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, holder):
            ctx.holder = holder
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            ctx.holder.y = None
            gc.collect()
            return g * 2, None

    holder = Holder()
    x = leaf(torch, 2)
    holder.y = F.apply(x, holder)
    loss = holder.y.sum()
    loss.backward()
    assert x.grad.tolist() == [2, 2]


@pytest.mark.item("M5.92")
def test_text_of_ctx(torch):
    """A context is printed with the module of Function, a Function's instance with its own."""

    class Named(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            seen.append((type(ctx).__module__, type(ctx).__qualname__, repr(ctx).split(" at 0x")[0]))
            return x * 1

        @staticmethod
        def backward(ctx, grad):
            seen.append(repr(ctx).split(" at 0x")[0])
            return grad

    seen = []
    module = torch.__name__ + ".autograd.function"
    y = Named.apply(torch.ones(1, requires_grad=True))
    y.backward()
    said = "<%s.NamedBackward object" % module
    assert seen == [(module, "NamedBackward", said), said]
    assert repr(y.grad_fn).split(" at 0x")[0] == said and y.grad_fn.name() == "NamedBackward"
    assert repr(y) == "tensor([1.], grad_fn=<NamedBackward>)"
    assert repr((y * 2).grad_fn).split(" at 0x")[0] == "<MulBackward0 object"
    instance = "<%s.%s object" % (__name__, Named.__qualname__)
    assert repr(Named()).split(" at 0x")[0] == instance


@pytest.mark.item("M5.94")
@pytest.mark.parametrize("zeros", [True, False, None])
def test_gradients_of_outputs_without_gradient(torch, zeros):
    got = []

    def forward(ctx, x):
        if zeros is not None:
            ctx._materialize_non_diff_grads = zeros
        assert ctx._materialize_non_diff_grads is (zeros is not False)
        plain = x.detach().clone()
        ctx.mark_non_differentiable(plain)
        return x * 2, plain, x * 3, 5

    def backward(ctx, *grads):
        got.extend(None if g is None else g.tolist() for g in grads)
        return grads[0]

    Two = make(torch, forward, backward)
    Two.apply(leaf(torch, 1))[0].sum().backward()
    assert got == [[1], None if zeros is False else [0], [0], None]


@pytest.mark.item("M5.92")
def test_ctx_after_the_graph(torch):
    kept = []

    def forward(ctx, x):
        ctx.save_for_backward(x)
        ctx.extra = 7
        kept.append(ctx)
        return x * 2

    Two = make(torch, forward, lambda ctx, g: g * 2)
    y = Two.apply(leaf(torch, 1))
    y.backward(retain_graph=True)
    assert len(kept[0]._raw_saved_tensors) == 1
    del y
    gc.collect()
    assert kept[0].saved_tensors[0].tolist() == [1] and kept[0].extra == 7  # its graph never freed them
    y = Two.apply(leaf(torch, 1))
    y.backward()
    for _ in range(2):
        for name in ("saved_tensors", "_raw_saved_tensors"):
            with pytest.raises(RuntimeError, match="backward through the graph a second time"):
                getattr(kept[1], name)
        assert (
            kept[1].needs_input_grad == (True,) and kept[1].extra == 7 and kept[1].name().endswith("Backward")
        )
        y = None
        gc.collect()
    with pytest.raises(
        AttributeError, match="'materialize_grads' of .*_FunctionBase' objects is not readable"
    ):
        kept[1].materialize_grads
    with pytest.raises(RuntimeError, match="_register_hook_dict expected a Tensor"):
        kept[1]._register_hook_dict(5)


@pytest.mark.item("M5.92")
def test_ctx_that_comes_back_to_life(torch):
    back = []

    class Keeper:
        def __init__(self, ctx):
            self.ctx = ctx

        def __del__(self):
            back.append(self.ctx)

    def forward(ctx, x):
        ctx.save_for_backward(x)
        ctx.keeper = Keeper(ctx)
        return x * 2

    Two = make(torch, forward, lambda ctx, g: g * 2)
    y = Two.apply(leaf(torch, 3))
    del y
    gc.collect()
    (ctx,) = back
    assert (
        ctx.needs_input_grad == (True,)
        and isinstance(repr(ctx), str)
        and isinstance(ctx.next_functions, tuple)
    )
    for name in dir(ctx):
        if name not in ("apply", "__class__"):
            try:
                getattr(ctx, name)
            except (AttributeError, RuntimeError):
                pass
    ctx.save_for_backward(torch.ones(1))
    ctx.mark_dirty(torch.ones(1))
    back.clear()
    del ctx
    gc.collect()
