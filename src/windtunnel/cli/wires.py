"""windtunnel wires: the wires, which connect the endpoints or take the place of the peer, with their options."""

from typing import TYPE_CHECKING, Annotated

import typer

from windtunnel.cli.shared_options import Format

if TYPE_CHECKING:
    from windtunnel.engine.query import Wire
    from windtunnel.results.catalogue import Option
    from windtunnel.results.document import Document


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

    engine_wires = ask(find_engine())
    if json:
        from json import dumps

        print(dumps([wire.model_dump() for wire in engine_wires], indent=1, ensure_ascii=False))
        return
    from windtunnel.results.show import show

    show(_document(engine_wires))


def _document(wires: "list[Wire]") -> "Document":
    from windtunnel.results.catalogue import Entry, catalogue
    from windtunnel.results.document import Document, Section, Sentence
    from windtunnel.scenario.wire_words import needs

    heads = ("wire", "driver", "what it is, what it needs, and its options")
    entries = [Entry(wire.name, wire.driver, wire.help, _options(wire), needs(wire) or "") for wire in wires]
    example = Sentence(f"in a scenario:  {_example(wires)}", unwrapped=True)
    blocks = [Section("Wires", [catalogue(heads, entries)]), Section("In a scenario", [example])]
    return Document(kind="wires", title="Wires", blocks=blocks)


def _options(wire: "Wire") -> "list[Option]":
    from windtunnel.results.catalogue import Option
    from windtunnel.scenario.wire_words import default, takes

    options = []
    for option in wire.options:
        scope = "" if option.scope == "wire" else "endpoint: "
        default_text = f", default {default(option)}" if option.default is not None else ""
        options.append(Option(option.name, f"{scope}{takes(option)}{default_text}", option.help))
    return options


def _example(wires: "list[Wire]") -> str:
    """How a scenario names the first of them that has an option with a default in [wire], or else the first."""
    from windtunnel.scenario.wire_words import default

    named = [(wire, option) for wire in wires for option in wire.options if option.default and option.scope == "wire"]
    if not named:
        return f'wire.kind = "{wires[0].name}"'
    wire, option = named[0]
    return f'wire = {{ kind = "{wire.name}", {option.name} = {default(option)} }}'
