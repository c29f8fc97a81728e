"""What makes a run over RDMA invalid."""

from types import SimpleNamespace

import pytest

from windtunnel.engine.reasons import FAULTS
from windtunnel.parts.rdma.verdict import unsound


@pytest.mark.parametrize(
    ("side", "counted", "reasons"),
    [
        ("client", {"wrong pieces read": 4, "dry": 1}, ["region wrong: 4 wrong pieces read, as the client found"]),
        ("server", {"wrong bytes written": 8}, ["region wrong: 8 wrong bytes written, as the server found"]),
        ("client", {"dry": 1}, []),
    ],
)
def test_other_bytes_than_those_of_the_region_are_a_fault(side, counted, reasons):
    assert list(unsound(None, SimpleNamespace(xstats={side: counted}))) == reasons
    assert "region wrong" in FAULTS


def test_a_port_that_counts_nothing_has_nothing_wrong():
    assert list(unsound(None, SimpleNamespace(xstats=None))) == []
