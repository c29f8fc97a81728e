"""windtunnel host state: the levels of this host's states, as its runs have seen them."""

import typer

from windtunnel.cli.shared_options import Format, Json


def state(
    json: Json = False,
    format_: Format = "text",
) -> None:
    """Show the levels of round-trip times that runs measured on this host: of a cache line between workers, of a copy to a software copier.

    A hypervisor moves virtual CPUs between one core, one L3 and two L3s, and a data plane can be three times slower in one
    state than in another. Every run probes the state between its windows, and its metrics belong to one state. The
    readings of all runs are kept, because they show which states there are.

    windtunnel host state
    """
    from windtunnel import format as fmt
    from windtunnel.host.facts import collect
    from windtunnel.host.levels import default_file, identity, name_of, read_kept
    from windtunnel.results.document import Block, Document, Sentence, Table, columns_of
    from windtunnel.results.show import show

    host = collect()
    readings = read_kept(host)
    levels = [
        (trip, name_of(n, of_trip), level)
        for trip, of_trip in (("line", readings.levels()), ("copy", readings.copy_levels()))
        for n, level in enumerate(of_trip)
    ]
    if json:
        import json as encoder

        rows = [{"trip": trip, "name": name, **vars(level)} for trip, name, level in levels]
        typer.echo(encoder.dumps({"host": identity(host), "levels": rows}, indent=2))
        return
    column = columns_of(levels)
    table = Table(
        [
            column("trip of a", lambda row: row[0], words=True),
            column("state", lambda row: row[1], words=True),
            column("ns", lambda row: f"{row[2].low:.0f} .. {row[2].high:.0f}"),
            column("readings", lambda row: fmt.count(row[2].readings)),
        ]
    )
    blocks: list[Block] = (
        [
            table,
            Sentence(
                f"one-core is recognised by additions, not by a round trip; kept in {default_file()}", tone="quiet"
            ),
        ]
        if levels
        else [Sentence("No run has probed this host yet: `windtunnel run scenarios/echo.toml` does.")]
    )
    show(Document(kind="host states", title="Host states", blocks=blocks))
