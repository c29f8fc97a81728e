"""The machine: its facts, its CPUs, and the processes that measure on it."""

from windtunnel import proc
from windtunnel.engine.interrupts import Interrupts
from windtunnel.host import facts, levels
from windtunnel.host.caches import reported
from windtunnel.live import places
from windtunnel.live.process import ANNOUNCEMENT

__all__ = [
    "ANNOUNCEMENT",
    "Interrupts",
    "facts",
    "levels",
    "places",
    "proc",
    "reported",
]
