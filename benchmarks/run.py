"""All bars: every case that has a floor, in all files, and what the import and the memory are held to.

    python benchmarks/run.py            the rows with a bar
    python benchmarks/run.py --all      every row
    python benchmarks/run.py --build    and the build (benchmarks/build.py; minutes)

The exit status is 1 when a bar is missed.
"""

import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def main():
    everything, build = "--all" in sys.argv[1:], "--build" in sys.argv[1:]
    options = [] if everything else ["--bars"]
    parts = [
        ["call_overhead.py"] + options,
        ["throughput.py"] + options,
        ["train_step.py"] + options,
        ["interchange.py"] + options,
        ["autograd.py"] + options,
        ["overrides_benchmark.py"] + options,
        ["memory_import.py"],
    ] + ([["build.py", "--wheel"]] if build else [])
    failed = []
    for part in parts:
        print("\n## %s\n" % part[0], flush=True)
        if subprocess.run([sys.executable, os.path.join(HERE, part[0])] + part[1:]).returncode:
            failed.append(part[0])
    print("\nall bars hold" if not failed else "\nbars missed in " + ", ".join(failed))
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
