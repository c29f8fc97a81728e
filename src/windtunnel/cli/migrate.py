"""windtunnel migrate: the old key names of a scenario or study become the new ones."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from windtunnel.cli import completion
from windtunnel.printing import print_file, print_values

if TYPE_CHECKING:
    from windtunnel.scenario.migration import Edit

REFUSED = 2
MOST_OLD = 100
"""Names for the old text of one file that are tried: whoever may write beside it may have taken as many as they like."""


def migrate(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...",
            help="Scenario and study files.",
            show_default=False,
            autocompletion=completion.toml_files,
        ),
    ],
    stdout: Annotated[
        bool, typer.Option("--stdout", help="Print the new text of one FILE and change nothing.")
    ] = False,
) -> None:
    """Rewrite old key names in scenarios and studies.

    Only names change. Comments, order and formatting stay. The old text is kept in FILE.orig, or in FILE.orig.1 if that
    name is taken. A file without old names is left alone.

    Exit codes: 0 done, 2 a file could not be rewritten.

    windtunnel migrate mine.toml
    windtunnel migrate scenarios/*.toml studies/*.toml
    windtunnel migrate mine.toml --stdout | diff mine.toml -
    """
    from windtunnel.errors import UserError
    from windtunnel.results.terminal.messages import show_error

    if stdout:
        if len(files) > 1:
            raise UserError("--stdout prints one file", remedy="name one FILE")
        print_file(_new_text(files[0])[1])
        return
    refused = 0
    for file in files:
        try:
            _rewrite(file)
        except UserError as error:
            show_error(error)
            refused = REFUSED
    raise typer.Exit(refused)


def _rewrite(file: Path) -> None:
    from windtunnel.errors import UserError
    from windtunnel.runs.directories import held
    from windtunnel.runs.files import mode_of_copy, replacing
    from windtunnel.scenario.load import MAX_FILE_BYTES
    from windtunnel.text_file import decoded, open_regular

    old, new, edits = _new_text(file)
    for edit in edits:
        print_values(f"{file}:{edit.line}: {edit.old} -> {edit.new}")
    if not edits:
        print_values(f"{file}: no old names")
        return
    target = file.resolve()
    with held(target.parent) as directory:
        place = directory / target.name
        with os.fdopen(open_regular(place, follow=False), "rb") as opened:
            status = os.fstat(opened.fileno())
            if decoded(opened.read(MAX_FILE_BYTES)) != old:
                raise UserError(f"{file}: changed meanwhile", remedy="migrate it again")
        backup = _keep(place)
        with replacing(place, mode_of_copy(status)) as temporary:
            temporary.write_bytes(new.encode())
            temporary.chmod(_mode_of_new(status))
    print_values(f"{file}: rewritten, old text in {target.with_name(backup.name)}")


def _mode_of_new(old: os.stat_result) -> int:
    """The file is ours then: of another user's it gets no right to write, and of nobody's the right to be another user when it is run."""
    others_write = 0 if old.st_uid == os.geteuid() else 0o022
    return old.st_mode & 0o777 & ~others_write


def _new_text(file: Path) -> "tuple[str, str, list[Edit]]":
    """The old text, the new one and what changes between them. Raises UserError."""
    from windtunnel.errors import UserError
    from windtunnel.scenario.load import MAX_FILE_BYTES, parsed
    from windtunnel.scenario.migration import NotRewritten, migrated
    from windtunnel.text_file import read_text

    text = read_text(file, MAX_FILE_BYTES, "name a scenario or study file")
    parsed(file, text)
    try:
        new, edits = migrated(text)
    except NotRewritten as error:
        raise UserError(f"{file}:{error.line}: {error}", remedy="keep one of them") from None
    return text, new, edits


def _keep(file: Path) -> Path:
    """Copies the old file to an unused name in the same directory. Raises UserError."""
    from windtunnel.errors import UserError, cannot_write
    from windtunnel.runs.files import copy

    for number in range(MOST_OLD):
        backup = file.with_name(f"{file.name}.orig{f'.{number}' if number else ''}")
        try:
            copy(file, backup)
        except FileExistsError:
            continue
        except OSError as error:
            raise cannot_write(backup, error) from error
        return backup
    raise UserError(f"{file.name}.orig: exists already, and {MOST_OLD - 1} more", remedy="remove the old ones")
