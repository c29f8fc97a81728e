"""Runs side by side: what a reader must know of the host before comparing them."""

import pytest
from comparing import made
from terminal_views import printed

from windtunnel.runs import load
from windtunnel.views.terminal.side_by_side import side_by_side_view


def shown(directory, *states):
    runs = []
    for n, state in enumerate(states):
        about = {} if state is None else {"state": state}
        runs.append(load(made(directory / f"{n}", 6.0, n, **about)))
    return " ".join(printed(side_by_side_view(runs)).split())


def test_runs_in_two_states_are_warned_of(tmp_path):
    said = shown(tmp_path, "one-l3", "two-l3s", None)
    assert "states of the host differ (0 one-l3, 1 two-l3s, 2 not known): a difference" in said
    assert "host state one-l3 two-l3s –" in said


@pytest.mark.parametrize("states", [("one-l3", "one-l3"), ("one-l3", None), (None, None), ("one worker", "one-l3")])
def test_one_state_needs_no_warning(tmp_path, states):
    assert "states of the host differ" not in shown(tmp_path, *states)
