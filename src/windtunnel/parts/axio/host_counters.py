"""Axio's monitoring, as a tool that reads a host's counters. A command imports this module for its help, so each function imports what it
needs."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from windtunnel.exchange.recorded.readings import Reading
    from windtunnel.exchange.source import Fault

TOOL = "Axio's report.rpt"


def is_one(lines: Sequence[str]) -> bool:
    """Whether the text is such a report."""
    from windtunnel.parts.axio import report

    return report.is_one(lines)


def readings(lines: Sequence[str]) -> "tuple[list[Reading], list[Fault]]":
    """A reading for each name, and the faults."""
    from windtunnel.parts.axio import report

    return report.readings(lines)
