"""How often intervals hold on a host: comparisons of a scenario with itself, kept over days."""

import json
import shutil
from pathlib import Path

import in_process
import jsonschema
import pytest
from comparing import HOST, SCENARIO, change, in_turn
from fake_runs import FAKE

from windtunnel.errors import UserError
from windtunnel.measure import calibration
from windtunnel.measure.calibration import Calibration
from windtunnel.measure.compare.compared import Running, compare
from windtunnel.results.calibration import compared, outcome
from windtunnel.schemas.generate import CHECKOUT

DAY_S = 86_400


def comparison(directory, name, mpps_a=6.0, mpps_b=6.0, day=0, seed=0, pairs=8, **about_b):
    """One that is kept, of runs that lie beside it."""
    sides = in_turn(directory / name, pairs, mpps_a, mpps_b, at_s=day * DAY_S, seed=seed, **about_b)
    shutil.move(directory / name, directory / "moved")
    compare(directory / "moved" / "a", directory / "moved" / "b", Running(), directory / name)
    for side in sides:
        shutil.move(directory / "moved" / side.name, side)
    (directory / "moved").rmdir()


def judge(directory):
    return calibration.judge(directory, SCENARIO)


@pytest.fixture(scope="module")
def five_days(tmp_path_factory):
    """Days differ by some per cent, the last one by more."""
    directory = tmp_path_factory.mktemp("five_days")
    for day, mpps in enumerate((6.0, 6.1, 5.9, 6.05, 3.0)):
        comparison(directory, f"day-{day}", mpps, mpps, day, seed=100 * day)
    return directory


@pytest.fixture
def kept(five_days, tmp_path, monkeypatch):
    """Of five days; may be written to. No windows of runs are read: how many comparisons count does not depend on them."""
    monkeypatch.setattr(calibration, "windows", lambda run: [])
    return shutil.copytree(five_days, tmp_path / "kept")


def shares(found: Calibration):
    return [(share.count, share.of) for share in found.shares]


def test_what_is_kept_is_counted_by_kind_of_interval(five_days):
    found = judge(five_days)
    assert (found.comparisons, found.without_verdict, found.others, found.days) == (5, 0, 0, 5)
    assert found.no_verdict_because is None
    assert found.metric == "responses_per_s" and found.exit_code == 0
    errors, differences, runs, another_day = shares(found)
    assert errors == (0, 5) and differences == (5, 5) and runs[1] == 80 and runs[0] > 60
    assert another_day == (1, 2), "the fourth day lies where the first three predict it, the fifth does not"
    assert 0.25 < found.between_days < 0.5
    assert outcome(found) == "Nothing is shown to hold less often than it says."
    assert compared(found)[:2] == [
        "Comparisons of the scenario with itself: 5, on days (UTC): 5.",
        "They were decided by responses_per_s.",
    ]


def test_a_difference_that_is_none_is_an_error(tmp_path):
    for n in range(3):
        comparison(tmp_path, f"{n}", 6.0, 5.4, seed=50 * n)
    found = judge(tmp_path)
    assert shares(found)[:2] == [(3, 3), (0, 3)] and found.exit_code == 1
    assert [share.fails for share in found.shares] == [True, True, False, False]
    assert "compare shows a difference" in outcome(found) and found.days == 1 and found.between_days is None


def share(says, count, of):
    return calibration.Share(what="", of_what="interval", says=says, count=count, of=of, low=None, high=None)


def test_a_share_fails_by_what_holds_at_all_looks():
    """Who looks every day would find one of the shares below what it says in time."""
    assert [count for count in range(21) if share(0.95, count, 20).fails] == list(range(15))
    assert not share(0.95, 0, 0).fails and not share(None, 0, 20).fails


def test_days_to_come_are_said_to_be_needed(tmp_path):
    comparison(tmp_path, "first")
    found = judge(tmp_path)
    assert found.exit_code == 0 and shares(found)[3] == (0, 0) and found.shares[3].low is None
    assert outcome(found).endswith("Another day can be judged from 4 days on.")


def test_comparisons_of_another_host_are_not_counted(kept):
    for run in (kept / "day-0").glob("?/*"):
        change(run, host=HOST | {"kernel": "5.10"})
    found = judge(kept)
    assert (found.comparisons, found.others, found.days) == (4, 1, 4)
    assert "Of another host, kernel, state of the host or metric, and not counted: 1." in compared(found)


