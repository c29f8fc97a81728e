"""windtunnel host copies: what copies of payload cost on this machine."""

from pathlib import Path
from typing import Annotated

import typer

from windtunnel.cli.shared_options import Format, Json


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
    copier: Annotated[
        list[str] | None,
        typer.Option(
            "--copier", metavar="FILE.so", help="Measure this copier of your own too. Repeatable.", show_default=False
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
    windtunnel host copies --copier ./libmine.so
    windtunnel host copies --as-profile mine.toml --of dma
    """
    from windtunnel.cli.handlers import check_plugin
    from windtunnel.errors import UserError
    from windtunnel.parts.copies.costs import measure
    from windtunnel.parts.copies.measured_profiles import as_profile as profile_of
    from windtunnel.parts.copies.measured_profiles import check_new, write_profile

    if as_profile is None and (of != "cpu" or hot):
        raise UserError("--of and --hot have no effect without --as-profile", remedy="--as-profile FILE")
    if as_profile:
        check_new(as_profile)
    for file in copier or ():
        check_plugin(Path(file), "plugins/copier")
    costs = measure(depth, device, cpu, profile, copier or ())
    if as_profile:
        write_profile(as_profile, profile_of(costs, of, hot))
    if json:
        import json as encoder

        rows = [
            copier.model_dump()
            | {"break_even_bytes": {"cold": copier.break_even(hot=False), "hot": copier.break_even(hot=True)}}
            for copier in costs
        ]
        typer.echo(encoder.dumps(rows, indent=2))
        return
    from windtunnel.parts.copies.costs_document import copies_document
    from windtunnel.results.show import show

    show(copies_document(costs))
