"""Compiles the C programs of this folder and runs them: the elementary functions and the half formats at every ISA level of this
machine, the copies under the sanitizers, the formulas as C++."""

import os
import platform
import shutil
import subprocess

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
CSRC = os.path.join(HERE, "..", "..", "csrc")
CC = os.environ.get("CC", "gcc")
CXX = os.environ.get("CXX", "g++")
WARN = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I" + CSRC]
LOOPS = [
    "-std=gnu17",
    "-O3",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-ffp-contract=off",
]  # as csrc/cpu is compiled
SANITIZE = ["-std=gnu17", "-O1", "-g1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
LEVELS = {
    "v2": ["-march=x86-64-v2"],
    "v3": ["-march=x86-64-v3"],
    "v4": ["-march=x86-64-v4", "-mprefer-vector-width=512"],
}
NEEDS = {"v2": "sse4_2", "v3": "avx2", "v4": "avx512vl"}

pytestmark = pytest.mark.skipif(shutil.which(CC) is None, reason="no C compiler")


def levels():
    if platform.machine() not in ("x86_64", "AMD64"):
        return {"native": []}
    try:
        with open("/proc/cpuinfo") as f:
            features = f.read().split()
    except OSError:
        features = ["sse4_2"]
    return {name: flags for name, flags in LEVELS.items() if NEEDS[name] in features}


def run(tmp_path, source, flags, *args, extra=()):
    target = str(tmp_path / "program")
    sources = [os.path.join(HERE, source)] + [os.path.join(CSRC, p) for p in extra]
    subprocess.check_call([CC, *flags, *WARN, *sources, "-o", target, "-lm"])
    done = subprocess.run([target, *args], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("level", sorted(levels()))
def test_elementary(tmp_path, level):
    run(tmp_path, "elementary.c", LOOPS + levels()[level], "8191")


@pytest.mark.parametrize("level", sorted(levels()))
def test_halves(tmp_path, level):
    run(tmp_path, "halves.c", LOOPS + levels()[level])


def test_copies(tmp_path):
    run(
        tmp_path,
        "copies.c",
        SANITIZE + ["-ffunction-sections", "-Wl,--gc-sections"],
        extra=["cpu/copy.c", "cpu/move.c", "cpu/transpose.c"],
    )


@pytest.mark.skipif(shutil.which(CXX) is None, reason="no C++ compiler")
def test_formulas_are_cpp(tmp_path):
    target = str(tmp_path / "formulas")
    subprocess.check_call([CXX, "-std=c++17", *WARN, os.path.join(HERE, "formulas.cpp"), "-o", target])
    subprocess.check_call([target])
