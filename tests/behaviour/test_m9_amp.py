"""Mixed precision: which dtype ops run in under autocast, how blocks nest, and the life of a scaled loss."""

import copy
import gzip
import json
import os
import pickle
import sys

import pytest

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, TESTS)
import autocast_dtypes  # noqa: E402

INF = float("inf")


@pytest.mark.item("M9.51")
@pytest.mark.filterwarnings("ignore")
def test_dtypes_of_every_op(torch):
    with gzip.open(os.path.join(TESTS, "data", "autocast.json.gz")) as f:
        recorded = json.load(f)
    assert autocast_dtypes.differences(torch) == recorded
    assert recorded["mm|T(3, 4), T(4, 2)|float32"] == ["bfloat16"]
    assert len({key.partition("|")[0] for key in recorded}) > 30


@pytest.mark.item("M9.51")
def test_blocks(torch):
    a = torch.ones(2, 2)
    with torch.autocast("cpu"):
        assert (a @ a).dtype == torch.bfloat16 and torch.is_autocast_enabled("cpu")
        with torch.autocast("cpu", dtype=torch.float16):
            assert (a @ a).dtype == torch.float16
            with torch.amp.autocast("cpu", enabled=False):
                assert (a @ a).dtype == torch.float32
            assert (a @ a).dtype == torch.float16
        assert (a @ a).dtype == torch.bfloat16
        # A given output and a written operand say what dtype the result has.
        assert torch.add(a, a.bfloat16()).dtype == torch.float32
        assert a.clone().mul_(a).dtype == torch.float32
        assert (a.double() @ a.double()).dtype == torch.float64
    assert (a @ a).dtype == torch.float32 and not torch.is_autocast_enabled("cpu")
    with pytest.raises(KeyError), torch.autocast("cpu"):
        raise KeyError
    assert not torch.is_autocast_enabled("cpu") and torch.get_autocast_dtype("cpu") == torch.bfloat16

    @torch.autocast("cpu")
    def decorated(x):
        """Doc."""
        return x @ x

    assert decorated(a).dtype == torch.bfloat16 and decorated.__doc__ == "Doc."


@pytest.mark.item("M9.51")
def test_gradients_come_back_in_float32(torch):
    w = torch.full((2, 2), 0.5, requires_grad=True)
    x = torch.ones(3, 2)
    with torch.autocast("cpu"):
        y = torch.nn.functional.linear(x, w)
        z = torch.nn.functional.linear(x, w)
    assert y.grad_fn.next_functions[1][0] is not None
    (y.float().sum() + z.float().sum()).backward()
    assert w.grad.dtype == torch.float32 and w.grad.tolist() == [[6.0, 6.0], [6.0, 6.0]]
    # A cast made without history must not serve a recorded product.
    with torch.autocast("cpu"):
        with torch.no_grad():
            torch.nn.functional.linear(x, w)
        with torch.autocast("cpu", cache_enabled=False):
            assert torch.nn.functional.linear(x, w).requires_grad


@pytest.mark.item("M9.51")
def test_kept_casts(torch):
    w = torch.ones(2, 2, requires_grad=True)
    x = torch.ones(2, 2)

    def cast(y):
        return y.grad_fn.next_functions[1][0]

    with torch.autocast("cpu"):
        assert cast(x @ w) is cast(x @ w)
        with torch.autocast("cpu", cache_enabled=False):
            assert cast(x @ w) is not cast(x @ w)
        first = cast(x @ w)
        torch.clear_autocast_cache()
        assert cast(x @ w) is not first
        with torch.no_grad():
            w.fill_(3.0)
        torch.clear_autocast_cache()
        assert (x @ w).tolist() == [[6.0, 6.0], [6.0, 6.0]]


@pytest.mark.item("M9.51")
def test_arguments(torch):
    with pytest.raises(ValueError, match="device_type"):
        torch.autocast(3)
    with pytest.raises(RuntimeError):
        torch.autocast("nonsense")
    with pytest.raises(RuntimeError):
        torch.autocast("meta")
    with pytest.warns(UserWarning, match="target dtype is not supported"):
        off = torch.autocast("cpu", dtype=torch.float32)
    with off:
        assert (torch.ones(1, 1) @ torch.ones(1, 1)).dtype == torch.float32
    with pytest.warns(FutureWarning, match="deprecated"):
        torch.cpu.amp.autocast()
    assert torch.autocast is torch.amp.autocast and torch.amp.is_autocast_available("cpu")


@pytest.mark.item("M9.51")
def test_custom_functions(torch):
    seen = []

    class Product(torch.autograd.Function):
        @staticmethod
        @torch.amp.custom_fwd(device_type="cpu")
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            return a @ b

        @staticmethod
        @torch.amp.custom_bwd(device_type="cpu")
        def backward(ctx, grad):
            a, b = ctx.saved_tensors
            seen.append((grad @ b.t()).dtype)
            return grad @ b.t(), a.t() @ grad

    class Float(torch.autograd.Function):
        @staticmethod
        @torch.amp.custom_fwd(device_type="cpu", cast_inputs=torch.float32)
        def forward(ctx, a):
            return a @ a

        @staticmethod
        @torch.amp.custom_bwd(device_type="cpu")
        def backward(ctx, grad):
            return grad

    a = torch.ones(2, 2, requires_grad=True)
    with torch.autocast("cpu"):
        y = Product.apply(a, a)
        z = Float.apply(a.bfloat16())
    assert y.dtype == torch.bfloat16 and z.dtype == torch.float32
    y.float().sum().backward()
    assert seen == [torch.bfloat16] and a.grad.dtype == torch.float32
    assert Float.apply(torch.ones(1, 1).bfloat16()).dtype == torch.bfloat16


