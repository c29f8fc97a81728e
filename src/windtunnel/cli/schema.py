"""windtunnel schema: what an editor needs to know of a file's keys."""

from typing import Annotated, Literal

import typer


def schema(
    kind: Annotated[Literal["scenario", "study"], typer.Argument(metavar="KIND", help="scenario or study.")],
) -> None:
    """Print the JSON schema of a kind of file, for editors.

    Editors that use taplo, such as VS Code with Even Better TOML, complete keys, show their help and mark errors while you type. Name the
    schema in a line of the file: #:schema ./scenario.schema.json

    windtunnel schema scenario > scenario.schema.json
    windtunnel schema study > study.schema.json
    """
    from json import dumps

    from windtunnel.schemas.editor import editor_schema

    print(dumps(editor_schema(kind), indent=1))
