"""What limits the rate of a run, from its record alone.

A worker limits if it has the least slack, and less than half of its time is slack. If even that one has more, nothing that a worker does
limits: the messages in flight are too few for their latency (Little's law), or a link takes no more. All of it by intervals over the
windows of the headline's state: where an interval cannot tell two answers apart, both are said.
"""

from collections.abc import Iterable, Sequence
from statistics import fmean

from windtunnel import format as fmt
from windtunnel.diagnose.model import Kind, Limit
from windtunnel.diagnose.observed import Observed
from windtunnel.measure.validity import Slack, slowest
from windtunnel.runs.metrics import add
from windtunnel.stats.mean import LEAST, Estimate, mean_of

QUEUE_FULL = "emulated_queue_full"
"""Drop of a packet that found the queue of an emulated link full; a NIC counts such drops under names of its driver."""


def limit(seen: Observed) -> Limit:
    """What limits, or why these windows cannot tell."""
    record = seen.run.record
    if record.imported:
        words = f"what limits is not known: {record.imported.tool} prints no idle time, so no worker's slack is known"
        return _limit("unknown", words)
    if seen.count == 0:
        because = "; ".join(record.verdict.reasons) or "it has no windows"
        return _limit("unknown", f"what limits is not known: no window was measured ({because})")
    if record.validity and record.validity.too_few_left:
        return _limit("host", "the host limits: it took the CPUs away in too many windows", record.verdict.reasons)
    if _only_open(seen) and (found := _offered(seen)):
        return found
    return _saturated(seen)


def _share(found: Estimate) -> str:
    """As in "1.2% [0.8% .. 1.6%]"."""
    if found.low is None or found.high is None:
        return f"{found.mean:.1%} (too few windows for an interval)"
    return f"{found.mean:.1%} [{found.low:.1%} .. {found.high:.1%}]"


def _limit(
    kind: Kind, words: str, evidence: Iterable[str] = (), workers: Sequence[Slack] = (), stage: str | None = None
) -> Limit:
    return Limit(
        kind=kind,
        workers=[slack.worker for slack in workers],
        engines=[slack.engine for slack in workers],
        stage=stage,
        words=words,
        evidence=[line for line in evidence if line],
    )


def _only_open(seen: Observed) -> bool:
    loads = [workload.load for plan in seen.plans for workload in plan.workloads if workload.load]
    return bool(loads) and all(load.mode == "open" for load in loads)


def _offered(seen: Observed) -> Limit | None:
    """Of an open loop: the load itself, if all of it was sent. None: the client sent less than was due."""
    per_window = [[w for of in seen.windows.values() for w in of[n].workloads] for n in range(seen.count)]
    unsent = mean_of([sum(w.offered - w.sent for w in of) for of in per_window])
    if unsent.low is None or unsent.low > 0:
        return None
    offered, sent, responses, lost = (
        sum(getattr(w, name) for of in per_window for w in of) for name in ("offered", "sent", "responses", "lost")
    )
    evidence = [f"{offered:,} messages were due, {sent:,} were sent, {responses:,} got a response, {lost:,} were lost"]
    if lost and (dropped := _full_queue(seen)):
        return _limit("link", f"a link limits: it dropped {dropped:,} packets, because its queue was full", evidence)
    words = "the offered load limits: all that was due was sent"
    words += f"; {fmt.percent(lost / offered, 2)} of it was lost" if lost else ", and got a response"
    return _limit("offered load", words, [*evidence, *map(_has, seen.slacks)])


def _saturated(seen: Observed) -> Limit:
    """Something is full: the client has more to send."""
    if not seen.slacks:
        level = seen.run.record.accounting
        return _limit("unknown", f"what limits is not known: at the accounting level {level} no call was timed")
    evidence = [*map(_has, sorted(seen.slacks, key=lambda slack: slack.share.mean)), *_little(seen)]
    if seen.count < LEAST:
        words = f"what limits is not known: {seen.count} windows are too few for an interval; {LEAST} have one"
        return _limit("unknown", words, evidence)
    tied = slowest(seen.slacks)
    match tied[0].more_than_half:
        case True:
            return _nobody(seen, evidence)
        case None:
            words = f"a tie: {who(tied[0])} limits, or too few messages in flight: about half of its time is slack"
            return _limit("tie", words, evidence, tied)
    return _workers(seen, tied, evidence)


