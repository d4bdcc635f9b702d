# SPDX-License-Identifier: BSD-3-Clause
"""Code that says `import torch` runs on minitorch: importing this module makes `torch` and `torch.*` names of minitorch's
modules, for the whole process.

>>> import minitorch.as_torch
>>> import torch
>>> import torch.nn.functional as F
>>> F.relu(torch.tensor([-1.0, 2.0]))
tensor([0., 2.])
>>> torch is minitorch and F is minitorch.nn.functional
True
>>> torch.__version__ >= (2, 13)
True

`python -m minitorch SCRIPT [ARGS]` does the same for a whole program: see `python -m minitorch --help`.

Modules that PyTorch has and minitorch has not (`torch.distributed`, `torch.fx`, ...) are inert stubs: they can be imported, their
names mentioned and subclassed; a use raises NotImplementedError.  Any other name that is missing fails

- strict (the default): where it is asked for, with AttributeError or ImportError, as everywhere in Python;
- lazy: where it is used.  `report()` tells what was asked for.  Questions by `hasattr` and `getattr` are still answered truly.

The environment variable MINITORCH_AS_TORCH, "strict" or "lazy", says which; `install(lazy=...)` overrides it.  A module that
PyTorch has not either is never there: `try: import torch.something except ImportError` works in both.

An installed PyTorch is not touched and not seen.  One that is already imported is an ImportError.  Processes that
`multiprocessing` starts run the same way; other subprocesses do not, unless they are started with `python -m minitorch`.
"""

import copyreg
import importlib
import importlib.machinery
import importlib.util
import os
import sys
import types

import minitorch
from minitorch import _stubs, _utils

__all__ = ["install", "is_lazy", "report", "uninstall"]

_THEIRS, _OURS = "torch", "minitorch"
VARIABLE = "MINITORCH_AS_TORCH"


def _ours(name):
    return _OURS + name[len(_THEIRS) :]


def _theirs(name):
    return _THEIRS + name[len(_OURS) :]


# --- which modules PyTorch has ---

_modules = {}


def _known():
    """Package of PyTorch -> names of its modules."""
    if not _modules:
        path = os.path.join(os.path.dirname(__file__), "torch_modules.txt")
        with open(path, encoding="utf-8") as f:
            for section in f.read().split("\n[")[1:]:
                name, _, names = section.partition("]")
                _modules[name] = frozenset(names.split())
    return _modules


def _is_module_of_torch(name):
    package, _, last = name.rpartition(".")
    return last in _known().get(package, ())


def _is_inside_private(package):
    """Whether the package is a stub of a private one, whose modules are not listed."""
    return isinstance(sys.modules.get(package), _stubs.StubModule) and "._" in package


def stub_module(name):
    """stub_module(name): the stub of a module that PyTorch has; None if it has no module of that name."""
    if not _is_module_of_torch(name):
        return None
    return importlib.import_module(name)


# --- the finder ---


class _Loader:
    """Hands out one of our modules under PyTorch's name."""

    def __init__(self, ours, module):
        self._ours, self._module = ours, module

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        # What sys.modules has after this call is what was imported; the module of ours keeps its own spec.
        ours = self._module or importlib.import_module(self._ours)
        sys.modules[module.__spec__.name] = ours
        if not hasattr(ours, "__path__"):  # the extension: it made the modules inside
            for name in [name for name in sys.modules if name.startswith(self._ours + ".")]:
                sys.modules[_theirs(name)] = sys.modules[name]

    def __getattr__(self, name):  # get_code, get_source, ... for `python -m torch.utils.something`, inspect
        if name not in (
            "get_code",
            "get_source",
            "get_filename",
            "get_data",
            "is_package",
            "get_resource_reader",
        ):
            raise AttributeError(name)
        method = getattr(importlib.util.find_spec(self._ours).loader, name)
        return method if name == "get_data" else lambda _: method(self._ours)


class _StubLoader:
    is_stub = True

    def create_module(self, spec):
        return _stubs.StubModule(spec.name)

    def exec_module(self, module):
        pass


