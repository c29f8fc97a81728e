"""The state and the utilisation of the testbeds of a command, as it announces them."""

from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic

from windtunnel.measure.executor import Job

STATUS = "fleet"
"""Name of the status that a command announces."""
EVERY_S = 1.0
"""Period of reports if nothing else changes."""
Tell = Callable[[dict[str, object]], None]


@dataclass
class _Testbed:
    """A testbed that has joined at least once. Times are those of `monotonic`."""

    name: str
    joined_at: float
    joined_s: float = 0.0
    """How long it was joined before it joined again."""
    busy_s: float = 0.0
    runs: int = 0
    job: Job | None = None
    began_at: float = 0.0
    lost: str = ""

    def ends(self, now: float) -> None:
        if self.job is not None:
            self.busy_s += now - self.began_at
            self.job = None

    def row(self, now: float) -> dict[str, object]:
        joined_s = self.joined_s + (0.0 if self.lost else now - self.joined_at)
        busy_s = self.busy_s + (now - self.began_at if self.job else 0.0)
        return {
            "name": self.name,
            "state": "lost" if self.lost else "running" if self.job else "free",
            "about": self.lost or (self.job.directories[0].name if self.job else ""),
            "runs": self.runs,
            "utilisation": busy_s / joined_s if joined_s else 0.0,
        }


class Utilisation:
    """`tell` gets the number of waiting jobs, and a row for each testbed: name, state (running, free, lost), the directory of its run or
    why it was lost, runs that have ended there, and the share of its time in which it had one."""

    def __init__(self, tell: Tell, now: Callable[[], float] = monotonic):
        self._tell, self._now = tell, now
        self._testbeds: dict[str, _Testbed] = {}
        self._changed, self._told_at = False, 0.0

    def joined(self, name: str) -> None:
        testbed = self._testbeds.setdefault(name, _Testbed(name, self._now()))
        testbed.joined_at, testbed.lost, self._changed = self._now(), "", True

    def lost(self, name: str, why: str) -> None:
        testbed = self._testbeds[name]
        testbed.ends(self._now())
        testbed.joined_s += self._now() - testbed.joined_at
        testbed.lost, self._changed = why, True

    def begins(self, name: str, job: Job) -> None:
        testbed = self._testbeds[name]
        testbed.job, testbed.began_at, self._changed = job, self._now(), True

    def ended(self, name: str, runs: int) -> None:
        testbed = self._testbeds[name]
        testbed.ends(self._now())
        testbed.runs += runs
        self._changed = True

    def report(self, waiting: int) -> None:
        """Reports the utilisation if it has changed, or after EVERY_S."""
        now = self._now()
        if self._changed or now - self._told_at >= EVERY_S:
            self._changed, self._told_at = False, now
            rows = [testbed.row(now) for _, testbed in sorted(self._testbeds.items())]
            self._tell({"waiting": waiting, "testbeds": rows})
