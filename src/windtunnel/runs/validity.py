"""What a run found out about itself: checks and their limits, and the excluded windows.

It is made by `windtunnel.measure.validity` and kept in run.json. Excluded windows stay in windows.jsonl, and in latency.hlog under tags of their own. No
metric of a valid run uses them. The metrics of an invalid run whose engines measured windows are rejected: they are shown as such.
"""

from collections.abc import Mapping, Sequence
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from windtunnel import format as fmt
from windtunnel.engine.reason import Reason
from windtunnel.engine.windows import Window

State = Literal["good", "note", "warning", "bad", "unknown"]

HEADLINES = " and "
"""Between the headlines of two hosts, whose runs are joined."""
WINDOWS = "windows"
"""Name of the check that enough windows are left."""
STEADY = "steady"
"""Name of the check that the run settled on one level. It makes no run invalid: that a run does not settle is a result."""
BAD_CHECKS: Final = {
    WINDOWS: Reason(
        "The kernel or the hypervisor took the CPU of a worker away, the process was stopped, the clock of a core fell, or a link was down, in too many windows.",
        "Stop other programs on these CPUs, and check the link. Raising `validity.max_preempted` or `validity.max_excluded_windows` lets more pass.",
    ),
    "host state": Reason(
        "The host state that was asked for never came, or is not known.",
        "Repeat the run, or ask for a state that was seen: the reason lists them.",
    ),
    "traffic": Reason(
        "No packet was received or sent: nothing was measured.",
        "Look at the wire and its other end: addresses, ports, the link, or the capture that is replayed.",
    ),
    "generator": Reason(
        "The client was too slow for its rate: messages that were due, with room in flight and a free port, were not sent.",
        "Lower `rate`, or give the client more applications and cores.",
    ),
    "clock": Reason(
        "The TSC and the clock of the kernel differ by more than `validity.max_clock_error`.",
        "`windtunnel host doctor` shows whether the TSC has a constant rate. If it has none, measure on another host; otherwise repeat the run.",
    ),
}
"""The checks that can make a run invalid, each with its cause and what to do."""


class Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Check(Part):
    """One check of the run."""

    name: str = Field(
        description="windows, host state, generator, steady, clock, traffic, accounting, resolution, samples, emulated"
    )
    state: State = Field(
        description="bad makes the run invalid; a warning says what to do, a note needs no action; unknown: this run cannot tell"
    )
    words: str = Field(description="what was seen, for people")
    value: float | None = Field(None, description="what was seen, in the unit of the limit; null: nothing to measure")
    limit: float | None = Field(None, description="the scenario's; null: there is none")
    unit: Literal["share", "ppm", "ratio"] | None = None


class ExcludedWindow(Part):
    """A window whose counters are in no metric."""

    engine: str
    window: int = Field(description="index of the engine's window")
    reasons: list[str] = Field(min_length=1)


class HostState(Part):
    """Places of the workers' CPUs, and what the run measured meanwhile."""

    name: str = Field(description="one-core, one-l3, two-l3s, ...; one-level if the host showed no other level yet")
    words: str
    windows: int
    indexes: list[int] = Field(description="of these windows, in the first engine")
    line_ns: float | None = Field(
        description="median round trip of a cache line; if no two workers exchange packets, that of a small copy to the thread of a "
        "software copier; null: there is none either"
    )
    sibling: float | None = Field(
        None,
        description="how many times as long as the least known on this host additions took that fill a core: hardware threads beside the "
        "workers' share it; the median over windows of the worker with the busiest; null: not known, or a record of version 5, which may have busy siblings as states",
    )
    responses_per_s: dict[str, float] = Field(description="workload -> rate")
    p50_ns: dict[str, int | None] = Field(description="workload -> median latency")
    stage_ns: dict[str, float | None] = Field(
        default_factory=dict, description='"server nic_rx" -> work and stall, ns per packet; null: not timed'
    )


What = Literal["responses_per_s", "packets_per_s", "p50_ns"]
WHAT: dict[What, str] = {
    "responses_per_s": "the response rate",
    "packets_per_s": "the packet rate",
    "p50_ns": "the median latency",
}
"""The metric by which a run is looked at over time, in words."""


def shown(what: What, value: float) -> str:
    """A value of that metric with its unit, as in "25.1 M/s"."""
    return fmt.duration(value) if what == "p50_ns" else fmt.rate(value)


