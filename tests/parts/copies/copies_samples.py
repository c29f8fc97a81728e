"""A ledger of copies, and what plans of tests have of them."""

from typing import Any

import pytest

from windtunnel.parts.copies import costs
from windtunnel.parts.copies.ledger import CopyLedger

LATER_KEYS = {("copies", "model")}
WORKLOAD_KEYS: dict[str, Any] = {"copies": {}}
KEPT_RUN = "copy-dma"
COMMANDS = ("copies of",)


@pytest.fixture
def one_round(monkeypatch):
    """Costs of copies are measured once, and not as the median of several rounds."""
    monkeypatch.setattr(costs, "ROUNDS", 1)


def copy_ledger(**about) -> CopyLedger:
    """Of a copier of the first application, all of whose copies ended."""
    copier = {"engine": "dma", "kind": "core", "device": "dma_skeleton0", "cpu": 0, "cpu_ns": 5, "at_least_bytes": 0}
    counts = {"submitted": 9, "measuring": 0, "ended": 9, "copies": 9, "by_cpu": {}, "uncopied": 0, "bytes": 9000}
    ends = {"never_ended": 0, "missing": 0, "driver": None, "planted": None}
    return CopyLedger(workload=0, application=0, **(copier | counts | ends | about))


def prepare_workload(workload: dict[str, Any]) -> None:
    """A source that holds a request."""
    workload["source"] = {"bytes": workload["request_bytes"], "order": "rotating"}
