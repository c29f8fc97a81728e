"""The kernel: system calls and page faults of the limiting worker."""

from windtunnel import format as fmt
from windtunnel.parts.diagnose.cause import Case, Check, Relief
from windtunnel.parts.diagnose.causes.rare_calls import describe_calls
from windtunnel.parts.diagnose.model import Limit
from windtunnel.parts.diagnose.observation import Observation
from windtunnel.parts.diagnose.own_time import kernel_time, long_time

PAGE_FAULT_NS = 1_000
"""What a page fault that clears a page of 4 KiB takes, by order of magnitude."""


def _find(observation: Observation, limit: Limit) -> Case | None:
    slack = next(iter(observation.of_limit(limit)), None)
    if slack is None:
        return None
    spent, faults_per_s = kernel_time(observation, slack)
    if not spent.is_shown:
        return None
    evidence = f"the worker on CPU {slack.cpu} is in the kernel for {spent.share.mean:.0%} of its time"
    by_faults = faults_per_s * PAGE_FAULT_NS / 1e9 > spent.share.mean / 2
    if by_faults:
        evidence += f", with {fmt.rate(faults_per_s)} page faults"
    in_long_calls = long_time(observation, slack).share.mean > spent.share.mean / 2
    if in_long_calls:
        evidence += f"; {describe_calls(observation, slack)}"
    return Case(
        evidence=evidence,
        remedy="use memory before the run begins, or hugepages: fewer pages are touched for the first time"
        if by_faults
        else "no system call on the data path: leave it to another thread, or let one call do the work of many",
        reliefs=(Relief(slack, spent.ns_a_message),),
        not_measured=[] if in_long_calls else ["in which stage: its calls are not long enough to tell"],
    )


CAUSE = Check("kernel", "the limiting worker is in the kernel", _find)
