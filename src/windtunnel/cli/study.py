"""windtunnel study: fly a scenario over factors, and answer a question."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from windtunnel.engine.interrupts import Interrupts
    from windtunnel.measure.study.conduct import Watcher
    from windtunnel.measure.study.study import Prepared


def study(
    source: Annotated[
        Path, typer.Argument(metavar="FILE", help="The study; or the directory of one, to go on.", show_default=False)
    ],
    sets: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Change one key of the scenario for every point."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Its directory; without it runs/<UTC time>-<study>.")
    ] = None,
    plan: Annotated[bool, typer.Option("--plan", help="Show points, flights and time; fly nothing.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Only a JSON object for machines on stdout.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Only a line a flight, and the directory.")] = False,
) -> None:
    """Fly a scenario over factors, each point several times, in an order that was drawn; keep a table, write a report.

    The same command with --out goes on with a study that was cut short, and so does `windtunnel study DIR`. Points that
    this host cannot fly are named and left out. Ctrl-C lands the flight that flies; a second one ends it at once.
    Exit codes: 0 done, 1 a run stayed invalid, 2 bad input, 130 interrupted.

    windtunnel study studies/inflight.toml --plan
    windtunnel study studies/inflight.toml --out runs/inflight
    windtunnel study runs/inflight
    windtunnel study studies/cores.toml --set duration=500ms
    windtunnel query "select inflight, median(answered_per_s) from results where valid group by 1 order by 1"
    """
    from windtunnel.cli import study_outcome as shown
    from windtunnel.engine.interrupts import Interrupts
    from windtunnel.engine.verdict import INTERRUPTED, INVALID
    from windtunnel.errors import UserError
    from windtunnel.measure.study.study import fly, prepare

    if json and quiet:
        raise UserError("--json and --quiet exclude each other", remedy="give one of them")
    prepared = prepare(source, sets or [], out)
    if plan:
        shown.print_plan(prepared, json)
        return
    with Interrupts() as interrupts, _watcher(prepared, interrupts, silent=json, plain=quiet) as watcher, _settled():
        flown = fly(prepared, interrupts, watcher)
    if json:
        shown.print_json(flown, shown.write_report(flown))
    elif quiet:
        shown.write_report(flown)
        print(flown.path)
    else:
        shown.print_tables(flown, shown.write_report(flown))
    if flown.interrupted:
        shown.say_how_to_go_on(flown)
        raise typer.Exit(INTERRUPTED)
    if flown.invalid:
        raise typer.Exit(INVALID)


@contextmanager
def _settled() -> Iterator[None]:
    """Spares the garbage collector what was there before: a search through the points of a hundred takes 60 ms, and there is
    one after every second flight."""
    import gc

    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def _watcher(
    prepared: "Prepared", interrupts: "Interrupts", silent: bool, plain: bool
) -> "AbstractContextManager[Watcher]":
    """A bar on a terminal, lines elsewhere, nothing at all where machines listen."""
    from rich.console import Console

    from windtunnel.cli.study_progress import Bar, Lines
    from windtunnel.measure.study.conduct import Silent

    if silent:
        return nullcontext(Silent())
    console = Console()
    if console.is_terminal and not plain:
        return Bar(prepared.design, console, interrupts)
    return nullcontext(Lines(prepared.design, console))
