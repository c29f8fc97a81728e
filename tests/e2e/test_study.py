"""Studies run by the fake engine on paper: what they leave, in which order, and what is said of them."""

import json
import os
import signal

import jsonschema
import pytest
from scenario_tools import machine
from study_tools import HEAD, ONE_FACTOR, Heard, finished, invoke, on_paper, refused, runs, show_two_levels, written

import windtunnel as library
from windtunnel.errors import UserError
from windtunnel.measure import executor
from windtunnel.runs import load
from windtunnel.schemas.generate import CHECKOUT

TWO_VALUES = ONE_FACTOR.replace("32, 64, 128", "64, 128")
ONCE = HEAD + "repeats = 1\n"


@pytest.fixture(autouse=True)
def paper():
    with on_paper():
        yield


def test_a_study_keeps_its_record_runs_and_table(tmp_path):
    study = finished(written(tmp_path), tmp_path / "out", host=machine())
    assert runs(study.path) == {f"{n}-inflight-{v}-r{r}" for n, v in ((1, 32), (2, 64), (3, 128)) for r in (1, 2, 3)}
    assert {file.name for file in study.path.iterdir()} == {".lock", ".seal", "runs", "results.parquet", "study.json"}
    document = json.loads((study.path / "study.json").read_text())
    jsonschema.Draft202012Validator(json.loads((CHECKOUT / "schemas" / "study.json").read_text())).validate(document)
    assert document["question"] == "How far?" and document["title"] == "far"
    assert [len(block) for block in document["order"]] == [3, 3, 3]
    assert (study.finished, study.due, study.invalid, study.interrupted) == (9, 9, 0, False)
    for row in study.rows:
        run = load(study.path / row["directory"])
        assert run.record.scenario["client"]["inflight"] == row["inflight"]
        assert row["responses_per_s"] == pytest.approx(50_000)
        assert (row["p50"], row["workload"], row["attempt"]) == (1500, "l_app", 1)
        assert row["server_app_rx_work_ns"] == pytest.approx((64_000 - 6400) / 3200 / 2)
        assert row["client_preempted"] == 0


def test_runs_go_in_the_order_that_was_drawn(tmp_path):
    heard = Heard()
    study = finished(written(tmp_path), tmp_path / "out", watcher=heard)
    planned = [f"{study.record.point(n).name}-r{r}" for r, block in enumerate(study.record.order, 1) for n in block]
    assert [name for name, _, _ in heard.specs] == planned
    started = sorted(study.rows, key=lambda row: row["started"])
    assert [row["directory"] for row in started] == [f"runs/{name}" for name in planned]


def test_an_interrupt_between_two_runs_starts_no_other_run(tmp_path):
    class Impatient(Heard):
        def run_ended(self, *what):
            super().run_ended(*what)
            if len(self.specs) == 2:
                os.kill(os.getpid(), signal.SIGINT)

    heard = Impatient()
    study = finished(written(tmp_path), tmp_path / "out", watcher=heard)
    assert study.interrupted and len(heard.specs) == 2 and study.finished == 2
    assert not (study.path / "aborted").exists()
    assert finished(study.path, None).finished == 9


def test_invalid_runs_are_repeated_once_at_the_end(tmp_path, monkeypatch):
    heard = Heard(monkeypatch, "no_responses", "run", "lose_mbufs", "run", "run", "run", "no_responses", "run")
    study = finished(written(tmp_path, TWO_VALUES), tmp_path / "out", watcher=heard)
    order = [name for name, _, _ in heard.specs]
    assert order[6:] == [f"{order[0]}-a2", f"{order[2]}-a2"]
    assert [valid for _, valid, _ in heard.specs] == [False, True, False, True, True, True, False, True]
    assert runs(study.path) == set(order)
    rows = {row["directory"]: row for row in study.rows}
    assert len(rows) == 6 and study.invalid == 1
    bad, good = rows[f"runs/{order[0]}-a2"], rows[f"runs/{order[2]}-a2"]
    assert (bad["valid"], bad["attempt"], bad["responses_per_s"], bad["workload"]) == (False, 2, None, "l_app")
    assert bad["reasons"][0].startswith("no responses: ")
    assert (good["valid"], good["attempt"], good["reasons"]) == (True, 2, [])
    monkeypatch.setenv("FAKE_ENGINE", "run")
    again = Heard()
    assert finished(study.path, None, watcher=again).rows == study.rows
    assert not any(now for _, _, now in again.specs)


@pytest.fixture
def probed(tmp_path, monkeypatch):
    """The round trips of a cache line of the runs to come, in turn."""
    show_two_levels(monkeypatch, tmp_path)
    return lambda *trips: Heard(monkeypatch, *map(str, trips), variable="FAKE_LINE_NS")


def test_runs_that_missed_the_state_are_repeated(tmp_path, probed):
    near, far = 91, 425
    heard = probed(near, near, far, near, near, near, near, far, near, far, near, far)
    study = finished(written(tmp_path), tmp_path / "out", watcher=heard)
    order = [name for name, _, _ in heard.specs]
    assert set(order[9:11]) == {f"{order[2]}-a2", f"{order[7]}-a2"} and len(order) == 12
    assert order[11] == order[9].replace("-a2", "-a3")
    assert study.blocked.state == "one-l3" and (study.repeated, study.missed) == (2, 1)
    assert sorted(row["host_state"] for row in study.rows) == ["one-l3"] * 8 + ["two-l3s"]
    assert len(study.rows) == 9 and len(study.blocked.rows) == 8
    again = Heard()
    resumed = finished(study.path, None, watcher=again)
    assert resumed.rows == study.rows and (resumed.repeated, resumed.missed) == (2, 1)
    assert [name for name, _, now in again.specs if not now] == order


