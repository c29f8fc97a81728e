"""What `--as axio` does. Every command imports this module for its help, so each function imports what it needs."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from windtunnel.parts.axio.rule import AxioVerdict
    from windtunnel.runs import Run

NAME = "axio"
TOOL = "Axio"
FILES = "Axio's send_config.out and recv_config.out"
"""What `write_scenario` writes."""


def text_of(run: "Run") -> str:
    """The stages of a run as tables of Axio's log. Raises UserError if none was counted."""
    from windtunnel.parts.axio import table
    from windtunnel.parts.axio.log import tables_of_run

    return table.text_of(tables_of_run(run))


def write_scenario(file: Path) -> list[Path]:
    """Writes the scenario of a file for Axio to files beside it. Raises UserError if Axio cannot express it, or if one exists with another
    content."""
    from windtunnel.parts.axio.scenario_files import write_axio

    return write_axio(file)


def verdicts(run: "Run") -> "list[AxioVerdict]":
    """What Axio's rule says of each side. Raises UserError if no stage was timed."""
    from windtunnel.parts.axio import rule

    return rule.verdicts(run)
