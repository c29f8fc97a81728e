"""What a run would do with other cores, queues, batches, messages in flight or another NIC: the bottleneck law.

A loop of a worker calls each of its stages once. A call of a stage that moves n packets costs a + b x n; the run's own calls
of several sizes show a and b separately (`windtunnel.measure.validity.call_cost`), those of its variants too. With M messages a loop, a message needs the sum of a / M + b x p over the stages
of the worker, p packets per message each, and its part of what a loop costs beside its calls. A worker that limits has a queue in front of
it, so M is the least batch / p of its stages, times how far the worker that limits the run filled them. The worker that needs longest sets
the rate, as far as the load, the messages in flight and PCIe allow it.
"""

from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import asdict, dataclass
from fnmatch import fnmatch
from functools import cached_property, partial
from typing import Any

from pydantic import ValidationError

from windtunnel.engine.plan_values import Side, Stage
from windtunnel.engine.windows import StageWindow, Window
from windtunnel.errors import UserError
from windtunnel.host.cpu_topology import alike
from windtunnel.measure.validity import (
    CallCost,
    Slack,
    call_cost,
    clock_ticks,
    slacks,
    slowest,
    timed_worker,
)
from windtunnel.parts.pcie.run_estimate import ports_of
from windtunnel.runs.metrics import VARIED, measured, ratio
from windtunnel.runs.reader import Run
from windtunnel.runs.record import EngineRecord
from windtunnel.runs.variants import messages
from windtunnel.scenario import cpu_choice, placement
from windtunnel.scenario.keys import Scenario
from windtunnel.scenario.load import refusal_of
from windtunnel.scenario.overrides import apply, parse_overrides
from windtunnel.scenario.refusal import Refusal
from windtunnel.scenario.topology import topologies
from windtunnel.stats.mean import jackknife

KEYS = (
    "client.batch.*", "server.batch.*", "client.cores", "server.cores", "client.inflight", "client.rate", "client.nic_profile",
    "server.nic_profile", "workload.0.apps", "workload.0.dispatchers", "workload.0.colocate", "workload.0.client.*",
    "workload.0.extra_ticks",
)  # fmt: skip
"""Keys that can be changed. Other keys change what a packet costs, which only a run shows."""
MOST_CPUS = 1024
"""CPUs that are offered, whatever the host has."""
ALIKE_CPUS = alike(range(MOST_CPUS))
ALIKE = (
    "cores are alike, and work is spread evenly over applications and queues",
    "cores do not slow each other down in caches or memory",
)
UNSPLIT = "what a call costs from what a packet costs; a call at least what an empty one costs, which is taken, at most all of it"
LEAST_EMPTY = 100
"""Timed empty calls; fewer are no sample."""
HANDLER: tuple[Side, Stage] = ("server", "app_rx")
Kind = tuple[Side, Stage]
Worker = frozenset[Kind]
"""The kinds of stages that one CPU runs."""


