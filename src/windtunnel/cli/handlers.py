"""windtunnel handlers: the emulated applications that the engine knows, with their options."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from windtunnel.cli import completion
from windtunnel.cli.options import Format

if TYPE_CHECKING:
    from rich.table import Table

    from windtunnel.engine.query import Handler, HandlerOption


def handlers(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[HANDLER]", help="Show only this handler.", show_default=False, autocompletion=completion.handlers
        ),
    ] = None,
    plugin: Annotated[
        Path | None, typer.Option("--plugin", metavar="FILE.so", help="Show the handler of this shared object.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print a JSON list.")] = False,
    format_: Format = "text",
) -> None:
    """List handlers and their options.

    A message handler responds to whole messages in app_rx. A packet handler sees frames in disp_rx, before they are
    parsed.

    windtunnel handlers
    windtunnel handlers kv
    windtunnel handlers --plugin ./libmine.so
    """
    from windtunnel.engine.find import find_engine
    from windtunnel.engine.query import handlers as ask
    from windtunnel.errors import UserError

    if name and plugin:
        raise UserError("HANDLER and --plugin exclude each other", remedy="give one of them")
    if plugin and not plugin.is_file():
        raise UserError(f"{plugin}: no such file", remedy="build it first; plugins/skeleton shows how")
    found = ask(find_engine(), plugin)
    if name:
        found = [handler for handler in found if handler.name == name] or _unknown(name, found)
    if json:
        from json import dumps

        print(dumps([handler.model_dump() for handler in found], indent=1, ensure_ascii=False))
        return
    from windtunnel.views.terminal.console import results

    console = results()
    console.print(_table(found))
    if any(handler.name == "match_action" for handler in found):
        console.print()
        for line in _tables():
            console.print(line)
    console.print()
    console.print(f"in a scenario:  {_example(found, plugin)}", soft_wrap=True)


def _unknown(name: str, found: "list[Handler]") -> "list[Handler]":
    from difflib import get_close_matches

    from windtunnel.errors import UserError

    known = [handler.name for handler in found]
    close = get_close_matches(name, known, n=1)
    raise UserError(
        f'no handler "{name}"', remedy=f'did you mean "{close[0]}"?' if close else f"one of {', '.join(known)}"
    )


def _tables() -> list[str]:
    """The kinds, methods and keys of match_action's tables."""
    from windtunnel.scenario.match_tables import METHODS
    from windtunnel.scenario.table_keys import BODY_KEYS, FIELDS

    kinds = "; ".join(f"{kind} by {', '.join(methods)}" for kind, methods in METHODS.items())
    keys = f"{', '.join(BODY_KEYS)}, or a list of {', '.join(FIELDS)}"
    return [
        'tables of match_action ([[workload.table]]; page "Match-action tables")',
        f"  kind and method: {kinds}",
        f"  key: {keys}",
    ]


def _table(found: "list[Handler]") -> "Table":
    from rich.text import Text

    from windtunnel.views.terminal.columns import plain_table

    table = plain_table()
    for name in ("handler", "sees", "what it does, and its options"):
        table.add_column(name)
    for handler in found:
        table.add_row(Text(handler.name, style="bold cyan"), f"{handler.kind}s", Text(handler.help))
        for option in handler.options:
            words = Text.assemble((option.name, "cyan"), (f" ({takes(option)})  ", "dim"), option.help)
            table.add_row("", "", words)
    return table


def takes(option: "HandlerOption") -> str:
    kind = " | ".join(option.choices) if option.choices else option.type
    return f"{kind}, default {_default(option, option.default)}" if option.default else kind


def _default(option: "HandlerOption", text: str) -> str:
    """As a scenario would write it: the engine gives plain bytes."""
    from windtunnel.scenario.quantities import write

    return write("size", int(text)) if option.type == "bytes" and text.isdigit() else text


def _example(found: "list[Handler]", plugin: Path | None) -> str:
    """How a scenario names the first of them that has an option with a default, or else the first. A plug-in is named by its
    file: a path that is absolute, or relative to the scenario."""
    named = [(h, o) for h in found for o in h.options if o.default]
    handler, option = named[0] if named else (found[0], None)
    key = "handler" if handler.kind == "message" else "packet_handler"
    named_by = plugin.absolute() if plugin else handler.name
    if option is None:
        return f'{key} = "{named_by}"'
    value = _default(option, option.default or "")
    value = value if option.type == "count" else f'"{value}"'
    return f'{key} = "{named_by}"  options = {{ {option.name} = {value} }}'
