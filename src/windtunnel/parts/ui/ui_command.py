"""windtunnel ui: what runs on this host, and what ran, in a browser."""

from pathlib import Path
from typing import Annotated

import typer


def ui(
    directory: Annotated[Path, typer.Argument(metavar="[DIR]", help="Directory of the runs.")] = Path("runs"),
    listen: Annotated[
        str,
        typer.Option(
            "--listen",
            metavar="[ADDRESS]:PORT",
            help="Address of the pages, on loopback unless ADDRESS is given.",
        ),
    ] = ":8642",
    socket: Annotated[
        Path | None,
        typer.Option("--socket", metavar="PATH", help="Serve on this Unix socket instead of TCP."),
    ] = None,
    scenarios: Annotated[
        Path, typer.Option("--scenarios", metavar="DIR", help="Directory of the scenarios to edit and start.")
    ] = Path("."),
    token: Annotated[
        Path | None,
        typer.Option(
            "--token", metavar="FILE", help="With --listen beyond loopback: the access token, 32 characters or more."
        ),
    ] = None,
    certificate: Annotated[
        Path | None,
        typer.Option(
            "--tls-certificate", metavar="FILE", help="With --listen beyond loopback: the certificate, as PEM."
        ),
    ] = None,
    key: Annotated[
        Path | None,
        typer.Option("--tls-key", metavar="FILE", help="With --listen beyond loopback: the certificate's key, as PEM."),
    ] = None,
) -> None:
    """Show the present and earlier runs of this host in a browser.

    The page Now has each run, study, search, comparison and tuning of your user, and the share daemon: stages, throughput and latency of
    the windows as they end, drops, validity, the time left, and a button that stops it as Ctrl-C does. The page Runs finds what lies below
    DIR by words, keys and metrics, opens reports, compares two runs, and keeps tags and notes. The page History shows a scenario's metrics
    over its runs. The page Edit and start has scenarios in a form and as text, checks them as they are typed, and starts runs. Needs no
    network. Ctrl-C ends it, and no run.

    An address that other hosts reach needs --token, --tls-certificate and --tls-key, and starts no run.

    windtunnel ui
    windtunnel ui results --listen :9000
    windtunnel ui --scenarios scenarios
    """
    from windtunnel.engine.find import to_install
    from windtunnel.errors import UserError
    from windtunnel.exchange.address import parse
    from windtunnel.printing import print_line

    try:
        from windtunnel.parts.ui.binding import Binding, binding_of
        from windtunnel.parts.ui.serve import Directories, serve
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "windtunnel":  # a fault of ours
            raise
        raise UserError(f'windtunnel ui needs the Python package "{error.name}"', remedy=to_install("ui")) from None
    if directory.exists() and not directory.is_dir():
        raise UserError(f"{directory}: not a directory", remedy="name the directory that holds your runs")
    if not scenarios.is_dir():
        raise UserError(
            f"--scenarios {scenarios}: not a directory", remedy="name the directory that holds your scenarios"
        )
    binding = Binding(socket) if socket else binding_of(parse(listen, "--listen"), token, certificate, key)
    serve(binding, Directories(directory, scenarios), print_line)
