"""Studies flown by the fake engine: what they leave, how they go on, and what they refuse to go on with."""

import json
import os
import shutil
import signal
import subprocess
import threading

import jsonschema
import pytest
from flying import FAKE
from scenario_tools import engine, machine
from study_tools import (
    COMMAND,
    HEAD,
    ONE_FACTOR,
    SCENARIO,
    environment,
    flown,
    invoke,
    on_paper,
    refused,
    runs,
    written,
)

import windtunnel as library
from windtunnel.errors import UserError
from windtunnel.measure.study import conduct, directory, record
from windtunnel.measure.study.conduct import Silent
from windtunnel.runs import load
from windtunnel.scenario.schemas import CHECKOUT

TWO_VALUES = ONE_FACTOR.replace("32, 64, 128", "64, 128")
ONCE = HEAD + "repeats = 1\n"


@pytest.fixture(autouse=True)
def paper():
    with on_paper():
        yield


class Heard(Silent):
    """Keeps what it is told; `behaviours` are those of the engine in the flights to come, the last one for all that follow."""

    def __init__(self, monkeypatch=None, *behaviours: str):
        self.flights: list[tuple[str, bool, bool]] = []
        self._patch, self._behaviours = monkeypatch, list(behaviours)

    def begins(self, slot):
        if self._behaviours:
            first, *rest = self._behaviours
            self._patch.setenv("FAKE_ENGINE", first)
            self._behaviours = rest or [first]

    def landed(self, slot, verdict, rows, flown):
        self.flights.append((slot.name, verdict.valid, flown))


def test_a_study_leaves_its_record_its_runs_and_its_table(tmp_path):
    study = flown(written(tmp_path), tmp_path / "out", host=machine())
    assert runs(study.path) == {f"{n}-inflight-{v}-r{r}" for n, v in ((1, 32), (2, 64), (3, 128)) for r in (1, 2, 3)}
    assert {file.name for file in study.path.iterdir()} == {".lock", "flights", "results.parquet", "study.json"}
    document = json.loads((study.path / "study.json").read_text())
    jsonschema.Draft202012Validator(json.loads((CHECKOUT / "schemas" / "study.json").read_text())).validate(document)
    assert document["question"] == "How far?" and document["title"] == "far"
    assert [len(block) for block in document["order"]] == [3, 3, 3]
    assert (study.flown, study.due, study.invalid, study.interrupted) == (9, 9, 0, False)
    for row in study.rows:
        run = load(study.path / row["directory"])
        assert run.record.scenario["client"]["inflight"] == row["inflight"]
        assert row["answered_per_s"] == pytest.approx(50_000)
        assert (row["p50"], row["workload"], row["attempt"]) == (1500, "l_app", 1)
        assert row["server_app_rx_work_ns"] == pytest.approx((64_000 - 6400) / 3200 / 2)
        assert row["client_preempted"] == 0


def test_flights_go_in_the_order_that_was_drawn(tmp_path):
    heard = Heard()
    study = flown(written(tmp_path), tmp_path / "out", watcher=heard)
    planned = [f"{study.record.point(n).name}-r{r}" for r, block in enumerate(study.record.order, 1) for n in block]
    assert [name for name, _, _ in heard.flights] == planned
    started = sorted(study.rows, key=lambda row: row["started"])
    assert [row["directory"] for row in started] == [f"flights/{name}" for name in planned]


def test_a_finished_study_flies_nothing_more(tmp_path):
    file = written(tmp_path, TWO_VALUES)
    first = flown(file, tmp_path / "out")
    table = (first.path / "results.parquet").read_bytes()
    heard = Heard()
    again = flown(file, tmp_path / "out", watcher=heard)
    assert len(heard.flights) == 6 and not any(now for _, _, now in heard.flights)
    assert again.rows == first.rows and again.record == first.record
    assert (again.path / "results.parquet").read_bytes() == table


def test_what_did_not_finish_is_kept_apart_and_flown_anew(tmp_path):
    file = written(tmp_path, TWO_VALUES)
    study = flown(file, tmp_path / "out")
    whole = runs(study.path)
    flights = study.path / "flights"
    torn = json.loads((flights / "1-inflight-64-r1" / "run.json").read_text())
    torn["finished"] = None
    torn["verdict"] = {"valid": False, "reasons": ["did not finish"]}
    (flights / "1-inflight-64-r1" / "run.json").write_text(json.dumps(torn))
    shutil.rmtree(flights / "2-inflight-128-r2")
    (flights / "2-inflight-128-r2").mkdir()
    (flights / "2-inflight-128-r3" / "run.json").unlink()
    (study.path / "aborted").mkdir()
    (study.path / "aborted" / "1-inflight-64-r1").mkdir()
    heard = Heard()
    again = flown(study.path, None, watcher=heard)
    assert [name for name, _, now in heard.flights if now] == [
        name for name, _, _ in heard.flights if name in ("1-inflight-64-r1", "2-inflight-128-r2", "2-inflight-128-r3")
    ]
    assert runs(again.path) == whole
    kept = {path.name for path in (study.path / "aborted").iterdir()}
    assert kept == {"1-inflight-64-r1", "1-inflight-64-r1.2", "2-inflight-128-r2", "2-inflight-128-r3"}
    assert (study.path / "aborted" / "1-inflight-64-r1.2" / "windows.jsonl").is_file()


