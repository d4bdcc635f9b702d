"""What a build costs: a clean one, one after a kernel file was touched, one after nothing was; the size of the wheel.

    python benchmarks/build.py [--wheel] [--cores 2]

Builds a copy of the checkout with MINITORCH_CUDA=0 and without ccache. The interpreter needs what pyproject.toml lists for
builds. Processor seconds divided by the cores say what the wall time is on a machine with nothing else to do.
"""

import argparse
import glob
import os
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
KERNEL = os.path.join("csrc", "cpu", "softmax_isa.c")


def real_compiler():
    """gcc itself, where `gcc` on the path may be ccache."""
    for folder in os.environ["PATH"].split(os.pathsep):
        path = os.path.join(folder, "gcc")
        if (
            os.access(path, os.X_OK)
            and "ccache" not in os.path.realpath(path)
            and not open(path, "rb").read(2) == b"#!"
        ):
            return path
    return "gcc"


def copy(target):
    shutil.copytree(
        ROOT,
        target,
        ignore=shutil.ignore_patterns(".git", "build", "dist", "*.so", "__pycache__", "_libs", "*.egg-info"),
    )


def measure(command, folder, env):
    """Wall and processor seconds."""
    before, start = os.times(), time.perf_counter()
    subprocess.run(
        command, cwd=folder, env=env, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    after = os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return time.perf_counter() - start, cpu


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--wheel", action="store_true", help="build the wheel as well")
    parser.add_argument("--cores", type=int, default=2)
    args = parser.parse_args()
    env = dict(os.environ, MINITORCH_CUDA="0", CCACHE_DISABLE="1", CC=real_compiler())
    env["PATH"] = os.path.dirname(sys.executable) + os.pathsep + env["PATH"]
    os.sched_setaffinity(0, set(sorted(os.sched_getaffinity(0))[: args.cores]))
    build = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]
    rows, missed = [], []
    with tempfile.TemporaryDirectory() as folder:
        tree = os.path.join(folder, "tree")
        copy(tree)
        rows.append(("clean build", 240) + measure(build, tree, env))
        os.utime(os.path.join(tree, KERNEL))
        rows.append(("build after touching " + os.path.basename(KERNEL), 15) + measure(build, tree, env))
        rows.append(("build after touching nothing", 2) + measure(build, tree, env))
        print("| | wall s | processor s | at most, wall s on %d cores |" % args.cores)
        print("|---|---:|---:|---:|")
        for name, most, wall, cpu in rows:
            print("| %s | %.1f | %.1f | %d |" % (name, wall, cpu, most), flush=True)
            if min(wall, cpu / args.cores if most > 60 else wall) > most:
                missed.append(name)
        if args.wheel:
            subprocess.run(
                [sys.executable, "setup.py", "-q", "bdist_wheel"],
                cwd=tree,
                env=env,
                check=True,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            size = os.path.getsize(glob.glob(os.path.join(tree, "dist", "*.whl"))[0]) / 1e6
            print("| wheel, MB | %.1f | | 15 |" % size)
            if size > 15:
                missed.append("wheel")
    if missed:
        print("\nabove the bar: " + ", ".join(missed))
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
