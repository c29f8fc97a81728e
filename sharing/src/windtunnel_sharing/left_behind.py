"""Journals whose holders have ended, by a kill: finds them, and restores what they record."""

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from windtunnel.api.errors import UserError, as_argument, cannot_write, in_words
from windtunnel.api.files import own_directory, own_lock
from windtunnel_sharing import claims, inherited_changes, journal
from windtunnel_sharing.before_tenants import before_tenants
from windtunnel_sharing.entries import Entries

SETTLE_S = 0.05
"""After a kill: forks that had begun have ended then, and calls of the kernel's that killed processes were in."""
LOCK = "journals.lock"
PATIENCE_S = 30.0
"""A restore of thousands of threads takes some seconds."""


def journals() -> list[Path]:
    """The journals in the default directory, in those of daemons below it, and where those were who claimed a CPU."""
    files = [
        file
        for suffix in (journal.SUFFIX, journal.SUFFIX + journal.NEW)
        for file in journal.directory().rglob(f"*{suffix}")
    ]
    here = {file.with_name(file.name.removesuffix(journal.NEW)) for file in files}
    return sorted(here | {file for file in claims.journals(journal.directory()) if _there(file)})


def _there(path: Path) -> bool:
    return any(os.path.lexists(file) for file in (path, journal.new_of(path)))


def restore_all(say: Callable[[str], object]) -> None:
    """Restores what killed holders have left, whose guardians were killed too, before anything is changed: how a thread of theirs runs now is
    not how it ran. `say` is called with a line about each journal that was restored, or cannot be."""
    with before_tenants():
        for path in journals():
            try:
                with in_words():
                    done = restore(path)
            except Held:
                continue
            except UserError as error:
                say(f"left as it is: {error.message}")
            else:
                said = "".join(f"; {line}" for line in done.said)
                say(f"{path} was left by a process that was killed: {done.threads} of its threads looked after{said}")


class Held(UserError):
    """The holder of a journal lives."""


@dataclass(frozen=True)
class Restored:
    """What became of a journal's threads. `said`: what stays as it is, and why. `failed`: some of it is still ours."""

    threads: int
    said: list[str]
    failed: bool


def restore(path: Path) -> Restored:
    """Restores what a journal records whose holder has ended. Ends the helpers first, and removes the journal unless something failed,
    which can then be tried again.

    Raises UserError while its holder lives, where there is no journal, and where the journal or its directory is not ours alone.
    """
    with locked(path):
        if not _there(path):
            raise UserError(f"{path}: no such journal", remedy=f"without arguments: all in {journal.directory()}")
        contents = journal.read(path)
        if contents.holder is not None and contents.holder.stays:
            raise Held(f"{path} is held by process {contents.holder.pid}", remedy="stop it first")
        count = len(contents.entries)
        said = restore_contents(contents)
        failed = bool(contents.entries or contents.settings)
        if not failed:
            journal.remove(path)
    return Restored(count, said, failed)


def restore_contents(contents: journal.Contents) -> list[str]:
    """Ends the helpers, and restores everything. `contents` keeps what is still ours. Returns what stays changed, and why."""
    inherited_changes.end(contents.helpers)
    contents.helpers = []
    settings = inherited_changes.put_settings_back(contents.settings)
    contents.settings = {path: before for path, before in contents.settings.items() if path in settings}
    entries = list(contents.entries.values())
    said = inherited_changes.put_back(entries, contents.entries)
    time.sleep(SETTLE_S)
    said += filter(None, inherited_changes.put_back_forked(entries, contents.entries, {each.pid for each in entries}))
    contents.entries = Entries(filter(inherited_changes.is_changed, contents.entries.values()))
    return [*settings.values(), *said]


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """One process at a time takes over or restores a journal of a directory. It locks a file there, which is its user's alone: whoever may read
    the directory itself may lock that. Raises UserError if another process keeps the lock for PATIENCE_S."""
    lock = path.with_name(LOCK)
    with contextlib.ExitStack() as stack:
        try:
            directory = stack.enter_context(own_directory.opened(path.parent))
            descriptor = own_lock.open_own(
                LOCK, os.O_RDONLY, directory
            )  # also if nothing can be written there any more
            stack.callback(os.close, descriptor)
            own_lock.take(descriptor, PATIENCE_S)
        except BlockingIOError:
            raise UserError(
                f"{path}: another process takes over or restores a journal there",
                remedy=f"wait for its end, or stop it: fuser -v {as_argument(lock)}",
            ) from None
        except OSError as error:
            raise cannot_write(lock, error, claims.SPACE) from None
        yield
