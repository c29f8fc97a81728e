"""observation.jsonl: the windows of an observation, in its run directory."""

from pathlib import Path
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError

from windtunnel.errors import UserError
from windtunnel.parts.attach.lines import WindowLine
from windtunnel.text_file import lines_of

FILE = "observation.jsonl"
MOST_BYTES = 1 << 28
MOST_LINE_BYTES = 4 << 20
MOST_THREAD_WINDOWS = 1 << 20
"""Bound of threads times windows: each thread is looked at in each window. A day of 4 threads in windows of 500 ms has less."""
Kind = TypeVar("Kind")


def windows_of(directory: Path) -> list[WindowLine]:
    """The windows; none if there is no such file. Raises UserError with file and line."""
    path = Path(directory) / FILE
    windows = read_lines(path, TypeAdapter(WindowLine))
    seen = {number for window in windows for number in window.channels_of}
    if len(seen) * len(windows) > MOST_THREAD_WINDOWS:
        raise UserError(
            f"{path}: {len(windows)} windows of {len(seen)} threads: at most {MOST_THREAD_WINDOWS} of both together"
        )
    return windows


def read_lines(path: Path, model: TypeAdapter[Kind], most_bytes: int = MOST_BYTES) -> list[Kind]:
    """The lines of a file of this part; none if there is no such file. A last line without an end is left out. Raises UserError with file
    and line."""
    lines = []
    try:
        for number, line in enumerate(lines_of(path, most_bytes, MOST_LINE_BYTES), 1):
            if not line.endswith(b"\n"):
                break
            try:
                lines.append(model.validate_json(line))
            except ValidationError as error:
                first = error.errors(include_url=False)[0]
                where = ".".join(map(str, first["loc"]))
                remedy = "it is written by windtunnel attach"
                raise UserError(f"{path}:{number}: {where}: {first['msg']}", remedy=remedy) from None
    except FileNotFoundError:
        return []
    return lines
