"""Files of run directories that others may have made: no link or FIFO is opened, and nothing is read without a bound."""

import os
import stat
from pathlib import Path

from windtunnel.errors import UserError

MOST_BYTES = 64 << 20
"""Of a file that is read."""
READ = ("run.json", "windows.jsonl")
"""Of a run directory."""
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def check_files(directory: Path) -> None:
    """Raises UserError for a run directory in which something is a link or a FIFO, which may lead elsewhere or to no end, or what is read is
    a giant."""
    for path in directory.iterdir():
        found = path.lstat()
        if not (stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)):
            raise UserError(f"{path.name}: not a file")
        if path.name in READ and found.st_size > MOST_BYTES:
            raise UserError(f"{path.name}: larger than {MOST_BYTES >> 20} MiB")


def read_file(path: Path, most_bytes: int) -> bytes:
    """Of a regular file. Raises UserError for another one, or a larger one, and OSError."""
    with os.fdopen(os.open(path, _FILE), "rb") as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode) or found.st_size > most_bytes:
            raise UserError(f"{path.name}: not a file, or larger than {most_bytes >> 10} KiB")
        return file.read(most_bytes)
