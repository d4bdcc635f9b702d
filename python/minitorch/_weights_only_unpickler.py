# SPDX-License-Identifier: BSD-3-Clause
"""An unpickler that runs no code of the file: torch.load(weights_only=True).

It knows the instructions that tensors, numbers, strings and plain containers need, and looks names up in a
table.
"""

import struct
import warnings
from _compat_pickle import IMPORT_MAPPING, NAME_MAPPING
from collections import Counter, OrderedDict
from functools import lru_cache
from pickle import UnpicklingError

import minitorch as torch
from minitorch._pickle_names import torch_module

_BLOCKED = frozenset(("sys", "os", "posix", "nt"))
_REBUILDERS = (
    "_rebuild_parameter _rebuild_parameter_with_state _rebuild_tensor _rebuild_tensor_v2 _rebuild_tensor_v3 "
    "_rebuild_sparse_tensor _rebuild_meta_tensor_no_storage _rebuild_device_tensor_from_numpy "
    "_rebuild_device_tensor_from_cpu_tensor"
).split()
_TENSOR_CLASSES = "Float Double Half BFloat16 Byte Char Short Int Long Bool".split()


# --- what the user allows ---

_user_globals = set()


def _add_safe_globals(safe_globals):
    _user_globals.update(safe_globals)


def _get_safe_globals():
    return list(_user_globals)


def _clear_safe_globals():
    _user_globals.clear()


def _remove_safe_globals(safe_globals):
    _user_globals.difference_update(safe_globals)


class _safe_globals:
    def __init__(self, safe_globals):
        self.safe_globals = safe_globals

    def __enter__(self):
        _add_safe_globals(self.safe_globals)

    def __exit__(self, exc_type, exc_value, traceback):
        _remove_safe_globals(self.safe_globals)


def _get_user_allowed_globals():
    table = {}
    for item in _user_globals:
        if not isinstance(item, tuple):
            table["%s.%s" % (torch_module(item.__module__), item.__qualname__)] = item
            continue
        if len(item) != 2:
            raise ValueError(
                "Expected tuple of length 2 (global, str of callable full path), but got tuple of length: %d"
                % len(item)
            )
        if type(item[1]) is not str:
            raise TypeError(
                "Expected second item in tuple to be str of callable full path, but got: %s" % type(item[1])
            )
        table[item[1]] = item[0]
    return table


# --- what is always allowed ---


@lru_cache(maxsize=1)
def _get_allowed_globals():
    from _codecs import encode

    from minitorch import _tensor, _utils, serialization

    table = {
        "collections.OrderedDict": OrderedDict,
        "collections.Counter": Counter,
        "torch.nn.parameter.Parameter": torch.nn.Parameter,
        "torch.serialization._get_layout": serialization._get_layout,
        "torch.Size": torch.Size,
        "torch.Tensor": torch.Tensor,
        "torch.device": torch.device,
        "_codecs.encode": encode,
        "builtins.bytearray": bytearray,
        "builtins.set": set,
        "builtins.complex": complex,
        "torch._tensor._rebuild_from_type_v2": _tensor._rebuild_from_type_v2,
    }
    for value in vars(torch).values():
        if isinstance(value, torch.dtype):
            table[str(value)] = value
    for name in torch.storage._DTYPE_OF_NAME:
        table["torch." + name] = table["torch.cuda." + name] = serialization.StorageType(name)
    table["torch.storage.UntypedStorage"] = torch.storage.UntypedStorage
    table["torch.storage.TypedStorage"] = torch.storage.TypedStorage
    for name in _TENSOR_CLASSES:
        for holder, place in ((torch, "torch."), (getattr(torch, "cuda", None), "torch.cuda.")):
            cls = getattr(holder, name + "Tensor", None)
            if cls is not None:
                table[place + name + "Tensor"] = cls
    for name in _REBUILDERS:
        table["torch._utils." + name] = getattr(_utils, name)
    return table


def _is_allowed(value):
    return any(value is known for known in _get_allowed_globals().values()) or any(
        value is known for known in _get_user_allowed_globals().values()
    )


def _python3_name(module, name):
    if (module, name) in NAME_MAPPING:
        return NAME_MAPPING[(module, name)]
    return IMPORT_MAPPING.get(module, module), name


def _refusal(path):
    if path.startswith("builtins"):
        rest = path[len("builtins") :]
        path = rest[1:] if rest[:1] == "." else path
    return UnpicklingError(
        "Unsupported global: GLOBAL %s was not an allowed global by default. Please use "
        "`torch.serialization.add_safe_globals([%s])` or the `torch.serialization.safe_globals([%s])` "
        "context manager to allowlist this global if you trust this class/function." % (path, path, path)
    )


# --- the machine ---


