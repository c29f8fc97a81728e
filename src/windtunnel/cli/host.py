"""windtunnel host ladder: latency of a load on this machine, by the size of the memory."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from windtunnel.cli.shared_options import Format, Json, Report


def ladder(
    most: Annotated[
        str, typer.Option("--most", metavar="SIZE", help="Largest size. So much memory is allocated.")
    ] = "256MiB",
    rounds: Annotated[
        int, typer.Option("--rounds", metavar="N", min=1, max=100, help="Rounds. The fastest of each size counts.")
    ] = 3,
    pages: Annotated[
        Literal["huge", "small"],
        typer.Option("--pages", help="Transparent huge pages if the kernel gives them, or small pages only."),
    ] = "huge",
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Write the ladder as JSON to FILE, which must be new.")
    ] = None,
    report: Report = None,
    json: Json = False,
    format_: Format = "text",
) -> None:
    """Measure the cache latency of this machine.

    Chases pointers in random order on one core, and shows the time of a load by the size of the memory. Models of tables
    use these levels. The cache sizes that the kernel reports are shown for comparison only.

    windtunnel host ladder
    windtunnel host ladder --most 1GiB --out ladder.json --report ladder.html
    """
    from windtunnel.host.ladder import measure
    from windtunnel.runs.files import check_new, replace
    from windtunnel.scenario.quantities import option

    check_new(out, report)
    bytes_ = int(option("--most", "size", most, "1B", "1000000000GiB"))
    measured = measure(pages, bytes_, rounds)
    if out:
        replace(out, measured.model_dump_json(indent=1) + "\n")
    from windtunnel.results.ladder import ladder_document

    if report:
        from windtunnel.results.page.files import write_page

        write_page(ladder_document(measured), report)
    if json:
        print(measured.model_dump_json(indent=1))
    else:
        from windtunnel.results.show import show

        show(ladder_document(measured, [("wrote", str(file)) for file in (out, report) if file]))
