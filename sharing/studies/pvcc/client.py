"""The open-loop client: what it is told, its start, and what it found (`windtunnel-client`, native/client).

Everything is counted in the phase and the window of a request's intended time; latency is that of right answers alone.
"""

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from pvcc.kept_process import ROOM, Kept
from windtunnel.api.errors import UserError
from windtunnel.api.histograms import Histogram
from windtunnel_sharing.native import find_native

WINDOW_NS = 100_000_000
_GRACE_S = 30.0


class Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Phase(Part):
    name: str
    duration_ns: Annotated[int, Field(ge=1_000_000)]
    per_s: Annotated[float, Field(ge=0)]
    poisson: bool = True


class Target(Part):
    """One server, and the load that it gets."""

    name: str
    address: str = "127.0.0.1"
    protocol: Literal["memcached", "redis", "http"]
    port: int
    connections: int = 8
    inflight: int = 1024
    """Requests that wait on one connection at most; what finds no room is unsent."""
    keys: int = 1000
    value: int = 32
    get_percent: int = 100
    load_keys: bool = True
    seed: int = 1
    phases: list[Phase]


class ClientPlan(Part):
    cpu: int
    tenant_cpus: list[int]
    """Where the client may not run."""
    window_ns: int = WINDOW_NS
    patience_ns: int = 200_000_000
    """How long answers are waited for at the end; what still waits then is lost."""
    targets: list[Target]

    def duration_ns(self) -> int:
        return max(sum(phase.duration_ns for phase in target.phases) for target in self.targets)


class Counted(Part):
    """offered = unsent + sent; sent = right + missing + refused + wrong + lost."""

    offered: int
    unsent: int
    sent: int
    lost: int
    right: int
    missing: int
    refused: int
    wrong: int
    latency: Histogram


class PhaseResult(Counted):
    name: str
    duration_ns: int
    latency_sent: Histogram

    @property
    def responses_per_s(self) -> float:
        return self.right / self.duration_ns * 1e9


class TargetResult(Part):
    name: str
    resets: int
    malformed: int
    phases: list[PhaseResult]
    windows: list[Counted]

    def phase(self, name: str) -> PhaseResult:
        return next(phase for phase in self.phases if phase.name == name)


class Ready(Part):
    type: Literal["ready"]


class Failed(Part):
    type: Literal["error"]
    message: str
    remedy: str | None


class ClientResult(Part):
    type: Literal["result"]
    start_ns: int
    """CLOCK_MONOTONIC."""
    end_ns: int
    cpu_ns: int
    longest_gap_ns: int
    """Longest time between two looks at the clock: nothing was sent or read meanwhile."""
    targets: list[TargetResult]


_LINE = TypeAdapter(Annotated[Ready | Failed | ClientResult, Field(discriminator="type")])


class Client:
    """The running client. Raises UserError where it may not run there, or a server does not respond."""

    def __init__(self, plan: ClientPlan, directory: Path):
        """The plan and the log lie in `directory`."""
        if plan.cpu in plan.tenant_cpus:
            raise UserError(
                f"the client may not run on CPU {plan.cpu}, which its tenants use: it would measure itself",
                remedy="use another CPU; if there is none, use tenants that make their own arrivals (windtunnel-tenant)",
            )
        self._plan = plan
        file = directory / "client.json"
        file.write_text(plan.model_dump_json(), encoding="utf-8")
        self._kept = Kept([find_native("windtunnel-client", ROOM), file], log=directory / "client.log", cpu=plan.cpu)
        self._kept.runs_first()
        self._line(self._kept.out.readline())

    def _line(self, raw: bytes) -> Ready | ClientResult:
        try:
            said = _LINE.validate_json(raw)
        except ValidationError:
            self._kept.stop()
            raise UserError(f"the client ended without a message: {self._kept.tail()}") from None
        if isinstance(said, Failed):
            self._kept.stop()
            raise UserError(said.message, remedy=said.remedy)
        return said

    def result(self) -> ClientResult:
        """Waits for the end of all phases."""
        patience_s = (self._plan.duration_ns() + self._plan.patience_ns) / 1e9 + _GRACE_S
        _code, out = self._kept.wait(patience_s)
        said = self._line(out.splitlines()[-1] if out else b"")
        if not isinstance(said, ClientResult):
            raise UserError("the client ended without a result")
        return said

    def stop(self) -> None:
        self._kept.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
