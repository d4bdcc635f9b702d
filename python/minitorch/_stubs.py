# SPDX-License-Identifier: BSD-3-Clause
"""Stand-ins for what PyTorch has and minitorch has not: modules and names that can be imported, mentioned, subclassed and
asked for attributes, and that raise NotImplementedError when they are used.  `minitorch.as_torch` hands them out and keeps
the record of what was asked for.
"""

import abc
import importlib
import os
import sys
import types

# Questions with one true answer for what is not there: `torch.distributed.is_available()`, `torch.xpu.device_count()`.
_ANSWERS = dict.fromkeys(
    "is_available is_initialized is_built is_compiled is_compiling is_dynamo_compiling is_exporting is_fake".split(),
    False,
)
_ANSWERS.update(device_count=0)

_NO_PLACES = (__file__, os.path.join(os.path.dirname(__file__), "as_torch.py"), importlib.__file__)


# --- the record ---


class Missing:
    """One name that was asked for: `name`, `count`, and `places`, a dictionary of "file:line" to the count there."""

    def __init__(self, name):
        self.name, self.places = name, {}

    @property
    def count(self):
        return sum(self.places.values())

    def __repr__(self):
        return "Missing(%r, count=%d, places=%r)" % (self.name, self.count, list(self.places))


class Report(list):
    """A list of `Missing`, the most wanted first; its text is a table."""

    def __str__(self):
        if not self:
            return "nothing was missing"
        width = max(len(missing.name) for missing in self)
        lines = ["%6s  %-*s  %s" % ("count", width, "name", "places")]
        for missing in self:
            places = list(missing.places)
            shown = ", ".join(places[:3]) + (", and %d more" % (len(places) - 3) if len(places) > 3 else "")
            lines.append("%6d  %-*s  %s" % (missing.count, width, missing.name, shown))
        return "\n".join(lines)


_record = {}


def record(name, frame):
    """record(name, frame): notes that `name` was asked for by the code of `frame` or its nearest caller outside of imports."""
    while frame is not None and (
        frame.f_code.co_filename in _NO_PLACES or frame.f_code.co_filename.startswith("<frozen importlib")
    ):
        frame = frame.f_back
    place = "%s:%d" % (frame.f_code.co_filename, frame.f_lineno) if frame is not None else "?"
    places = _record.setdefault(name, Missing(name)).places
    places[place] = places.get(place, 0) + 1


def report():
    """report() -> Report: what was asked for so far."""
    return Report(sorted(_record.values(), key=lambda missing: (-missing.count, missing.name)))


# --- names ---


def _refuse(cls, *args, **kwargs):
    """What becomes of a use: the error names the stub, and the class that is derived from it."""
    for base in cls.__mro__:
        name = base.__dict__.get("_stub_of")
        if name:
            break
    derived = "" if base is cls else " (%s derives from it)" % cls.__qualname__
    raise NotImplementedError("%s is not in minitorch%s" % (name, derived))


class StubMeta(abc.ABCMeta):
    """The class of stubs: they are classes, so that they can stand in bases, annotations and `isinstance`."""

    def __getattr__(cls, name):
        if name.startswith("__") or "_stub_of" not in cls.__dict__:
            raise AttributeError("type object %r has no attribute %r" % (cls.__name__, name))
        return find(cls._stub_of + "." + name, sys._getframe(1))

    def __call__(cls, *args, **kwargs):
        _refuse(cls)

    def __repr__(cls):
        name = cls.__dict__.get("_stub_of")
        return "<stub of %s>" % name if name else super().__repr__()

    def __getitem__(cls, key):
        """Stubs stand in annotations, List[...].  The place 0 is where Python begins to iterate over what is not Iterable."""
        return _refuse(cls) if type(key) is int and key == 0 else cls


for _name in (
    "bool len setitem delitem int float complex index round divmod rdivmod enter exit neg pos abs invert "
    "add radd sub rsub mul rmul truediv rtruediv floordiv rfloordiv mod rmod pow rpow matmul rmatmul and rand xor rxor "
    "lshift rlshift rshift rrshift lt le gt ge"
).split():
    setattr(StubMeta, "__%s__" % _name, _refuse)
del _name

_stubs = {}


def find(name, frame):
    """find(name, frame): the stub of a function, class or constant of PyTorch, by its full name; the same one every time."""
    if not frame.f_code.co_filename.startswith("<frozen importlib"):  # which asks before the code does
        record(name, frame)
    stub = _stubs.get(name)
    if stub is None:
        stub = _stubs[name] = _make(name)
    return stub


def _make(name):
    package, _, last = name.rpartition(".")
    doc = "Stands for %s, which minitorch has not: using it raises NotImplementedError." % name
    if last in _ANSWERS:
        answer = _ANSWERS[last]
        function = types.FunctionType(
            (lambda *args, **kwargs: answer).__code__, {}, last, None, (types.CellType(answer),)
        )
        function.__module__, function.__qualname__, function.__doc__ = package, last, doc
        return function
    base = (
        (Exception,)
        if last.endswith(("Error", "Exception"))
        else (Warning,)
        if last.endswith("Warning")
        else ()
    )
    members = {"__module__": package, "__doc__": doc, "__new__": _refuse, "_stub_of": name}
    return StubMeta(last, base, members)


# --- modules ---


class StubModule(types.ModuleType):
    """A module whose names are stubs.  It is a package, so that modules can be imported from it; what is set in it stays."""

    def __init__(self, name):
        super().__init__(
            name, "Stands for %s, which minitorch has not: using its names raises NotImplementedError." % name
        )
        self.__path__ = []

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError("module %r has no attribute %r" % (self.__name__, name))
        from minitorch import as_torch

        full, frame = self.__name__ + "." + name, sys._getframe(1)
        return as_torch.stub_module(full) or find(full, frame)

    def __call__(self, *args, **kwargs):
        raise NotImplementedError("%s is not in minitorch" % self.__name__)

    def __repr__(self):
        return "<stub of %s>" % self.__name__
