"""What other rules say of a run: the busiest worker, the rules of parts (of Axio), PipeTune's tree.

PipeTune (axio-project/axio-emulator, pipetune/diagnosis.py and docs/pipetune.md) is applied to the server, as the target, with the noise
floors of its reference configuration. Per window: completion and stall of app_tx, app_rx, disp_tx, disp_rx, the time of nic_tx, and 1 /
throughput as nic_rx, all ns a packet. The longest is dominant if its lead is above the uncertainty of both: the floor, or three median
deviations. A dominant stall is P1, a dominant NIC row P3. A dominant completion needs hardware counters and a core more, which are not
here: no result. Its gate at the peer (throughput, the transmit path of the client) comes first.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from types import ModuleType

from windtunnel.engine.windows import Window
from windtunnel.errors import UserError
from windtunnel.part_registry import part_modules
from windtunnel.runs import Run
from windtunnel.runs.metrics import measured, seconds
from windtunnel.runs.summary import summarise

STAGE_FLOOR = 0.05
DEVIATIONS = 3.0
PACKETS_WAIT = ("in-flight", "few-mbufs", "full-ring", "link", "losses")
"""Causes that contention of the pipeline (Axio's C1, PipeTune's P1) can be taken for."""
CORES_WORK = ("handler", "tables", "payload", "small-batches", "working-set", "contention")
"""Likewise contention of cores (C2), which Axio's rule does not tell from C4."""
MEANS = {"C1": PACKETS_WAIT, "C2 or C4": CORES_WORK, "P1": PACKETS_WAIT, "P3": ("link",)}

TOOLS = part_modules("as_option")
"""Tools with a rule, which parts have."""


def busiest(run: Run) -> str:
    """Sides of the worker with the greatest share of work; "" where no call was timed."""
    rows = [row for row in summarise(run).workers if row.work_share is not None]
    sides = max(rows, key=lambda row: row.work_share or 0.0).sides if rows else ""
    return " + ".join(sorted(sides.split(" + ")))


def contention(tool: ModuleType, run: Run) -> str:
    """Of the server, by the rule of a tool; "" where its rule ends with an error."""
    try:
        found = tool.verdicts(run)
    except UserError:
        return ""
    return next((each.contention or "" for each in found if each.side == "server"), "")


@dataclass(frozen=True)
class Row:
    """One elapsed component."""

    name: str
    values: Sequence[float]
    """ns a packet, of each window."""
    floor: float = STAGE_FLOOR

    @property
    def median(self) -> float:
        return median(self.values)

    @property
    def uncertainty(self) -> float:
        return max(abs(self.median) * self.floor, DEVIATIONS * median(abs(v - self.median) for v in self.values))

    def leads(self, other: "Row") -> bool:
        return self.median - other.median > max(self.uncertainty, other.uncertainty)


def pipetunes(run: Run, nic_rx: bool = True) -> str:
    """ "P1", "P3" or "". `nic_rx`: without it 1 / throughput is no row. It is longer than any stage of the only worker of a server."""
    (engine,) = run.record.engines
    windows = measured(run.counted[engine.name])
    if not windows or engine.hello is None:
        return ""
    tick_ns = 1e9 / engine.hello.tsc_hz
    server, client = (_rows(windows, side, tick_ns, nic_rx) for side in ("server", "client"))
    if not server or (client and _peer_leads(server, client)):
        return ""
    first, second = [*sorted(server, key=lambda row: -row.median), Row("", [0.0])][:2]
    if not first.leads(second):
        return ""
    return "P1" if "stall" in first.name else "P3" if "nic" in first.name else ""


def _peer_leads(server: Sequence[Row], client: Sequence[Row]) -> bool:
    ours, its = (max(rows, key=lambda row: row.median) for rows in (server, client))
    rest = [row for row in client if row is not its]
    is_dominant = all(its.leads(row) for row in rest)
    return is_dominant and "_tx" in its.name and its.leads(ours)


def _rows(windows: Sequence[Window], side: str, tick_ns: float, nic_rx: bool) -> list[Row]:
    """Components that have a value in every window."""
    values: dict[str, list[float]] = {}
    for window in windows:
        for stage in window.stages:
            if stage.endpoint != side or not stage.timed_objects:
                continue
            per_packet = tick_ns / stage.timed_objects
            work = stage.busy_cycles - stage.stall_cycles
            if stage.stage == "nic_tx":
                values.setdefault("nic_tx", []).append(stage.busy_cycles * per_packet)
            elif stage.stage != "nic_rx":
                values.setdefault(f"{stage.stage} completion", []).append(work * per_packet)
                values.setdefault(f"{stage.stage} stall", []).append(stage.stall_cycles * per_packet)
        received = sum(port.rx_packets for port in window.ports if port.endpoint == side)
        if nic_rx and received:
            values.setdefault("nic_rx", []).append(seconds([window]) * 1e9 / received)
    return [Row(name, of) for name, of in values.items() if len(of) == len(windows)]
