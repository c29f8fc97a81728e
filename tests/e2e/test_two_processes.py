"""`run --side` without root: two processes that meet at a memif, started by hand, and joined afterwards."""

import signal

import pytest
from real_runs import assert_sound
from scenario_tools import SHIPPED
from sides import met, start

from windtunnel.results.page.files import write_new_page
from windtunnel.results.run.document import run_document
from windtunnel.runs.joined import crossings, join, session

FILE = SHIPPED / "two-processes.toml"


def both(directory, *sets):
    socket = f"wire.socket={directory / 'wt.sock'}"
    return [start(side, FILE, directory / side, socket, *sets) for side in ("client", "server")]


def test_runs_of_two_terminals_join_into_one_report(tmp_path):
    runs = [side.run() for side in both(tmp_path)]
    for run in runs:
        assert_sound(run)
        assert [w.phase for w in next(iter(run.windows.values()))][:2] == ["hello", "warmup"]
    joined = join(runs)
    assert joined.record.verdict.valid
    assert [engine.name for engine in joined.record.engines] == ["server", "client"]
    assert all(crossing.sent == crossing.received > 100 for crossing in crossings(joined))
    sessions = {engine.peer.session for engine in joined.record.engines}
    assert sessions == {session(joined)} and len(session(joined)) == 32
    page = write_new_page(run_document(joined), tmp_path / "joined.html").read_text()
    assert "Between the hosts" in page and f"{crossings(joined)[0].sent:,}" in page


@pytest.mark.parametrize("stopped", ["client", "server"])
def test_a_stopped_side_tells_the_other(tmp_path, stopped):
    client, server = sides = both(tmp_path, "duration=1min")
    sides[stopped == "server"].until(met)
    sides[stopped == "server"].process.send_signal(signal.SIGINT)
    assert {client.ended()[0], server.ended()[0]} == {130, 1}
    runs = {"client": client.run(), "server": server.run()}
    reasons = {side: run.record.verdict.reasons for side, run in runs.items()}
    assert reasons.pop(stopped) == ["stopped before the end: interrupted by the user"]
    [[*others]] = reasons.values()
    assert "stopped before the end: the other side was stopped" in others
    for run in runs.values():
        assert all(ledger.missing == 0 for ledger in run.record.engines[0].result.messages)
    joined = join(list(runs.values()))
    assert not joined.record.verdict.valid and len(joined.record.verdict.reasons) >= 2
