"""windtunnel calibrate: do the intervals hold on this host?"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from windtunnel.cli.on import On, executor
from windtunnel.cli.shared_options import Format, Json, NoPlugins, Scenario, Sets, State, with_state
from windtunnel.printing import print_values

if TYPE_CHECKING:
    from windtunnel.measure.compare.paired_runs import Turn


def calibrate(
    file: Scenario,
    comparisons: Annotated[
        int,
        typer.Option(
            "--comparisons", metavar="N", min=0, max=1000, help="Comparisons to make; 0 judges those that are there."
        ),
    ] = 4,
    pairs: Annotated[
        int, typer.Option("--pairs", metavar="N", min=8, max=1000, help="Pairs of runs of each comparison.")
    ] = 8,
    sets: Sets = None,
    state: State = None,
    no_plugins: NoPlugins = False,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="DIR",
            help="Directory of the comparisons. What it has from before counts, too.",
            show_default="runs/calibration-<scenario>",
        ),
    ] = None,
    on: On = None,
    json: Json = False,
    format_: Format = "text",
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print only the last sentence.")] = False,
) -> None:
    """Measure how often the intervals hold on this host.

    A scenario is compared with itself. So no difference is one, and each that is shown is an error. The directory keeps all
    comparisons: repeat the command on other days, and it says how much days differ, and how often a run lies where those
    of the days before predict it. Ctrl-C ends it and judges what there is.

    Exit codes: 0 nothing is shown to hold less often than it says, 1 something is, 2 bad input, 3 no comparison has a
    verdict, 130 interrupted.

    windtunnel calibrate echo
    windtunnel calibrate echo --comparisons 20 --set duration=2s --out runs/calibration-2s
    windtunnel calibrate echo --comparisons 0
    """
    from windtunnel.errors import UserError
    from windtunnel.measure import calibration
    from windtunnel.results.as_json import json_of
    from windtunnel.results.calibration import calibration_document, outcome
    from windtunnel.results.show import show
    from windtunnel.results.terminal.console import progress

    if json and quiet:
        raise UserError("--json and --quiet exclude each other", remedy="give one of them")

    def announce(number: int, turn: "Turn") -> None:
        if not json and not quiet:
            progress().out(f"comparison {number} of {comparisons}  {turn.done_pairs} of {turn.pairs} pairs")

    directory = out or Path("runs") / f"calibration-{file.stem}"
    with executor(on, most=1) as where:
        result = calibration.calibrate(
            file,
            with_state(sets, state),
            directory,
            comparisons=comparisons,
            pairs=pairs,
            executor=where,
            announce=announce,
        )
    if json:
        print(json_of(result))
    elif quiet:
        print_values(outcome(result))
    else:
        show(calibration_document(result, [("comparisons", str(directory))]))
    raise typer.Exit(result.exit_code)
