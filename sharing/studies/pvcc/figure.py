"""A figure: its question, the claims that it tests, its trials, and how they are judged and drawn."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

from pvcc.claims import Verdict
from pvcc.points import ALL, Points
from pvcc.site import Site
from pvcc.trials import Arm, Row
from windtunnel.api.errors import UserError
from windtunnel.api.host import Interrupts
from windtunnel_sharing.changed_threads import Journal

FIGURES = {
    "fig2": "pvcc.fig2",
    "fig6": "pvcc.fig6",
    "fig10": "pvcc.fig10",
    "fig11": "pvcc.fig11",
}


@dataclass(frozen=True)
class Place:
    """Where one trial runs, and where it may write."""

    site: Site
    directory: Path
    """Of this trial: new, and removed after it."""
    seed: int
    interrupts: Interrupts
    journal: Journal | None
    """Of the threads that share cores; None where a figure changes none."""

    @property
    def sharing_journal(self) -> Journal:
        """Raises ValueError for a figure that changes no threads."""
        if self.journal is None:
            raise ValueError("this figure changes no threads, and has no journal")
        return self.journal


@dataclass(frozen=True)
class Picture:
    """A plot with its texts."""

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
    """Differences from the paper, and what this number of cores cannot show."""
    row: ClassVar[type[Row]]
    blocks: ClassVar[tuple[int, int]] = (5, 9)
    """Quick, full."""
    shares: ClassVar[bool] = True
    """Whether it changes where and how threads run."""
    options: ClassVar[tuple[str, ...]] = ()
    """Of `points.OPTIONS`: by which its points can be chosen."""

    def __init__(self, quick: bool, slicer: str, points: Points = ALL):
        self.quick, self.slicer, self.points = quick, slicer, points

    @abstractmethod
    def arms(self) -> list[Arm]:
        """The arms of a block. Raises UserError where this host lacks a requirement."""

    @abstractmethod
    def run(self, arm: Arm, place: Place) -> dict[str, Any]:
        """One trial: the fields of its row without block, position and arm. Raises UserError where it cannot run."""

    @abstractmethod
    def verdicts(self, rows: Sequence[Any]) -> list[Verdict]: ...

    @abstractmethod
    def pictures(self, rows: Sequence[Any]) -> list[Picture]: ...

    @abstractmethod
    def columns(self) -> list[tuple[str, str, str]]:
        """Of the page's table: field, heading, filter of `runs.format`. Factors first."""

    def notes(self, rows: Sequence[Any]) -> list[str]:
        """What stands beside the verdicts."""
        return []

    def setting(self) -> dict[str, str]:
        """The setting that is shown with the results: versions of servers, the slicer."""
        return {}

    def slicer_words(self, slice_ns: int | None = None) -> dict[str, str]:
        """The slicer, for `setting`."""
        from pvcc.shared_core import shield_words

        return {
            "slicer": f"{self.slicer}, {slice_ns // 1000} us" if slice_ns else self.slicer,
            "shield": shield_words(),
        }


def figure_named(name: str) -> type[Figure]:
    """Raises UserError for an unknown name."""
    if name not in FIGURES:
        raise UserError(f'no figure "{name}"', remedy=f"one of {', '.join(FIGURES)}")
    figure: type[Figure] = import_module(FIGURES[name]).FIGURE
    return figure
