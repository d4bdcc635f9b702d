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
import time

HERE = os.path.dirname(os.path.abspath(__file__))
CHECKOUT = os.path.join(os.path.dirname(HERE), "python")


# --- worker side ---

def calibrate(body, seconds):
    n = 1
    while True:
        start = time.process_time_ns()
        for _ in range(n):
            body()
        spent = time.process_time_ns() - start
        if spent >= seconds * 1e9 or n >= 1 << 24:
            return n
        n *= 2 if spent < 1e5 else max(2, min(10, int(seconds * 1.2e9 / spent) + 1))


def sample(body, n):
    loop = range(n)
    gc.collect()
    gc.disable()
    start = time.process_time_ns() if time.get_clock_info("process_time").resolution < 1e-6 else time.perf_counter_ns()
    for _ in loop:
        body()
    spent = time.process_time_ns() - start
    gc.enable()
    return spent / n


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

class Worker:
    def __init__(self, lib, module, core):
        env = dict(os.environ, OMP_NUM_THREADS=os.environ.get("BENCH_THREADS", "1"), OMP_WAIT_POLICY="passive",
                   MKL_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
        for name in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):
            env.pop(name, None)
        if glob.glob(os.path.join(CHECKOUT, "minitorch", "_C.*.so")):  # built in place
            env["PYTHONPATH"] = os.pathsep.join(filter(None, [CHECKOUT, env.get("PYTHONPATH")]))
        command = [sys.executable, os.path.abspath(__file__), "--worker", lib, "--cases", module]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env,
                                        cwd=HERE)
        if core is not None:
            os.sched_setaffinity(self.process.pid, core)
        self.version = json.loads(self.process.stdout.readline())["ready"]

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


def run(module, names, other="torch", pairs=11, seconds=0.02):
    """Yields (case, ours ns, other ns, median ratio, 10 %, 90 %) or (case, error text)."""
    cores = sorted(os.sched_getaffinity(0))
    core = {cores[0]} if os.environ.get("BENCH_THREADS", "1") == "1" else set(cores)
    a, b = Worker("minitorch", module, core), Worker(other, module, core)
    print("# minitorch %s against %s %s, %s thread(s), %d pairs" % (
        a.version, other, b.version, os.environ.get("BENCH_THREADS", "1"), pairs))
    for name in names:
        first, second = a.ask(do="setup", case=name, seconds=seconds), b.ask(do="setup", case=name, seconds=seconds)
        if "error" in first or "error" in second:
            yield name, "ours: %s; other: %s" % (first.get("error", "ok"), second.get("error", "ok"))
            continue
        ours, others, ratios = [], [], []
        for k in range(pairs):
            order = [(a, first["n"], ours), (b, second["n"], others)]
            for w, n, into in order if k % 2 == 0 else order[::-1]:
                into.append(w.ask(do="sample", case=name, n=n)["ns"])
            ratios.append(others[-1] / ours[-1])
        yield (name, statistics.median(ours), statistics.median(others), statistics.median(ratios),
               quantile(ratios, 0.1), quantile(ratios, 0.9))
    a.close()
    b.close()


def report(rows, floors=None):
    print("| case | ours | other | ratio | 10 % | 90 % | at least |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    losses = []
    for row in rows:
        if len(row) == 2:
            print("| %s | %s |" % row, flush=True)
            losses.append(row[0])
            continue
        name, ours, other, ratio, low, high = row
        floor = (floors or {}).get(name)
        unit, scale = ("ns", 1) if ours < 1e4 else ("us", 1e3) if ours < 1e7 else ("ms", 1e6)
        print("| %s | %.1f %s | %.1f %s | %.2f | %.2f | %.2f | %s |" % (
            name, ours / scale, unit, other / scale, unit, ratio, low, high, floor or ""), flush=True)
        if floor and ratio < floor:
            losses.append(name)
    if losses:
        print("\nbelow the floor: " + ", ".join(losses))
    return losses


def main(module, description, floors=None):
    """The command line of a benchmark file."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("cases", nargs="*", help="parts of case names")
    parser.add_argument("--other", default="torch", choices=["torch", "numpy"])
    parser.add_argument("--pairs", type=int, default=11)
    args = parser.parse_args()
    sys.path.insert(0, HERE)
    names = [n for n in importlib.import_module(module).CASES if not args.cases or any(c in n for c in args.cases)]
    report(run(module, names, args.other, args.pairs), floors)


if __name__ == "__main__":
    sys.path.insert(0, HERE)
    parser = argparse.ArgumentParser()
    parser.add_argument("--worker", required=True)
    parser.add_argument("--cases", required=True)
    options = parser.parse_args()
    worker(options.worker, options.cases)
