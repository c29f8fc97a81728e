"""Findings about CPUs and clocks."""

from windtunnel.host.cpus import Cpus
from windtunnel.host.findings import Finding, Verdict, spans

WORKERS_OF_ECHO = 2
STEAL_BAD = 1.0  # percent of all CPU time; 1% is a gap of 10 ms a second on a polling worker
ENOUGH_TO_ISOLATE = 4
SHORT_WAKE_US = 2  # C1 of Intel's drivers; the next states take 10 and more


def judge_cpus(cpus: Cpus) -> list[Finding]:
    findings = [
        cores(cpus),
        isolation(cpus),
        siblings(cpus),
        c_states(cpus),
        governor(cpus),
        turbo(cpus),
        tsc(cpus),
        steal(cpus),
    ]
    if cpus.quota is not None:
        findings.insert(1, quota(cpus.quota, len(cpus.allowed)))
    return findings


def cores(cpus: Cpus) -> Finding:
    count = len(cpus.allowed)
    value = f"{count} of {len(cpus.online)} may be used ({spans(cpus.allowed)})"
    if count > WORKERS_OF_ECHO:
        return Finding(
            subject="cores", value=value, verdict="good", meaning="a core each for client and server, one to spare"
        )
    remedy = f"taskset -c {spans(cpus.online)} windtunnel run scenarios/echo.toml" if count < len(cpus.online) else None
    if count == WORKERS_OF_ECHO:
        meaning = "two polling workers use all of them: expect noise from other processes"
        return Finding(subject="cores", value=value, verdict="fair", meaning=meaning, remedy=remedy)
    meaning = "client and server share one core: their costs add up, and latency includes the time slices of the other"
    return Finding(subject="cores", value=value, verdict="bad", meaning=meaning, remedy=remedy)


def quota(limit: float, allowed: int) -> Finding:
    value = f"{limit:g} CPUs' worth of time"
    if limit >= allowed:
        return Finding(subject="CPU quota", value=value, verdict="good", meaning="more than the workers can use")
    return Finding(
        subject="CPU quota",
        value=value,
        verdict="bad",
        meaning="polling workers exceed it and are throttled for the rest of every period",
        remedy="cat /sys/fs/cgroup/cpu.max   # start the container without --cpus, with --cpuset-cpus instead",
    )


