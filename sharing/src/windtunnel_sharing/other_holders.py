"""Who else changes a thread at the moment: two that change the same one would each take the other's change for how it ran."""

import contextlib
import os
import time
from dataclasses import dataclass
from pathlib import Path

from windtunnel.api.errors import UserError, in_words
from windtunnel_sharing import journal, left_behind
from windtunnel_sharing.threads import CannotChange, Process, Stat

REST = 10
"""Times as long as the last look at the others' journals took, until the next one: they may be long."""


@dataclass(frozen=True)
class _Known:
    """A journal as it was when it was read: `version` is different after each change."""

    version: tuple[int, int, int]
    holder: Process | None
    threads: frozenset[tuple[int, int]]
    """Each with its start."""


class OtherHolders:
    """The journals beside one of ours."""

    def __init__(self, mine: Path):
        self._mine = mine.absolute()
        self._known: dict[Path, _Known] = {}
        self._again_at = 0.0

    def check(self, tid: int, found: Stat) -> None:
        """Raises CannotChange for a thread that is in the journal of another holder who lives."""
        begin = time.monotonic()
        if begin >= self._again_at:
            self._read()
            end = time.monotonic()
            self._again_at = end + REST * (end - begin)
        for known in self._known.values():
            if (tid, found.started) in known.threads and known.holder is not None and known.holder.lives:
                words = f"process {found.pid} is shared by process {known.holder.pid}, another daemon, probe or figure"
                raise CannotChange(tid, words, "take it out there first")

    def _read(self) -> None:
        """Those that are not ours to read, or are none, are nobody's whom we could meet."""
        before, self._known = self._known, {}
        with contextlib.suppress(UserError, OSError):
            for path in left_behind.journals():
                with contextlib.suppress(UserError), in_words():
                    if path.absolute() != self._mine:
                        self._known[path] = _known(path, before.get(path))


def _known(path: Path, before: _Known | None) -> _Known:
    status = os.stat(path)
    version = status.st_ino, status.st_size, status.st_mtime_ns
    if before is not None and before.version == version:
        return before
    contents = journal.read(path)
    return _Known(version, contents.holder, frozenset((tid, one.started) for tid, one in contents.entries.items()))
