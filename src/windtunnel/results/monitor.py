"""What the monitor has kept, and what this host does not have, as blocks of a document."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from windtunnel import format as fmt
from windtunnel.errors import UserError
from windtunnel.exchange.recorded import Reading, is_recorded, read_recorded
from windtunnel.exchange.source import read_counters
from windtunnel.measure.monitor.tools import METRICS
from windtunnel.results.document import Block, Document, Section, Sentence, Table, columns_of, groups_of
from windtunnel.runs.monitor import Absent, Kept, read_monitor

_MOST_VALUES = 4
"""Of a text that are shown beside it: some drivers count thousands."""


def monitor_document(directory: Path) -> Document:
    """Of a directory in which nothing else was measured."""
    return Document(
        kind="monitor",
        title="What this host counted",
        blocks=list(monitor_sections(directory)),
        files=[("texts", str(directory))],
    )


def monitor_sections(directory: Path) -> Iterator[Section]:
    """The texts with their first values, and what is absent with its reason; nothing if nothing was monitored."""
    lines = list(read_monitor(directory))
    kept = [line for line in lines if isinstance(line, Kept)]
    absent = [line for line in lines if isinstance(line, Absent)]
    blocks: list[Block] = [_texts(directory, kept)] if kept else []
    blocks += [Sentence(f"{line.metric}, {line.tool}: {line.reason}", tone="quiet") for line in absent]
    if blocks:
        yield Section(
            "Counted by the tools of this host",
            blocks,
            about="Each text is whole in the directory; its first values are shown. What this host does not have is named, with what would bring it. "
            + " ".join(
                f"{name}: {what}." for name, what in METRICS.items() if any(line.metric == name for line in kept)
            ),
        )


def _texts(directory: Path, kept: list[Kept]) -> Table:
    column = columns_of(kept)
    return Table(
        [
            column("metric", lambda line: line.metric, words=True),
            column("by", lambda line: line.tool, words=True),
            column("seconds", lambda line: fmt.number(line.seconds, 1)),
            column("file", lambda line: line.file, words=True),
            column("counted", lambda line: _values(directory, line), words=True),
        ],
        groups_of([line.metric for line in kept]),
    )


def _values(directory: Path, line: Kept) -> str:
    """The first values of a text, or why it has none."""
    if line.exit_code:
        return f"{line.tool} ended with {line.exit_code}: {line.error}"
    file = directory / line.file
    try:
        if not is_recorded(read_counters(file, follow=False).text.split("\n")):
            return "kept as it is"
        readings = read_recorded(file, follow=False).readings
    except UserError as error:
        return error.message.removeprefix(f"{file}: ")
    counted = [reading for reading in readings if reading.value is not None]
    if not counted:
        return "; ".join(dict.fromkeys(f"{reading.name}: {reading.words}" for reading in readings))
    values = ", ".join(_value(reading) for reading in islice(counted, _MOST_VALUES))
    more = len(counted) - _MOST_VALUES
    return f"{values}, and {more} more" if more > 0 else values


def _value(reading: Reading) -> str:
    return " ".join(filter(None, (reading.name, fmt.number(reading.value, 2), reading.unit)))
