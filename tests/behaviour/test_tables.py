"""Every example of the tables says what PyTorch says."""

import os
import sys

import pytest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import tables  # noqa: E402


def cases():
    for path in tables.paths():
        for i, section in enumerate(tables.read(path)[1]):
            name = "%s-%s" % (os.path.basename(path)[:-4], section.heading)
            yield pytest.param(section, id=name, marks=pytest.mark.item(*section.items))


@pytest.mark.parametrize("section", list(cases()))
def test_table(torch, section):
    wrong = [
        ">>> %s\n%s\nsaid:\n%s"
        % (code, "\n".join(expected), "\n".join(said + ([message] if message else [])))
        for code, said, message, expected in tables.run(torch, section)
    ]
    if wrong:
        pytest.fail("\n".join(wrong), pytrace=False)
