"""The announcement of this process: opened by its first run, and kept until its command has ended."""

import contextlib
import getpass
import json
import os
import signal
import sys
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from windtunnel.errors import UserError
from windtunnel.version import __version__

if TYPE_CHECKING:  # every command imports this module
    from windtunnel.live.publisher import Publisher

LIBRARY = "library"
"""Kind of a process that runs no command of Windtunnel."""


class AnnouncedRun:
    """One run of this process, as a listener of the supervisor. It raises nothing: a run goes on if it cannot be watched."""

    def __init__(self, number: int, publisher: "Publisher | None"):
        self._number, self._publisher = number, publisher

    def line(self, name: str, line: Any, raw: str) -> None:
        if self._publisher is not None:
            head = f'{{"run":{self._number},"of":{json.dumps(name)},'
            self._publisher.publish(self._number, f"{head}{raw.strip()[1:]}\n".encode(), window=line.type == "window")

    def ended(self, verdict: Any) -> None:
        """The verdict of the run."""
        self.publish("ended", {"valid": verdict.valid, "reasons": list(verdict.reasons)})

    def publish(self, event: str, about: dict[str, Any]) -> None:
        if self._publisher is not None:
            line = json.dumps({"run": self._number, event: about}, separators=(",", ":"))
            self._publisher.publish(self._number, f"{line}\n".encode())


class Announcement:
    """Announcement of one process. It may have several runs at once, in threads of their own."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kind: str | None = None
        self._publisher: Publisher | None = None
        self._running = self._begun = 0
        self._more: dict[str, Any] = {}

    @contextlib.contextmanager
    def command(self, kind: str, at_once: bool = False, **more: Any) -> Iterator[None]:
        """Runs in this context belong to this command, such as "study". `at_once`: it is announced without a run, with `more` about it."""
        outermost = self._kind is None
        if outermost:
            self._kind = kind
        self._more |= more
        try:
            if at_once:
                self._open()
            yield
        finally:
            if outermost:
                self._kind = None
                self._close_unless_needed()

    @contextlib.contextmanager
    def running(self, spec: Any, directory: Path) -> Iterator[AnnouncedRun]:
        """A run of `spec` into `directory`."""
        with self._lock:
            self._running += 1
            self._begun += 1
            number = self._begun
        run = AnnouncedRun(number, self._open())
        run.publish("begins", _about_run(spec, directory))
        try:
            yield run
        finally:
            if self._publisher is not None:
                self._publisher.forget(number)
            with self._lock:
                self._running -= 1
            self._close_unless_needed()

    def progress(self, done: int, total: int | None, unit: str, left_s: float | None = None) -> None:
        """Announces the progress of a command with many runs: how many of its runs, pairs or trials are done. `of` and `left_s`: None if unknown."""
        self.status("progress", {"done": done, "of": total, "unit": unit, "left_s": left_s})

    def status(self, name: str, about: dict[str, Any]) -> None:
        """Announces a status of the command. Only its latest one of each name counts."""
        publisher = self._open() if self._kind is not None else self._publisher
        if publisher is not None:
            publisher.publish_status(name, f"{json.dumps({name: about})}\n".encode())

    def _open(self) -> "Publisher | None":
        from windtunnel.live import places
        from windtunnel.live.publisher import Publisher

        with (
            self._lock,
            contextlib.suppress(UserError, OSError),
        ):  # no runtime directory, or a path too long for a socket
            if self._publisher is None:
                places.remove_all_stale()
                path = places.socket_path(os.getpid())
                self._publisher = Publisher(path, _about_process(self._kind or LIBRARY, self._more), stop)
        return self._publisher

    def _close_unless_needed(self) -> None:
        with self._lock:
            if self._kind is None and not self._running and self._publisher is not None:
                self._publisher.close()
                self._publisher = None


def stop() -> None:
    """Stops as Ctrl-C does; if that is ignored (nohup, a background job of a script), as SIGTERM does. The signal goes to the main thread,
    because that one waits."""
    ignored = signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGTERM if ignored else signal.SIGINT)


def _about_process(kind: str, more: dict[str, Any]) -> bytes:
    about = {
        "live": 1,
        "kind": kind,
        "pid": os.getpid(),
        "user": _user(),
        "command": ["windtunnel", *sys.argv[1:]],
        "directory": os.getcwd(),
        "started": datetime.now(UTC).isoformat(),
        "version": __version__,
        **more,
    }
    return f"{json.dumps(about)}\n".encode()


def _user() -> str:
    try:
        return os.environ.get("SUDO_USER") or getpass.getuser()
    except (KeyError, OSError):  # a user without a name
        return str(os.getuid())


def _about_run(spec: Any, directory: Path) -> dict[str, Any]:
    from pydantic_core import to_jsonable_python

    about: dict[str, Any] = to_jsonable_python(
        {
            "title": spec.title,
            "question": spec.question,
            "notes": list(spec.notes),
            "scenario": spec.resolved,
            "names": list(spec.names),
            "plans": list(spec.plans),
            "directory": str(directory.absolute()),
        }
    )
    return about


ANNOUNCEMENT = Announcement()
"""The announcement of this process."""
