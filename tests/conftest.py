"""Fixtures that several test files share, and the order of the tests."""

import os
import signal
from pathlib import Path

import pytest
from command_line import SCENARIO
from fake_runs import RunSpec
from hypothesis import HealthCheck, settings

from windtunnel.engine import supervisor

pytest.register_assert_rewrite("real_runs")

# On a machine that has other things to do, slow is no fault.
settings.register_profile("busy", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("busy")

# A background job ignores Ctrl-C, and so would every run that the tests start; `windtunnel run` respects that.
signal.signal(signal.SIGINT, signal.default_int_handler)

UNIT = Path(__file__).parent / "unit"


def _needs_cpus(item: pytest.Item) -> bool:
    return UNIT not in item.path.parents and item.get_closest_marker("fake_engine") is None


def pytest_itemcollected(item: pytest.Item) -> None:
    """With `-n` (pytest-xdist) files are shared out among the processes; everything that runs the engine is one group, in one process,
    because its workers want both CPUs. The mark is set here: xdist reads it before any other hook comes."""
    item.add_marker(pytest.mark.xdist_group("engine" if _needs_cpus(item) else str(item.path)))
    if _needs_cpus(item) or item.get_closest_marker("slow"):
        item.add_marker(pytest.mark.flaky(reruns=1))  # a host may give a process no CPU for seconds


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What runs the engine comes last, when no other test is left."""
    items.sort(key=_needs_cpus)  # keeps the order otherwise


def pytest_collection_finish(session: pytest.Session) -> None:
    """Without its groups, xdist runs two engines at once, and tests fail for want of a CPU."""
    grouping = "PYTEST_XDIST_WORKER" in os.environ and getattr(session.config.option, "loadgroup", False)
    if grouping and not all("@" in item.nodeid for item in session.items):
        raise pytest.UsageError("this pytest-xdist does not group tests: pyproject.toml says which pytest it needs")


@pytest.fixture
def spec(tmp_path):
    return RunSpec(tmp_path)


@pytest.fixture
def quick(monkeypatch):
    """Patience of a second instead of many, for engines that try it."""
    monkeypatch.setattr(supervisor, "OVERDUE_S", 1.0)
    monkeypatch.setattr(supervisor, "PEER_GRACE_S", 1.0)


@pytest.fixture
def scenario(tmp_path):
    file = tmp_path / "echo.toml"
    file.write_text(SCENARIO.format(duration="60ms"))
    return file
