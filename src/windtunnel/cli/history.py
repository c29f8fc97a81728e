"""windtunnel history: how the metrics of a scenario changed over its runs."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from windtunnel.cli import completion
from windtunnel.cli.shared_options import Format, Json, Sets, State, with_state
from windtunnel.printing import print_line, print_values

if TYPE_CHECKING:
    from windtunnel.measure.compare.conditions import Decided
    from windtunnel.measure.history.history_record import Histories

FAILED = 1
MOST_DOUBTS = 20
"""Doubtful conditions that are printed."""


def history(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[FILE] [DIR...]",
            help="A scenario file, and the directories of its runs. Without FILE: all scenarios that ran there.",
            show_default="runs",
            autocompletion=completion.compared,
        ),
    ] = None,
    sets: Sets = None,
    state: State = None,
    by: Annotated[
        str | None,
        typer.Option(
            "--by", metavar="KEY", help="Order the runs by this label instead of by time.", show_default="time"
        ),
    ] = None,
    metric: Annotated[
        list[str] | None,
        typer.Option("--metric", metavar="NAME", help="Judge this metric too, and no others. Repeatable."),
    ] = None,
    fail_if: Annotated[
        list[str] | None,
        typer.Option(
            "--fail-if",
            metavar="CONDITION",
            help="Exit with 1 if the condition holds, with 3 if these runs cannot tell: regression, regression:5%, p99:+10%, "
            "responses_per_s:-5%. Repeatable.",
        ),
    ] = None,
    json: Json = False,
    format_: Format = "text",
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print only the verdicts.")] = False,
) -> None:
    """Show how the metrics of a scenario changed over its runs.

    Finds the runs of a scenario below directories, and the runs at which a metric changed its level. A history has one host and one state
    of it. A change is a regression or an improvement for its metric, and "over" if recent runs have returned to the old level. The labels of
    runs (run --label) name the versions.

    Exit codes: 0 judged, 2 bad input, 3 cannot tell (too few runs of every scenario). With --fail-if also 1: a change persists, with its whole
    interval beyond the threshold; and 3: the runs do not show whether one does.

    windtunnel history scenarios/echo.toml
    windtunnel history scenarios/echo.toml results --fail-if regression
    windtunnel history scenarios/echo.toml --by firmware --metric p99
    windtunnel history runs --json
    """
    from windtunnel.engine.verdict import CANNOT_TELL
    from windtunnel.errors import UserError
    from windtunnel.index.histories import histories
    from windtunnel.measure.compare.reading import METRICS
    from windtunnel.measure.history.regression import conditions, decide
    from windtunnel.results.history import is_judged
    from windtunnel.results.terminal.console import progress

    if json and quiet:
        raise UserError("--json and --quiet exclude each other", remedy="give one of them")
    if unknown := [name for name in metric or () if name not in METRICS]:
        raise UserError(f"--metric {unknown[0]}: no such metric", remedy=f"one of {', '.join(METRICS)}")
    failure_conditions = conditions(fail_if or [])
    only = [*metric, *(condition.subject for condition in failure_conditions)] if metric else None
    with progress().status("reading runs") as status:
        where = _where(paths or [], with_state(sets, state))
        result = histories(*where, by, only, lambda unread: status.update(f"{unread} runs to be read"))
    decided = decide(failure_conditions, result)
    _print(result, decided, metric or [], json, quiet)
    if decided.met:
        raise typer.Exit(FAILED)
    if failure_conditions and result.left_out:
        print_line(f"cannot tell: {result.left_out} left out, which may be runs of these histories", to=sys.stderr)
        raise typer.Exit(CANNOT_TELL)
    if decided.doubtful or not any(is_judged(in_state) for history in result.histories for in_state in history.states):
        raise typer.Exit(CANNOT_TELL)


def _where(paths: list[Path], sets: list[str]) -> tuple[list[Path], str | None]:
    """Directories, and the key of the scenario if one is named."""
    from windtunnel.errors import UserError
    from windtunnel.measure.history.scenarios import scenario_key_of
    from windtunnel.runs.latest import RUNS
    from windtunnel.scenario.load import check_name_of_text

    directories = [path for path in paths if path.is_dir()]
    files = [path for path in paths if not path.is_dir()]
    if len(files) > 1:
        raise UserError(f"{files[1]}: no such directory", remedy="one scenario file, and directories with runs")
    if sets and not files:
        raise UserError("--set and --state change a scenario, and none is named", remedy="name a scenario file")
    for file in files:
        check_name_of_text(file)
    return directories or [RUNS], scenario_key_of(files[0], sets) if files else None


def _print(result: "Histories", decided: "Decided", metrics: list[str], json: bool, quiet: bool) -> None:
    from rich.text import Text

    from windtunnel.results.history import histories_document, verdict_lines
    from windtunnel.results.show import show
    from windtunnel.results.terminal.console import progress

    if json:
        from windtunnel.results.as_json import json_of

        print(json_of(result))
    elif quiet:
        print_values(*verdict_lines(result, metrics))
    else:
        show(histories_document(result, metrics))
    for line in decided.met:
        progress().print(Text.assemble(("failed: ", "bold red"), line), soft_wrap=True)
    for line in decided.doubtful[:MOST_DOUBTS]:
        progress().print(Text.assemble(("cannot tell: ", "bold yellow"), line), soft_wrap=True)
    if len(decided.doubtful) > MOST_DOUBTS:
        progress().print(f"and {len(decided.doubtful) - MOST_DOUBTS} others")
