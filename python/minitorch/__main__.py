# SPDX-License-Identifier: BSD-3-Clause
"""Runs programs that say `import torch`.

usage: python -m minitorch [--lazy | --strict] SCRIPT [ARGS]       a file, a folder or a zip file with a __main__.py
       python -m minitorch [--lazy | --strict] -m MODULE [ARGS]    a module or a package
       python -m minitorch [--lazy | --strict] -c CODE [ARGS]      a piece of code
       python -m minitorch [--lazy | --strict] - [ARGS]            standard input

`torch` and everything in it is minitorch; the rest is as python does it: sys.argv, sys.path, __main__, tracebacks, exit status.

  --strict       a name that is missing fails where it is asked for (the default)
  --lazy         it fails where it is used, and the names that were missing are listed at the end
  -h, --help     this text
  -V, --version  the version

The environment variable MINITORCH_AS_TORCH, "strict" or "lazy", chooses the mode where no option does.
"""

import sys

PROGRAM = "python -m minitorch"


class Usage(Exception):
    """The command line is wrong."""


def parse(arguments):
    """parse(arguments) -> (lazy, kind, target, rest): kind is one of script, module, code, stdin, help, version."""
    lazy, rest = None, list(arguments)
    while rest:
        word = rest.pop(0)
        if word in ("--lazy", "--strict"):
            lazy = word == "--lazy"
        elif word in ("-h", "--help"):
            return lazy, "help", None, rest
        elif word in ("-V", "--version"):
            return lazy, "version", None, rest
        elif word == "-":
            return lazy, "stdin", word, rest
        elif word.startswith(("-m", "-c")):
            kind = "module" if word[1] == "m" else "code"
            if word[2:]:
                return lazy, kind, word[2:], rest
            if not rest:
                raise Usage("%s needs an argument" % word)
            return lazy, kind, rest.pop(0), rest
        elif word == "--" and rest:
            return lazy, "script", rest.pop(0), rest
        elif word.startswith("-"):
            raise Usage("unknown option %s" % word)
        else:
            return lazy, "script", word, rest
    return (lazy, "help", None, []) if sys.stdin is None or sys.stdin.isatty() else (lazy, "stdin", "", [])


# --- what to run: (code, the names that __main__ begins with) ---


def _has_first_path():
    """Whether `python -m` has put the current folder first into sys.path."""
    return not (getattr(sys.flags, "safe_path", False) or sys.flags.isolated)


def _fail(message, status):
    print("%s: %s" % (PROGRAM, message), file=sys.stderr)
    raise SystemExit(status)


def find_script(path):
    """A file with a program, or a folder or zip file with a `__main__` module."""
    import importlib.machinery
    import importlib.util
    import io
    import os
    import pkgutil

    path = os.path.join(os.getcwd(), path)
    if os.path.exists(path) and pkgutil.get_importer(path) is not None:
        if _has_first_path():
            del sys.path[0]
        sys.path.insert(0, path)
        return find_module("__main__", path)
    try:
        with io.open_code(path) as f:
            source = f.read()
    except OSError as exc:
        _fail("can't open file %r: [Errno %s] %s" % (path, exc.errno, exc.strerror), 2)
    if _has_first_path():
        sys.path[0] = os.path.dirname(os.path.realpath(path))
    if source.startswith(importlib.util.MAGIC_NUMBER):
        loader = importlib.machinery.SourcelessFileLoader("__main__", path)
        code = loader.get_code("__main__")
    else:
        loader = importlib.machinery.SourceFileLoader("__main__", path)
        code = compiled(source, path)
    return code, {"__file__": path, "__cached__": None, "__loader__": loader}


