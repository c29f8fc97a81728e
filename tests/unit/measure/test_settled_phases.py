"""Whether a run under a load with phases settled: in each phase by itself."""

from itertools import chain

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from properties import examples
from validity_tools import LIMITS, SPAN, changed, check, in_phases, judged, load_phase, measured_of

from windtunnel.host.levels import Readings
from windtunnel.measure.validity import Extension
from windtunnel.runs.validity import Validity
from windtunnel.scenario.validity_keys import Validity as Limits


def steady(found):
    return check(found, "steady")


def noise(count, median, seed=1):
    return [int(n) for n in median * np.random.default_rng(seed).normal(1, 0.005, count)]


def test_phases_of_different_loads_are_each_of_one_level():
    phases = [load_phase(10, 1e5), load_phase(10, 3e5, arrivals="poisson")]
    found = judged(*in_phases(noise(10, 10_000) + noise(10, 50_000), phases))
    assert found.reasons == [] and found.excluded == [] and found.settled is None
    first, second = found.settled_phases
    assert (first.phase, first.windows, first.settled, first.what) == ({"echo": 1}, 10, True, "p50_ns")
    assert (second.phase, second.after_ns) == ({"echo": 2}, 0)
    assert (first.mean, second.mean) == (pytest.approx(10_000, rel=0.01), pytest.approx(50_000, rel=0.01))
    assert steady(found).state == "good"
    assert "phase 2 (300 k/s, poisson): the median latency stayed on one level: 50" in steady(found).words
    assert found.settled_words == steady(found).words
    assert found.model_copy(update={"checks": []}).settled_words is None
    assert Validity.model_validate_json(found.model_dump_json()) == found


def test_a_phase_of_two_levels_is_named_and_the_others_are_not():
    phases = [load_phase(12, 1e5), load_phase(12, 2e4)]
    medians = noise(12, 10_000) + noise(6, 20_000) + noise(6, 30_000)
    found = judged(*in_phases(medians, phases))
    reason = steady(found).words
    assert reason.startswith("phase 2 (20.0 k/s): not settled: the median latency was 20")
    assert ", from window 7 of the phase on 30" in reason and found.settled_words is None
    assert [level.settled for level in found.settled_phases] == [True, False] and found.excluded == []
    assert "Repeat the run, or set a duration of whole rounds" in reason


def test_the_same_phase_of_all_rounds_is_one_series():
    phases = [load_phase(4, 1e5), load_phase(4, 3e5)]
    rounds = [noise(4, 10_000, seed) + noise(4, 50_000 if seed < 3 else 80_000, seed) for seed in range(6)]
    reason = steady(judged(*in_phases([*chain.from_iterable(rounds)], phases))).words
    assert reason.startswith("phase 2 (300 k/s): not settled") and "from window 13 of the phase on" in reason


def test_slow_first_windows_of_a_phase_may_be_its_warm_up():
    phases = [load_phase(10, 1e5), load_phase(10, 3e5)]
    engine, windows = in_phases(noise(10, 10_000) + noise(2, 90_000) + noise(8, 50_000), phases)
    found = judged(engine, windows)
    assert found.excluded == [] and found.settled_phases[1].after_ns == 12 * SPAN
    assert "phase 2 (300 k/s): not settled" in steady(found).words and "warming up" in steady(found).words


def test_a_drift_within_a_phase_is_said_of_the_phase():
    phases = [load_phase(10, 1e5), load_phase(10, 3e5)]
    found = judged(*in_phases([10_000 + 500 * n for n in range(10)] + noise(10, 50_000), phases))
    assert "phase 1 (100 k/s): not settled: the median latency rose by" in steady(found).words
    assert "during the phase" in steady(found).words


def test_phases_with_too_few_windows_are_named_with_what_helps():
    phases = [load_phase(10, 1e5), load_phase(4, 3e5), load_phase(4, 2e4), load_phase(0.5, 1e4), load_phase(0.5, 0.0)]
    medians = noise(10, 10_000) + noise(4, 50_000) + noise(4, 9_000) + [9_000]
    found = judged(*in_phases(medians, phases))
    words = steady(found).words
    assert steady(found).state == "unknown" and [level.phase for level in found.settled_phases] == [{"echo": 1}]
    few = "too few windows to check for steps and drift"
    assert f"phase 2 (300 k/s) and phase 3 (20.0 k/s): {few}: 4, and 8 are needed" in words
    assert f"phase 4 (10.0 k/s): {few}: 0," in words and "phase 5" not in words
    assert "phase 1 (100 k/s): the median latency stayed on one level" in words
    assert words.endswith("Longer phases, more rounds or a shorter window give a phase more windows")
    assert found.reasons == [] and found.settled_words == words


def test_without_a_phase_that_can_be_checked_nothing_is_settled():
    found = judged(*in_phases(noise(6, 10_000), [load_phase(3, 1e5), load_phase(3, 3e5)]))
    assert steady(found).state == "unknown" and found.settled_phases == [] and found.settled_words is None
    silent = judged(*in_phases([None] * 8, [load_phase(8, 0.0), load_phase(1, 1e5)]))
    assert steady(silent).words == "not checked: nothing was offered"


def test_a_thousand_phases_are_not_all_named():
    phases = [load_phase(1, 1e5)] * 999 + [load_phase(1, 2e5)]
    words = steady(judged(*in_phases(noise(20, 10_000), phases))).words
    assert "phase 8 (100 k/s) and 12 more: too few windows" in words and "phase 9" not in words


