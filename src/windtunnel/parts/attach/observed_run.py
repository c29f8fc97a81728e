"""The run directory of an observation: run.json, and observation.jsonl with all windows."""

import dataclasses
import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from pydantic_core import to_jsonable_python

from windtunnel.engine.verdict import Verdict
from windtunnel.host.facts import collect
from windtunnel.parts.attach.lines import LEAST_WINDOWS, WindowLine, counted
from windtunnel.parts.attach.observed_windows import FILE
from windtunnel.parts.attach.processes import Application
from windtunnel.parts.attach.thread_metrics import Thread, threads
from windtunnel.runs.directories import make_held
from windtunnel.runs.files import LineFile, replace
from windtunnel.runs.metrics import add, ratio
from windtunnel.runs.observed import Observed, ObservedQueue
from windtunnel.runs.reader import Run, load
from windtunnel.runs.record import DID_NOT_FINISH, Record
from windtunnel.runs.rows import PortRow, StageRow, only
from windtunnel.stats.mean import Estimate
from windtunnel.version import __version__

STAGES = {"rx": "driver rx", "application": "application", "tx": "driver tx"}


class ObservedRunWriter:
    """Makes the directory, appends windows, and puts the verdict in at the end. Raises UserError for a directory that exists."""

    def __init__(
        self, directory: Path, application: Application, dpdk: str | None, by: Literal["probe", "telemetry"] = "probe"
    ):
        self.directory = Path(directory)
        self.held = make_held(self.directory)
        self._application, self._dpdk, self._by = application, dpdk, by
        self._begin = datetime.now(UTC)
        self.windows: list[WindowLine] = []
        with self.held.named():
            self._save(Verdict(False, [DID_NOT_FINISH]), None, 1.0)
            self._lines = LineFile(self.held.place / FILE)

    def append(self, window: WindowLine) -> None:
        with self.held.named():
            self._lines.append(window.model_dump_json() + "\n")
        self.windows.append(window)

    def finish(self, reasons: Sequence[str], tsc_hz: float) -> Run:
        """Writes the verdict; the run as it is read back."""
        excluded = [window.excluded for window in self.windows if window.excluded is not None]
        left = len(self.windows) - len(excluded)
        reasons = list(reasons)
        if left < LEAST_WINDOWS:
            why = f"; {len(excluded)} were excluded, the last one because {excluded[-1]}" if excluded else ""
            reasons.append(f"windows: {left} of {len(self.windows)} are left, and {LEAST_WINDOWS} are needed{why}")
        with self.held.named():
            self._lines.close()
            self._save(Verdict(not reasons, reasons), datetime.now(UTC), tsc_hz)
            return dataclasses.replace(load(self.held.place), path=self.directory)

    def _save(self, verdict: Verdict, finished: datetime | None, tsc_hz: float) -> None:
        application = self._application
        record = Record(
            title=f"{application.name}, observed",
            question=None,
            started=self._begin,
            finished=finished,
            verdict=verdict,
            scenario={},
            notes=[],
            host=to_jsonable_python(collect()),
            versions={
                "windtunnel": __version__,
                "python": platform.python_version(),
                "dpdk": self._dpdk or "not known",
            },
            engines=[],
            observed=Observed(
                by=self._by,
                program=application.name,
                pid=application.pid,
                command=list(application.command),
                dpdk=self._dpdk,
                prefix=application.prefix,
                tsc_hz=tsc_hz,
                stages=[row for thread in threads(self.windows, tsc_hz) for row in stage_rows(thread)],
                ports=port_rows(self.windows, tsc_hz),
                queues=queue_rows(self.windows, tsc_hz),
                frame_bytes=frame_bytes(self.windows),
            ),
        )
        replace(self.held.place / "run.json", record.model_dump_json(indent=1) + "\n")


def stage_rows(thread: Thread) -> list[StageRow]:
    """A thread's time a packet, as rows of stages: the parts of its turns are in no other row."""
    seconds = sum(window.present_ticks for window in thread.windows) * thread.tick_ns / 1e9
    packets = sum(size * calls for size, calls in thread.bursts.items())
    return [
        only(
            StageRow,
            endpoint=thread.name,
            stage=name,
            instances=1,
            objects=packets,
            mpps=ratio(packets / 1e6, seconds),
            work_ns=_mean(getattr(thread.cost, part)),
            mean_burst=thread.mean_burst,
            burst=thread.bursts if part == "rx" else None,
            empty_calls_share=thread.empty_calls if part == "rx" else None,
            drops={"refused by the driver": thread.refused} if part == "tx" and thread.refused else {},
        )
        for part, name in STAGES.items()
    ]


def port_rows(windows: Sequence[WindowLine], tsc_hz: float) -> list[PortRow]:
    """The ports, by the counters of the application's own DPDK; a port without statistics has no row."""
    used = counted(windows)
    rows = []
    for number in sorted({port.port for window in used for port in window.ports}):
        lines = [p for window in used for p in window.ports if p.port == number and p.ipackets is not None]
        if not lines:
            continue
        seconds = sum(line.ticks for line in lines) / tsc_hz
        rx, tx, rx_bytes, tx_bytes = (
            sum(getattr(line, name) or 0 for line in lines) for name in ("ipackets", "opackets", "ibytes", "obytes")
        )
        bursts = {direction: _bursts(used, number, direction) for direction in (True, False)}
        rows.append(
            PortRow(
                endpoint=f"port {number}",
                rx_packets=rx,
                tx_packets=tx,
                rx_mpps=ratio(rx / 1e6, seconds),
                tx_mpps=ratio(tx / 1e6, seconds),
                rx_gbps=ratio(rx_bytes * 8 / 1e9, seconds),
                tx_gbps=ratio(tx_bytes * 8 / 1e9, seconds),
                rx_burst=bursts[True],
                tx_burst=bursts[False],
                tx_packets_per_doorbell=None,
            )
        )
    return rows


def queue_rows(windows: Sequence[WindowLine], tsc_hz: float) -> list[ObservedQueue]:
    """What each queue moved, in each direction, a second of presence; queues that moved nothing have no row."""
    used = counted(windows)
    seconds = sum(window.present_ticks for window in used) / tsc_hz
    channels = [channel for window in used for channel in window.channels if channel.packets]
    places = sorted({(channel.port, channel.queue, channel.receives) for channel in channels})
    return [
        ObservedQueue(
            port=port,
            queue=queue,
            receives=receives,
            packets_per_s=ratio(sum(channel.packets for channel in of_queue), seconds) or 0.0,
            bursts=add(channel.bursts for channel in of_queue),
        )
        for port, queue, receives in places
        if (of_queue := [c for c in channels if (c.port, c.queue, c.receives) == (port, queue, receives)])
    ]


def frame_bytes(windows: Sequence[WindowLine]) -> float | None:
    """Mean bytes of a frame, without FCS; None if none was sized."""
    channels = [channel for window in counted(windows) for channel in window.channels]
    return ratio(sum(c.sized_bytes for c in channels), sum(c.sized_packets for c in channels))


def _bursts(windows: Sequence[WindowLine], port: int, receives: bool) -> float | None:
    channels = [c for w in windows for c in w.channels if c.port == port and c.receives == receives]
    calls = add(channel.bursts for channel in channels)
    return ratio(sum(channel.packets for channel in channels), sum(n for size, n in calls.items() if size))


def _mean(estimate: Estimate | None) -> float | None:
    return None if estimate is None else estimate.mean
