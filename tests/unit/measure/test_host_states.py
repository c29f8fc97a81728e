"""States of the host: named from the probes at both ends of a window; metrics are of one."""

import pytest
from validity_tools import (
    LIMITS,
    SPAN,
    changed,
    check,
    finished,
    judged,
    measured_of,
    probe,
    probed,
    rated,
)

from windtunnel.engine.windows import Probe
from windtunnel.host.levels import Readings
from windtunnel.measure.validity import readings_of, validate
from windtunnel.scenario.validity_keys import Validity as Limits


def excluded(validity):
    return {each.window: each.reasons[0] for each in validity.excluded}


def test_the_state_of_most_windows_is_the_headline():
    engine, windows = probed(*[probe(90)] * 8, *[probe(425)] * 4)
    measured = measured_of(windows)
    windows = [rated(w, 0.5) if w in measured[8:] else w for w in windows]
    found = judged(engine, windows)
    assert found.headline == "one-l3" and [(s.name, s.windows) for s in found.states] == [("one-l3", 8), ("two-l3s", 3)]
    near, far = (next(iter(state.responses_per_s.values())) for state in found.states)
    assert far == pytest.approx(near / 2, rel=0.01)
    stages = [state.stage_ns for state in found.states]
    assert list(stages[0]) == list(stages[1]) and stages[0]["server app_rx"] == stages[1]["server app_rx"] > 0
    reasons = excluded(found)
    assert "changed within" in reasons[measured[8].index]
    assert all("another host state: two-l3s" in reasons[w.index] for w in measured[9:])
    assert (
        found.reasons == [] and "one-l3 (line 90 ns), 8 windows; two-l3s: 3 windows" in check(found, "host state").words
    )


@pytest.mark.parametrize(
    ("probes", "wide", "named"),
    [
        ([probe(60, together=1.9)] * 8, (), [("one-core", 8, 60)]),  # told by additions
        ([probe(91)] * 8, (), [("one-level", 8, 91)]),
    ],
)
def test_states_have_their_names_windows_and_round_trips(probes, wide, named):
    found = judged(*probed(*probes, wide=wide))
    assert [(state.name, state.windows, state.line_ns) for state in found.states] == named
    assert found.headline == named[0][0] and len(found.excluded) == len(probes) - named[0][1]


@pytest.mark.parametrize(
    ("wide", "sibling"), [([1.0] * 7 + [1.3] * 3, 1.0), ([1.0] * 3 + [1.64, 2.0, 2.2, 2.4, 2.5, 2.6, 2.6], 2.1)]
)
def test_busy_siblings_are_said_and_exclude_nothing(wide, sibling):
    """Their time is a continuum: whoever cuts it shows the side with more windows."""
    found = judged(*probed(*[probe()] * 10, wide=wide))
    (state,) = found.states
    assert (state.name, state.windows, found.excluded) == ("one-level", 10, [])
    assert state.sibling == pytest.approx(sibling, rel=0.02)
    assert ("siblings" in state.words) == (sibling > 1.1)


def of_pairs(*trips):
    """A probe of some pairs of workers."""
    pairs = [{"a": 2 * n, "b": 2 * n + 1, "line_ns": ns} for n, ns in enumerate(trips)]
    workers = [{"worker": n, "alone_ticks": 1000.0, "together_ticks": 1000.0} for n in range(2 * len(trips))]
    return Probe.model_validate({"complete": True, "held_ns": 60_000, "pairs": pairs, "workers": workers})


def test_a_state_of_unlike_pairs_has_one_name_whatever_their_order():
    found = judged(*probed(*[of_pairs(90.0, 425.0), of_pairs(425.0, 90.0)] * 5))
    assert [(state.name, state.windows) for state in found.states] == [("one-l3 + two-l3s", 10)]


def test_a_busy_sibling_is_of_its_worker():
    engine, windows = probed(*[probe()] * 10)
    windows = [
        w.model_copy(update={"workers": [w.workers[0].model_copy(update={"wide_ticks": 4800.0}), *w.workers[1:]]})
        for w in windows
    ]
    (state,) = judged(engine, windows).states
    assert f"siblings of CPU {windows[0].workers[0].cpu} 1.6x" in state.words and state.sibling == pytest.approx(
        1.6, rel=0.02
    )


def test_one_outlier_of_the_additions_changes_no_state_of_later_windows():
    known = Readings()
    known.add([91.0] * 20, [0.5, *[1.0] * 39])
    engine, windows = probed(*[probe()] * 10, wide=[1.02] * 10)
    known.update(readings_of({engine.name: windows}))
    found = validate([engine], {engine.name: windows}, LIMITS, known)
    assert [s.name for s in found.states] == ["one-level"] and found.excluded == []


def test_a_window_with_a_probe_that_was_cut_short_is_not_known():
    engine, windows = probed(*[probe()] * 5, probe(complete=False), *[probe()] * 5)
    measured = measured_of(windows)
    assert excluded(judged(engine, windows)).keys() == {measured[5].index, measured[6].index}


def test_states_that_are_seldom_known_exclude_nothing():
    engine, windows = probed(*[probe(complete=False)] * 9, probe(), probe())
    found = judged(engine, windows)
    assert found.excluded == [] and found.states == [] and check(found, "host state").state == "unknown"


@pytest.mark.parametrize(("wanted", "bad"), [("one-l3", False), ("two-l3s", False), ("one-core", True)])
def test_a_state_can_be_asked_for(wanted, bad):
    engine, windows = probed(*[probe(90)] * 12, *[probe(425)] * 12)
    found = judged(engine, windows, Limits(state=wanted))
    assert found.headline == (None if bad else wanted)
    seen = "never came; seen: one-l3 (12 windows), two-l3s (11 windows)"
    assert any(seen in reason for reason in found.reasons) == bad
    without_probes = judged(*finished(), Limits(state=wanted))
    assert any(f"{wanted} was asked for" in reason for reason in without_probes.reasons)


def test_a_run_of_which_too_few_windows_are_left_shows_the_states_of_all():
    engine, windows = probed(*[probe(90)] * 8, *[probe(425)] * 4)
    windows = [changed(w, preempted_ns=SPAN // 2) for w in windows]
    found = judged(engine, windows)
    assert found.too_few_left and len(found.excluded) == 12 and found.headline is None
    assert [(s.name, s.windows) for s in found.states] == [("one-l3", 8), ("two-l3s", 3)]
    assert [c.name for c in found.checks] == ["windows", "clock", "host state", "emulated"]
    assert len(judged(engine, windows, Limits(state="one-core")).reasons) == 2
