"""What a call of a stage costs: a part per call and a part per packet, of the timed calls that moved something.

The n packets and c ticks of each such call leave five sums in a window: of 1, n, n x n, c and n x c. They are all that least squares of
c = a + b n needs, over any windows. If all calls moved equally many packets, the sums have one point, and the parts cannot be told.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from windtunnel.engine.windows import StageWindow

LEAST_CALLS = 100
"""Timed calls that moved something; fewer are no sample."""


@dataclass(frozen=True)
class CallCost:
    """Ticks of a call that moves n packets: `call` + `packet` x n."""

    call: float
    packet: float


def call_cost(stages: Iterable[StageWindow]) -> CallCost | None:
    """Costs of one stage in one or several windows, as they are timed: reading the clock is in `call`. None: n never varied, or the sums are not
    there (an older record, or a level that takes no cycles)."""
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
