"""windtunnel search: the highest rate that a scenario carries."""

from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

if TYPE_CHECKING:
    from windtunnel.measure.throughput.find import Watch
    from windtunnel.measure.throughput.record import SearchRecord


def search(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The scenario; its client.rate is what is set.")],
    sets: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Change one key of the scenario; may be given often."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Directory, new; without it runs/<UTC time>-<scenario>-search."),
    ] = None,
    method: Annotated[
        Literal["mlrsearch", "rfc2544"], typer.Option(help="RFC 9971, or RFC 2544's binary search for the first goal.")
    ] = "mlrsearch",
    goal: Annotated[
        list[str] | None,
        typer.Option(
            "--goal", metavar="NAME=LOSS", help="Loss that a goal allows, as in PDR=0.5%; NDR=0 and PDR=0.5%."
        ),
    ] = None,
    width: Annotated[
        str, typer.Option(metavar="SHARE", help="Between the bounds of a goal, of the upper one.")
    ] = "0.5%",
    exceed: Annotated[str, typer.Option(metavar="SHARE", help="Of a lower bound's trials that may lose more.")] = "50%",
    trial: Annotated[str, typer.Option(metavar="DURATION", help="Of one trial.")] = "1s",
    trial_sum: Annotated[
        str, typer.Option(metavar="DURATION", help="So much in trials decides a load for certain.")
    ] = "21s",
    least: Annotated[
        str | None, typer.Option("--min", metavar="RATE", help="Least load; a thousandth of the greatest.")
    ] = None,
    most: Annotated[
        str | None, typer.Option("--max", metavar="RATE", help="Greatest load; 1.5 times what a closed loop answers.")
    ] = None,
    within: Annotated[
        str | None, typer.Option(metavar="DURATION", help="End the search after so long, irregular.")
    ] = None,
    no_latency: Annotated[
        bool, typer.Option("--no-latency", help="Do not look at latency at 10, 50 and 90% of the PDR.")
    ] = False,
    bursts: Annotated[
        int,
        typer.Option(
            metavar="N", min=0, help="Repeats of the back-to-back search; RFC 9004 wants 50, 0 leaves it out."
        ),
    ] = 5,
    no_report: Annotated[bool, typer.Option("--no-report", help="Write no report.html.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Only search.json on stdout.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No line a trial.")] = False,
) -> None:
    """Find the highest rate that a scenario carries: NDR and PDR in one search.

    Trials are flights in an open loop; those that the host disturbed are flown again. Ctrl-C keeps what was found so far.
    Exit codes: 0 every goal has a regular result, 1 one is irregular, 2 bad input, 130 interrupted.

    windtunnel search scenarios/open-loop.toml
    windtunnel search scenarios/echo.toml --goal NDR=0 --goal PDR=1% --width 1%
    windtunnel search scenarios/open-loop.toml --method rfc2544 --trial 10s --within 10min
    """
    from windtunnel.engine.interrupts import Interrupts
    from windtunnel.errors import UserError
    from windtunnel.measure.flight import new_directory
    from windtunnel.measure.throughput.find import Finder
    from windtunnel.measure.throughput.options import options

    if json and quiet:
        raise UserError("--json and --quiet exclude each other", remedy="give one of them")
    chosen = options(method, goal, width, exceed, trial, trial_sum, least, most, within, not no_latency, bursts)
    directory = out or new_directory(f"{file.stem}-search")
    with Interrupts() as interrupts:
        finder = Finder(file, sets or [], chosen, directory, interrupts, _watch(silent=json or quiet))
        record = finder.find()
    if not no_report:
        from windtunnel.report.search_page import write

        write(record, directory)
    if json:
        print(record.model_dump_json(indent=1))
    else:
        _show(record, directory)
    if finder.interrupted:
        raise typer.Exit(130)
    raise typer.Exit(int(not record.goals or any(goal.irregular for goal in record.goals)))


def _watch(silent: bool) -> "Watch":
    """A line a trial."""
    from rich.console import Console

    from windtunnel.measure.throughput.find import Watch
    from windtunnel.measure.throughput.view import trial_line

    if silent:
        return Watch()
    console = Console(highlight=False)
    numbers = count(1)
    return Watch(
        started=lambda what: None if what.endswith(" s") else console.print(what, style="dim"),
        trial=lambda trial, results: console.print(trial_line(next(numbers), trial, results), soft_wrap=True),
    )


def _show(record: "SearchRecord", directory: Path) -> None:
    from rich.console import Console

    from windtunnel.measure.throughput.view import search_view

    console = Console()
    console.print()
    console.print(search_view(record))
    console.print(f"search {directory}", style="dim", soft_wrap=True)
    if (directory / "report.html").exists():
        console.print(f"report {directory / 'report.html'}", style="dim", soft_wrap=True)
