"""windtunnel host copies: what copies of payload cost on this machine."""

from pathlib import Path
from typing import Annotated

import typer

from windtunnel.cli.options import Format, Json


def copies(
    depth: Annotated[
        int, typer.Option("--depth", metavar="N", min=1, max=8191, help="Most copies that run at a time.")
    ] = 64,
    device: Annotated[
        str | None,
        typer.Option("--device", metavar="NAME", help="dmadev of the copier dma. Default: DPDK's software engine."),
    ] = None,
    cpu: Annotated[
        int | None, typer.Option("--cpu", metavar="N", min=0, help="CPU of the worker. Default: the last allowed one.")
    ] = None,
    profile: Annotated[
        str | None,
        typer.Option(
            "--profile",
            metavar="NAME",
            help="Measure this modelled engine too: a name that `windtunnel copiers` lists, or a TOML file.",
        ),
    ] = None,
    as_profile: Annotated[
        Path | None,
        typer.Option(
            "--as-profile", metavar="FILE", help="Write the measured costs as a profile for the copier `model`."
        ),
    ] = None,
    of: Annotated[
        str, typer.Option("--of", metavar="COPIER", help="With --as-profile: copier whose profile is written, or cpu.")
    ] = "cpu",
    hot: Annotated[
        bool, typer.Option("--hot", help="With --as-profile: use the costs measured with data in the cache.")
    ] = False,
    json: Json = False,
    format_: Format = "text",
) -> None:
    """Measure what copies cost on this machine, and from which size on a copier frees the core.

    No scenario is run. The CPU and each copier copy sizes from 256 bytes to 2 MiB in turns, once with data in memory and once with data in
    the caches. The costs of the worker decide, not its waiting time.

    windtunnel host copies
    windtunnel host copies --device 0000:6a:01.0-q0
    windtunnel host copies --profile dsa-spr
    windtunnel host copies --as-profile mine.toml --of dma
    """
    from windtunnel.copies.costs import measure
    from windtunnel.copies.profiles import as_profile as profile_of
    from windtunnel.copies.profiles import check_new, write_profile
    from windtunnel.errors import UserError

    if as_profile is None and (of != "cpu" or hot):
        raise UserError("--of and --hot have no effect without --as-profile", remedy="--as-profile FILE")
    if as_profile:
        check_new(as_profile)
    found = measure(depth, device, cpu, profile)
    if as_profile:
        write_profile(as_profile, profile_of(found, of, hot))
    if json:
        import json as encoder

        rows = [
            each.model_dump()
            | {"break_even_bytes": {"cold": each.break_even(hot=False), "hot": each.break_even(hot=True)}}
            for each in found
        ]
        typer.echo(encoder.dumps(rows, indent=2))
        return
    from windtunnel.views.terminal.console import results
    from windtunnel.views.terminal.copies import copies_view

    results().print(copies_view(found))
