"""Computes a tenant's weight from its reports. Pure: no clock, no machine.

`pressure` is a reported value over its limit (p99 over the SLO; queue depth or share of busy polls over theirs). Above 1 the weight rises by
the pressure, at most `up` times; below `low` it falls, `down` times; in between nothing changes. If p99 is proportional to 1 / weight, a step
down raises the pressure at most 1 / down times, and low < down keeps that below 1: the weight does not oscillate.
"""

from dataclasses import dataclass, replace

from windtunnel_sharing.daemon.bodies import Report
from windtunnel_sharing.daemon.keys import Autoscale


@dataclass(frozen=True)
class Memory:
    """Between two reports."""

    above: int = 0
    below: int = 0
    rests_until_ns: int = 0


@dataclass(frozen=True)
class Step:
    """The result of a report: the wanted weight and, if it is a new one, why."""

    weight: int
    memory: Memory
    why: str | None = None


def pressure(rule: Autoscale, slo_ns: int | None, seen: Report) -> float | None:
    """None where the report lacks the value that the rule uses."""
    value, limit = {
        "p99": (seen.p99_ns, slo_ns),
        "queue": (seen.queue, rule.queue),
        "polls": (seen.polls, rule.polls),
    }[rule.by]
    return None if value is None or limit is None else value / limit


def step(
    rule: Autoscale, least: int, most: int, slo_ns: int | None, weight: int, memory: Memory, seen: Report, now_ns: int
) -> Step:
    """The weight after a report. `now_ns` comes from any clock that only goes forward."""
    pressed = pressure(rule, slo_ns, seen)
    if pressed is None:
        return Step(weight, memory)
    above = memory.above + 1 if pressed > 1 else 0
    below = memory.below + 1 if pressed < rule.low else 0
    memory = replace(memory, above=min(above, rule.up_after), below=min(below, rule.down_after))
    if now_ns < memory.rests_until_ns:
        return Step(weight, memory)
    wanted = weight
    if above >= rule.up_after:
        wanted = min(most, max(weight + 1, round(weight * min(pressed, rule.up))))
    elif below >= rule.down_after:
        wanted = max(least, min(weight - 1, round(weight * rule.down)))
    if wanted == weight:
        return Step(weight, memory)
    why = f"{_words(rule, slo_ns, seen)}: {weight} -> {wanted}"
    return Step(wanted, Memory(rests_until_ns=now_ns + rule.rest), why)


def weight_for(slo_ns: int, slice_ns: int) -> int:
    """A first weight for a p99; the autoscaler or the user changes it later.

    A tenant with the share f of a CPU on which all poll waits slice x (1/f - 1) between two turns. Four tenants of 53, 27, 14 and 7% at
    120 us had a p99 of 200, 486, 1001 and 2003 us, which is 1.9 to 1.3 times that; the factor here is 1.5. At most one CPU.
    """
    gap = 1.5 * slice_ns
    return max(1, min(256, -int(-256 * gap // (gap + slo_ns))))


def _words(rule: Autoscale, slo_ns: int | None, seen: Report) -> str:
    if rule.by == "p99":
        return f"p99 {(seen.p99_ns or 0) / 1e3:.0f} us against {(slo_ns or 0) / 1e3:.0f} us"
    if rule.by == "queue":
        return f"queue {seen.queue} against {rule.queue}"
    return f"busy polls {seen.polls:.0%} against {rule.polls:.0%}"
