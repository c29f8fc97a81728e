"""The slicers, one class each."""

import os
import uuid
from pathlib import Path
from typing import Any, ClassVar

from windtunnel.errors import UserError
from windtunnel.sharing import sched
from windtunnel.sharing.slicers.core import DEFAULT_TURN_NS, CoreSlicer
from windtunnel.sharing.slicers.slicer import Member, SlicerJournal

KICKED_PART = 0.85
"""Part of the period that a member requests as its slice: its slice is then over at each kick."""
FEATURES = Path("/sys/kernel/debug/sched/features")
SCHED_EXT = Path("/sys/kernel/sched_ext")
SHARED_MEMORY = Path("/dev/shm")


def own_slice(slice_ns: float) -> int:
    """The custom slice that the kernel accepts; 0 where it has none."""
    if not sched.default_slice_ns():
        return 0
    return int(min(max(slice_ns, sched.LEAST_SLICE_NS), sched.MOST_SLICE_NS))


class Tick(CoreSlicer):
    name = "tick"
    summary = "the kernel without changes: a slice ends at the tick"


class Eevdf(CoreSlicer):
    name = "eevdf"
    summary = "each member requests its EEVDF slice (sched_runtime); enforced at the tick, unless HRTICK is on"

    @classmethod
    def missing(cls, cpu: int) -> str | None:
        if not sched.default_slice_ns():
            return "this kernel has no custom slices (they need Linux 6.12)"
        return super().missing(cpu)

    def runtime_ns(self, slice_ns: int) -> int:
        return own_slice(slice_ns)


class Kicker(CoreSlicer):
    name = "kicker"
    summary = "a real-time thread wakes on the core every slice and does nothing: the kernel chooses again"
    mechanism = "kick"

    def runtime_ns(self, slice_ns: int) -> int:
        return own_slice(KICKED_PART * slice_ns)


class Rotor(CoreSlicer):
    name = "rotor"
    summary = "one member at a time is SCHED_FIFO, for a time by its weight"
    mechanism = "rotate"
    raises = True


class Far(CoreSlicer):
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


class Doorbell(CoreSlicer):
    """`bell` is the file that a dispatcher maps and rings (include/windtunnel/doorbell.h); a member's place in the list of members
    is its bell. Up to 64 members. Who was raised stays so for `turn_ns`, others that were rung for wait so long."""

    name = "doorbell"
    summary = "a dispatcher rings for the tenant of a packet, and this tenant runs next; kicked between bells"
    mechanism = "bells"
    raises = True
    most: ClassVar[int] = 64

    def __init__(self, journal: SlicerJournal, turn_ns: int = DEFAULT_TURN_NS):
        super().__init__(journal)
        self.turn_ns = turn_ns
        self.bell = SHARED_MEMORY / f"windtunnel-bell-{uuid.uuid4().hex}"

    def runtime_ns(self, slice_ns: int) -> int:
        return own_slice(KICKED_PART * slice_ns)

    def plan(self) -> dict[str, Any]:
        return super().plan() | {"doorbell": str(self.bell), "turn_ns": self.turn_ns}

    def set_members(self, members: list[Member]) -> None:
        if len(members) > self.most:
            raise UserError(f"{len(members)} members at one doorbell", remedy=f"up to {self.most}")
        super().set_members(members)

    def stop(self) -> None:
        super().stop()
        self.bell.unlink(missing_ok=True)


class Yield(CoreSlicer):
    name = "yield"
    summary = "the tenant calls sched_yield after some empty polls"


class Hrtick(Eevdf):
    name = "hrtick"
    summary = "eevdf, with the kernel's high-resolution tick to end slices"

    @classmethod
    def missing(cls, cpu: int) -> str | None:
        try:
            words = FEATURES.read_text().split()
        except OSError as error:
            return f"{FEATURES}: {error.strerror} (debugfs not mounted, or locked down)"
        if not {"HRTICK", "NO_HRTICK"} & set(words):
            return "this kernel was built without HRTICK"
        if not os.access(FEATURES, os.W_OK):
            return f"{FEATURES} may not be written"
        return super().missing(cpu)

    def start(self, cpu: int, slice_ns: int) -> None:
        super().start(cpu, slice_ns)
        before = "HRTICK" if "HRTICK" in FEATURES.read_text().split() else "NO_HRTICK"
        self.journal.set_setting(FEATURES, before, "HRTICK")

    def stop(self) -> None:
        super().stop()
        self.journal.put_settings_back()


class SchedExt(CoreSlicer):
    name = "sched_ext"
    summary = "a scheduler in BPF"

    @classmethod
    def missing(cls, cpu: int) -> str | None:
        if not SCHED_EXT.is_dir():
            return "not in this kernel (no /sys/kernel/sched_ext)"
        return "this kernel supports it, but Windtunnel has no scheduler for it"


SLICERS = {
    kind.name: kind for kind in (Tick, Eevdf, Kicker, FarKicker, Rotor, FarRotor, Doorbell, Yield, Hrtick, SchedExt)
}
