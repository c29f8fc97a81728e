"""What tools beside the run recorded, of the host's and the NIC's counters: evidence for causes that no window shows."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from windtunnel.exchange.recorded import Recorded, is_recorded, read_recorded
from windtunnel.exchange.source import read_counters
from windtunnel.pcie.measured import Measured, is_measured, read_measured


@dataclass(frozen=True)
class Evidence:
    """All texts that were given."""

    texts: tuple[Recorded, ...] = ()
    measured: tuple[Measured, ...] = ()
    """Bytes that crossed PCIe links."""

    def rate(self, part: Sequence[str], whole: Sequence[str]) -> tuple[float, str] | None:
        """Part of a whole, each a sum of values by name, from the first text that has both; and which tool said so. Of a tool that has counts by
        interval, CPU, thread or group, those count for which all of them are there. None: no text has both."""
        for text in self.texts:
            some, every = text.counted(part), text.counted(whole)
            if not some or not every:
                continue
            common = set.intersection(*(set(each.counts) for each in (*some, *every)))
            apart = any(each.counts for each in (*some, *every))
            of_part, of_whole = (
                sum(sum(each.counts[place] for place in common) if apart else each.value or 0.0 for each in readings)
                for readings in (some, every)
            )
            if of_whole:
                return of_part / of_whole, text.tool
        return None

    def not_counted(self, names: Iterable[str]) -> list[str]:
        """What the tools say of values that they could not count, or not always."""
        wanted = set(names)
        return [
            f"{each.name}: {each.words}"
            for text in self.texts
            for each in text.readings
            if each.name in wanted and each.words
        ]

    def named(self, ending: str) -> tuple[float, str] | None:
        """The value whose name ends so, the greatest of several; and which tool said so."""
        found = [
            (each.value, text.tool)
            for text in self.texts
            for each in text.readings
            if each.name.endswith(ending) and each.value is not None
        ]
        return max(found, default=None)


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