def find_module(name, place=None):
    """A module by its name, or the `__main__` of a package; `place` is where `__main__` itself has to be."""
    import importlib.util

    if place:
        sys.modules.pop("__main__", None)  # this file, not what is looked for
    else:
        sys.argv[0] = "-m"
    try:
        spec = importlib.util.find_spec(name)
        if getattr(getattr(spec, "loader", None), "is_stub", False):
            _fail("%s is not in minitorch" % name, 1)
        if spec is not None and spec.submodule_search_locations is not None:
            package, name = name, name + ".__main__"
            spec = (
                None if package == "torch" else importlib.util.find_spec(name)
            )  # PyTorch has no command line
            if spec is None:
                _fail(
                    "No module named %s; %r is a package and cannot be directly executed" % (name, package), 1
                )
    except ImportError as exc:
        if not exc.name or not name.startswith(exc.name + "."):
            raise  # the package itself fails
        what = (name, type(exc).__name__, exc)
        _fail("Error while finding module specification for %r (%s: %s)" % what, 1)
    if spec is None:
        _fail("can't find '__main__' module in %r" % place if place else "No module named %s" % name, 1)
    code = spec.loader.get_code(name)
    if code is None:
        _fail("No code object available for %s" % name, 1)
    if not place:
        sys.argv[0] = spec.origin
    return code, {
        "__spec__": spec,
        "__file__": spec.origin if spec.has_location else None,
        "__cached__": spec.cached,
        "__loader__": spec.loader,
        "__package__": spec.parent,
    }


def compiled(source, name):
    return compile(source, name, "exec", dont_inherit=True)


def find(kind, target):
    """find(kind, target): what to run, with sys.argv and sys.path set for it."""
    if kind == "module":
        return find_module(target)
    if kind == "script":
        return find_script(target)
    from importlib.machinery import BuiltinImporter

    if _has_first_path():
        sys.path[0] = ""
    sys.argv[0] = "-c" if kind == "code" else target
    if kind == "code":
        code = compiled(target + "\n", "<string>")
        import linecache

        if hasattr(linecache, "_register_code"):  # from Python 3.13 on tracebacks show this code
            key = code if hasattr(linecache, "_getline_from_code") else "<string>"
            linecache._register_code(key, target, "<string>")
        return code, {"__loader__": BuiltinImporter}
    names = {"__file__": "<stdin>", "__cached__": None, "__loader__": BuiltinImporter}
    return compiled(sys.stdin.buffer.read(), "<stdin>"), names


# --- running it ---


def run(kind, target):
    """run(kind, target): runs it as __main__.

    What it raises goes on to the interpreter, which knows what becomes of SystemExit and KeyboardInterrupt.
    """
    import types

    from minitorch import _C

    main, runpy = types.ModuleType("__main__"), False
    try:
        code, names = find(kind, target)
        runpy = "__spec__" in names  # python runs modules by runpy, whose frames its tracebacks show
        vars(main).update({"__builtins__": __builtins__, "__annotations__": {}}, **names)
        sys.modules["__main__"] = main
        _C._run_outermost(code, vars(main))
    except SystemExit:
        raise
    except BaseException:
        _leave_out_launcher(runpy)
        raise


def _leave_out_launcher(runpy):
    """Tracebacks of python begin in the program, or in runpy; the frames of this file stay out of ours, and those of its callers."""
    show = sys.excepthook

    def excepthook(kind, value, trace):
        kept = []
        while trace is not None and (name := _launcher(trace.tb_frame)):
            if runpy and name == "runpy":
                kept.append(trace)
            trace = trace.tb_next
        for entry in reversed(kept):
            entry.tb_next = trace
            trace = entry
        value.__traceback__ = trace
        show(kind, value, trace)

    sys.excepthook = excepthook


def _launcher(frame):
    """The name of the module of a frame that belongs to the way into the program, else None."""
    name = frame.f_globals.get("__name__")
    if frame.f_code.co_filename == __file__ or name in ("runpy", "importlib.util"):
        return name
    return None


def main():
    """Runs the command line."""
    try:
        lazy, kind, target, rest = parse(sys.argv[1:])
    except Usage as exc:
        print("%s: %s" % (PROGRAM, exc), "Try `%s --help`." % PROGRAM, sep="\n", file=sys.stderr)
        raise SystemExit(2) from None
    if kind == "help":
        print(__doc__.strip())
        return
    if kind == "version":
        from minitorch.version import __version__

        print("minitorch %s, running as torch %s" % tuple(reversed(__version__.split("+minitorch"))))
        return
    from minitorch import as_torch

    as_torch.install(lazy)
    if as_torch.is_lazy():
        import atexit

        atexit.register(_list_missing)
    sys.argv[:] = [target, *rest]
    run(kind, target)


def _list_missing():
    from minitorch import as_torch

    if as_torch.report():
        print("minitorch: what was asked for and is missing", as_torch.report(), sep="\n", file=sys.stderr)


if __name__ == "__main__":
    main()
