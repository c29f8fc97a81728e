"""Fixtures that several test files share, and the order of the tests."""

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


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Unit tests first, then what runs the engine. With `-n` (pytest-xdist) the files of the unit tests are shared out among
    the processes; everything that runs the engine is one group, in one process, because its workers want both CPUs."""
    items.sort(key=lambda item: UNIT not in item.path.parents)  # keeps the order otherwise
    for item in items:
        unit = UNIT in item.path.parents
        item.add_marker(pytest.mark.xdist_group(str(item.path.relative_to(UNIT)) if unit else "engine"))


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