@pytest.mark.parametrize("reason", ["stopped before the end: interrupted by the user", "run directory: no space left"])
def test_a_flight_that_was_ended_by_hand_is_no_result_of_its_point(tmp_path, reason):
    """As a process leaves it that was killed before it could put the directory away."""
    study = flown(written(tmp_path, TWO_VALUES, ONCE), tmp_path / "out")
    file = study.path / "flights" / "1-inflight-64-r1" / "run.json"
    document = json.loads(file.read_text())
    file.write_text(json.dumps(document | {"verdict": {"valid": False, "reasons": [reason]}}))
    again = flown(study.path, None)
    assert [row["valid"] for row in again.rows] == [True, True] and {row["attempt"] for row in again.rows} == {1}
    assert [path.name for path in (study.path / "aborted").iterdir()] == ["1-inflight-64-r1"]


def test_an_interrupt_between_two_flights_begins_no_other(tmp_path):
    class Impatient(Heard):
        def landed(self, *what):
            super().landed(*what)
            if len(self.flights) == 2:
                os.kill(os.getpid(), signal.SIGINT)

    heard = Impatient()
    study = flown(written(tmp_path), tmp_path / "out", watcher=heard)
    assert study.interrupted and len(heard.flights) == 2 and study.flown == 2
    assert not (study.path / "aborted").exists()
    assert flown(study.path, None).flown == 9


def test_a_damaged_run_is_not_flown_over(tmp_path):
    study = flown(written(tmp_path, TWO_VALUES, ONCE), tmp_path / "out")
    (study.path / "flights" / "1-inflight-64-r1" / "run.json").write_text("{")
    with pytest.raises(UserError, match="not JSON"):
        flown(study.path, None)
    assert (study.path / "flights" / "1-inflight-64-r1" / "run.json").read_text() == "{"


def test_invalid_runs_fly_once_more_at_the_end(tmp_path, monkeypatch):
    heard = Heard(monkeypatch, "no_answers", "fly", "lose_mbufs", "fly", "fly", "fly", "no_answers", "fly")
    study = flown(written(tmp_path, TWO_VALUES), tmp_path / "out", watcher=heard)
    order = [name for name, _, _ in heard.flights]
    assert order[6:] == [f"{order[0]}-a2", f"{order[2]}-a2"]
    assert [valid for _, valid, _ in heard.flights] == [False, True, False, True, True, True, False, True]
    assert runs(study.path) == set(order)
    rows = {row["directory"]: row for row in study.rows}
    assert len(rows) == 6 and study.invalid == 1
    bad, good = rows[f"flights/{order[0]}-a2"], rows[f"flights/{order[2]}-a2"]
    assert (bad["valid"], bad["attempt"], bad["answered_per_s"], bad["workload"]) == (False, 2, None, "l_app")
    assert bad["reasons"][0].startswith("no messages answered: ")
    assert (good["valid"], good["attempt"], good["reasons"]) == (True, 2, [])
    monkeypatch.setenv("FAKE_ENGINE", "fly")
    again = Heard()
    assert flown(study.path, None, watcher=again).rows == study.rows
    assert not any(now for _, _, now in again.flights)


def test_no_retries(tmp_path, monkeypatch):
    monkeypatch.setenv("FAKE_ENGINE", "no_answers")
    file = written(tmp_path, TWO_VALUES, HEAD + "retries = 0\nrepeats = 1\n")
    assert {row["attempt"] for row in flown(file, tmp_path / "out").rows} == {1}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            lambda d: (d / "far.toml").write_text(ONCE + ONE_FACTOR.replace("128", "256")),
            "-values = [32, 64, 128]\n+values",
        ),
        (lambda d: (d / "echo.toml").write_text(SCENARIO + "request = 87\n"), "+request = 87"),
        (lambda d: (d / "far.toml").write_bytes((ONCE + ONE_FACTOR).replace("\n", "\r\n").encode()), "line ends"),
    ],
)
def test_what_has_changed_is_refused_with_the_difference(tmp_path, change, words):
    file = written(tmp_path, head=ONCE)
    study = flown(file, tmp_path / "out")
    before = {path: path.read_bytes() for path in study.path.rglob("*") if path.is_file()}
    change(tmp_path)
    for source, out in ((file, study.path), (study.path, None)):
        with pytest.raises(UserError) as refusal:
            flown(source, out)
        assert words in refusal.value.message and "cannot go on" in refusal.value.message
    assert {path: path.read_bytes() for path in study.path.rglob("*") if path.is_file()} == before


