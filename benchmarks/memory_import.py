"""Import time, threads, resident memory, bytes per tensor; ours, the other library's, and the bare interpreter's.

python benchmarks/memory_import.py
"""

import glob
import os
import subprocess
import sys
import time

from harness import CHECKOUT

RSS = "import os\ndef rss():\n    return int(open('/proc/self/statm').read().split()[1]) * os.sysconf('SC_PAGE_SIZE')\n"
STATE = (
    RSS
    + "import sys\n%s\nprint(rss(), len(os.listdir('/proc/self/task')), len(sys.modules), 'numpy' in sys.modules)"
)
BARS = {
    "import, wall ms over bare": 20,
    "memory after import, MB over bare": 10,
    "threads": 1,
    "bytes per one-element tensor": 320,
}


def environment():
    env = dict(os.environ, OMP_NUM_THREADS="1")
    env.pop("PYTHONDONTWRITEBYTECODE", None)  # installed packages have their byte code
    if glob.glob(os.path.join(CHECKOUT, "minitorch", "_C.*.so")):  # built in place
        env["PYTHONPATH"] = os.pathsep.join(filter(None, [CHECKOUT, env.get("PYTHONPATH")]))
    return env


def run(source):
    return subprocess.run(
        [sys.executable, "-c", source], capture_output=True, text=True, check=True, env=environment()
    ).stdout


def times(sources, n):
    """Least wall and processor time of each program in ms; the programs run in turn. A busy machine adds to both, to
    processor time less."""
    env, least = environment(), {}
    for source in sources * n:
        start = time.perf_counter()
        pid = os.posix_spawn(sys.executable, [sys.executable, "-c", source], env)
        usage = os.wait4(pid, 0)[2]
        wall, cpu = 1e3 * (time.perf_counter() - start), 1e3 * (usage.ru_utime + usage.ru_stime)
        before = least.get(source, (wall, cpu))
        least[source] = (min(wall, before[0]), min(cpu, before[1]))
    return least


def bytes_per_tensor(lib, make):
    return float(
        run(
            RSS + "import %s as lib\nx = [%s for _ in range(1000)]\nkeep = [None] * 200000\nbefore = rss()\n"
            "for i in range(200000):\n    keep[i] = %s\nprint((rss() - before) / 200000)" % (lib, make, make)
        )
    )


def facts(lib, bare_rss, bare, spent):
    memory, threads, modules, numpy = run(STATE % ("import " + lib)).split()
    plain = "lib.zeros(1)" if lib != "numpy" else "lib.zeros(1, 'f4')"
    row = {
        "import, processor ms over bare": spent[1] - bare[1],
        "import, wall ms over bare": spent[0] - bare[0],
        "memory after import, MB over bare": (int(memory) - bare_rss) / 1e6,
        "threads": int(threads),
        "modules": int(modules),
        "bytes per one-element tensor": bytes_per_tensor(lib, plain),
    }
    if lib != "numpy":
        row["bytes with a grad_fn"] = bytes_per_tensor(lib, "lib.ones(1, requires_grad=True) * 2")
    if lib == "minitorch" and numpy == "True":
        row["threads"] = 99  # the bar is an import without NumPy
    return row


def main():
    libs = ["minitorch", "torch", "numpy"]
    for lib in libs[:]:
        try:
            run("import " + lib)
        except subprocess.CalledProcessError:
            libs.remove(lib)
    if "minitorch" not in libs:
        raise SystemExit(
            "minitorch cannot be imported by %s: install it, or build it in place" % sys.executable
        )
    print("importing %s 15 times each ..." % ", ".join(libs), file=sys.stderr)
    spent = times(["pass"] + ["import " + lib for lib in libs], 15)
    bare_rss = int(run(STATE % "pass").split()[0])
    table = {lib: facts(lib, bare_rss, spent["pass"], spent["import " + lib]) for lib in libs}
    print("| | %s | at most |" % " | ".join(libs))
    print("|---|%s---:|" % ("---:|" * len(libs)))
    missed = []
    for key in table["minitorch"]:
        values = [table[lib].get(key) for lib in libs]
        print(
            "| %s | %s | %s |"
            % (key, " | ".join("" if v is None else "%.1f" % v for v in values), BARS.get(key, ""))
        )
        if key in BARS and values[0] > BARS[key]:
            missed.append(key)
    if missed:
        print("\nabove the bar: " + ", ".join(missed))
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
