"""Which runs are of one history, in which order, and what is said of their change points."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from comparing import HOST, NOON, SCENARIO, made
from histories import noisy

from windtunnel.errors import UserError
from windtunnel.measure.compare.reading import read
from windtunnel.measure.history.history_record import Histories
from windtunnel.measure.history.judge import history
from windtunnel.measure.history.kept import from_text, to_text
from windtunnel.measure.history.regression import conditions, decide
from windtunnel.measure.history.scenarios import history_key, in_order, scenario_key
from windtunnel.measure.history.verdict_sentences import left_out_text, verdict_sentences

KEY = ("echo", "responses_per_s")


@pytest.fixture(scope="module")
def one(tmp_path_factory):
    """A reading, from which others are made."""
    return read(made(tmp_path_factory.mktemp("runs") / "one", labels={"commit": "c0"}))


def readings(one, values, **about):
    """A run a day, with nothing measured but the rate."""
    return [
        replace(
            one,
            path=Path(f"{n:02}"),
            started=NOON + timedelta(days=n),
            values={KEY: value},
            labels={"commit": f"c{n:02}"},
            **about,
        )
        for n, value in enumerate(values)
    ]


def judged(of, *fail_if):
    found = history(of)
    return decide(conditions(fail_if), _all(found)), found


def _all(*found):
    return Histories(made=NOON, windtunnel="0", by=None, level=0.01, histories=list(found))


def test_a_reading_comes_back_from_its_text(one):
    assert from_text(to_text(one)) == one and one.values
    assert from_text(to_text(replace(one, started=None))).started is None


@pytest.mark.parametrize(
    ("about", "same"),
    [
        ({"host": HOST | {"kernel": "6.12"}}, True),
        ({"versions": {"engine": "0.7.0", "dpdk": "DPDK 25.11"}}, True),
        ({"build": "b2" * 20}, True),
        ({"scenario": SCENARIO | {"title": "renamed", "seed": 7}}, True),
        ({"host": HOST | {"hostname": "there"}}, False),
        ({"scenario": SCENARIO | {"server": {"batch": {"app_rx": 64}}}}, False),
    ],
)
def test_software_may_change_within_a_history_and_host_and_scenario_may_not(one, tmp_path, about, same):
    other = read(made(tmp_path / "other", **about))
    assert (history_key(other) == history_key(one)) is same
    assert (scenario_key(other.scenario) == scenario_key(one.scenario)) is (same or "host" in about)


def test_a_regression_is_told_with_its_run_its_metric_and_its_interval(one):
    decided, found = judged(readings(one, noisy(30, 3, 18, -0.05)), "regression")
    (in_state,) = found.states
    (metric,) = in_state.metrics
    (change,) = metric.changes
    assert (change.kind, change.run, change.persists) == ("regression", 18, True)
    assert (metric.workload, metric.metric, metric.unit) == (*KEY, "/s")
    assert change.low < -5 < change.high < 0
    assert [(level.first, level.last) for level in metric.levels] == [(0, 17), (18, 29)]
    (words,) = decided.met
    assert words.startswith("L-App echo: regression: commit=c18 (2026-12-10 12:00): echo responses_per_s -")
    assert words.endswith(", by the runs that showed it, 12 runs since") and not decided.doubtful


def test_an_improvement_fails_nothing(one):
    decided, found = judged(readings(one, noisy(30, 3, 18, 0.08)), "regression", "responses_per_s:-5%")
    assert [change.kind for change in found.states[0].metrics[0].changes] == ["improvement"]
    assert not decided.met
    assert judged(readings(one, noisy(30, 3, 18, 0.08)), "responses_per_s:+2%")[0].met


def test_a_regression_that_was_mended_is_over(one):
    values = noisy(45, 5, 15, -0.1)
    values[30:] = [value / 0.9 for value in values[30:]]
    decided, found = judged(readings(one, values), "regression")
    kinds = [(change.kind, change.run, change.persists) for change in found.states[0].metrics[0].changes]
    assert kinds == [("regression", 15, False), ("improvement", 30, True)] and not decided.met
    assert "the last runs are back" in verdict_sentences(found.states[0], found.states[0].metrics[0])[0]


@pytest.mark.parametrize(("text", "met"), [("regression:2%", True), ("regression:9%", False), ("regression:5%", None)])
def test_the_whole_interval_must_lie_beyond_a_threshold(one, text, met):
    decided, _ = judged(readings(one, noisy(60, 3, 30, -0.05)), text)
    assert (bool(decided.met), bool(decided.doubtful)) == (met is True, met is None)


@pytest.mark.parametrize(
    ("values", "fail_if", "words"),
    [
        (noisy(7, 1), "regression", "too few runs: 7 runs, 12 are needed"),
        (noisy(7, 1), "responses_per_s:-5%", "too few runs: 7 runs, 12 are needed"),
        (noisy(20, 1), "p99:+5%", "p99:+5%: not measured"),
        (noisy(30, 2, noise=0.05), "regression:2%", "the smallest change that responses_per_s would show is"),
        (noisy(30, 2, noise=0.05), "regression:20%", None),
    ],
)
def test_what_the_runs_cannot_show_is_no_pass(one, values, fail_if, words):
    decided, found = judged(readings(one, values), fail_if)
    assert not decided.met and len(decided.doubtful) == (words is not None)
    assert all(words in doubt for doubt in decided.doubtful)
    if len(values) == 7:
        assert verdict_sentences(found.states[0], found.states[0].metrics[0]) == [f"cannot tell: {words}"]


def test_a_ratio_to_nothing_is_none(one):
    (metric,) = history(readings(one, [0.0] * 15 + [1e6] * 15)).states[0].metrics
    assert metric.unjudged == "0 in some runs: no ratio"


def on(run, state, **about):
    """The run in this state of the host."""
    return replace(run, state=state, line_ns={"one-l3": 91.0, "two-l3s": 425.0}.get(state), **about)


def test_states_of_the_host_are_never_pooled(one):
    runs = enumerate(readings(one, noisy(40, 4)))
    mixed = [on(run, "two-l3s", values={KEY: 2.5e6}) if n % 3 == 1 else on(run, "one-l3") for n, run in runs]
    decided, found = judged(mixed, "regression")
    assert [(each.state, len(each.runs), each.newest) for each in found.states] == [
        ("one-l3", 27, True),
        ("two-l3s", 13, False),
    ]
    assert not decided.met and not decided.doubtful
    assert all(not metric.changes for each in found.states for metric in each.metrics)


def test_too_few_runs_in_the_newest_ones_state_are_no_pass(one):
    runs = [on(run, "one-l3") for run in readings(one, noisy(30, 4))]
    moved = on(runs[-1], "two-l3s")
    (words,) = judged([*runs[:-1], moved], "regression")[0].doubtful
    assert words.startswith("L-App echo on two L3s: regression: responses_per_s: too few runs: 1 run")
    assert not judged([*runs[:4], moved, *runs[5:]], "regression")[0].met
    early = replace(moved, started=NOON - timedelta(days=1))
    assert not judged([early, *runs[:-1]], "regression")[0].doubtful
    found = history([*runs[:-1], on(runs[-1], None)])
    assert found.unplaced == 1 and left_out_text(found) == "1 in a state that is not known"
    assert [(len(each.runs), each.newest) for each in found.states] == [(29, True)]


def test_invalid_runs_are_counted_and_left_out(one):
    runs = readings(one, noisy(30, 4))
    runs[20] = replace(runs[20], reasons=["short"], values={})
    found = history(runs)
    assert found.invalid == 1 and len(found.states[0].runs) == 29
    decided = decide(conditions(["regression"]), _all(history([replace(run, reasons=["short"]) for run in runs])))
    assert decided.doubtful == ["L-App echo: no valid run"]


def test_runs_are_ordered_by_the_first_time_of_each_version(one):
    runs = [
        replace(run, labels={"fw": fw} if fw else {})
        for run, fw in zip(readings(one, noisy(5, 1)), ("b", "a", "", "b", "a"), strict=True)
    ]
    assert [run.path.name for run in in_order(runs[::-1], "fw")] == ["00", "03", "01", "04"]
    assert [run.path.name for run in in_order(runs[::-1], None)] == ["00", "01", "02", "03", "04"]
    assert history(runs, "fw").unlabelled == 1


def test_what_changed_beside_the_metric_is_named(one):
    runs = readings(one, noisy(30, 3, 18, -0.1))
    runs[18:] = [replace(run, identity=run.identity | {"kernel": "6.12"}) for run in runs[18:]]
    (change,) = history(runs).states[0].metrics[0].changes
    assert change.changed == ["commit c17 → c18", "kernel 6.1 → 6.12"]


@pytest.mark.parametrize(
    "text", ["", "slower", "regression:", "regression:+5%", "p99:10%", "nonsense:+5%", "regression:5"]
)
def test_what_is_no_condition_is_refused(text):
    with pytest.raises(UserError, match="not a condition"):
        conditions([text])


STEADY = noisy(16, seed=3, noise=0.005)
LATENCY = ("echo", "p99")


@pytest.mark.parametrize(
    ("newer", "reason"),
    [
        ({"reasons": ["no responses"]}, "the 10 newest runs are invalid"),
        ({"values": {KEY: None}}, "echo responses_per_s, 10 newest runs: not measured"),
        ({"values": {}}, "echo responses_per_s, 10 newest runs: not measured"),
        ({"started": None}, "it is not known when 10 runs began"),
        ({"state": None}, "the 10 newest runs are left out: the host's state is not known"),
    ],
)
def test_what_is_not_known_of_the_newest_runs_passes_no_gate(one, newer, reason):
    runs = readings(one, [*STEADY, *[STEADY[0]] * 10], state="one-l3", line_ns=91.0)
    assert not judged(runs, "regression")[0].doubtful
    decided, _ = judged([*runs[:16], *(replace(run, **newer) for run in runs[16:])], "regression")
    assert not decided.met and any(reason in doubt for doubt in decided.doubtful), decided
    assert not judged([*runs[:16], *(replace(run, **newer) for run in runs[16:])])[0].doubtful


@pytest.mark.parametrize(("runs", "fails"), [(1, False), (2, False), (3, True), (10, True)])
@pytest.mark.parametrize("condition", ["p99:+10%", "p99:-10%"])
def test_a_percentile_beyond_any_response_in_the_newest_runs_has_risen(one, runs, fails, condition):
    good = [replace(run, values={LATENCY: run.values[KEY]}) for run in readings(one, [*STEADY, *[STEADY[0]] * runs])]
    lost = [replace(run, values={LATENCY: None}, beyond=frozenset({LATENCY})) for run in good[16:]]
    decided, _ = judged([*good[:16], *lost], condition)
    risen = fails and "+" in condition
    [reason] = decided.met if risen else decided.doubtful
    assert "so many messages were lost that it is beyond any response" in reason
    assert bool(decided.met) == risen
