"""Fixtures that several test files share."""

import signal

import pytest
from flying import Flight
from hypothesis import HealthCheck, settings

from windtunnel.engine import supervisor

pytest.register_assert_rewrite("real_flights")

# On a machine that has other things to do, slow is no fault.
settings.register_profile("busy", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("busy")

# A background job ignores Ctrl-C, and so would every flight that the tests start; `windtunnel run` respects that.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def flight(tmp_path):
    return Flight(tmp_path)


@pytest.fixture
def quick(monkeypatch):
    """Patience of a second instead of many, for engines that try it."""
    monkeypatch.setattr(supervisor, "OVERDUE_S", 1.0)
    monkeypatch.setattr(supervisor, "PEER_GRACE_S", 1.0)
