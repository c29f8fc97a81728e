"""Short runs of the real engine, and what must be true of every one of them."""

import itertools
import struct
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scenario_tools import written

from windtunnel.engine.find import find_engine
from windtunnel.engine.interrupts import Interrupts
from windtunnel.engine.ledgers import MessageLedger
from windtunnel.engine.lines import Ready
from windtunnel.engine.plan import Plan
from windtunnel.engine.supervisor import Supervisor
from windtunnel.engine.verdict import judge
from windtunnel.engine.windows import StageWindow
from windtunnel.host import facts
from windtunnel.runs import Run, RunWriter
from windtunnel.scenario import RunSpec, here, load, resolve

SIDES = ("client", "server")
STAGES = ("app_tx", "disp_tx", "nic_tx", "nic_rx", "disp_rx", "app_rx")
SHORT = {"duration": "100ms", "warmup": "10ms", "window": "50ms"}
"""Each worker gets a CPU in it, however many engines there are beside it. What must come to a number says so with `after`."""
SHORT_OF_TWO = {"duration": "500ms", "warmup": "50ms", "window": "50ms"}
"""Of two processes: the client starts to measure while the server still does, whichever is given a CPU later."""
L_APP = {"handler": "l_app"}
PATIENT = ("workload.0.timeout=1min", "drain=1min")
"""Where all messages must be answered: a busy host takes a worker's core for seconds."""

Change = Callable[[RunSpec], list[Plan]]


@dataclass(frozen=True)
class SupervisedRun:
    """A run, and what the function that ran beside it returned."""

    run: Run
    beside: Any = None


def scenario(*workloads: dict, **keys) -> dict:
    """A short scenario; the keys stand at its top."""
    of_two = keys.get("wire", {}).get("kind") == "memif"
    return (SHORT_OF_TWO if of_two else SHORT) | keys | {"workload": list(workloads) or [L_APP]}


def after(messages: int) -> dict:
    """Keys of a run that ends when so many messages have been answered, however long the host takes."""
    return {"messages": messages, "duration": "60s", "window": "1s"}


def execute(
    directory: Path, data: dict | Path, *sets: str, change: Change | None = None, beside=None, extending=None
) -> SupervisedRun:
    """Runs a scenario (keys, or a file) into `directory`/run; without an engine the test fails in words.

    `change` picks or alters the plans. `beside` is called in a thread once every engine is ready, and the run lasts until it returns, at least;
    what it raises is raised. `extending`: the supervisor's.
    """
    file = data if isinstance(data, Path) else written(directory, data)
    spec = resolve(load(file, list(sets)), here()).into(directory / "run")
    if change:
        plans = change(spec)
        names = spec.names if len(plans) == len(spec.names) else [plans[0].endpoints[0].side]
        spec = RunSpec(**(vars(spec) | {"plans": plans, "names": names}))
    writer = RunWriter(directory / "run", spec, facts.collect())
    with Interrupts() as interrupts, ThreadPoolExecutor(1) as pool:
        aside = _Beside(beside, spec.names, pool)
        extending = extending or (aside if beside else None)
        supervisor = Supervisor(
            find_engine(), writer.log_path, [writer.line, aside.line], interrupts, extending=extending
        )
        finished = supervisor.run(spec.plans, spec.names)
        run = writer.finish(judge(finished))
        return SupervisedRun(run, aside.result(run))


class _Beside:
    """Starts a function when the last engine has said that it is ready, and extends the run while it has not returned."""

    most_ns = 60 * 10**9

    def __init__(self, function: Callable[[], Any] | None, engines: Sequence[str], pool: ThreadPoolExecutor):
        self._function, self._engines, self._missing, self._pool = function, engines, len(engines), pool
        self._future: Future | None = None

    def more(self, name: str) -> int:
        return int(name == self._engines[0] and self._future is not None and not self._future.done())

    def line(self, name: str, line: object, raw: str) -> None:
        self._missing -= isinstance(line, Ready)
        if self._function and self._missing == 0 and self._future is None:
            self._future = self._pool.submit(self._function)

    def result(self, run: Run) -> Any:
        if self._function is None:
            return None
        assert self._future is not None, f"never ready: {run.record.verdict.reasons}"
        return self._future.result()


