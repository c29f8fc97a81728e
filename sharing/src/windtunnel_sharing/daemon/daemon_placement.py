"""Where the daemon itself runs. The shield keeps neighbours off the tenants' time, and the daemon is one: on a CPU of `ls` it would wait
for a quarter of a second to do a millisecond of work.

It keeps to the CPUs that are always `be`'s, before the others there. Where there are none (be_cpus = 0) it is SCHED_RR and goes before
the tenants, and behind the slicers, with each of its threads, since it ends with the last one; what it takes is then the tenants' (bench/sharing_api.py says how much).
"""

import contextlib
import os
from collections.abc import Iterator, Sequence

from windtunnel_sharing import sched, threads

NICE = -20
PRIORITY = sched.SLICER_PRIORITY - 1


class Standing:
    """`home`: the CPUs that are always `be`'s."""

    def __init__(self, home: Sequence[int]):
        self._home = frozenset(home)
        self._all = os.sched_getaffinity(0)
        if self._home:
            os.setpriority(os.PRIO_PROCESS, 0, NICE)
            os.sched_setaffinity(0, self._home)
        else:
            for tid in threads.threads_of(os.getpid()):
                os.sched_setscheduler(tid, os.SCHED_RR, os.sched_param(PRIORITY))

    @contextlib.contextmanager
    def everywhere(self) -> Iterator[None]:
        """Slicers are started from here: they may be of any CPU."""
        os.sched_setaffinity(0, self._all)
        try:
            yield
        finally:
            os.sched_setaffinity(0, self._home or self._all)
