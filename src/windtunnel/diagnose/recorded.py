"""What tools beside the run recorded, of the host's and the NIC's counters: evidence for causes that no window shows."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from windtunnel.errors import UserError
from windtunnel.exchange.recorded import Recorded, read_recorded
from windtunnel.pcie.measured import Measured, read_measured


@dataclass(frozen=True)
class Evidence:
    """All texts that were given."""

    texts: tuple[Recorded, ...] = ()
    measured: tuple[Measured, ...] = ()
    """Bytes that crossed PCIe links."""

    def rate(self, part: Sequence[str], whole: Sequence[str]) -> tuple[float, str] | None:
        """Part of a whole, each a sum of values by name, from the first text that has both; and which tool said so. None: no text has."""
        for text in self.texts:
            some, every = text.total(part), text.total(whole)
            if some is not None and every:
                return some / every, text.tool
        return None

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
        try:
            measured.append(read_measured(file))
        except UserError:
            texts.append(read_recorded(file))
            continue
        try:  # pcm-pcie -e -B has both
            texts.append(read_recorded(file))
        except UserError:
            continue
    return Evidence(tuple(texts), tuple(measured))
