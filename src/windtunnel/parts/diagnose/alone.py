"""What a worker pays for the others: its stages are timed while delays hold these for most of the time.

A lock, a cache line that two write, a core, a cache or memory that they share cost a worker less while the others wait. Its own work costs the
same, or more: packets then wait for less time, and their lines are still in the cache of the CPU that wrote them. Stages whose calls move more packets in such windows are left out: larger batches make a packet cheaper, too.
"""

from collections.abc import Sequence

import numpy as np

from windtunnel.engine.windows import StageWindow
from windtunnel.measure.validity import clock_ticks, parts_of, timed_worker
from windtunnel.parts.diagnose.blocks import Series, counted_windows, middle_of, variants_of
from windtunnel.parts.diagnose.delays import ALONE
from windtunnel.parts.diagnose.model import Alone, WorkerSeen
from windtunnel.parts.diagnose.observation import Observation
from windtunnel.runs import Run
from windtunnel.runs.metrics import ratio
from windtunnel.runs.variants import messages
from windtunnel.stats.mean import DECIDING

LARGER = 1.1
"""Batches of windows that differ by no larger a factor are alike."""


def alone(run: Run, observation: Observation, workers: Sequence[WorkerSeen]) -> list[Alone]:
    """One of each kind of worker that an experiment has let run alone: of its replicas the first one."""
    kinds = []
    for number, variant in enumerate(variants_of(run)):
        stage = variant.name.removeprefix(ALONE)
        worker = next((worker for worker in workers if stage in worker.stages), None)
        if variant.name.startswith(ALONE) and worker is not None:
            kinds.append(_kind(run, observation, worker, number))
    return kinds


def _kind(run: Run, observation: Observation, worker: WorkerSeen, number: int) -> Alone:
    costs = {stage: _costs(run, observation, worker, stage, number) for stage in worker.stages}
    whole = {stage: rows[~np.isnan(rows).any(axis=1)] for stage, rows in costs.items()}
    return Alone(
        engine=worker.engine,
        worker=worker.worker,
        sides=worker.sides,
        took_ns={stage: float(np.median(rows[:, 0])) for stage, rows in whole.items() if len(rows)},
        saved_ns={stage: middle_of(rows[:, :1] - rows[:, 1:], DECIDING) for stage, rows in whole.items() if len(rows)},
    )


def _costs(run: Run, observation: Observation, worker: WorkerSeen, stage: str, number: int) -> Series:
    """Work of a stage, ns per message: a row for each block, as the file says and alone; nan if a window does not count or its batches are
    larger than those of the file."""
    tick_ns = observation.tick_ns(worker.engine)
    windows = list(counted_windows(run, worker.engine))
    clock = clock_ticks([timed_worker(window, worker.worker) for _, window in windows])
    served = {window.index: messages(window) for of_engine in run.windows.values() for window in of_engine}
    rows = np.full((1 + max((block for block, _ in windows), default=-1), 2), np.nan)
    batches = np.full(rows.shape, np.nan)
    for block, window in windows:
        if window.variant not in (0, number) or not served[window.index]:
            continue
        of_worker, stages = timed_worker(window, worker.worker)
        parts, column = parts_of(of_worker, stages, clock), int(window.variant == number)
        if parts is not None:
            work = sum(part.work for part in parts.stages if part.name == stage)
            rows[block, column] = work * tick_ns / served[window.index]
            batches[block, column] = _batch(stages, stage)
    rows[~(batches[:, 1] <= LARGER * batches[:, 0])] = np.nan
    return rows


def _batch(stages: Sequence[StageWindow], name: str) -> float:
    """Packets that a call with work moves; nan without one."""
    of_stage = [row for row in stages if f"{row.endpoint} {row.stage}" == name]
    calls = sum(row.calls - row.empty_calls - row.stalled_calls for row in of_stage)
    return ratio(sum(row.objects for row in of_stage), calls) or np.nan
