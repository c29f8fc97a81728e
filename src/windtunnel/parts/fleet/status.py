"""The testbeds of a command, as a page shows them."""

from dataclasses import dataclass
from typing import Any, Literal

from pydantic import TypeAdapter

from windtunnel import format as fmt
from windtunnel.parts.fleet.utilisation import STATUS
from windtunnel.results.document import Column, Marked, Table
from windtunnel.results.status import Status

NAME = STATUS


@dataclass(frozen=True)
class Testbed:
    """A testbed, as a row of `utilisation` has it."""

    name: str
    state: Literal["running", "free", "lost"]
    about: str
    runs: int
    utilisation: float

    @property
    def state_text(self) -> Marked:
        text = f"{self.state}: {self.about}" if self.about else self.state
        return Marked(text, "loss" if self.state == "lost" else "plain")


@dataclass(frozen=True)
class Testbeds:
    """The testbeds on which a command runs, and how many runs wait for one."""

    waiting: int
    testbeds: list[Testbed]


_TESTBEDS = TypeAdapter(Testbeds)


def parsed(about: Any) -> Status:
    """The status from what a command announces. Raises ValueError if it is none."""
    status = _TESTBEDS.validate_python(about)
    rows = status.testbeds
    columns = [
        Column("testbed", [testbed.name for testbed in rows], words=True),
        Column("state", [testbed.state_text for testbed in rows], words=True),
        Column("runs ended", [Marked(fmt.count(testbed.runs)) for testbed in rows]),
        Column("utilisation", [Marked(fmt.percent(testbed.utilisation, 0)) for testbed in rows]),
    ]
    return Status(
        "Testbeds",
        f"Testbeds; {fmt.count(status.waiting)} waiting for one",
        Table(columns),
        "Its runs are on these testbeds.",
    )
