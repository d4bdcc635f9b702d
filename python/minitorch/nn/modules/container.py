# SPDX-License-Identifier: BSD-3-Clause
"""Modules that hold other modules or parameters: sequences, lists and dictionaries."""

import operator
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from itertools import chain

import minitorch as torch
from minitorch.nn.modules.module import Module, _addindent
from minitorch.nn.parameter import Parameter

__all__ = ["Container", "Sequential", "ModuleList", "ModuleDict", "ParameterList", "ParameterDict"]


def _place(size, index):
    """An index of a sequence of that size, from 0."""
    index = operator.index(index)
    if not -size <= index < size:
        raise IndexError("index %d is out of range" % index)
    return index % size


class _Numbered(Module):
    """What Sequential and ModuleList share: submodules named by their position."""

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules.values())

    def __dir__(self):
        return [name for name in super().__dir__() if not name.isdigit()]

    def _key(self, index):
        return list(self._modules)[_place(len(self), index)]

    def __setitem__(self, index, module):
        setattr(self, self._key(index), module)

    def __delitem__(self, index):
        keys = list(self._modules)[index] if isinstance(index, slice) else [self._key(index)]
        for key in keys:
            delattr(self, key)
        # Those behind move up.
        self._modules = {str(i): module for i, module in enumerate(self._modules.values())}

    def pop(self, key):
        """Takes a module out and returns it."""
        module = self[key]
        del self[key]
        return module

    def append(self, module):
        """Adds a module at the end."""
        self.add_module(str(len(self)), module)
        return self


class Container(Module):
    def __init__(self, **kwargs):
        import warnings

        warnings.warn(
            "`nn.Container` is deprecated. All of its functionality is now implemented in `nn.Module`. "
            "Subclass that instead.",
            FutureWarning,
            stacklevel=2,
        )
        super().__init__()
        for key, value in kwargs.items():
            self.add_module(key, value)


class Sequential(_Numbered):
    """Sequential(*modules) or Sequential(OrderedDict): each module gets the output of the one before."""

    def __init__(self, *args):
        super().__init__()
        if len(args) == 1 and isinstance(args[0], OrderedDict):
            for key, module in args[0].items():
                self.add_module(key, module)
        else:
            for index, module in enumerate(args):
                self.add_module(str(index), module)

    def forward(self, input):
        for module in self._modules.values():
            input = module(input)
        return input

    def __getitem__(self, index):
        if isinstance(index, slice):
            return type(self)(OrderedDict(list(self._modules.items())[index]))
        return self._modules[self._key(index)]

    def _check_sequential(self, other):
        if not isinstance(other, Sequential):
            raise ValueError(
                "add operator supports only objects of Sequential class, but %s is given." % type(other)
            )

    def __add__(self, other):
        self._check_sequential(other)
        return Sequential(*self, *other)

    def __iadd__(self, other):
        self._check_sequential(other)
        return self.extend(list(other))

    def _check_factor(self, other):
        if not isinstance(other, int):
            raise TypeError("unsupported operand type(s) for *: %s and %s" % (type(self), type(other)))
        if other <= 0:
            raise ValueError("Non-positive multiplication factor %d for %s" % (other, type(self)))

    def __mul__(self, other):
        self._check_factor(other)
        return Sequential(*list(self) * other)

    __rmul__ = __mul__

    def __imul__(self, other):
        self._check_factor(other)
        return self.extend(list(self) * (other - 1))

    def insert(self, index, module):
        """Adds a module before that position."""
        if not isinstance(module, Module):
            raise AssertionError("module should be of type: %s" % Module)
        size = len(self)
        if not -size <= index <= size:
            raise IndexError("Index out of range: %d" % index)
        modules = list(self)
        modules.insert(index if index >= 0 else index + size, module)
        self._modules = {str(i): m for i, m in enumerate(modules)}
        return self

    def extend(self, sequential):
        """Adds the modules of an iterable at the end."""
        for module in sequential:
            self.append(module)
        return self


