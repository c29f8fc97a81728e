"""Windows with given counters."""

import sample_lines as sample

from windtunnel.engine.lines import Hello
from windtunnel.engine.windows import StageWindow, Window, WorkerWindow

LINES = sample.engine_lines(sample.plan())


HELLO = next(line for line in LINES if isinstance(line, Hello)).model_copy(update={"tsc_hz": 2_000_000_000})


def stage(**counters) -> StageWindow:
    """A stage that did nothing, but for these."""
    zero = dict.fromkeys(
        (
            *("calls", "empty_calls", "objects", "timed_calls", "timed_objects", "busy_cycles", "idle_cycles"),
            *("stall_cycles", "stalled_calls", "interrupted_calls", "interrupted_cycles", "index", "worker"),
            "traffic_cycles",
        ),
        0,
    )
    named = {"endpoint": "server", "stage": "app_rx", "burst": {}, "drops": {}, "completion": None, "stall": None}
    return StageWindow(**(zero | named | counters))


def window(stages=(), workers=(), ports=(), phase="measure", start_ns=0, end_ns=1_000_000_000) -> Window:
    empty = {"steps": [], "counters": [], "workloads": [], "rings": [], "pools": []}
    parts = {"stages": list(stages), "workers": list(workers), "ports": list(ports)}
    return Window(type="window", index=0, phase=phase, start_ns=start_ns, end_ns=end_ns, **parts, **empty)


def worker(number=0, timed_cycles=0, **more) -> WorkerWindow:
    given_ = {"worker": number, "cpu": number, "loops": 1, "cycles": 1, "preempted_ns": None, "on_cpu_ns": None}
    given_ |= {"steal_ns": 0, "chain_ticks": None, "wide_ticks": None}
    return WorkerWindow(**(given_ | {"timed_cycles": timed_cycles} | more))
