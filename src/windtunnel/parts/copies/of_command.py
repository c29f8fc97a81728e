"""windtunnel copies of: what an unmodified program copies, and from which size on a copier would pay."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from windtunnel.cli.shared_options import Format, Json

if TYPE_CHECKING:
    from windtunnel.results.document import Document

FILE = "copies.json"


def of(
    command: Annotated[
        list[str], typer.Argument(metavar="COMMAND...", help="Command to start, behind --.", show_default=False)
    ],
    for_: Annotated[
        str | None,
        typer.Option("--for", metavar="DURATION", help="End it with SIGTERM after this time.", show_default="its end"),
    ] = None,
    profile: Annotated[
        str,
        typer.Option("--profile", metavar="NAME", help="Modelled engine: a name of `windtunnel copiers`, or a file."),
    ] = "dsa-spr",
    device: Annotated[
        str | None,
        typer.Option("--device", metavar="NAME", help="dmadev of the copier dma. Default: DPDK's software engine."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Write copies.json and report.html to DIR, which must be new."),
    ] = None,
    json: Json = False,
    format_: Format = "text",
) -> None:
    """Count what a program copies, unmodified.

    Measures the copiers of this host for some seconds, as `windtunnel host copies` does. Then starts the command with a library in it
    that takes the place of memcpy, memmove and mempcpy, in its children too. Shows the sizes of its copies, where they begin, which share
    of its CPU time they take, and from which size on a copier would pay. Inline copies are not seen. The output of the command goes to
    stderr.

    Exit codes: 0 counted, 1 the command failed or began without the library, 2 bad input, 130 interrupted.

    windtunnel copies of -- python3 -c "bytes(bytearray(4 << 20))"
    windtunnel copies of --for 30s --out cache -- memcached -t 4
    windtunnel copies of --json -- git log --stat
    """
    from contextlib import nullcontext

    from windtunnel.engine.verdict import INTERRUPTED, INVALID, VALID
    from windtunnel.parts.copies.costs import measure
    from windtunnel.parts.copies.engine_profiles import load_profile
    from windtunnel.parts.copies.program_copies import read_copies
    from windtunnel.parts.copies.program_document import as_json, program_document
    from windtunnel.parts.copies.program_gain import gain_of
    from windtunnel.parts.copies.program_page import Page
    from windtunnel.parts.copies.program_run import find_library, run_program
    from windtunnel.results.show import show
    from windtunnel.runs.directories import making
    from windtunnel.scenario.quantities import option

    seconds = None if for_ is None else option("--for", "duration", for_, "100ms", "24h") / 1e9
    library, assumed = find_library(command[0]), load_profile(profile).assumptions()
    with making(out) if out else nullcontext() as directory, Page() as page:
        measured = measure(1, device, profile=profile)
        ended = run_program(command, library, page, seconds)
        copies = read_copies(page, command, ended, measured[0].copier.tsc_hz)
        gains = [gain_of(copies.sizes, of_copier) for of_copier in measured]
        document, values = program_document(copies, gains, assumed), as_json(copies, gains, assumed)
        if directory is not None:
            _write(directory, document, values)
    if json:
        import json as encoder

        print(encoder.dumps(values, indent=1))
    else:
        show(document)
    if ended.interrupted:
        raise typer.Exit(INTERRUPTED)
    failed = ended.returncode and not ended.asked_to_end
    raise typer.Exit(INVALID if failed or not copies.processes else VALID)


def _write(directory: Path, document: "Document", values: dict[str, Any]) -> None:
    import json as encoder

    from windtunnel.results.page.files import REPORT, write_page
    from windtunnel.runs.files import replace

    replace(directory / FILE, encoder.dumps(values, indent=1) + "\n")
    write_page(document, directory / REPORT)
