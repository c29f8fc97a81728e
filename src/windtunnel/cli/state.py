"""windtunnel host state: the levels of this host's states, as its runs have seen them."""

import typer

from windtunnel.cli.options import Json


def state(
    json: Json = False,
) -> None:
    """Show the levels of a cache line's round trip that runs have seen on this host.

    A hypervisor moves virtual CPUs between one core, one L3 and two L3s, and a data plane is up to three times slower on
    the way. Every run probes that between its windows, and its metrics are of one state. The readings of all runs are
    kept: they tell one state from another.

    windtunnel host state
    """
    from rich.text import Text

    from windtunnel import format as fmt
    from windtunnel.host.facts import collect
    from windtunnel.host.levels import default_file, identity, name_of, read_kept
    from windtunnel.views.terminal.columns import Column, Fitting
    from windtunnel.views.terminal.console import results

    host = collect()
    levels = read_kept(host).levels()
    if json:
        import json as encoder

        rows = [{"name": name_of(n, levels), **vars(level)} for n, level in enumerate(levels)]
        typer.echo(encoder.dumps({"host": identity(host), "levels": rows}, indent=2))
        return
    console = results()
    if not levels:
        console.print("No run has probed this host yet: `windtunnel run scenarios/echo.toml` does.")
        return
    console.print(
        Fitting(
            [
                Column("state", [name_of(n, levels) for n in range(len(levels))], words=True),
                Column("line, ns", [f"{level.low:.0f} .. {level.high:.0f}" for level in levels]),
                Column("readings", [fmt.count(level.readings) for level in levels]),
            ]
        )
    )
    console.print(Text(f"one-core is told by additions, not by the line; kept in {default_file()}", style="dim"))
