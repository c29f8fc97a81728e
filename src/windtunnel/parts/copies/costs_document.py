"""What copies cost on this host, as a document: a table for each copier, and from which size on it pays."""

from collections.abc import Sequence

from windtunnel import format as fmt
from windtunnel.parts.copies.costs import Measured
from windtunnel.parts.copies.query import CopyCosts
from windtunnel.results.document import Document, Section, Sentence, Table, columns_of

_PLACES = ((False, "out of the caches"), (True, "in the caches"))


def copies_document(copiers: Sequence[Measured]) -> Document:
    """What `windtunnel host copies` shows."""
    return Document(
        kind="costs of copies",
        title="What copies of payload cost on this host",
        notes=["cycles are TSC cycles of the worker; a copier's own thread or engine is not in them"],
        blocks=[
            Section(_title(copier), [_table(copier), *map(Sentence, sentences(copier))], terminal="titled")
            for copier in copiers
        ],
    )


def sentences(measured: Measured) -> list[str]:
    """From which size on the copier pays, and whether the measurement holds."""
    name = measured.copier.engine
    lines = []
    for hot, place in _PLACES:
        size = measured.break_even(hot)
        least = f"from {fmt.size(size)} on" if size is not None else "at no size"
        lines.append(f"bytes {place}: {name} takes fewer cycles of the worker than the CPU {least}")
    if measured.moved:
        before, after = measured.copier.trip_ns, measured.trip_ns_after
        lines.append(
            f"the way to its thread took {fmt.number(before, 0)} ns before and {fmt.number(after, 0)} ns after: the host moved a CPU "
            "meanwhile, measure again"
        )
    return lines


def _title(measured: Measured) -> str:
    copier = measured.copier
    place: str = "the worker itself" if copier.cpu is None and copier.kind == "core" else copier.kind
    if copier.cpu is not None:
        place = f"software, a thread on CPU {copier.cpu}, {fmt.number(copier.trip_ns, 0)} ns there and back"
    return f"{copier.engine}  {copier.device} ({place}), depth {measured.depth}"


def _table(measured: Measured) -> Table:
    column = columns_of(measured.costs)
    return Table(
        [
            column("size", lambda row: "" if row.hot else fmt.size(row.bytes)),
            column("bytes", lambda row: "hot" if row.hot else "cold", words=True),
            column("CPU, cycles", lambda row: fmt.number(row.cpu_cycles, 0)),
            column("copier, cycles", lambda row: fmt.number(row.caller_cycles, 0)),
            column("freed", _freed),
            column("CPU Gbit/s", lambda row: fmt.number(measured.gbps(row.bytes, row.cpu_cycles)), spare=1),
            column("copier Gbit/s", lambda row: fmt.number(measured.gbps(row.bytes, row.copier_cycles)), spare=1),
        ]
    )


def _freed(row: CopyCosts) -> str:
    """Share of the CPU's cycles that the worker keeps; a dash if it keeps none."""
    if row.caller_cycles >= row.cpu_cycles:
        return fmt.DASH
    return fmt.percent(1 - row.caller_cycles / row.cpu_cycles, 0)
