"""What a diagnosis reads of a run: the windows that its metrics use, without what was planted."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import median

from windtunnel.engine.plan import Endpoint, Plan
from windtunnel.engine.windows import Window
from windtunnel.finding import require
from windtunnel.measure.validity import Slack, budget_is_reached, slacks
from windtunnel.parts.diagnose import planted
from windtunnel.parts.diagnose.accounts import Account, accounts
from windtunnel.parts.diagnose.model import Alone, Limit
from windtunnel.parts.diagnose.recorded import NONE, Evidence
from windtunnel.runs import EngineRecord, Run
from windtunnel.runs.metrics import measured, ratio
from windtunnel.runs.replicas import replicas_of
from windtunnel.runs.summary import Summary, summarise
from windtunnel.runs.variants import messages


@dataclass(frozen=True)
class Observation:
    """One run. All of its engines measure the same windows at the same time."""

    run: Run
    recorded: Evidence = NONE
    """What other tools counted during the run."""
    alone: Sequence[Alone] = ()
    """What workers cost less alone, by an experiment."""

    @cached_property
    def windows(self) -> Mapping[str, list[Window]]:
        return {name: measured(windows) for name, windows in self.run.counted.items()}

    @cached_property
    def count(self) -> int:
        """Windows that are used."""
        return min((len(windows) for windows in self.windows.values()), default=0)

    @cached_property
    def summary(self) -> Summary:
        return summarise(self.run)

    @cached_property
    def slacks(self) -> list[Slack]:
        return slacks(self.windows, {engine.name: engine.plan for engine in self.run.record.engines})

    @cached_property
    def messages(self) -> list[int]:
        """Responses in each window, or, if no client of ours runs, the packets that the ports received."""
        windows_by_number = [[windows[n] for windows in self.windows.values()] for n in range(self.count)]
        return [
            sum(messages(window) for window in windows if window.workloads or not self.has_client)
            for windows in windows_by_number
        ]

    @cached_property
    def accounts(self) -> list[Account]:
        tick_ns = {e.name: 1e9 / e.hello.tsc_hz for e in self.run.record.engines if e.hello}
        return accounts({name: self.windows[name] for name in tick_ns}, self.messages, tick_ns)

    def account(self, slack: Slack) -> Account:
        """The ledger's series of this worker. Raises NotMeasured."""
        matching = (
            account for account in self.accounts if (account.engine, account.worker) == (slack.engine, slack.worker)
        )
        return require(next(matching, None), f"what the time of the worker on CPU {slack.cpu} went into")

    @cached_property
    def ns_a_message(self) -> float:
        """Time of the windows over the messages. Raises NotMeasured without a message."""
        return require(ratio(self.lasted_ns, sum(self.messages)), "ns per message: there were none")

    @cached_property
    def lasted_ns(self) -> int:
        """Time of all windows."""
        return sum(window.end_ns - window.start_ns for window in next(iter(self.windows.values()), []))

    @property
    def seconds(self) -> float:
        """Time of the windows that are used."""
        return self.lasted_ns / 1e9

    @property
    def frame_bytes_a_message(self) -> float | None:
        """Bytes that all ports of the run received and sent, a message. None: no packet passed, or no message."""
        ports = [port for windows in self.windows.values() for window in windows for port in window.ports]
        return ratio(sum(port.rx_bytes + port.tx_bytes for port in ports), sum(self.messages)) or None

    def of_limit(self, limit: Limit) -> list[Slack]:
        """The workers that limit, the one with the least slack first."""
        limiting = zip(limit.engines, limit.workers, strict=True)
        return [slack for worker in limiting for slack in self.slacks if (slack.engine, slack.worker) == worker]

    def kinds_of_limit(self, limit: Limit) -> list[Slack]:
        """Likewise, of workers that run the same stages the first one."""
        kinds = {tuple(sorted(self.stages_of(s.engine, s.worker))): s for s in reversed(self.of_limit(limit))}
        return [slack for slack in self.of_limit(limit) if slack in kinds.values()]

    def replicas(self, slack: Slack) -> list[Slack]:
        """The workers that do the same as this one, itself included, the one with the least slack first."""
        positions = replicas_of(self.engine(slack.engine).plan, slack.worker)
        same = [other for other in self.slacks if other.engine == slack.engine and other.worker in positions]
        return sorted(same, key=lambda other: other.share.mean)

    @property
    def free_cpus(self) -> list[int]:
        """CPUs of the host that the run could use and did not."""
        used = {worker.cpu for plan in self.plans for worker in plan.workers}
        allowed = self.run.record.host.get("cpus", {}).get("allowed") or []
        return [cpu for cpu in allowed if cpu not in used]

    @property
    def budget(self) -> int:
        """Messages that may be in flight."""
        ends = [endpoint for plan in self.plans for endpoint in plan.endpoints if endpoint.side == "client"]
        return sum(application.inflight for endpoint in ends for application in endpoint.applications)

    @cached_property
    def in_queues(self) -> float:
        """Share of its latency for which even the fastest message of a window waits, in the median of the windows: the time by which it is
        slower than the fastest one of the run, which met an empty queue. 0 without latencies."""
        fastest = [
            least
            for windows in self.run.windows.values()
            for window in windows
            if (least := _fastest_ns(window)) is not None
        ]
        fastest_used = [
            least
            for windows in self.windows.values()
            for window in windows
            if (least := _fastest_ns(window)) is not None
        ]
        return 1 - min(fastest) / median(fastest_used) if fastest_used and median(fastest_used) else 0.0

    @property
    def places_of_lost(self) -> float:
        """Places in flight that lost messages hold until their timeout, in the mean."""
        lost = sum(row.lost for row in self.summary.workloads)
        timeouts = [workload.timeout_ns for plan in self.plans for workload in plan.workloads if workload.load]
        return lost * max(timeouts, default=0) / self.lasted_ns if self.lasted_ns else 0.0

    @property
    def budget_is_reached(self) -> bool:
        """Whether the messages in flight reach the budget at the end of any window."""
        plans = {engine.name: engine.plan for engine in self.run.record.engines}
        return any(
            budget_is_reached(window, plans[name]) for name, windows in self.windows.items() for window in windows
        )

    def endpoint(self, side: str) -> Endpoint:
        """Raises NotMeasured if the run has no such side."""
        ends = (endpoint for plan in self.plans for endpoint in plan.endpoints if endpoint.side == side)
        return require(next(ends, None), f"the {side}: it ran elsewhere")

    @property
    def has_client(self) -> bool:
        return any(workload.load for plan in self.plans for workload in plan.workloads)

    @property
    def is_open_loop(self) -> bool:
        """Whether any workload is sent at a rate."""
        return any(w.load and w.load.mode == "open" for plan in self.plans for w in plan.workloads)

    @property
    def plans(self) -> Sequence[Plan]:
        return [engine.plan for engine in self.run.record.engines]

    def tick_ns(self, engine: str) -> float:
        """Raises NotMeasured for an engine that never began."""
        return 1e9 / require(self.engine(engine).hello, "times: the engine never began").tsc_hz

    def packets_a_message(self, slack: Slack, stage: str) -> float:
        """Packets that the stage of this worker moved, a message. Raises NotMeasured without a message."""
        moved = sum(
            row.objects
            for window in self.windows[slack.engine]
            for row in window.stages
            if row.worker == slack.worker and f"{row.endpoint} {row.stage}" == stage
        )
        return require(ratio(moved, sum(self.messages)), "packets per message: there were no messages")

    def engine(self, name: str) -> EngineRecord:
        return next(engine for engine in self.run.record.engines if engine.name == name)

    def stages_of(self, engine: str, worker: int) -> dict[str, float]:
        """ "server app_rx" -> share of the worker's timed work, the greatest first."""
        work: dict[str, float] = {}
        for window in self.windows[engine]:
            for stage in window.stages:
                if stage.worker == worker:
                    name = f"{stage.endpoint} {stage.stage}"
                    work[name] = work.get(name, 0.0) + stage.busy_cycles - stage.stall_cycles
        total = sum(work.values())
        return (
            {name: ticks / total for name, ticks in sorted(work.items(), key=lambda name_and_ticks: -name_and_ticks[1])}
            if total
            else {}
        )


def _fastest_ns(window: Window) -> int | None:
    return min((w.latency_sent.min for w in window.workloads if w.latency_sent.min is not None), default=None)


def observe(run: Run, recorded: Evidence = NONE) -> Observation:
    """A run as a diagnosis may see it."""
    return Observation(planted.without(run), recorded)
