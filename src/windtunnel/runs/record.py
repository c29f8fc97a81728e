"""run.json: the record of one run.

History of the record's version:
5  the first one that is read
6  windows before the run settled are not excluded, and a run that did not settle is valid
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, field_validator, model_validator

from windtunnel.engine.emulated import emulated_in
from windtunnel.engine.lines import Error, Hello, Peer, Phase, Ready, Result
from windtunnel.engine.plan import Plan
from windtunnel.engine.reason import Reason
from windtunnel.engine.verdict import Verdict
from windtunnel.engine.windows import Window
from windtunnel.host.states import Where
from windtunnel.part_registry import part_functions
from windtunnel.runs.observed import Observed
from windtunnel.runs.rows import PortRow, StageRow, VariantRow
from windtunnel.runs.validity import Validity
from windtunnel.scenario.validity_keys import relaxed

RUN_VERSION = 6

DID_NOT_FINISH = "did not finish"
NO_END = Reason(
    "The run has not ended yet, or the process that began it was killed.",
    "Wait for its end, or run it again. The windows that it measured are in `windows.jsonl`.",
)
"""What that means."""


LEAST_NUMBER, MOST_NUMBER = 1e-12, 1e20
"""Bounds of numbers in a record from someone else, of those that are divided by and of all: products, powers and logarithms of what lies
between them are finite."""


class Part(BaseModel):
    model_config = ConfigDict(extra="forbid")


def position_beyond(plan: Plan, line: Window | Result) -> str | None:
    """The first worker, workload or endpoint with stages of the line that the plan does not have, as in "workload 7, and the plan has 1"; or its
    variant."""
    variants = len(plan.variants.variants) if plan.variants else 0
    variant = getattr(line, "variant", None)
    if variant is not None and not 0 <= variant < variants:
        return f"variant {variant}, and the plan has {variants}"
    lengths = {"worker": len(plan.workers), "workload": len(plan.workloads)}
    # to ask a model for what it does not have takes ten times as long as to look into its fields, and each window has hundreds
    lists = (field for field in vars(line).values() if isinstance(field, list))
    parts = [vars(part) for field in lists for part in field if isinstance(part, BaseModel)]
    sides = {endpoint.side for endpoint in plan.endpoints}
    for side in (part["endpoint"] for part in parts if "stage" in part):
        if side not in sides:
            return f"a stage of the {side}, and the plan has none"
    positions = ((name, part.get(name)) for part in parts for name in lengths)
    return next(
        (
            f"{name} {at}, and the plan has {lengths[name]}"
            for name, at in positions
            if at is not None and not 0 <= at < lengths[name]
        ),
        None,
    )


class EngineRecord(Part):
    """One engine process of the run; null: it ended before it wrote that."""

    name: str
    plan: Plan
    phases: list[Phase] = Field(default_factory=list)
    hello: Hello | None = None
    ready: Ready | None = None
    peer: Peer | None = None
    result: Result | None = None
    error: Error | None = None

    @model_validator(mode="after")
    def _stages_are_of_endpoints(self) -> Self:
        endpoints = {stage.endpoint for worker in self.plan.workers for stage in worker.stages}
        if (last := max(endpoints, default=0)) >= len(self.plan.endpoints):
            raise ValueError(f"a worker has a stage of endpoint {last}, and the plan has {len(self.plan.endpoints)}")
        return self

    @model_validator(mode="after")
    def _result_is_of_the_plan(self) -> Self:
        if self.result and (beyond := position_beyond(self.plan, self.result)):
            raise ValueError(f"the result has {beyond}")
        return self

    @property
    def memory(self) -> str:
        """Memory mode, as the engine found it, else as planned: "hugepages" or "no-huge"."""
        return self.hello.memory if self.hello else self.plan.eal.memory


BUSY = "of its time busy"
"""Unit of a ForeignValue that is the share of its time in which a worker of another tool works. `name` is that worker."""


class ForeignValue(Part):
    """A value of another tool that no row can hold."""

    of: str = Field(description="what it belongs to: an endpoint, a port, or the tool itself")
    name: str
    value: float
    unit: str


class Imported(Part):
    """What another tool measured, read from its text: numbers that are not in the text are null."""

    tool: str
    file: str = Field(description="name of the text; a copy of it is in the run directory")
    sha256: str
    at: AwareDatetime = Field(description="when it was imported")
    stages: list[StageRow]
    ports: list[PortRow]
    values: list[ForeignValue]


class Record(Part):
    """What run.json holds."""

    version: Literal[6] = 6
    title: str
    question: str | None
    started: AwareDatetime | None = Field(description="null: another tool did not say")
    finished: AwareDatetime | None = None
    verdict: Verdict
    rejected: bool | None = Field(
        None,
        description="whether the metrics are rejected: the run is invalid, although windows were measured; null: the run did not "
        "come to its end, or an older record",
    )
    validity: Validity | None = Field(None, description="null: no window was measured, or the run was imported")
    scenario: dict[str, Any] = Field(description="every key as resolved")
    relaxed: list[str] = Field(
        default_factory=lambda record: _relaxed(record.get("scenario")),
        description='validity limits that let more pass than their defaults, as in "max_drift 100% instead of 10%"',
    )
    labels: dict[str, str] = Field(default_factory=dict, description="what the user marked the run with: `run --label`")
    notes: list[str] = Field(description="what a reader of the numbers must know")
    host: dict[str, Any]
    testbed: str | None = Field(None, description="testbed on which it ran; null: the host of the command")
    versions: dict[str, str]
    engines: list[EngineRecord]
    variants: list[VariantRow] = Field(
        default_factory=list,
        description="of a run that changed between windows: the first one is the scenario as it is, and the metrics of the run are its own",
    )
    imported: Imported | None = Field(None, description="in the place of engines: what another tool measured")
    observed: Observed | None = Field(None, description="in the place of engines: another program that was observed")

    @field_validator("scenario")
    @classmethod
    def _has_tables(cls, scenario: dict[str, Any]) -> dict[str, Any]:
        """What readers of a scenario take for granted; its keys are those of the release that wrote it."""
        for name in ("client", "server", "wire", "validity", "accounting"):
            if not isinstance(scenario.get(name), dict | None):
                raise ValueError(f"{name} is no table")  # noqa: TRY004 - as pydantic wants it
        workloads = scenario.get("workload", [])
        if not isinstance(workloads, list) or not all(isinstance(workload, dict) for workload in workloads):
            raise ValueError("workload is no list of tables")
        for check in part_functions("record", "check_scenario"):
            check(scenario)
        return scenario

    @field_validator("host")
    @classmethod
    def _has_cpus(cls, host: dict[str, Any]) -> dict[str, Any]:
        """Checks the CPUs of one host, or of the hosts of both sides."""
        for facts in (host, *(facts for s in ("server", "client") if isinstance(facts := host.get(s), dict))):
            allowed = cpus.get("allowed", []) if isinstance(cpus := facts.get("cpus", {}), dict) else None
            if not isinstance(allowed, list) or not all(isinstance(cpu, int) for cpu in allowed):
                raise ValueError("cpus is no table with a list of the allowed ones")
        return host

    @model_validator(mode="after")
    def _measured_by_somebody(self) -> "Record":
        if sum(map(bool, (self.engines, self.imported, self.observed))) != 1:
            raise ValueError("a run has engines, or was imported or observed")
        return self

    @property
    def verdict_words(self) -> str:
        """The verdict in a table: "valid", "valid, limits relaxed", "invalid", "imported" or "observed"."""
        if self.imported:
            return "imported"
        if self.observed and self.verdict.valid:
            return "observed"
        if not self.verdict.valid:
            return "invalid"
        return "valid, limits relaxed" if self.relaxed else "valid"

    @property
    def memory(self) -> str | None:
        """Memory mode of the run; part of its identity, so that engines that differ are both named. Null: not known."""
        return " + ".join(sorted({engine.memory for engine in self.engines})) or None

    @property
    def wire(self) -> str | None:
        """Kinds of port that ran: "ring", "memif", ...; null: not known."""
        return " + ".join(sorted({e.port.wire for engine in self.engines for e in engine.plan.endpoints})) or None

    @property
    def accounting(self) -> str | None:
        """Accounting level, as in "sampled, every 13th loop"."""
        if not self.engines:
            return None  # another tool has its own
        level = self.engines[0].plan.accounting
        return f"{level.level}, 1 loop in {level.sample_every}" if level.level == "sampled" else level.level

    @property
    def builds(self) -> list[str]:
        """Build ids of the engines, without repetition; empty if not known."""
        return sorted({engine.hello.build for engine in self.engines if engine.hello and engine.hello.build})

    @property
    def emulated(self) -> list[str]:
        """What is not real, in words: emulated faults of the wire, and what parts emulate; empty without any."""
        plans = [engine.plan for engine in self.engines]
        return emulated_in(plans)

    @property
    def where(self) -> Where:
        """The state of the host that the metrics are of."""
        state = self.validity.headline_state if self.validity else None
        return Where(state.name, state.line_ns) if state else Where()

    @property
    def hosts(self) -> list[dict[str, Any]]:
        """The facts of each host: of one, or of the server's and the client's if these are two."""
        sides = [facts for side in ("server", "client") if isinstance(facts := self.host.get(side), dict)]
        return sides or [self.host]

    def all_notes(self) -> list[str]:
        """Notes of the scenario and of the engines, each once, in order; what is emulated stands in `emulated`."""
        notes = [
            *self._elsewhere(),
            *self.notes,
            *(note for engine in self.engines if engine.ready for note in engine.ready.notes),
            *(pacing for engine in self.engines if (pacing := _pacing(engine))),
            *(recording for engine in self.engines if (recording := _recording(engine))),
            *(reason for engine in self.engines for reason in _negative_latencies(engine)),
        ]
        return [note for note in dict.fromkeys(notes) if not note.startswith("emulated ")]

    def _elsewhere(self) -> list[str]:
        plans = [engine.plan for engine in self.engines]
        if len(plans) != 1 or plans[0].hello_wait_ns is None:
            return []
        other = "client" if plans[0].endpoints[0].side == "server" else "server"
        return [f"the {other} ran elsewhere: `windtunnel show` of both runs joins them"]


def _relaxed(scenario: dict[str, Any] | None) -> list[str]:
    limits = (scenario or {}).get("validity")
    return relaxed(limits) if isinstance(limits, dict) else []


def _recording(engine: EngineRecord) -> str | None:
    """What stands in the pcaps, in words; None if nothing was recorded."""
    result, path = engine.result, engine.plan.record
    if result is None or result.recorded is None or path is None:
        return None
    sent, missed = Path(path), f"{result.record_missed:,} missed"
    if result.recorded_received is None:
        return f"{sent.name} in the run directory: {result.recorded:,} frames, {missed}"
    received = f"{sent.stem}-received{sent.suffix}: {result.recorded_received:,} frames received"
    return f"{sent.name} in the run directory: {result.recorded:,} frames sent, {received}, {missed}"


def _negative_latencies(engine: EngineRecord) -> Iterator[str]:
    """Responses that seem to have come before their requests left, in words, of each workload that has some."""
    for ledger in engine.result.messages if engine.result else ():
        if ledger.negative_latency:
            name = engine.plan.workloads[ledger.workload].name
            yield (
                f"{ledger.negative_latency:,} of {ledger.responses:,} responses of {name} have a stamp before that of their request, which "
                "another worker took: their latency counts as 0"
            )


def _pacing(engine: EngineRecord) -> str | None:
    """How well a capture's own times were kept, in words; None if none is played at them."""
    from windtunnel.format import count, duration
    from windtunnel.runs.histogram import percentile

    if engine.result is None or engine.result.pacing is None:
        return None
    late = engine.result.pacing.late
    p50, p99 = (duration(percentile(late, percent)) for percent in (50, 99))
    return f"{count(late.total)} frames entered later than their times by {p50} (p50), {p99} (p99), {duration(late.max)} at most"
