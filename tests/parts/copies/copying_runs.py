"""Scenarios in which payload is copied in earnest, and what must be true of their runs."""

import pytest
from real_runs import after, messages, scenario

from windtunnel.parts.copies.ledger import CopyLedger, VerifiedLedger

REQUEST = 32 << 10
SMALL = {"source": {"bytes": "1MiB"}}
CLIENT = {"inflight": 64}
TIMED = after(5000) | {"accounting": {"sample_every": 1, "interrupted_above": "10ms"}}
"""Every loop is timed: with a core that is given away most of the time, perhaps no copy is in every 31st. A call of 45 KiB may take
100 us with streaming stores, in a guest."""


PATIENT = {"timeout": "1min"}
"""A busy host lets the thread of a copier wait for more than the second that is the default."""


def workload(copies: dict, **more) -> dict:
    copies = {"verify": True} | PATIENT | copies
    return {"handler": "t_app", "request": REQUEST, "timeout": "10s", "copies": copies} | SMALL | more


def copying(copies: dict, *, wire: dict | None = None, **more) -> dict:
    keys = {"wire": wire} if wire else {}
    return scenario(workload(copies, **more), client=CLIENT, drain="10s", **keys)


def naming(copies: dict, **more) -> dict:
    """Responses whose copies fs_read names."""
    about = {"handler": "fs_read", "source": None, "request": 86, "response": REQUEST, "options": {"file": "1MiB"}}
    return copying(copies, **about | more)


SIDES = pytest.mark.parametrize("of", [copying, naming], ids=["requests", "responses"])


def copies_of(run) -> CopyLedger:
    [ledger] = [ledger for engine in run.record.engines for ledger in engine.result.copies]
    return ledger


def verified(run) -> VerifiedLedger:
    [ledger] = [ledger for engine in run.record.engines for ledger in engine.result.verified]
    return ledger


def assert_copied(run) -> CopyLedger:
    """Every byte is there and accounted for, by the copier, by the driver, and by the side that checked it."""
    ledger, checked = copies_of(run), verified(run)
    assert (ledger.endpoint, checked.endpoint) in (("client", "server"), ("server", "client"))
    assert ledger.submitted == ledger.ended and ledger.never_ended == ledger.missing == 0
    head = 16 if ledger.endpoint == "client" else 32  # of the message, and of what fs_read writes itself
    assert ledger.bytes == messages(run).sent * (REQUEST - head)
    assert checked.packets == ledger.copies + sum(ledger.by_cpu.values()) + ledger.uncopied > 0
    assert checked.wrong_packets == checked.wrong_bytes == 0 and checked.first is None
    windows = [part for window in run.windows[run.record.engines[0].name] for part in window.copies]
    if windows:
        assert sum(part.bytes for part in windows) == ledger.bytes
    return ledger
