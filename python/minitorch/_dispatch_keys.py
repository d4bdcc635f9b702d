# SPDX-License-Identifier: BSD-3-Clause
"""Dispatch keys as PyTorch names them: which keys a tensor carries and which ones the thread includes or excludes.

The dispatcher in C knows fewer keys (core/keys.def); what is told here follows from what a tensor and the thread say of
themselves. Attributes of `_C` that are looked up here: see `late`.
"""

from minitorch import _C

# In the order of a printed set; the number is PyTorch's.
_NUMBERS = {
    "Undefined": 0,
    "CPU": 49,
    "CUDA": 50,
    "Meta": 61,
    "BackendSelect": 18,
    "Python": 19,
    "Conjugate": 25,
    "Negative": 26,
    "ADInplaceOrView": 28,
    "AutogradOther": 29,
    "AutogradNestedTensor": 31,
    "AutocastCPU": 33,
    "AutocastMTIA": 34,
    "AutocastMAIA": 35,
    "AutocastXPU": 36,
    "AutocastIPU": 37,
    "AutocastHPU": 38,
    "AutocastXLA": 39,
    "AutocastMPS": 40,
    "AutocastCUDA": 41,
    "AutocastPrivateUse1": 42,
    "AutogradCPU": 109,
    "AutogradCUDA": 110,
    "AutogradMeta": 121,
}
_ORDER = [n for n in _NUMBERS if not n.startswith("Auto")]
_ORDER += ["AutogradOther", "AutogradNestedTensor", "AutogradCPU", "AutogradCUDA", "AutogradMeta"]
_ORDER += [n for n in _NUMBERS if n.startswith("Autocast")]


class DispatchKey:
    """A key: `DispatchKey.CPU`. Its `name` and `value` are PyTorch's."""

    __members__ = {}
    __slots__ = ("name", "value")

    def __repr__(self):
        return "<DispatchKey.%s: %d>" % (self.name, self.value)

    def __str__(self):
        return "DispatchKey." + self.name

    def __int__(self):
        return self.value

    __index__ = __int__

    def __reduce__(self):
        return getattr, (DispatchKey, self.name)


for _name, _number in _NUMBERS.items():
    _key = object.__new__(DispatchKey)
    _key.name, _key.value = _name, _number
    DispatchKey.__members__[_name] = _key
    setattr(DispatchKey, _name, _key)


class DispatchKeySet:
    """A set of keys: `DispatchKeySet(DispatchKey.CPU)`, with `has`, `add`, `remove`, `|`, `&` and `-`."""

    def __init__(self, key):
        self._names = frozenset() if key is DispatchKey.Undefined else frozenset([key.name])

    def has(self, key):
        """Is the key in the set?"""
        return key.name in self._names

    def add(self, key):
        """The set with one more key."""
        return _set_of(self._names | {key.name})

    def remove(self, key):
        """The set without a key."""
        return _set_of(self._names - {key.name})

    def highestPriorityTypeId(self):
        """The key that a call goes to first."""
        names = [n for n in _ORDER if n in self._names]
        return DispatchKey.__members__[names[-1] if names else "Undefined"]

    def __or__(self, other):
        return _set_of(self._names | other._names)

    def __and__(self, other):
        return _set_of(self._names & other._names)

    def __sub__(self, other):
        return _set_of(self._names - other._names)

    def __eq__(self, other):
        return isinstance(other, DispatchKeySet) and self._names == other._names

    def __hash__(self):
        return hash(self._names)

    def __repr__(self):
        return "DispatchKeySet(%s)" % ", ".join(n for n in _ORDER if n in self._names)


def _set_of(names):
    result = object.__new__(DispatchKeySet)
    result._names = frozenset(names)
    return result


def _dispatch_keys(tensor):
    """_dispatch_keys(tensor) -> DispatchKeySet: the keys that the tensor carries."""
    backend = "Meta" if tensor.is_meta else "CUDA" if tensor.is_cuda else "CPU"
    names = {backend}
    if backend != "Meta":
        names.add("Autocast" + backend)
    if not tensor.is_inference():
        names |= {"ADInplaceOrView", "Autograd" + backend}
    if tensor.is_conj():
        names.add("Conjugate")
    if tensor.is_neg():
        names.add("Negative")
    return _set_of(names)


def _dispatch_tls_local_include_set():
    """The keys that calls of this thread have in addition."""
    return _set_of({"BackendSelect"} | (set() if _C.is_inference_mode_enabled() else {"ADInplaceOrView"}))


def _dispatch_tls_local_exclude_set():
    """The keys that calls of this thread do not see."""
    names = {n for n in _NUMBERS if n.startswith("Autocast")}
    return _set_of(
        names | ({"AutogradOther", "AutogradNestedTensor"} if _C.is_inference_mode_enabled() else set())
    )


def _dispatch_key_name(key):
    """The name of a key."""
    return key.name


def _dispatch_key_parse(name):
    """The key of a name; RuntimeError."""
    if name not in _NUMBERS:
        raise RuntimeError("could not parse dispatch key: %s" % name)
    return getattr(DispatchKey, name)


_NAMES = (
    "DispatchKey DispatchKeySet _dispatch_keys _dispatch_tls_local_include_set _dispatch_tls_local_exclude_set "
    "_dispatch_key_name _dispatch_key_parse"
).split()


def late(name):
    """The attribute of `_C` of this name."""
    if name not in _NAMES:
        raise AttributeError("module 'minitorch._C' has no attribute '%s'" % name)
    return globals()[name]
