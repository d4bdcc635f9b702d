"""Shared fixtures. `--growth` repeats every test and looks for what is left behind. `--lib torch` runs the behaviour tests against PyTorch instead of minitorch."""

import gc
import importlib
import os
import sys
import time
import warnings

import pytest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import known_gaps  # noqa: E402


def pytest_addoption(parser):
    parser.addoption(
        "--lib", default="minitorch", choices=["minitorch", "torch"], help="the module under test"
    )
    parser.addoption("--growth", action="store_true", help="run every test again and fail where memory grows")


def pytest_configure(config):
    config.addinivalue_line("markers", "minitorch_only(reason): what PyTorch does not do, or does wrongly")


def pytest_collection_modifyitems(config, items):
    if config.getoption("--lib") != "torch":
        for item in items:
            reason = known_gaps.reason_for(item.nodeid)
            if reason:
                item.add_marker(pytest.mark.skip(reason=reason))
        return
    for item in items:
        mark = item.get_closest_marker("minitorch_only")
        if mark:
            item.add_marker(pytest.mark.skip(reason=mark.kwargs["reason"]))


@pytest.fixture(scope="session")
def torch(request):
    return importlib.import_module(request.config.getoption("--lib"))


@pytest.fixture(scope="session")
def lib_name(request):
    return request.config.getoption("--lib")


# --- growth: nothing is left behind when a test runs again ---

WARM, LONG, LONGEST = 5, 200, 2000
FREE_LISTS = 2000  # blocks that the interpreter keeps for later
PATIENCE = 20  # seconds


def _known_growth():
    """Tests that leave something behind and may: data/known_growth.txt says why."""
    with open(os.path.join(os.path.dirname(__file__), "data", "known_growth.txt")) as file:
        return {line.split(" | ")[0] for line in file if " | " in line}


def _blocks(module):
    gc.collect()
    return sys.getallocatedblocks(), module._C._testing.alloc_stats()["live_blocks"]


def _growth(function, arguments, rounds, module):
    """(rounds, blocks of Python's allocator, of minitorch's) that rounds leave behind; a slow test gets fewer rounds."""
    before, end, done = _blocks(module), time.monotonic() + PATIENCE, 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pytest keeps what is warned
        while done < rounds and time.monotonic() < end:
            function(**arguments)
            done += 1
            if "monkeypatch" in arguments:
                arguments["monkeypatch"].undo()  # it remembers every change
    return [done] + [b - a for a, b in zip(before, _blocks(module))]


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    """With --growth every test runs again and again. Caches and free lists fill up (with up to 2,000 tuples of a size), a leak
    goes on: one block a round in the long run."""
    if not pyfuncitem.config.getoption("--growth") or "tmp_path" in pyfuncitem.fixturenames:
        return None
    if pyfuncitem.nodeid in _known_growth():
        return None
    module = importlib.import_module("minitorch")
    function = pyfuncitem.obj
    arguments = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
    function(**arguments)
    gc.freeze()  # what pytest holds need not be walked
    try:
        _growth(function, arguments, WARM, module)
    except BaseException:  # a test that can run but once
        return True
    for rounds in (WARM, LONG, LONGEST):
        done, *left = _growth(function, arguments, rounds, module)
        if max(left) < (max(done, FREE_LISTS) if rounds == LONGEST else done):
            return True
    pytest.fail("%d rounds leave %d blocks of Python and %d of minitorch" % (done, *left), pytrace=False)
