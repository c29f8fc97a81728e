"""`windtunnel compare` as a user types it: two scenarios run in turn by the fake engine, interrupted, killed, read again."""

import json
import signal
from shutil import copytree
from types import SimpleNamespace

import jsonschema
import pytest
from command_line import SCENARIO, command, hanging, on_terminal
from comparing import in_turn
from fake_runs import FAKE
from sample_runs import HOSTILE, Page
from typer.testing import CliRunner

import windtunnel as library
from windtunnel.cli.app import app
from windtunnel.errors import UserError
from windtunnel.host.states import Where
from windtunnel.measure import executor
from windtunnel.measure.compare import paired_runs
from windtunnel.measure.compare.compared import Running
from windtunnel.measure.compare.compared import compare as hold
from windtunnel.measure.compare.conditions import percent, seconds
from windtunnel.measure.execute import RunOutcome
from windtunnel.results.comparison import comparison_document
from windtunnel.results.page.renderer import render
from windtunnel.runs import Verdict, load
from windtunnel.schemas.generate import CHECKOUT

SLOWER = "window=25ms"
"""The fake engine answers 1000 messages a window."""


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """Commands in this process run with the fake engine, in the test's directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WINDTUNNEL_ENGINE", str(FAKE))


def compare(*arguments, code=0):
    """What the command says in this process, words apart by one space, and on stderr."""
    done = CliRunner().invoke(app, ["compare", *map(str, arguments)])
    if isinstance(done.exception, UserError):
        raise done.exception
    assert done.exit_code == code, done.output
    return " ".join(done.stdout.split()), done.stderr


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    """What a comparison said and left; not to be written to."""
    directory = tmp_path_factory.mktemp("first")
    file = directory / "echo.toml"
    file.write_text(SCENARIO.format(duration="60ms"))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(directory)
        for name, value in (("WINDTUNNEL_ENGINE", str(FAKE)), ("COLUMNS", "100")):
            patch.setenv(name, value)
        arguments = ["compare", str(file), str(file), "--set-b", SLOWER, "--pairs", "3", "--out", "here"]
        done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0 and "2 of 3 pairs" in done.stderr, done.output
    return done.stdout, directory / "here"


@pytest.fixture
def finished(first, tmp_path):
    copytree(first[1], tmp_path / "here")
    return first[0], tmp_path / "here"


def test_two_scenarios_alternate_and_every_run_is_kept(finished):
    said, directory = finished
    assert "echo: slower" not in said and "l_app: slower, responses_per_s -20.0%" in said
    assert "3 of A and 3 of B · pairs run in turn" in said and "smallest detectable difference" in said
    assert "window  20ms → 25ms" in said
    assert sorted(path.relative_to(directory).as_posix() for path in directory.glob("?/*")) == [
        *("a/01", "a/02", "a/03"),
        *("b/01", "b/02", "b/03"),
    ]
    starts = [(load(path).record.started, path.parent.name) for path in directory.glob("?/*")]
    order = "".join(side for _, side in sorted(starts))
    assert all(order[n : n + 2] in ("ab", "ba") for n in (0, 2, 4))
    document = json.loads((directory / "comparison.json").read_text())
    jsonschema.validate(document, json.loads((CHECKOUT / "schemas" / "comparison.json").read_text()))
    turns = {"pairs_wanted": 3, "pairs": 3, "seed": 1, "change": "window", "until_decided": False, "stopped": "all run"}
    assert document["paired_runs"] == turns
    assert (directory / "report.html").is_file()


def test_kept_runs_are_compared_again(finished, tmp_path):
    _, directory = finished
    before = sorted(tmp_path.rglob("*"))
    again, _ = compare("here/a", "here/b", "--json", "--fail-if", "slower:25%")
    document, first = json.loads(again), json.loads((directory / "comparison.json").read_text())
    assert [p["measures"] for p in document["points"]] == [p["measures"] for p in first["points"]]
    words, said = compare("here/a", "here/b", "-q", "--fail-if", "slower:5%", code=1)
    assert words.startswith("l_app: slower, responses_per_s -20.0%") and words.count("l_app") == 1
    assert said.startswith("failed: l_app: slower:5%: responses_per_s -20.0% [")
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("here/a", "here/b", "--fail-if", "slower:30%"), 0, "l_app: slower"),
        (("here/a", "here/b", "--fail-if", "p99:+0.001%"), 3, "cannot tell: l_app: p99:+0.001%: p99 "),
        (("here/a/01", "here/b/01"), 3, "cannot tell: 1 run of A and 1 of B"),
        (("here/a/01", "here/b/01", "--force"), 0, "which is assumed"),
    ],
)
def test_exit_codes_tell_a_regression_from_runs_that_cannot_tell(finished, arguments, code, words):
    assert words in "".join(compare(*arguments, code=code))


def test_existing_files_are_not_overwritten(finished, tmp_path):
    _, directory = finished
    report = (directory / "report.html").read_text()
    for more in (["--report", "here/report.html"], ["--out", "here"]):
        with pytest.raises(UserError, match="exists already"):
            compare("here/a", "here/b", *more)
    assert (directory / "report.html").read_text() == report
    compare("here/a", "here/b", "--report", "new.html")
    assert "l_app responses_per_s" in (tmp_path / "new.html").read_text()


@pytest.fixture
def specs(scenario, monkeypatch):
    """A call that runs so many pairs with a seed, and says which side ran when; `verdicts` and `places`, the states of the host, are
    those of the runs."""

    def run_pairs(directory, pairs, seed=1, verdicts=(), places=()):
        order, verdicts, places = [], list(verdicts), list(places)

        def stub(spec, directory, *_, **__):
            order.append(directory.parent.name)
            valid = verdicts.pop(0) if verdicts else True
            run = SimpleNamespace(record=SimpleNamespace(where=places.pop(0) if places else Where()))
            return RunOutcome(run, Verdict(valid, [] if valid else ["spoilt"]), 0, interrupted=False)

        monkeypatch.setattr(executor, "execute", stub)
        contestant = paired_runs.Contestant(scenario, [])
        finished = paired_runs.run_in_turn(
            contestant, contestant, directory, None, executor.ThisHost(), pairs=pairs, seed=seed, change="run"
        )
        return finished, "".join(order)

    return run_pairs


def test_two_runs_alternate_by_window(finished):
    for side in "ab":
        run = load(finished[1] / side / "01")
        assert any(note.startswith("alternated by window with another run") for note in run.record.notes)
        assert run.windows["windtunnel"]


def test_a_wire_that_opens_once_alternates_by_run(scenario, tmp_path):
    memif = [scenario, scenario, "--set", "wire.kind=memif", "--pairs", 1]
    compare(*memif, "--out", "here")
    assert json.loads((tmp_path / "here" / "comparison.json").read_text())["paired_runs"]["change"] == "run"
    with pytest.raises(UserError, match='two runs cannot use the wire "memif" at the same time'):
        compare(*memif, "--alternate", "window", "--out", "not")
    assert not (tmp_path / "not").exists()


def test_a_seed_decides_the_order_within_each_pair(specs, tmp_path):
    _, order = specs(tmp_path / "1", 8)
    assert {order[n : n + 2] for n in range(0, 16, 2)} == {"ab", "ba"}
    assert specs(tmp_path / "2", 8)[1] == order != specs(tmp_path / "3", 8, seed=2)[1]


def test_pairs_with_an_invalid_run_are_repeated_up_to_twice_as_many(specs, tmp_path):
    finished, order = specs(tmp_path / "1", 3, verdicts=[True, False, False, True])
    assert (finished.pairs, finished.stopped, len(order)) == (3, "all run", 10)
    finished, order = specs(tmp_path / "2", 3, verdicts=[True, False] * 6)
    assert (finished.pairs, finished.stopped, len(order)) == (0, "failed", 12)
    finished, order = specs(tmp_path / "3", 15, verdicts=[False] * 30)
    assert (finished.pairs, finished.stopped) == (0, "failed") and len(order) in (9, 10)


def test_pairs_are_run_until_enough_are_of_one_state(specs, tmp_path):
    near, far = Where("one-l3", 90.0), Where("two-l3s", 425.0)
    finished, order = specs(tmp_path / "1", 3, places=[near, near, near, far, far, far, near, near, near, near])
    assert (finished.pairs, finished.stopped, len(order)) == (3, "all run", 10)
    finished, order = specs(tmp_path / "2", 3, places=[near, far] * 6)
    assert (finished.pairs, finished.stopped, len(order)) == (0, "states", 12)


def test_a_time_limit_runs_at_least_one_pair(scenario):
    said, _ = compare(scenario, scenario, "--set", "duration=600ms", "--within", "1s", "--out", "here")
    assert "out of time after 1 of 15 pairs" in said and "spread between runs assumed" in said


def test_invalid_runs_are_repeated_up_to_a_limit(scenario, tmp_path, monkeypatch):
    monkeypatch.setenv("FAKE_ENGINE", "lose_mbufs")
    said, _ = compare(scenario, scenario, "--out", "here", code=3)
    assert "too many invalid runs after 0 of 15 pairs" in said
    assert "l_app: invalid: A: " in said and "ledger open" in said
    assert len(list((tmp_path / "here").glob("?/*"))) <= 10


def test_a_terminal_shows_a_bar_with_the_remaining_time(scenario, tmp_path):
    status, screen = on_terminal(command("compare", scenario, scenario, "--pairs", 1), tmp_path)
    assert status == 0 and "0 of 1 pairs, " in screen and "0:0" in screen and "Ctrl-C stops it and compares" in screen
    assert "pairs: A runs" not in screen and "no difference shown" in screen


THIRD_PAIR = {"at": 5, "windows": "here/?/03/windows.jsonl"}


def test_ctrl_c_compares_the_finished_runs(scenario, tmp_path):
    with hanging("compare", scenario, scenario, "--out", "here", cwd=tmp_path, **THIRD_PAIR) as process:
        process.send_signal(signal.SIGINT)
        said, errors = process.communicate(timeout=60)
    assert process.returncode == 130 and "Traceback" not in said + errors, said + errors
    assert "interrupted after 2 of 15 pairs" in said and "no difference shown" in said
    assert json.loads((tmp_path / "here" / "comparison.json").read_text())["paired_runs"]["stopped"] == "interrupted"


def test_a_kill_loses_no_finished_run(scenario, tmp_path):
    with hanging("compare", scenario, scenario, "--out", "here", cwd=tmp_path, **THIRD_PAIR) as process:
        process.kill()
    said, _ = compare("here/a", "here/b", "--force")
    assert "no difference shown" in said and "invalid, excluded: did not finish" in said


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--within", "soon"], "--within: "),
        (["--between-runs", "5"], "--between-runs 5: "),
        (["--fail-if", "slowest"], "--fail-if slowest: not a condition"),
        (["--json", "--quiet"], "exclude each other"),
        (["--set-b", "server.bach.app_rx=64"], "--set server.bach.app_rx=64"),
        (["--set-b", "workload.0.name=other"], "no workload in common: A has l_app, B has other"),
    ],
)
def test_bad_input_is_refused_before_any_file_is_written(scenario, tmp_path, arguments, words):
    with pytest.raises(UserError) as refused:
        compare(scenario, scenario, *arguments)
    assert words in refused.value.message and not (tmp_path / "runs").exists()


def test_percents_and_times():
    assert percent("--x", "2.5%") == 0.025 and seconds("--x", "10min") == 600
    for text in ("0%", "101%", "5", "-5%", "nan%"):
        with pytest.raises(UserError):
            percent("--x", text)


def test_the_library_does_what_the_command_does(scenario, tmp_path):
    found = library.compare(
        scenario, scenario, {"duration": "80ms"}, sets_b={"window": "25ms"}, pairs=3, out="x", report=True
    )
    assert isinstance(found, library.Comparison) and found.points[0].judged[0].verdict == "slower"
    assert (tmp_path / "x" / "report.html").is_file()
    again = library.compare("x/a", "x/b")
    assert again.points == found.points


def test_the_report_holds_the_plots_and_escapes_hostile_text(tmp_path):
    a, b = in_turn(tmp_path, 3, 6.0, 5.0, question=HOSTILE, scenario={HOSTILE: HOSTILE})
    comparison, _ = hold(a, b, Running())
    page = Page(render(comparison_document(comparison)))
    assert len(page.scripts) == 3 and HOSTILE in page.text and not [tag for tag, _ in page.tags if tag == "img"]
    forest, in_time = json.loads(page.scripts[1]).values()
    assert len(forest["data"]) == 2
    runs = in_time["data"]
    assert [trace["x"] for trace in runs] == [[1, 4, 5], [2, 3, 6]]
    measure = next(m for m in comparison.points[0].measures if m.metric == "responses_per_s")
    assert [trace["y"] for trace in runs] == [measure.a, measure.b]
    assert f"{measure.interval.percent:+.1f}%" in page.text


def test_a_report_of_incomparable_runs_has_no_plots(tmp_path):
    a, b = in_turn(tmp_path, 3, 6.0, 5.0, host={"hostname": "there"})
    page = Page(render(comparison_document(hold(a, b, Running())[0])))
    assert page.scripts == [] and "cannot be compared" in page.text and "hostname" not in page.text


def test_pairs_end_as_soon_as_they_decide(tmp_path):
    (tmp_path / "echo.toml").write_text(SCENARIO.format(duration="60ms"))
    asked = ["--set-b", SLOWER, "--fail-if", "slower:5%", "--until-decided", "--out", "here"]
    said, _ = compare("echo.toml", "echo.toml", *asked, code=1)
    assert "decided after 11 of 60 pairs" in said and "pairs run in turn until they decide" in said
    document = json.loads((tmp_path / "here" / "comparison.json").read_text())
    assert (document["paired_runs"]["stopped"], document["paired_runs"]["until_decided"]) == ("decided", True)
    assert len(list((tmp_path / "here" / "a").iterdir())) == 11
    assert "pairs run in turn until they decide" in compare("here/a", "here/b")[0], "their number is no fixed one"