class ModuleList(_Numbered):
    """ModuleList(modules=None): a list of submodules."""

    def __init__(self, modules=None):
        super().__init__()
        if modules is not None:
            self += modules

    def __getitem__(self, index):
        if isinstance(index, slice):
            return type(self)(list(self._modules.values())[index])
        return self._modules[self._key(index)]

    def __iadd__(self, modules):
        return self.extend(modules)

    def __add__(self, other):
        combined = ModuleList()
        for index, module in enumerate(chain(self, other)):
            combined.add_module(str(index), module)
        return combined

    def insert(self, index, module):
        """Adds a module before that position."""
        for i in range(len(self._modules), index, -1):
            self._modules[str(i)] = self._modules[str(i - 1)]
        self._modules[str(index)] = module

    def extend(self, modules):
        """Adds the modules of an iterable at the end."""
        if not isinstance(modules, Iterable):
            raise TypeError(
                "ModuleList.extend should be called with an iterable, but got " + type(modules).__name__
            )
        for module in list(modules):
            self.append(module)
        return self

    def __repr__(self):
        # Neighbours that look the same are printed once, with their number.
        runs = []
        for index, module in enumerate(self):
            text = repr(module)
            if runs and runs[-1][2] == text:
                runs[-1][1] = index
            else:
                runs.append([index, index, text])
        if not runs:
            return self._get_name() + "()"
        lines = []
        for first, last, text in runs:
            head = "(%d): " % first if first == last else "(%d-%d): %d x " % (first, last, last - first + 1)
            lines.append(_addindent(head + text, 2))
        return "%s(\n  %s\n)" % (self._get_name(), "\n  ".join(lines))


def _pairs(kind, given):
    """Checks and yields the (key, value) pairs of an iterable given to `update`."""
    for index, item in enumerate(given):
        if not isinstance(item, Iterable):
            raise TypeError(
                "%s update sequence element #%d should be Iterable; is%s" % (kind, index, type(item).__name__)
            )
        if len(item) != 2:
            raise ValueError(
                "%s update sequence element #%d has length %d; 2 is required" % (kind, index, len(item))
            )
        yield item[0], item[1]


class ModuleDict(Module):
    """ModuleDict(modules=None): submodules by name."""

    def __init__(self, modules=None):
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key):
        return self._modules[key]

    def __setitem__(self, key, module):
        self.add_module(key, module)

    def __delitem__(self, key):
        del self._modules[key]

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules)

    def __contains__(self, key):
        return key in self._modules

    def clear(self):
        """Takes all modules out."""
        self._modules.clear()

    def pop(self, key):
        """Takes a module out and returns it."""
        return self._modules.pop(key)

    def keys(self):
        return self._modules.keys()

    def items(self):
        return self._modules.items()

    def values(self):
        return self._modules.values()

    def update(self, modules):
        """Adds the modules of a mapping or of (key, module) pairs."""
        if not isinstance(modules, Iterable):
            raise TypeError(
                "ModuleDict.update should be called with an iterable of key/value pairs, but got "
                + type(modules).__name__
            )
        is_mapping = isinstance(modules, (ModuleDict, Mapping))
        for key, module in modules.items() if is_mapping else _pairs("ModuleDict", modules):
            self[key] = module


def _describe(key, value, type_name):
    """One line of the printed form of a parameter container."""
    if not isinstance(value, torch.Tensor):
        return "  (%s): Object of type: %s" % (key, type(value).__name__)
    device = " (%s)" % value.device if value.device.type == "cuda" else ""
    return "  (%s): %s containing: [%s of size %s%s]" % (
        key,
        "Parameter" if isinstance(value, Parameter) else "Tensor",
        type_name(value),
        "x".join([str(size) for size in value.size()]),
        device,
    )


def _as_parameter(value):
    if isinstance(value, torch.Tensor) and not isinstance(value, Parameter):
        return Parameter(value)
    return value