def test_comparisons_without_a_verdict_or_of_two_scenarios_are_not_counted(kept):
    for run in (kept / "day-0").glob("?/*"):
        change(run, verdict={"valid": False, "reasons": ["ledger open"]})
    shutil.rmtree(kept / "again", ignore_errors=True)
    compare(kept / "day-0" / "a", kept / "day-0" / "b", Running(), kept / "again")
    (kept / "again" / "comparison.json").replace(kept / "day-0" / "comparison.json")
    comparison(kept, "changed", day=6, scenario=SCENARIO | {"server": {"batch": {"app_rx": 64}}})
    found = judge(kept)
    assert (found.comparisons, found.without_verdict, found.days) == (4, 1, 4)
    assert found.no_verdict_because.startswith("invalid; A: 8 of 8 runs invalid, ")
    assert found.no_verdict_because.endswith("ledger open")
    assert f"Without a verdict, and not counted: 1 (the newest: {found.no_verdict_because})." in compared(found)


def test_cores_that_the_host_gave_make_no_other_scenario(kept):
    for run in (kept / "day-1").glob("?/*"):
        change(run, scenario=SCENARIO | {"server": SCENARIO["server"] | {"cores": [3]}})
    assert judge(kept).comparisons == 5


def changed_comparison(kept, of):
    """The comparison of a day, with a change; `of` gets its document."""
    file = kept / "day-2" / "comparison.json"
    document = json.loads(file.read_text())
    of(document)
    file.write_text(json.dumps(document))
    return judge(kept)


def test_comparisons_in_another_state_or_by_another_metric_do_not_count_with_the_newest(kept):
    def other_state(document):
        document["points"][0]["states"][0]["state"] = "two-l3s"

    assert changed_comparison(kept, other_state).others == 1

    def other_metric(document):
        document["points"][0]["judged"][0]["decided_by"] = "p99"

    found = changed_comparison(kept, other_metric)
    assert (found.comparisons, found.others, found.metric) == (4, 1, "responses_per_s")


def test_a_comparison_that_was_interrupted_does_not_count(kept):
    def interrupted(document):
        about = {"pairs_wanted": 8, "pairs": 2, "seed": 1, "change": "run", "until_decided": False}
        document["paired_runs"] = about | {"stopped": "interrupted"}

    found = changed_comparison(kept, interrupted)
    assert (found.comparisons, found.without_verdict, found.unread) == (4, 0, [])


def test_a_comparison_whose_interval_is_an_assumption_has_no_verdict(kept):
    def assumed(document):
        for measure in document["points"][0]["measures"]:
            measure["interval"] = measure["interval"] and measure["interval"] | {"method": "assumed"}

    found = changed_comparison(kept, assumed)
    assert (found.comparisons, found.without_verdict) == (4, 1)
    assert found.no_verdict_because.startswith("the spread between runs is assumed")


def test_a_comparison_of_another_level_is_not_counted(kept):
    found = changed_comparison(kept, lambda document: document.update(level=1.0))
    assert found.comparisons == 4 and "intervals of 0, not of 0.99" in found.unread[0]


def test_a_difference_in_any_workload_is_an_error(kept):
    def second(document):
        (point,) = document["points"]
        point["judged"].append(point["judged"][0] | {"decided_by": "p50"})
        for measure in point["measures"]:
            if measure["metric"] == "p50":
                measure["shown"], measure["interval"] = True, measure["interval"] | {"low": 2.0, "high": 5.0}

    assert shares(changed_comparison(kept, second))[:2] == [(1, 5), (4, 5)]


def test_another_scenario_is_refused(kept):
    for run in (kept / "day-1").glob("?/*"):
        change(run, scenario=SCENARIO | {"duration": 5})
    with pytest.raises(UserError, match="day-1: a comparison of another scenario") as refused:
        judge(kept)
    assert refused.value.remedy == "--out DIR, another directory for each scenario"


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("{", "comparison.json"),
        ('{"version": 4}', "Field required"),
        ('{"version": 3}', "version 3"),
        ("[]", "None"),
    ],
)
def test_what_is_no_comparison_is_named_and_not_counted(kept, text, what):
    (kept / "day-2" / "comparison.json").write_text(text)
    found = judge(kept)
    assert found.comparisons == 4 and len(found.unread) == 1 and what in found.unread[0]
    assert "Cannot be read, and not counted: 1, as " in " ".join(compared(found))