def isolation(cpus: Cpus) -> Finding:
    isolated = sorted(set(cpus.isolated) & set(cpus.online))
    if not isolated:
        spare = cpus.online[len(cpus.online) // 2 :]
        parameters = f"isolcpus={spans(spare)} nohz_full={spans(spare)} rcu_nocbs={spans(spare)}"
        return Finding(
            subject="isolation",
            value="none",
            verdict="fair",
            meaning="the kernel may preempt a worker; every run shows for how long",
            remedy=f"echo 'GRUB_CMDLINE_LINUX_DEFAULT=\"$GRUB_CMDLINE_LINUX_DEFAULT {parameters}\"' "
            "| sudo tee /etc/default/grub.d/windtunnel.cfg && sudo update-grub && sudo reboot"
            if len(cpus.online) >= ENOUGH_TO_ISOLATE
            else None,
        )
    if not set(isolated) <= set(cpus.allowed):
        return Finding(
            subject="isolation",
            value=spans(isolated),
            verdict="fair",
            meaning="isolated cores exist, but this process may not use them",
            remedy=f"taskset -c {spans(cpus.online)} windtunnel run scenarios/echo.toml",
        )
    ticking = sorted(set(isolated) - set(cpus.nohz_full))
    meaning = "no other process is scheduled there" + (
        f"; the timer still ticks on {spans(ticking)}" if ticking else ""
    )
    return Finding(subject="isolation", value=spans(isolated), verdict="good", meaning=meaning)


def siblings(cpus: Cpus) -> Finding:
    shared = [group for group in cpus.topology.cores if len(set(group) & set(cpus.allowed)) > 1]
    if not shared:
        return Finding(
            subject="SMT", value="no shared cores", verdict="good", meaning="a worker has its core to itself"
        )
    return Finding(
        subject="SMT",
        value="sharing a core: "
        + ", ".join(spans(group) for group in shared[:8])
        + (" ..." if len(shared) > 8 else ""),
        verdict="fair",
        meaning="two workers on one core slow each other down: placement gives each worker a core of its own as long as there are some",
        remedy="echo off | sudo tee /sys/devices/system/cpu/smt/control",
    )


def c_states(cpus: Cpus) -> Finding:
    idle = cpus.idle_states
    if idle is None:
        return Finding(
            subject="C-states",
            value="not available",
            verdict="unknown",
            meaning="the owner of the hardware controls how deep an idle CPU sleeps",
        )
    names = ", ".join(f"{state.name} ({state.latency_us} us)" for state in idle.entered)
    limit = "" if idle.limit_us is None else f"; /dev/cpu_dma_latency allows {idle.limit_us} us"
    driver = f"{idle.driver or 'no driver'}{'' if idle.max_cstate is None else f', max_cstate {idle.max_cstate}'}"
    slowest_us = max((state.latency_us for state in idle.entered), default=0)
    if slowest_us <= SHORT_WAKE_US:
        return Finding(
            subject="C-states",
            value=f"{names or 'none is entered'} by {driver}{limit}",
            verdict="good",
            meaning="an idle CPU wakes at once",
        )
    return Finding(
        subject="C-states",
        value=f"{names} by {driver}{limit}",
        verdict="fair",
        meaning=f"a CPU that was idle wakes up to {slowest_us} us late: servers and tenants that block see it, workers that poll do not",
        remedy="for state in /sys/devices/system/cpu/cpu*/cpuidle/state*; do "
        "[ $(cat $state/latency) -le 2 ] || echo 1 | sudo tee $state/disable; done   # until the next boot",
    )


def governor(cpus: Cpus) -> Finding:
    if not cpus.governors:
        return Finding(
            subject="governor",
            value="not available",
            verdict="unknown",
            meaning="the owner of the hardware controls the frequency; it may change during a run",
        )
    steady = cpus.governors == ["performance"]
    return Finding(
        subject="governor",
        value=", ".join(cpus.governors),
        verdict="good" if steady else "fair",
        meaning="the frequency stays up" if steady else "the frequency follows the load: the first windows are slower",
        remedy=None if steady else "echo performance | sudo tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor",
    )


def turbo(cpus: Cpus) -> Finding:
    if cpus.turbo is None:
        return Finding(
            subject="turbo",
            value="not available",
            verdict="unknown",
            meaning="the frequency may depend on temperature and on the load of other cores",
        )
    if not cpus.turbo:
        return Finding(
            subject="turbo", value="off", verdict="good", meaning="the frequency does not depend on temperature"
        )
    return Finding(
        subject="turbo",
        value="on",
        verdict="fair",
        meaning="faster, but the frequency depends on temperature and on the number of busy cores",
        remedy="if [ -e /sys/devices/system/cpu/intel_pstate/no_turbo ]; "
        "then echo 1 | sudo tee /sys/devices/system/cpu/intel_pstate/no_turbo; "
        "else echo 0 | sudo tee /sys/devices/system/cpu/cpufreq/boost; fi",
    )


def tsc(cpus: Cpus) -> Finding:
    if cpus.tsc is None:
        return Finding(
            subject="TSC",
            value="not an x86",
            verdict="unknown",
            meaning="cycles come from the platform's counter",
        )
    flags = [name for name, is_set in (("constant", cpus.tsc.constant), ("nonstop", cpus.tsc.nonstop)) if is_set]
    value = (
        ", ".join(flags or ["neither constant nor nonstop"])
        + f"; kernel's clock: {cpus.tsc.clocksource or 'not available'}"
    )
    if len(flags) == 2:
        return Finding(subject="TSC", value=value, verdict="good", meaning="constant rate: cycles measure time")
    return Finding(
        subject="TSC",
        value=value,
        verdict="bad",
        meaning="the counter changes its rate or stops: nanoseconds computed from cycles are wrong",
    )


def steal(cpus: Cpus) -> Finding:
    if cpus.virtual is None:
        machine = "not known"
    else:
        machine = "virtual" if cpus.virtual else "bare metal"
    if cpus.steal_percent is None:
        return Finding(subject="machine", value=machine, verdict="unknown", meaning="steal time cannot be read")
    value = f"{machine}; steal {cpus.steal_percent:.2f}% since boot"
    verdict: Verdict = "good"
    meaning = "no hypervisor"
    if cpus.virtual or cpus.steal_percent > 0:
        verdict = "fair"
        meaning = "a hypervisor may stop a worker at any time: gaps count as interrupted"
    if cpus.steal_percent >= STEAL_BAD:
        verdict = "bad"
        meaning = "the hypervisor took much of the CPU time (steal): repeat runs and compare medians"
    return Finding(subject="machine", value=value, verdict=verdict, meaning=meaning)
