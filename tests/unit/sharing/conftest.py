"""Fixtures of the tests of sharing."""

import os

import pytest

from windtunnel.sharing.daemon import find_tenant


@pytest.fixture
def apart(monkeypatch):
    """Processes that a test starts are not the daemon's."""
    monkeypatch.setattr(find_tenant, "_family", lambda: {os.getpid()})