def test_another_set_engine_version_or_host_is_refused(tmp_path, monkeypatch):
    file = written(tmp_path, TWO_VALUES, ONCE)
    flown(file, tmp_path / "out", ("seed=2",))
    with pytest.raises(UserError, match=r"-seed=2\n\+seed=3"):
        flown(file, tmp_path / "out", ("seed=3",))
    with pytest.raises(UserError, match=r"-seed=2"):
        flown(file, tmp_path / "out")
    with monkeypatch.context() as patch:
        patch.setattr(record, "__version__", "0.0.9")
        with pytest.raises(UserError, match=r'\+windtunnel: "0.0.9"'):
            flown(tmp_path / "out", None)
    rebuilt = tmp_path / "fake_engine.py"
    rebuilt.write_text(FAKE.read_text() + "# built again\n")
    rebuilt.chmod(0o755)
    (tmp_path / "fake_numbers.py").write_text(FAKE.with_name("fake_numbers.py").read_text())
    with engine(str(rebuilt)), pytest.raises(UserError, match=r"\+engine sha256: "):
        flown(tmp_path / "out", None)
    file = tmp_path / "out" / "study.json"
    document = json.loads(file.read_text())
    document["host"]["kernel"] = "4.0"
    file.write_text(json.dumps(document))
    with pytest.raises(UserError, match=r'-kernel: "4.0"'):
        flown(tmp_path / "out", None)


def test_another_number_of_cpus_is_refused(tmp_path):
    text = '[[factor]]\nkey = "server.cores"\nvalues = [[0], [2]]\n'
    flown(written(tmp_path, text, ONCE), tmp_path / "out", host=machine())
    with pytest.raises(UserError, match='"cannot fly": false'):
        flown(tmp_path / "out", None, host=machine(cpus=4))


def test_points_that_cannot_fly_are_named_and_left_out(tmp_path):
    text = '[[factor]]\nkey = "server.cores"\nvalues = [[0], [700]]\n'
    study = flown(written(tmp_path, text), tmp_path / "out")
    assert [point.cannot_fly for point in study.record.points] == [
        None,
        "server: CPU 700 is not there, or not allowed",
    ]
    assert {row["point"] for row in study.rows} == {1} and study.due == 3


def test_two_processes_on_one_study(tmp_path):
    file = written(tmp_path, TWO_VALUES, ONCE)
    with directory.opened(tmp_path / "out"), pytest.raises(UserError, match="another process flies this study"):
        flown(file, tmp_path / "out")
    assert flown(file, tmp_path / "out").flown == 2


@pytest.mark.parametrize("there", ["notes.txt", "run.json", "flights"])
def test_a_directory_that_is_something_else_is_left_alone(tmp_path, there):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / there).write_text("mine")
    with pytest.raises(UserError, match=f"exists already and is no study: it holds {there}"):
        flown(written(tmp_path), tmp_path / "out")
    assert [file.name for file in (tmp_path / "out").iterdir()] == [there]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"version": 2}', '{"version": 1}', "[" * 100_000])
def test_a_study_json_that_is_none(tmp_path, text):
    file = written(tmp_path)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "study.json").write_text(text)
    for source, out in ((file, tmp_path / "out"), (tmp_path / "out", None)):
        with pytest.raises(UserError, match=r"out/study.json: "):
            flown(source, out)
    assert (tmp_path / "out" / "study.json").read_text() == text


def test_a_study_that_goes_on_takes_no_other_options(tmp_path):
    study = flown(written(tmp_path, TWO_VALUES, ONCE), tmp_path / "out")
    with pytest.raises(UserError, match="--set has no meaning"):
        flown(study.path, None, ("seed=3",))
    with pytest.raises(UserError, match="--out has no meaning"):
        flown(study.path, tmp_path / "other")
    (tmp_path / "far.toml").rename(tmp_path / "moved.toml")
    with pytest.raises(UserError, match=r"study file .*far.toml is gone"):
        flown(study.path, None)
    assert flown(tmp_path / "moved.toml", study.path).flown == 2
    with pytest.raises(UserError, match="not a study"):
        flown(tmp_path, None)


