# SPDX-License-Identifier: BSD-3-Clause
"""torch.Generator: construction, seeding, state, and the exact random streams."""

import copy
import os
import pickle
import subprocess
import sys
import threading

import pytest

FIRST_SEED = 67280421310721


def seeded(torch, seed):
    return torch.Generator().manual_seed(seed)


@pytest.fixture
def keep_rng(torch):
    state = torch.get_rng_state()
    yield
    torch.set_rng_state(state)


# --- construction ---


@pytest.mark.item("M1.10")
def test_constructor_forms(torch):
    for g in (
        torch.Generator(),
        torch.Generator("cpu"),
        torch.Generator(device="cpu"),
        torch.Generator(torch.device("cpu")),
        torch.Generator(device=torch.device("cpu")),
        torch.Generator(None),
    ):
        assert isinstance(g, torch.Generator)
        assert g.device == torch.device("cpu")


@pytest.mark.item("M1.10")
@pytest.mark.parametrize("device", ["meta", "opengl", "no such device", ""])
def test_constructor_refuses_devices_without_generator(torch, device):
    with pytest.raises(RuntimeError):
        torch.Generator(device)
    with pytest.raises(RuntimeError):
        torch.Generator(device=device)


@pytest.mark.item("M1.10")
@pytest.mark.parametrize("bad", [1.5, [], object()])
def test_constructor_refuses_other_types(torch, bad):
    with pytest.raises(TypeError, match="device"):
        torch.Generator(bad)
    with pytest.raises(TypeError):
        torch.Generator("cpu", "cpu")
    with pytest.raises(TypeError):
        torch.Generator(seed=1)


# --- methods ---


@pytest.mark.item("M1.11")
def test_methods(torch):
    g = torch.Generator()
    assert g.manual_seed(7) is g
    assert g.initial_seed() == 7
    state = g.get_state()
    first = torch.rand(5, generator=g)
    assert not torch.equal(torch.rand(5, generator=g), first)
    assert g.set_state(state) is g
    assert torch.equal(torch.rand(5, generator=g), first)
    assert g.device == torch.device("cpu")
    with pytest.raises(AttributeError):
        g.device = torch.device("cpu")


@pytest.mark.item("M1.11")
def test_seed_is_not_deterministic(torch):
    g = torch.Generator()
    a = g.seed()
    assert isinstance(a, int) and 0 <= a < 2**64
    assert g.initial_seed() == a
    assert g.seed() != a
    other = torch.Generator().manual_seed(g.initial_seed())
    assert torch.equal(torch.rand(3, generator=g), torch.rand(3, generator=other))


@pytest.mark.item("M1.11")
def test_equal_seeds_give_equal_streams(torch):
    a, b = seeded(torch, 12), seeded(torch, 12)
    for draw in (torch.rand, torch.randn):
        for n in (1, 3, 16, 33):
            assert torch.equal(draw(n, generator=a), draw(n, generator=b))
    assert torch.equal(torch.randperm(9, generator=a), torch.randperm(9, generator=b))
    assert not torch.equal(
        torch.rand(4, generator=seeded(torch, 1)), torch.rand(4, generator=seeded(torch, 2))
    )


@pytest.mark.item("M1.11")
def test_clone_state(torch):
    g = seeded(torch, 5)
    torch.randn(3, generator=g)
    clone = g.clone_state()
    assert clone is not g and isinstance(clone, torch.Generator)
    assert torch.equal(clone.get_state(), g.get_state())
    expected = torch.randn(4, generator=clone)
    assert torch.equal(torch.randn(4, generator=g), expected)


@pytest.mark.item("M1.11")
def test_offset_is_not_for_the_cpu(torch):
    g = torch.Generator()
    with pytest.raises(RuntimeError):
        g.get_offset()
    with pytest.raises(RuntimeError):
        g.set_offset(0)
    with pytest.raises(NotImplementedError):
        g.graphsafe_get_state()
    with pytest.raises(NotImplementedError):
        g.graphsafe_set_state(torch.Generator())


# --- seeds ---


@pytest.mark.item("M1.12")
def test_fresh_generator(torch):
    assert torch.Generator().initial_seed() == FIRST_SEED
    assert torch.equal(torch.Generator().get_state(), seeded(torch, FIRST_SEED).get_state())