class Settled(Part):
    """The metric by which the run is looked at over time, over the windows that the metrics are of, and whether these had neither a step nor
    a trend. Records of version 5 excluded the windows before the last level: there it is that level's."""

    what: What
    settled: bool
    after_ns: int = Field(description="from the beginning of the measurement to the last step; 0: there was none")
    windows: int
    mean: float
    half_width: float | None = Field(
        description="half of the mean's 95% interval, as a share of the mean; null: too few windows"
    )


class SettledPhase(Settled):
    """Likewise, of the windows that lie wholly in one phase of the load, in all rounds."""

    phase: dict[str, int] = Field(
        description="workload -> its phase, from 1; of several workloads with phases one of each, at the same time"
    )


class Validity(Part):
    checks: list[Check]
    excluded: list[ExcludedWindow]
    states: list[HostState] = Field(
        default_factory=list, description="the one with the most windows first; empty: not known"
    )
    headline: str | None = Field(None, description="the state that all metrics are of; null: states are not known")
    settled: Settled | None = Field(
        None, description="null: too few windows to tell, or the load itself changes: in phases, see settled_phases"
    )
    settled_phases: list[SettledPhase] = Field(
        default_factory=list, description="of a load with phases: those with enough windows to tell"
    )

    @property
    def too_few_left(self) -> bool:
        """Whether so many windows are excluded that the rest says nothing: rejected metrics are then of all windows."""
        return any(check.name == WINDOWS and check.state == "bad" for check in self.checks)

    def of_metrics(self, state: HostState) -> bool:
        """Whether the metrics are of this state; of two hosts each has one."""
        return self.headline is not None and state.name in self.headline.split(HEADLINES)

    @property
    def stages(self) -> list[str]:
        """Stages that were timed in any state, as in "server nic_rx"."""
        return list(dict.fromkeys(stage for state in self.states for stage in state.stage_ns))

    @property
    def headline_state(self) -> HostState | None:
        return next((state for state in self.states if state.name == self.headline), None)

    @property
    def settled_words(self) -> str | None:
        """The level that the metrics are of, or that of each phase of the load, with its interval; None if the run did not settle,
        or that cannot be told."""
        levels = [self.settled] if self.settled else self.settled_phases
        if not levels or not all(level.settled for level in levels):
            return None
        return next((check.words for check in self.checks if check.name == STEADY), None)

    @property
    def reasons(self) -> list[str]:
        """Why the run is invalid: "<check>: <words>" of what is bad."""
        return [f"{check.name}: {check.words}" for check in self.checks if check.state == "bad"]


def counted(windows: Mapping[str, Sequence[Window]], validity: Validity | None) -> dict[str, list[Window]]:
    """The windows that metrics use: those that are not excluded; all of them if too few are left, and the metrics are rejected."""
    return not_excluded(windows, None if validity and validity.too_few_left else validity)


def not_excluded(windows: Mapping[str, Sequence[Window]], validity: Validity | None) -> dict[str, list[Window]]:
    """The windows without those that are excluded.

    The engines of one run measure the same thing at the same time: if one engine excludes its nth measured window, the
    others exclude theirs.
    """
    if validity is None or not validity.excluded:
        return {name: list(of_engine) for name, of_engine in windows.items()}
    measured = {name: [w for w in of_engine if w.phase == "measure"] for name, of_engine in windows.items()}
    named = {(each.engine, each.window) for each in validity.excluded}
    out = {n for name, of in measured.items() for n, window in enumerate(of) if (name, window.index) in named}
    excluded = {name: {window.index for n, window in enumerate(of) if n in out} for name, of in measured.items()}
    return {
        name: [window for window in of_engine if window.index not in excluded[name]]
        for name, of_engine in windows.items()
    }


def of_variant(windows: Sequence[Window], variant: int) -> list[Window]:
    """All windows, as if this variant were the first one: its windows are the measurement, and those of the others are not."""
    return [_seen_by(window, variant) for window in windows]


def _seen_by(window: Window, variant: int) -> Window:
    if window.phase not in ("measure", "variant"):
        return window
    return window.model_copy(update={"phase": "measure" if window.variant == variant else "variant"})


def windows_of(windows: Mapping[str, Sequence[Window]]) -> int:
    """How many windows were measured; of several engines those of the one that measured most."""
    return max((sum(w.phase == "measure" for w in of_engine) for of_engine in windows.values()), default=0)
