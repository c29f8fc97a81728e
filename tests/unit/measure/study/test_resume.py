"""Studies run by the fake engine: how they go on, and with what they refuse to."""

import json
import shutil
import signal

import pytest
from command_line import hanging
from fake_runs import FAKE
from scenario_tools import engine, machine
from study_tools import HEAD, ONE_FACTOR, SCENARIO, Heard, finished, on_paper, runs, written

import windtunnel
from windtunnel.errors import UserError
from windtunnel.measure.study import directory, record

pytestmark = pytest.mark.slow

TWO_VALUES = ONE_FACTOR.replace("32, 64, 128", "64, 128")
ONCE = HEAD + "repeats = 1\n"


@pytest.fixture(autouse=True)
def paper():
    with on_paper():
        yield


def test_a_finished_study_runs_nothing_more(tmp_path):
    file = written(tmp_path, TWO_VALUES)
    first = finished(file, tmp_path / "out")
    table = (first.path / "results.parquet").read_bytes()
    heard = Heard()
    again = finished(file, tmp_path / "out", watcher=heard)
    assert len(heard.specs) == 6 and not any(now for _, _, now in heard.specs)
    assert again.rows == first.rows and again.record == first.record
    assert (again.path / "results.parquet").read_bytes() == table


def test_unfinished_runs_are_kept_apart_and_repeated(tmp_path):
    file = written(tmp_path, TWO_VALUES)
    study = finished(file, tmp_path / "out")
    whole = runs(study.path)
    specs = study.path / "runs"
    torn = json.loads((specs / "1-inflight-64-r1" / "run.json").read_text())
    torn["finished"] = None
    torn["verdict"] = {"valid": False, "reasons": ["did not finish"]}
    (specs / "1-inflight-64-r1" / "run.json").write_text(json.dumps(torn))
    shutil.rmtree(specs / "2-inflight-128-r2")
    (specs / "2-inflight-128-r2").mkdir()
    (specs / "2-inflight-128-r3" / "run.json").unlink()
    (study.path / "aborted").mkdir()
    (study.path / "aborted" / "1-inflight-64-r1").mkdir()
    heard = Heard()
    again = finished(study.path, None, watcher=heard)
    assert [name for name, _, now in heard.specs if now] == [
        name for name, _, _ in heard.specs if name in ("1-inflight-64-r1", "2-inflight-128-r2", "2-inflight-128-r3")
    ]
    assert runs(again.path) == whole
    kept = {path.name for path in (study.path / "aborted").iterdir()}
    assert kept == {"1-inflight-64-r1", "1-inflight-64-r1.2", "2-inflight-128-r2", "2-inflight-128-r3"}
    assert (study.path / "aborted" / "1-inflight-64-r1.2" / "windows.jsonl").is_file()


def test_a_record_names_nothing_that_is_removed(tmp_path, monkeypatch):
    """A study that somebody sent may name any DPDK application's files as those of its own interrupted run."""
    monkeypatch.setenv("RUNTIME_DIRECTORY", str(tmp_path / "runtime"))
    foreign = tmp_path / "runtime" / "dpdk" / "rte"
    foreign.mkdir(parents=True)
    study = finished(written(tmp_path, TWO_VALUES, ONCE), tmp_path / "out")
    file = study.path / "runs" / "1-inflight-64-r1" / "run.json"
    document = json.loads(file.read_text())
    document["engines"][0]["plan"]["eal"]["file_prefix"] = "rte"
    file.write_text(json.dumps(document | {"finished": None, "verdict": {"valid": False, "reasons": ["killed"]}}))
    finished(study.path, None)
    assert (study.path / "aborted" / "1-inflight-64-r1").is_dir() and foreign.is_dir()


