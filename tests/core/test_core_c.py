"""Compiles the C programs of this folder with the system compiler and runs them: once under the address and undefined
behaviour sanitizers, once optimised (there blocks and objects are recycled, which the sanitizers forbid)."""

import glob
import os
import shutil
import subprocess

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
CSRC = os.path.join(HERE, "..", "..", "csrc")
CC = os.environ.get("CC", "gcc")
FLAGS = [
    "-std=gnu17",
    "-g1",
    "-Wall",
    "-Wextra",
    "-Wpedantic",
    "-Werror",
    "-I" + CSRC,
    "-I" + HERE,
    "-pthread",
]
SANITIZE = ["-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer"]
MODES = {"sanitize": SANITIZE, "optimised": ["-O2"]}
PROGRAMS = sorted(os.path.basename(p)[:-2] for p in glob.glob(os.path.join(HERE, "*.c")))
UNDER_TEST = [
    "base/*.c",
    "core/*.c",
    "ops/meta.c",
    "ops/refusal.c",
    "ops/pointwise*.c",
    "ops/reduce*.c",
    "cpu/cast_isa.c",
    "cpu/cast_shell.c",
    "cpu/move.c",
]

pytestmark = pytest.mark.skipif(shutil.which(CC) is None, reason="no C compiler")


def compile_all(sources, flags, folder):
    objects = []
    for source in sources:
        objects.append(os.path.join(folder, source.replace(os.sep, "_") + ".o"))
        subprocess.check_call([CC, *FLAGS, *flags, "-c", source, "-o", objects[-1]])
    return objects


@pytest.fixture(scope="session", params=sorted(MODES))
def library(request, tmp_path_factory):
    """(flags, objects) of everything below the catalog."""
    folder = str(tmp_path_factory.mktemp(request.param))
    sources = sorted(p for pattern in UNDER_TEST for p in glob.glob(os.path.join(CSRC, pattern)))
    return MODES[request.param], compile_all(sources, MODES[request.param], folder), folder


@pytest.mark.parametrize("program", PROGRAMS)
def test_c_program(library, program):
    flags, objects, folder = library
    target = os.path.join(folder, program)
    subprocess.check_call(
        [CC, *FLAGS, *flags, os.path.join(HERE, program + ".c"), *objects, "-o", target, "-lm"]
    )
    done = subprocess.run([target], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
