"""The behaviour items and the tests that observe them agree."""

import ast
import glob
import os
import re

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BEHAVIOUR = os.path.join(ROOT, "tests", "behaviour")


def items():
    with open(os.path.join(BEHAVIOUR, "items.txt"), encoding="utf-8") as f:
        return [line.split()[0] for line in f]


def observed():
    """id -> files that have a test for it."""
    found = {}
    for path in glob.glob(os.path.join(BEHAVIOUR, "test_*.py")):
        with open(path, encoding="utf-8") as f:
            tree = ast.parse(f.read(), path)
        for node in ast.walk(tree):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr == "item"
            ):
                for arg in node.args:
                    if isinstance(arg, ast.Constant) and isinstance(arg.value, str):
                        found.setdefault(arg.value, set()).add(os.path.basename(path))
    for path in glob.glob(os.path.join(BEHAVIOUR, "tables", "*.txt")):
        with open(path, encoding="utf-8") as f:
            for heading in re.findall(r"^\[(M[^\]]*)\]", f.read(), re.M):
                for item in heading.split():
                    found.setdefault(item, set()).add(os.path.basename(path))
    return found


def test_items_are_listed_once():
    assert len(items()) == len(set(items()))


def test_markers_name_known_items():
    assert sorted(set(observed()) - set(items())) == []


def test_every_item_is_observed():
    assert sorted(set(items()) - set(observed())) == []


def test_items_have_titles():
    with open(os.path.join(BEHAVIOUR, "items.txt"), encoding="utf-8") as f:
        assert [line for line in f if len(line.split()) < 2] == []
