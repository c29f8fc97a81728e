"""An application in slow motion with the probe in it, and the observer of the tests: both are C, in attach/tests."""

import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from processes import open_paths

ROOT = Path(__file__).parents[3]
BUILT = ROOT / "build" / "attach"
PROBE = BUILT / "libwindtunnel-attach.so"
INJECT = BUILT / "windtunnel-inject"
SLOW_MOTION = BUILT / "tests" / "slow_motion"
SLOW_MOTION_TSAN = BUILT / "tests" / "slow_motion_tsan"
"""With the probe in it, both under ThreadSanitizer."""
OBSERVE = BUILT / "tests" / "observe"
COUNTS, TIMED, SIZED, LATENCY, STATS = 1, 2, 4, 8, 16
RX, TX = 0, 1
READY, REFUSED = 1, 2
PATIENCE_S = 60.0


def wait_for(condition: Callable[[], object], what: str, of: subprocess.Popen | None = None) -> None:
    """Polls until the condition holds; fails with `what` if it does not within PATIENCE_S, or if the process `of` ends before it does."""
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert of is None or of.poll() is None or condition(), f"ended before: {what}: {of.communicate()}"
        assert time.monotonic() < end, f"still not: {what}"
        time.sleep(0.002)


class Application:
    """A process of slow_motion, which replies to each command with what it has done."""

    def __init__(self, keys: dict[str, int], preload: bool, release: tuple[int, int], program: Path) -> None:
        year, month = release
        environment = (
            os.environ | {"RELEASE": f"{year * 100 + month}"} | ({"LD_PRELOAD": str(PROBE)} if preload else {})
        )
        arguments = [f"{key}={value}" for key, value in keys.items()]
        self.process = subprocess.Popen(
            [program, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )
        self.read_reply()

    @property
    def pid(self) -> int:
        return self.process.pid

    def read_reply(self) -> dict:
        assert self.process.stdout
        line = self.process.stdout.readline()
        assert line, f"the application ended: {self.process.wait()}"
        return json.loads(line)

    def tell(self, command: str) -> dict:
        assert self.process.stdin
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        return self.read_reply()

    def tids(self) -> list[str]:
        return os.listdir(f"/proc/{self.pid}/task")

    def comm(self, tid: str) -> str:
        """The name of a thread; empty if it has ended."""
        try:
            return Path(f"/proc/{self.pid}/task/{tid}/comm").read_text().strip()
        except (FileNotFoundError, ProcessLookupError):
            return ""

    def threads(self) -> list[str]:
        return sorted(map(self.comm, self.tids()))

    def memfds(self) -> int:
        return sum("windtunnel-attach" in path for path in open_paths(self.pid))

    def foreign(self) -> int:
        """How many pointers of the data path are not the drivers' own."""
        return self.tell("pointers")["foreign"]


@contextmanager
def application(
    *, preload: bool = True, release: tuple[int, int] = (22, 11), program: Path = SLOW_MOTION, **keys: int
) -> Iterator[Application]:
    """One that is ended with the test, however it ends."""
    started = Application(keys, preload, release, program)
    try:
        yield started
    finally:
        started.process.kill()
        started.process.communicate()


class Observer:
    """A process of observe, which has the lease from here on."""

    def __init__(self, pid: int, **keys: int) -> None:
        arguments = [f"{key}={value}" for key, value in keys.items()]
        self.process = subprocess.Popen(
            [OBSERVE, str(pid), *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert self.process.stdout
        self.leased = self.process.stdout.readline() == "leased\n"

    def refusal(self) -> str:
        """What it says when it gets no lease."""
        assert not self.leased
        return self.rest(2)[1]

    def page(self) -> dict:
        """What the page holds at the end of the lease."""
        return json.loads(self.rest(0)[0])

    def rest(self, code: int) -> tuple[str, str]:
        """What it prints until it ends with this code. communicate() would miss what readline() has taken in already."""
        assert self.process.stdout
        assert self.process.stderr
        printed, said = self.process.stdout.read(), self.process.stderr.read()
        assert self.process.wait() == code, said
        return printed, said


@contextmanager
def observer(pid: int, **keys: int) -> Iterator[Observer]:
    started = Observer(pid, **keys)
    try:
        yield started
    finally:
        started.process.kill()
        started.process.communicate()


def observe(pid: int, **keys: int) -> dict:
    """A whole lease, and the page at its end."""
    with observer(pid, **keys) as started:
        return started.page()


def observe_wrapped(app: Application, command: str, **keys: int) -> tuple[dict, dict]:
    """What the application did on the command, which it got when all was wrapped, and the page afterwards. However long a busy host takes for it,
    the lease lasts."""
    before = app.foreign()
    with observer(app.pid, **({"for": 600_000, "lease_ms": 2000, "modes": COUNTS} | keys)) as started:
        wait_for(lambda: app.foreign() > before, "wrapped")
        reply = app.tell(command)
        started.process.terminate()
        return reply, started.page()


def inject(pid: int, library: Path = PROBE) -> subprocess.CompletedProcess[str]:
    return subprocess.run([INJECT, str(pid), library], check=False, capture_output=True, text=True, timeout=60)
