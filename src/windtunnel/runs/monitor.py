"""monitor.jsonl: which tools of the host `--monitor` has started during a run, what became of them, and which this host does not have.

The texts of the tools lie beside it. A tool that could not be started has a line with the reason: absent is not zero.
"""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from windtunnel.errors import UserError
from windtunnel.text_file import lines_of

FILE = "monitor.jsonl"
PREFIX = "monitor-"
"""Of the names of texts."""
MAX_BYTES = 4 << 20
MAX_LINE_BYTES = 1 << 16
MAX_TEXT_BYTES = 128 << 20
"""Of all texts together: the guard of a tool ends it at 16 MiB."""


class Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Asked(Part):
    """The first line."""

    type: Literal["asked"] = "asked"
    version: Literal[1] = 1
    metrics: list[str]
    cpus: list[int] = Field(description="of which cache misses are counted")
    interfaces: list[str] = Field(description="whose pause frames are counted")


class Kept(Part):
    """A text of a tool, in the same directory."""

    type: Literal["kept"] = "kept"
    metric: str
    tool: str
    file: str = Field(pattern=rf"^{PREFIX}[A-Za-z0-9_.-]{{1,80}}$")
    command: list[str] = Field(description="the program and its arguments; empty: files of the kernel were read")
    begins_s: float = Field(description="since the monitor began")
    seconds: float = Field(description="for which it ran; of two snapshots, between them")
    exit_code: int | None = Field(description="of the program; -N: signal N ended it; null: no program was started")
    error: str = Field(description="what it wrote last on stderr, if it failed")


class Absent(Part):
    """A tool that was not started."""

    type: Literal["absent"] = "absent"
    metric: str
    tool: str
    reason: str


Line = Asked | Kept | Absent
LINE = TypeAdapter[Line](Annotated[Line, Field(discriminator="type")])


def read_monitor(directory: Path) -> Iterator[Line]:
    """The lines of a directory; none if nothing was monitored. A last line that a crash cut off is left out. Raises UserError with file and line, also
    if one text is kept twice, or if all are too large: whoever reads the lines reads the texts."""
    file = directory / FILE
    texts: set[str] = set()
    remaining = MAX_TEXT_BYTES
    with suppress(FileNotFoundError):
        for number, raw in enumerate(lines_of(file, MAX_BYTES, MAX_LINE_BYTES), start=1):
            if not raw.endswith(b"\n"):
                continue
            try:
                line = LINE.validate_json(raw)
            except ValidationError as error:
                raise _damaged(file, number, error.errors(include_url=False)[0]["msg"]) from error
            if isinstance(line, Kept):
                if line.file in texts:
                    raise _damaged(file, number, f"{line.file} is kept twice")
                texts.add(line.file)
                remaining -= _size(directory / line.file)
                if remaining < 0:
                    raise _damaged(file, number, f"texts of more than {MAX_TEXT_BYTES >> 20} MiB")
            yield line


def _damaged(file: Path, line: int, why: str) -> UserError:
    return UserError(f"{file}:{line}: {why}", remedy=f"a line of {FILE} as `windtunnel run --monitor` writes it")


def _size(text: Path) -> int:
    try:
        return text.lstat().st_size
    except OSError:  # whoever reads it says why it cannot be read
        return 0


def monitored_texts(directory: Path) -> list[Path]:
    """The texts that tools wrote. Raises UserError as `read_monitor`."""
    return [directory / line.file for line in read_monitor(directory) if isinstance(line, Kept)]