def _workers(seen: Observed, tied: Sequence[Slack], evidence: list[str]) -> Limit:
    first = tied[0]
    stages = seen.stages_of(first.engine, first.worker)
    alike = all(seen.stages_of(s.engine, s.worker).keys() == stages.keys() for s in tied)
    if not alike:
        words = f"a tie between {' and '.join(map(who, tied))}: these windows cannot tell which has less slack. The first seems to have less"
        return _limit("tie", words, evidence, tied)
    kind: Kind = "generator" if first.sides == "client" else "worker"
    stage, share = next(iter(stages.items()))
    evidence = [*evidence, f"{stage} takes {share:.0%} of the work of {who(first)}"]
    words = f"{' and '.join(map(who, tied))} {'limits' if len(tied) == 1 else 'limit alike'}"
    return _limit(kind, f"the generator limits: {words}" if kind == "generator" else words, evidence, tied, stage)


def _nobody(seen: Observed, evidence: list[str]) -> Limit:
    if dropped := _full_queue(seen):
        words = f"a link limits: it dropped {dropped:,} packets, because its queue was full, and all workers have slack"
        return _limit("link", words, evidence)
    if stalled := _full_ports(seen):
        return _limit(
            "link", "a link limits: the port takes no more packets, and all workers have slack", [*evidence, *stalled]
        )
    if not seen.has_client:
        return _limit("offered load", "the offered load limits: all workers wait for packets", evidence)
    if not any(slack.sides == "client" for slack in seen.slacks):
        return _limit(
            "unknown", "what limits is not known: the server waits for a client that is not in this run", evidence
        )
    if seen.in_queues > 0.5:
        words = "a link limits: messages wait for most of their latency, and all workers have slack"
        return _limit("link", words, [*evidence, _fastest(seen)])
    words = "too few messages in flight limit: more than half of every worker's time is slack, and messages wait for little of their latency"
    return _limit("in-flight", words, [*evidence, _fastest(seen)])


def who(slack: Slack) -> str:
    """As in "the server's worker on CPU 1"."""
    whose = "the worker of both sides" if "+" in slack.sides else f"the {slack.sides}'s worker"
    return f"{whose} on CPU {slack.cpu}"


def _has(slack: Slack) -> str:
    clock = "" if slack.is_known else f", {fmean(slack.most):.1%} with what reading the clock adds"
    return f"{who(slack)} has a slack of {_share(slack.share)}{clock}"


def _little(seen: Observed) -> list[str]:
    """Messages in flight by Little's law, beside the budget."""
    windows = [window for of in seen.windows.values() for window in of]
    latencies = [w.latency_sent for window in windows for w in window.workloads if w.latency_sent.total]
    total = sum(latency.total for latency in latencies)
    if not total or not seen.budget:
        return []
    mean_ns = sum(latency.sum for latency in latencies) / total
    lasted = sum(window.end_ns - window.start_ns for window in windows if window.workloads)
    per_s = total / lasted * 1e9
    return [
        f"{fmt.rate(per_s)} x {fmt.duration(mean_ns)} = {per_s * mean_ns / 1e9:,.0f} messages in flight, of an in-flight limit of {seen.budget:,}"
    ]


def _fastest(seen: Observed) -> str:
    return (
        f"the fastest message of a window waits for {seen.in_queues:.0%} of its latency, by the fastest one of the run"
    )


def _full_queue(seen: Observed) -> int:
    drops = add(stage.drops for of in seen.windows.values() for window in of for stage in window.stages)
    return drops.get(QUEUE_FULL, 0)


def _full_ports(seen: Observed) -> list[str]:
    """NICs that refused packets, in words."""
    nics = {e.side for plan in seen.plans for e in plan.endpoints if "nic" in e.port.traits}
    rows = [row for row in seen.summary.stages if row.stage == "nic_tx" and row.endpoint in nics and row.stalled_calls]
    return [f"nic_tx of the {row.endpoint} found the port full in {row.stalled_calls:,} calls" for row in rows]