@dataclass(frozen=True)
class Capacity:
    """The prediction, in responses per second."""

    sets: list[str]
    run_per_s: float
    """Rate of the run itself."""
    per_s: float
    low: float | None
    """95% over the windows of the run, without the law's own error; of costs that it cannot tell apart from the least to the most a call. None, and `high`: too few windows."""
    high: float | None
    limit: str
    """What would limit, as text."""
    not_here: list[str]
    """What the changes need, and the host of the run does not have."""
    assumptions: list[str]

    def document(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class _Layout:
    """A scenario as the law sees it."""

    scenario: Scenario

    @cached_property
    def cpus(self) -> dict[int, list[Kind]]:
        """The stages of each CPU; a kind as often as it is there."""
        sides = topologies(self.scenario)
        placed = placement.place(sides, cpu_choice.divide(sides, range(MOST_CPUS), ALIKE_CPUS))
        kinds_by_cpu: dict[int, list[Kind]] = {}
        for stage in placed:
            kinds_by_cpu.setdefault(stage.cpu, []).append((stage.side, stage.stage))
        return kinds_by_cpu

    @cached_property
    def instances(self) -> dict[Kind, int]:
        all_kinds = [kind for kinds in self.cpus.values() for kind in kinds]
        return {kind: all_kinds.count(kind) for kind in all_kinds}

    def share(self, cpu: int) -> float:
        """The share of all messages that this CPU handles: that of its stage with the most."""
        kinds = self.cpus[cpu]
        return max(kinds.count(kind) / self.instances[kind] for kind in kinds)

    def batch(self, kind: Kind) -> int:
        side, stage = kind
        return int(getattr(getattr(self.scenario, side).batch, stage))

    @property
    def inflight(self) -> int:
        return self.scenario.client.inflight if self.scenario.client else 0

    @property
    def rate(self) -> float | None:
        return self.scenario.client.rate if self.scenario.client else None

    def messages_a_loop(self, worker: Iterable[Kind], packets: Mapping[Kind, float]) -> float:
        """The most messages that a loop of this worker can move."""
        batches = [self.batch(kind) / packets[kind] for kind in worker if packets.get(kind)]
        return max(min([*batches, float(self.inflight or MOST_CPUS)]), 1.0)


@dataclass(frozen=True)
class _Costs:
    """Costs in some windows of the run, ns."""

    per_s: float
    call: Mapping[Kind, CallCost]
    packets: Mapping[Kind, float]
    """Packets per message, by stage."""
    unsplit: list[str]
    """Stages whose calls all moved equally many packets."""

    def needs(self, worker: Iterable[Kind], loop: float) -> float:
        """Time that calls need for one of the worker's own messages, ns."""
        known = [kind for kind in worker if kind in self.call]
        return sum(self.call[kind].call / loop + self.call[kind].packet * self.packets[kind] for kind in known)


@dataclass(frozen=True)
class _Law:
    """One run and one change of its scenario."""

    run: Run
    engine: EngineRecord
    windows: Sequence[Window]
    slacks: Sequence[Slack]
    before: _Layout
    after: _Layout

    @cached_property
    def tick_ns(self) -> float:
        return 1e9 / self.engine.hello.tsc_hz if self.engine.hello else 0.0

    @cached_property
    def limiting(self) -> Slack:
        return slowest(self.slacks)[0]

    @cached_property
    def varied(self) -> dict[Kind, CallCost]:
        """The cost of calls from the windows of all variants of the run: with other batches they moved other numbers of packets."""
        stages_by_kind: dict[Kind, list[StageWindow]] = {}
        for window in measured(self.run.not_excluded[self.engine.name], VARIED):
            for stage in window.stages:
                stages_by_kind.setdefault((stage.endpoint, stage.stage), []).append(stage)
        return {kind: cost for kind, stages in stages_by_kind.items() if (cost := call_cost(stages))}

    @cached_property
    def clock(self) -> dict[int, float]:
        """Ticks that reading the clock adds to a timed call, by worker."""
        return {
            slack.worker: clock_ticks([timed_worker(window, slack.worker) for window in self.windows])
            for slack in self.slacks
        }

    def costs(self, places: Sequence[int], of_calls: float) -> _Costs | None:
        """The costs in the windows at these places. `of_calls`: if the run cannot tell, the part of a cost that is of calls, beyond that of an
        empty one. None: no message."""
        windows = [self.windows[place] for place in places]
        total, lasted = sum(map(messages, windows)), sum(w.end_ns - w.start_ns for w in windows)
        if not total:
            return None
        stages_by_kind: dict[Kind, list[StageWindow]] = {}
        for stage in (stage for window in windows for stage in window.stages):
            stages_by_kind.setdefault((stage.endpoint, stage.stage), []).append(stage)
        call, packets, unsplit = {}, {}, []
        for kind, stages in stages_by_kind.items():
            if (cost := self._cost(stages, of_calls)) is None:
                continue
            packets[kind], call[kind] = sum(stage.objects for stage in stages) / total, cost[0]
            unsplit += [] if cost[1] else [" ".join(kind)]
        return _Costs(total / lasted * 1e9, call, packets, unsplit)

    def _cost(self, stages: Sequence[StageWindow], of_calls: float) -> tuple[CallCost, bool] | None:
        """The cost of a call in ns, without the clock, and whether the run shows its parts separately. None: the stage moved nothing."""
        moved = sum(stage.timed_objects for stage in stages)
        calls = sum(stage.calls - stage.empty_calls - stage.stalled_calls for stage in stages)
        objects = sum(stage.objects for stage in stages)
        if not moved or not calls or not objects:
            return None
        clock = self.clock.get(stages[0].worker, 0.0)
        ticks = sum(stage.busy_cycles - stage.stall_cycles for stage in stages) / moved - clock * calls / objects
        call_ticks = max(ticks, 0.0) * objects / calls
        if split := call_cost(stages) or self.varied.get((stages[0].endpoint, stages[0].stage)):
            call = min(max(split.call - clock, 0.0), call_ticks)
        else:
            least = min(_empty_call(stages, clock), call_ticks)
            call = least + of_calls * (call_ticks - least)
        return CallCost(call * self.tick_ns, (call_ticks - call) * calls / objects * self.tick_ns), split is not None

    def rate(self, places: Sequence[int], of_calls: float) -> tuple[float, str] | None:
        """Responses per second, and what limits them."""
        costs = self.costs(places, of_calls)
        if costs is None:
            return None
        now_ns = 1e9 / costs.per_s
        waits = {s.cpu: sum(s.waits[p] for p in places) / len(places) for s in self.slacks}
        if not self.limiting.more_than_half:
            waits[self.limiting.cpu] = 0.0  # what it waits for now, it will wait for then
        filled, overhead_ns = 1.0, {}
        for cpu, kinds in self.before.cpus.items():
            worker, most = frozenset(kinds), self.before.messages_a_loop(kinds, costs.packets)
            moved = min(self._loop(places, cpu, costs), most)
            busy = now_ns * (1 - waits.get(cpu, 0.0)) / self.before.share(cpu)
            overhead_ns[worker] = max(busy - costs.needs(worker, moved), 0.0) * moved  # ns a loop
            if cpu == self.limiting.cpu:
                filled = moved / most
        workers = []
        for cpu, kinds in self.after.cpus.items():
            worker = frozenset(kinds)
            loop = max(
                self.after.messages_a_loop(kinds, costs.packets) * (filled if self._is_limiting(worker) else 1.0), 1.0
            )
            ns = (
                costs.needs(worker, loop)
                + overhead_ns.get(worker, 0.0) / loop
                + (self.extra_ns if HANDLER in worker else 0.0)
            )
            workers.append((ns * self.after.share(cpu), f"the worker of {_describe_stages(kinds)} on CPU {cpu}"))
        longest, limit_text = max(workers)
        allowed = [(1e9 / longest, limit_text), *self._others(costs)]
        return min(allowed)

    def _others(self, costs: _Costs) -> list[tuple[float, str]]:
        """Rates that limits other than a worker allow."""
        rates = []
        if self.after.rate is not None:
            rates.append((self.after.rate, "the offered load"))
        elif self.limiting.more_than_half and self.before.inflight:
            rates.append((costs.per_s * self.after.inflight / self.before.inflight, "the messages in flight"))
        return rates + [(costs.per_s * ceiling, limit_text) for ceiling, limit_text in self.links]

    @cached_property
    def links(self) -> list[tuple[float, str]]:
        """Factors by which the rate of the run may grow until a PCIe link is full, and the link."""
        ceilings = []
        for port in ports_of(self.run):
            before, profile = (getattr(layout.scenario, port.port).nic_profile for layout in (self.before, self.after))
            if port.would_be and profile == before:
                continue  # no NIC ran, and none is asked for
            (after,) = (other for other in ports_of(self.run, profile) if other.port == port.port)
            if ceiling := after.ceiling:
                ceilings.append((ceiling, f"the PCIe link of the {after.port}'s {after.nic}"))
        return ceilings

    @cached_property
    def extra_ns(self) -> float:
        """Additional work of the handler per message, ns."""
        before, after = (layout.scenario.workload[0].extra_ticks for layout in (self.before, self.after))
        return (after - before) * self.tick_ns

    def _is_limiting(self, worker: Worker) -> bool:
        return worker == frozenset(self.before.cpus.get(self.limiting.cpu, ()))

    def _loop(self, places: Sequence[int], cpu: int, costs: _Costs) -> float:
        """Messages that a loop of this CPU moved, by the stage with the fewest."""
        workers = {slack.worker for slack in self.slacks if slack.cpu == cpu}
        bursts: dict[Kind, list[int]] = {}
        for stage in (stage for place in places for stage in self.windows[place].stages if stage.worker in workers):
            burst_sums = bursts.setdefault((stage.endpoint, stage.stage), [0, 0])
            burst_sums[0] += stage.objects
            burst_sums[1] += stage.calls - stage.empty_calls - stage.stalled_calls
        per_loop = [
            burst / costs.packets[kind]
            for kind, (objects, calls) in bursts.items()
            if costs.packets.get(kind) and (burst := ratio(objects, calls))
        ]
        return max(min(per_loop, default=1.0), 1.0)


def _empty_call(stages: Sequence[StageWindow], clock: float) -> float:
    """Ticks of a call that finds nothing: the least that a call costs before it moves anything. 0 if none was timed."""
    timed = sum(stage.timed_calls * stage.empty_calls / stage.calls if stage.calls else 0.0 for stage in stages)
    return max(sum(stage.idle_cycles for stage in stages) / timed - clock, 0.0) if timed >= LEAST_EMPTY else 0.0


def what_if(run: Run, sets: Sequence[str]) -> Capacity:
    """The capacity of a run with changes. Raises UserError for a key that cannot be changed, and for a run whose record does not suffice."""
    law = _law(run, sets)
    places = range(len(law.windows))
    estimates = [jackknife(places, partial(_rate, law, of_calls=part)) for part in (0.0, 1.0)]
    costs, ends = law.costs(places, 0.0), [law.rate(places, part) for part in (0.0, 1.0)]
    if costs is None or None in ends or None in estimates:
        raise UserError(f"{run.path}: no window that counts has a response", remedy="a run with responses")
    known = [rate_and_limit for rate_and_limit in ends if rate_and_limit]
    return Capacity(
        sets=list(sets),
        run_per_s=costs.per_s,
        per_s=known[0][0],
        low=_extreme(min, [estimate.low for estimate in estimates if estimate]),
        high=_extreme(max, [estimate.high for estimate in estimates if estimate]),
        limit=known[0][1],
        not_here=_not_here(law),
        assumptions=_assumptions(law, costs),
    )


def _rate(law: _Law, places: Sequence[int], of_calls: float) -> float | None:
    rate_and_limit = law.rate(places, of_calls)
    return rate_and_limit and rate_and_limit[0]


def _extreme(choose: Any, values: Sequence[float | None]) -> float | None:
    known = [max(value, 0.0) for value in values if value is not None]
    return choose(known) if len(known) == len(values) else None


def _law(run: Run, sets: Sequence[str]) -> _Law:
    for override in parse_overrides(list(sets)):
        if not any(fnmatch(".".join(map(str, override.path)), key) for key in KEYS):
            problem = f"--set {override.text}: only a run shows what a packet costs with it"
            raise UserError(problem, remedy=f"one of {', '.join(KEYS)}")
    if len(run.record.engines) != 1 or len(run.record.scenario.get("workload") or []) != 1:
        raise UserError(
            f"{run.path}: not one process with one workload", remedy="a run of both sides, on a wire within a process"
        )
    (engine,) = run.record.engines
    windows = measured(run.counted[engine.name])
    before, after = (_Layout(_scenario(run, changes)) for changes in ((), sets))
    worker_slacks = slacks({engine.name: windows}, {engine.name: engine.plan})
    if before.scenario.client is None or before.scenario.server is None:
        missing_side = "client" if before.scenario.client is None else "server"
        raise UserError(
            f"{run.path}: this run has no {missing_side}, and what one side may win depends on the other one",
            remedy='a run of both sides, as over wire.kind = "ring"',
        )
    if before.scenario.workload[0].groups:
        raise UserError(
            f"{run.path}: its dispatchers have unlike numbers of applications (groups)", remedy="a run without groups"
        )
    if not worker_slacks:
        raise UserError(
            f"{run.path}: no call of a client and a server was timed", remedy='accounting.level = "sampled", or above'
        )
    return _Law(run, engine, windows, worker_slacks, before, after)


def _scenario(run: Run, sets: Sequence[str]) -> Scenario:
    """The scenario of the run with the changes. Raises UserError if no host could run it."""
    data = deepcopy(run.record.scenario)
    try:
        for override in parse_overrides(list(sets)):
            apply(override, data)
        scenario = Scenario.model_validate(data)
        _ = _Layout(scenario).cpus
    except ValidationError as error:
        refused = refusal_of(error.errors(include_url=False)[0])
    except Refusal as refusal:
        refused = refusal
    else:
        return scenario
    raise UserError(f"{run.path}: {refused.what}", remedy=refused.remedy)


def _not_here(law: _Law) -> list[str]:
    allowed = set((law.run.record.host.get("cpus") or {}).get("allowed") or ())
    missing = sorted(set(law.after.cpus) - allowed)
    sentences = (
        [f"CPU {', '.join(map(str, missing))}: the host of the run has {len(allowed)}"] if missing and allowed else []
    )
    for side in ("client", "server"):
        before, after = (getattr(layout.scenario, side).nic_profile for layout in (law.before, law.after))
        sentences += [f"the NIC {after}"] if after and after != before else []
    return sentences


def _assumptions(law: _Law, costs: _Costs) -> list[str]:
    sentences = [ALIKE[0]]
    if len(law.after.cpus) > len(law.before.cpus):
        sentences.append(ALIKE[1])
    if {frozenset(kinds) for kinds in law.after.cpus.values()} - {
        frozenset(kinds) for kinds in law.before.cpus.values()
    }:
        sentences.append("a ring between two CPUs costs nothing, and a loop of other stages nothing beside its calls")
    if law.after.inflight < law.before.inflight:
        sentences.append("fewer messages in flight are still enough to keep every worker busy")
    if costs.unsplit:
        stages = "every stage" if len(costs.unsplit) == len(costs.call) else ", ".join(costs.unsplit)
        sentences.append(f"{stages}: the run does not tell {UNSPLIT}")
    return sentences


def _describe_stages(kinds: Iterable[Kind]) -> str:
    by_side: dict[Side, dict[Stage, None]] = {}
    for side, stage in kinds:
        by_side.setdefault(side, {})[stage] = None
    return " and ".join(f"{side} {', '.join(stages)}" for side, stages in by_side.items())
