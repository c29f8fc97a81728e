"""What a call of a stage costs: a part per call and a part per packet, of the timed calls that moved something.

The n packets and c ticks of each such call leave five sums in a window: of 1, n, n x n, c and n x c. They are all that least squares of
c = a + b n needs, over any windows. If all calls moved equally many packets, the sums have one point, and the parts cannot be told.
Intervals leave out a batch of windows at a time (jackknife), since calls of one window are alike.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from windtunnel.engine.windows import StageWindow
from windtunnel.measure.validity.steady import LEAST_WINDOWS_ESTIMATED, MOST_BATCHES, T_975, Estimate

LEAST_CALLS = 100
"""Timed calls that moved something; fewer are no sample."""
Window = TypeVar("Window")


@dataclass(frozen=True)
class CallCost:
    """Ticks of a call that moves n packets: `call` + `packet` x n."""

    call: float
    packet: float


def call_cost(stages: Iterable[StageWindow]) -> CallCost | None:
    """Costs of one stage in one or several windows, as they are timed: reading the clock is in `call`. None: n never varied, or the sums are not
    there (an earlier release, or a level that takes no cycles)."""
    calls = packets = squared = ticks = products = 0
    for stage in stages:
        if stage.timed_work_calls is None or stage.timed_objects_squared is None or stage.timed_objects_cycles is None:
            return None
        calls += stage.timed_work_calls
        packets += stage.timed_objects
        squared += stage.timed_objects_squared
        ticks += stage.busy_cycles - stage.stall_cycles
        products += stage.timed_objects_cycles
    spread = calls * squared - packets * packets  # whole numbers: exactly 0 if n never varied
    if calls < LEAST_CALLS or spread <= 0:
        return None
    packet = (calls * products - packets * ticks) / spread
    return CallCost(call=(ticks - packet * packets) / calls, packet=packet)


def over_windows(windows: Sequence[Window], statistic: Callable[[Sequence[Window]], float | None]) -> Estimate | None:
    """A statistic of all windows together and its 95% interval. None if the statistic is."""
    whole = statistic(windows)
    if whole is None or len(windows) < LEAST_WINDOWS_ESTIMATED:
        return None if whole is None else Estimate(whole)
    batches = np.array_split(np.arange(len(windows)), min(len(windows) // 2, MOST_BATCHES))
    without = [statistic([windows[n] for n in range(len(windows)) if n not in set(batch)]) for batch in batches]
    if any(value is None for value in without):
        return Estimate(whole)
    count = len(batches)
    error = float(np.std(np.asarray(without, dtype=float)) * np.sqrt(count - 1))
    half = T_975[count - 1] * error
    return Estimate(whole, whole - half, whole + half)
