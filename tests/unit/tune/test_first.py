"""First moves: what a diagnosis would change, with its reason."""

from diagnosed_runs import made

from windtunnel.tune.first import remedies


def test_remedies_are_changes_with_the_cause_as_their_reason():
    moves = remedies(made(client=0.9, server=0.9))
    assert [dict(move.changes) for move in moves] == [{"client.inflight": 2048}]
    assert moves[0].why == "diagnosis: too few messages in flight; 2,048 messages in flight"


def test_a_cause_that_no_setting_removes_is_no_move():
    assert remedies(made(client=0.4, server=0.02)) == []
