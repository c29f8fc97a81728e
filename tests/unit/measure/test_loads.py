"""Which windows of a run had the same load, and by how much a run may go on with its load unchanged."""

import pytest
from validity_tools import SPAN, finished, in_phases, load_phase, measured_of, open_loop

from windtunnel.measure.validity import loads

FAST, SLOW = load_phase(3, 3e5), load_phase(2, 1e5)
BURSTS = {"on_ns": SPAN // 8, "off_ns": SPAN // 8}
HALF_BURSTS = {"on_ns": SPAN // 2, "off_ns": SPAN}


def parts(count, *of_workloads, counted=None):
    """Phases and positions of the windows of each part."""
    engine, windows = in_phases([1000] * count, *of_workloads)
    first = measured_of(windows)[0].index
    left = [w for w in windows if counted is None or w.index - first in counted]
    found = loads.parts(engine.plan, windows, left)
    return [(part.phase, [window.index - first for window in part.windows]) for part in found]


def unlike(*of_workloads):
    engine, windows = in_phases([1000] * 8, *of_workloads)
    return [part.unlike for part in loads.parts(engine.plan, windows, windows)]


def test_a_load_without_phases_is_one_part():
    engine, windows = finished(5)
    (part,) = loads.parts(engine.plan, windows, windows)
    assert (part.phase, part.phase_text, part.windows, part.unlike) == ({}, "", measured_of(windows), None)
    assert parts(4, [load_phase(None)]) == [({}, [0, 1, 2, 3])]
    assert parts(4, [load_phase(2)]) == [({}, [0, 1, 2, 3])]


def test_a_phase_has_its_windows_of_every_round():
    assert parts(9, [FAST, SLOW]) == [({"echo": 1}, [0, 1, 2, 5, 6, 7]), ({"echo": 2}, [3, 4, 8])]


def test_excluded_windows_are_in_no_part():
    assert parts(9, [FAST, SLOW], counted={0, 4, 5, 8}) == [({"echo": 1}, [0, 5]), ({"echo": 2}, [4, 8])]


def test_a_window_that_crosses_a_boundary_is_in_no_part():
    assert parts(6, [load_phase(2.5, 3e5), load_phase(2.5, 1e5)]) == [({"echo": 1}, [0, 1, 5]), ({"echo": 2}, [3, 4])]


def test_a_phase_shorter_than_a_window_is_a_part_without_windows_and_one_that_was_not_reached_is_none():
    short, unseen = load_phase(0.5, 2e5), load_phase(4, 4e5)
    assert parts(3, [FAST, SLOW, unseen]) == [({"echo": 1}, [0, 1, 2])]
    assert parts(5, [FAST, short, unseen]) == [({"echo": 1}, [0, 1, 2]), ({"echo": 3}, [4]), ({"echo": 2}, [])]


def test_silence_is_no_part():
    assert parts(6, [FAST, load_phase(2, 0.0)]) == [({"echo": 1}, [0, 1, 2, 5])]
    both = [[FAST, load_phase(3, 0.0)], [load_phase(2, 0.0), load_phase(1)]]
    assert [phase for phase, _ in parts(6, *both)] == [{"load0": a, "load1": b} for a, b in ((1, 1), (1, 2), (2, 2))]


def test_several_workloads_with_phases_have_a_part_for_each_combination_of_them():
    assert parts(6, [FAST, load_phase(3)], [SLOW, load_phase(2)]) == [
        ({"load0": 1, "load1": 1}, [0, 1]),
        ({"load0": 1, "load1": 2}, [2]),
        ({"load0": 2, "load1": 1}, [4, 5]),
        ({"load0": 2, "load1": 2}, [3]),
    ]
    assert parts(4, [load_phase(4), FAST], [load_phase(1.5), load_phase(2.5)]) == [
        ({"load0": 1, "load1": 1}, [0]),
        ({"load0": 1, "load1": 2}, [2, 3]),
    ]
    engine, windows = in_phases([1000] * 6, [FAST, load_phase(3)], [SLOW, load_phase(2)])
    words = loads.parts(engine.plan, windows, windows)[1].phase_text
    assert words == "phase 1 of load0 (300 k/s) with phase 2 of load1 (100 k/s)"


def test_a_workload_without_phases_changes_nothing():
    assert parts(5, [FAST, SLOW], [load_phase(None)]) == [({"load0": 1}, [0, 1, 2]), ({"load0": 2}, [3, 4])]


def test_windows_are_alike_where_they_hold_whole_bursts():
    assert unlike([load_phase(None, **BURSTS)]) == [None]
    (words,) = unlike([load_phase(None, **HALF_BURSTS)])
    assert words == "bursts come every 750 ms, and a window of 500 ms holds no whole number of them"
    assert unlike([FAST, load_phase(2, **HALF_BURSTS)]) == [None, words]
    assert unlike([FAST, load_phase(2, **BURSTS)]) == [None, None]
    assert unlike([FAST, SLOW], [load_phase(None, **HALF_BURSTS)]) == [words]
    assert unlike([load_phase(8), SLOW], [load_phase(8, 0.0, **HALF_BURSTS), SLOW]) == [None]


def test_a_capture_with_times_and_a_last_phase_without_end_make_windows_unlike():
    assert unlike([FAST, load_phase(None)]) == ["the last phase of the load lasts for ever"]
    engine, windows = finished(8)
    endpoint = engine.plan.endpoints[0]
    timed = endpoint.model_copy(update={"port": endpoint.port.model_copy(update={"traits": ["timed"]})})
    engine.plan = engine.plan.model_copy(update={"endpoints": [timed]})
    (part,) = loads.parts(engine.plan, windows, windows)
    assert part.unlike == "the frames come at a capture's times" and loads.windows_of_rounds(engine.plan) is None


@pytest.mark.parametrize(
    ("duration", "of_workloads", "windows"),
    [
        (10, [[FAST, SLOW]], 5),
        (11, [[FAST, SLOW]], None),
        (3, [[FAST, SLOW]], None),
        (15, [[load_phase(1), load_phase(0.5)]], 3),
        (30, [[FAST, SLOW], [load_phase(1), load_phase(2)]], 15),
        (20, [[FAST, SLOW], [load_phase(1), load_phase(2)]], None),
        (11, [[load_phase(None)]], 1),
        (11, [[load_phase(2)]], 1),
        (12, [[load_phase(None, **HALF_BURSTS)]], None),
        (12, [[load_phase(None, **BURSTS)]], 1),
        (12, [[FAST, load_phase(None)]], None),
    ],
)
def test_a_run_goes_on_by_whole_rounds_that_are_whole_windows(duration, of_workloads, windows):
    engine, _ = finished()
    plan = open_loop(engine.plan, *of_workloads)
    plan = plan.model_copy(update={"phases": plan.phases.model_copy(update={"duration_ns": duration * SPAN})})
    assert loads.windows_of_rounds(plan) == windows
