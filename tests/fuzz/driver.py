"""Calls every function and method with random arguments.

    python tests/fuzz/driver.py [--each N] [--seed S] [--log FILE] [NAME ...]

The call under way is in the log file, so that a crash or a hang names itself. Figures go to stdout; the status is 1 when an exception of
another class came up or a failed call changed an argument.
"""

import argparse
import mmap
import random
import sys
import time
import warnings

import minitorch as torch
from minitorch import coverage

EXPECTED = (
    TypeError,
    ValueError,
    RuntimeError,  # NotImplementedError, LinAlgError, OutOfMemoryError among them
    IndexError,
    OverflowError,
    BufferError,
    AttributeError,
    AssertionError,
    MemoryError,
    KeyError,
    StopIteration,
    ZeroDivisionError,
    ImportError,
)
# By purpose they end, block or reconfigure the process, or write files.
LEAVE_OUT = frozenset(
    """set_num_threads set_default_dtype set_default_device set_default_tensor_type set_printoptions save load compile
    set_deterministic_debug_mode use_deterministic_algorithms set_warn_always from_file manual_seed seed set_rng_state set_num_interop_threads
    set_grad_enabled set_anomaly_enabled set_autocast_enabled set_autocast_dtype set_autocast_cpu_dtype set_autocast_cpu_enabled
    set_autocast_gpu_dtype set_autocast_cache_enabled autocast_increment_nesting autocast_decrement_nesting set_flush_denormal
    set_float32_matmul_precision frombuffer backward share_memory_ __setstate__ __init__ __dir__""".split()
)
DTYPES = [
    getattr(torch, name)
    for name in "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128".split()
]
EXTRA = [
    getattr(torch, name)
    for name in "uint16 uint32 uint64 complex32 float8_e4m3fn".split()
    if hasattr(torch, name)
]
SIZES = [
    (),
    (1,),
    (3,),
    (0,),
    (2, 3),
    (3, 3),
    (1, 1),
    (2, 0),
    (4, 1, 3),
    (2, 3, 4),
    (1, 2, 4, 4),
    (1, 1, 2, 3, 3),
]
NUMBERS = [0, 1, 2, 3, -1, -2, 5, 0.5, -0.0, 1.5, True, False, 1j, float("inf"), float("nan")]
HUGE = [2**40, 2**62, 2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 2**64, 10**30, 1e300, -1e300]
WORDS = [
    "",
    "mean",
    "sum",
    "none",
    "ij",
    "floor",
    "trunc",
    "reflect",
    "cpu",
    "meta",
    "a",
    "reduced",
    "fro",
    "constant",
    "amax",
    "i,j->ij",
]


class Strange:
    """Answers with nonsense to what Python asks."""

    def __init__(self, rng):
        self.rng = rng

    def __len__(self):
        return self.rng.choice([0, 1, 3, 2**40])

    def __getitem__(self, i):
        if self.rng.random() < 0.3:
            raise self.rng.choice([IndexError, KeyError, ValueError])("strange")
        return self.rng.choice([0, 1.5, "a", None])

    def __index__(self):
        return self.rng.choice([0, 1, -1, 2**63, 10**30])

    def __float__(self):
        if self.rng.random() < 0.5:
            raise ValueError("strange")
        return 1.0


def tensor(rng):
    dtype = rng.choice(DTYPES if rng.random() < 0.9 or not EXTRA else EXTRA)
    size = rng.choice(SIZES)
    device = "meta" if rng.random() < 0.03 else "cpu"
    t = torch.zeros(size, dtype=dtype, device=device)
    if t.numel() and device == "cpu" and dtype in DTYPES:
        values = torch.tensor([rng.choice([0, 1, 2, 3, -1, 0.5, 7]) for _ in range(t.numel())])
        t = values.to(dtype).view(size)
    way = rng.random()
    if way < 0.15 and t.dim() >= 2:
        t = t.transpose(0, -1)
    elif way < 0.25 and t.dim() >= 1:
        t = t[::2]
    elif way < 0.3 and t.dim() >= 1 and t.shape[0] == 1:
        t = t.expand(3, *t.shape[1:])
    elif way < 0.33 and t.is_complex() and dtype in DTYPES:
        t = t.conj()
    elif way < 0.42 and (t.is_floating_point() or t.is_complex()) and dtype in DTYPES:
        t = t.detach().requires_grad_()
    return t


def integers(rng):
    return [
        rng.choice([0, 1, 2, 3, -1, 4] if rng.random() < 0.95 else HUGE)
        for _ in range(rng.choice([0, 1, 1, 2, 2, 3, 4]))
    ]


