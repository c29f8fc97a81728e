"""Studies of one table and of pipelines, whose runs name their steps, beside a neighbour on the core: what `model validate` shows of them."""

from pathlib import Path

import numpy as np
import pytest
from planted_studies import ENTRIES, HERE, SIZES, a_study
from study_tools import invoke

from windtunnel.parts.models import composed, observe, queueing
from windtunnel.parts.models import validate as checking
from windtunnel.parts.models.curve import Options
from windtunnel.parts.models.measured_runs import Parts
from windtunnel.parts.models.queueing import Loads

pytestmark = pytest.mark.slow

FIRST, SECOND = ENTRIES, "workload.0.table.1.entries"
ELSEWHERE = HERE | {"hostname": "elsewhere"}
"""No ladder is measured for it."""
KIND = {"kind": "exact", "method": "hash", "lookup": "bulk", "access": "pointer"}


def cost(entries: float) -> float:
    return 11 + 2e-5 * entries


def table(name: str, entries: float) -> dict:
    return KIND | {"name": name, "rules": int(entries)}


def parts(entries: list[float], slow: float, own: float = 1.0) -> Parts:
    """A run whose core was slowed by a neighbour, which the ticks show, and by `own`, which they do not."""
    tables = [table(f"t{n}", size) for n, size in enumerate(entries)]
    steps = {"parser": 5.0} | {t["name"]: cost(t["rules"]) for t in tables}
    slowed = {name: ns * slow * own for name, ns in steps.items()}
    return Parts([tables], slowed, (sum(steps.values()) + 12.0) * slow * own, 100.0 * slow, {})


@pytest.fixture
def studies(tmp_path, monkeypatch) -> tuple[Path, Path]:
    """One of a table over its sizes, one of a pipeline of two; every third run of the pipeline is twice as slow for no reason."""
    rng = np.random.default_rng(1)
    pairs = [(1e3, 1e6), (1e5, 1e4)]
    known: dict[Path, Parts] = {}
    one = a_study(tmp_path / "one", lambda point: 1.0, {FIRST: SIZES}, host=ELSEWHERE)
    two = a_study(tmp_path / "two", lambda point: 1.0, {FIRST: [a for a, _ in pairs]}, host=ELSEWHERE)
    for repeat in (1, 2, 3):
        for n, size in enumerate(SIZES, start=1):
            known[one / f"runs/{n:03}-r{repeat}"] = parts([size], rng.uniform(1, 1.5))
        for n, pair in enumerate(pairs, start=1):
            own = 2.0 if repeat == 3 else 1.0
            known[two / f"runs/{n:03}-r{repeat}"] = parts([*pair], rng.uniform(1, 1.5), own)
    for module in (observe, composed):
        monkeypatch.setattr(module, "parts_of", lambda paths, points: [known.get(path) for path in paths])
    return one, two


def test_a_pipeline_is_predicted_from_what_was_never_fitted_to_it(studies):
    checked = checking.check(studies, None, Options())
    [(path, model)] = checked.models
    assert path == studies[0] and model.response == "table"
    assert model.neighbour.exponent == pytest.approx(1, abs=0.05)
    slow = model.neighbour.ticks / 100
    assert {step.name: step.ns for step in model.steps} == pytest.approx(
        {"parser": 5 * slow, "stages": 12 * slow}, rel=0.02
    )
    assert model.curves[0].form == "linear" and model.curves[0].mape < 0.02 and model.curves[0].noise < 0.02
    assert model.curves[0].table == KIND
    [(path, rows)] = checked.pipelines
    assert path == studies[1] and len(rows) == 2
    for row, pair in zip(rows, ((1e3, 1e6), (1e5, 1e4)), strict=True):
        assert row.measured == pytest.approx((17 + cost(pair[0]) + cost(pair[1])) * slow, rel=0.02), (
            "the median of its runs"
        )
        assert abs(row.error) < 0.03 and row.low < row.measured < row.high


def test_check_prints_both(studies):
    said = invoke("model", "validate", *studies)
    assert "that no model was fitted to" in said and "linear" in said and "on average" in said


def test_a_study_of_a_pipeline_alone_has_nothing_to_be_judged_by(studies):
    with pytest.raises(Exception, match="no model was fitted to a table like t0"):
        checking.check(studies[1:], None, Options())


@pytest.mark.parametrize("bad", [0.0, -4.0])
def test_costs_that_are_none_are_left_out(tmp_path, bad):
    def law(point):
        return bad if point[ENTRIES] == SIZES[2] else cost(point[ENTRIES])

    study = a_study(tmp_path / "s", law, {ENTRIES: SIZES}, repeats=1, noise=0, column="server_disp_rx_work_ns")
    seen = observe.observe(study, "server_disp_rx_work_ns")
    assert len(seen.series[0].runs) == len(SIZES) - 1 and seen.left_out == [
        f"runs/003-r1: its cost (server_disp_rx_work_ns) is {bad}"
    ]


def test_what_a_load_is_held_out_of_does_not_know_it():
    """Whatever was measured at a load, the prediction for it is the same."""
    load = np.array([1.0, 2, 4, 6, 8, 9]) * 1e5
    wait = 1 / (1 - load / 1e6)
    ns = {"p50": 6e3 + 2e3 * wait, "p90": 7e3 + 3e3 * wait, "p99": 8e3 + 5e3 * wait**2}
    for i in (0, 3, 5):
        predicted = []
        for lie in (1.0, 1.7, 0.4):
            told = {name: values * np.where(np.arange(6) == i, lie, 1) for name, values in ns.items()}
            errors = queueing.errors_of_the_choice(Loads(load, told))
            predicted.append([told[name][i] * (1 + errors[name][i]) for name in ns])
        assert predicted[1] == pytest.approx(predicted[0]) and predicted[2] == pytest.approx(predicted[0])
