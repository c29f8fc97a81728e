"""The children of a process."""

from contextlib import suppress
from pathlib import Path


def children(pid: int) -> list[int]:
    """Its children now, by pid; a process that has ended has none."""
    with suppress(FileNotFoundError, ProcessLookupError):
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return []
