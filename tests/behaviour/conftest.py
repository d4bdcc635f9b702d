"""Which behaviour items a run has seen pass: `@pytest.mark.item("M1.10")` ties a test to lines of items.txt."""

import os


HERE = os.path.dirname(os.path.abspath(__file__))
RANK = ["skipped", "passed", "failed"]  # of several tests of an item, the last of these counts
outcomes = {}


def all_items():
    with open(os.path.join(HERE, "items.txt"), encoding="utf-8") as f:
        return dict(line.rstrip("\n").split(" ", 1) for line in f)


def pytest_configure(config):
    config.addinivalue_line("markers", "item(*ids): the behaviour items (items.txt) that a test observes")


def pytest_collection_modifyitems(items):
    for test in items:
        for mark in test.iter_markers("item"):
            for item in mark.args:
                test.user_properties.append(("item", item))


def pytest_runtest_logreport(report):
    for name, item in report.user_properties:
        if name == "item" and (report.when == "call" or report.outcome != "passed"):
            outcomes[item] = max(report.outcome, outcomes.get(item, "skipped"), key=RANK.index)


def pytest_terminal_summary(terminalreporter):
    if not outcomes:
        return
    passed = sum(outcome == "passed" for outcome in outcomes.values())
    terminalreporter.write_line("behaviour items: %d pass of %d seen" % (passed, len(outcomes)))
    titles = all_items()
    for item in sorted(outcomes):
        if outcomes[item] != "passed":
            terminalreporter.write_line(
                "  %s %s: %s" % (outcomes[item], item, titles.get(item, "unknown item"))
            )
