"""The machine: its facts, its CPUs, and the processes that measure on it."""

from typing import TYPE_CHECKING

from windtunnel.api.lazy import loader_of

if TYPE_CHECKING:
    from windtunnel import proc as proc
    from windtunnel.engine.interrupts import Interrupts as Interrupts
    from windtunnel.host import facts as facts
    from windtunnel.host import levels as levels
    from windtunnel.host.caches import reported as reported
    from windtunnel.host.read import cpu_list as cpu_list
    from windtunnel.live import places as places
    from windtunnel.live.process import ANNOUNCEMENT as ANNOUNCEMENT

__getattr__ = loader_of(__name__)
