"""A twin beside its application."""

from pathlib import Path

from windtunnel import format as fmt
from windtunnel.parts.attach.twin import Twin
from windtunnel.results.document import Block, Document, Section, Sentence, Table, columns_of
from windtunnel.runs.reader import Run
from windtunnel.runs.summary import summarise


def twin_document(twin: Twin, file: Path, run: Run | None) -> Document:
    """What was written; with a run of the twin its capacity beside the application's."""
    column = columns_of(list(twin.lines.items()))
    table = Table(
        [
            column("thread", lambda t: t[0], words=True),
            column("ns a burst", lambda t: fmt.number(t[1].burst)),
            column("ns a packet", lambda t: fmt.number(t[1].packet)),
            column(f"capacity at bursts of {twin.burst}", lambda t: fmt.rate(1e9 / t[1].at(twin.burst))),
        ]
    )
    blocks: list[Block] = [Section("What the twin takes", [table], about="Of the application, its drivers included.")]
    if run is not None:
        blocks.append(Section("The twin beside the application", [_beside(twin, run)]))
    files = [("scenario", str(file)), *([("run", str(run.path))] if run else [])]
    return Document(kind="twin", title=f"Twin of {twin.program}", blocks=blocks, files=files)


def _beside(twin: Twin, run: Run) -> Sentence:
    run.require_usable()
    rate = sum(port.rx_mpps or 0.0 for port in summarise(run).ports) * 1e6
    capacity = sum(1e9 / line.at(twin.burst) for line in twin.lines.values())
    return Sentence(
        f"The twin carries {fmt.rate(rate)}, and the application {fmt.rate(capacity)} at full bursts: the twin is off by {rate / capacity - 1:+.1%}."
    )
