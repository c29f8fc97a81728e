"""windtunnel import: files of other tools become scenarios or runs."""

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from windtunnel.runs import Run

Out = Annotated[
    Path | None,
    typer.Option(
        "--out",
        metavar="PATH",
        help="New scenario file (default: stdout) or new run directory (default: runs/<UTC time>-<file>).",
    ),
]
File = Annotated[Path, typer.Argument(metavar="FILE", help="File that the tool wrote.", show_default=False)]


def testpmd(file: File, out: Out = None) -> None:
    """Import forward statistics of testpmd as a run.

    Reads the output of "show fwd stats all" and "stop": ports, drops, and, if testpmd ran with --record-burst-stats and
    --record-core-cycles, bursts and cycles per packet.

    windtunnel import testpmd testpmd.txt
    """
    from windtunnel.exchange.imported_run import keep
    from windtunnel.exchange.source import read
    from windtunnel.exchange.testpmd import parse

    foreign = read(file)
    parsed, faults = parse(foreign.text)
    if parsed is None:
        raise foreign.error(faults)
    notes = ["testpmd prints no rates in these statistics, and bursts only as rounded percentages"]
    if parsed.reports > 1:
        notes.append(f"the last of {parsed.reports} reports in the text: testpmd's counters add up")
    run = keep(
        directory_of(file, out),
        foreign,
        tool="testpmd",
        title=f"testpmd {parsed.mode}" if parsed.mode else "testpmd",
        stages=parsed.stages,
        ports=parsed.ports,
        values=parsed.values,
        notes=notes,
    )
    show_imported(run)


def run_(
    directory: Annotated[
        Path, typer.Argument(metavar="DIR", help="Directory that `windtunnel export` wrote.", show_default=False)
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="New run directory.", show_default="runs/<UTC time>-<DIR>"),
    ] = None,
) -> None:
    """Restore a run directory from an export.

    windtunnel import run tables --out runs/again
    """
    from windtunnel.exchange.tables import restore

    show_imported(restore(directory, directory_of(directory, out)))


def directory_of(file: Path, out: Path | None) -> Path:
    """The directory of the run that a file becomes."""
    from windtunnel.runs.latest import RUNS

    return out or RUNS / f"{datetime.now(UTC):%Y-%m-%dT%H-%M-%SZ}-{file.stem}"


def show_imported(run: "Run") -> None:
    """Shows the run that a file has become."""
    from windtunnel.results.run.outcome import print_tables

    print_tables(run, page=None, trace=None)