def run_well(directory: Path, data: dict | Path, *sets: str, **how) -> Run:
    """Runs, and holds the run to everything that is true of a valid one."""
    run = execute(directory, data, *sets, **how).run
    assert_sound(run)
    return run


def assert_sound(run: Run) -> None:
    """Valid; every ledger closes, in itself and against the windows; nothing was allocated on a worker."""
    assert run.record.verdict.reasons == [], "".join(log.read_text() for log in run.path.glob("*.log"))
    assert run.problems == []
    for engine in run.record.engines:
        result, windows = engine.result, run.windows[engine.name]
        assert [window.index for window in windows] == list(range(len(windows)))
        for before, after in itertools.pairwise(windows):
            assert before.end_ns == after.start_ns
        assert result.worker_allocations in (0, None)  # None: a build with a sanitizer does not watch
        for mbufs in result.mbufs:
            assert mbufs.missing == 0 and mbufs.size == mbufs.free + sum(mbufs.held.values())
        for packets in result.packets:
            gone = packets.received + sum(packets.dropped.values()) + packets.in_wire
            assert packets.missing == 0 and packets.sent + packets.duplicated == gone
        for messages in result.messages:
            _assert_messages(messages, [w for window in windows for w in window.workloads])


def _assert_messages(ledger: MessageLedger, windows: list) -> None:
    of_workload = [window for window in windows if window.workload == ledger.workload]
    assert ledger.missing == 0 and ledger.sent == ledger.responses + ledger.lost + ledger.in_flight
    assert ledger.offered == ledger.sent + ledger.unsent
    for what in ("offered", "sent", "responses", "lost", "late", "duplicates", "negative_latency"):
        assert sum(getattr(window, what) for window in of_workload) == getattr(ledger, what), what
    assert of_workload[-1].in_flight == ledger.in_flight
    assert sum(window.latency.total for window in of_workload) == ledger.responses
    assert sum(window.latency_sent.total for window in of_workload) == ledger.responses


def messages(run: Run) -> MessageLedger:
    """The ledger of the run's only workload."""
    [ledger] = [ledger for engine in run.record.engines for ledger in engine.result.messages]
    return ledger


def stages(run: Run, side: str, stage: str) -> list[StageWindow]:
    """One stage of one side, over all windows and all its instances."""
    every = (entry for windows in run.windows.values() for window in windows for entry in window.stages)
    return [entry for entry in every if (entry.endpoint, entry.stage) == (side, stage)]


def drops(run: Run, side: str) -> dict[str, int]:
    """What one side dropped, by name."""
    sums: dict[str, int] = {}
    for windows in run.windows.values():
        for window in windows:
            for entry in window.stages:
                for reason, count in entry.drops.items() if entry.endpoint == side else ():
                    sums[reason] = sums.get(reason, 0) + count
    return sums


def ports(run: Run, side: str) -> dict[str, int]:
    """Packets and bytes that one side's port received and sent, over all windows."""
    windows = [p for windows in run.windows.values() for w in windows for p in w.ports if p.endpoint == side]
    return {
        what: sum(getattr(port, what) for port in windows)
        for what in ("rx_packets", "tx_packets", "rx_bytes", "tx_bytes")
    }


def recorded(run: Run, received: bool = False) -> list[bytes]:
    """The frames of the run's capture, or of the one of what its only endpoint received, as many as its engine says."""
    [file] = [file for file in run.path.glob("*.pcap") if file.stem.endswith("-received") == received]
    data, frames, at = file.read_bytes(), [], 24
    while at < len(data):
        (length,) = struct.unpack_from("=8xI", data, at)
        frames.append(data[at + 16 : at + 16 + length])
        at += 16 + length
    result = run.record.engines[0].result
    assert at == len(data) and len(frames) == (result.recorded_received if received else result.recorded)
    return frames
