"""libfabric is opened by what needs it alone: drivers that are linked into it measure clocks for a fifth of a second as they are loaded."""

import os
import subprocess

import pytest

from windtunnel.engine.find import find_engine
from windtunnel.parts.rdma.query import rdma_offers

pytestmark = pytest.mark.slow


def opened_files(option: str) -> str:
    environment = os.environ | {"LD_DEBUG": "files"}
    return subprocess.run([find_engine(), option], env=environment, capture_output=True, text=True, check=True).stderr


def test_no_engine_opens_it_before_it_is_asked_for_rdma():
    if rdma_offers(find_engine()) is None:
        pytest.skip("built without libfabric")
    assert "libfabric" not in opened_files("--version")
    assert "libfabric" in opened_files("--rdma")
