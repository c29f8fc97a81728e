"""windtunnel run: run a scenario and keep its results."""

from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from windtunnel.cli.on import On
from windtunnel.cli.repeat import RepeatOption, UntilOption
from windtunnel.cli.shared_options import Format, Json, Labels, NoPlugins, Scenario, Sets, State, with_state
from windtunnel.cli.side import SideOption

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from windtunnel.engine.interrupts import Interrupts
    from windtunnel.results.progress.live import LiveDisplay
    from windtunnel.results.progress.plain import PlainDisplay
    from windtunnel.scenario import RunSpec


def run(
    file: Scenario,
    sets: Sets = None,
    state: State = None,
    no_plugins: NoPlugins = False,
    label: Labels = None,
    repeat: RepeatOption = None,
    until: UntilOption = None,
    on: On = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="New run directory.", show_default="runs/<UTC time>-<scenario>"),
    ] = None,
    json: Json = False,
    format_: Format = "text",
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print only the verdict and the run directory.")] = False,
    side: SideOption = None,
    wait: Annotated[
        str | None,
        typer.Option(
            "--wait", metavar="DURATION", help="With --side: how long to wait for the other side.", show_default="60s"
        ),
    ] = None,
    no_report: Annotated[bool, typer.Option("--no-report", help="Write no report.html.")] = False,
    metrics: Annotated[
        str | None,
        typer.Option(
            "--metrics",
            metavar="[ADDRESS]:PORT",
            help="Serve OpenMetrics during the run, on loopback unless ADDRESS is given.",
        ),
    ] = None,
    counters: Annotated[
        str | None,
        typer.Option(
            "--counters",
            metavar="EVENTS",
            help="Count events of the workers' threads, as in cycles,LLC-load-misses,context-switches, into counters.jsonl.",
        ),
    ] = None,
    monitor: Annotated[
        str | None,
        typer.Option(
            "--monitor",
            metavar="METRICS",
            help="Start tools of this host during the run, and keep their texts: all, or some of llc,memory,pcie,iio,cores,pause,cpus.",
        ),
    ] = None,
    trace: Annotated[
        bool, typer.Option("--trace", help="Write sampled worker loops to trace.json for Perfetto.")
    ] = False,
    trace_every: Annotated[
        int | None,
        typer.Option(
            "--trace-every",
            metavar="N",
            min=1,
            max=(1 << 32) - 1,
            help="Trace one loop in N. With a prime number the sample does not follow a pattern of the loop.",
            show_default="997",
        ),
    ] = None,
    trace_limit: Annotated[
        str | None,
        typer.Option(
            "--trace-limit",
            metavar="SIZE",
            help="With --trace: largest size of trace.json.",
            show_default="256MiB",
        ),
    ] = None,
    digest: Annotated[
        str | None, typer.Option("--digest", hidden=True, help="For the page Edit: run a scenario of this text alone.")
    ] = None,
) -> None:
    """Run a scenario.

    Shows the stages while it runs, keeps a run directory and writes a report. Results go to stdout, progress to stderr.
    The first Ctrl-C stops the run, and shows what it measured. The second Ctrl-C kills it. Metrics of an invalid run are shown as
    rejected. --repeat and --until run the scenario several times, and show the median of each state of the host. With --on all
    runs are on one testbed.

    Exit codes: 0 valid, 1 invalid (of repeated runs: all of them), 2 bad input or refused by the engine, 3 the interval of
    --until was not reached, 130 interrupted.

    windtunnel run scenarios/echo.toml
    windtunnel run scenarios/open-loop.toml --set client.rate=2M
    windtunnel run scenarios/echo.toml --set server.batch.app_rx=64
    windtunnel run scenarios/echo.toml --set duration=300ms --out runs/short
    windtunnel run scenarios/echo.toml --json | jq .metrics.workloads
    windtunnel run scenarios/echo.toml --until 2% --state one-l3
    windtunnel run scenarios/echo.toml --repeat 5 --on lab.toml
    windtunnel run scenarios/echo.toml --label commit=8fe5ed78
    windtunnel run scenarios/two-hosts.toml --side server
    windtunnel run scenarios/echo.toml --metrics :9464 --trace
    windtunnel run scenarios/echo.toml --counters cycles,instructions,LLC-load-misses,context-switches
    windtunnel run scenarios/echo.toml --monitor llc,pcie,pause,cpus
    """
    from windtunnel.cli import live_outputs
    from windtunnel.cli.repeat import repeated
    from windtunnel.cli.side import one_side
    from windtunnel.engine.interrupts import Interrupts
    from windtunnel.engine.verdict import INVALID
    from windtunnel.errors import UserError
    from windtunnel.measure.execute import execute, new_directory
    from windtunnel.results.run import outcome
    from windtunnel.runs.labels import labels_of
    from windtunnel.scenario import here, load, resolve

    if json and quiet:
        raise UserError("--json and --quiet exclude each other", remedy="give one of them")
    sets, labels = with_state(sets, state), labels_of(label or ())
    trace = trace or trace_every is not None or trace_limit is not None
    if repeat is not None or until is not None or on is not None:
        alone = {
            "--side": side,
            "--wait": wait,
            "--metrics": metrics,
            "--counters": counters,
            "--monitor": monitor,
            "--trace": trace,
            "--digest": digest,
        }
        raise typer.Exit(repeated(file, sets, labels, out, repeat, until, on, json, quiet, alone))
    directory = out or new_directory(file.stem, side)
    spec = replace(resolve(load(file, sets, digest), here(), one_side(side, wait)), labels=labels)
    if trace:
        spec = live_outputs.traced(
            spec, directory, trace_every or live_outputs.TRACE_EVERY, trace_limit or live_outputs.TRACE_LIMIT
        )
    with (
        live_outputs.serving(spec, metrics) as served,
        live_outputs.counting(counters) as counted,
        live_outputs.monitoring(spec, monitor) as monitored,
        Interrupts() as interrupts,
        display(spec, interrupts, metrics, silent=json or quiet) as live_display,
    ):
        listeners = [listener.line for listener in (live_display, served) if listener]
        writing = [writer.into for writer in (counted, monitored) if writer]
        ended = execute(spec, directory, interrupts, listeners, settle=True, writing=writing)
    if ended.run is None or ended.held is None:
        if ended.unkept:
            outcome.print_unkept(ended.verdict, ended.unkept)
        raise typer.Exit(ended.exit_code or INVALID)
    traced = live_outputs.write_trace(ended.run, ended.held) if trace else None
    page = None if no_report else outcome.write_report(ended.run, ended.held)
    if json:
        outcome.print_json(ended.run)
    elif quiet:
        outcome.print_short(ended.run)
    else:
        outcome.print_tables(ended.run, page, traced)
    raise typer.Exit(ended.exit_code)


def display(
    spec: "RunSpec", interrupts: "Interrupts", metrics: str | None, silent: bool
) -> "AbstractContextManager[LiveDisplay | PlainDisplay | None]":
    """A live table if stderr is a terminal, else lines; nothing with --json and --quiet."""
    from windtunnel.cli import live_outputs
    from windtunnel.results.terminal.console import progress

    if silent:
        return nullcontext()
    console, hints = progress(), live_outputs.hints(spec, metrics)
    if console.is_terminal:
        from windtunnel.results.progress.live import LiveDisplay

        return LiveDisplay(spec, console, interrupts, hints)
    from windtunnel.results.progress.plain import PlainDisplay

    return nullcontext(PlainDisplay(spec, console, hints))
