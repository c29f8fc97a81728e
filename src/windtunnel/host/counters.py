"""Hardware counters: opened and read for real, because a VM may list them and count nothing."""

from windtunnel.host.perf_events import Event, Refused
from windtunnel.host.read import Probe

EVENTS = ("cycles", "instructions", "cache-misses")
NEVER_ZERO = ("cycles", "instructions")  # work without a single cache miss is possible


def read_counters() -> dict[str, Probe]:
    """Each event's name with whether it counted this thread's work."""
    return {name: count(name) for name in EVENTS}


def count(name: str) -> Probe:
    """Without the kernel's part, which is what a user without rights may count."""
    try:
        with Event(name, with_kernel=False) as event:
            sum(bytes(1 << 16))  # work to be counted
            found = event.read()
    except Refused as refused:
        return Probe(works=False, reason=str(refused))
    if not found.running_ns:
        return Probe(works=False, reason="opens, but was never scheduled")
    if name in NEVER_ZERO and not found.value:
        return Probe(works=False, reason="opens, but counts nothing")
    return Probe(works=True)
