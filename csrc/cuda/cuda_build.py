"""How _C_cuda is built: by nvcc, or by the host compiler against the launch emulator. Used by setup.py.

MINITORCH_CUDA=0 not at all, 1 with nvcc, emu with the emulator; not set: 1 where nvcc is found.
MINITORCH_CUDA_ARCH="80 90 120" chips to compile for (the last one also as PTX). MINITORCH_CUDA_CHECK=1 is for CI, where no
kernel runs: warnings are errors, no PTX, and nvcc compiles as fast as it can.
"""

import glob
import os
import re
import shutil
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
CXX = {"gcc": "g++", "clang": "clang++"}
HOST_CXX = [
    "-fPIC",
    "-fvisibility=hidden",
    "-fno-exceptions",
    "-fno-rtti",
    "-fno-threadsafe-statics",
    "-Wall",
    "-Wextra",
]


def find_nvcc():
    home = os.environ.get("CUDA_HOME")
    return (home and shutil.which(os.path.join(home, "bin", "nvcc"))) or shutil.which("nvcc")


def mode():
    """ "", "cuda" or "emu"."""
    wanted = os.environ.get("MINITORCH_CUDA", "")
    if wanted not in ("", "0", "1", "emu"):
        raise SystemExit("MINITORCH_CUDA must be 0, 1 or emu, not %r" % wanted)
    if wanted == "1" and not find_nvcc():
        raise SystemExit("MINITORCH_CUDA=1 but nvcc is neither in PATH nor in $CUDA_HOME/bin")
    if wanted == "emu":
        return "emu"
    return "cuda" if wanted == "1" or (wanted == "" and find_nvcc()) else ""


def toolkit(nvcc):
    """The folder of include and lib; nvcc itself may be a script elsewhere."""
    text = subprocess.run(
        [nvcc, "--dryrun", "-E", "-x", "cu", "/dev/null"], capture_output=True, text=True
    ).stderr
    top = re.search(r"^#\$ _?TOP=(.*)$", text, re.M)
    return os.path.abspath(top.group(1)) if top else os.path.dirname(os.path.dirname(os.path.realpath(nvcc)))


def arch_flags():
    chips = os.environ.get("MINITORCH_CUDA_ARCH", "90").replace(";", " ").split()
    codes = ["-gencode=arch=compute_%s,code=sm_%s" % (c, c) for c in chips]
    if not os.environ.get("MINITORCH_CUDA_CHECK"):
        codes.append("-gencode=arch=compute_%s,code=compute_%s" % (chips[-1], chips[-1]))
    return codes


def sources(gen, kind):
    """(path, object stem): hand-written files, then generated ones."""
    patterns = [
        os.path.join(HERE, "*.c"),
        os.path.join(HERE, "*.cu"),
        os.path.join(gen, "cuda_*.c"),
        os.path.join(gen, "cuda_*.cu"),
    ]
    patterns += [os.path.join(HERE, "emu", "*.c*")] if kind == "emu" else []
    for pattern in patterns:
        for path in sorted(glob.glob(pattern)):
            yield path, os.path.basename(path).replace(".", "_")


def ninja_lines(kind, cc, gen, target, common, python_flags, sanitize, py_tag):
    """Rules and edges that build `target`; `common` are the C flags of every file."""
    include = ["-I" + os.path.dirname(HERE), "-I" + gen]
    emu = ["-DMT_CUDA_EMU"] if kind == "emu" else []
    werror = (
        ["-Werror"] if os.environ.get("MINITORCH_WERROR") or os.environ.get("MINITORCH_CUDA_CHECK") else []
    )
    checks = (
        ["-fsanitize=" + sanitize, "-fno-omit-frame-pointer", "-fno-sanitize-recover=undefined"]
        if sanitize
        else []
    )
    if kind == "emu":
        shared = ["-fsanitize-sections=mt_shared"] if "address" in sanitize and "gcc" in cc else []
        device = [CXX.get(cc, "c++"), "-x", "c++", "-std=c++17", "-O1", "-g1", "-ffp-contract=off"]
        device += HOST_CXX + emu + werror + checks + shared + include
        libs = []
    else:
        nvcc = find_nvcc()
        home = toolkit(nvcc)
        lib = next(
            (d for d in ("lib64", "lib") if os.path.exists(os.path.join(home, d, "libcudart_static.a"))),
            "lib64",
        )
        fast = ["-Ofc=max"] if os.environ.get("MINITORCH_CUDA_CHECK") else ["-O3", "--compress-mode=size"]
        device = [nvcc, "-std=c++17", "--fmad=false"] + fast + arch_flags() + include
        device += ["-Werror", "all-warnings"] if werror else []
        device += ["-Xcompiler=" + ",".join(HOST_CXX)]
        common = common + ["-isystem", os.path.join(home, "include")]
        libs = ["-L" + os.path.join(home, lib), "-lcudart_static", "-lrt"]
    depend = "-MMD -MF $out.d" if kind == "emu" else "-MD -MF $out.d"
    lines = [
        "rule cuda",
        "  command = %s %s -c $in -o $out" % (" ".join(device), depend),
        "  depfile = $out.d",
        "  deps = gcc",
        "  description = CUDA $out",
        "rule link_cuda",
        "  command = %s -shared $in -o $out %s"
        % (
            cc,
            " ".join(
                ["-Wl,--gc-sections", "-Wl,--exclude-libs,ALL", "-Wl,-z,now"]
                + (["-Wl,-z,nostart-stop-gc"] if kind == "emu" else [])
                + (["-fsanitize=" + sanitize] if sanitize else ["-Wl,-s"])
                + libs
                + ["-lpthread", "-ldl", "-lm"]
            ),
        ),
        "",
    ]
    objects = []
    files = list(sources(gen, kind)) + [
        (os.path.join(os.path.dirname(HERE), "bindings", "cuda", "module.c"), "module")
    ]
    for path, stem in files:
        folder = "%s_%s" % (kind, py_tag) if stem == "module" else kind
        objects.append("%s/%s.o" % (folder, stem))
        if path.endswith(".c"):
            flags = common + ["-O2"] + emu + werror + (python_flags if stem == "module" else [])
            lines += ["build %s: cc %s" % (objects[-1], path), "  flags = " + " ".join(flags)]
        else:
            lines += ["build %s: cuda %s" % (objects[-1], path)]
    return lines + ["build %s: link_cuda %s" % (target, " ".join(objects)), ""]
