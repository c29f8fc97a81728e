"""A user's notes on a run: tags and a note, in `notes.json` of its directory.

They are not in the index, because the index may be deleted, and not in a file beside the index, because a run directory that is renamed,
moved or sent to a colleague keeps them. The files of the run do not change: only these pages read or write notes.json.
"""

import os
import re
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from windtunnel.errors import UserError, cannot_write
from windtunnel.index.untrusted import check_files
from windtunnel.runs.directories import held
from windtunnel.runs.files import replace
from windtunnel.text_file import parse_json, read_regular

NAME = "notes.json"
MOST_BYTES = 64 << 10
MOST_TAGS, MOST_CHARACTERS = 20, 4000
_TAG = re.compile(r"[\w.:/+-]{1,40}")


class Notes(BaseModel):
    """The content of notes.json."""

    model_config = ConfigDict(extra="forbid")

    tags: list[str] = Field(default_factory=list, max_length=MOST_TAGS)
    note: str = Field("", max_length=MOST_CHARACTERS)

    @field_validator("tags")
    @classmethod
    def _check_tags(cls, tags: list[str]) -> list[str]:
        for tag in tags:
            if not _TAG.fullmatch(tag):
                raise ValueError(f"{tag[:40]} is no tag")
        return list(dict.fromkeys(tags))


def read(directory: Path) -> Notes:
    """The notes of a run; empty if there are none. Raises UserError if the file is damaged."""
    try:
        return Notes.model_validate(parse_json(read_regular(directory / NAME, MOST_BYTES), NAME))
    except FileNotFoundError:
        return Notes()
    except (OSError, UserError, ValueError):
        raise UserError(f"{NAME}: damaged", remedy=f"delete {directory / NAME}") from None


def write(directory: Path, tags: str, note: str) -> None:
    """Writes the notes of a run. `directory`: an absolute path without links, as the index has it: a link that appears on the way is not followed.
    `tags`: words. Raises UserError for a malformed tag, for one that is too long, and if the file cannot be written."""
    try:
        notes = Notes(tags=tags.replace(",", " ").split(), note=note.strip())
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        remedy = f"at most {MOST_TAGS} tags of letters, digits and . : / + - _, a note of at most {MOST_CHARACTERS} characters"
        raise UserError(f"{first['loc'][0]}: {first['msg'].removeprefix('Value error, ')}", remedy) from None
    try:
        with held(directory) as place:
            if os.path.realpath(place) != str(directory):
                raise UserError(f"{directory}: a link, which is not followed", remedy="put the run itself there")
            check_files(place)
            replace(place / NAME, notes.model_dump_json(indent=1) + "\n")
    except OSError as error:
        raise cannot_write(directory / NAME, error) from error