class _Finder:
    """Finds `torch` and what is in it; first in sys.meta_path."""

    def find_spec(self, name, path=None, target=None):
        if name == "multiprocessing.spawn":
            return _after_loading(name, path, _start_children_alike)
        if name.partition(".")[0] == _OURS:
            return _after_loading(name, path, _watch)
        if name.partition(".")[0] != _THEIRS:
            return None
        return self._real(name) or self._stub(name)

    def _real(self, name):
        """The spec of a module that minitorch has."""
        ours = _ours(name)
        package, _, last = ours.rpartition(".")
        module = sys.modules.get(ours)
        if module is None and package:
            try:
                module = getattr(importlib.import_module(package), last, None)
            except ModuleNotFoundError:  # the package is a stub
                return None
        found = None
        if not isinstance(module, types.ModuleType):
            module, found = None, importlib.util.find_spec(ours)
            if found is None:
                return None
        elif isinstance(module, _stubs.StubModule):
            return None
        found = found or module.__spec__
        path = found.submodule_search_locations if found else None
        spec = importlib.machinery.ModuleSpec(
            name, _Loader(ours, module), origin=found.origin if found else None, is_package=path is not None
        )
        if path is not None:
            spec.submodule_search_locations = list(path)
        spec.has_location = bool(found and found.has_location)
        return spec

    def _stub(self, name):
        """The spec of a stub; None ends in ModuleNotFoundError."""
        package = name.rpartition(".")[0]
        if getattr(sys.modules.get(package), "__path__", None) and isinstance(
            sys.modules[package], _stubs.StubModule
        ):
            return None  # who gives a stub a search path wants what is there
        if not (_is_module_of_torch(name) or _is_inside_private(package)):
            return None
        _stubs.record(name, sys._getframe(1))
        return importlib.machinery.ModuleSpec(name, _StubLoader(), is_package=True)

    def find_distributions(self, context=None):
        """What importlib.metadata says of the distribution `torch`."""
        wanted = getattr(context, "name", None)
        if wanted is None or wanted.lower() == _THEIRS:
            from minitorch import _distribution

            yield _distribution.Distribution()


_finder = _Finder()


def _after_loading(name, path, then):
    """The spec of a module as the other finders find it, with a call of then(module) after it has been loaded."""
    for finder in sys.meta_path:
        spec = None if finder is _finder or not hasattr(finder, "find_spec") else finder.find_spec(name, path)
        if spec is not None:
            break
    else:
        return None
    if hasattr(spec.loader, "exec_module"):
        load = spec.loader.exec_module

        def exec_module(module):
            load(module)
            then(module)

        spec.loader.exec_module = exec_module
    return spec


# --- names of modules that exist ---

_watched = {}  # module -> the __getattr__ that it came with
_lazy = False


def _watch(module):
    """Lets stubs be found as attributes of one of our modules."""
    name, original = _theirs(module.__name__), module.__dict__.get("__getattr__")

    def __getattr__(last):
        try:
            if original is not None:
                return original(last)
            raise AttributeError("module %r has no attribute %r" % (name, last))
        except AttributeError:
            frame = sys._getframe(1)
            stub = None if last.startswith("__") or _is_own(frame) else _attribute(name + "." + last, frame)
            if stub is None:
                raise
        return stub

    _watched[module] = original
    module.__getattr__ = __getattr__


def _is_own(frame):
    """Whether minitorch itself asks, or the import system, which looks for a file next."""
    return frame.f_globals.get("__name__", "").partition(".")[0] in (_OURS, "importlib")


def _attribute(name, frame):
    return stub_module(name) or (_stubs.find(name, frame) if _lazy and _is_written(frame) else None)


def _is_written(frame):
    """Whether the code of the frame says `module.name` or `from module import name`, rather than to call hasattr or getattr."""
    import opcode

    return opcode.opname[frame.f_code.co_code[frame.f_lasti]] in ("LOAD_ATTR", "LOAD_METHOD", "IMPORT_FROM")


# --- processes of multiprocessing ---


