# SPDX-License-Identifier: BSD-3-Clause
"""The version: PyTorch's that the interface follows, with ours as the local part."""


def _key(text):
    """What versions are ordered by (PEP 440), the local part left out; None if the text is no version."""
    import re

    match = re.fullmatch(
        r"\s*v?(?:(\d+)!)?(\d+(?:\.\d+)*)"
        r"(?:[-_.]?(alpha|a|beta|b|preview|pre|c|rc)[-_.]?(\d*))?"
        r"(?:-(\d+)|[-_.]?(post|rev|r)[-_.]?(\d*))?"
        r"(?:[-_.]?(dev)[-_.]?(\d*))?"
        r"(?:\+[a-z0-9]+(?:[-_.][a-z0-9]+)*)?\s*",
        text.lower(),
    )
    if match is None:
        return None
    epoch, release, pre, pre_number, dash, post, post_number, dev, dev_number = match.groups()
    numbers = [int(part) for part in release.split(".")]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    after = int(dash) if dash else int(post_number or 0) if post else -1
    before = {"a": 0, "b": 1}.get(pre[0], 2) if pre else -1 if dev and after < 0 else 3
    return (
        int(epoch or 0),
        numbers,
        (before, int(pre_number or 0)),
        after,
        int(dev_number or 0) if dev else float("inf"),
    )


class TorchVersion(str):
    """A string that compares as a version with strings, with tuples of numbers and with other versions.

    The part after "+" does not count.  What is no version compares as a string.

    >>> TorchVersion("2.13.0+local") > "2.9", TorchVersion("2.13.0+local") >= (2, 13)
    (True, True)
    """

    __slots__ = ()

    def _compare(self, other, method):
        if isinstance(other, (tuple, list)):
            other = ".".join(str(part) for part in other)
        elif not isinstance(other, str):
            if type(other).__name__ != "Version":  # of packaging
                return NotImplemented
            other = str(other)
        mine, theirs = _key(str(self)), _key(other)
        if mine is None or theirs is None:
            return getattr(str, method)(self, other)
        return getattr(tuple, method)(mine, theirs)

    def __lt__(self, other):
        return self._compare(other, "__lt__")

    def __le__(self, other):
        return self._compare(other, "__le__")

    def __gt__(self, other):
        return self._compare(other, "__gt__")

    def __ge__(self, other):
        return self._compare(other, "__ge__")

    def __eq__(self, other):
        return self._compare(other, "__eq__")

    def __ne__(self, other):
        return self._compare(other, "__ne__")

    __hash__ = str.__hash__


__version__ = TorchVersion("2.13.0+minitorch0.1.0")
debug = False
cuda = hip = rocm = xpu = None
git_version = "unknown"
