"""Builds the extension: runs the generator, writes a build.ninja, runs ninja.

Switches (environment): MINITORCH_SANITIZE=address,undefined  MINITORCH_BLAS=bundled|system
MINITORCH_WERROR=1  MINITORCH_CUDA=0|1|emu  MINITORCH_DEBUG=1  CC=gcc|clang
"""

import glob
import importlib.metadata
import os
import platform
import shlex
import shutil
import subprocess
import sys
import sysconfig

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "csrc", "cuda"))
import cuda_build  # noqa: E402
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

ROOT = os.path.dirname(os.path.abspath(__file__))
VERSION = "0.1.0"
X86 = platform.machine() in ("x86_64", "AMD64")
SANITIZE = os.environ.get("MINITORCH_SANITIZE", "")
CC = os.environ.get("CC", "gcc")
CLANG = "clang" in os.path.basename(CC)  # names the loops it does not vectorise: no defect

# One line per ISA level: suffix and flags. Other processors have the baseline only.
ISA_LEVELS = (
    {
        "v2": ["-march=x86-64-v2"],
        "v3": ["-march=x86-64-v3"],
        "v4": ["-march=x86-64-v4", "-mprefer-vector-width=512"],
    }
    if X86
    else {"v2": []}
)

COMMON = [
    "-std=gnu17",
    "-fPIC",
    "-fvisibility=hidden",
    "-fno-semantic-interposition",
    "-ffunction-sections",
    "-fdata-sections",
    "-Wall",
    "-Wextra",
    "-Wpedantic",
    "-g1",
] + (["-Wno-pass-failed"] if CLANG else [])
# gcc clears and copies short arrays by string instructions, which take longer to start than a whole call may cost.
SHORT = (
    ["-m%s-strategy=unrolled_loop:128:noalign,libcall:-1:noalign" % name for name in ("memset", "memcpy")]
    if X86 and "gcc" in os.path.basename(CC)
    else []
)
LAYERS = {  # folder -> flags
    "base": ["-O2"] + SHORT,
    "core": ["-O3"] + SHORT,
    "ops": ["-O3"] + SHORT,
    "autograd": ["-O2"] + SHORT,
    "cpu": ["-O3", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=off"],
    "gen": ["-O2"] + SHORT,
}


def run_codegen(out):
    """Runs the generator when one of its inputs is newer than its stamp."""
    stamp = os.path.join(out, "stamp")
    inputs = [
        p
        for pattern in (
            "csrc/ops/*.yaml",
            "csrc/codegen/*.py",
            "csrc/codegen/stubs/**/*.*",
            "python/minitorch/**/*.py",
            "csrc/core/*.def",
            "csrc/math/*.h",
            "csrc/**/*.c",
        )
        for p in glob.glob(os.path.join(ROOT, pattern), recursive=True)
    ]
    newest = max(os.path.getmtime(p) for p in inputs)
    if not os.path.exists(stamp) or os.path.getmtime(stamp) < newest:
        subprocess.check_call([sys.executable, os.path.join(ROOT, "csrc", "codegen"), out])
        with open(stamp, "w") as f:
            f.write("\n".join(sorted(inputs)))
        os.utime(stamp, (newest, newest))


def sources(gen):
    """Yields (source, object stem, flags, needs Python.h)."""
    for layer, flags in LAYERS.items():
        folder = gen if layer == "gen" else os.path.join(ROOT, "csrc", layer)
        for path in sorted(glob.glob(os.path.join(folder, "**", "*.c"), recursive=True)):
            stem = "%s/%s" % (layer, os.path.relpath(path, folder)[:-2].replace(os.sep, "_"))
            name = os.path.basename(path)
            if name.startswith("cuda_"):
                continue  # generated for _C_cuda
            if name in ("methods.c",):
                yield path, stem, ["-O2"] + SHORT, True
            elif name.endswith("_isa.c"):
                for level, isa_flags in ISA_LEVELS.items():
                    yield path, stem + "_" + level, flags + isa_flags + ["-DMT_ISA_SUFFIX=_" + level], False
            elif name.startswith("loops_"):
                level = name[:-2].rsplit("_", 1)[1]
                if level in ISA_LEVELS:  # loops_unary_v3.c includes loops_unary.c
                    yield path, stem, LAYERS["cpu"] + ISA_LEVELS[level], False
            else:
                yield path, stem, flags, False
    for path in sorted(glob.glob(os.path.join(ROOT, "csrc", "bindings", "*.c"))):
        yield path, "bindings/" + os.path.basename(path)[:-2], ["-O2"] + SHORT, True


def blas_library(lib_dir):
    """Puts the BLAS library beside the package; it is loaded at first use, never linked."""
    if os.environ.get("MINITORCH_BLAS", "bundled") == "system":
        path = subprocess.check_output(["pkg-config", "--variable=libdir", "openblas"], text=True).strip()
        return [shlex.quote('-DMT_BLAS_SYSTEM="%s/libopenblas.so.0"' % path)]
    try:
        import scipy_openblas32 as blas
    except ImportError:
        return []
    os.makedirs(lib_dir, exist_ok=True)
    source = os.path.join(blas.get_lib_dir(), blas.get_library(fullname=True))
    for path in [source] + glob.glob(
        os.path.join(os.path.dirname(blas.get_lib_dir()), "..", "scipy_openblas32.libs", "*.so*")
    ):
        target = os.path.join(lib_dir, os.path.basename(path))
        if not os.path.exists(target) or os.path.getsize(target) != os.path.getsize(path):
            shutil.copy2(path, target)
    for path in importlib.metadata.files("scipy-openblas32") or ():
        if path.name.upper().startswith("LICENSE"):  # of OpenBLAS and of the Fortran runtime inside it
            shutil.copy2(path.locate(), os.path.join(lib_dir, "LICENSE.txt"))
    return []


def copy_if_changed(source, target):
    with open(source, encoding="utf-8") as f:
        text = f.read()
    if not os.path.exists(target) or open(target, encoding="utf-8").read() != text:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, "w", encoding="utf-8") as f:
            f.write(text)


