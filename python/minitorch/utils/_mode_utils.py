# SPDX-License-Identifier: BSD-3-Clause
"""A helper of programs that stack modes."""


def all_same_mode(modes):
    """all_same_mode(modes) -> bool: whether they are all the same object."""
    return all(tuple(mode == modes[0] for mode in modes))
