"""windtunnel import axio: a configuration becomes a scenario, a log or metrics become a run."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from windtunnel.cli.imports import File, Out, directory_of, show_imported
from windtunnel.printing import print_file

if TYPE_CHECKING:
    from windtunnel.exchange.source import Foreign

Side = Annotated[
    Literal["client", "server"] | None, typer.Option("--side", help="Side of the file, if the file does not say.")
]
Roce = Annotated[
    Literal["rc", "ud"] | None,
    typer.Option("--roce", help="Queue pairs of an Axio that was built for RoCE; the colon form does not say it."),
]

Cpus = Annotated[
    str | None,
    typer.Option(
        "--cpus", metavar="LIST", help="CPUs of the NUMA node, as lscpu lists them: places the workspaces on them."
    ),
]
Space = Annotated[
    Path | None,
    typer.Option(
        "--space",
        metavar="FILE",
        help="Also write the lists of cores and queues as a space file, for `windtunnel tune`.",
    ),
]
Rate = Annotated[
    str | None,
    typer.Option("--rate", metavar="RATE", help="Messages per second, as in 1Mpps, of pipelines that only send."),
]


def axio(
    file: File,
    out: Out = None,
    side: Side = None,
    roce: Roce = None,
    cpus: Cpus = None,
    rate: Rate = None,
    space: Space = None,
) -> None:
    """Import an Axio configuration, log or metrics.

    A configuration (colon form or TOML) becomes a scenario, a log or a file of axio.metrics/v1 becomes a run. Keys that cannot be converted are refused
    by name. Keys that are skipped are listed with the reason at the top of the scenario and on stderr.

    windtunnel import axio config/recv_config --out axio.toml
    windtunnel import axio config/recv_config --out axio.toml --space space.toml
    windtunnel import axio tmp/temp.log --side server
    """
    from windtunnel.errors import UserError
    from windtunnel.exchange.source import read
    from windtunnel.parts.axio.metrics_lines import is_metrics
    from windtunnel.parts.axio.table import is_log

    foreign = read(file)
    given = {"--roce": roce, "--cpus": cpus, "--rate": rate, "--space": space}
    option = next((name for name, value in given.items() if value), None)
    if option and (is_log(foreign.text) or is_metrics(foreign.text)):
        raise UserError(f"{foreign.file}: {option} is for a configuration, and this is none", remedy=f"no {option}")
    if is_log(foreign.text):
        _log(foreign, out, side)
    elif is_metrics(foreign.text):
        _metrics(foreign, out, side)
    else:
        _config(foreign, out, side, roce, cpus, rate, space)


def _log(foreign: "Foreign", out: Path | None, side: str | None) -> None:
    from windtunnel.exchange.imported_run import keep
    from windtunnel.parts.axio import log as axio_log
    from windtunnel.parts.axio.table import tables_of
    from windtunnel.parts.axio.workspace_lines import busy

    tables, faults = tables_of(foreign.text)
    faults += axio_log.check(tables)
    if faults:
        raise foreign.error(faults)
    sides = axio_log.sides_of(foreign, tables, side)
    run = keep(
        directory_of(foreign.file, out),
        foreign,
        tool="axio",
        title=f"Axio {foreign.file.stem}",
        stages=[
            row for log_side, side_tables in sorted(sides.items()) for row in axio_log.stage_rows(log_side, side_tables)
        ],
        ports=[],
        values=[
            *(
                value
                for log_side, side_tables in sorted(sides.items())
                for value in axio_log.values(log_side, side_tables)
            ),
            *(busy(next(iter(sides)), foreign.text) if len(sides) == 1 else ()),
        ],
        notes=axio_log.NOTES,
    )
    show_imported(run)


def _metrics(foreign: "Foreign", out: Path | None, option: str | None) -> None:
    from windtunnel.exchange.imported_run import keep
    from windtunnel.exchange.source import Fault
    from windtunnel.parts.axio import metrics_lines

    windows, faults = metrics_lines.windows_of(foreign.text)
    side, of_side = metrics_lines.side_of(windows, option)
    used = [window for window in windows if window.is_valid]
    if not used and not faults:
        faults = [Fault(0, "Axio calls every window invalid", "a longer measurement")]
    if faults or side is None:
        raise foreign.error(faults or of_side)
    run = keep(
        directory_of(foreign.file, out),
        foreign,
        tool="axio",
        title=f"Axio {foreign.file.stem}",
        stages=metrics_lines.stage_rows(side, used),
        ports=[],
        values=metrics_lines.values(side, used),
        notes=metrics_lines.notes(windows, used),
    )
    show_imported(run)


def _config(
    foreign: "Foreign",
    out: Path | None,
    side: str | None,
    roce: str | None,
    cpus: str | None,
    rate: str | None,
    space: Path | None,
) -> None:
    from windtunnel.errors import UserError
    from windtunnel.exchange.imported_run import write_new
    from windtunnel.host.cpus import cpus_of
    from windtunnel.parts.axio.config import read_config
    from windtunnel.parts.axio.scenario import scenario_text, side_of
    from windtunnel.parts.axio.space import space_text
    from windtunnel.results.terminal.messages import show_warning

    config = read_config(foreign)
    if config is None:
        what = f"{foreign.file}: neither a configuration nor a log of Axio"
        raise UserError(
            what,
            remedy="lines as in kDispRxBatchSize : 32, TOML with schema_version = 1, a table of its log, or its metrics",
        )
    if space is not None and cpus is not None:
        what = "--space and --cpus exclude each other: a tuner changes how many workers there are"
        raise UserError(what, remedy="give one of them")
    text, notes = scenario_text(foreign, config, side, roce, None if cpus is None else cpus_of(cpus), rate)
    of_space = None if space is None else space_text(foreign, config, side_of(config, side) or "")
    if out is None:
        print_file(text)
    else:
        write_new(out, text)
    if space is not None and of_space is not None:
        write_new(space, of_space)
    for note in notes:
        show_warning(note)
