"""windtunnel wires: the wires, which connect the endpoints or take the place of the peer, with their options."""

from typing import TYPE_CHECKING, Annotated

import typer

from windtunnel.cli.options import Format

if TYPE_CHECKING:
    from rich.table import Table

    from windtunnel.engine.query import Wire


def wires(
    json: Annotated[bool, typer.Option("--json", help="Print a JSON list.")] = False,
    format_: Format = "text",
) -> None:
    """List wires, what each needs of the host, and their options.

    An option belongs in [wire], or in [client] and [server] if the list says "endpoint".

    windtunnel wires
    windtunnel wires --json
    """
    from windtunnel.engine.find import find_engine
    from windtunnel.engine.query import wires as ask

    found = ask(find_engine())
    if json:
        from json import dumps

        print(dumps([wire.model_dump() for wire in found], indent=1, ensure_ascii=False))
        return
    from windtunnel.views.terminal.console import results

    console = results()
    console.print(_table(found))
    console.print()
    console.print(f"in a scenario:  {_example(found)}", soft_wrap=True)


def _table(found: "list[Wire]") -> "Table":
    from rich.text import Text

    from windtunnel.scenario.wire_words import default, needs, takes
    from windtunnel.views.terminal.columns import plain_table

    table = plain_table()
    for name in ("wire", "driver", "what it is, what it needs, and its options"):
        table.add_column(name)
    for wire in found:
        table.add_row(Text(wire.name, style="bold cyan"), wire.driver, Text(wire.help))
        if needed := needs(wire):
            table.add_row("", "", Text(f"needs {needed}", style="dim"))
        for option in wire.options:
            given = f", default {default(option)}" if option.default is not None else ""
            where = "" if option.scope == "wire" else "endpoint: "
            words = Text.assemble((option.name, "cyan"), (f" ({where}{takes(option)}{given})  ", "dim"), option.help)
            table.add_row("", "", words)
    return table


def _example(found: "list[Wire]") -> str:
    """How a scenario names the first of them that has an option with a default in [wire], or else the first."""
    from windtunnel.scenario.wire_words import default

    named = [(wire, option) for wire in found for option in wire.options if option.default and option.scope == "wire"]
    if not named:
        return f'wire.kind = "{found[0].name}"'
    wire, option = named[0]
    return f'wire = {{ kind = "{wire.name}", {option.name} = {default(option)} }}'
