"""Shared fixtures. `--lib torch` runs the behaviour tests against PyTorch instead of minitorch."""

import importlib
import os
import sys

import pytest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import known_gaps  # noqa: E402


def pytest_addoption(parser):
    parser.addoption(
        "--lib", default="minitorch", choices=["minitorch", "torch"], help="the module under test"
    )


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
            item.add_marker(pytest.mark.skip(reason=mark.kwargs.get("reason", "minitorch only")))


@pytest.fixture(scope="session")
def torch(request):
    return importlib.import_module(request.config.getoption("--lib"))


@pytest.fixture(scope="session")
def lib_name(request):
    return request.config.getoption("--lib")
