"""What /proc shows of a process; nothing of one that ends while it is read."""

import os
from contextlib import suppress
from pathlib import Path

ENDED = (FileNotFoundError, ProcessLookupError, PermissionError)
"""The last one: the descriptors of a process that nobody has waited for yet."""


def children(pid: int) -> list[int]:
    """The children of all its threads, by pid."""
    return [int(child) for text in _of_threads(pid, "children").values() for child in text.split()]


def thread_names(pid: int) -> dict[int, str]:
    """The name of each thread, by its number."""
    return {thread: text.strip() for thread, text in _of_threads(pid, "comm").items()}


def open_paths(pid: int) -> list[str]:
    """What its descriptors lead to."""
    paths = []
    with suppress(*ENDED):
        for link in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(*ENDED):
                paths.append(os.readlink(link))
    return paths


def _of_threads(pid: int, file: str) -> dict[int, str]:
    texts = {}
    with suppress(*ENDED):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            with suppress(*ENDED):
                texts[int(thread.name)] = (thread / file).read_text()
    return texts
