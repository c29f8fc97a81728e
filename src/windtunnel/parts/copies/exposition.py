"""What OpenMetrics have of copies."""

from collections.abc import Iterator

from pydantic import BaseModel

from windtunnel.engine.counted import counters_of
from windtunnel.engine.plan import Plan
from windtunnel.engine.windows import Window
from windtunnel.parts.copies.rows import NOUN
from windtunnel.parts.copies.window import CopyWindow, copies_in

BY_CPU = "copies_by_cpu"
LABELS = {NOUN: ("workload", "application")}
COUNTED = {NOUN: tuple(counters_of(CopyWindow))}
SUMS = {BY_CPU: ("Copies that the CPU made in a copier's place", (*LABELS[NOUN], "reason"))}
"""Sums with what they count and their labels."""


def counted(plan: Plan, window: Window) -> Iterator[tuple[str, tuple[str, ...], BaseModel]]:
    """The lines of a window that have counters, with their noun and the values of its labels."""
    for copies in copies_in(window):
        yield NOUN, (plan.workloads[copies.workload].name, str(copies.application)), copies


def added(plan: Plan, window: Window) -> Iterator[tuple[str, tuple[str, ...], int]]:
    """What a window adds to the sums, with the values of the labels."""
    for copies in copies_in(window):
        for reason, count in copies.by_cpu.items():
            yield BY_CPU, (plan.workloads[copies.workload].name, str(copies.application), reason), count
