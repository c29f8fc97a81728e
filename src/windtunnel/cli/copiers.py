"""windtunnel copiers: what can copy the bodies of requests, with options."""

from typing import TYPE_CHECKING, Annotated

import typer

from windtunnel.cli.options import Format
from windtunnel.printing import print_file

if TYPE_CHECKING:
    from rich.table import Table

    from windtunnel.engine.query import Copier


def copiers(
    profile: Annotated[
        str | None,
        typer.Argument(
            metavar="[PROFILE]", help="Print this profile of an engine: a name, or a TOML file.", show_default=False
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print a JSON list.")] = False,
    format_: Format = "text",
) -> None:
    """List copiers and their options, and the profiles of engines that can be modelled.

    A copier copies payload: bodies of requests from a source, responses whose copies the handler names, or writes to a stream. It is a loop
    of the CPU, a DMA engine, or an engine given as figures.

    windtunnel copiers
    windtunnel copiers --json
    windtunnel copiers dsa-spr > mine.toml
    """
    if profile is not None:
        from windtunnel.scenario.engine_profiles import load_profile, text_of

        load_profile(profile)
        print_file(text_of(profile))
        return
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
    console.print(_profiles())
    console.print()
    console.print('in a scenario:  [workload.copies] engine = "dma"', soft_wrap=True)


def _profiles() -> "Table":
    """The engines that the copier model can stand for."""
    from rich.text import Text

    from windtunnel.scenario.engine_profiles import load_profile, shipped
    from windtunnel.views.terminal.columns import plain_table

    table = plain_table()
    for name in ("profile", "engine"):
        table.add_column(name)
    for name in shipped():
        profile = load_profile(name)
        assumed = f"{len(profile.assumptions())} of {len(list(profile.entries()))} figures are assumptions"
        table.add_row(Text(name, style="bold cyan"), Text.assemble(profile.engine.title, (f"; {assumed}", "dim")))
    return table


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
