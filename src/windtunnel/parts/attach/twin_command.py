"""windtunnel twin: a scenario that takes as long for its packets as an observed application."""

from pathlib import Path
from typing import Annotated

import typer

from windtunnel.cli import completion
from windtunnel.cli.shared_options import Format


def twin(
    run: Annotated[
        Path, typer.Argument(metavar="RUN", help="Run directory of windtunnel attach.", autocompletion=completion.runs)
    ],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="The new scenario.")] = Path("twin.toml"),
    check: Annotated[bool, typer.Option("--check", help="Run the twin, and show it beside the application.")] = False,
    format_: Format = "text",
) -> None:
    """Write the twin of an observed application.

    The twin is a scenario: each thread of the application is a worker whose packet handler takes as long for a burst and a packet
    as the thread, less what the emulation itself takes on this host. Change it from there: what-if, tune and study take it as any
    scenario. --check runs it for 3 s and shows its capacity beside the application's, with the misfit.

    Exit codes: 0 written, 2 bad input, or the emulation was not measured.

    windtunnel twin runs/before
    windtunnel twin runs/before -o broker.toml --check
    """
    from windtunnel.exchange.imported_run import write_new
    from windtunnel.measure.execute import new_directory
    from windtunnel.parts.attach.twin import run_of, twin_of
    from windtunnel.parts.attach.twin_document import twin_document
    from windtunnel.results.show import show
    from windtunnel.runs import load
    from windtunnel.runs.files import check_new

    check_new(out)
    made = twin_of(load(run))
    write_new(out, made.text)
    show(twin_document(made, out, run_of(out, made.text, new_directory(out.stem)) if check else None))
