"""windtunnel handlers: the emulated applications that the engine knows, with their options."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.table import Table

    from windtunnel.engine.query import Handler


def handlers(
    plugin: Annotated[
        Path | None, typer.Option("--plugin", metavar="FILE.so", help="Show the handler in this shared object instead.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="A JSON list for machines.")] = False,
) -> None:
    """List the handlers: what a scenario may name, and their options.

    A message handler answers whole messages in app_rx, a packet handler sees frames in disp_rx before they are parsed.

    windtunnel handlers
    windtunnel handlers --plugin ./libmine.so
    """
    from windtunnel.engine.find import find_engine
    from windtunnel.engine.query import handlers as ask

    found = ask(find_engine(), plugin)
    if json:
        from json import dumps

        print(dumps([handler.model_dump() for handler in found], indent=1, ensure_ascii=False))
        return
    from rich.console import Console

    Console().print(_table(found))


def _table(found: "list[Handler]") -> "Table":
    from rich.text import Text

    from windtunnel.runs.columns import plain_table

    table = plain_table()
    for name in ("handler", "sees", "what it does and its options"):
        table.add_column(name)
    for handler in found:
        table.add_row(Text(handler.name, style="bold cyan"), handler.kind, Text(handler.help))
        for option in handler.options:
            kind = " | ".join(option.choices) if option.choices else option.type
            default = "" if option.default in (None, "") else f", default {option.default}"
            words = Text.assemble((option.name, "cyan"), (f" ({kind}{default})  ", "dim"), option.help)
            table.add_row("", "", words)
    return table
