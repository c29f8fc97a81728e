"""What tests of P4 pipelines share, and what tests of the spine ask for."""

import os

import pytest
from scenario_tools import CHECKOUT

from windtunnel.engine.find import find_engine
from windtunnel.errors import UserError
from windtunnel.parts.swx.catalogue import SCENARIOS
from windtunnel.parts.swx.query import compile_spec

NOT_OPTIMIZED = CHECKOUT / "engine/parts/swx/tests/not_optimized"
FIXTURES = {name: "pipelines" for names in SCENARIOS.values() for name in names}
OPENED_FILES = [("swx-acl.toml", "swx-acl.spec"), ("swx-acl.toml", "swx-acl.tables")]


@pytest.fixture
def pipelines(tmp_path_factory, monkeypatch) -> None:
    """P4 pipelines, each compiled once for all tests of a process, without optimisation, into a cache that no user has."""
    with pytest.raises(UserError) as refused:
        compile_spec(find_engine(), "/nonexistent", "gcc")
    if "built without DPDK's headers" in refused.value.message:
        pytest.skip(refused.value.message)
    monkeypatch.setenv("PATH", f"{NOT_OPTIMIZED}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "cache"))
