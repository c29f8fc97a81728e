"""The lines and the end of one engine, and what a run left of all of its engines: the facts for a verdict."""

from collections import Counter
from dataclasses import dataclass, field

from windtunnel.engine.lines import AnyLine, Error, Handler, Hello, Phase, Ready, Result
from windtunnel.engine.plan import Plan
from windtunnel.engine.signals import signal_name
from windtunnel.engine.windows import Window


@dataclass
class History:
    """Grows while the engine runs; complete once `ended_at` is set."""

    name: str
    plan: Plan
    phase: str = "starting"
    ready: bool = False
    measured: int = 0
    """Windows of the phase `measure`."""
    responses: Counter[int] = field(default_factory=Counter)
    """Responses of each workload in windows of the phase `measure`."""
    handlers: list[Handler] = field(default_factory=list)
    """Handlers that were opened and tried, if nothing runs."""
    result: Result | None = None
    refusal: Error | None = None
    protocol_error: str | None = None
    cut_short: bool = False
    """The last line is incomplete."""
    killed_because: str | None = None
    """Why the supervisor killed it; None when it ended by itself."""
    starts: int = 1
    """It was started so often; the deaths before the last start were those of an engine that waited for its link."""
    peer_gone: bool = False
    """The supervisor saw another engine of the run end badly while this one still ran."""
    peer_done: bool = False
    """It was asked to stop because the client had finished."""
    pid: int | None = None
    """Of the engine itself, below its guard; None before it has said so."""
    exit_code: int | None = None
    """Exit code of the process; -N if signal N ended it."""
    ended_at: float | None = None
    """CLOCK_MONOTONIC seconds."""

    def note(self, line: AnyLine) -> None:
        """Takes in one line."""
        match line:
            case Phase():
                self.phase = line.name
            case Hello():
                self.pid = line.pid
                if line.plan_hash != self.plan.hash:
                    self.protocol_error = f"hello names the plan {line.plan_hash[:12]}, not {self.plan.hash[:12]}"
            case Ready():
                self.ready, self.phase = True, "running"
            case Window():
                self.phase = f"running, after window {line.index}"
                if line.phase == "measure":
                    self.measured += 1
                    self.responses.update({workload.workload: workload.responses for workload in line.workloads})
            case Handler():
                self.handlers.append(line)
            case Result():
                self.result, self.phase = line, "ending"
            case Error():
                self.refusal = line

    @property
    def is_client(self) -> bool:
        return any(endpoint.side == "client" for endpoint in self.plan.endpoints)

    @property
    def ended_well(self) -> bool:
        return self.result is not None and self.exit_code == 0 and self.protocol_error is None

    @property
    def signal_name(self) -> str | None:
        """Name of the signal that ended the process, or None."""
        return signal_name(self.exit_code)


@dataclass
class SupervisedRun:
    """What a run left in memory: one history an engine, in the plans' order."""

    histories: list[History]
    interrupted: bool = False
    unread: bool = False
    """The reader of what a listener prints has left."""
    not_written: str | None = None
    """Why a listener failed, in words; None if it took all lines."""

    @property
    def stopped(self) -> bool:
        """Whether it was asked to end before its time, by the user or because nobody reads."""
        return self.interrupted or self.unread
