"""windtunnel copiers: what can copy the bodies of requests, with options."""

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.table import Table

    from windtunnel.engine.query import Copier


def copiers(json: Annotated[bool, typer.Option("--json", help="Print a JSON list.")] = False) -> None:
    """List copiers and their options.

    A copier moves the bodies of requests from a source into packets: a loop of the CPU, or a DMA engine.

    windtunnel copiers
    windtunnel copiers --json
    """
    from windtunnel.engine.find import find_engine
    from windtunnel.engine.query import copiers as ask

    found = ask(find_engine())
    if json:
        from json import dumps

        print(dumps([copier.model_dump() for copier in found], indent=1, ensure_ascii=False))
        return
    from windtunnel.views.terminal.console import results

    console = results()
    console.print(_table(found))
    console.print('\nin a scenario:  [workload.copies] engine = "dma"', markup=False, soft_wrap=True)


def _table(found: "list[Copier]") -> "Table":
    from rich.text import Text

    from windtunnel.cli.handlers import takes
    from windtunnel.views.terminal.columns import plain_table

    table = plain_table()
    for name in ("copier", "most copies at once", "what it is, and its options"):
        table.add_column(name)
    for copier in found:
        table.add_row(Text(copier.name, style="bold cyan"), str(copier.most_depth), Text(copier.help))
        for option in copier.options:
            words = Text.assemble((option.name, "cyan"), (f" ({takes(option)})  ", "dim"), option.help)
            table.add_row("", "", words)
    return table
