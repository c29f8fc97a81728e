"""Run directories that earlier releases wrote are read, with every value that they had.

tests/support/records/<version> holds small samples (tests/support/keep_record.py made them from real runs). `metrics.json` is what
`windtunnel show --json` of that version said of the sample.
"""

import json
import re
from pathlib import Path

import pytest
from terminal_views import printed

from windtunnel.errors import UserError
from windtunnel.exchange.tables import export, restore
from windtunnel.results.page.renderer import render
from windtunnel.results.run.document import run_document
from windtunnel.runs import load
from windtunnel.runs.migrate import FIRST_VERSION, RECORD_STEPS, WINDOW_STEPS, migrate_record
from windtunnel.runs.record import RUN_VERSION
from windtunnel.runs.summary import summarise

RECORDS = Path(__file__).resolve().parents[2] / "support" / "records"
SAMPLES = sorted(file.parent for file in RECORDS.glob("*/*/run.json"))
MEASURED = [sample for sample in SAMPLES if (sample / "metrics.json").exists()]


def name_of(sample: Path) -> str:
    return f"{sample.parent.name}-{sample.name}"


def within(wanted, found, at: str) -> None:
    """Every value that was wanted is there, and equal."""
    if isinstance(wanted, dict):
        for key, value in wanted.items():
            assert key in found, f"{at}.{key} is not there any more"
            within(value, found[key], f"{at}.{key}")
    elif isinstance(wanted, list):
        assert len(wanted) == len(found), at
        for place, value in enumerate(wanted):
            within(value, found[place], f"{at}[{place}]")
    else:
        assert found == (pytest.approx(wanted) if isinstance(wanted, float) else wanted), at


def test_every_version_that_can_be_read_has_its_steps_and_samples():
    versions = {json.loads((sample / "run.json").read_text())["version"] for sample in SAMPLES}
    assert set(RECORD_STEPS) == set(WINDOW_STEPS) == set(range(FIRST_VERSION, RUN_VERSION)) <= versions


@pytest.mark.parametrize("sample", SAMPLES, ids=name_of)
def test_a_kept_record_loads_with_all_its_windows(sample):
    run = load(sample)
    assert run.record.version == RUN_VERSION and run.problems == []
    lines = (sample / "windows.jsonl").read_text().splitlines() if run.record.engines else []
    assert sum(map(len, run.windows.values())) == len(lines)


@pytest.mark.parametrize("sample", SAMPLES, ids=name_of)
def test_a_record_from_before_variants_is_read(sample, tmp_path):
    """Plans of version 5 were written without them at first."""
    document = migrate_record(json.loads((sample / "run.json").read_text()))
    for engine in document["engines"]:
        engine["plan"].pop("variants", None)
        engine["plan"]["phases"].pop("hold_windows", None)
    (tmp_path / "run.json").write_text(json.dumps(document))
    (tmp_path / "windows.jsonl").write_text("")
    plan = load(tmp_path).record.engines[0].plan
    assert plan.variants is None and plan.phases.hold_windows is False


LEVEL = "phase 2 (300 k/s): before the response rate settled on another level"
UNSETTLED = "steady: not settled: the response rate fell by 30% during the measurement"


@pytest.mark.parametrize(
    ("reasons", "left", "valid"),
    [([], [], True), ([UNSETTLED], [], True), ([UNSETTLED, "clock: off"], ["clock: off"], False)],
)
def test_nothing_is_excluded_for_its_rate_in_an_older_record_either(reasons, left, valid):
    file = RECORDS / "0.6.0-before" / "settled" / "run.json"
    document = json.loads(file.read_text())
    assert [mark["reasons"][0][:12] for mark in document["validity"]["excluded"]] == ["warming up: "] * 2
    taken = {"engine": "windtunnel", "window": 5, "reasons": ["steal on CPU 0 for 40% of the window", LEVEL]}
    document["validity"]["excluded"] += [taken, taken | {"window": 6, "reasons": [LEVEL]}]
    document["verdict"] = {"valid": not reasons, "reasons": reasons}
    migrated = migrate_record(document)
    assert [mark["window"] for mark in migrated["validity"]["excluded"]] == [5]
    assert migrated["verdict"] == {"valid": valid, "reasons": left}


@pytest.mark.parametrize("sample", MEASURED, ids=name_of)
def test_a_kept_record_has_the_values_that_it_had(sample):
    metrics = json.loads(json.dumps(summarise(load(sample)).json()))
    within(json.loads((sample / "metrics.json").read_text()), metrics, "metrics.json")


@pytest.mark.parametrize("sample", SAMPLES, ids=name_of)
def test_a_kept_record_is_shown(sample):
    run = load(sample)
    shown, record = printed(run_document(run), 100), json.loads((sample / "run.json").read_text())
    assert record["title"] in shown and record["title"] in render(run_document(run))
    assert ("invalid" in shown) != record["verdict"]["valid"]


@pytest.mark.parametrize("sample", SAMPLES, ids=name_of)
def test_a_kept_record_is_exported_and_comes_back(sample, tmp_path):
    run = load(sample)
    back = restore(export(run, tmp_path / "tables", "parquet"), tmp_path / "back")
    assert back.windows == run.windows
    assert back.record == run.record


def with_another_part(sample: Path, directory: Path, unused: object, none: object) -> Path:
    """The run as it was written by a build with one more part: `unused` stands in its plan, `none` in its result and windows."""
    document = json.loads((sample / "run.json").read_text())
    document["engines"][0]["plan"]["workloads"][0]["another"] = unused
    document["engines"][0]["result"]["others"] = none
    (directory / "run.json").write_text(json.dumps(document))
    lines = map(json.loads, (sample / "windows.jsonl").read_text().splitlines())
    (directory / "windows.jsonl").write_text("".join(f"{json.dumps(line | {'others': none})}\n" for line in lines))
    return directory


def test_a_run_that_needed_no_part_is_read_without_it(tmp_path):
    run, as_written = load(with_another_part(SAMPLES[0], tmp_path, None, [])), load(SAMPLES[0])
    assert (run.record, run.windows) == (as_written.record, as_written.windows)


@pytest.mark.parametrize(
    ("unused", "none", "place"),
    [(0, [], "run.json: engines.0.plan.workloads.0.another"), (None, [{}], "run.json: engines.0.result.others")],
)
def test_a_run_that_needed_a_part_is_refused_without_it(tmp_path, unused, none, place):
    with pytest.raises(UserError, match=re.escape(f"{place}: Extra inputs are not permitted")):
        load(with_another_part(SAMPLES[0], tmp_path, unused, none))


@pytest.mark.parametrize("version", [0, FIRST_VERSION - 1, RUN_VERSION + 1, "5", None])
def test_an_unreadable_version_is_refused_with_a_message(version, tmp_path):
    (tmp_path / "run.json").write_text(json.dumps({"version": version}))
    with pytest.raises(UserError, match=f"record of version {version}, this windtunnel reads versions"):
        load(tmp_path)


def test_a_truncated_record_is_refused_with_a_message(tmp_path):
    (tmp_path / "run.json").write_text(json.dumps({"version": FIRST_VERSION}))
    with pytest.raises(UserError, match=f"not a complete record of version {FIRST_VERSION}"):
        load(tmp_path)