class _Reader:
    """Reads instructions and their arguments; numbers and the end that are cut off raise."""

    def __init__(self, file):
        self._read = file.read
        self._readline = file.readline

    def read(self, size):
        return self._read(size)

    def byte(self):
        return self._read(1)[0]

    def number(self, code, size):
        return struct.unpack(code, self.read(size))[0]

    def instruction(self):
        code = self._read(1)
        if not code:
            raise EOFError
        return code[0]

    def line(self):
        return self._readline()[:-1].decode("utf-8")

    def global_name(self):
        return _python3_name(self.line(), self.line())


class Unpickler(_Reader):
    """Unpickler(file, *, encoding="bytes"): reads one pickle; `persistent_load` gives storages."""

    def __init__(self, file, *, encoding="bytes"):
        super().__init__(file)
        self.encoding = encoding
        self.memo = {}
        self.proto = -1

    def load(self):
        """load(): the object."""
        self.stack, self.marks = [], []
        operations = _OPERATIONS
        while True:
            code = self.instruction()
            if code == 46:  # STOP
                return self.pop()
            operation = operations.get(code)
            if operation is None:
                raise UnpicklingError("Unsupported operand %d" % code)
            operation(self)

    def persistent_load(self, pid):
        """persistent_load(pid): the storage of that number."""
        raise UnpicklingError("unsupported persistent id encountered")

    def find_class(self, module, name):
        """find_class(module, name): the object of that name, if it is allowed."""
        path = "%s.%s" % (torch_module(module), name)
        if module in _BLOCKED:
            raise UnpicklingError(
                "Trying to load unsupported GLOBAL %s whose module %s is blocked." % (path, module)
            )
        for table in (_get_allowed_globals(), _get_user_allowed_globals()):
            if path in table:
                return table[path]
        raise _refusal(path)

    # --- the stack ---

    def push(self, value):
        self.stack.append(value)

    def pop(self):
        return self.stack.pop()

    def top(self):
        return self.stack[-1]

    def mark(self):
        self.marks.append(self.stack)
        self.stack = []

    def pop_mark(self):
        items = self.stack
        self.stack = self.marks.pop()
        return items

    # --- instructions ---

    def do_global(self):
        self.push(self.find_class(*self.global_name()))

    def do_newobj(self):
        args, cls = self.pop(), self.pop()
        if cls is torch.nn.Parameter:
            self.push(cls(*args))
        elif isinstance(cls, type) and _is_allowed(cls):
            self.push(cls.__new__(cls, *args))
        else:
            raise UnpicklingError(
                "Can only create new object for nn.Parameter or classes allowlisted via `add_safe_globals` "
                "but got %s" % (cls,)
            )

    def do_reduce(self):
        args, func = self.pop(), self.pop()
        if not _is_allowed(func):
            told = "Trying to call reduce for unrecognized function %s" % (func,)
            if hasattr(func, "__self__"):
                told += " which belongs to %s" % (func.__self__,)
            raise UnpicklingError(told)
        if type(args) is not tuple:
            raise UnpicklingError("the arguments of a call must be a tuple, but got %s" % type(args))
        self.push(func(*args))

    def do_build(self):
        state, target = self.pop(), self.top()
        kind = type(target)
        if kind is torch.Tensor:
            target.set_(*state)
        elif kind is torch.nn.Parameter:
            target.__setstate__(state)
        elif kind is OrderedDict:
            if type(state) is not dict:
                raise UnpicklingError(
                    "the attributes of an OrderedDict must be a dict, but got %s" % type(state)
                )
            target.__dict__.update(state)
        elif _is_allowed(kind):
            self._set_state(target, state)
        else:
            raise UnpicklingError(
                "Can only build Tensor, Parameter, OrderedDict or types allowlisted via "
                "`add_safe_globals`, but got %s" % kind
            )

    @staticmethod
    def _set_state(target, state):
        if hasattr(target, "__setstate__"):
            target.__setstate__(state)
            return
        slots = None
        if isinstance(state, tuple) and len(state) == 2:
            state, slots = state
        if state:
            target.__dict__.update(state)
        for name, value in (slots or {}).items():
            setattr(target, name, value)

    def do_append(self):
        item, target = self.pop(), self.top()
        if type(target) is not list:
            raise UnpicklingError("Can only append to lists, but got %s" % type(target))
        target.append(item)

    def do_appends(self):
        items, target = self.pop_mark(), self.top()
        if type(target) is not list:
            raise UnpicklingError("Can only extend lists, but got %s" % type(target))
        target.extend(items)

    def _set_items(self, what, items):
        target = self.top()
        if type(target) not in (dict, OrderedDict, Counter):
            raise UnpicklingError(
                "Can only %s for dict, collections.OrderedDict, collections.Counter, but got %s"
                % (what, type(target))
            )
        if len(items) % 2:
            raise UnpicklingError("odd number of items for %s" % what)
        for i in range(0, len(items), 2):
            try:
                target[items[i]] = items[i + 1]
            except TypeError as error:
                raise UnpicklingError(str(error)) from None

    def do_setitem(self):
        value, key = self.pop(), self.pop()
        self._set_items("SETITEM", (key, value))

    def do_setitems(self):
        self._set_items("SETITEMS", self.pop_mark())

    def do_tuple(self, count):
        items = [self.pop() for _ in range(count)]
        self.push(tuple(reversed(items)))

    def do_unicode(self):
        self.push(str(self.read(self.number("<I", 4)), "utf-8", "surrogatepass"))

    def do_short_string(self):
        data = self.read(self.byte())
        if self.encoding != "bytes":
            data = data.decode(self.encoding, "strict")
        self.push(data)

    def do_long(self):
        self.push(int.from_bytes(self.read(self.byte()), "little", signed=True))

    def do_persistent(self):
        pid = self.pop()
        if type(pid) is not tuple and type(pid) is not int:
            raise UnpicklingError("persistent_load id must be tuple or int, but got %s" % type(pid))
        if type(pid) is tuple and pid:
            name = pid[0].decode("latin-1") if type(pid[0]) is bytes else pid[0]
            if name != "storage":
                raise UnpicklingError("Only persistent_load of storage is allowed, but got %s" % type(pid[0]))
        self.push(self.persistent_load(pid))

    def do_get(self, key):
        self.push(self.memo[key])

    def do_put(self, key):
        self.memo[key] = self.top()

    def do_proto(self):
        self.proto = self.byte()
        if self.proto != 2:
            warnings.warn(
                "Detected pickle protocol %d in the checkpoint, which was not the default pickle protocol "
                "used by `torch.load` (2). The weights_only Unpickler might not support all instructions "
                "implemented by this protocol, please file an issue for adding support if you encounter "
                "this." % self.proto,
                stacklevel=2,
            )


