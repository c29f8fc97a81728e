"""windtunnel run: fly a scenario and keep what it leaves."""

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from windtunnel.cli.side import SideOption

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from windtunnel.cli.live import LiveDisplay
    from windtunnel.cli.plain import PlainDisplay
    from windtunnel.engine.interrupts import Interrupts
    from windtunnel.scenario import Flight


def run(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The scenario.", show_default=False)],
    sets: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Change one key of the scenario; may be given often."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", metavar="DIR", help="Run directory, new; without it runs/<UTC time>-<scenario>[-<side>]."
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Only a JSON object for machines on stdout.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Only the verdict and the run directory.")] = False,
    side: SideOption = None,
    wait: Annotated[
        str | None,
        typer.Option(
            "--wait", metavar="DURATION", help="With --side: longest wait for the other side; without it 60s."
        ),
    ] = None,
    no_report: Annotated[bool, typer.Option("--no-report", help="Write no report.html.")] = False,
    metrics: Annotated[
        str | None,
        typer.Option("--metrics", metavar="[ADDRESS]:PORT", help="Serve OpenMetrics while it flies; on loopback."),
    ] = None,
    trace: Annotated[bool, typer.Option("--trace", help="Write sampled loops to trace.json, for Perfetto.")] = False,
    trace_every: Annotated[
        int | None,
        typer.Option("--trace-every", metavar="N", min=1, max=(1 << 32) - 1, help="Trace 1 loop in N (997); a prime."),
    ] = None,
    trace_limit: Annotated[
        str | None, typer.Option("--trace-limit", metavar="SIZE", help="The most that trace.json may take (256MiB).")
    ] = None,
) -> None:
    """Fly a scenario: watch its stages, keep a run directory, write a report.

    The first Ctrl-C lands the flight: its windows are kept. The second ends it at once.
    Exit codes: 0 valid, 1 invalid, 2 bad input or refused by the engine, 130 interrupted.

    windtunnel run scenarios/echo.toml
    windtunnel run scenarios/echo.toml --set server.batch.app_rx=64
    windtunnel run scenarios/echo.toml --set duration=300ms --out runs/short
    windtunnel run scenarios/echo.toml --json | jq .metrics.workloads
    windtunnel run scenarios/two-hosts.toml --side server
    windtunnel run scenarios/echo.toml --metrics :9464 --trace
    """
    from windtunnel.cli import along, outcome
    from windtunnel.cli.side import alone
    from windtunnel.engine.interrupts import Interrupts
    from windtunnel.engine.verdict import INVALID
    from windtunnel.errors import UserError
    from windtunnel.measure.flight import fly, new_directory
    from windtunnel.scenario import here, load, resolve

    if json and quiet:
        raise UserError("--json and --quiet exclude each other", remedy="give one of them")
    directory = out or new_directory(file.stem, side)
    flight = resolve(load(file, sets or []), here(), alone(side, wait))
    trace = trace or trace_every is not None or trace_limit is not None
    if trace:
        flight = along.traced(flight, directory, trace_every or along.TRACE_EVERY, trace_limit or along.TRACE_LIMIT)
    with (
        along.serving(flight, metrics) as served,
        Interrupts() as interrupts,
        _display(flight, interrupts, metrics, silent=json or quiet) as display,
    ):
        landing = fly(flight, directory, interrupts, [each.line for each in (display, served) if each])
    if landing.run is None:
        outcome.print_unkept(landing.verdict, landing.unkept)
        raise typer.Exit(landing.exit_code or INVALID)
    traced = along.write_trace(landing.run) if trace else None
    page = None if no_report else outcome.write_report(landing.run)
    if json:
        outcome.print_json(landing.run)
    elif quiet:
        outcome.print_short(landing.verdict, landing.run.path)
    else:
        outcome.print_tables(landing.run, page, traced)
    raise typer.Exit(landing.exit_code)


def _display(
    flight: "Flight", interrupts: "Interrupts", metrics: str | None, silent: bool
) -> "AbstractContextManager[LiveDisplay | PlainDisplay | None]":
    """Live on a terminal, lines elsewhere, nothing at all where machines listen."""
    from rich.console import Console

    from windtunnel.cli import along

    if silent:
        return nullcontext()
    console, hints = Console(), along.hints(flight, metrics)
    if console.is_terminal:
        from windtunnel.cli.live import LiveDisplay

        return LiveDisplay(flight, console, interrupts, hints)
    from windtunnel.cli.plain import PlainDisplay

    return nullcontext(PlainDisplay(flight, console, hints))
