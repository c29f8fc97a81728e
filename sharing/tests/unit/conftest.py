"""Fixtures of the tests of sharing."""

import os
from contextlib import closing

import pytest
from sharing_tools import tenant

from windtunnel_sharing.changed_threads import Journal
from windtunnel_sharing.daemon import find_tenant


@pytest.fixture
def apart(monkeypatch):
    """Processes that a test starts are not the daemon's."""
    monkeypatch.setattr(find_tenant, "_family", lambda: {os.getpid()})


@pytest.fixture
def path(tmp_path):
    return tmp_path / "a.journal"


@pytest.fixture
def mine(path):
    """A journal without a guardian."""
    with closing(Journal(path)) as opened:
        yield opened


@pytest.fixture
def one():
    """A process that may be changed."""
    with tenant() as process:
        yield process
