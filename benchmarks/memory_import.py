"""Import time, resident memory, bytes per tensor; ours, the other library's, and the bare interpreter's.

    python benchmarks/memory_import.py
"""
import os
import statistics
import subprocess
import sys
import time

RSS = "import os\ndef rss():\n    return int(open('/proc/self/statm').read().split()[1]) * os.sysconf('SC_PAGE_SIZE')\n"


def run(source):
    return subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True,
                          env=dict(os.environ, OMP_NUM_THREADS="1")).stdout


def wall(source, n=15):
    times = []
    for _ in range(n):
        start = time.perf_counter()
        run(source)
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e3


def main():
    bare_ms, bare_rss = wall("pass"), int(run(RSS + "print(rss())"))
    print("| library | import, ms over bare | memory after import, MB over bare | bytes per live one-element tensor |")
    print("|---|---:|---:|---:|")
    for lib in ("minitorch", "torch", "numpy"):
        try:
            run("import " + lib)
        except subprocess.CalledProcessError:
            continue
        ms = wall("import " + lib) - bare_ms
        mb = (int(run(RSS + "import %s\nprint(rss())" % lib)) - bare_rss) / 1e6
        make = "lib.zeros(1)" if lib != "numpy" else "lib.zeros(1, 'f4')"
        each = run(RSS + "import %s as lib\nx = [%s for _ in range(1000)]\nkeep = [None] * 200000\nbefore = rss()\n"
                   "for i in range(200000):\n    keep[i] = %s\nprint((rss() - before) / 200000)" % (lib, make, make))
        print("| %s | %.1f | %.1f | %.0f |" % (lib, ms, mb, float(each)))


if __name__ == "__main__":
    main()
