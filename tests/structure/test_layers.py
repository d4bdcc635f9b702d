"""Rules that keep the tree readable: layering, sizes, names, READMEs. Nothing here needs the extension."""

import glob
import os
import re

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CSRC = os.path.join(ROOT, "csrc")
# Who may include whom: a folder may name those before it.
ORDER = ["base", "core", "math", "cpu", "cuda", "ops", "autograd", "bindings"]
ALLOWED = {
    "base": {"base"},
    "core": {"base", "core", "math"},
    "math": {"base", "core", "math"},
    "cpu": {"base", "core", "math", "cpu"},
    "cuda": {"base", "core", "math", "cuda", "ops"},
    "ops": {"base", "core", "math", "ops", "cpu"},
    "autograd": {"base", "core", "ops", "autograd"},
    "bindings": set(ORDER),
}


def c_files(pattern="*"):
    return sorted(
        glob.glob(os.path.join(CSRC, pattern, "**", "*.[ch]"), recursive=True)
        + glob.glob(os.path.join(CSRC, pattern, "**", "*.cu"), recursive=True)
    )


def read(path):
    with open(path) as f:
        return f.read()


def layer_of(path):
    return os.path.relpath(path, CSRC).split(os.sep)[0]


def test_includes_point_one_way():
    wrong = []
    for path in c_files():
        layer = layer_of(path)
        for target in re.findall(r'#include "(\w+)/', read(path)):
            if target in ORDER and target not in ALLOWED[layer]:
                wrong.append("%s includes %s/" % (os.path.relpath(path, ROOT), target))
    assert not wrong


def test_python_and_cuda_headers_stay_in_their_folders():
    wrong = [
        os.path.relpath(p, ROOT)
        for p in c_files()
        if ("Python.h" in re.findall(r"#include <([\w.]+)>", read(p)) and layer_of(p) != "bindings")
        or (
            re.search(r"#include [<\"]cuda", read(p))
            and layer_of(p) not in ("cuda",)
            and not re.search(r'#include "cuda/', read(p))
        )
    ]
    assert not wrong


def test_malloc_only_in_base():
    wrong = []
    for path in c_files():
        if layer_of(path) in ("base", "bindings", "cuda"):
            continue
        if re.search(r"(?<![\w.>])(malloc|calloc|realloc|free)\(", read(path)):
            wrong.append(os.path.relpath(path, ROOT))
    assert not wrong


def test_file_sizes():
    files = [
        p
        for pattern in (
            "csrc/**/*.[ch]",
            "csrc/**/*.cu",
            "csrc/**/*.py",
            "python/**/*.py",
            "tests/**/*.py",
            "benchmarks/*.py",
            "setup.py",
        )
        for p in glob.glob(os.path.join(ROOT, pattern), recursive=True)
    ]
    assert not [os.path.relpath(p, ROOT) for p in files if read(p).count("\n") > 1000]


def test_licence_line_comes_first():
    wrong = [
        os.path.relpath(p, ROOT) for p in c_files() if not read(p).startswith("/* SPDX-License-Identifier:")
    ]
    assert not wrong


def test_no_double_underscore_in_identifiers():
    """Identifiers with a double underscore are reserved in C++, in which part of the headers must compile."""
    allowed = re.compile(
        r"__(attribute|builtin\w*|thread|atomic\w*|asm|volatile|STDC\w*|GNUC\w*|clang\w*|x86_64|"
        r"aarch64|SANITIZE\w*|has_feature|FILE|LINE|extension|cplusplus|VA_ARGS|F16C|AVX\w*|FMA\w*|BMI\d|"
        r"CUDA\w*|linux|SSE\w*|sanitizer\w*|lsan\w*|asan\w*|tsan\w*|BYTE_ORDER|ORDER\w*|restrict|"
        r"popcntdq|noinline|forceinline|host|device|get_cpuid\w*|ATOMIC\w*|i386|m\d+\w*|mmask\d+|APPLE|OPTIMIZE|NVCC|GLIBC\w*|typeof)(__)?\b"
    )
    wrong = []
    for path in c_files():
        if layer_of(path) in ("bindings", "cuda"):
            continue
        text = re.sub(r'"(\\.|[^"\\])*"|/\*.*?\*/', "", read(path), flags=re.S)
        for word in set(re.findall(r"\b\w*__\w*\b", text)):
            if not allowed.match(word):
                wrong.append("%s: %s" % (os.path.relpath(path, ROOT), word))
    assert not wrong


def folders():
    """Every folder with sources that people write."""
    found = set()
    for top in ("csrc", "python/minitorch", "tests", "benchmarks", "examples"):
        for folder, _, names in os.walk(os.path.join(ROOT, top)):
            if any(re.search(r"\.(c|h|py|cu|cuh|yaml|def)$", name) for name in names):
                found.add(os.path.relpath(folder, ROOT))
    return sorted(f for f in found if not f.startswith("tests/codegen/") and "__pycache__" not in f)


@pytest.mark.parametrize("folder", folders())
def test_readme_names_every_file(folder):
    readme = os.path.join(ROOT, folder, "README.md")
    assert os.path.exists(readme), "%s has no README.md" % folder
    text = read(readme)
    missing = [
        name
        for name in sorted(os.listdir(os.path.join(ROOT, folder)))
        if re.search(r"\.(c|h|py|cu|cuh|yaml|def)$", name) and name.split(".")[0] not in text
    ]
    assert not missing


def test_notes_resolve():
    notes = set()
    for path in glob.glob(os.path.join(ROOT, "**", "README.md"), recursive=True):
        notes.update(re.findall(r"Note \[([^\]]+)\]", read(path)))
    wrong = []
    for path in c_files():
        for title in re.findall(r"Note \[([^\]]+)\]", read(path)):
            if title not in notes:
                wrong.append("%s: Note [%s]" % (os.path.relpath(path, ROOT), title))
    assert not wrong