@pytest.mark.parametrize("twice", [False, True])
def test_ctrl_c_ends_it_in_good_order_and_it_goes_on(tmp_path, twice):
    file = written(tmp_path, head=ONCE, scenario=SCENARIO.replace("60ms", "200ms"))
    process = subprocess.Popen(
        [*COMMAND, "study", str(file), "--out", "out"],
        cwd=tmp_path,
        env=environment("stubborn" if twice else "fly"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    flights = tmp_path / "out" / "flights"
    wanted = 1 if twice else 2
    while process.poll() is None and not (flights.is_dir() and len(list(flights.glob("*/windows.jsonl"))) >= wanted):
        threading.Event().wait(0.01)
    while process.poll() is None and not any(f.read_bytes() for f in newest(flights).glob("windows.jsonl")):
        threading.Event().wait(0.01)
    process.send_signal(signal.SIGINT)
    if twice:
        threading.Event().wait(0.2)
        process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "Traceback" not in out + err and "nanobind" not in err  # what DuckDB says of a process that leaves it in use
    assert "flights are left; windtunnel study out goes on" in err
    aborted = list((tmp_path / "out" / "aborted").iterdir())
    assert len(aborted) == 1
    assert "interrupted by the user" in json.loads((aborted[0] / "run.json").read_text())["verdict"]["reasons"][0]
    assert len(runs(tmp_path / "out")) == wanted - 1
    assert (tmp_path / "out" / "results.parquet").exists() == (not twice)
    assert flown(tmp_path / "out", None).flown == 3


def newest(flights):
    return max(flights.iterdir(), key=lambda path: path.stat().st_mtime_ns)


def test_what_the_terminal_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file = written(tmp_path, TWO_VALUES, HEAD + "repeats = 2\n")
    plan = invoke("study", file, "--plan")
    assert "2 of 2 points fly here, 2 times each: 4 flights" in plan and "How far?" in plan
    assert not list(tmp_path.glob("runs"))
    document = json.loads(invoke("study", file, "--plan", "--json"))
    assert document["flights"] == 4 and [p["factors"] for p in document["points"]] == [
        {"inflight": 64},
        {"inflight": 128},
    ]
    said = invoke("study", file)
    assert said.count(" of 4  ") == 4 and "answered_per_s  50.0 k/s" in said and "to go" in said
    assert "The highest answered_per_s: inflight" in said and "\x1b" not in said
    (out,) = (tmp_path / "runs").iterdir()
    assert out.name.endswith("Z-far") and (out / "report.html").is_file()
    assert invoke("study", out, "--quiet") == f"{out}\n"
    document = json.loads(invoke("study", out, "--json"))
    assert (document["finished"], document["flown"], document["invalid"]) == (True, 4, 0)


def test_plan_names_what_cannot_fly(tmp_path):
    text = '[[factor]]\nkey = "server.cores"\nvalues = [[0], [700]]\n'
    said = invoke("study", written(tmp_path, text), "--plan")
    assert "1 of 2 points fly here, 3 times each: 3 flights" in said
    assert "cannot fly here: server: CPU 700 is not there, or not allowed" in " ".join(said.split())


def test_exit_codes(tmp_path, monkeypatch):
    file = written(tmp_path, TWO_VALUES, ONCE)
    monkeypatch.setenv("FAKE_ENGINE", "no_answers")
    said = invoke("study", file, "--out", tmp_path / "out", code=1)
    assert "2 of 2 runs are invalid" in said and "invalid: no messages answered" in said
    assert refused("study", file, "--set", "client.inflight=3").remedy
    assert "exclude each other" in refused("study", file, "--json", "-q").message
    monkeypatch.setenv("WINDTUNNEL_ENGINE", "/nothing")
    assert "no such file" in refused("study", file, "--out", tmp_path / "x").message
    assert not (tmp_path / "x").exists()


def test_as_python_calls(tmp_path):
    file = written(tmp_path, TWO_VALUES, ONCE)
    study = library.study(file, {"duration": "40ms"}, out=tmp_path / "out", report=True)
    assert isinstance(study, library.Study) and study.flown == 2
    assert (study.path / "report.html").read_text().rstrip().endswith("</html>")
    rows = library.query("select inflight, count(*) n from results group by 1 order by 1", study.path)
    assert rows == [{"inflight": 64, "n": 1}, {"inflight": 128, "n": 1}]


def test_a_full_disk_ends_the_study_and_harms_nothing(tmp_path, monkeypatch):
    file = written(tmp_path, TWO_VALUES, ONCE)

    def full(self, name, line, raw):
        raise OSError(28, os.strerror(28))

    with monkeypatch.context() as patch:
        patch.setattr(conduct, "fly", broken_fly(full))
        with pytest.raises(UserError, match="run directory: "):
            flown(file, tmp_path / "out")
    assert len(list((tmp_path / "out" / "aborted").iterdir())) == 1
    assert flown(file, tmp_path / "out").flown == 2


def broken_fly(listener):
    """Flies with one more listener, whose disk is full."""
    whole = conduct.fly

    def fly(flight, path, interrupts, listeners, host):
        return whole(flight, path, interrupts, [*listeners, lambda *line: listener(None, *line)], host)

    return fly