VALUES = [
    (10, tensor),
    (5, lambda rng: rng.choice(NUMBERS)),
    (1, lambda rng: rng.choice(HUGE)),
    (3, lambda rng: rng.choice([0, 1, -1, 2, 3])),
    (3, integers),
    (1, lambda rng: tuple(integers(rng))),
    (1, lambda rng: None),
    (1, lambda rng: rng.choice(WORDS)),
    (1, lambda rng: rng.choice(DTYPES)),
    (2, lambda rng: [tensor(rng) for _ in range(rng.choice([0, 1, 2, 3]))]),
    (0.3, lambda rng: [rng.choice([1, 0.5, "a", None, [1], 2**70]) for _ in range(3)]),
    (0.3, Strange),
    (0.2, lambda rng: {"a": 1}),
    (
        0.2,
        lambda rng: rng.choice(
            [slice(None), Ellipsis, object(), int, b"ab", bytearray(b"abcd"), range(3), lambda x: x]
        ),
    ),
]
WEIGHTS = [w for w, _ in VALUES]
KEYWORDS = "dim keepdim out dtype input other size alpha dims n value min max correction unbiased p reduction device requires_grad".split()


def value(rng):
    return rng.choices(VALUES, WEIGHTS)[0][1](rng)


def arguments(rng):
    args = [value(rng) for _ in range(rng.choice([0, 1, 1, 2, 2, 2, 3, 3, 4, 5, 6]))]
    kwargs = {rng.choice(KEYWORDS): value(rng) for _ in range(rng.choice([0, 0, 0, 1, 2]))}
    return args, kwargs


def from_signature(rng, args, parameters):
    """Sometimes as many arguments as the function has, the first one a tensor."""
    wanted = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    args = (args + [value(rng) for _ in wanted])[: len(wanted)]
    if args and rng.random() < 0.7:
        args[0] = tensor(rng)
    return args


def state(t):
    if not isinstance(t, torch.Tensor):
        return None
    data = None if t.device.type == "meta" else bytes(t.untyped_storage())
    return tuple(t.shape), t.stride(), t.storage_offset(), t.dtype, t._version, t.requires_grad, data


def tensors_in(args, kwargs):
    found = []
    for v in list(args) + list(kwargs.values()):
        found += v if isinstance(v, list) and v and isinstance(v[0], torch.Tensor) else [v]
    return [t for t in found if isinstance(t, torch.Tensor)]


def targets(names):
    import inspect

    for path, listed in coverage.names_in_scope().items():
        space = coverage.namespace(path)
        for name in listed:
            if name in LEAVE_OUT or (names and name not in names):
                continue
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = getattr(space, name, None)
            if not callable(found):
                continue
            try:
                parameters = list(inspect.signature(found).parameters.values())
            except ValueError:
                parameters = []
            yield path, name, found, parameters


class Log:
    """The call under way, in memory that outlives the process."""

    SIZE = 4096

    def __init__(self, path):
        self.map = None
        if path:
            with open(path, "wb") as f:
                f.write(b" " * self.SIZE)
            self.file = open(path, "r+b")
            self.map = mmap.mmap(self.file.fileno(), self.SIZE)

    def say(self, text):
        if self.map:
            data = text.encode("utf-8", "replace")[: self.SIZE]
            self.map[: self.SIZE] = data.ljust(self.SIZE)


def shown(v):
    if isinstance(v, torch.Tensor):
        return "T%s/%s/%s%s" % (
            tuple(v.shape),
            v.stride(),
            str(v.dtype).rpartition(".")[2],
            "/grad" if v.requires_grad else "",
        )
    if isinstance(v, (list, tuple)):
        return "[%s]" % ", ".join(map(shown, v))
    return repr(v)[:60]


def run(each, seed, names, log):
    done, failed, wrong, slow = 0, 0, [], []
    for path, name, function, parameters in targets(names):
        rng = random.Random("%s %s %s" % (seed, path, name))
        for i in range(each):
            args, kwargs = arguments(rng)
            if parameters and rng.random() < 0.7:
                args, kwargs = from_signature(rng, args, parameters), {} if rng.random() < 0.7 else kwargs
            if path == "torch.Tensor":
                args = [tensor(rng)] + args[1:]
            log.say(
                "%s.%s call %d: %s %s"
                % (path, name, i, shown(args), {k: shown(v) for k, v in kwargs.items()})
            )
            held = tensors_in(args, kwargs)
            before = [state(t) for t in held]
            started = time.perf_counter()
            done += 1
            try:
                function(*args, **kwargs)
            except EXPECTED:
                failed += 1
                after = [state(t) for t in held]
                if after != before:
                    what = [(b, a) for b, a in zip(before, after) if a != b]
                    wrong.append(
                        "changed by a failed call: %s.%s %s %s %s"
                        % (path, name, shown(args), kwargs and shown(list(kwargs.items())), what)
                    )
            except Exception as e:
                wrong.append("%s from %s.%s %s" % (type(e).__name__, path, name, shown(args)))
            if time.perf_counter() - started > 5:
                slow.append("%.0f s in %s.%s %s" % (time.perf_counter() - started, path, name, shown(args)))
    return done, failed, wrong, slow


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--each", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--log")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    done, failed, wrong, slow = run(options.each, options.seed, frozenset(options.names), Log(options.log))
    print(
        "%d calls, %d results, %d exceptions, %d wrong, %d slow"
        % (done, done - failed, failed, len(wrong), len(slow))
    )
    for line in wrong[:100] + slow[:100]:
        print("  " + line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