@pytest.mark.parametrize("reason", ["stopped before the end: interrupted by the user", "run directory: no space left"])
def test_an_interrupted_run_is_not_a_result(tmp_path, reason):
    """As a process leaves it that was killed before it could put the directory away."""
    study = finished(written(tmp_path, TWO_VALUES, ONCE), tmp_path / "out")
    file = study.path / "runs" / "1-inflight-64-r1" / "run.json"
    document = json.loads(file.read_text())
    file.write_text(json.dumps(document | {"verdict": {"valid": False, "reasons": [reason]}}))
    again = finished(study.path, None)
    assert [row["valid"] for row in again.rows] == [True, True] and {row["attempt"] for row in again.rows} == {1}
    assert [path.name for path in (study.path / "aborted").iterdir()] == ["1-inflight-64-r1"]


def test_a_damaged_run_is_not_overwritten(tmp_path):
    study = finished(written(tmp_path, TWO_VALUES, ONCE), tmp_path / "out")
    (study.path / "runs" / "1-inflight-64-r1" / "run.json").write_text("{")
    with pytest.raises(UserError, match="not JSON"):
        finished(study.path, None)
    assert (study.path / "runs" / "1-inflight-64-r1" / "run.json").read_text() == "{"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda d: (d / "far.toml").write_text(ONCE + ONE_FACTOR.replace("128", "256")), "64, 128]\n+values"),
        (lambda d: (d / "echo.toml").write_text(SCENARIO + "request = 87\n"), "+request = 87"),
        (lambda d: (d / "far.toml").write_bytes((ONCE + ONE_FACTOR).replace("\n", "\r\n").encode()), "line ends"),
    ],
)
def test_a_changed_study_is_refused_with_the_difference(tmp_path, change, words):
    file = written(tmp_path, head=ONCE)
    study = finished(file, tmp_path / "out")
    before = {path: path.read_bytes() for path in study.path.rglob("*") if path.is_file()}
    change(tmp_path)
    for source, out in ((file, study.path), (study.path, None)):
        with pytest.raises(UserError) as refusal:
            finished(source, out)
        assert words in refusal.value.message and "cannot continue" in refusal.value.message
    assert {path: path.read_bytes() for path in study.path.rglob("*") if path.is_file()} == before


def test_another_set_engine_version_or_host_is_refused(tmp_path, monkeypatch):
    file = written(tmp_path, TWO_VALUES, ONCE)
    finished(file, tmp_path / "out", ("seed=2",))
    with pytest.raises(UserError, match=r"-seed=2\n\+seed=3"):
        finished(file, tmp_path / "out", ("seed=3",))
    with pytest.raises(UserError, match=r"-seed=2"):
        finished(file, tmp_path / "out")
    with monkeypatch.context() as patch:
        patch.setattr(record, "__version__", "0.0.9")
        with pytest.raises(UserError, match=r'\+windtunnel: "0.0.9"'):
            finished(tmp_path / "out", None)
    rebuilt = tmp_path / "fake_engine.py"
    rebuilt.write_text(FAKE.read_text() + "# built again\n")
    rebuilt.chmod(0o755)
    (tmp_path / "fake_numbers.py").write_text(FAKE.with_name("fake_numbers.py").read_text())
    with engine(str(rebuilt)), pytest.raises(UserError, match=r"\+engine sha256: "):
        finished(tmp_path / "out", None)
    file = tmp_path / "out" / "study.json"
    document = json.loads(file.read_text())
    document["host"]["kernel"] = "4.0"
    file.write_text(json.dumps(document))
    with pytest.raises(UserError, match=r'-kernel: "4.0"'):
        finished(tmp_path / "out", None, from_elsewhere=True)


def test_another_number_of_cpus_is_refused(tmp_path):
    text = '[[factor]]\nkey = "server.cores"\nvalues = [[0], [2]]\n'
    finished(written(tmp_path, text, ONCE), tmp_path / "out", host=machine())
    with pytest.raises(UserError, match='"cannot run": false'):
        finished(tmp_path / "out", None, host=machine(cpus=4))


def test_the_lock_of_a_study_is_no_link(tmp_path):
    """As a directory that somebody sent may have."""
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / directory.LOCK).symlink_to(tmp_path / "made")
    with pytest.raises(UserError, match=r"out"), directory.opened(tmp_path / "out"):
        pass
    assert not (tmp_path / "made").exists()