DAMAGES = {
    "a path of another place": (("runs", 3, "path"), "../../day-1", "runs are not those"),
    "a path with a NUL": (("runs", 3, "path"), "a\0b", "runs are not those"),
    "no path": (("runs", 0, "path"), "", "runs are not those"),
    "no such run": (("runs", 0, "path"), "a/77", "77"),
    "no such measure": (("judged", 0, "decided_by"), "p12", "no values of p12"),
    "negative": (("measures", 0, "a", 2), -6e6, "no values"),
    "zero": (("measures", 0, "b", 2), 0.0, "no values"),
    "beyond all numbers": (("measures", 0, "b", 2), 1e300, "no values"),
    "no values": (("measures", 0, "a"), [], None),
    "no interval": (("measures", 0, "interval"), None, "no values"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_what_a_comparison_says_is_checked(kept, damage):
    """Somebody may have sent it."""
    way, instead, what = DAMAGES[damage]
    document = json.loads((kept / "day-2" / "comparison.json").read_text())
    point = document["points"][0]
    point["measures"].sort(key=lambda measure: measure["metric"] != "responses_per_s")
    part = point
    for step in way[:-1]:
        part = part[step]
    part[way[-1]] = instead
    (kept / "day-2" / "comparison.json").write_text(json.dumps(document))
    found = judge(kept)
    assert found.comparisons == (5 if what is None else 4)
    assert [what in each for each in found.unread] == ([] if what is None else [True])


def test_a_run_that_is_named_again_and_again_is_read_once(kept, monkeypatch):
    directories = list[Path]()
    monkeypatch.setattr(calibration, "windows", lambda run: directories.append(run) or [])

    def fifty_times(document):
        (point,) = document["points"]
        point["runs"] = point["runs"] * 50

    assert changed_comparison(kept, fifty_times).comparisons == 5
    assert len(directories) == len({*directories}) == 80
    assert changed_comparison(kept, fifty_times).comparisons == 4


def test_only_the_last_comparisons_have_their_runs_read(five_days, monkeypatch):
    monkeypatch.setattr(calibration, "LAST", 2)
    assert shares(judge(five_days))[2][1] == 32


def test_too_many_comparisons_are_refused(five_days, monkeypatch):
    monkeypatch.setattr(calibration, "MOST_COMPARISONS", 4)
    with pytest.raises(UserError, match="more than 4 comparisons"):
        judge(five_days)


def test_a_directory_may_be_judged_from_anywhere(kept, monkeypatch, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert judge(kept).comparisons == 5


def calibrate(*arguments, code):
    done = in_process.run("calibrate", *arguments)
    if isinstance(done.exception, UserError):
        raise done.exception
    assert done.exit_code == code, done.output
    return done


def test_the_command_adds_to_what_there_is(tmp_path, monkeypatch):
    """With the fake engine, whose runs are all alike."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WINDTUNNEL_ENGINE", str(FAKE))
    (tmp_path / "echo.toml").write_text(
        'duration = "60ms"\nwarmup = "20ms"\nwindow = "20ms"\n[[workload]]\nhandler = "l_app"\n'
    )
    done = calibrate("echo.toml", "--comparisons", 1, code=0)
    assert "comparison 1 of 1" in done.stderr and "with itself: 1, on days (UTC): 1." in done.stdout
    (directory,) = (tmp_path / "runs" / "calibration-echo").iterdir()
    assert (directory / "comparison.json").is_file() and len(list(directory.glob("?/*/run.json"))) == 16
    document = json.loads(calibrate("echo.toml", "--comparisons", 0, "--json", code=0).stdout)
    jsonschema.validate(document, json.loads((CHECKOUT / "schemas" / "calibration.json").read_text()))
    assert document["comparisons"] == 1 and document["stopped"] == "all run"
    with pytest.raises(UserError, match="another scenario, or with other options"):
        calibrate("echo.toml", "--comparisons", 1, "--set", "client.inflight=512", code=2)
    assert len(list((tmp_path / "runs" / "calibration-echo").iterdir())) == 1, "it was refused before anything ran"
    assert calibrate("echo.toml", "--comparisons", 0, "--out", "empty", "-q", code=3).stdout.startswith(
        "No comparison has a verdict"
    )


def test_two_forms_of_output_exclude_each_other(tmp_path):
    with pytest.raises(UserError, match="exclude each other"):
        calibrate("echo", "--json", "--quiet", code=2)


def test_a_word_is_a_shipped_scenario(tmp_path, monkeypatch):
    """Whatever the working directory has of this name."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WINDTUNNEL_ENGINE", str(FAKE))
    (tmp_path / "echo").mkdir()
    short = [each for key in ("duration", "warmup", "window") for each in ("--set", f"{key}=20ms")]
    calibrate("echo", "--comparisons", 1, *short, "--json", code=0)
    assert len(list((tmp_path / "runs" / "calibration-echo").iterdir())) == 1
