# SPDX-License-Identifier: BSD-3-Clause
"""What the namespace can do."""

import minitorch as torch
from minitorch.array_api._dtypes import BOOL, COMPLEX, REAL, SIGNED, UNSIGNED


class Info:
    """Capabilities, devices and dtypes of the namespace."""

    def capabilities(self):
        """capabilities() -> dict: boolean indexing and shapes that depend on data work; 64 dimensions at most."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self):
        """default_device() -> device"""
        return torch.get_default_device()

    def devices(self):
        """devices() -> tuple of devices"""
        found = [torch.device("cpu")]
        if torch.cuda.is_available():
            found += [torch.device("cuda", i) for i in range(torch.cuda.device_count())]
        return tuple(found) + (torch.device("meta"),)

    def default_dtypes(self, *, device=None):
        """default_dtypes(*, device=None) -> dict: of real and complex numbers, integers and indices."""
        real = torch.get_default_dtype()
        return {
            "real floating": real,
            "complex floating": real.to_complex(),
            "integral": torch.int64,
            "indexing": torch.int64,
        }

    def dtypes(self, *, device=None, kind=None):
        """dtypes(*, device=None, kind=None) -> dict of name and dtype: all, or those of a kind or of a tuple of kinds."""
        groups = {
            "bool": BOOL,
            "signed integer": SIGNED,
            "unsigned integer": UNSIGNED,
            "integral": SIGNED + UNSIGNED,
            "real floating": REAL,
            "complex floating": COMPLEX,
            "numeric": SIGNED + UNSIGNED + REAL + COMPLEX,
        }
        if kind is None:
            wanted = BOOL + groups["numeric"]
        elif isinstance(kind, tuple):
            wanted = tuple(d for k in kind for d in self.dtypes(kind=k).values())
        elif kind in groups:
            wanted = groups[kind]
        else:
            raise ValueError("dtypes(): unknown kind %r" % (kind,))
        return {str(d).rpartition(".")[2]: d for d in wanted}


def __array_namespace_info__():
    """__array_namespace_info__() -> Info: capabilities, devices and dtypes of the namespace."""
    return Info()
