"""The entry of one directory in the index: a run's record and metrics, or the title and time of others. The content is not trusted."""

import itertools
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from windtunnel.errors import UserError
from windtunnel.index import notes
from windtunnel.index.find import LABEL, LISTED, number_of
from windtunnel.index.untrusted import check_files
from windtunnel.part_registry import part_modules
from windtunnel.text_file import MOST_RECORD_BYTES, parse_json, read_regular

if TYPE_CHECKING:
    from windtunnel.measure.compare.reading import Reading
    from windtunnel.runs import Run

MOST_CHARACTERS = 300
"""Of a text that a list shows, as of a title: a page has hundreds of them, and a record may have one of 4 MiB."""
MOST_LABELS = 50
KINDS = {
    "run.json": "run",
    "study.json": "study",
    "search.json": "search",
    "comparison.json": "comparison",
}
for _part in part_modules("indexed"):
    KINDS |= _part.KINDS


@dataclass(frozen=True)
class Entry:
    """One row. `problem`: why the rest is not known."""

    kind: str
    title: str
    question: str = ""
    host: str = ""
    verdict: str = ""
    started: str = ""
    problem: str | None = None
    responses_per_s: float | None = None
    p50: float | None = None
    """ns."""
    p99: float | None = None
    tags: str = ""
    """Tags, with a space before and after each."""
    note: str = ""
    facts: dict[str, str | float] = field(default_factory=dict)
    """Keys of the scenario, metrics and labels of a run."""
    history_row: "HistoryRow | None" = None


@dataclass(frozen=True)
class HistoryRow:
    """The data of a run for its history."""

    scenario: str
    history: str
    """The key of the history; both keys are those of `windtunnel.measure.history.scenarios`."""
    reading: str
    """The reading as text."""


def read_entry(file: Path) -> Entry:
    """The entry of `file`, which is of one of KINDS, and of the files beside it. A damaged directory raises nothing."""
    kind = KINDS[file.name]
    try:
        return _bounded(_run(file) if kind == "run" else _other(file, kind))
    except UserError as error:
        return Entry(kind, file.parent.name, problem=shortened(error.message))
    except Exception as error:  # noqa: BLE001 - one damaged directory must not hide the others
        return Entry(kind, file.parent.name, problem=f"damaged: {type(error).__name__}")


def shortened(text: str) -> str:
    """The text, or its begin with an ellipsis."""
    return text if len(text) <= MOST_CHARACTERS else f"{text[: MOST_CHARACTERS - 1]}…"


def _bounded(entry: Entry) -> Entry:
    return replace(
        entry,
        title=shortened(entry.title),
        question=shortened(entry.question),
        host=shortened(entry.host),
        verdict=shortened(entry.verdict),
        problem=entry.problem and shortened(entry.problem),
    )


def _bounded_reading(reading: "Reading") -> "Reading":
    """A history is that of its keys, which are not of these texts."""
    labels = itertools.islice(reading.labels.items(), MOST_LABELS)
    return replace(
        reading,
        title=shortened(reading.title),
        question=shortened(reading.question),
        identity={key: shortened(value) for key, value in reading.identity.items()},
        problems=[shortened(problem) for problem in reading.problems[:MOST_LABELS]],
        reasons=[shortened(reason) for reason in reading.reasons[:MOST_LABELS]],
        labels={shortened(key): shortened(value) for key, value in labels},
        modes={shortened(workload): mode for workload, mode in reading.modes.items()},
        not_forwarded={shortened(workload): share for workload, share in reading.not_forwarded.items()},
        values={(shortened(workload), metric): value for (workload, metric), value in reading.values.items()},
        beyond=frozenset((shortened(workload), metric) for workload, metric in reading.beyond),
    )


def _run(file: Path) -> Entry:
    from windtunnel.measure.study.columns import rows_of
    from windtunnel.runs import load
    from windtunnel.runs.identity import flat

    check_files(file.parent)
    run_notes, problems = _notes(file.parent)
    run = load(file.parent)
    record = run.record
    facts: dict[str, Any] = {key: _plain(value) for key, value in flat(record.scenario).items()}
    facts |= {f"{LABEL}{key}": value for key, value in record.labels.items()}
    if run.has_metrics:
        # if there are several workloads, the first one counts
        for row in reversed(rows_of(run, {}, include_invalid=True)):
            facts |= {name: float(value) for name, value in row.items() if isinstance(value, int | float)}
    return Entry(
        "run",
        record.title,
        record.question or "",
        " and ".join(dict.fromkeys(str(host.get("hostname") or "") for host in record.hosts)),
        record.verdict_words,
        record.started.isoformat(sep=" ", timespec="seconds") if record.started else "",
        problem="; ".join([*run.problems, *problems]) or None,
        tags=" ".join(["", *run_notes.tags, ""]) if run_notes.tags else "",
        note=run_notes.note,
        **{name: facts.get(name) for name in LISTED},
        facts=facts,
        history_row=_of_history(run),
    )


def _notes(directory: Path) -> tuple[notes.Notes, list[str]]:
    """The notes of a run, and why they cannot be read: the run itself is shown all the same."""
    try:
        return notes.read(directory), []
    except UserError as error:
        return notes.Notes(), [error.message]


def _of_history(run: "Run") -> HistoryRow | None:
    """The history row of a run; None if a scenario alone does not describe it: it was imported, or changed between its windows."""
    from windtunnel.measure.compare.reading import reading_of
    from windtunnel.measure.history.kept import to_text
    from windtunnel.measure.history.scenarios import history_key, scenario_key

    if run.record.imported or run.record.variants:
        return None
    reading = reading_of(run)
    return HistoryRow(scenario_key(reading.scenario), history_key(reading), to_text(_bounded_reading(reading)))


def _other(file: Path, kind: str) -> Entry:
    document = parse_json(read_regular(file, MOST_RECORD_BYTES), file)
    title = document.get("title") or document.get("question") or file.parent.name
    host = document.get("host")
    return Entry(
        kind,
        str(title),
        str(document.get("question") or ""),
        str(host.get("hostname") or "") if isinstance(host, dict) else "",
        started=str(document.get("started") or "")[:19].replace("T", " "),
    )


def _plain(value: Any) -> Any:
    """Quantities as numbers, so that 20us < 1ms; other values as text."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return float(value)
    number = number_of(value) if isinstance(value, str) else None
    return str(value) if number is None else number