_OPERATIONS = {
    b"c": Unpickler.do_global,
    b"\x81": Unpickler.do_newobj,
    b"R": Unpickler.do_reduce,
    b"b": Unpickler.do_build,
    b"a": Unpickler.do_append,
    b"e": Unpickler.do_appends,
    b"s": Unpickler.do_setitem,
    b"u": Unpickler.do_setitems,
    b"(": Unpickler.mark,
    b"t": lambda u: u.push(tuple(u.pop_mark())),
    b"\x85": lambda u: u.do_tuple(1),
    b"\x86": lambda u: u.do_tuple(2),
    b"\x87": lambda u: u.do_tuple(3),
    b"N": lambda u: u.push(None),
    b"\x89": lambda u: u.push(False),
    b"\x88": lambda u: u.push(True),
    b")": lambda u: u.push(()),
    b"]": lambda u: u.push([]),
    b"}": lambda u: u.push({}),
    b"\x8f": lambda u: u.push(set()),
    b"J": lambda u: u.push(u.number("<i", 4)),
    b"K": lambda u: u.push(u.byte()),
    b"M": lambda u: u.push(u.number("<H", 2)),
    b"G": lambda u: u.push(u.number(">d", 8)),
    b"X": Unpickler.do_unicode,
    b"U": Unpickler.do_short_string,
    b"\x8a": Unpickler.do_long,
    b"Q": Unpickler.do_persistent,
    b"h": lambda u: u.do_get(u.byte()),
    b"j": lambda u: u.do_get(u.number("<I", 4)),
    b"q": lambda u: u.do_put(u.byte()),
    b"r": lambda u: u.do_put(u.number("<I", 4)),
    b"\x80": Unpickler.do_proto,
}
_OPERATIONS = {code[0]: operation for code, operation in _OPERATIONS.items()}

# Arguments to skip when only the names are wanted; -1: a 4-byte length and data, -2: a 1-byte length and
# data.
_ARGUMENTS = dict.fromkeys(_OPERATIONS, 0)
_ARGUMENTS.update({ord(c): n for c, n in zip("JKMGhqjrXU", (4, 1, 2, 8, 1, 1, 4, 4, -1, -2))})
_ARGUMENTS.update({0x8A: -2, 0x80: 1})


def get_globals_in_pkl(file):
    """get_globals_in_pkl(file) -> set of str: the names a pickle refers to; nothing is loaded."""
    reader, names = _Reader(file), set()
    while True:
        code = reader.instruction()
        if code == 46:
            return names
        if code == 99:
            module, name = reader.global_name()
            names.add("%s.%s" % (torch_module(module), name))
            continue
        size = _ARGUMENTS.get(code)
        if size is None:
            raise UnpicklingError("Unsupported operand %d" % code)
        if size < 0:
            size = reader.number("<I", 4) if size == -1 else reader.byte()
        reader.read(size)


def load(file, *, encoding="ASCII"):
    """load(file, *, encoding="ASCII"): the object of one pickle."""
    return Unpickler(file, encoding=encoding).load()