def copy_stubs(source, target):
    """The stubs of the package, beside its modules; stubs of modules that are gone go."""
    wanted = {
        os.path.relpath(p, source) for p in glob.glob(os.path.join(source, "**", "*.pyi"), recursive=True)
    }
    for name in wanted:
        copy_if_changed(os.path.join(source, name), os.path.join(target, name))
    for path in glob.glob(os.path.join(target, "**", "*.pyi"), recursive=True):
        if os.path.relpath(path, target) not in wanted:
            os.remove(path)


class BuildExt(build_ext):
    def run(self):
        self.development = bool(self.inplace)  # super() clears inplace while it builds
        super().run()

    def build_extension(self, ext):
        tag = "-".join(
            filter(
                None,
                [
                    os.path.basename(CC),
                    SANITIZE.replace(",", "-"),
                    "debug" if os.environ.get("MINITORCH_DEBUG") else "",
                ],
            )
        )
        work = os.path.join(ROOT, "build", tag)
        gen = os.path.join(ROOT, "build", "gen")
        os.makedirs(work, exist_ok=True)
        run_codegen(gen)
        target = os.path.abspath(self.get_ext_fullpath(ext.name))
        copy_stubs(gen, os.path.dirname(target))
        defines = blas_library(os.path.join(os.path.dirname(target), "_libs"))
        cuda = cuda_build.mode() if ext.name.endswith("_C_cuda") else ""
        self.write_ninja(work, gen, target, defines, cuda)
        try:
            from ninja import BIN_DIR

            ninja = os.path.join(BIN_DIR, "ninja")
        except ImportError:
            ninja = "ninja"
        subprocess.check_call([ninja, "-C", work, "-f", self.ninja_name(cuda), "--quiet"])

    def copy_extensions_to_source(self):
        """In a development checkout the library stands beside the extension, too."""
        super().copy_extensions_to_source()
        for ext in self.extensions:
            built = os.path.dirname(
                os.path.abspath(os.path.join(self.build_lib, self.get_ext_filename(ext.name)))
            )
            beside = os.path.dirname(os.path.abspath(self.get_ext_fullpath(ext.name)))
            copy_stubs(built, beside)
            if os.path.isdir(os.path.join(built, "_libs")):
                shutil.copytree(
                    os.path.join(built, "_libs"), os.path.join(beside, "_libs"), dirs_exist_ok=True
                )

    def ninja_name(self, cuda):
        return "build-%s%s.ninja" % (cuda and cuda + "-", sysconfig.get_config_var("SOABI"))

    def write_ninja(self, work, gen, target, defines, cuda):
        import numpy

        flags = COMMON + ["-I" + os.path.join(ROOT, "csrc"), "-I" + gen]
        link = ["-shared", "-Wl,--gc-sections", "-Wl,-O1", "-Wl,-Bsymbolic-functions", "-Wl,-z,now"]
        if SANITIZE:
            flags += ["-fsanitize=" + SANITIZE, "-fno-omit-frame-pointer", "-fno-sanitize-recover=undefined"]
            link += ["-fsanitize=" + SANITIZE]
        elif not self.development:
            link.append("-Wl,-s")
        if os.environ.get("MINITORCH_DEBUG"):
            flags.append("-DMT_DEBUG")
        if os.environ.get("MINITORCH_WERROR"):
            flags.append("-Werror")
        py_tag = sysconfig.get_config_var("SOABI")
        py_flags = ["-isystem", sysconfig.get_paths()["include"], "-isystem", numpy.get_include()]
        lines = [
            "ninja_required_version = 1.3",
            "rule cc",
            "  command = %s $flags -MMD -MF $out.d -c $in -o $out" % CC,
            "  depfile = $out.d",
            "  deps = gcc",
            "  description = CC $out",
            "rule link",
            "  command = %s $in -o $out %s -lm -lpthread -ldl" % (CC, " ".join(link)),
            "",
        ]
        objects = []
        if cuda:
            lines += cuda_build.ninja_lines(cuda, CC, gen, target, flags, py_flags, SANITIZE, py_tag)
        for path, stem, extra, python in sources(gen) if not cuda else ():
            obj = "%s/%s.o" % (py_tag if python else "obj", stem)
            objects.append(obj)
            lines += [
                "build %s: cc %s" % (obj, path),
                "  flags = "
                + " ".join(
                    flags + extra + (py_flags if python else []) + (defines if stem == "cpu/lapack" else [])
                ),
            ]
        lines += [] if cuda else ["build %s: link %s" % (target, " ".join(objects))]
        lines += ["default " + target, ""]
        text = "\n".join(lines)
        path = os.path.join(work, self.ninja_name(cuda))
        if not os.path.exists(path) or open(path).read() != text:
            with open(path, "w") as f:
                f.write(text)
        os.makedirs(os.path.dirname(target), exist_ok=True)


setup(
    version=VERSION,
    package_dir={"": "python"},
    packages=["minitorch"]
    + [
        "minitorch." + os.path.relpath(d, os.path.join(ROOT, "python", "minitorch")).replace(os.sep, ".")
        for d, _, files in os.walk(os.path.join(ROOT, "python", "minitorch"))
        if "__init__.py" in files and not d.endswith("minitorch")
    ],
    package_data={"": ["*.pyi", "py.typed", "*.gz", "*.txt", "_libs/*"]},
    ext_modules=[Extension("minitorch._C", [])]
    + [Extension("minitorch._C_cuda", [])] * bool(cuda_build.mode()),
    cmdclass={"build_ext": BuildExt},
)
