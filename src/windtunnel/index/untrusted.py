"""Checks of run directories that others may have made: no link or FIFO is opened, and nothing is read without a bound."""

import stat
from pathlib import Path

from windtunnel.errors import UserError
from windtunnel.part_registry import part_modules
from windtunnel.runs import monitor
from windtunnel.text_file import MOST_RECORD_BYTES

MOST_BYTES = {
    "run.json": MOST_RECORD_BYTES,
    "windows.jsonl": 64 << 20,
    "counters.jsonl": 16 << 20,
    monitor.FILE: monitor.MAX_BYTES,
}
for _part in part_modules("untrusted"):
    MOST_BYTES |= _part.MOST_BYTES
"""Bounds of the files in a run directory that are read. 16 MiB hold an hour of 16 counters in windows of 1 s; a counter is of one event and worker."""


MOST_TEXT_BYTES = 16 << 20
"""Bound of the monitor's texts together, for which a page waits as for one file of counters."""


def check_files(directory: Path) -> None:
    """Raises UserError for a run directory with a link or a FIFO, which may lead out of it or never end, or with files above their bounds."""
    texts = MOST_TEXT_BYTES
    for path in directory.iterdir():
        status = path.lstat()
        if not (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)):
            raise UserError(f"{path.name}: not a file")
        if status.st_size > (limit := MOST_BYTES.get(path.name, status.st_size)):
            raise UserError(f"{path.name}: larger than {limit >> 20} MiB")
        if path.name.startswith(monitor.PREFIX):
            texts -= status.st_size
        if texts < 0:
            raise UserError(f"{monitor.PREFIX}*: larger than {MOST_TEXT_BYTES >> 20} MiB together")
