"""What is known not to be as PyTorch's yet: data/known_gaps.txt, one line each, a test id or the key of a table-driven case, a
tab, and the reason. The list only shrinks: a line goes when the difference does. Nothing in it is compared.
"""

import functools
import os

PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data", "known_gaps.txt")


@functools.lru_cache(maxsize=None)
def table():
    with open(PATH) as f:
        return dict(line.rstrip("\n").split("\t", 1) for line in f if line.strip())


def keys():
    return table().keys()


def reason_for(nodeid):
    return table().get(nodeid)
