"""Runs side by side: what a reader must know of the host before comparing them."""

import pytest
from comparing import made
from terminal_views import printed

from windtunnel.results.run.side_by_side import side_by_side_document
from windtunnel.runs import load


def shown(directory, *states):
    runs = []
    for n, state in enumerate(states):
        about = {} if state is None else {"state": state}
        runs.append(load(made(directory / f"{n}", 6.0, n, **about)))
    return " ".join(printed(side_by_side_document(runs)).split())


def test_runs_in_two_states_are_warned_of(tmp_path):
    said = shown(tmp_path, "one-l3", "two-l3s", None)
    assert "states of the host differ (0 one-l3, 1 two-l3s, 2 not known): a difference" in said
    assert "host state one-l3 two-l3s –" in said


@pytest.mark.parametrize("states", [("one-l3", "one-l3"), ("one-l3", None), (None, None), ("one worker", "one-l3")])
def test_one_state_needs_no_warning(tmp_path, states):
    assert "states of the host differ" not in shown(tmp_path, *states)


def test_heads_wrap_if_there_is_no_room_and_numbers_do_not(tmp_path):
    names = [f"2026-11-2{n}T10-00-00Z-echo-of-mine" for n in range(3)]
    runs = [load(made(tmp_path / name, 6.0, n)) for n, name in enumerate(names)]
    wide, narrow = (printed(side_by_side_document(runs), width).splitlines() for width in (160, 80))
    assert all(len(line) <= 80 for line in narrow) and "…" not in "".join(narrow)
    assert wide.count(next(line for line in wide if names[0] in line)) == 1 and names[0] not in "".join(narrow)
    numbers = [[line.split() for line in lines if " p99 " in line] for lines in (wide, narrow)]
    assert numbers[0] == numbers[1] and len(numbers[0][0]) == 1 + 2 * len(runs)
