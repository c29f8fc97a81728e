"""An imported run's directory: run.json, whose numbers are another tool's, and a copy of the text that they were read from."""

import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from windtunnel.engine.verdict import Verdict
from windtunnel.errors import UserError, cannot_write
from windtunnel.exchange.source import Foreign
from windtunnel.runs.directories import making
from windtunnel.runs.files import mode_of_copy, replace
from windtunnel.runs.reader import Run, load
from windtunnel.runs.record import ForeignValue, Imported, Record
from windtunnel.runs.rows import PortRow, StageRow
from windtunnel.version import __version__

SOURCE = "source.txt"


def keep(
    directory: Path,
    foreign: Foreign,
    *,
    tool: str,
    title: str,
    stages: Sequence[StageRow],
    ports: Sequence[PortRow],
    values: Sequence[ForeignValue],
    notes: Sequence[str],
) -> Run:
    """Makes `directory` and reads the run back. Raises UserError if it exists or cannot be written."""
    imported = Imported(
        tool=tool,
        file=foreign.file.name,
        sha256=foreign.sha256,
        at=datetime.now(UTC),
        stages=list(stages),
        ports=list(ports),
        values=list(values),
    )
    record = Record(
        title=title,
        question=None,
        started=None,
        verdict=Verdict(True),
        scenario={},
        notes=list(notes),
        host={},
        versions={"windtunnel": __version__, "python": platform.python_version()},
        engines=[],
        imported=imported,
    )
    try:
        mode = mode_of_copy(foreign.file.stat())
        with making(directory) as new:
            replace(new / SOURCE, foreign.text, mode)
            replace(new / "run.json", record.model_dump_json(indent=1) + "\n", mode)
    except OSError as error:
        raise cannot_write(directory, error) from error
    return load(directory)


def write_new(path: Path, text: str) -> None:
    """Writes a new file. Raises UserError if it exists, or cannot be written."""
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise UserError(f"{path}: exists already", remedy="choose a new file with --out") from None
    except OSError as error:
        raise cannot_write(path, error) from error