def scaled(torch, **options):
    w = torch.nn.Parameter(torch.ones(2))
    return (
        w,
        torch.optim.SGD([w], lr=0.5),
        torch.amp.GradScaler("cpu", init_scale=8.0, growth_interval=2, **options),
    )


@pytest.mark.item("M9.51")
def test_scaler(torch):
    w, optimizer, scaler = scaled(torch)
    values = []
    for factor in (1.0, INF, 1.0, 1.0, 1.0):
        optimizer.zero_grad()
        scaler.scale((w * factor).sum()).backward()
        scaler.step(optimizer)
        scaler.update()
        values.append((w[0].item(), scaler.get_scale()))
    assert values == [(0.5, 8.0), (0.5, 4.0), (0.0, 4.0), (-0.5, 8.0), (-1.0, 8.0)]
    state = scaler.state_dict()
    assert state == {
        "scale": 8.0,
        "growth_factor": 2.0,
        "backoff_factor": 0.5,
        "growth_interval": 2,
        "_growth_tracker": 1,
    }
    other = scaled(torch)[2]
    other.load_state_dict(state)
    assert other.state_dict() == state == pickle.loads(pickle.dumps(scaler)).state_dict()
    assert copy.deepcopy(scaler).get_scale() == 8.0


@pytest.mark.item("M9.51")
def test_unscaled_gradients(torch):
    w, optimizer, scaler = scaled(torch)
    loss = scaler.scale(w.sum())
    assert loss.item() == 16.0 and [t.item() for t in scaler.scale([w[0], w[1]])] == [8.0, 8.0]
    loss.backward()
    scaler.unscale_(optimizer)
    assert w.grad.tolist() == [1.0, 1.0]
    with pytest.raises(RuntimeError, match="already been called"):
        scaler.unscale_(optimizer)
    scaler.step(optimizer)
    with pytest.raises(RuntimeError, match="already been called"):
        scaler.step(optimizer)
    with pytest.raises(RuntimeError, match="after step"):
        scaler.unscale_(optimizer)
    scaler.update()
    assert w.tolist() == [0.5, 0.5]
    scaler.scale(w.sum())
    scaler.update(3.0)
    assert scaler.get_scale() == 3.0


@pytest.mark.item("M9.51")
def test_what_a_scaler_refuses(torch):
    w, optimizer, scaler = scaled(torch)
    for call in (lambda: scaler.step(optimizer), scaler.update, lambda: scaler.unscale_(optimizer)):
        with pytest.raises(AssertionError, match="_scale is None"):
            call()
    with pytest.raises(ValueError, match="outputs must be"):
        scaler.scale(3)
    scaler.scale(w.sum())
    with pytest.raises(AssertionError, match="No inf checks"):
        scaler.step(optimizer)  # there are no gradients
    with pytest.raises(RuntimeError, match="Closure"):
        scaler.step(optimizer, closure=lambda: 1)
    with pytest.raises(RuntimeError, match="empty"):
        scaler.load_state_dict({})
    for options in ({"growth_factor": 1.0}, {"backoff_factor": 1.0}):
        with pytest.raises(AssertionError, match="factor must be"):
            scaled(torch, **options)
    half = torch.nn.Parameter(torch.ones(2).half())
    scaler.scale(half.sum()).backward()
    with pytest.raises(ValueError, match="FP16"):
        scaler.unscale_(torch.optim.SGD([half], lr=1.0))


@pytest.mark.item("M9.51")
def test_disabled_scaler(torch):
    w, optimizer, _ = scaled(torch)
    scaler = torch.amp.GradScaler("cpu", enabled=False)
    loss = w.sum()
    assert scaler.scale(loss) is loss and scaler.get_scale() == 1.0 and scaler.state_dict() == {}
    loss.backward()
    scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()
    assert w.tolist() == [0.5, 0.5] and not scaler.is_enabled()


@pytest.mark.item("M9.51")
def test_ops_of_the_scaler(torch):
    unscale, update = torch._amp_foreach_non_finite_check_and_unscale_, torch._amp_update_scale_
    grads = [torch.tensor([2.0, 4.0]), torch.tensor([INF]), torch.tensor(6.0), torch.ones(0)]
    found, half = torch.zeros(1), torch.tensor([0.5])
    assert unscale(grads[:1], found, half) is None and found.item() == 0.0
    unscale(grads, found, half)
    assert [g.tolist() for g in grads] == [[0.5, 1.0], [INF], 3.0, []] and found.item() == 1.0
    with pytest.raises(NotImplementedError):
        unscale([torch.ones(2, dtype=torch.int64)], found, half)
    for bad in (torch.ones(2), torch.ones(1, dtype=torch.float64)):
        with pytest.raises(RuntimeError, match="inv_scale"):
            unscale([torch.ones(2)], found, bad)
    scale, tracker = torch.tensor([8.0]), torch.tensor([1], dtype=torch.int32)
    update(scale, tracker, torch.zeros(1), 2.0, 0.5, 2)
    assert (scale.item(), tracker.item()) == (16.0, 0)
    update(scale, tracker, torch.ones(1), 2.0, 0.5, 2)
    assert (scale.item(), tracker.item()) == (8.0, 0)
    huge = torch.tensor([3e38])
    update(huge, tracker, torch.zeros(1), 2.0, 0.5, 1)
    assert huge.item() == pytest.approx(3e38)
