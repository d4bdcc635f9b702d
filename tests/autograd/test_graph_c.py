"""The graph in C, over the miniature catalog of c/ops.c: once under the address and undefined
behaviour sanitizers, once optimised (there objects are recycled, which the sanitizers forbid)."""

import glob
import os
import shutil
import subprocess

import pytest

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "c")
CSRC = os.path.join(HERE, "..", "..", "..", "csrc")
CC = os.environ.get("CC", "gcc")
FLAGS = [
    "-std=gnu17",
    "-g1",
    "-Wall",
    "-Wextra",
    "-Wpedantic",
    "-Werror",
    "-pthread",
    "-I" + HERE,
    "-I" + CSRC,
    "-I" + os.path.join(HERE, "..", "..", "core"),
]
MODES = {
    "sanitize": [
        "-O1",
        "-fsanitize=address,undefined",
        "-fno-sanitize-recover=all",
        "-fno-omit-frame-pointer",
    ],
    "optimised": ["-O2"],
}
UNDER_TEST = ["base/*.c", "core/*.c", "autograd/*.c", "cpu/cast_isa.c", "cpu/cast_shell.c", "cpu/move.c"]
PROGRAMS = sorted(os.path.basename(p)[:-2] for p in glob.glob(os.path.join(HERE, "test_*.c")))

pytestmark = [
    pytest.mark.skipif(shutil.which(CC) is None, reason="no C compiler"),
    pytest.mark.minitorch_only(reason="tests C sources"),
]


@pytest.fixture(scope="module", params=sorted(MODES))
def library(request, tmp_path_factory):
    folder = str(tmp_path_factory.mktemp(request.param))
    sources = sorted(p for pattern in UNDER_TEST for p in glob.glob(os.path.join(CSRC, pattern)))
    objects = []
    for source in sources + [os.path.join(HERE, "ops.c")]:
        name = os.path.relpath(source, os.path.dirname(CSRC)).replace(os.sep, "_").replace("..", "up")
        objects.append(os.path.join(folder, name + ".o"))
        subprocess.check_call([CC, *FLAGS, *MODES[request.param], "-c", source, "-o", objects[-1]])
    return MODES[request.param], objects, folder


@pytest.mark.parametrize("program", PROGRAMS)
def test_c_program(library, program):
    flags, objects, folder = library
    target = os.path.join(folder, program)
    subprocess.check_call(
        [CC, *FLAGS, *flags, os.path.join(HERE, program + ".c"), *objects, "-o", target, "-lm"]
    )
    done = subprocess.run([target], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
