"""Fixtures that several test files share; the tiers, and what may run side by side.

A test without a mark is of the quick tier: it starts no process. `slow` ones are left to `./test`, `long` ones to `./test long`. Files run
side by side, engines included; a test that cannot bear that is marked `alone`.
"""

import fcntl
import gc
import signal
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from command_line import SCENARIO
from fake_runs import RunSpec
from hypothesis import HealthCheck, Phase, settings
from part_samples import modules_of_samples
from xdist.scheduler import LoadScopeScheduling

pytest.register_assert_rewrite("real_runs")

# The same examples every time, so that a change alone decides whether a property holds; `./test long properties` draws new ones. An
# example that fails is shown as it was drawn: to find a smaller one takes minutes, and is left to `--hypothesis-profile=smaller`. On a
# machine that has other things to do, slow is no fault.
TOLERANT = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
SAME = {"derandomize": True, "max_examples": 40} | TOLERANT
settings.register_profile("same", phases=[Phase.explicit, Phase.generate], **SAME)
settings.register_profile("smaller", **SAME)
settings.register_profile("new", max_examples=300, **TOLERANT)
settings.load_profile("same")

# A background job ignores Ctrl-C, and so would every run that the tests start; `windtunnel run` respects that.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Millions of objects are made until the last test is collected, and all of them stay: to look for garbage among them takes half of that
# time, and much of each test's.
gc.disable()

ROOT = Path(__file__).parent
PARTS = ROOT / "tests" / "parts"
QUICK = (ROOT / "tests" / "unit", PARTS, ROOT / "sharing" / "tests" / "unit")
"""Where a test without a mark is of the quick tier."""
sys.path += map(str, PARTS.iterdir())  # what the tests of a part share stands beside them
pytest_plugins = modules_of_samples()
ONE_AFTER_ANOTHER = {
    "loopback_addresses": "loopback",
    "alone_on_this_machine": "sharing",
    "daemon_tools": "sharing",
    "journal_tools": "sharing",
}
"""Fixtures and modules of tests that want the machine's only port, or its CPUs: one process has all files that name one, so that no
other waits for it in vain."""
BUDGET_S = {"quick": 1.0, "middle": 20.0}
"""What one test of the tier may take. A slower one is listed at the end, and is not failed for it: a host may be busy."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--long", metavar="SLICE", help="the tests of this slice of the long tier, and no others")
    parser.addoption("--alone", action="store_true", help="the tests that bear no other beside them, and no others")


@cache
def scope_of(file: Path) -> str:
    """What tests of the file want for themselves; else the file itself."""
    text = file.read_text()
    return next((wanted for name, wanted in ONE_AFTER_ANOTHER.items() if name in text), str(file))


class FileScheduling(LoadScopeScheduling):
    """Tests of one file are of one process, and those of files that want the same for themselves."""

    def _split_scope(self, nodeid: str) -> str:
        return scope_of(self.config.rootpath / nodeid.split("::", 1)[0])


def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> FileScheduling:
    return FileScheduling(config, log)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Files with none of the few tests that are asked for: to import all takes half a minute."""
    options = config.option
    if collection_path.suffix != ".py" or not (options.alone or options.long):
        return None
    mark = "mark.alone" if options.alone else options.long  # or a module of that name, which has the marks
    return True if mark not in collection_path.read_text() else None


def tier_of(item: pytest.Item) -> str:
    if item.get_closest_marker("long"):
        return "long"
    return (
        "quick"
        if not item.get_closest_marker("slow") and any(place in item.path.parents for place in QUICK)
        else "middle"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Selects by tier and by neighbours. What one process has to run alone, minutes of it, comes first, then runs of the engine: the others
    fill the gaps at the end."""
    side_by_side = getattr(config.option, "numprocesses", None) or hasattr(config, "workerinput")

    def is_wanted(item: pytest.Item) -> bool:
        mark, alone = item.get_closest_marker("long"), item.get_closest_marker("alone") is not None
        in_tier = (mark.args[0] if mark else None) == config.option.long
        return in_tier and (alone or not config.option.alone) and not (alone and side_by_side)

    others = [item for item in items if not is_wanted(item)]
    if others:
        config.hook.pytest_deselected(items=others)
    items[:] = sorted(
        filter(is_wanted, items), key=lambda item: (scope_of(item.path) == str(item.path), tier_of(item) == "quick")
    )


def pytest_collection_finish(session: pytest.Session) -> None:
    gc.freeze()
    gc.set_threshold(
        50_000, 50, 50
    )  # a test of a table makes that many objects in a blink, and by default 700 are looked through
    gc.enable()


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """`./test -k NAME` asks for these, too, and seldom means one of them."""
    if session.config.option.alone and exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED:
        session.exitstatus = pytest.ExitCode.OK


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> object:
    report = yield
    report.tier = tier_of(item)  # goes to the terminal's process with the report
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reports = [report for each in terminalreporter.stats.values() for report in each if hasattr(report, "tier")]
    slow = [
        (report.duration, report) for report in reports if report.duration > BUDGET_S.get(report.tier, float("inf"))
    ]
    if slow:
        terminalreporter.section("slower than their tier allows")
    for seconds, report in sorted(slow, key=lambda pair: -pair[0]):
        terminalreporter.line(
            f"{seconds:6.1f} s {report.when:8} {report.nodeid} ({report.tier}: {BUDGET_S[report.tier]:g} s)"
        )


@pytest.fixture
def loopback_addresses() -> Iterator[None]:
    """Only one run at a time has the addresses of the loopback interface and the port that scenarios have by default."""
    with (Path(tempfile.gettempdir()) / "windtunnel-tests-loopback.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@pytest.fixture
def spec(tmp_path):
    return RunSpec(tmp_path)


@pytest.fixture
def scenario(tmp_path):
    file = tmp_path / "echo.toml"
    file.write_text(SCENARIO.format(duration="60ms"))
    return file
