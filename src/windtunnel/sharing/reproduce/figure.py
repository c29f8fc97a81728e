"""A figure: its question, the claims that it tests, its trials, and how they are judged and drawn."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

from windtunnel.engine.interrupts import Interrupts
from windtunnel.errors import UserError
from windtunnel.sharing.changed_threads import Journal
from windtunnel.sharing.reproduce.claims import Verdict
from windtunnel.sharing.reproduce.site import Site
from windtunnel.sharing.reproduce.trials import Arm, Row

FIGURES = {
    "fig2": "windtunnel.sharing.reproduce.fig2",
    "fig6": "windtunnel.sharing.reproduce.fig6",
    "fig10": "windtunnel.sharing.reproduce.fig10",
    "fig11": "windtunnel.sharing.reproduce.fig11",
}


@dataclass(frozen=True)
class Place:
    """Where one trial is run and may write."""

    site: Site
    directory: Path
    """Of this trial: new, and removed after it."""
    seed: int
    interrupts: Interrupts
    journal: Journal | None
    """Of the threads that are shared out; null where a figure shares none."""


@dataclass(frozen=True)
class Picture:
    """A plot and what is said of it."""

    place: str
    title: str
    caption: str
    plot: dict[str, Any]


class Figure(ABC):
    """One of the seed's figures. Rows are complete blocks: each holds every arm once."""

    name: ClassVar[str]
    title: ClassVar[str]
    question: ClassVar[str]
    differs: ClassVar[tuple[str, ...]]
    """How it differs from the paper's, and what this many cores cannot show."""
    row: ClassVar[type[Row]]
    blocks: ClassVar[tuple[int, int]] = (5, 9)
    """Quick, full."""
    shares: ClassVar[bool] = True
    """Whether it changes where and how threads run."""

    def __init__(self, quick: bool, slicer: str):
        self.quick, self.slicer = quick, slicer

    @abstractmethod
    def arms(self) -> list[Arm]:
        """What a block is made of. Raises UserError where this host lacks what is needed."""

    @abstractmethod
    def run(self, arm: Arm, place: Place) -> dict[str, Any]:
        """One trial: the fields of its row but block, position and arm. Raises UserError where it cannot be run."""

    @abstractmethod
    def verdicts(self, rows: Sequence[Any]) -> list[Verdict]: ...

    @abstractmethod
    def pictures(self, rows: Sequence[Any]) -> list[Picture]: ...

    @abstractmethod
    def columns(self) -> list[tuple[str, str, str]]:
        """Of the page's table: field, heading, filter of `runs.format`. Factors first."""

    def setting(self) -> dict[str, str]:
        """What is said beside the figures: versions of servers, the slicer."""
        return {}

    def slicer_words(self, slice_ns: int | None = None) -> dict[str, str]:
        """The slicer, for `setting`."""
        from windtunnel.sharing.reproduce.shared_core import shield_words

        return {
            "slicer": f"{self.slicer}, {slice_ns // 1000} us" if slice_ns else self.slicer,
            "shield": shield_words(),
        }


def figure_named(name: str, quick: bool, slicer: str) -> Figure:
    """Raises UserError for a name that is none."""
    if name not in FIGURES:
        raise UserError(f'no figure "{name}"', remedy=f"one of {', '.join(FIGURES)}")
    return import_module(FIGURES[name]).FIGURE(quick, slicer)
