"""Running plans with the fake engine; shared by the tests of the supervisor."""

import threading
from pathlib import Path

from windtunnel.engine.history import SupervisedRun
from windtunnel.engine.interrupts import Interrupts
from windtunnel.engine.supervisor import Supervisor

FAKE = Path(__file__).with_name("fake_engine.py")
CLIENT, SERVER = ("client",), ("server",)


class RunSpec:
    """Runs plans with the fake engine and keeps what the listeners heard."""

    def __init__(self, directory: Path):
        self.directory = directory
        self.heard: list[tuple[str, str]] = []
        self.listeners = [lambda name, line, raw: self.heard.append((name, line.type))]

    def log(self, name: str) -> Path:
        return self.directory / f"{name}.log"

    def run(self, *plans, binary: Path = FAKE, at_window=None, extending=None) -> SupervisedRun:
        """`at_window` is called once, in the listener, at the first window. `extending`: the supervisor's."""
        if at_window:
            self.listeners.append(_once(at_window))
        for log in self.directory.glob("*.log"):  # of an earlier run
            log.unlink()
        names = [plan.endpoints[0].side if len(plans) > 1 else "windtunnel" for plan in plans]
        with Interrupts() as interrupts:
            return Supervisor(binary, self.log, self.listeners, interrupts, extending=extending).run(plans, names)


def _once(action):
    done = []

    def listen(name, line, raw):
        if line.type == "window" and not done:
            done.append(True)
            action()

    return listen


def has_ended(pid: int) -> bool:
    """Whether the process has ended; one that only waits for its parent's attention has."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except (FileNotFoundError, ProcessLookupError):  # gone before, or between open and read
        return True


def gone(pid: int) -> bool:
    """Whether the process has ended within 5 s."""
    for _ in range(500):
        if has_ended(pid):
            return True
        threading.Event().wait(0.01)
    return False


def script(directory: Path, body: str) -> Path:
    script = directory / "engine.sh"
    script.write_text(f"#!/bin/sh\n{body}\n")
    script.chmod(0o755)
    return script


def behave(monkeypatch, said: str) -> None:
    monkeypatch.setenv("FAKE_ENGINE", said)
