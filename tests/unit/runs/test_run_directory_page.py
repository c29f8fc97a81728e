"""The page on the run directory names every key of run.json, files by the names that the code gives them, and schemas that are there."""

import re
from pathlib import Path

from windtunnel.exchange.imported_run import SOURCE
from windtunnel.index.notes import NAME as NOTES
from windtunnel.index.notes import Notes
from windtunnel.results.page.files import REPORT
from windtunnel.runs import counters, trace
from windtunnel.runs.record import EngineRecord, Record

CHECKOUT = Path(__file__).resolve().parents[3]
PAGE = (CHECKOUT / "docs/reference/run-directory.md").read_text()


def column(heading: str) -> list[str]:
    """The names between backticks in the first column of the table below a heading."""
    table = PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    rows = [line.split(" | ")[0] for line in table.splitlines() if line.startswith("| `") or " `" in line[:40]]
    return [name for row in rows if row.startswith("|") for name in re.findall(r"`([^`]+)`", row)]


def test_every_key_of_the_record_has_its_row():
    assert sorted(column("`run.json`")) == sorted(Record.model_fields)


def test_every_part_of_an_engine_is_named():
    (row,) = (line for line in PAGE.splitlines() if line.startswith("| `engines` |"))
    named = set(re.findall(r"`([^`]+)`", row)) - {"engines"}
    assert named == set(EngineRecord.model_fields) - {"name"}


def test_files_have_the_names_of_the_code():
    always, sometimes = column("Files of every run"), column("Files that some runs have")
    assert always == ["run.json", "windows.jsonl", "latency.hlog", "engine.log", REPORT]
    assert {counters.FILE, trace.FILE, trace.RAW, NOTES, SOURCE} <= set(sometimes)
    (row,) = (line for line in PAGE.splitlines() if line.startswith(f"| `{NOTES}` |"))
    assert set(re.findall(r"`([a-z]+)`", row)) >= set(Notes.model_fields)


def test_schemas_are_there():
    named = set(re.findall(r"`(schemas/[\w*.-]+)`", PAGE))
    assert len(named) >= 6
    assert [name for name in named if not list(CHECKOUT.glob(name))] == []
