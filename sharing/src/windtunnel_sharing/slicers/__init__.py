"""Slicers: they share a core among tenants that never release it by themselves.

with held(directory() / "mine.journal") as journal, SLICERS["kicker"](journal) as slicer:
    slicer.start(cpu=1, slice_ns=120_000)
    slicer.set_members([Member(tid, weight) ...])
    reading = slicer.read()
"""

from windtunnel_sharing.slicers.kinds import SLICERS
from windtunnel_sharing.slicers.readings import MemberReading, SliceReading
from windtunnel_sharing.slicers.slicer import Member, Slicer

__all__ = ["SLICERS", "Member", "MemberReading", "SliceReading", "Slicer"]
