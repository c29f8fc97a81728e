"""Files of run directories that others may have made: no link or FIFO is opened, and nothing is read without a bound."""

import stat
from pathlib import Path

from windtunnel.errors import UserError

MOST_BYTES = 64 << 20
"""Of a file that is read."""
READ = ("run.json", "windows.jsonl")
"""Of a run directory."""


def check_files(directory: Path) -> None:
    """Raises UserError for a run directory in which something is a link or a FIFO, which may lead elsewhere or to no end, or what is read is
    a giant."""
    for path in directory.iterdir():
        found = path.lstat()
        if not (stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)):
            raise UserError(f"{path.name}: not a file")
        if path.name in READ and found.st_size > MOST_BYTES:
            raise UserError(f"{path.name}: larger than {MOST_BYTES >> 20} MiB")
