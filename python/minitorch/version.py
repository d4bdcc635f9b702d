# SPDX-License-Identifier: BSD-3-Clause
"""The version: PyTorch's that the interface follows, with ours as the local part."""


class TorchVersion(str):
    """A string that compares as a version with strings, tuples and other versions."""

    def _key(self, other):
        if isinstance(other, (tuple, list)):
            other = ".".join(str(part) for part in other)
        key = []
        for part in str(other).split("+")[0].split("."):
            digits = ""
            for char in part:
                if not char.isdigit():
                    break
                digits += char
            key.append((int(digits or 0), digits == part))
        while len(key) > 1 and key[-1] == (0, True):
            key.pop()
        return key

    def __lt__(self, other):
        return self._key(self) < self._key(other)

    def __le__(self, other):
        return self._key(self) <= self._key(other)

    def __gt__(self, other):
        return self._key(self) > self._key(other)

    def __ge__(self, other):
        return self._key(self) >= self._key(other)

    def __eq__(self, other):
        if not isinstance(other, (str, tuple, list)):
            return False
        return str(self) == other or ("+" not in str(other) and self._key(self) == self._key(other))

    def __ne__(self, other):
        return not self == other

    __hash__ = str.__hash__


__version__ = TorchVersion("2.13.0+minitorch0.1.0")
cuda = None
git_version = "unknown"
