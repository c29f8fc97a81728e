"""Observing DPDK applications of others, unmodified, while they run.

The probe (attach/ in the checkout, C without DPDK) stands in the place of the burst functions of a process for a small share of the time. It
counts there, and times some turns. Who observes holds a lease and renews it: without one the application is as it was.

processes         DPDK applications of this host
way_in            the probe comes into a process: injected into a running one, or loaded by one that is started
page              the memory that the probe shares with its observer
observer          the lease, and windows of what the probe counted
telemetry         windows of the application's own telemetry alone
lines             a window, as a line of observation.jsonl
thread_metrics    threads of the data path: rates, bursts, what a packet costs, capacity
own_cost          what the probe costs the application, from its phases of presence and absence
experiments       delays in one thread at a time: which of them limits, and how much room there is
limiting          which thread limits, in words
observed_run      the run directory of an observation
observed_windows  reading it back
untrusted         how much of it a page reads
blocks            what is shown of it
live_table        what a terminal shows meanwhile
twin              a scenario that takes as long for its packets as the application
attach_command, twin_command  the commands

For the rooms: `blocks` has what a run shows, `own_diagnosis` what `diagnose` says of an observation, `commands` the commands.
"""
