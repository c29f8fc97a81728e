"""windtunnel compare: is B faster than A, slower, or can nobody tell?"""

from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from windtunnel.cli.turns import TurnsDisplay
    from windtunnel.measure.compare import Comparison
    from windtunnel.measure.compare.turns import Turn

Sets = list[str] | None
FAILED, INTERRUPTED = 1, 130


def compare(
    a: Annotated[
        Path, typer.Argument(metavar="A", help="What it is held against: runs, or a scenario.", show_default=False)
    ],
    b: Annotated[Path, typer.Argument(metavar="B", help="What is judged.", show_default=False)],
    pairs: Annotated[
        int | None, typer.Option("--pairs", metavar="N", min=1, max=9999, help="Scenarios: pairs that are flown (15).")
    ] = None,
    within: Annotated[
        str | None, typer.Option("--within", metavar="DURATION", help="Scenarios: no pair that would end later.")
    ] = None,
    sets: Annotated[
        Sets, typer.Option("--set", metavar="KEY=VALUE", help="Scenarios: change one key of both; may be given often.")
    ] = None,
    sets_a: Annotated[Sets, typer.Option("--set-a", metavar="KEY=VALUE", help="Likewise, of A alone.")] = None,
    sets_b: Annotated[Sets, typer.Option("--set-b", metavar="KEY=VALUE", help="Likewise, of B alone.")] = None,
    seed: Annotated[
        int | None, typer.Option("--seed", metavar="N", min=0, help="Scenarios: of the order within the pairs (1).")
    ] = None,
    change: Annotated[
        Literal["window", "flight"] | None,
        typer.Option(
            "--change",
            help="Scenarios: after what the one makes way for the other; after every window where the wire allows two at once.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="DIR",
            help="New directory for runs, comparison.json and report.html; runs/<UTC>-<a>-against-<b>.",
        ),
    ] = None,
    report: Annotated[
        Path | None, typer.Option("--report", metavar="FILE", help="Write the report to FILE, new.")
    ] = None,
    between_runs: Annotated[
        str,
        typer.Option("--between-runs", metavar="PERCENT", help="Assumed spread between runs, where they are too few."),
    ] = "5%",
    fail_if: Annotated[
        Sets,
        typer.Option(
            "--fail-if",
            metavar="CONDITION",
            help="Exit code 1 if slower:5%, faster:10%, p99:+10%, answered_per_s:-5%, server.app_rx.work_ns:+3%, or invalid; "
            "may be given often.",
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Only a JSON object for machines on stdout.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Only the verdicts.")] = False,
) -> None:
    """Hold B against A: faster, slower, no difference shown, cannot be compared, or invalid.

    A and B are run directories, directories with runs below them (a study's, or the a and b of an earlier comparison), or two
    scenarios, which are flown in turn, in an order that chance decides, on the same cores: a window of A, a window of B, and so on. Ctrl-C lands the flight and compares what has flown.

    Exit codes: 0; 2 bad input; 130 interrupted. 1 only with --fail-if: when the whole interval lies beyond a threshold, and,
    whatever the condition, when runs are invalid or cannot be compared.

    windtunnel compare scenarios/echo.toml scenarios/echo.toml --set-b server.batch.app_rx=64
    windtunnel compare before.toml after.toml --within 10min --fail-if slower:5%
    windtunnel compare runs/before runs/after
    windtunnel compare runs/2026-11-22T10-00-00Z-echo-against-echo/a runs/2026-11-22T10-00-00Z-echo-against-echo/b
    """
    from windtunnel.errors import UserError
    from windtunnel.measure.compare import Flying
    from windtunnel.measure.compare import compare as hold
    from windtunnel.measure.compare.quantities import percent, seconds
    from windtunnel.measure.compare.thresholds import conditions, failures
    from windtunnel.report import write_comparison
    from windtunnel.runs.files import check_new

    if json and quiet:
        raise UserError("--json and --quiet exclude each other", remedy="give one of them")
    check_new(report)
    asked = conditions(fail_if or [])
    between = percent("--between-runs", between_runs)
    limit = None if within is None else seconds("--within", within)
    flying = Flying(sets or (), sets_a or (), sets_b or (), pairs, limit, seed, change)
    with _display(silent=json or quiet) as display:
        comparison, directory = hold(a, b, flying, out, between, display.turn if display else _nothing)
    files = {"comparison": directory / "comparison.json"} if directory else {}
    if page := report or (directory and directory / "report.html"):
        files["report"] = write_comparison(comparison, page)
    failed = failures(asked, comparison)
    _print(comparison, files, failed, json, quiet)
    if comparison.flown and comparison.flown.stopped == "interrupted":
        raise typer.Exit(INTERRUPTED)
    if failed:
        raise typer.Exit(FAILED)


def _nothing(turn: "Turn") -> None:
    pass


def _display(silent: bool) -> "AbstractContextManager[TurnsDisplay | None]":
    if silent:
        return nullcontext()
    from windtunnel.cli.turns import TurnsDisplay

    return TurnsDisplay()


def _print(comparison: "Comparison", files: dict[str, Path], failed: Sequence[str], json: bool, quiet: bool) -> None:
    from rich.console import Console
    from rich.text import Text

    from windtunnel.measure.compare.view import comparison_view, verdict_lines

    if json:
        print(comparison.model_dump_json(indent=1))
    elif quiet:
        print("\n".join(verdict_lines(comparison)))
    else:
        console = Console()
        console.print(comparison_view(comparison))
        for what, path in files.items():
            console.print(Text.assemble((f"{what:<11}", "dim"), str(path)), soft_wrap=True)
    for words in failed:
        Console(stderr=True, soft_wrap=True, highlight=False).print(Text.assemble(("failed: ", "bold red"), words))
