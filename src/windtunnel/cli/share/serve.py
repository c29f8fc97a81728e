"""`windtunnel share serve`: the daemon."""

from pathlib import Path
from typing import Annotated

import typer


def serve(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Who shares which CPUs, as TOML.")],
    check: Annotated[bool, typer.Option("--check", help="Only read the file.")] = False,
) -> None:
    """Share cores among poll-mode tenants until told to end, and let them ask for more.

    Weights: 256 is one CPU. Asked over HTTP on a Unix socket (/openapi.json says how), over TCP with a token, or by PvCC's text protocol;
    docs/sharing.md has the keys of FILE. Ctrl-C and SIGTERM put every tenant back as it was, and so does the guardian after a kill -9.

    windtunnel share serve tenants.toml
    windtunnel share serve tenants.toml --check
    """
    from windtunnel.sharing.daemon.read import read

    keys = read(file)
    if check:
        print(f"{file}: {len(keys.tenant)} tenant{'' if len(keys.tenant) == 1 else 's'}")
        return
    from windtunnel.sharing.daemon.choose import choose
    from windtunnel.sharing.daemon.serve import Daemon

    with Daemon(keys, file.parent, choose, lambda line: print(line, flush=True)) as daemon:
        daemon.run()