class ParameterList(Module):
    """ParameterList(values=None): a list of parameters; tensors become parameters, other objects are kept."""

    def __init__(self, values=None):
        super().__init__()
        self._size = 0
        if values is not None:
            self += values

    def __getitem__(self, index):
        if isinstance(index, slice):
            part = type(self)()
            for i in range(*index.indices(len(self))):
                part.append(self[i])
            return part
        return getattr(self, str(_place(len(self), index)))

    def __setitem__(self, index, param):
        setattr(self, str(_place(len(self), index)), _as_parameter(param))

    def __len__(self):
        return self._size

    def __iter__(self):
        return iter([self[i] for i in range(len(self))])

    def __iadd__(self, parameters):
        return self.extend(parameters)

    def __dir__(self):
        return [name for name in super().__dir__() if not name.isdigit()]

    def append(self, value):
        """Adds a value at the end."""
        self._size += 1
        self[self._size - 1] = value
        return self

    def extend(self, values):
        """Adds the values of an iterable at the end."""
        if not isinstance(values, Iterable) or isinstance(values, torch.Tensor):
            raise TypeError(
                "ParameterList.extend should be called with an iterable, but got " + type(values).__name__
            )
        for value in values:
            self.append(value)
        return self

    def extra_repr(self):
        return "\n".join([_describe(i, value, lambda t: t.dtype) for i, value in enumerate(self)])

    def __call__(self, *args, **kwargs):
        raise RuntimeError("ParameterList should not be called.")


class ParameterDict(Module):
    """ParameterDict(parameters=None): parameters by name; tensors become parameters, other objects are
    kept."""

    def __init__(self, parameters=None):
        super().__init__()
        self._keys = {}
        if parameters is not None:
            self.update(parameters)

    def _key_to_attr(self, key):
        if not isinstance(key, str):
            raise TypeError(
                "Index given to ParameterDict cannot be used as a key as it is not a string (type is '%s'). "
                "Open an issue on github if you need non-string keys." % type(key).__name__
            )
        return key

    def __getitem__(self, key):
        return getattr(self, self._key_to_attr(key))

    def __setitem__(self, key, value):
        self._keys[key] = None
        setattr(self, self._key_to_attr(key), _as_parameter(value))

    def __delitem__(self, key):
        del self._keys[key]
        delattr(self, self._key_to_attr(key))

    def __len__(self):
        return len(self._keys)

    def __iter__(self):
        return iter(self._keys)

    def __reversed__(self):
        return reversed(self._keys)

    def __contains__(self, key):
        return key in self._keys

    def copy(self):
        """A dictionary with the same parameters."""
        return ParameterDict(OrderedDict(self.items()))

    def setdefault(self, key, default=None):
        """The value of the key, which is set to `default` first if it is absent."""
        if key not in self:
            self[key] = default
        return self[key]

    def clear(self):
        """Takes everything out."""
        for key in list(self._keys):
            del self[key]

    def pop(self, key):
        """Takes a value out and returns it."""
        value = self[key]
        del self[key]
        return value

    def popitem(self):
        """Takes out the last (key, value) pair and returns it."""
        key = next(reversed(self._keys)) if self._keys else self._keys.popitem()
        return key, self.pop(key)

    def get(self, key, default=None):
        """The value of the key, or `default`."""
        return self[key] if key in self else default

    def fromkeys(self, keys, default=None):
        """A new dictionary with these keys."""
        return ParameterDict([(key, default) for key in keys])

    def keys(self):
        return self._keys.keys()

    def items(self):
        return ((key, self[key]) for key in self._keys)

    def values(self):
        return (self[key] for key in self._keys)

    def update(self, parameters):
        """Adds the values of a mapping (a plain one in the order of its keys) or of (key, value) pairs."""
        if not isinstance(parameters, Iterable):
            raise TypeError(
                "ParametersDict.update should be called with an iterable of key/value pairs, but got "
                + type(parameters).__name__
            )
        if isinstance(parameters, (OrderedDict, ParameterDict)):
            pairs = parameters.items()
        elif isinstance(parameters, Mapping):
            pairs = sorted(parameters.items())
        else:
            pairs = _pairs("ParameterDict", parameters)
        for key, value in pairs:
            self[key] = value

    def extra_repr(self):
        return "\n".join([_describe(key, value, torch.typename) for key, value in self.items()])

    def __call__(self, input):
        raise RuntimeError("ParameterDict should not be called.")

    def __or__(self, other):
        merged = self.copy()
        merged.update(other)
        return merged

    def __ror__(self, other):
        merged = other.copy()
        merged.update(self)
        return merged

    def __ior__(self, other):
        self.update(other)
        return self