def test_a_study_says_what_missed_its_state(tmp_path, probed):
    heard = probed(91, 425)
    study = finished(written(tmp_path, TWO_VALUES, HEAD + "state_repeats = 0\n"), tmp_path / "out", watcher=heard)
    assert study.blocked.state == "two-l3s" and (study.repeated, study.missed) == (0, 1)
    said = invoke("study", study.path)
    assert "state of the host two-l3s: 1 missed it, excluded" in said
    document = json.loads(invoke("study", study.path, "--json"))
    assert (document["host_state"], document["repeated_for_state"], document["missed_state"]) == ("two-l3s", 0, 1)
    assert "two-l3s: 1 missed it" in (study.path / "report.html").read_text()


def test_a_state_can_be_asked_for(tmp_path, probed):
    heard = probed(425, 91)
    study = finished(written(tmp_path, TWO_VALUES, ONCE), tmp_path / "out", ("validity.state=one-l3",), watcher=heard)
    assert [name.endswith("-a2") for name, _, _ in heard.specs] == [False, False, True]
    assert {row["host_state"] for row in study.rows} == {"one-l3"} and study.invalid == study.missed == 0


def test_points_that_cannot_run_are_named_and_skipped(tmp_path):
    file = written(tmp_path, '[[factor]]\nkey = "server.cores"\nvalues = [[0], [700]]\n')
    reason = "server: CPU 700 does not exist, or is not allowed"
    plan = " ".join(invoke("study", file, "--plan").split())
    assert "1 of 2 points run here, 3 times each: 3 runs" in plan and f"cannot run here: {reason}" in plan
    study = finished(file, tmp_path / "out")
    assert [point.cannot_run for point in study.record.points] == [None, reason]
    assert {row["point"] for row in study.rows} == {1} and study.due == 3


def test_a_study_prints_progress_and_results(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file = written(tmp_path, TWO_VALUES, HEAD + "repeats = 2\n")
    plan = invoke("study", file, "--plan")
    assert "2 of 2 points run here, 2 times each: 4 runs" in plan and "How far?" in plan
    assert not list(tmp_path.glob("runs"))
    document = json.loads(invoke("study", file, "--plan", "--json"))
    assert document["runs"] == 4 and [p["factors"] for p in document["points"]] == [
        {"inflight": 64},
        {"inflight": 128},
    ]
    said = invoke("study", file)
    assert said.count(" of 4  ") == 4 and "responses_per_s  50.0 k/s" in said and "to go" in said
    assert "Highest responses_per_s: " in said and "\x1b" not in said
    (out,) = (tmp_path / "runs").iterdir()
    assert out.name.endswith("Z-far") and (out / "report.html").is_file()
    assert invoke("study", out, "--quiet") == f"{out}\n"
    document = json.loads(invoke("study", out, "--json"))
    assert (document["finished"], document["run"], document["invalid"]) == (True, 4, 0)


def test_exit_codes(tmp_path, monkeypatch):
    file = written(tmp_path, TWO_VALUES, ONCE)
    monkeypatch.setenv("FAKE_ENGINE", "no_responses")
    said = invoke("study", file, "--out", tmp_path / "out", code=1)
    assert "2 of 2 runs are invalid" in said and "invalid: no responses" in said
    once = written(tmp_path, TWO_VALUES, ONCE + "retries = 0\n")
    assert {row["attempt"] for row in finished(once, tmp_path / "once").rows} == {1}
    assert refused("study", file, "--set", "client.inflight=3").remedy
    assert "exclude each other" in refused("study", file, "--json", "-q").message
    monkeypatch.setenv("WINDTUNNEL_ENGINE", "/nothing")
    assert "no such file" in refused("study", file, "--out", tmp_path / "x").message
    assert not (tmp_path / "x").exists()


def test_a_study_by_python_calls(tmp_path):
    file = written(tmp_path, TWO_VALUES, ONCE)
    study = library.study(file, {"duration": "40ms"}, out=tmp_path / "out", report=True)
    assert isinstance(study, library.Study) and study.finished == 2
    assert (study.path / "report.html").read_text().rstrip().endswith("</html>")
    rows = library.query("select inflight, count(*) n from results group by 1 order by 1", study.path)
    assert rows == [{"inflight": 64, "n": 1}, {"inflight": 128, "n": 1}]


def test_a_full_disk_ends_the_study_and_damages_no_file(tmp_path, monkeypatch):
    file = written(tmp_path, TWO_VALUES, ONCE)

    def full(self, name, line, raw):
        raise OSError(28, os.strerror(28))

    with monkeypatch.context() as patch:
        patch.setattr(executor, "execute", broken_run(full))
        with pytest.raises(UserError, match="run directory: "):
            finished(file, tmp_path / "out")
    assert len(list((tmp_path / "out" / "aborted").iterdir())) == 1
    assert finished(file, tmp_path / "out").finished == 2


def broken_run(listener):
    """Runs with one more listener, whose disk is full."""
    whole = executor.execute

    def execute(spec, path, interrupts, listeners, host, **options):
        return whole(spec, path, interrupts, [*listeners, lambda *line: listener(None, *line)], host, **options)

    return execute
