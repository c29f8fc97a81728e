"""Our own side of a bench: a scenario is run with `windtunnel run`, and read back from its run directory."""

import os
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

from harness.noise import Steal
from harness.sample import Sample, cost, rate
from windtunnel.engine.find import VARIABLE
from windtunnel.engine.plan import Plan
from windtunnel.engine.windows import Window
from windtunnel.errors import UserError
from windtunnel.host.states import Where
from windtunnel.runs import EngineRecord, Run, load
from windtunnel.runs.metrics import measured

COMMAND = Path(sys.executable).with_name("windtunnel")
SCENARIOS = Path(__file__).resolve().parents[1] / "scenarios"


@dataclass(frozen=True)
class EngineRun:
    """A valid run of one engine."""

    engine: EngineRecord
    windows: list[Window]
    """Of the measurement, those that count: of one state of the host."""
    all_windows: list[Window]
    steal: float | None
    where: Where
    """State of the host that these windows are of."""

    @property
    def plan(self) -> Plan:
        return self.engine.plan

    def round_trips(self) -> int:
        """From the workers' start to their end, warm-up and drain included."""
        return sum(workload.responses for window in self.all_windows for workload in window.workloads)

    def forwarded(self) -> Sample:
        """Packets that left by all ports, per second."""
        wall_ns = sum(window.end_ns - window.start_ns for window in self.windows)
        return rate(self._sent(), wall_ns, self._preempted_ns(0), self.steal).at(self.where)

    def round_trips_per_s(self) -> Sample:
        """Round trips a second."""
        wall_ns = sum(window.end_ns - window.start_ns for window in self.windows)
        trips = sum(workload.responses for window in self.windows for workload in window.workloads)
        return rate(trips, wall_ns, self._preempted_ns(0), self.steal).at(self.where)

    def copied(self) -> Sample:
        """Bytes of bodies that app_tx put into packets, copied or not, per second."""
        wall_ns = sum(window.end_ns - window.start_ns for window in self.windows)
        moved = sum(part.bytes for window in self.windows for part in window.copies)
        return rate(moved, wall_ns, self._preempted_ns(0), self.steal).at(self.where)

    def copied_in_timed_calls(self) -> Sample:
        """Likewise of a run on one worker, by the time of its calls whose cycles were taken: neither preemption nor what a modelled
        engine keeps the CPU for is in it. With all loops timed (accounting.level = "cycles") it is that of the whole run."""
        assert self.engine.hello is not None and len(self.plan.workers) == 1
        stages = [stage for window in self.windows for stage in window.stages]
        making = [s for s in stages if (s.endpoint, s.stage) == ("client", "app_tx")]
        moved = sum(part.bytes for window in self.windows for part in window.copies)
        timed_share = sum(s.timed_objects for s in making) / sum(s.objects for s in making)
        ticks = sum(s.busy_cycles + s.idle_cycles for s in stages)
        sample = rate(moved * timed_share, ticks / self.engine.hello.tsc_hz * 1e9, 0, self.steal)
        return replace(sample, noise=self.copied().noise).at(self.where)

    def ticks_per_packet(self) -> Sample:
        """Of a run on one worker: all its ticks by the packets of both directions, each sent by one side, received by the other."""
        assert self.engine.hello is not None and len(self.plan.workers) == 1
        hello = self.engine.hello
        return cost(self._sent(), self._ticks(0), hello.tsc_hz, self._preempted_ns(0), self.steal).at(self.where)

    def ticks_per_round_trip(self, worker: int) -> Sample:
        """All ticks of one worker by the round trips of the run: for a side, the one packet that it sends and the one that it
        receives."""
        assert self.engine.hello is not None
        responses = sum(workload.responses for window in self.windows for workload in window.workloads)
        ticks, preempted = self._ticks(worker), self._preempted_ns(worker)
        return cost(responses, ticks, self.engine.hello.tsc_hz, preempted, self.steal).at(self.where)

    def stage_ticks(self) -> dict[tuple[str, str], dict[str, float | None]]:
        """Work, stall and idle ticks per packet of each stage, by endpoint and stage; of timed calls."""
        totals: dict[tuple[str, str], list[int]] = {}
        for window in self.windows:
            for s in window.stages:
                sums = totals.setdefault((s.endpoint, s.stage), [0, 0, 0, 0])
                parts = (s.timed_objects, s.busy_cycles - s.stall_cycles, s.stall_cycles, s.idle_cycles)
                sums[:] = [a + b for a, b in zip(sums, parts, strict=True)]
        return {
            stage: {
                name: ticks / objects if objects else None
                for name, ticks in zip(("work", "stall", "idle"), parts, strict=True)
            }
            for stage, (objects, *parts) in totals.items()
        }

    def _sent(self) -> int:
        return sum(port.tx_packets for window in self.windows for port in window.ports)

    def _ticks(self, worker: int) -> int:
        return sum(window.workers[worker].cycles for window in self.windows)

    def _preempted_ns(self, worker: int) -> int | None:
        delays = [window.workers[worker].preempted_ns for window in self.windows]
        return None if None in delays else sum(delays)


def run_scenario(
    scenario: Path,
    sets: dict[str, str],
    directory: Path,
    cpu: int,
    engine: Path | None = None,
    of: str | None = None,
) -> EngineRun:
    """Runs into the new `directory`, with `engine` where one is given, and reads the engine called `of`, else the only one.
    Raises UserError when the run is not valid: it has no number to give."""
    sets = {"validity.settle": "0s"} | sets  # contestants measure equally long
    overrides = [part for key, value in sets.items() for part in ("--set", f"{key}={value}")]
    with Steal(cpu) as steal:
        done = subprocess.run(
            [COMMAND, "run", scenario, "--quiet", "--no-report", "--out", directory, *overrides],
            check=False,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=os.environ | ({VARIABLE: str(engine)} if engine else {}),
        )
    if done.returncode != 0:
        raise UserError(f"{scenario.name} did not run: {done.stdout.strip()}")
    return read_run(load(directory), steal.share, of)


def read_run(run: Run, steal: float | None, of: str | None = None) -> EngineRun:
    (engine,) = [engine for engine in run.record.engines if of in (None, engine.name)]
    counted = measured(run.counted[engine.name])
    if not counted:
        raise UserError("no window of the run counts: all are excluded")
    return EngineRun(engine, counted, run.windows[engine.name], steal, run.record.where)