@pytest.mark.item("M1.12")
@pytest.mark.parametrize(
    "seed, read",
    [
        (0, 0),
        (5, 5),
        (-1, 2**64 - 1),
        (-5, 2**64 - 5),
        (2**63, 2**63),
        (2**64 - 1, 2**64 - 1),
        (-(2**63), 2**63),
        (2**63 - 1, 2**63 - 1),
    ],
)
def test_seed_range(torch, keep_rng, seed, read):
    assert torch.Generator().manual_seed(seed).initial_seed() == read
    assert torch.manual_seed(seed).initial_seed() == read
    assert torch.initial_seed() == read


@pytest.mark.item("M1.12")
@pytest.mark.parametrize("seed", [2**64, -(2**63) - 1, 10**30])
def test_seed_out_of_range(torch, seed):
    g = seeded(torch, 3)
    with pytest.raises(ValueError, match="Overflow"):
        g.manual_seed(seed)
    assert g.initial_seed() == 3


@pytest.mark.item("M1.12")
@pytest.mark.parametrize("seed", [1.0, True, "1", None, [1]])
def test_seed_of_other_types(torch, seed):
    with pytest.raises(RuntimeError):
        torch.Generator().manual_seed(seed)


# --- state ---


@pytest.mark.item("M1.13")
def test_state_form(torch):
    state = torch.Generator().get_state()
    assert state.dtype is torch.uint8
    assert state.shape == (5056,)
    assert torch.get_rng_state().shape == (5056,)


@pytest.mark.item("M1.13")
def test_state_is_a_copy(torch):
    g = seeded(torch, 1)
    state = g.get_state()
    kept = state.clone()
    torch.rand(700, generator=g)
    assert torch.equal(state, kept)
    assert not torch.equal(g.get_state(), kept)
    after = g.get_state()
    state.zero_()
    assert torch.equal(g.get_state(), after)


@pytest.mark.item("M1.13")
def test_set_state_refuses(torch):
    g = seeded(torch, 1)
    before = g.get_state()
    for dtype in (torch.int8, torch.float32, torch.int64):
        with pytest.raises(TypeError):
            g.set_state(before.to(dtype))
    for bad in (None, 3, b"x" * 5056, [0] * 5056):
        with pytest.raises(TypeError):
            g.set_state(bad)
    for size in (0, 5048, 5055, 5057):
        with pytest.raises(RuntimeError, match="5056") as info:
            g.set_state(torch.zeros(size, dtype=torch.uint8))
        assert str(size) in str(info.value)
    with pytest.raises(RuntimeError):
        g.set_state(torch.full((5056,), 255, dtype=torch.uint8))
    assert torch.equal(g.get_state(), before)


@pytest.mark.item("M1.13")
def test_rng_state_round_trip_through_pickle(torch, keep_rng):
    torch.manual_seed(4)
    state = torch.get_rng_state()
    expected = torch.rand(10)
    torch.set_rng_state(pickle.loads(pickle.dumps(state)))
    assert torch.equal(torch.rand(10), expected)


# --- the streams ---

STREAMS = {
    "rand": (lambda t: t.rand(3), [0.4963, 0.7682, 0.0885]),
    "randn": (lambda t: t.randn(3), [1.5410, -0.2934, -2.1788]),
    "randn 17": (lambda t: t.randn(17)[:3], [-1.1258, -1.6959, 0.5667]),
    "randint": (lambda t: t.randint(10, (5,)), [4, 9, 3, 0, 3]),
    "randperm": (lambda t: t.randperm(5), [4, 0, 1, 3, 2]),
    "bernoulli": (lambda t: t.bernoulli(t.full((5,), 0.5)), [1, 0, 1, 1, 1]),
    "normal_": (lambda t: t.empty(3).normal_(2, 3), [6.6230, 1.1197, -4.5364]),
    "exponential_": (lambda t: t.empty(3).exponential_(), [3.5083, 1.2304, 0.6150]),
    "multinomial": (lambda t: t.multinomial(t.ones(5), 3), [2, 4, 1]),
    "linear": (lambda t: t.nn.Linear(2, 2).weight.detach().flatten(), [-0.0053, 0.3793, -0.5820, -0.5204]),
}


@pytest.mark.item("M1.14")
@pytest.mark.parametrize("name", STREAMS)
def test_streams_of_seed_zero(torch, keep_rng, name):
    draw, expected = STREAMS[name]
    torch.manual_seed(0)
    assert draw(torch).tolist() == pytest.approx(expected, abs=5.1e-5)


@pytest.mark.item("M1.14")
def test_a_block_of_normals_is_drawn_in_another_order(torch):
    few = torch.randn(15, generator=seeded(torch, 0))
    many = torch.randn(16, generator=seeded(torch, 0))
    assert not torch.equal(few, many[:15])


