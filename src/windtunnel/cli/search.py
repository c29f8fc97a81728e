"""windtunnel search: the highest rate that a scenario carries."""

from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from windtunnel.cli.on import On, executor
from windtunnel.cli.shared_options import Format, IncludeInvalid, Json, NoPlugins, Scenario, Sets, State, with_state

if TYPE_CHECKING:
    from windtunnel.measure.throughput.find import Watch


def search(
    file: Scenario,
    sets: Sets = None,
    state: State = None,
    no_plugins: NoPlugins = False,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="New directory.", show_default="runs/<UTC time>-<scenario>-search"),
    ] = None,
    method: Annotated[
        Literal["mlrsearch", "rfc2544"],
        typer.Option(help="MLRsearch (RFC 9971) for all goals, or the binary search of RFC 2544 for the first goal."),
    ] = "mlrsearch",
    goal: Annotated[
        list[str] | None,
        typer.Option(
            "--goal",
            metavar="NAME=LIMIT",
            help="A goal and the loss that it allows, or a percentile, as p99, and a latency. With a latency goal, loss=SHARE limits "
            "the loss. Repeatable.",
            show_default="NDR=0 and PDR=0.5%",
        ),
    ] = None,
    width: Annotated[
        str, typer.Option(metavar="SHARE", help="Distance between a goal's bounds, as a share of the upper bound.")
    ] = "0.5%",
    exceed: Annotated[
        str,
        typer.Option(metavar="SHARE", help="mlrsearch: share of trials at a load that may fail before the load fails."),
    ] = "50%",
    trial: Annotated[str, typer.Option(metavar="DURATION", help="Duration of one trial.")] = "1s",
    trial_sum: Annotated[
        str, typer.Option(metavar="DURATION", help="mlrsearch: total trial time needed to decide one load.")
    ] = "21s",
    least: Annotated[
        str | None,
        typer.Option("--min", metavar="RATE", help="Lowest load.", show_default="a thousandth of the highest load"),
    ] = None,
    most: Annotated[
        str | None,
        typer.Option(
            "--max", metavar="RATE", help="Highest load.", show_default="1.5 times the response rate of a closed loop"
        ),
    ] = None,
    within: Annotated[
        str | None,
        typer.Option(
            metavar="DURATION", help="Stop after this time. Goals that are not decided by then are irregular."
        ),
    ] = None,
    no_latency: Annotated[
        bool, typer.Option("--no-latency", help="Do not measure latency at 10, 50 and 90% of the PDR.")
    ] = False,
    bursts: Annotated[
        int,
        typer.Option(
            metavar="N",
            min=0,
            help="Repeats of the search for the longest burst (RFC 9004, which asks for 50). 0 skips this search.",
        ),
    ] = 5,
    on: On = None,
    no_report: Annotated[bool, typer.Option("--no-report", help="Write no report.html.")] = False,
    include_invalid: IncludeInvalid = False,
    json: Json = False,
    format_: Format = "text",
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show no trials.")] = False,
) -> None:
    """Find the highest rate that a scenario carries.

    Searches NDR and PDR together. A trial is an open-loop run. The search sets client.rate. A trial that the host affected, or that
    ran in another host state, is repeated. Ctrl-C keeps what was found so far.

    Exit codes: 0 every goal has a regular result, 1 at least one result is irregular, 2 bad input, 130 interrupted.

    windtunnel search scenarios/open-loop.toml
    windtunnel search scenarios/echo.toml --goal NDR=0 --goal PDR=1% --width 1%
    windtunnel search scenarios/open-loop.toml --goal p99=50us --goal loss=0.1%
    windtunnel search scenarios/open-loop.toml --method rfc2544 --trial 10s --within 10min
    """
    from windtunnel.engine.interrupts import Interrupts
    from windtunnel.errors import UserError
    from windtunnel.measure.execute import new_directory
    from windtunnel.measure.throughput.find import Finder
    from windtunnel.measure.throughput.search_options import options
    from windtunnel.results.page.files import REPORT, write_page
    from windtunnel.results.search import search_document
    from windtunnel.results.show import show

    if json and quiet:
        raise UserError("--json and --quiet exclude each other", remedy="give one of them")
    chosen = options(
        method, goal, width, exceed, trial, trial_sum, least, most, within, not no_latency, bursts, include_invalid
    )
    directory = out or new_directory(f"{file.stem}-search")
    with executor(on, most=1) as where, Interrupts() as interrupts:
        finder = Finder(
            file, with_state(sets, state), chosen, directory, interrupts, _watch(silent=json or quiet), where
        )
        record = finder.find()
    report = None if no_report else write_page(search_document(record), directory / REPORT)
    if json:
        print(record.model_dump_json(indent=1))
    else:
        files = (("search", directory), ("report", report))
        show(search_document(record, [(label, str(path)) for label, path in files if path]))
    if finder.interrupted:
        raise typer.Exit(130)
    raise typer.Exit(int(not record.goals or any(goal.irregular for goal in record.goals)))


def _watch(silent: bool) -> "Watch":
    """Prints a line for each trial on stderr."""
    from windtunnel.measure.throughput.find import Watch
    from windtunnel.results.search import trial_line
    from windtunnel.results.terminal.console import progress

    if silent:
        return Watch()
    console = progress()
    numbers = count(1)
    return Watch(
        started=lambda what: None if what.endswith(" s") else console.print(what, style="dim"),
        trial=lambda trial, results: console.print(trial_line(next(numbers), trial, results), soft_wrap=True),
    )
