"""windtunnel copiers: what can copy the bodies of requests, with options."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from windtunnel.cli.shared_options import Format
from windtunnel.printing import print_file

if TYPE_CHECKING:
    from windtunnel.parts.copies.query import Copier
    from windtunnel.results.document import Document, Table


def copiers(
    profile: Annotated[
        str | None,
        typer.Argument(
            metavar="[PROFILE]", help="Print this profile of an engine: a name, or a TOML file.", show_default=False
        ),
    ] = None,
    plugin: Annotated[
        Path | None, typer.Option("--plugin", metavar="FILE.so", help="Show the copier of this shared object.")
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
    windtunnel copiers --plugin ./libmine.so
    """
    from windtunnel.cli.handlers import check_plugin
    from windtunnel.errors import UserError

    if profile is not None and plugin:
        raise UserError("PROFILE and --plugin exclude each other", remedy="give one of them")
    if plugin:
        check_plugin(plugin, "plugins/copier")
    if profile is not None:
        from windtunnel.parts.copies.engine_profiles import load_profile, text_of

        load_profile(profile)
        print_file(text_of(profile))
        return
    from windtunnel.engine.find import find_engine
    from windtunnel.parts.copies.query import copiers as ask

    engine_copiers = ask(find_engine(), plugin)
    if json:
        from json import dumps

        print(dumps([copier.model_dump() for copier in engine_copiers], indent=1, ensure_ascii=False))
        return
    from windtunnel.results.show import show

    show(_document(engine_copiers, plugin))


def _document(copiers: "list[Copier]", plugin: Path | None) -> "Document":
    from windtunnel.cli.handlers import takes
    from windtunnel.exchange.toml_text import value_text
    from windtunnel.results.catalogue import Entry, Option, catalogue
    from windtunnel.results.document import Document, Section, Sentence

    entries = [
        Entry(
            copier.name,
            str(copier.most_depth),
            copier.help,
            [Option(option.name, takes(option), option.help) for option in copier.options],
        )
        for copier in copiers
    ]
    named_by = value_text(str(plugin.absolute()) if plugin else "dma")
    example = Sentence(f"in a scenario:  [workload.copies] engine = {named_by}", unwrapped=True)
    profiles = [] if plugin else [Section("Profiles", [_profiles()])]
    return Document(
        kind="copiers",
        title="Copiers",
        blocks=[
            Section("Copiers", [catalogue(("copier", "most copies at once", "what it is, and its options"), entries)]),
            *profiles,
            Section("In a scenario", [example]),
        ],
    )


def _profiles() -> "Table":
    """The engines that the copier `model` can stand for."""
    from windtunnel.parts.copies.engine_profiles import load_profile, shipped
    from windtunnel.results.document import Marked, Sentence, Table, columns_of

    profiles = {name: load_profile(name) for name in shipped()}
    assumed = {
        name: f"; {len(profile.assumptions())} of {len(list(profile.entries()))} figures are assumptions"
        for name, profile in profiles.items()
    }
    column = columns_of(list(profiles))
    return Table(
        [
            column("profile", lambda name: Marked(name, "subject", strong=True), words=True),
            column(
                "engine",
                lambda name: Sentence(profiles[name].engine.title, Marked(assumed[name], "quiet")),
                words=True,
            ),
        ]
    )
