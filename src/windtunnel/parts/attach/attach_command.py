"""windtunnel attach: observe a DPDK application of somebody else while it runs."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from windtunnel.cli.shared_options import Format, Json

if TYPE_CHECKING:
    from windtunnel.parts.attach.session import Request


def attach(
    target: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[TARGET | COMMAND...]",
            help="PID, file prefix or program of a DPDK application that runs; or, behind --, a command to start.",
            show_default="list them",
        ),
    ] = None,
    list_: Annotated[bool, typer.Option("--list", help="List the DPDK applications of this host.")] = False,
    for_: Annotated[str, typer.Option("--for", metavar="DURATION", help="How long it is observed.")] = "10s",
    window: Annotated[str, typer.Option("--window", metavar="DURATION", help="Length of a window.")] = "500ms",
    present: Annotated[
        float,
        typer.Option("--present", min=0.01, max=1, help="Share of the time in which the probe is in the data path."),
    ] = 0.05,
    causal: Annotated[
        bool, typer.Option("--causal", help="Delay each thread in turn: which of them limits? Slows the application.")
    ] = False,
    headroom: Annotated[
        bool,
        typer.Option("--headroom", help="Fill the idle time of each thread with delays: how much more could it carry?"),
    ] = False,
    anyway: Annotated[
        bool, typer.Option("--anyway", help="With --causal: also if a thread is saturated, so that packets are lost.")
    ] = False,
    telemetry: Annotated[
        bool,
        typer.Option(
            "--telemetry", help="Load nothing: ask the application's own telemetry alone, which has its ports."
        ),
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="New run directory.", show_default="runs/<UTC time>-<program>"),
    ] = None,
    json: Json = False,
    format_: Format = "text",
) -> None:
    """Observe a DPDK application while it runs.

    Loads a probe into the process and takes its place before the burst functions of all ports, for a small share of the time.
    The application needs no change and no restart. Shows for each thread of the data path its rate and bursts, what a packet
    costs in the drivers and in the application, how much more the thread can carry, and what the probe itself cost. No byte of
    a packet leaves the process. If this command is killed, the application is as it was within a second.

    A command behind -- is started with the probe in it, and ended with SIGTERM after --for. Give its path if it has no
    arguments.

    Exit codes: 0 observed, 1 too few windows are left or the application has ended, 2 bad input, 130 interrupted.

    windtunnel attach --list
    windtunnel attach testpmd
    windtunnel attach 4711 --for 30s --out runs/before
    windtunnel attach 4711 --headroom
    windtunnel attach 4711 --causal --anyway
    windtunnel attach 4711 --telemetry
    windtunnel attach --for 5s -- dpdk-testpmd -l 0,1 --no-huge --no-pci --vdev net_null0 -- --forward-mode=macswap
    """
    from windtunnel.engine.verdict import INTERRUPTED, INVALID, VALID
    from windtunnel.parts.attach.list_document import json_text, list_document
    from windtunnel.parts.attach.live_table import live_table
    from windtunnel.parts.attach.processes import applications
    from windtunnel.parts.attach.session import observe
    from windtunnel.results.run.outcome import print_json, print_tables, write_report
    from windtunnel.results.show import show
    from windtunnel.results.terminal.console import progress

    request = _request(for_, window, present, causal, headroom, anyway, telemetry)
    if list_ or not target:
        here = list(applications())
        print(json_text(here)) if json else show(list_document(here))
        return
    with live_table(progress(), request.seconds) as listener:
        observed = observe(target, request, out, listener)
    report = write_report(observed.run, observed.held)
    print_json(observed.run) if json else print_tables(observed.run, report, None)
    if observed.interrupted:
        raise typer.Exit(INTERRUPTED)
    raise typer.Exit(VALID if observed.run.record.verdict.valid else INVALID)


def _request(
    duration: str, window: str, present: float, causal: bool, headroom: bool, anyway: bool, telemetry: bool
) -> "Request":
    """Raises UserError for what cannot be."""
    from windtunnel.errors import UserError
    from windtunnel.parts.attach.observer import Presence
    from windtunnel.parts.attach.session import Request
    from windtunnel.scenario.quantities import option

    seconds = option("--for", "duration", duration, "100ms", "24h") / 1e9
    window_s = option("--window", "duration", window, "100ms", "60s") / 1e9
    if window_s > seconds:
        raise UserError(f"--window {window}: longer than --for {duration}", remedy="as in --for 10s --window 500ms")
    if anyway and not causal:
        raise UserError("--anyway: it is of --causal", remedy="add --causal, or leave it out")
    if telemetry and (causal or headroom):
        raise UserError(
            "--telemetry loads nothing, so nothing can be delayed", remedy="leave out --causal and --headroom"
        )
    presence = Presence(on_us=round(Presence.period_us * present))
    return Request(seconds, window_s, presence, causal, headroom, anyway, telemetry)
