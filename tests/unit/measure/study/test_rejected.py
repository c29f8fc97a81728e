"""Rejected metrics in a study's table: only on request, and counted."""

import pytest
from study_tools import HEAD, finished, invoke, on_paper, written

from windtunnel.engine.interrupts import Interrupts
from windtunnel.measure.study import study as studying
from windtunnel.measure.study.columns import has_metrics
from windtunnel.measure.study.conduct import Silent
from windtunnel.measure.study.study import prepare

ONCE = HEAD + "repeats = 1\nretries = 0\n"


@pytest.fixture(autouse=True)
def paper(monkeypatch):
    monkeypatch.setenv("FAKE_ENGINE", "lose_mbufs")
    with on_paper():
        yield


def continued(path, include_invalid):
    with Interrupts() as interrupts:
        return studying.run(prepare(path, []), interrupts, Silent(), include_invalid)


def test_they_are_in_the_table_only_on_request(tmp_path):
    study = finished(written(tmp_path, head=ONCE), tmp_path / "out")
    assert study.invalid == 3 and study.included == 0
    assert all(row["responses_per_s"] is None and not has_metrics(row) for row in study.rows)
    asked = continued(study.path, include_invalid=True)
    assert asked.invalid == asked.included == 3
    assert all(row["responses_per_s"] > 0 and row["valid"] is False and row["reasons"] for row in asked.rows)
    assert continued(study.path, include_invalid=False).included == 0


def test_the_output_says_how_many_are_in_it(tmp_path):
    file = written(tmp_path, head=ONCE)
    said = invoke("study", file, "--out", tmp_path / "out", "--include-invalid", code=1)
    assert "3 of 3 runs are invalid; 3 included (--include-invalid)" in said
    again = invoke("study", tmp_path / "out", code=1)
    assert "3 of 3 runs are invalid and excluded" in again
    assert "Most often: " in again and "the same command runs nothing more" in again


def test_limits_that_were_relaxed_are_in_the_table_and_named(tmp_path, monkeypatch):
    monkeypatch.setenv("FAKE_ENGINE", "run")
    said = invoke("study", written(tmp_path, head=ONCE), "--out", tmp_path / "out", "--set", "validity.max_drift=1")
    assert "limits relaxed: max_drift 100% instead of 10%" in said
    rows = invoke("study", "query", "select distinct relaxed from results", "--study", tmp_path / "out", "--csv")
    assert "max_drift 100% instead of 10%" in rows
