# SPDX-License-Identifier: BSD-3-Clause
"""Every script of scripts/ in a process of its own."""

import glob
import os
import subprocess
import sys

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
SCRIPTS = sorted(glob.glob(os.path.join(HERE, "scripts", "*.py")))
LIMIT = 300  # seconds; a hang, not a slow machine


@pytest.mark.parametrize("path", SCRIPTS, ids=[os.path.basename(p)[:-3] for p in SCRIPTS])
def test_script(path):
    done = subprocess.run([sys.executable, path], capture_output=True, text=True, timeout=LIMIT)
    assert done.returncode == 0, "status %d\n%s" % (done.returncode, done.stderr)
    assert done.stderr == ""
    assert done.stdout.splitlines()[-1] == "ok"
