"""What `windtunnel tune` shows: the plan, the lines, the tables, the report and the exit codes, over made-up runs."""

import json
import math

import in_process
import jsonschema
import pytest
from fake_runs import FAKE
from report_plots import plots
from sample_runs import Page
from scenario_tools import engine
from tuning_tools import SCENARIO, SPACE, MadeUp, tuned

from windtunnel.cli.as_option import FORMATS
from windtunnel.errors import UserError
from windtunnel.index.entry import read_entry
from windtunnel.parts.tune import tuner
from windtunnel.parts.tune.document import tuning_document
from windtunnel.parts.tune.outcome import write_report
from windtunnel.results.page.renderer import render
from windtunnel.schemas.generate import CHECKOUT


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    (tmp_path / "echo.toml").write_text(SCENARIO)
    (tmp_path / "space.toml").write_text(SPACE)
    with engine(str(FAKE)):
        yield


@pytest.fixture
def command(monkeypatch):
    """The command in this process, over a rig; what it printed, and its exit code."""

    def run(*words, rig=None, code=0):
        monkeypatch.setattr(tuner, "Engines", lambda *about: rig or MadeUp())
        done = in_process.run("tune", "echo.toml", "--space", "space.toml", "--out", "out", *words)
        if isinstance(done.exception, UserError):
            raise done.exception
        assert done.exit_code == code, done.output or done.exception
        return done

    return run


def test_the_plan_shows_the_space_and_the_first_moves(command):
    said = command("--plan").output
    assert "120 points of 3 factors" in said and "32, 64, 128, 256, 512, 1024" in said
    assert "inflight 1024: more in flight fills the bursts" in said
    document = json.loads(command("--plan", "--json").output)
    assert document["file"] == {"inflight": "256", "batch": "32", "ring": "1024"} and document["points"] == 120
    assert document["first"][1] == {"sets": ["client.inflight=1024"], "why": "more in flight fills the bursts"}


def test_a_line_a_trial_then_the_table_and_the_findings(command, tmp_path):
    done = command("--budget", "12")
    lines = done.stderr.splitlines()
    assert lines[0] == "trial 1  1 of 12  batch 64: larger bursts share the cost of a call among more packets"
    assert lines[1].startswith("trial 1  worse: -") and lines[1].endswith("pairs  0 s")
    assert "the winner, is measured again" in lines[-1]
    said = done.stdout
    assert "is the best: " in said and "Measured again against the file: +" in said and "It is written." in said
    for name in ("best.toml", "report.html"):
        assert f"out/{name}" in said and (tmp_path / "out" / name).is_file()


@pytest.mark.parametrize("name", FORMATS)
def test_the_winner_is_written_in_another_format_too(command, tmp_path, name):
    said = command("--budget", "12", "--as", name).stdout
    files = {file.name for file in (tmp_path / "out").iterdir() if file.is_file()}
    others = {file for file in files if file[0] != "."} - {"best.toml", "report.html", "tuning.json"}
    assert others and all(f"out/{other}" in said for other in others)


def test_json_and_its_schemas(command, tmp_path):
    found = json.loads(command("--budget", "5", "--json").output)
    assert found["counted"] == 5 and found["stopped"] == "budget" and found["report"] == "out/report.html"
    for name, pattern in (
        ("tuning", "tuning.json"),
        ("tuning-trial", "trials/*/trial.json"),
        ("tuning-final", "final-*/final.json"),
    ):
        schema = json.loads((CHECKOUT / "schemas" / f"{name}.json").read_text())
        files = list((tmp_path / "out").glob(pattern))
        assert files
        for file in files:
            jsonschema.validate(json.loads(file.read_text()), schema)


def test_the_index_lists_it(command, tmp_path):
    command("--budget", "1", "--quiet")
    entry = read_entry(tmp_path / "out" / "tuning.json")
    assert (entry.kind, entry.title, entry.problem) == ("tuning", "L-App echo", None)


def test_quiet_prints_the_directory(command):
    done = command("--budget", "1", "--quiet")
    assert done.stdout == "out\n" and done.stderr == ""


def test_too_busy_is_3(command):
    done = command(rig=MadeUp(failing=lambda settings: "invalid"), code=3)
    assert "the host is too busy: five trials in a row failed, the last one: made up: invalid" in done.stderr
    said = done.stdout.replace("\n", " ")
    assert "no trial came to a result" in said and "5 of 5 trials failed and are not counted: 5 invalid." in said


def test_what_crashes_does_not_blame_the_host(command):
    done = command(rig=MadeUp(failing=lambda settings: "crashed"), code=3)
    assert done.stderr.splitlines()[-2:] == [
        "five trials in a row failed, the last one: made up: crashed",
        "try: windtunnel run echo.toml",
    ]


def test_an_slo_that_nothing_meets_is_1(command):
    words = ("--slo", "p99=1us", "--rate", "1k", "--budget", "2")
    assert "None of 2 settings meets throughput, p99 at most 1us at 1kpps" in command(*words, code=1).stdout


def test_the_file_as_the_best_is_0(command):
    rig = MadeUp(lambda settings: -0.5 * len(settings))
    assert "None of 3 settings was shown to be faster than the file." in command("--budget", "3", rig=rig).stdout


def test_options_that_contradict_each_other_are_refused(command):
    with pytest.raises(UserError, match="--json and --quiet"):
        command("--json", "--quiet")
    with pytest.raises(UserError, match="depends on an SLO"):
        command("--objective", "cores")


def test_the_report_has_path_and_importances(tmp_path):
    found = tuned(tmp_path, MadeUp(), budget=25)
    page = write_report(found).read_text()
    path, importances = plots(page).values()
    trials, better, incumbent = path["data"]
    assert len(trials["x"]) + len(better["x"]) == 25
    assert better["y"] == sorted(better["y"]) and incumbent["y"][-1] == better["y"][-1]
    assert incumbent["y"][0] == 0 and incumbent["x"][-1] == 25
    assert set(importances["data"][0]["y"]) <= {"inflight", "batch", "ring"}
    shown = Page(page)
    assert "the model of the trials so far" in shown.text and "made by `windtunnel tune`" in shown.text


def test_the_report_of_a_front(tmp_path):
    def deep(settings):
        return 0.1 * math.log2(int(settings.get("client.inflight", 256)))

    def deeper(settings):
        return 500.0 * int(settings.get("client.inflight", 256))

    found = tuned(tmp_path, MadeUp(deep, latency=deeper), objective="pareto", rate="1k", budget=6)
    page = render(tuning_document(found))
    trials, front = next(plot["data"] for plot in plots(page).values() if plot["data"][-1]["name"] == "front")
    assert len(trials["x"]) == 7 and len(front["x"]) == len(found.front)
    assert front["x"] == sorted(front["x"]) and front["y"] == sorted(front["y"])


def test_what_users_wrote_is_escaped(tmp_path):
    scenario = SCENARIO.replace("L-App echo", "<b>bold</b>").replace("# What", "# <i>What")
    (tmp_path / "echo.toml").write_text(scenario)
    page = render(tuning_document(tuned(tmp_path, MadeUp(), budget=2)))
    assert "<b>bold" not in page and "&lt;b&gt;bold" in page and "<i>What" not in page


def test_a_report_without_a_gain(tmp_path):
    found = tuned(tmp_path, MadeUp(failing=lambda settings: "crashed"))
    page = render(tuning_document(found))
    assert plots(page) == {} and "made up: crashed" in page
