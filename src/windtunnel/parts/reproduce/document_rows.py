"""What the five documents name, and where this product has it: a file for each document in `documents/`, and a row for each thing that it names.

A row that a test of a part holds goes with that part: if the part was taken out, nobody reads the row.
"""

import re
from importlib.resources import files
from pathlib import Path
from typing import Literal

from pydantic import Field, model_validator

from windtunnel.part_registry import PARTS
from windtunnel.parts.reproduce.claim import DOCUMENTS, read_as
from windtunnel.scenario.table import FileTable, Table

FOLDER = Path(str(files("windtunnel.parts.reproduce"))) / "documents"
DONE = ("done", "done, not tried on hardware")
NOT_DONE = ("in part", "not")
COMMAND = "./windtunnel "
"""Begins an entry of `where` that is a command; all others are files of the checkout."""
TEST_OF_PART = re.compile(r"^tests/parts/(\w+)/")


class Row(Table):
    """Something that a document names: a capability, an option, a metric, a claim or a machine."""

    number: int = Field(ge=1, description="counts over all documents, in the order of their texts")
    names: str = Field(min_length=1, max_length=120, description="what is named, in the document's own terms")
    state: Literal["done", "done, not tried on hardware", "in part", "not"] = Field(
        description="done: users can do it from the pages, and a test shows the right value"
    )
    where: list[str] = Field(min_length=1, description="commands, pages and tests")
    missing: str | None = Field(None, max_length=200, description="what is missing, in a sentence, if it is not done")

    @model_validator(mode="after")
    def _says_what_is_missing(self) -> "Row":
        if (self.state in NOT_DONE) != bool(self.missing):
            raise ValueError('has `missing` if its state is "in part" or "not", and only then')
        return self

    @property
    def commands(self) -> list[str]:
        return [entry for entry in self.where if entry.startswith(COMMAND)]

    @property
    def files(self) -> list[str]:
        """Paths from the checkout."""
        return [entry for entry in self.where if not entry.startswith(COMMAND)]

    @property
    def parts(self) -> set[str]:
        """Names of the parts whose tests hold it."""
        return {match[1] for file in self.files if (match := TEST_OF_PART.match(file))}


class Document(FileTable):
    """What one document names."""

    row: list[Row] = Field(min_length=1, description="in the order of the document")


def rows() -> dict[str, list[Row]]:
    """Number of a document, as in "000" -> its rows, without those of parts that were taken out."""
    return {number: [row for row in read_document(number).row if row.parts <= set(PARTS)] for number in DOCUMENTS}


def read_document(number: str) -> Document:
    """Raises UserError with file and line, the fault, and a remedy."""
    return read_as(Document, FOLDER / f"{number}.toml", "the file of a document", "a file of TOML")