def test_bursts_that_do_not_fit_into_windows_leave_their_phase_unchecked():
    bursts = load_phase(10, 3e5, on_ns=SPAN // 2, off_ns=SPAN)
    found = judged(*in_phases(noise(10, 10_000) + [50_000, 90_000] * 5, [load_phase(10), bursts]))
    assert "phase 2 (300 k/s, 250 ms on, 500 ms off): not checked: bursts come every 750 ms" in steady(found).words
    assert found.reasons == [] and len(found.settled_phases) == 1
    assert "Longer phases" not in steady(found).words


@st.composite
def runs_in_phases(draw):
    """Lengths of the phases in windows, rounds, and the level of each phase, ns."""
    lengths = draw(st.lists(st.integers(4, 9), min_size=2, max_size=3))
    levels = draw(st.lists(st.integers(5_000, 500_000), min_size=len(lengths), max_size=len(lengths)))
    return lengths, draw(st.integers(2, 3)), levels, draw(st.integers(0, 1000))


def medians_of(lengths, rounds, levels, seed):
    """Of each window: its phase, and its median latency."""
    draw = np.random.default_rng(seed)
    phases = [phase for _ in range(rounds) for phase, length in enumerate(lengths) for _ in range(length)]
    return phases, [int(levels[phase] * draw.normal(1, 0.002)) for phase in phases]


@examples(15)
@given(runs_in_phases())
def test_no_alarm_where_only_the_load_differs(run):
    lengths, rounds, *_ = run
    _, medians = medians_of(*run)
    found = judged(*in_phases(medians, [load_phase(n, 1e4 * (k + 1)) for k, n in enumerate(lengths)]))
    assert steady(found).state == "good" and found.excluded == []
    assert [level.windows for level in found.settled_phases] == [rounds * length for length in lengths]


@examples(15)
@given(runs_in_phases(), st.data())
def test_a_step_planted_in_one_phase_is_found_there(run, data):
    lengths, rounds, *_ = run
    phases, medians = medians_of(*run)
    planted = data.draw(st.integers(0, len(lengths) - 1))
    count = rounds * lengths[planted]
    at = data.draw(st.integers(3, count - 3))
    after = [n for n, phase in enumerate(phases) if phase == planted][at:]
    medians = [int(m * 1.5) if n in after else m for n, m in enumerate(medians)]
    found = judged(*in_phases(medians, [load_phase(n, 1e4 * (k + 1)) for k, n in enumerate(lengths)]))
    words = steady(found).words
    assert steady(found).state == "warning" and found.excluded == []
    assert words.startswith(f"phase {planted + 1} (") and f"from window {at + 1} of the phase on" in words
    others = [level for level in found.settled_phases if level.phase != {"echo": planted + 1}]
    assert all(level.settled and level.windows == rounds * lengths[level.phase["echo"] - 1] for level in others)


def extended(medians, planned, phases, most, preempted=()):
    """By how many windows the run goes on after each of its windows, when its duration is so many windows long."""
    engine, windows = in_phases(medians, phases)
    times = engine.plan.phases.model_copy(update={"duration_ns": planned * SPAN})
    engine.plan = engine.plan.model_copy(update={"phases": times})
    first = windows.index(measured_of(windows)[0])
    seen = {engine.name: windows[:first]}
    extension = Extension(lambda: [engine], seen, Limits(settle=f"{most * SPAN}ns"), Readings())
    asked = []
    for n, window in enumerate(windows[first:]):
        seen[engine.name].append(changed(window, preempted_ns=SPAN // 2) if n in preempted else window)
        asked.append(extension.more(engine.name))
    return asked


PHASES = (load_phase(5, 1e5), load_phase(5, 3e5))
STEPPED = noise(5, 10_000) + noise(5, 50_000) + (noise(5, 10_000) + noise(5, 80_000)) * 9


def test_a_load_in_phases_goes_on_by_whole_rounds():
    asked = extended(STEPPED, 30, PHASES, 100)
    assert asked[28] == 10 and set(asked) == {0, 10}
    assert 0 < sum(asked) < 70  # the level of the second phase outweighs its first windows before the bound is reached


SETTLED = list(chain.from_iterable(noise(5, 10_000, seed) + noise(5, 50_000, seed) for seed in range(10)))


@pytest.mark.parametrize(
    ("medians", "planned", "most", "more"),
    [
        (STEPPED, 25, 100, 0),  # it would change the load
        (STEPPED, 30, 39, 0),
        (STEPPED, 30, 45, 10),
        (STEPPED, 10, 100, 0),  # its phases are too short
        (SETTLED, 30, 100, 0),
    ],
)
def test_a_load_in_phases_goes_on_only_where_whole_rounds_fit(medians, planned, most, more):
    assert sum(extended(medians, planned, PHASES, most)) == more


def test_a_phase_with_too_many_excluded_windows_or_a_wide_interval_goes_on():
    assert extended(STEPPED[10:30] + STEPPED[10:], 20, PHASES, 100)[18] == 0
    assert extended(STEPPED[10:30] + STEPPED[10:], 20, PHASES, 100, preempted={1, 2, 3, 11})[18] == 10
    draw = np.random.default_rng(3)
    medians = [int(m * draw.normal(1, 0.15 if n % 10 >= 5 else 0.001)) for n, m in enumerate(STEPPED[10:])]
    assert extended(medians, 20, PHASES, 100)[18] == 10


def test_limits_hold_in_phases():
    phases = [load_phase(12, 1e5), load_phase(12, 2e4)]
    medians = noise(12, 10_000) + noise(6, 20_000) + noise(6, 30_000)
    assert steady(judged(*in_phases(medians, phases), Limits(max_drift=0.6))).state == "good"
    assert steady(judged(*in_phases(medians, phases), LIMITS)).state == "warning"
