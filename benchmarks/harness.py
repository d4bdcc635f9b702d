"""Process-pair benchmarks: one worker imports minitorch, the other torch (or numpy); they run in turn, never together.

A case is a function case(lib) that prepares data and returns a callable; both workers execute the same source. For each
pair of samples the ratio other/ours is taken; the report shows the median ratio with its 10-90 % range. Drifts of clock
and neighbours cancel inside a pair.
"""

import argparse
import gc
import glob
import importlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
CHECKOUT = os.path.join(os.path.dirname(HERE), "python")


# --- worker side ---


def calibrate(body, seconds):
    n = 1
    while True:
        start = time.process_time_ns()
        repeat(body, n)
        spent = time.process_time_ns() - start
        if spent >= seconds * 1e9 or n >= 1 << 24:
            return n
        n *= 2 if spent < 1e5 else max(2, min(10, int(seconds * 1.2e9 / spent) + 1))


def repeat(body, n):
    """Runs the body n times; a case made from a statement has a loop of its own, without the call."""
    if hasattr(body, "loop"):
        body.loop(n)
    else:
        for _ in range(n):
            body()


def sample(body, n):
    """Nanoseconds per call; without what its `minus` takes."""
    gc.collect()
    gc.disable()
    start = time.process_time_ns()
    repeat(body, n)
    spent = time.process_time_ns() - start
    gc.enable()
    minus = getattr(body, "minus", None)
    return spent / n - (sample(minus, n) if minus else 0)


class Statement:
    """A statement over some names, as a case: called once, or looped over as timeit does. `minus`: a statement whose time is
    not part of the case, such as `pass`."""

    def __init__(self, source, names, minus=None):
        self.minus = Statement(minus, names) if minus else None
        arguments = ", ".join("%s=%s" % (name, name) for name in names)
        scope = dict(names)
        source = source.replace("\n", "\n        ")
        exec("def loop(n, %s):\n    for _ in range(n):\n        %s" % (arguments, source), scope)
        self.loop = scope["loop"]

    def __call__(self):
        self.loop(1)


def worker(lib_name, module_name):
    lib = importlib.import_module(lib_name)
    threads = int(os.environ.get("BENCH_THREADS", "1"))
    if hasattr(lib, "set_num_threads"):
        lib.set_num_threads(threads)
    cases = importlib.import_module(module_name).CASES
    bodies = {}
    print(json.dumps({"ready": getattr(lib, "__version__", "?")}), flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        try:
            if request["do"] == "setup":
                body = cases[request["case"]](lib)
                for _ in range(3):
                    body()
                bodies = {request["case"]: body}
                answer = {"n": calibrate(body, request["seconds"])}
            else:
                answer = {"ns": sample(bodies[request["case"]], request["n"])}
        except Exception as exc:
            answer = {"error": "%s: %s" % (type(exc).__name__, exc)}
        print(json.dumps(answer), flush=True)


# --- driver side ---

UNLOCK = "int mkl_serv_intel_cpu_true(void) { return 1; }\n"


def unlock_library(folder):
    """MKL asks this function whether the processor is Intel's, and takes slow paths when it is not."""
    source, library = os.path.join(folder, "unlock.c"), os.path.join(folder, "unlock.so")
    with open(source, "w") as file:
        file.write(UNLOCK)
    subprocess.run([os.environ.get("CC", "gcc"), "-shared", "-fPIC", source, "-o", library], check=True)
    return library


class Worker:
    def __init__(self, lib, module, core, preload=None):
        env = dict(
            os.environ,
            OMP_NUM_THREADS=os.environ.get("BENCH_THREADS", "1"),
            OMP_WAIT_POLICY="passive",
            MKL_NUM_THREADS="1",
            OPENBLAS_NUM_THREADS="1",
        )
        for name in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):
            env.pop(name, None)
        if preload:
            env["LD_PRELOAD"] = preload
        if glob.glob(os.path.join(CHECKOUT, "minitorch", "_C.*.so")):  # built in place
            env["PYTHONPATH"] = os.pathsep.join(filter(None, [CHECKOUT, env.get("PYTHONPATH")]))
        command = [sys.executable, os.path.abspath(__file__), "--worker", lib, "--cases", module]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env, cwd=HERE
        )
        if core is not None:
            os.sched_setaffinity(self.process.pid, core)
        first = self.process.stdout.readline()
        if not first:
            raise SystemExit(
                "%s cannot be imported by %s: install it beside the other to compare them"
                % (lib, sys.executable)
            )
        self.version = json.loads(first)["ready"]

    def ask(self, **request):
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def quantile(values, q):
    values = sorted(values)
    return values[min(len(values) - 1, int(q * len(values)))]


