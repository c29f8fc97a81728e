"""Validity of a run with variants: it is the first one's; windows of the others are excluded by the same rules."""

import pytest
from sample_records import record
from validity_tools import SPAN, changed, check, finished, judged, measured_of, probe, probed, rated
from variant_tools import variants_of

from windtunnel.runs import Run
from windtunnel.runs.summary import summarise
from windtunnel.runs.validity import windows_of
from windtunnel.runs.variants import variant_rows

SLOWER = 0.5


def in_turn(engine, windows, order=(0, 1)):
    """The measured windows of these in the order of variants, over and over; those of the second one have half the responses."""
    engine.plan = engine.plan.model_copy(update={"variants": variants_of(max(order) + 1, list(order))})
    found = []
    for n, window in enumerate(measured_of(windows)):
        variant = order[n % len(order)]
        phase = "variant" if variant else "measure"
        window = rated(window, SLOWER) if variant == 1 else window
        found.append(window.model_copy(update={"phase": phase, "variant": variant}))
    first = windows.index(measured_of(windows)[0])
    return engine, windows[:first] + found


def of(windows, variant):
    return [window for window in windows if window.variant == variant]


def run_of(tmp_path, engine, windows):
    return Run(tmp_path, record(engine, validity=judged(engine, windows)), {engine.name: windows})


def test_drift_is_judged_within_the_variant(tmp_path):
    engine, windows = in_turn(*finished(20))
    found = judged(engine, windows)
    assert found.reasons == [] and found.excluded == []
    assert check(found, "steady").state == "good" and found.settled.windows == 10
    # the same windows of one run that does not change: two levels, window by window
    plain = [window.model_copy(update={"phase": "measure"}) for window in windows if window.phase != "warmup"]
    engine.plan = engine.plan.model_copy(update={"variants": None})
    assert judged(engine, plain).settled.mean < found.settled.mean


def test_the_metrics_are_those_of_the_first_variant(tmp_path):
    run = run_of(tmp_path, *in_turn(*finished(20)))
    rate = summarise(run).workloads[0].responses_per_s
    first, second = variant_rows(run)
    assert first.responses_per_s == pytest.approx(rate)
    assert second.responses_per_s == pytest.approx(rate * SLOWER, rel=1e-3)
    assert second.ns_per_message.median == pytest.approx(first.ns_per_message.median / SLOWER, rel=1e-3)
    assert windows_of(run.windows) == first.windows == second.windows == 10
    assert summarise(run).variants == [first, second]


def test_the_host_excludes_a_window_of_any_variant_and_no_check_counts_those_of_others(tmp_path):
    engine, windows = in_turn(*finished(20))
    taken = of(windows, 1)[3]
    windows = [changed(w, preempted_ns=SPAN // 4) if w is taken else w for w in windows]
    run = run_of(tmp_path, engine, windows)
    (mark,) = run.record.validity.excluded
    assert mark.window == taken.index and "preempted" in mark.reasons[0]
    assert check(run.record.validity, "windows").value == 0
    assert [row.windows for row in variant_rows(run)] == [10, 9]
    assert [row.measured for row in variant_rows(run)] == [10, 10]


def test_windows_of_all_variants_are_of_the_headline():
    """Eight windows in one L3, then eight across two: of the variant, too, only those count that are in the headline's state."""
    engine, windows = in_turn(*probed(*[probe(90)] * 10, *[probe(425)] * 6))
    found = judged(engine, windows)
    assert found.headline == "one-l3"
    excluded = {mark.window: mark.reasons[0] for mark in found.excluded}
    others = [window.index for window in of(windows, 1)]
    assert [index in excluded for index in others] == [False] * 5 + [True] * 3
    assert all("another host state" in excluded[index] for index in others[5:])


def test_a_variant_that_never_ran_in_the_headlines_state_has_no_window():
    engine, windows = in_turn(*probed(*[probe(90)] * 9, *[probe(425)] * 7), order=[0] * 9 + [1] * 7)
    found = judged(engine, windows)
    assert found.headline == "one-l3"
    excluded = {mark.window: mark.reasons[0] for mark in found.excluded}
    assert excluded.keys() == {window.index for window in of(windows, 1)}
    assert all("no window in one-l3" in reason for reason in excluded.values())


def test_three_variants_have_a_row_each(tmp_path):
    run = run_of(tmp_path, *in_turn(*finished(21), order=(0, 1, 2)))
    assert [(row.name, row.windows) for row in variant_rows(run)] == [("as it is", 7), ("batch 1", 7), ("batch 2", 7)]
    engine, windows = finished()
    assert variant_rows(run_of(tmp_path, engine, windows)) == []
