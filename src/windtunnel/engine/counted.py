"""Annotations of the fields of the engine's lines: counter or level, and where it is shown.

The field is the one place in Python that names a counter: sums, `--json`, tables, reports, studies, OpenMetrics, the export and
docs/reference/counters.md follow from it (`windtunnel.runs.registry`).
"""

from collections.abc import Iterator
from dataclasses import dataclass

from pydantic import BaseModel


@dataclass(frozen=True)
class Counted:
    """Annotation of a counter: what a window added. One that is added to a released version is `int | None` with the default
    None: records from before do not have it, and null is not zero."""

    unit: str
    """calls, packets, messages, bytes, loops, cycles (TSC ticks) or ns; of sums of products packets² or packets·cycles."""
    head: str | None = None
    """Head of its column in tables and in the report; None: not in tables."""
    openmetrics: str | None = None
    """Name between `windtunnel_<noun>_` and `_total`, if it is not the field's own."""


@dataclass(frozen=True)
class Level:
    """Annotation of a level: the state at the end of the window."""

    unit: str
    openmetrics: str
    """Name behind `windtunnel_`."""


@dataclass(frozen=True)
class CountedField:
    name: str
    unit: str
    help: str
    head: str | None
    openmetrics: str


@dataclass(frozen=True)
class LevelField:
    name: str
    unit: str
    help: str
    openmetrics: str


def counters_of(model: type[BaseModel]) -> Iterator[CountedField]:
    """The counters of a part of a window, in its order."""
    for name, field in model.model_fields.items():
        for mark in field.metadata:
            if isinstance(mark, Counted):
                exported = mark.openmetrics or name.replace("_cycles", "_seconds").replace("_ns", "_seconds")
                yield CountedField(name, mark.unit, field.description or "", mark.head, exported)


def levels_of(model: type[BaseModel]) -> Iterator[LevelField]:
    """The levels of a part of a window, in its order."""
    for name, field in model.model_fields.items():
        for mark in field.metadata:
            if isinstance(mark, Level):
                yield LevelField(name, mark.unit, field.description or "", mark.openmetrics)
