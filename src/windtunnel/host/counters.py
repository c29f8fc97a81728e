"""Hardware counters: opened and read for real, because a VM may list them and count nothing."""

from windtunnel.host.perf_events import Event, Refused
from windtunnel.host.read import Probe

EVENTS = ("cycles", "instructions", "cache-misses")
NEVER_ZERO = ("cycles", "instructions")  # work without a single cache miss is possible


def read_counters() -> dict[str, Probe]:
    """For each event by name, whether it counted this thread's work."""
    return {name: count(name) for name in EVENTS}


def count(name: str) -> Probe:
    """Tries one event without the kernel's part, because an unprivileged user may count only that."""
    try:
        with Event(name, with_kernel=False) as event:
            sum(bytes(1 << 16))  # work to be counted
            reading = event.read()
    except Refused as refused:
        return Probe(works=False, reason=str(refused))
    if not reading.running_ns:
        return Probe(works=False, reason="opens, but was never scheduled")
    if name in NEVER_ZERO and not reading.value:
        return Probe(works=False, reason="opens, but counts nothing")
    return Probe(works=True)
