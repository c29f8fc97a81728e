"""windtunnel import: files of other tools become scenarios or runs."""

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from windtunnel.printing import print_file

if TYPE_CHECKING:
    from windtunnel.exchange.source import Foreign
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
Side = Annotated[
    Literal["client", "server"] | None, typer.Option("--side", help="Side of the file, if the file does not say.")
]


def axio(file: File, out: Out = None, side: Side = None) -> None:
    """Import an Axio configuration, log or metrics.

    A configuration (colon form or TOML) becomes a scenario, a log or a file of axio.metrics/v1 becomes a run. Keys that cannot be converted are refused
    by name. Keys that are skipped are listed with the reason at the top of the scenario and on stderr.

    windtunnel import axio config/recv_config --out axio.toml
    windtunnel import axio tmp/temp.log --side server
    """
    from windtunnel.exchange.axio.metrics import is_metrics
    from windtunnel.exchange.axio.table import is_log
    from windtunnel.exchange.source import read

    foreign = read(file)
    if is_log(foreign.text):
        _axio_log(foreign, out, side)
    elif is_metrics(foreign.text):
        _axio_metrics(foreign, out, side)
    else:
        _axio_config(foreign, out, side)


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
        _directory(file, out),
        foreign,
        tool="testpmd",
        title=f"testpmd {parsed.mode}" if parsed.mode else "testpmd",
        stages=parsed.stages,
        ports=parsed.ports,
        values=parsed.values,
        notes=notes,
    )
    _show(run)


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

    _show(restore(directory, _directory(directory, out)))


def _axio_log(foreign: "Foreign", out: Path | None, side: str | None) -> None:
    from windtunnel.exchange.axio import log as axio_log
    from windtunnel.exchange.axio.table import tables_of
    from windtunnel.exchange.imported_run import keep

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
        stages=[
            row for log_side, side_tables in sorted(sides.items()) for row in axio_log.stage_rows(log_side, side_tables)
        ],
        ports=[],
        values=[
            value for log_side, side_tables in sorted(sides.items()) for value in axio_log.values(log_side, side_tables)
        ],
        notes=axio_log.NOTES,
    )
    _show(run)


def _axio_metrics(foreign: "Foreign", out: Path | None, option: str | None) -> None:
    from windtunnel.exchange.axio import metrics
    from windtunnel.exchange.imported_run import keep
    from windtunnel.exchange.source import Fault

    windows, faults = metrics.windows_of(foreign.text)
    side, of_side = metrics.side_of(windows, option)
    used = [window for window in windows if window.is_valid]
    if not used and not faults:
        faults = [Fault(0, "Axio calls every window invalid", "a longer measurement")]
    if faults or side is None:
        raise foreign.error(faults or of_side)
    run = keep(
        _directory(foreign.file, out),
        foreign,
        tool="axio",
        title=f"Axio {foreign.file.stem}",
        stages=metrics.stage_rows(side, used),
        ports=[],
        values=metrics.values(side, used),
        notes=metrics.notes(windows, used),
    )
    _show(run)


def _axio_config(foreign: "Foreign", out: Path | None, side: str | None) -> None:
    from windtunnel.errors import UserError
    from windtunnel.exchange.axio.config import read_config
    from windtunnel.exchange.axio.scenario import scenario_text
    from windtunnel.exchange.imported_run import write_new
    from windtunnel.results.terminal.messages import show_warning

    config = read_config(foreign)
    if config is None:
        what = f"{foreign.file}: neither a configuration nor a log of Axio"
        raise UserError(
            what,
            remedy="lines as in kDispRxBatchSize : 32, TOML with schema_version = 1, a table of its log, or its metrics",
        )
    text, notes = scenario_text(foreign, config, side)
    if out is None:
        print_file(text)
    else:
        write_new(out, text)
    for note in notes:
        show_warning(note)


def _directory(file: Path, out: Path | None) -> Path:
    from windtunnel.runs.latest import RUNS

    return out or RUNS / f"{datetime.now(UTC):%Y-%m-%dT%H-%M-%SZ}-{file.stem}"


def _show(run: "Run") -> None:
    from windtunnel.results.run.outcome import print_tables

    print_tables(run, page=None, trace=None)
