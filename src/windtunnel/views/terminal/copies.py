"""What copies cost on this host: a table a copier, and sentences."""

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from windtunnel import format as fmt
from windtunnel.copies.costs import Measured
from windtunnel.views.terminal.columns import Column, Fitting

PLACES = ((False, "out of the caches"), (True, "in the caches"))


def copies_view(found: Sequence[Measured]) -> Group:
    """What `windtunnel host copies` prints."""
    parts: list[RenderableType] = []
    for each in found:
        parts += [_head(each), _table(each), *map(Text, sentences(each)), Text()]
    note = "cycles are TSC cycles of the worker; a copier's own thread or engine is not in them"
    return Group(*parts, Text(note, style="dim"))


def sentences(measured: Measured) -> list[str]:
    """From which size on it pays, and whether the measurement holds."""
    name = measured.copier.engine
    said = []
    for hot, place in PLACES:
        size = measured.break_even(hot)
        least = f"from {fmt.size(size)} on" if size is not None else "at no size"
        said.append(f"bytes {place}: {name} takes fewer cycles of the worker than the CPU {least}")
    if measured.moved:
        before, after = measured.copier.trip_ns, measured.trip_ns_after
        said.append(
            f"the way to its thread took {fmt.number(before, 0)} ns before and {fmt.number(after, 0)} ns after: the host moved a CPU "
            "meanwhile, measure again"
        )
    return said


def _head(measured: Measured) -> Text:
    copier = measured.copier
    where: str = "the worker itself" if copier.cpu is None and copier.kind == "core" else copier.kind
    if copier.cpu is not None:
        where = f"software, a thread on CPU {copier.cpu}, {fmt.number(copier.trip_ns, 0)} ns there and back"
    return Text.assemble((copier.engine, "bold cyan"), f"  {copier.device} ({where}), depth {measured.depth}")


def _table(measured: Measured) -> Fitting:
    costs = measured.costs
    sizes = [fmt.size(each.bytes) if not each.hot else "" for each in costs]
    return Fitting(
        [
            Column("size", sizes),
            Column("bytes", ["hot" if each.hot else "cold" for each in costs], words=True),
            Column("CPU, cycles", [fmt.number(each.cpu_cycles, 0) for each in costs]),
            Column("copier, cycles", [fmt.number(each.caller_cycles, 0) for each in costs]),
            Column("freed", [_freed(each.cpu_cycles, each.caller_cycles) for each in costs]),
            Column("CPU Gbit/s", [fmt.number(measured.gbps(each.bytes, each.cpu_cycles)) for each in costs], spare=1),
            Column(
                "copier Gbit/s", [fmt.number(measured.gbps(each.bytes, each.copier_cycles)) for each in costs], spare=1
            ),
        ]
    )


def _freed(cpu_cycles: float, caller_cycles: float) -> str:
    """Share of the CPU's cycles that the worker keeps; a dash where it keeps none."""
    return fmt.percent(1 - caller_cycles / cpu_cycles, 0) if caller_cycles < cpu_cycles else fmt.DASH
