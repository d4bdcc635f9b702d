"""Every op with its first, second, ... allocation failing: an exception, nothing leaked, inputs unchanged, and the op
right afterwards."""

import pytest

import opdb

pytestmark = pytest.mark.minitorch_only(reason="allocations are made to fail through our own hook")


def cases():
    return [
        pytest.param(e, id=e.schema.full_name) for e in opdb.entries() if opdb.samples(e) and not e.random
    ]


def run(torch, entry, args, kwargs):
    function = opdb.find(torch, entry) or getattr(torch.Tensor, entry.name)
    return function(*args, **kwargs)


@pytest.mark.parametrize("grad", [False, True], ids=["plain", "grad"])
@pytest.mark.parametrize("entry", cases())
def test_allocation_failures(torch, entry, grad):
    testing = torch._C._testing
    found = None
    for expression in opdb.samples(entry):
        for dtype in ("float32", "int64", "bool", "complex64"):
            try:
                filler = opdb.Filler(torch, dtype, requires_grad=grad)
                args, kwargs = filler.evaluate(expression)
                before = [opdb.describe(t) for t in opdb.flatten(list(args)) if isinstance(t, torch.Tensor)]
                expected = [opdb.describe(r) for r in opdb.flatten(run(torch, entry, args, kwargs))]
                found = True
                break
            except Exception:
                continue
        if found:
            break
    if not found:
        return
    live = testing.alloc_stats()["live_blocks"]
    for n in range(1, 200):
        testing.fail_at(n)
        try:
            result = run(torch, entry, args, kwargs)
            failed = testing.failed()
        except (RuntimeError, MemoryError):
            failed = testing.failed()
            assert failed
            result = None
        finally:
            testing.fail_at(0)
        if result is not None:
            got = [opdb.describe(r) for r in opdb.flatten(result)]
            assert got == expected or any(
                v != v for d in got for v in d.get("values", []) if not isinstance(v, list)
            )
        del result
        if not failed:
            break
    assert testing.alloc_stats()["live_blocks"] <= live
    assert (
        [opdb.describe(t) for t in opdb.flatten(list(args)) if isinstance(t, torch.Tensor)] == before
        or grad
        or (entry.only_inplace)
    )


def inject(torch, action, expected):
    """The action with its n-th allocation failing, n = 1, 2, ... until none fails: an exception or the right result."""
    testing = torch._C._testing
    for n in range(1, 1000):
        testing.fail_at(n)
        try:
            result = action()
            failed = testing.failed()
        except (RuntimeError, MemoryError):
            failed = testing.failed()
            assert failed
            result = None
        finally:
            testing.fail_at(0)
        assert result is None or result == expected
        if not failed:
            return
    raise AssertionError("more than a thousand allocations")


def weighted_gradients(torch, entry, expression):
    filler = opdb.Filler(torch, "float64", requires_grad=True)
    args, kwargs = filler.evaluate(expression)
    outputs = [
        o for o in opdb.flatten(run(torch, entry, args, kwargs)) if hasattr(o, "dtype") and o.requires_grad
    ]
    total = opdb.weighted_sum(torch, outputs, opdb.Filler(torch, "float64"))
    grads = torch.autograd.grad(total, filler.made, allow_unused=True)
    return [None if g is None else opdb.describe(g) for g in grads]


def same_numbers(a, b):
    return repr(a) == repr(b)  # nan equals itself


class Numbers(list):
    def __eq__(self, other):
        return same_numbers(list(self), list(other))

    __hash__ = None


def gradient_cases():
    return [c for c in cases() if opdb.differentiable(c.values[0])]


@pytest.mark.parametrize("entry", gradient_cases())
def test_gradient_allocation_failures(torch, entry):
    """Forward, the gradient formula and the walk over the graph."""
    for expression in opdb.samples(entry)[:2]:

        def action():
            return Numbers(weighted_gradients(torch, entry, expression))

        try:
            expected = action()
        except Exception:
            continue  # not differentiable with these arguments: other tests say so
        live = torch._C._testing.alloc_stats()["live_blocks"]
        inject(torch, action, expected)
        assert torch._C._testing.alloc_stats()["live_blocks"] <= live
        assert action() == expected


