"""Counters of the host and the NIC that other tools recorded during the run: evidence for causes that no window shows.

A run brings what `--counters` has counted for its workers, and the texts of `--monitor`; other texts are given with --recorded.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from windtunnel.errors import UserError
from windtunnel.exchange.recorded import Reading, Recorded, is_recorded, read_recorded
from windtunnel.exchange.source import read_counters
from windtunnel.parts.pcie.measured import Measured, is_measured, measured_with_run, read_measured
from windtunnel.runs import Run
from windtunnel.runs.counters import FILE, EventRow, event_rows
from windtunnel.runs.monitor import monitored_texts

BY_WORKERS = "run --counters"
"""The tool of what was counted for the workers' threads."""


@dataclass(frozen=True)
class Evidence:
    """All texts that were given."""

    texts: tuple[Recorded, ...] = ()
    measured: tuple[Measured, ...] = ()
    """Bytes that crossed PCIe links."""
    not_read: tuple[str, ...] = ()
    """Texts of the run's own monitor that have no counts, each with the reason."""

    def with_run(self, run: Run) -> "Evidence":
        """Behind it what the run itself has. Raises UserError for a damaged file of it."""
        texts, measured = list(self.texts), list(self.measured)
        not_read = list(self.not_read)
        if rows := event_rows(run):
            texts.append(Recorded(run.path / FILE, BY_WORKERS, tuple(_readings(rows))))
        for file in monitored_texts(run.path):
            try:
                _take(file, texts, measured, follow=False)
            except UserError as error:
                not_read.append(error.message.removeprefix(f"{run.path}/"))
        if (saved := measured_with_run(run.path)) is not None and saved not in measured:
            measured.append(saved)
        return Evidence(tuple(texts), tuple(measured), tuple(not_read))

    def value(self, tool: str, name: str) -> float | None:
        """The value of a tool, from its first text that has it."""
        values = (text.value(name) for text in self.texts if text.tool == tool)
        return next((value for value in values if value is not None), None)

    def rate(self, part: Sequence[str], whole: Sequence[str]) -> tuple[float, str] | None:
        """Part of a whole, each a sum of values by name, from the first text that has both; and the tool that printed it. If a tool has counts by
        interval, CPU, thread or group, those count for which all values are there. None: no text has both."""
        for text in self.texts:
            part_readings, whole_readings = text.counted(part), text.counted(whole)
            if not part_readings or not whole_readings:
                continue
            common = set.intersection(*(set(reading.counts) for reading in (*part_readings, *whole_readings)))
            has_counts = any(reading.counts for reading in (*part_readings, *whole_readings))
            of_part, of_whole = (
                sum(
                    sum(reading.counts[place] for place in common) if has_counts else reading.value or 0.0
                    for reading in readings
                )
                for readings in (part_readings, whole_readings)
            )
            if of_whole:
                return of_part / of_whole, text.tool
        return None

    def not_counted(self, endings: Sequence[str]) -> list[str]:
        """Notes about values that no text has, by the ends of their names."""
        readings = self._ending(endings)
        counted = {reading.name for reading in readings if reading.value is not None}
        return [f"{reading.name}: {reading.words}" for reading in readings if reading.name not in counted]

    def caveats(self, endings: Sequence[str]) -> list[str]:
        """Notes about values that were not always counted, or not of all, by the ends of their names."""
        readings = self._ending(endings)
        return [
            f"{reading.name}: {reading.words}" for reading in readings if reading.words and reading.value is not None
        ]

    def _ending(self, endings: Sequence[str]) -> list[Reading]:
        return [reading for text in self.texts for reading in text.readings if reading.name.endswith(tuple(endings))]

    def named(self, ending: str) -> tuple[float, str] | None:
        """The value whose name ends with `ending`, the greatest of several; and the tool that printed it."""
        values = [
            (reading.value, text.tool)
            for text in self.texts
            for reading in text.readings
            if reading.name.endswith(ending) and reading.value is not None
        ]
        return max(values, default=None)


NONE = Evidence()


def read_evidence(files: Iterable[Path]) -> Evidence:
    """Of texts, and of directories of `windtunnel monitor`. Raises UserError, with file and line, for a text of no known tool."""
    texts: list[Recorded] = []
    measured: list[Measured] = []
    not_read = []
    for file in files:
        if not file.is_dir():
            _take(file, texts, measured)
            continue
        kept = monitored_texts(file)
        if not kept:
            raise UserError(
                f"{file}: no directory of the monitor", remedy="a text, or what `windtunnel monitor --out DIR` made"
            )
        for text in kept:
            try:
                _take(text, texts, measured, follow=False)
            except UserError as error:
                not_read.append(error.message)
    return Evidence(tuple(texts), tuple(measured), tuple(not_read))


def _take(file: Path, texts: list[Recorded], measured: list[Measured], follow: bool = True) -> None:
    """Adds what a text has to one of both, or to both: that of pcm-pcie -e -B, and that of pcm-iio."""
    lines = read_counters(file, follow=follow).text.split("\n")
    if is_measured(lines):
        measured.append(read_measured(file, follow))
    if is_recorded(lines) or not is_measured(lines):
        texts.append(read_recorded(file, follow))


def _readings(rows: Sequence[EventRow]) -> Iterable[Reading]:
    """A reading for each event, with its counts by worker; of an event that some worker could not count, the reason."""
    for event in dict.fromkeys(row.event for row in rows):
        of_event = [row for row in rows if row.event == event]
        counts = {f"{row.engine} {row.worker}": row.value for row in of_event if row.value is not None}
        reasons = "; ".join(dict.fromkeys(row.words for row in of_event if row.words))
        value = sum(counts.values()) if len(counts) == len(of_event) else None
        yield Reading(event, value, of_event[0].unit, 1, reasons, counts)