class _Start:
    """Travels with what a new process is told first, and makes it run as torch before it imports the main module."""

    CODE = "import sys\nif {0!r} not in sys.path: sys.path.append({0!r})\nfrom minitorch import as_torch\nas_torch.install(lazy={1})"

    def __reduce__(self):
        folder = os.path.dirname(os.path.dirname(os.path.abspath(minitorch.__file__)))
        return exec, (self.CODE.format(folder, _lazy), {})


def _start_children_alike(spawn):
    """Has multiprocessing.spawn tell new processes."""
    prepare = spawn.get_preparation_data

    def get_preparation_data(name):
        data = prepare(name)
        if is_installed():
            data["minitorch.as_torch"] = _Start()
        return data

    spawn.get_preparation_data = get_preparation_data


# --- the switch ---


def is_installed():
    """is_installed() -> bool: whether `torch` is a name of minitorch."""
    return _finder in sys.meta_path


def is_lazy():
    """is_lazy() -> bool: whether missing names fail only where they are used."""
    return _lazy


def report():
    """report() -> list: what the program has asked for and minitorch has not, the most wanted first.

    Each element has a `name`, a `count` and `places`, a dictionary of "file:line" to the count there; printed, the list is a table.

    >>> import minitorch.as_torch
    >>> import torch.fx
    >>> [missing.count for missing in minitorch.as_torch.report() if missing.name == "torch.fx"]
    [1]
    """
    return _stubs.report()


def install(lazy=None):
    """install(lazy=None): makes `torch` a name of minitorch, which importing this module does already; or changes the mode.

    Args:
        lazy (bool, optional): whether missing names fail only where they are used; None: what the environment variable
            MINITORCH_AS_TORCH says, else False.

    Raises:
        ImportError: another `torch` has been imported before.
        ValueError: the variable is neither "strict" nor "lazy".
    """
    global _lazy
    if lazy is None:
        mode = os.environ.get(VARIABLE) or "strict"
        if mode not in ("strict", "lazy"):
            raise ValueError('%s must be "strict" or "lazy", not %r' % (VARIABLE, mode))
        lazy = mode == "lazy"
    if not is_installed():
        _refuse_another_torch()
        sys.meta_path.insert(0, _finder)
        for name, module in list(sys.modules.items()):
            if name.partition(".")[0] == _OURS and getattr(module, "__name__", None) == name:
                _watch(module)
        if "multiprocessing.spawn" in sys.modules:
            _start_children_alike(sys.modules["multiprocessing.spawn"])
        minitorch.Tensor.__module__ = _THEIRS  # by which libraries tell whose tensor it is
        copyreg.pickle(type(minitorch.Tensor), _reduce_class)
    _lazy = bool(lazy)


def _reduce_class(cls):
    """How pickles name a class of tensors: Tensor itself so that they can be read without this module."""
    return (_utils._tensor_class, ()) if cls is minitorch.Tensor else cls.__qualname__


def _refuse_another_torch():
    for name in [name for name in sys.modules if name.partition(".")[0] == _THEIRS]:
        module = sys.modules[name]
        if module is None:
            del sys.modules[name]
        elif getattr(module, "__name__", "").partition(".")[0] != _OURS:
            raise ImportError(
                "%s is already imported, from %s: import minitorch.as_torch before anything that imports torch"
                % (name, getattr(module, "__file__", None) or "an unknown place")
            )


def uninstall():
    """uninstall(): gives the name `torch` back; what has been imported stays as it is where it was imported."""
    global _lazy
    if not is_installed():
        return
    sys.meta_path.remove(_finder)
    for name in [name for name in sys.modules if name.partition(".")[0] == _THEIRS]:
        module = sys.modules.pop(name)
        package, _, last = _ours(name).rpartition(".")
        names = vars(sys.modules.get(package, types))
        if isinstance(module, _stubs.StubModule) and names.get(last) is module:
            del names[last]
    for module, original in _watched.items():
        if original is None:
            del module.__getattr__
        else:
            module.__getattr__ = original
    _watched.clear()
    minitorch.Tensor.__module__ = _OURS
    copyreg.dispatch_table.pop(type(minitorch.Tensor), None)
    _lazy = False


install()
