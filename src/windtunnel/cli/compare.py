"""windtunnel compare: is B faster than A, slower, or can the runs not tell?"""

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from windtunnel.cli import completion
from windtunnel.cli.on import On, executor
from windtunnel.cli.shared_options import Format, IncludeInvalid, Json, NoPlugins, Report, State, with_state
from windtunnel.printing import print_values

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from windtunnel.measure.compare.comparison_record import Comparison
    from windtunnel.measure.compare.conditions import Decided
    from windtunnel.measure.compare.paired_runs import Turn
    from windtunnel.results.progress.paired_runs import TurnsDisplay

Sets = list[str] | None
FAILED = 1


def compare(
    a: Annotated[
        Path,
        typer.Argument(
            metavar="A",
            help="The baseline: a run directory, a directory of runs, or a scenario file.",
            show_default=False,
            autocompletion=completion.compared,
        ),
    ],
    b: Annotated[
        Path,
        typer.Argument(
            metavar="B", help="What to compare with A.", show_default=False, autocompletion=completion.compared
        ),
    ],
    pairs: Annotated[
        int | None,
        typer.Option(
            "--pairs", metavar="N", min=1, max=9999, help="Scenarios: number of pairs to run.", show_default="15"
        ),
    ] = None,
    within: Annotated[
        str | None,
        typer.Option("--within", metavar="DURATION", help="Scenarios: start no pair that would end after this time."),
    ] = None,
    until_decided: Annotated[
        bool,
        typer.Option(
            "--until-decided",
            help="Scenarios: run pairs only until a condition of --fail-if is met, or none is in doubt; at least 11, at most 60 or --pairs. "
            "The intervals are those of all looks together, and wider.",
        ),
    ] = False,
    sets: Annotated[
        Sets,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="Scenarios: change a key of both. Repeatable.",
            autocompletion=completion.sets,
        ),
    ] = None,
    sets_a: Annotated[
        Sets,
        typer.Option(
            "--set-a",
            metavar="KEY=VALUE",
            help="Scenarios: change a key of A only. Repeatable.",
            autocompletion=completion.sets,
        ),
    ] = None,
    sets_b: Annotated[
        Sets,
        typer.Option(
            "--set-b",
            metavar="KEY=VALUE",
            help="Scenarios: change a key of B only. Repeatable.",
            autocompletion=completion.sets,
        ),
    ] = None,
    state: State = None,
    no_plugins: NoPlugins = False,
    seed: Annotated[
        int | None,
        typer.Option(
            "--seed", metavar="N", min=0, help="Scenarios: seed of the order of A and B in each pair.", show_default="1"
        ),
    ] = None,
    alternate: Annotated[
        Literal["window", "run"] | None,
        typer.Option(
            "--alternate",
            help="Scenarios: how often A and B alternate, after every window or after every run.",
            show_default="window, if the wire allows two engines at once",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="DIR",
            help="New directory for the runs, comparison.json and report.html.",
            show_default="runs/<UTC time>-<A>-against-<B>",
        ),
    ] = None,
    on: On = None,
    report: Report = None,
    between_runs: Annotated[
        str,
        typer.Option(
            "--between-runs",
            metavar="PERCENT",
            help="Assumed spread between identical runs. It is used if there are too few runs to measure the spread.",
        ),
    ] = "5%",
    include_invalid: IncludeInvalid = False,
    force: Annotated[
        bool,
        typer.Option(
            "--force", help="Runs: compare even fewer than 3 per side, with the assumed spread of --between-runs."
        ),
    ] = False,
    fail_if: Annotated[
        Sets,
        typer.Option(
            "--fail-if",
            metavar="CONDITION",
            help="Exit with 1 if the condition holds, with 3 if these runs cannot tell: slower:5%, faster:10%, p99:+10%, responses_per_s:-5%, "
            "server.app_rx.work_ns:+3%, or invalid. Repeatable.",
        ),
    ] = None,
    json: Json = False,
    format_: Format = "text",
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print only the verdicts.")] = False,
) -> None:
    """Compare two runs or two scenarios.

    The verdict on B is: faster, slower, no difference shown, cannot tell, cannot be compared, or invalid. Runs are
    compared within one state of the host. Two scenarios are run in pairs on the same cores, and chance decides which of a
    pair goes first. Ctrl-C stops the run and compares the pairs that are complete.

    Exit codes: 0 compared, 2 bad input, 3 cannot tell (no verdict), 130 interrupted. With --fail-if also 1: the whole
    interval lies beyond a threshold, or most runs of B, at least three, crash or are wrong, and none of A; and 3: the
    runs do not show it.

    windtunnel compare scenarios/echo.toml scenarios/echo.toml --set-b server.batch.app_rx=64
    windtunnel compare before.toml after.toml --within 10min --fail-if slower:5%
    windtunnel compare before.toml after.toml --fail-if slower:2% --until-decided
    windtunnel compare runs/before runs/after
    windtunnel compare runs/2026-11-22T10-00-00Z-echo-against-echo/a runs/2026-11-22T10-00-00Z-echo-against-echo/b
    """
    from windtunnel.engine.verdict import CANNOT_TELL, INTERRUPTED
    from windtunnel.errors import UserError
    from windtunnel.measure.compare.compared import Running
    from windtunnel.measure.compare.compared import compare as hold
    from windtunnel.measure.compare.comparison_record import NO_VERDICT
    from windtunnel.measure.compare.conditions import conditions, decide, percent, seconds, until_of
    from windtunnel.results.comparison import comparison_document
    from windtunnel.results.page.files import REPORT, write_new_page
    from windtunnel.runs.files import check_new

    if json and quiet:
        raise UserError("--json and --quiet exclude each other", remedy="give one of them")
    check_new(report)
    failure_conditions = conditions(fail_if or [])
    between = percent("--between-runs", between_runs)
    limit = None if within is None else seconds("--within", within)
    until = until_of(failure_conditions, pairs) if until_decided else ()
    running = Running(with_state(sets, state), sets_a or (), sets_b or (), pairs, limit, seed, alternate, until)
    with executor(on, most=1) as where, _display(silent=json or quiet) as display:
        turn = display.turn if display else _nothing
        comparison, directory = hold(
            a, b, running, out, between, turn, include_invalid=include_invalid, force=force, executor=where
        )
    files = {"comparison": directory / "comparison.json"} if directory else {}
    if page := report or (directory and directory / REPORT):
        files["report"] = write_new_page(comparison_document(comparison), page)
    decided = decide(failure_conditions, comparison)
    _print(comparison, files, decided, json, quiet)
    if comparison.paired_runs and comparison.paired_runs.stopped == "interrupted":
        raise typer.Exit(INTERRUPTED)
    if decided.met:
        raise typer.Exit(FAILED)
    verdicts = [judged.verdict for point in comparison.points for judged in point.judged]
    if decided.doubtful or all(verdict in NO_VERDICT for verdict in verdicts):
        raise typer.Exit(CANNOT_TELL)


def _nothing(turn: "Turn") -> None:
    pass


def _display(silent: bool) -> "AbstractContextManager[TurnsDisplay | None]":
    if silent:
        return nullcontext()
    from windtunnel.results.progress.paired_runs import TurnsDisplay

    return TurnsDisplay()


def _print(comparison: "Comparison", files: dict[str, Path], decided: "Decided", json: bool, quiet: bool) -> None:
    from rich.text import Text

    from windtunnel.results.comparison import comparison_document, verdict_sentences
    from windtunnel.results.show import show
    from windtunnel.results.terminal.console import progress

    if json:
        from windtunnel.results.as_json import json_of

        print(json_of(comparison))
    elif quiet:
        print_values(*(sentence.text for sentence in verdict_sentences(comparison)))
    else:
        show(comparison_document(comparison, [(label, str(path)) for label, path in files.items()]))
    for line in decided.met:
        progress().print(Text.assemble(("failed: ", "bold red"), line), soft_wrap=True)
    for line in decided.doubtful:
        progress().print(Text.assemble(("cannot tell: ", "bold yellow"), line), soft_wrap=True)
