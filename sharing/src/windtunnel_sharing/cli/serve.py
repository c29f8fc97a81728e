"""`windtunnel share serve`: the daemon."""

from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from windtunnel.api.errors import print_line


def serve(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="TOML file with the tenants and their CPUs.")],
    check: Annotated[bool, typer.Option("--check", help="Check FILE and exit.")] = False,
    from_anywhere: Annotated[
        bool,
        typer.Option(
            "--from-anywhere",
            help="As root: start although other users may change the code that runs, as in a checkout of theirs.",
        ),
    ] = False,
) -> None:
    """Share CPUs among poll-mode tenants until stopped, and change their weights on request.

    A weight of 256 is one CPU. Tenants send requests over HTTP on a Unix socket (/openapi.json describes them), over TCP with a
    token, or by PvCC's text protocol. The page "Share daemon keys" lists the keys of FILE. Ctrl-C and SIGTERM restore every tenant; after a
    kill -9 the guardian process does.

    windtunnel share serve tenants.toml
    windtunnel share serve tenants.toml --check
    """
    from windtunnel_sharing.daemon.keys import read

    keys = read(file)
    if check:
        print(f"{file}: valid, {len(keys.tenant)} tenant{'' if len(keys.tenant) == 1 else 's'}")
        return
    from windtunnel.api.errors import UserError
    from windtunnel_sharing import own_code
    from windtunnel_sharing.daemon.core import choose
    from windtunnel_sharing.daemon.serve import Daemon

    try:
        own_code.check()
        of_others = None
    except UserError as error:
        if not from_anywhere:
            raise
        of_others = error.message
        _say(f"warning: {of_others}")
    with Daemon(keys, file.parent, choose, _say) as daemon:
        if of_others:
            daemon.sharing.events.publish("code of others", why=of_others)
        daemon.run()


def _say(line: str) -> None:
    """A log on a full disk, or nobody who reads it, ends no daemon."""
    with suppress(OSError):
        print_line(line)
