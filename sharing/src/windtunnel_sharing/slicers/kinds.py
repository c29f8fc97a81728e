"""The slicers, one class each."""

import os
from pathlib import Path
from typing import Any

from windtunnel_sharing import sched
from windtunnel_sharing.slicers.slicer import Slicer

KICKED_PART = 0.85
"""Part of the period that a member requests as its slice: its slice is then over at each kick."""
FEATURES = Path("/sys/kernel/debug/sched/features")


def own_slice(slice_ns: float) -> int:
    """The custom slice that the kernel accepts; 0 where it has none."""
    if not sched.default_slice_ns():
        return 0
    return int(min(max(slice_ns, sched.LEAST_SLICE_NS), sched.MOST_SLICE_NS))


class Tick(Slicer):
    name = "tick"
    summary = "the kernel without changes: a slice ends at the tick"


class Kicker(Slicer):
    name = "kicker"
    summary = "a real-time thread wakes on the core every slice and does nothing: the kernel chooses again"
    mechanism = "kick"

    def runtime_ns(self, slice_ns: int) -> int:
        return own_slice(KICKED_PART * slice_ns)


class Rotor(Slicer):
    name = "rotor"
    summary = "one member at a time is SCHED_FIFO, for a time by its weight"
    mechanism = "rotate"
    raises = True


class Far(Slicer):
    """Time is kept on another CPU, the first that there is: its timers cost this one nothing."""

    @classmethod
    def missing(cls, cpu: int) -> str | None:
        if not os.sched_getaffinity(0) - {cpu}:
            return "there is no other CPU"
        return super().missing(cpu)

    def plan(self) -> dict[str, Any]:
        return super().plan() | {"from_cpu": min(os.sched_getaffinity(0) - {self.cpu})}


class FarKicker(Far, Kicker):
    name = "kicker-far"
    summary = "kicker, woken from another core, which bears the cost of the timer"


class FarRotor(Far, Rotor):
    name = "rotor-far"
    summary = "rotor, switched from another core"


class Hrtick(Slicer):
    name = "hrtick"
    summary = "each member requests its slice (sched_runtime), and the kernel's high-resolution tick ends it"

    @classmethod
    def missing(cls, cpu: int) -> str | None:
        if not sched.default_slice_ns():
            return "this kernel has no custom slices (they need Linux 6.12)"
        try:
            words = FEATURES.read_text().split()
        except OSError as error:
            return f"{FEATURES}: {error.strerror} (debugfs not mounted, or locked down)"
        if not {"HRTICK", "NO_HRTICK"} & set(words):
            return "this kernel was built without HRTICK"
        if not os.access(FEATURES, os.W_OK):
            return f"{FEATURES} may not be written"
        return super().missing(cpu)

    def runtime_ns(self, slice_ns: int) -> int:
        return own_slice(slice_ns)

    def start(self, cpu: int, slice_ns: int) -> None:
        super().start(cpu, slice_ns)
        before = "HRTICK" if "HRTICK" in FEATURES.read_text().split() else "NO_HRTICK"
        self.journal.set_setting(FEATURES, before, "HRTICK")

    def stop(self) -> None:
        super().stop()
        self.journal.put_settings_back()


SLICERS = {kind.name: kind for kind in (Tick, Kicker, FarKicker, Rotor, FarRotor, Hrtick)}
