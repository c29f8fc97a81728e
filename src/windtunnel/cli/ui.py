"""windtunnel ui: what runs on this host, and what ran, in a browser."""

from pathlib import Path
from typing import Annotated

import typer


def ui(
    directory: Annotated[Path, typer.Argument(metavar="[DIR]", help="Directory of the runs.")] = Path("runs"),
    listen: Annotated[
        str,
        typer.Option("--listen", metavar="[ADDRESS]:PORT", help="Where on loopback the pages are."),
    ] = ":8642",
    socket: Annotated[
        Path | None,
        typer.Option("--socket", metavar="PATH", help="Serve on a Unix socket of your own instead."),
    ] = None,
) -> None:
    """Show in a browser what runs on this host, and what ran.

    The page Now has each run, study, search, comparison and tuning of your user, and the share daemon: stages, throughput and latency of
    the windows as they end, drops, validity, the time left, and a button that stops it as Ctrl-C does. The page Runs finds what lies below
    DIR by words, keys and metrics, and opens reports. The page History shows a scenario's metrics over its runs. Needs no network. Ctrl-C
    ends it, and no run.

    windtunnel ui
    windtunnel ui results --listen :9000
    """
    from windtunnel.errors import UserError
    from windtunnel.exchange.metrics_server import parse

    try:
        from windtunnel.ui.serve import serve
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "windtunnel":  # a fault of ours
            raise
        raise UserError(
            f'windtunnel ui needs the Python package "{error.name}"', remedy='pip install "windtunnel[ui]"'
        ) from None
    if directory.exists() and not directory.is_dir():
        raise UserError(f"{directory}: not a directory", remedy="name the directory that holds your runs")
    serve(socket or parse(listen, "--listen"), directory, print_line)


def print_line(line: str) -> None:
    print(line, flush=True)
