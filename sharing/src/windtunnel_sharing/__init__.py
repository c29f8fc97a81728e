"""Sharing: many poll-mode tenants on few cores.

Slicers make microsecond slices on stock Linux, pools assign cores by weight, and a daemon maintains both and takes requests of
tenants. A simulator and a model give estimates, also for other machines.

pools           how weights become CPUs, as a pure function; then how threads get onto them, completely or not at all
daemon          requests over HTTP and PvCC's protocol, tenants that come and go, state over a restart
slicers         one core among threads, by weight; with changed_threads, left_behind and other_holders: how threads ran before, how to
                restore them, and who else changes them
rounds          how many of a large number of things are checked at a time, and whose turn it is
simulate        policies as in their sources, one file each; requests on the CPU time that a tenant got
advise, probe   what a turn costs here; the fewest cores that meet an SLO, by the simulator, checked by a short trial

The processes of `windtunnel share serve`:

the daemon             one thread: HTTP, PvCC's protocol, plan, upkeep. It runs on a CPU of `be`, and gives up its rights except for
                       CAP_SYS_NICE and CAP_PERFMON
windtunnel-slicer      one for each CPU of `ls`: a slice is microseconds, and a timer in Python is late by milliseconds
guardian               waits for the daemon's end, even by kill -9, and restores every thread from the journal. It is replaced if it is killed
sweeper of the shield  then removes the shield's cgroup: it started before the daemon gave up root's rights, and still has them
sweeper of the cpusets the same for the cgroups of threads that stray, if the host has cpusets of cgroup v1

Each waits for the end of a pipe from the daemon: no signal and no pid file is needed. Tenants are no children of the daemon: it finds them,
changes their threads through the journal, and releases them. If the daemon is killed, its CPUs stay claimed until its guardian has restored
them.
"""

MAX_LOSS = 0.08
"""Default of what slices may cost: the part of a core's time outside them."""
