"""windtunnel import: what other tools wrote becomes a scenario, or a run."""

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

if TYPE_CHECKING:
    from windtunnel.imports.source import Foreign
    from windtunnel.runs import Run

Out = Annotated[
    Path | None,
    typer.Option("--out", metavar="PATH", help="New scenario file (without it stdout), or new run directory."),
]
File = Annotated[Path, typer.Argument(metavar="FILE", help="What the tool wrote.", show_default=False)]
Side = Annotated[
    Literal["client", "server"] | None, typer.Option("--side", help="Whose file it is, where it does not say.")
]


def axio(file: File, out: Out = None, side: Side = None) -> None:
    """Turn a configuration of Axio (colon form or TOML) into a scenario, or a log of Axio into a run.

    What cannot be carried over is refused by name; what is left out, and why, stands at the head of the scenario and on stderr.

    windtunnel import axio config/recv_config --out axio.toml
    windtunnel import axio tmp/temp.log --side server
    """
    from windtunnel.imports.axio_table import is_log
    from windtunnel.imports.source import read

    foreign = read(file)
    if is_log(foreign.text):
        _axio_log(foreign, out, side)
    else:
        _axio_config(foreign, out, side)


def testpmd(file: File, out: Out = None) -> None:
    """Turn testpmd's forward statistics into a run: ports, drops, bursts and cycles a packet.

    Takes what `show fwd stats all` and `stop` print, with --record-burst-stats and --record-core-cycles or without.

    windtunnel import testpmd testpmd.txt
    """
    from windtunnel.imports.rundir import keep
    from windtunnel.imports.source import read
    from windtunnel.imports.testpmd import parse

    foreign = read(file)
    parsed, faults = parse(foreign.text)
    if parsed is None:
        raise foreign.error(faults)
    notes = ["testpmd prints no rates with these statistics, and bursts as rounded percentages"]
    if parsed.reports > 1:
        notes.append(f"the last of {parsed.reports} reports in the text: testpmd's counters add up")
    run = keep(
        _directory(file, out),
        foreign,
        tool="testpmd",
        title=f"testpmd {parsed.mode}" if parsed.mode else "testpmd",
        stages=parsed.stages,
        ports=parsed.ports,
        figures=parsed.figures,
        notes=notes,
    )
    _show(run)


def run_(
    directory: Annotated[
        Path, typer.Argument(metavar="DIR", help="What `windtunnel export` left.", show_default=False)
    ],
    out: Annotated[Path | None, typer.Option("--out", metavar="DIR", help="New run directory.")] = None,
) -> None:
    """Make a run directory again from what `windtunnel export` wrote.

    windtunnel import run tables --out runs/again
    """
    from windtunnel.exports import restore

    _show(restore(directory, _directory(directory, out)))


def _axio_log(foreign: "Foreign", out: Path | None, side: str | None) -> None:
    from windtunnel.imports import axio_log
    from windtunnel.imports.axio_table import tables_of
    from windtunnel.imports.rundir import keep

    tables, faults = tables_of(foreign.text)
    faults += axio_log.check(tables)
    if faults:
        raise foreign.error(faults)
    sides = axio_log.sides_of(foreign, tables, side)
    run = keep(
        _directory(foreign.file, out),
        foreign,
        tool="axio",
        title=f"Axio {foreign.file.stem}",
        stages=[row for of, its in sorted(sides.items()) for row in axio_log.stage_rows(of, its)],
        ports=[],
        figures=[figure for of, its in sorted(sides.items()) for figure in axio_log.figures(of, its)],
        notes=axio_log.NOTES,
    )
    _show(run)


def _axio_config(foreign: "Foreign", out: Path | None, side: str | None) -> None:
    from windtunnel.cli.errors import show_warning
    from windtunnel.errors import UserError
    from windtunnel.imports.axio_config import read_config
    from windtunnel.imports.axio_scenario import scenario_text
    from windtunnel.imports.rundir import write_new

    config = read_config(foreign)
    if config is None:
        what = f"{foreign.file}: neither a configuration nor a log of Axio"
        raise UserError(
            what, remedy="lines as in kDispRxBatchSize : 32, TOML with schema_version = 1, or a table of its log"
        )
    text, notes = scenario_text(foreign, config, side)
    if out is None:
        print(text, end="")
    else:
        write_new(out, text)
    for note in notes:
        show_warning(note)


def _directory(file: Path, out: Path | None) -> Path:
    from windtunnel.runs.latest import RUNS

    return out or RUNS / f"{datetime.now(UTC):%Y-%m-%dT%H-%M-%SZ}-{file.stem}"


def _show(run: "Run") -> None:
    from windtunnel.cli.outcome import print_tables

    print_tables(run, page=None, trace=None)