def processor():
    try:
        with open("/proc/cpuinfo") as file:
            facts = dict(
                line.split(":", 1) for line in file.read().split("\n\n")[0].split("\n") if ":" in line
            )
        facts = {key.strip(): value.strip() for key, value in facts.items()}
        return "%s, family %s model %s" % (facts["model name"], facts["cpu family"], facts["model"])
    except (OSError, KeyError):
        return "unknown processor"


SAMPLES = {}  # case -> nanoseconds of ours and of the other's, for who wants more than medians


def compare(a, b, name, pairs, seconds):
    """(case, ours ns, other ns, median ratio, 10 %, 90 %) or (case, error text)."""
    first, second = (
        a.ask(do="setup", case=name, seconds=seconds),
        b.ask(do="setup", case=name, seconds=seconds),
    )
    if "error" in first or "error" in second:
        return name, "ours: %s; other: %s" % (first.get("error", "ok"), second.get("error", "ok"))
    ours, others, ratios = [], [], []
    for k in range(pairs):
        order = [(a, first["n"], ours), (b, second["n"], others)]
        for w, n, into in order if k % 2 == 0 else order[::-1]:
            into.append(w.ask(do="sample", case=name, n=n)["ns"])
        ratios.append(others[-1] / ours[-1])
    SAMPLES[name] = ours, others
    return (
        name,
        statistics.median(ours),
        statistics.median(others),
        statistics.median(ratios),
        quantile(ratios, 0.1),
        quantile(ratios, 0.9),
    )


def run(module, names, other="torch", pairs=11, seconds=0.02, unlocked=()):
    """Yields the rows of the cases; those in `unlocked` once more, against the other library with MKL's fast paths."""
    cores = sorted(os.sched_getaffinity(0))
    threads = os.environ.get("BENCH_THREADS", "1")
    core = {cores[0]} if threads == "1" else set(cores)
    a, b, c = Worker("minitorch", module, core), Worker(other, module, core), None
    print(
        "# minitorch %s against %s %s, %s thread(s), %d pairs, %s"
        % (a.version, other, b.version, threads, pairs, processor()),
        flush=True,
    )
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            yield compare(a, b, name, pairs, seconds)
            if name in unlocked and other == "torch":
                c = c or Worker(other, module, core, unlock_library(folder))
                row = compare(a, c, name, pairs, seconds)
                yield (row[0] + ", MKL unlocked",) + row[1:]
    for w in (a, b, c):
        if w:
            w.close()


def report(rows, floors=None, most_ns=None):
    """Prints the table; the names of the rows below their floor, or above their absolute limit."""
    print("| case | ours | other | ratio | 10 % | 90 % | at least |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    losses = []
    for row in rows:
        if len(row) == 2:
            print("| %s | %s |" % row, flush=True)
            losses.append(row[0])
            continue
        name, ours, other, ratio, low, high = row
        floor, most = (floors or {}).get(name), (most_ns or {}).get(name)
        unit, scale = ("ns", 1) if ours < 1e4 else ("us", 1e3) if ours < 1e7 else ("ms", 1e6)
        print(
            "| %s | %.1f %s | %.1f %s | %.2f | %.2f | %.2f | %s%s |"
            % (
                name,
                ours / scale,
                unit,
                other / scale,
                unit,
                ratio,
                low,
                high,
                floor or "",
                ", at most %d ns" % most if most else "",
            ),
            flush=True,
        )
        if (floor and ratio < floor) or (most and ours > most):
            losses.append(name)
    if losses:
        print("\nbelow the floor: " + ", ".join(losses))
    return losses


def main(module, description, floors=None, most_ns=None, unlocked=None, remark=None):
    """The command line of a benchmark file. `unlocked`: floors against PyTorch with MKL's fast paths; `remark`: called
    with the rows at the end."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("cases", nargs="*", help="parts of case names")
    parser.add_argument("--other", default="torch", choices=["torch", "numpy"])
    parser.add_argument("--pairs", type=int, default=11)
    parser.add_argument("--bars", action="store_true", help="only cases that have a floor")
    args = parser.parse_args()
    sys.path.insert(0, HERE)
    floors = dict(floors or {})
    names = [
        n
        for n in importlib.import_module(module).CASES
        if (not args.cases or any(c in n for c in args.cases)) and (n in floors or not args.bars)
    ]
    for name, floor in (unlocked or {}).items():
        floors[name + ", MKL unlocked"] = floor
    seen = []
    rows = (
        seen.append(row) or row for row in run(module, names, args.other, args.pairs, unlocked=unlocked or {})
    )
    losses = report(rows, floors, most_ns)
    if remark:
        remark(seen)
    return 1 if losses else 0


if __name__ == "__main__":
    sys.path.insert(0, HERE)
    parser = argparse.ArgumentParser()
    parser.add_argument("--worker", required=True)
    parser.add_argument("--cases", required=True)
    options = parser.parse_args()
    worker(options.worker, options.cases)