@pytest.mark.item("M1.14")
def test_stream_does_not_depend_on_how_it_is_cut(torch):
    whole = torch.rand(1000, generator=seeded(torch, 3))
    g = seeded(torch, 3)
    assert torch.equal(torch.cat([torch.rand(n, generator=g) for n in (1, 624, 300, 75)]), whole)


# --- generator= ---


@pytest.mark.item("M1.15")
@pytest.mark.parametrize("bad", [1, "cpu", 1.5, [], object()])
def test_generator_of_the_wrong_type(torch, bad):
    with pytest.raises(TypeError, match="rand"):
        torch.rand(2, generator=bad)
    with pytest.raises(TypeError, match="generator"):
        torch.empty(2).normal_(generator=bad)
    with pytest.raises(TypeError, match="randperm"):
        torch.randperm(3, generator=bad)


@pytest.mark.item("M1.15")
def test_generator_none_and_meta(torch):
    assert torch.rand(2, generator=None).shape == (2,)
    g = seeded(torch, 1)
    assert torch.empty(2, device="meta").normal_(generator=g).device.type == "meta"


# --- the cached second normal ---


@pytest.mark.item("M1.16")
@pytest.mark.parametrize("n", [1, 3, 15, 101])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_odd_draws_replay(torch, n, dtype):
    dtype = getattr(torch, dtype)
    g = seeded(torch, 0)
    torch.randn(n, generator=g, dtype=dtype)
    torch.randn(1, generator=g, dtype=dtype)
    state = g.get_state()
    a = torch.randn(n, generator=g, dtype=dtype)
    g.set_state(state)
    assert torch.equal(torch.randn(n, generator=g, dtype=dtype), a)


@pytest.mark.item("M1.16")
def test_the_cache_is_dropped_by_a_seed(torch):
    g = seeded(torch, 0)
    a = torch.randn(1, generator=g)
    g.manual_seed(0)
    assert torch.equal(torch.randn(1, generator=g), a)


# --- pickling ---


@pytest.mark.item("M1.17")
@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_pickle(torch, protocol):
    g = seeded(torch, 9)
    torch.randn(3, generator=g)
    again = pickle.loads(pickle.dumps(g, protocol))
    assert type(again) is torch.Generator
    assert again.device == g.device
    assert again.initial_seed() == 9
    assert torch.equal(again.get_state(), g.get_state())
    assert torch.equal(torch.randn(5, generator=again), torch.randn(5, generator=g))


@pytest.mark.item("M1.17")
def test_deepcopy(torch):
    g = seeded(torch, 9)
    again = copy.deepcopy(g)
    assert again is not g
    assert torch.equal(torch.rand(5, generator=again), torch.rand(5, generator=g))


# --- threads and processes ---


@pytest.mark.item("M1.18")
def test_threads_share_a_generator(torch):
    g = seeded(torch, 0)
    parts = [[] for _ in range(4)]

    def draw(into):
        for _ in range(50):
            into.append(torch.rand(10, generator=g))

    threads = [threading.Thread(target=draw, args=(part,)) for part in parts]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    drawn = torch.cat([x for part in parts for x in part]).sort().values
    assert torch.equal(drawn, torch.rand(2000, generator=seeded(torch, 0)).sort().values)


WORKERS = """
import sys, importlib
torch = importlib.import_module(sys.argv[1])
data = importlib.import_module(sys.argv[1] + ".utils.data")

class Draws(data.Dataset):
    def __len__(self):
        return 4
    def __getitem__(self, i):
        info = data.get_worker_info()
        return info.id, info.seed, torch.initial_seed(), torch.rand(1).item()

if __name__ == "__main__":
    torch.manual_seed(1)
    seen = {}
    for batch in data.DataLoader(Draws(), batch_size=None, num_workers=2):
        worker, seed, initial, value = batch
        seen.setdefault(int(worker), []).append((int(seed), int(initial), float(value)))
    (s0, i0, v0), (s1, i1, v1) = seen[0][0], seen[1][0]
    assert s1 == s0 + 1 and i0 == s0 and i1 == s1, seen
    assert v0 != v1, seen
    print("fine")
"""


@pytest.mark.item("M1.18")
def test_workers_have_streams_of_their_own(torch, lib_name, tmp_path):
    script = tmp_path / "workers.py"
    script.write_text(WORKERS)
    env = dict(os.environ, PYTHONPATH=os.pathsep.join(p for p in sys.path if p))
    done = subprocess.run(
        [sys.executable, str(script), lib_name], capture_output=True, text=True, env=env, timeout=120
    )
    assert done.stdout == "fine\n", done.stderr
