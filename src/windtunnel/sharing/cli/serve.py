"""`windtunnel share serve`: the daemon."""

from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer


def serve(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="TOML file with the tenants and their CPUs.")],
    check: Annotated[bool, typer.Option("--check", help="Check FILE and exit.")] = False,
) -> None:
    """Share CPUs among poll-mode tenants until stopped, and change their weights on request.

    A weight of 256 is one CPU. Tenants send requests over HTTP on a Unix socket (/openapi.json describes them), over TCP with a
    token, or by PvCC's text protocol. docs/reference/serve.md lists the keys of FILE. Ctrl-C and SIGTERM restore every tenant; after a
    kill -9 the guardian process does.

    windtunnel share serve tenants.toml
    windtunnel share serve tenants.toml --check
    """
    from windtunnel.sharing.daemon.keys import read

    keys = read(file)
    if check:
        print(f"{file}: valid, {len(keys.tenant)} tenant{'' if len(keys.tenant) == 1 else 's'}")
        return
    from windtunnel.sharing.daemon.core import choose
    from windtunnel.sharing.daemon.serve import Daemon

    with Daemon(keys, file.parent, choose, _say) as daemon:
        daemon.run()


def _say(line: str) -> None:
    """A log on a full disk, or nobody who reads it, ends no daemon."""
    with suppress(OSError):
        print(line, flush=True)
