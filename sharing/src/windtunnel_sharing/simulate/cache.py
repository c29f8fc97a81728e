"""What a switch costs in caches: lines of a working set that others drove out of the L2 have to come back, each at its first touch.

A tenant touches the L lines of its working set at random, one every `touch_ns`, or `touch_ns + miss_ns` where the line is gone. The
share u of lines that are gone falls by du/dt = -u/(L (touch + miss u)), so that L (touch ln u + miss u) falls with time; what is
lost in a stretch is miss x L x (u at its beginning - u at its end).
While a tenant is away others touch lines. The L2 drops the ones that were not used for longest, so what is gone is what does not fit
beside them. Lines that others touch twice are counted twice: an upper bound, exact where they overflow the cache in one turn.
"""

from math import exp, log

from windtunnel_sharing.simulate.plan import Machine

LINE = 64
LEAST_GONE = 1e-6


class Cache:
    """The L2 of one core."""

    def __init__(self, machine: Machine):
        self.lines = machine.l2_bytes / LINE
        self.miss, self.touch = machine.miss_ns, machine.touch_ns
        self.touched = 0.0
        """Lines that were touched by all so far, within a turn each once."""
        self.left: dict[int, tuple[float, float]] = {}
        """Thread -> `touched` when it left, and the share of its lines that was gone then."""

    def lost_ns(self, thread: int, working_set: int, ran_ns: int) -> int:
        """Of a stretch of `ran_ns`: the time in which lines came back. The stretch ends now."""
        own = min(working_set / LINE, self.lines)  # what never fits is part of the service time
        if not own:
            return 0
        gone = self._gone(thread, own)
        after = remaining(gone, own, ran_ns, self.touch, self.miss)
        self.touched += min(own, ran_ns / (self.touch + self.miss * gone))
        self.left[thread] = self.touched, after
        return min(int(self.miss * own * (gone - after)), ran_ns)

    def _gone(self, thread: int, own: float) -> float:
        if thread not in self.left:
            return 1.0
        then, gone = self.left[thread]
        return min(gone + max(own + self.touched - then - self.lines, 0.0) / own, 1.0)


def remaining(gone: float, lines: float, ran_ns: float, touch: float, miss: float) -> float:
    """The share of lines that is gone after so long; Newton's method in ln u, where the left side rises and is convex."""
    if gone <= LEAST_GONE:
        return gone
    goal = touch * log(gone) + miss * gone - ran_ns / lines
    x = log(gone)
    for _ in range(30):
        step = (touch * x + miss * exp(x) - goal) / (touch + miss * exp(x))
        x -= step
        if abs(step) < 1e-9:
            break
    return exp(x)


def refill_ns(tenants: int, slice_ns: int, working_set: int, machine: Machine) -> float:
    """ns of a slice in which lines come back that other tenants, alike, evicted from the L2."""
    lines, room = working_set / LINE, machine.l2_bytes / LINE
    own = min(lines, room)
    if tenants < 2 or not own:
        return 0.0
    gone = min(max(tenants * own - room, 0.0) / own, 1.0)
    return machine.miss_ns * own * (gone - remaining(gone, own, slice_ns, machine.touch_ns, machine.miss_ns))
