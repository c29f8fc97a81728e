"""Files of run directories that others may have made: no link or FIFO is opened, and nothing is read without a bound."""

import stat
from pathlib import Path

from windtunnel.errors import UserError
from windtunnel.text_file import MOST_RECORD_BYTES

MOST_BYTES = {
    "run.json": MOST_RECORD_BYTES,
    "windows.jsonl": 64 << 20,
    "counters.jsonl": 16 << 20,
    "pcie-counters.txt": 4 << 20,
}
"""Of a run directory's files that are read. 16 MiB hold an hour of 16 counters in windows of 1 s; a counter is of one event and worker."""


def check_files(directory: Path) -> None:
    """Raises UserError for a run directory in which something is a link or a FIFO, which may lead elsewhere or to no end, or what is read is
    a giant."""
    for path in directory.iterdir():
        found = path.lstat()
        if not (stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)):
            raise UserError(f"{path.name}: not a file")
        if found.st_size > (most := MOST_BYTES.get(path.name, found.st_size)):
            raise UserError(f"{path.name}: larger than {most >> 20} MiB")
