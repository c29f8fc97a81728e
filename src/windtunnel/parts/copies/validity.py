"""What a run with copies is judged by: the threads of software copiers."""

from collections.abc import Iterator

from windtunnel.engine.windows import Probe, Window
from windtunnel.parts.copies.window import CopierThread, copiers_in, copies_in


def threads(window: Window) -> Iterator[tuple[CopierThread, str]]:
    """Threads that must have their CPU, and what a reason calls them."""
    return ((copies.thread, " (copier)") for copies in copies_in(window) if copies.thread)


def trips(probe: Probe) -> Iterator[tuple[str, int, float]]:
    """The round trip to each thread beside the workers: what the thread is, its CPU, and ns."""
    return (("copier", copier.cpu, copier.trip_ns) for copier in copiers_in(probe))
