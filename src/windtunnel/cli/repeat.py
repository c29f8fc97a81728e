"""`--repeat` and `--until` of `windtunnel run`."""

from pathlib import Path
from typing import Annotated, Any

import typer

from windtunnel.printing import print_values

RepeatOption = Annotated[
    int | None,
    typer.Option(
        "--repeat",
        metavar="N",
        min=1,
        max=9999,
        help="Run N times; with --until at most N times. Each run has a directory below DIR.",
        show_default="1, or 30 with --until",
    ),
]
UntilOption = Annotated[
    str | None,
    typer.Option(
        "--until",
        metavar="PERCENT",
        help="Repeat until the 95% interval of the median, in one state of the host, is within PERCENT, as 2%.",
    ),
]


def repeated(
    file: Path,
    sets: list[str],
    labels: dict[str, str],
    out: Path | None,
    runs: int | None,
    until: str | None,
    on: str | None,
    json: bool,
    quiet: bool,
    single_run_options: dict[str, Any],
) -> int:
    """Runs a scenario several times, or once if there is only `on`, prints states and medians, and returns the exit code. `single_run_options`: options of a
    single run, with their values. Raises UserError for bad input."""
    from windtunnel.cli.on import executor
    from windtunnel.engine.interrupts import Interrupts
    from windtunnel.errors import UserError
    from windtunnel.measure.compare.conditions import percent
    from windtunnel.measure.execute import new_directory
    from windtunnel.measure.repeat import MOST, Repeated, repeat
    from windtunnel.results.repeat import outcome, repeated_document, run_line
    from windtunnel.results.show import show
    from windtunnel.results.terminal.console import progress

    if rejected := [name for name, value in single_run_options.items() if value]:
        raise UserError(
            f"{rejected[0]} has no effect on repeated runs, and on those elsewhere",
            remedy="leave it out, or leave out --repeat, --until and --on",
        )
    width = None if until is None else percent("--until", until)
    directory = out or new_directory(f"{file.stem}-repeated")

    def say(repeated_runs: Repeated) -> None:
        if not json and not quiet:
            progress().out(run_line(repeated_runs))

    most = runs or (1 if width is None else MOST)
    with executor(on, most=1) as where, Interrupts() as interrupts:
        result = repeat(
            file, sets, directory, interrupts, labels=labels, most=most, until=width, ended=say, executor=where
        )
    if json:
        print(result.model_dump_json(indent=1))
    elif quiet:
        print_values(outcome(result), directory)
    else:
        show(repeated_document(result, [("runs", str(directory))]))
    return result.exit_code
