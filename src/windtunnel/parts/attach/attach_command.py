"""windtunnel attach: observe a DPDK application of somebody else while it runs."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from windtunnel.cli.shared_options import Format, Json

if TYPE_CHECKING:
    from windtunnel.parts.attach.session import Request

PAIRS = 8


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
    against: Annotated[
        str | None,
        typer.Option(
            "--against",
            metavar="COMMAND",
            help="Observe this command and the one behind -- in turn, and compare them: is B, this one, slower than A?",
        ),
    ] = None,
    pairs: Annotated[
        int | None,
        typer.Option(
            "--pairs", metavar="N", min=3, max=999, help="With --against: how often.", show_default=str(PAIRS)
        ),
    ] = None,
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
    arguments. With --against both commands are started in turn, in pairs whose order is drawn, and compared as by
    `windtunnel compare`.

    Exit codes: 0 observed, 1 too few windows are left or the application has ended, 2 bad input, 130 interrupted; with --against also 3:
    cannot tell.

    windtunnel attach --list
    windtunnel attach testpmd
    windtunnel attach 4711 --for 30s --out runs/before
    windtunnel attach 4711 --headroom
    windtunnel attach 4711 --causal --anyway
    windtunnel attach 4711 --telemetry
    windtunnel attach --for 5s -- dpdk-testpmd -l 0,1 --no-huge --no-pci --vdev net_null0 -- --forward-mode=macswap
    windtunnel attach --for 5s --against 'new/broker -l 0,1' -- old/broker -l 0,1
    """
    from windtunnel.engine.verdict import INTERRUPTED, INVALID, VALID
    from windtunnel.errors import UserError
    from windtunnel.parts.attach.list_document import json_text, list_document
    from windtunnel.parts.attach.live_table import live_table
    from windtunnel.parts.attach.processes import applications
    from windtunnel.parts.attach.session import observe
    from windtunnel.results.run.outcome import print_json, print_tables, write_report
    from windtunnel.results.show import show
    from windtunnel.results.terminal.console import progress

    request = _request(for_, window, present, causal, headroom, anyway, telemetry)
    if pairs is not None and against is None:
        raise UserError("--pairs: it is of --against", remedy="add --against COMMAND, or leave it out")
    if list_ or not target:
        here = list(applications())
        print(json_text(here)) if json else show(list_document(here))
        return
    if against is not None:
        _against(_command(against, target, telemetry), target, pairs or PAIRS, request, out, json)
        return
    with live_table(progress(), request.seconds) as listener:
        observed = observe(target, request, out, listener)
    report = write_report(observed.run, observed.held)
    print_json(observed.run) if json else print_tables(observed.run, report, None)
    if observed.interrupted:
        raise typer.Exit(INTERRUPTED)
    raise typer.Exit(VALID if observed.run.record.verdict.valid else INVALID)


def _command(against: str, target: list[str], telemetry: bool) -> list[str]:
    """The words of B. Raises UserError if it is no command, or if A is none."""
    from windtunnel.errors import UserError
    from windtunnel.parts.attach.session import is_command

    if telemetry:
        raise UserError("--against starts both with the probe in them", remedy="leave out --telemetry")
    try:
        words = shlex.split(against)
    except ValueError as error:
        raise UserError(f"--against {against}: {error}", remedy="quote it as a shell needs it") from None
    if not words:
        raise UserError("--against: an empty command", remedy="as in --against 'new/broker -l 0,1'")
    for side, command in (("A", target), ("B", words)):
        if not is_command(command):
            raise UserError(
                f"--against: {side} is {command[0]}, which is no command",
                remedy="as in --against 'new/broker' -- old/broker",
            )
    return words


def _against(
    command: list[str], target: list[str], pairs: int, request: "Request", out: Path | None, json: bool
) -> None:
    """Compares two commands, and prints and keeps the comparison."""
    from windtunnel.engine.verdict import CANNOT_TELL, INTERRUPTED
    from windtunnel.measure.compare.compared import NAME
    from windtunnel.measure.compare.comparison_record import NO_VERDICT
    from windtunnel.measure.execute import new_directory
    from windtunnel.parts.attach.in_turn import compare_in_turn
    from windtunnel.parts.attach.live_table import live_table
    from windtunnel.results.as_json import json_of
    from windtunnel.results.comparison import comparison_document
    from windtunnel.results.page.files import REPORT, write_new_page
    from windtunnel.results.show import show
    from windtunnel.results.terminal.console import progress

    directory = out or new_directory(f"{Path(target[0]).name}-against-{Path(command[0]).name}")
    with live_table(progress(), request.seconds) as listener:
        comparison = compare_in_turn({"a": target, "b": command}, pairs, request, directory, progress().print, listener)
    report = write_new_page(comparison_document(comparison), directory / REPORT)
    files = [("comparison", str(directory / NAME)), ("report", str(report))]
    print(json_of(comparison)) if json else show(comparison_document(comparison, files))
    if comparison.paired_runs and comparison.paired_runs.stopped == "interrupted":
        raise typer.Exit(INTERRUPTED)
    if all(judged.verdict in NO_VERDICT for point in comparison.points for judged in point.judged):
        raise typer.Exit(CANNOT_TELL)


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
