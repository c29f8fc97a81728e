"""Counters of the host and the NIC that other tools recorded during the run: evidence for causes that no window shows."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from windtunnel.exchange.recorded import Reading, Recorded, is_recorded, read_recorded
from windtunnel.exchange.source import read_counters
from windtunnel.parts.pcie.measured import Measured, is_measured, read_measured


@dataclass(frozen=True)
class Evidence:
    """All texts that were given."""

    texts: tuple[Recorded, ...] = ()
    measured: tuple[Measured, ...] = ()
    """Bytes that crossed PCIe links."""

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
    """Raises UserError, with file and line, for a text of no known tool."""
    texts, measured = [], []
    for file in files:
        lines = read_counters(file).text.split("\n")
        if is_measured(lines):
            measured.append(read_measured(file))
        if is_recorded(lines) or not is_measured(lines):  # pcm-pcie -e -B is both
            texts.append(read_recorded(file))
    return Evidence(tuple(texts), tuple(measured))
