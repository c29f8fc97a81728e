"""What Axio's own rule concludes about the stages of a run, and our notes about that.

The rule (axio-emulator, toolchain/tuner.py): of app_tx, app_rx, disp_tx, disp_rx and nic_tx the one with the longest time per packet is
the most critical phase. If its time without stall is shorter than its stall, the contention is C1, else "C2 or C4". nic_rx is left out:
its time is an interval between packets. nic_tx has no stall, so the rule ends with an error if it is the longest. C3 is never concluded.
Axio takes one table, that in the middle of its log; here it is the mean of all tables.
"""

from collections.abc import Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from windtunnel.errors import UserError
from windtunnel.runs import Run
from windtunnel.runs.rows import StageRow
from windtunnel.runs.summary import summarise

PHASES = ("app_tx", "app_rx", "disp_tx", "disp_rx", "nic_tx")
WITHOUT_STALL = "nic_tx"
HALF_A_DIGIT_NS = 0.5
"""Axio prints microseconds with three digits."""
SIDES: tuple[Literal["client", "server"], ...] = ("client", "server")

C1 = "C1 is contention of the pipeline: its most critical phase stalls for longer than it works. Here: in-flight, few-mbufs, full-ring, link"
C2_OR_C4 = (
    "C2 is contention of cores for the last-level cache (here: handler, tables, payload, shared-cache), C4 of the NIC's writes for it (here: "
    "nic-writes, from recorded counters). Axio's rule does not tell them apart: it prints miss rates and compares none"
)
STALL = "Axio counts every call of the port as stall of disp_tx and disp_rx, also one that moves packets: such a stall is no wait"


class AxioVerdict(BaseModel):
    """What Axio's own rule says of one side."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    side: Literal["client", "server"]
    stage: str | None = Field(description="its most critical phase: the longest time per packet; null: it has no value")
    contention: Literal["C1", "C2 or C4"] | None
    completion_us: float | None
    stall_us: float | None
    rounding: str | None = Field(description="what rounding could make of it; null: nothing")
    ours: list[str] = Field(description="what is to be said beside it")


def verdicts(run: Run) -> list[AxioVerdict]:
    """One verdict for each side that has stages. Raises UserError if no stage was timed."""
    rows = [row for row in summarise(run).stages if row.stage in PHASES and row.work_ns is not None]
    if not rows:
        error_text = f"{run.path}: no stage was timed, so Axio's rule has nothing to compare"
        raise UserError(
            error_text, remedy='a run at the accounting level "sampled" or above, or a log of `windtunnel import axio`'
        )
    imported = run.record.imported is not None
    half_ns = HALF_A_DIGIT_NS if imported else 0.0
    axio_verdicts = []
    for side in SIDES:
        of_side = [row for row in rows if row.endpoint == side]
        if of_side:
            axio_verdicts.append(_verdict(side, of_side, half_ns, [STALL] if imported else []))
    return axio_verdicts


def _verdict(
    side: Literal["client", "server"], rows: Sequence[StageRow], half_ns: float, notes: Sequence[str]
) -> AxioVerdict:
    first = max(rows, key=_completion)
    completion, stall = _completion(first), first.stall_ns
    if first.stage == WITHOUT_STALL or stall is None:
        note = "its rule ends with an error here: nic_tx has no stall to compare with"
        return AxioVerdict(
            side=side, stage=first.stage, contention=None, completion_us=completion / 1000, stall_us=None,
            rounding=None, ours=[note, *notes],
        )  # fmt: skip
    is_c1 = completion - stall < stall
    return AxioVerdict(
        side=side,
        stage=first.stage,
        contention="C1" if is_c1 else "C2 or C4",
        completion_us=completion / 1000,
        stall_us=stall / 1000,
        rounding=_rounding(rows, first, is_c1, half_ns),
        ours=[C1 if is_c1 else C2_OR_C4, *notes],
    )


def _completion(row: StageRow) -> float:
    return (row.work_ns or 0.0) + (row.stall_ns or 0.0)


def _rounding(rows: Sequence[StageRow], first: StageRow, is_c1: bool, half_ns: float) -> str | None:
    """Each printed value stands for all that round to it: what the verdict could be with those, or None."""
    completion, stall = _completion(first), first.stall_ns or 0.0
    lowest, highest = (completion - half_ns) - 2 * (stall + half_ns), (completion + half_ns) - 2 * (stall - half_ns)
    sentences = []
    if half_ns and (highest >= 0 if is_c1 else lowest < 0):
        sentences.append(
            f"rounding could turn it: {(completion - stall) / 1000:.3f} against {stall / 1000:.3f} µs, of values with three digits"
        )
    others = [row.stage for row in rows if row is not first and half_ns and _completion(row) + 2 * half_ns > completion]
    if others:
        sentences.append(f"with other digits {' or '.join(others)} would be the most critical phase")
    return "; ".join(sentences) or None
