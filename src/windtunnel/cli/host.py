"""windtunnel host ladder: what a load costs on this machine, by the bytes among which it chooses."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

if TYPE_CHECKING:
    from windtunnel.host.ladder import Ladder


def ladder(
    most: Annotated[str, typer.Option("--most", metavar="SIZE", help="The largest size; it is taken as memory.")] = (
        "256MiB"
    ),
    rounds: Annotated[
        int, typer.Option("--rounds", metavar="N", min=1, max=100, help="How often; the least of each size counts.")
    ] = 3,
    pages: Annotated[
        Literal["huge", "small"],
        typer.Option(
            "--pages", help="Transparent huge pages as far as there are any, or none: as the engine's memory."
        ),
    ] = "huge",
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Write the ladder as JSON to FILE, new.")
    ] = None,
    report: Annotated[
        Path | None, typer.Option("--report", metavar="FILE", help="Write a page with its plot to FILE, new.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Only the ladder as JSON on stdout.")] = False,
) -> None:
    """Measure this machine's cache-latency ladder by a random chase of pointers, on one core, in seconds a round.

    Its levels are what models of tables are fed with; the sizes that lscpu prints stand beside, and are used for nothing.

    windtunnel host ladder
    windtunnel host ladder --most 1GiB --out ladder.json --report ladder.html
    """
    from windtunnel.errors import UserError
    from windtunnel.host.ladder import measure
    from windtunnel.runs.files import check_new, replace
    from windtunnel.scenario.quantities import parse

    check_new(out, report)
    try:
        bytes_ = int(parse("size", most))
    except ValueError as error:
        raise UserError(f"--most: {error}", remedy="as in --most 256MiB") from None
    measured = measure(pages, bytes_, rounds)
    if out:
        replace(out, measured.model_dump_json(indent=1) + "\n")
    if report:
        from windtunnel.report.ladder_page import write

        write(measured, report)
    if json:
        print(measured.model_dump_json(indent=1))
    else:
        _show(measured, [file for file in (out, report) if file])


def _show(measured: "Ladder", files: list[Path]) -> None:
    from rich.console import Console

    from windtunnel.host.ladder_view import ladder_view

    console = Console(highlight=False)
    console.print(ladder_view(measured))
    for file in files:
        console.print(f"wrote {file}", style="dim", soft_wrap=True)
