"""windtunnel handlers: the emulated applications that the engine knows, with their options."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from windtunnel.cli import completion
from windtunnel.cli.shared_options import Format

if TYPE_CHECKING:
    from windtunnel.engine.query import Handler, HandlerOption
    from windtunnel.results.document import Document


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
    if plugin:
        check_plugin(plugin, "plugins/skeleton")
    engine_handlers = ask(find_engine(), plugin)
    if name:
        engine_handlers = [handler for handler in engine_handlers if handler.name == name] or _unknown(
            name, engine_handlers
        )
    if json:
        from json import dumps

        print(dumps([handler.model_dump() for handler in engine_handlers], indent=1, ensure_ascii=False))
        return
    from windtunnel.results.show import show

    show(_document(engine_handlers, plugin))


def check_plugin(file: Path, example: str) -> None:
    """Raises UserError if there is no such file. `example`: a folder that shows how to build one."""
    if not file.is_file():
        from windtunnel.errors import UserError

        raise UserError(f"{file}: no such file", remedy=f"build it first; {example} shows how")


def _unknown(name: str, handlers: "list[Handler]") -> "list[Handler]":
    from difflib import get_close_matches

    from windtunnel.errors import UserError

    names = [handler.name for handler in handlers]
    close = get_close_matches(name, names, n=1)
    raise UserError(
        f'no handler "{name}"', remedy=f'did you mean "{close[0]}"?' if close else f"one of {', '.join(names)}"
    )


def _document(handlers: "list[Handler]", plugin: Path | None) -> "Document":
    from windtunnel.part_registry import part_functions
    from windtunnel.results.catalogue import Entry, Option, catalogue
    from windtunnel.results.document import Document, Section, Sentence

    entries = [
        Entry(
            handler.name,
            f"{handler.kind}s",
            handler.help,
            [Option(option.name, takes(option), option.help) for option in handler.options],
        )
        for handler in handlers
    ]
    blocks = [Section("Handlers", [catalogue(("handler", "sees", "what it does, and its options"), entries)])]
    for sections in part_functions("handler_blocks", "sections"):
        blocks += sections(handlers)
    example = Sentence(f"in a scenario:  {_example(handlers, plugin)}", unwrapped=True)
    return Document(kind="handlers", title="Handlers", blocks=[*blocks, Section("In a scenario", [example])])


def takes(option: "HandlerOption") -> str:
    kind = " | ".join(option.choices) if option.choices else option.type
    return f"{kind}, default {_default(option, option.default)}" if option.default else kind


def _default(option: "HandlerOption", text: str) -> str:
    """A default in a scenario's notation: the engine has plain bytes."""
    from windtunnel.scenario.quantities import write

    return write("size", int(text)) if option.type == "bytes" and text.isdigit() else text


def _example(handlers: "list[Handler]", plugin: Path | None) -> str:
    """How a scenario names the first of them that has an option with a default, or else the first. A plug-in is named by its
    file: a path that is absolute, or relative to the scenario."""
    from windtunnel.exchange.toml_text import value_text

    named = [(h, o) for h in handlers for o in h.options if o.default]
    handler, option = named[0] if named else (handlers[0], None)
    key = "handler" if handler.kind == "message" else "packet_handler"
    named_by = value_text(str(plugin.absolute()) if plugin else handler.name)
    if option is None:
        return f"{key} = {named_by}"
    value = _default(option, option.default or "")
    value = value if option.type == "count" else value_text(value)
    return f"{key} = {named_by}  options = {{ {option.name} = {value} }}"
