"""A hundred random calls of every function and method, in processes of their own."""

import os
import subprocess
import sys

import pytest

DRIVER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "driver.py")
LIMIT = 600  # seconds; a hang, not a slow machine


@pytest.mark.parametrize("seed", [1, 2])
def test_random_calls(seed, tmp_path):
    log = str(tmp_path / "call")
    command = [
        sys.executable,
        "-X",
        "faulthandler",
        DRIVER,
        "--each",
        "50",
        "--seed",
        str(seed),
        "--log",
        log,
    ]
    try:
        run = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        run = None
    with open(log, encoding="utf-8", errors="replace") as f:
        last = f.read().strip()
    assert run is not None, "hangs in " + last
    assert run.returncode == 0, "status %d in %s\n%s%s" % (
        run.returncode,
        last,
        run.stdout[-3000:],
        run.stderr[-3000:],
    )
