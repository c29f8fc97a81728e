"""First moves: what a diagnosis would change, with its reason."""

from types import SimpleNamespace

from diagnosed_runs import made

from windtunnel.parts.diagnose.model import Gain
from windtunnel.parts.tune import first
from windtunnel.parts.tune.first import remedies


def test_remedies_are_changes_with_the_cause_as_their_reason():
    moves = remedies(made(client=0.9, server=0.9))
    assert [dict(move.changes) for move in moves] == [{"client.inflight": 2048}]
    assert moves[0].why == "diagnosis: too few messages in flight; 2,048 messages in flight"


def test_a_cause_that_no_setting_removes_is_no_move():
    assert remedies(made(client=0.4, server=0.0)) == []


def test_what_can_bring_nothing_is_no_move(monkeypatch):
    def cause(gain, *sets):
        return SimpleNamespace(title="t", remedy="r", sets=list(sets), gain=gain)

    causes = [
        cause(Gain(1.0, 2.0), "client.inflight=64"),
        cause(Gain(-3.0, 0.0), "server.ring_size=64"),
        cause(None, "server.ring_size=128", "client.ring_size=128"),
        cause(Gain(1.0, 2.0)),
    ]
    monkeypatch.setattr(first, "diagnose", lambda run: SimpleNamespace(causes=causes))
    assert [dict(move.changes) for move in remedies(made())] == [
        {"client.inflight": 64},
        {"server.ring_size": 128, "client.ring_size": 128},
    ]