@pytest.mark.parametrize("entry", gradient_cases())
def test_forward_mode_allocation_failures(torch, entry):
    forward_ad = torch.autograd.forward_ad
    for expression in opdb.samples(entry)[:1]:
        filler = opdb.Filler(torch, "float64", requires_grad=True)
        filler.evaluate(expression)
        if not filler.made:
            continue

        def action():
            with forward_ad.dual_level():

                class Dual(opdb.Filler):
                    def _make(self, values, shape, dtype=None, grad=True):
                        t = super()._make(values, shape, dtype, grad)
                        plain = t.detach()
                        return forward_ad.make_dual(plain, plain) if t.requires_grad else t

                args, kwargs = Dual(torch, "float64", requires_grad=True).evaluate(expression)
                outputs = opdb.flatten(run(torch, entry, args, kwargs))
                tangents = [forward_ad.unpack_dual(o).tangent for o in outputs if hasattr(o, "dtype")]
                return Numbers(None if t is None else opdb.describe(t) for t in tangents)

        try:
            expected = action()
        except Exception:
            continue
        live = torch._C._testing.alloc_stats()["live_blocks"]
        inject(torch, action, expected)
        assert torch._C._testing.alloc_stats()["live_blocks"] <= live
        assert action() == expected


def test_training_step_allocation_failures(torch):
    """A step of the demo's network: forward, loss, backward into .grad."""
    from minitorch.demo import digits_cnn

    torch.manual_seed(0)
    model = digits_cnn.DigitNet()
    parameters = list(model.parameters())
    pictures, labels = torch.rand(2, 1, 8, 8), torch.tensor([3, 7])

    def action():
        for p in parameters:
            p.grad = None
        torch.nn.functional.cross_entropy(model(pictures), labels).backward()
        return Numbers(opdb.describe(p.grad) for p in parameters)

    expected = action()
    live = torch._C._testing.alloc_stats()["live_blocks"]
    inject(torch, action, expected)
    assert torch._C._testing.alloc_stats()["live_blocks"] <= live
    assert action() == expected


# --- overrides ---


def override_calls(torch):
    """Calls of every road to an override, with the answers they give."""

    class Duck:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return "duck"

    class Refuses:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return NotImplemented

    class Sub(torch.Tensor):
        pass

    class Mode(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    t, d = torch.ones(2), Duck()
    s, r, mode = t.as_subclass(Sub), Refuses(), Mode()
    many = [type("K%d" % i, (Refuses,), {})() for i in range(9)] + [d]

    def under(action):
        def run():
            with mode, mode:
                return action()

        return run

    plain = {
        "function": lambda: torch.add(t, d, alpha=2),
        "method": lambda: t.add(d),
        "list": lambda: torch.cat([r, d]),
        "many": lambda: torch.cat(many),
        "index": lambda: t[0, [d]],
        "operator": lambda: t + d,
        "python operator": lambda: t**d,
        "python": lambda: torch.einsum("i", d),
        "subclass": lambda: type(s + 1) is Sub,
        "named result": lambda: type(s.max(0)[0]) is Sub,
        "property": lambda: s.shape,
        "length": lambda: len(s),
        "float": lambda: float(s[0]),
        "redispatch": lambda: torch.overrides.redispatch_function(torch.add, (), (s, 1), {}).tolist(),
        "disabled": lambda: torch._C._disabled_torch_function_impl(torch.add, (), (s, 1)).tolist(),
    }
    table = dict(plain)
    table.update(("mode " + name, under(action)) for name, action in plain.items())
    table["mode switch"] = under(lambda: torch.no_grad().__enter__() or torch.set_grad_enabled(True) and None)
    return table


OVERRIDE_CALLS = [
    "function", "method", "list", "many", "index", "operator", "python operator", "python", "subclass",
    "named result", "property", "length", "float", "redispatch", "disabled",
]  # fmt: skip
OVERRIDE_CALLS += ["mode " + name for name in OVERRIDE_CALLS] + ["mode switch"]


def override_state(torch):
    C = torch._C
    return C._len_torch_function_stack(), C._is_torch_function_enabled(), C._is_torch_function_all_disabled()


@pytest.mark.parametrize("name", OVERRIDE_CALLS)
def test_override_allocation_failures(torch, name):
    action = override_calls(torch)[name]
    expected, before = action(), override_state(torch)

    def checked():
        try:
            return action()
        finally:
            assert override_state(torch) == before

    inject(torch, checked, expected)
    assert action() == expected


@pytest.mark.parametrize("name", OVERRIDE_CALLS)
def test_override_without_memory_for_objects(torch, name):
    """The n-th allocation of Python's objects fails."""
    hooks = pytest.importorskip("_testcapi")
    action = override_calls(torch)[name]
    expected, before = action(), override_state(torch)
    for n in range(80):
        result = expected
        hooks.set_nomemory(n, n + 1)
        try:
            result = action()
        except Exception:
            pass
        finally:
            hooks.remove_mem_hooks()
        assert override_state(torch) == before
        torch.set_grad_enabled(True)
        assert result == expected
    assert action() == expected