def test_two_processes_on_one_study(tmp_path):
    file = written(tmp_path, TWO_VALUES, ONCE)
    with directory.opened(tmp_path / "out"), pytest.raises(UserError, match="another process runs this study"):
        finished(file, tmp_path / "out")
    assert finished(file, tmp_path / "out").finished == 2


@pytest.mark.parametrize("there", ["notes.txt", "run.json", "runs"])
def test_a_directory_that_is_not_a_study_is_not_changed(tmp_path, there):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / there).write_text("mine")
    with pytest.raises(UserError, match=f"exists already and is not a study: it contains {there}"):
        finished(written(tmp_path), tmp_path / "out")
    assert [file.name for file in (tmp_path / "out").iterdir()] == [there]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"version": 2}', '{"version": 1}', "[" * 100_000])
def test_an_invalid_study_json(tmp_path, text):
    file = written(tmp_path)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "study.json").write_text(text)
    for source, out in ((file, tmp_path / "out"), (tmp_path / "out", None)):
        with pytest.raises(UserError, match=r"out/study.json: "):
            finished(source, out)
    assert (tmp_path / "out" / "study.json").read_text() == text


def test_a_resumed_study_takes_no_other_options(tmp_path):
    study = finished(written(tmp_path, TWO_VALUES, ONCE), tmp_path / "out")
    with pytest.raises(UserError, match="--set has no effect"):
        finished(study.path, None, ("seed=3",))
    with pytest.raises(UserError, match="--out has no effect"):
        finished(study.path, tmp_path / "other")
    (tmp_path / "far.toml").rename(tmp_path / "moved.toml")
    with pytest.raises(UserError, match=r"study file .*far.toml is gone"):
        finished(study.path, None)
    assert finished(tmp_path / "moved.toml", study.path).finished == 2
    with pytest.raises(UserError, match="not a study"):
        finished(tmp_path, None)


@pytest.mark.parametrize("twice", [False, True])
def test_ctrl_c_ends_a_study_in_order_and_it_can_be_resumed(tmp_path, twice):
    """In its second run, or twice in the first one, which does not heed it."""
    study = ("study", written(tmp_path, head=ONCE), "--out", "out")
    at, behaviour = (0, "stubborn") if twice else (2, "run")
    with hanging(
        *study, cwd=tmp_path, at=at, windows="out/runs/*/windows.jsonl", files=at or 1, FAKE_ENGINE=behaviour
    ) as process:
        process.send_signal(signal.SIGINT)
        if twice:
            process.send_signal(signal.SIGTERM)  # two of one kind could come as one
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "Traceback" not in out + err and "nanobind" not in err  # what DuckDB says of a process that leaves it in use
    assert "runs are left; continue with: windtunnel study out" in err
    (aborted,) = (tmp_path / "out" / "aborted").iterdir()
    assert "interrupted by the user" in json.loads((aborted / "run.json").read_text())["verdict"]["reasons"][0]
    assert len(runs(tmp_path / "out")) == (0 if twice else 1)
    assert (tmp_path / "out" / "results.parquet").exists() == (not twice)
    assert finished(tmp_path / "out", None).finished == 3


def test_a_quick_study_is_not_resumed_in_full_nor_the_reverse(tmp_path):
    file = written(tmp_path, TWO_VALUES + "[full]\nrepeats = 1\n", HEAD + "repeats = 2\n")
    quick = windtunnel.study(file, out=tmp_path / "quick")
    full = windtunnel.study(file, out=tmp_path / "full", full=True)
    assert (quick.record.full, quick.due, full.record.full, full.due) == (False, 4, True, 2)
    for of, other in ((quick, True), (full, False)):
        with pytest.raises(UserError, match="cannot continue") as refusal:
            finished(file, of.path, full=other)
        assert "size (then)" in refusal.value.message
    heard = Heard()
    again = finished(full.path, watcher=heard)
    assert again.record.full and not any(now for _, _, now in heard.specs)
    with pytest.raises(UserError, match="--full has no effect"):
        finished(full.path, full=True)
