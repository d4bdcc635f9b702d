"""Write python/minitorch/torch_modules.txt: which modules PyTorch has, from its installed files (nothing is imported).

Modules inside a private package are left out: the package stands for them.
"""

import importlib.machinery
import importlib.metadata
import importlib.util
import os
import re

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PATH = os.path.join(ROOT, "python", "minitorch", "torch_modules.txt")
PREFACE = """The modules of PyTorch %s, by package, for minitorch.as_torch: those that minitorch has not are imported as stubs.
What is inside of a private package is not listed.  Written by tests/record/record_modules.py.
"""
SUFFIXES = sorted(importlib.machinery.all_suffixes(), key=len, reverse=True)


def stem(file):
    """The name of the module in a file, or None."""
    for suffix in SUFFIXES:
        if file.endswith(suffix):
            name = file[: -len(suffix)]
            return name if name.isidentifier() and name not in ("__init__", "__main__") else None
    return None


def children(folder):
    """Names of the modules and packages in a folder."""
    for entry in os.scandir(folder):
        if not entry.is_dir():
            name = stem(entry.name)
            if name:
                yield name
        elif entry.name.isidentifier() and entry.name != "__pycache__":
            if any(f.endswith(".py") for _, _, files in os.walk(entry.path) for f in files):
                yield entry.name


def packages(name, folder):
    """Pairs of package and names of its children."""
    found = sorted(set(children(folder)))
    if found:
        yield name, found
    for child in found:
        inner = os.path.join(folder, child)
        if not child.startswith("_") and os.path.isdir(inner):
            yield from packages("%s.%s" % (name, child), inner)


def made_by_code(folder):
    """Modules without a file, which the package itself puts into sys.modules."""
    with open(os.path.join(folder, "__init__.py"), encoding="utf-8") as f:
        return re.findall(r'sys\.modules\.setdefault\(f"\{__name__\}\.(\w+)"', f.read())


def wrapped(words, width=120):
    lines = [""]
    for word in words:
        if len(lines[-1]) + len(word) >= width:
            lines.append("")
        lines[-1] += (" " if lines[-1] else "") + word
    return lines


def main():
    folder = importlib.util.find_spec("torch").submodule_search_locations[0]
    version = importlib.metadata.version("torch").partition("+")[0]
    with open(PATH, "w", encoding="utf-8") as f:
        f.write(PREFACE % version)
        for name, found in packages("torch", folder):
            found = sorted({*found, *(made_by_code(folder) if name == "torch" else ())})
            f.write("\n[%s]\n%s\n" % (name, "\n".join(wrapped(found))))


if __name__ == "__main__":
    main()
