"""What limits the rate of a run, from its record alone.

A worker limits if it has the least slack, and less than half of its time is slack. If even that one has more, nothing that a worker does
limits: the messages in flight are too few for their latency (Little's law), or a link takes no more. All of it by intervals over the
windows of the headline's state: if an interval cannot tell two answers apart, both are named.
"""

from collections.abc import Iterable, Sequence
from statistics import fmean, median

from windtunnel import format as fmt
from windtunnel.host.findings import spans
from windtunnel.measure.validity import Slack, slowest
from windtunnel.parts.diagnose.model import Kind, Limit
from windtunnel.parts.diagnose.observation import Observation
from windtunnel.runs.metrics import add
from windtunnel.runs.record import BUSY, Imported
from windtunnel.runs.replicas import LEAST_GROUP
from windtunnel.stats.mean import LEAST, Estimate, mean_of

QUEUE_FULL = "emulated_queue_full"
"""Drop of a packet that found the queue of an emulated link full; a NIC counts such drops under names of its driver."""


def limit(observation: Observation) -> Limit:
    """What limits, or why these windows cannot tell."""
    record = observation.run.record
    if record.imported:
        return _of_another_tool(record.imported)
    if observation.count == 0:
        because = "; ".join(record.verdict.reasons) or "it has no windows"
        return _limit("unknown", f"what limits is not known: no window was measured ({because})")
    if record.validity and record.validity.too_few_left:
        return _limit("host", "the host limits: it took the CPUs away in too many windows", record.verdict.reasons)
    if _only_open(observation) and (offered_limit := _offered(observation)):
        return offered_limit
    return _saturated(observation)


def _of_another_tool(imported: Imported) -> Limit:
    """By the rule of our own runs, without intervals: the worker with the least slack limits, if less than half of its time is slack."""
    busy = [value for value in imported.values if value.unit == BUSY]
    if not busy:
        sentence = f"what limits is not known: {imported.tool} prints no idle time, so no worker's slack is known"
        return _limit("unknown", sentence)
    most, least = (choose(busy, key=lambda value: value.value) for choose in (max, min))
    slack = max(0.0, 1 - most.value)
    first = [value.name for value in busy if f"{value.value:.0%}" == f"{most.value:.0%}"]
    who, alone = f"the {most.of}'s {' and '.join(first)}", len(first) == 1
    shares = f"{least.value:.0%} to {most.value:.0%} of the time, stalls included"
    evidence = [
        f"by the times that {imported.tool} counts, {len(busy)} of the {most.of}'s workers are busy for {shares}",
        "no interval: these are means over the whole log",
    ]
    if slack < 0.5:
        sentence = f"{who} {'limits: it has' if alone else 'limit: they have'} the least slack, {slack:.0%} of the time"
        return _limit("worker", sentence, evidence)
    sentence = (
        f"none of the {most.of}'s workers limits: {who} {'has' if alone else 'have'} the least slack, {slack:.0%} of the time. "
        "The text does not show what else does"
    )
    return _limit("unknown", sentence, evidence)


def _share_text(estimate: Estimate) -> str:
    """A mean with its interval, as in "1.2% [0.8% .. 1.6%]"."""
    if estimate.low is None or estimate.high is None:
        return f"{estimate.mean:.1%} (too few windows for an interval)"
    return f"{estimate.mean:.1%} [{estimate.low:.1%} .. {estimate.high:.1%}]"


def _limit(
    kind: Kind, sentence: str, evidence: Iterable[str] = (), workers: Sequence[Slack] = (), stage: str | None = None
) -> Limit:
    return Limit(
        kind=kind,
        workers=[slack.worker for slack in workers],
        engines=[slack.engine for slack in workers],
        stage=stage,
        words=sentence,
        evidence=[line for line in evidence if line],
    )


def _only_open(observation: Observation) -> bool:
    loads = [workload.load for plan in observation.plans for workload in plan.workloads if workload.load]
    return bool(loads) and all(load.mode == "open" for load in loads)


def _offered(observation: Observation) -> Limit | None:
    """The offered load is the limit of an open loop if all of it was sent. None: the client sent less than was due."""
    per_window = [
        [load for windows in observation.windows.values() for load in windows[n].workloads]
        for n in range(observation.count)
    ]
    unsent = mean_of([sum(row.offered - row.sent for row in rows) for rows in per_window])
    if unsent.low is None or unsent.low > 0:
        return None
    offered, sent, responses, lost = (
        sum(getattr(row, name) for rows in per_window for row in rows)
        for name in ("offered", "sent", "responses", "lost")
    )
    evidence = [f"{offered:,} messages were due, {sent:,} were sent, {responses:,} got a response, {lost:,} were lost"]
    if lost and (dropped := _full_queue(observation)):
        return _limit("link", f"a link limits: it dropped {dropped:,} packets, because its queue was full", evidence)
    sentence = "the offered load limits: all that was due was sent"
    sentence += f"; {fmt.percent(lost / offered, 2)} of it was lost" if lost else ", and got a response"
    return _limit("offered load", sentence, [*evidence, *_slack_sentences(observation, observation.slacks)])


def _saturated(observation: Observation) -> Limit:
    """Something is full: the client has more to send."""
    if not observation.slacks:
        level = observation.run.record.accounting
        return _limit("unknown", f"what limits is not known: at the accounting level {level} no call was timed")
    by_slack = sorted(observation.slacks, key=lambda slack: slack.share.mean)
    evidence = [*_slack_sentences(observation, by_slack), *_littles_law(observation)]
    if observation.count < LEAST:
        sentence = (
            f"what limits is not known: {observation.count} windows are too few for an interval; {LEAST} have one"
        )
        return _limit("unknown", sentence, evidence)
    tied = slowest(observation.slacks)
    match tied[0].more_than_half:
        case True:
            return _no_worker_limits(observation, evidence)
        case None:
            sentence = f"a tie: {describe_worker(tied[0])} limits, or too few messages in flight: about half of its time is slack"
            return _limit("tie", sentence, evidence, tied)
    return _workers_limit(observation, tied, evidence)


def _workers_limit(observation: Observation, tied: Sequence[Slack], evidence: list[str]) -> Limit:
    first = tied[0]
    stages = observation.stages_of(first.engine, first.worker)
    alike = all(observation.stages_of(s.engine, s.worker).keys() == stages.keys() for s in tied)
    if not alike:
        sentence = f"a tie between {' and '.join(map(describe_worker, tied))}: these windows cannot tell which has less slack. The first seems to have less"
        return _limit("tie", sentence, evidence, tied)
    kind: Kind = "generator" if first.sides == "client" else "worker"
    stage, share = next(iter(stages.items()))
    evidence = [*evidence, f"{stage} takes {share:.0%} of the work of {describe_worker(first)}"]
    sentence = _tied_text(tied, observation.replicas(first))
    return _limit(kind, f"the generator limits: {sentence}" if kind == "generator" else sentence, evidence, tied, stage)


def _tied_text(tied: Sequence[Slack], replicas: Sequence[Slack]) -> str:
    """Who limits; `replicas`: the workers that do the same as the first one."""
    others = len(replicas) - len(tied)
    if len(replicas) < LEAST_GROUP or any(slack not in replicas for slack in tied):
        return f"{' and '.join(map(describe_worker, tied))} {'limits' if len(tied) == 1 else 'limit alike'}"
    if len(tied) == 1:
        return f"{describe_worker(tied[0])} limits: it has less slack than the {others} others that do the same"
    less = f", with less slack than the {others} others that do the same" if others else ""
    return f"{_describe_replicas(tied)} limit alike{less}"


def _no_worker_limits(observation: Observation, evidence: list[str]) -> Limit:
    if dropped := _full_queue(observation):
        sentence = (
            f"a link limits: it dropped {dropped:,} packets, because its queue was full, and all workers have slack"
        )
        return _limit("link", sentence, evidence)
    if stalled := _full_ports(observation):
        return _limit(
            "link", "a link limits: the port takes no more packets, and all workers have slack", [*evidence, *stalled]
        )
    if not observation.has_client:
        return _limit("offered load", "the offered load limits: all workers wait for packets", evidence)
    if not any(slack.sides == "client" for slack in observation.slacks):
        return _limit(
            "unknown", "what limits is not known: the server waits for a client that is not in this run", evidence
        )
    if observation.in_queues > 0.5:
        sentence = "a link limits: messages wait for most of their latency, and all workers have slack"
        return _limit("link", sentence, [*evidence, _fastest_sentence(observation)])
    sentence = "too few messages in flight limit: more than half of every worker's time is slack, and messages wait for little of their latency"
    return _limit("in-flight", sentence, [*evidence, _fastest_sentence(observation)])


def describe_worker(slack: Slack) -> str:
    """The worker's sides and CPU, as in "the server's worker on CPU 1"."""
    worker_text = "the worker of both sides" if "+" in slack.sides else f"the {slack.sides}'s worker"
    return f"{worker_text} on CPU {slack.cpu}"


def _describe_replicas(replicas: Sequence[Slack]) -> str:
    """As in "the server's 4 workers on CPU 1-3,8"."""
    whose = "the 2 sides'" if "+" in replicas[0].sides else f"the {replicas[0].sides}'s"
    return f"{whose} {len(replicas)} workers on CPU {spans([slack.cpu for slack in replicas])}"


def _slack_sentences(observation: Observation, slacks: Sequence[Slack]) -> list[str]:
    """One for each worker, or for each group of replicas: their median, range, and the one with the least."""
    groups: list[list[Slack]] = []
    for slack in slacks:
        replicas = observation.replicas(slack)
        if len(replicas) < LEAST_GROUP:
            groups.append([slack])
        elif replicas not in groups:
            groups.append(replicas)
    return [_group_sentence(group) if len(group) > 1 else _slack_sentence(group[0]) for group in groups]


def _group_sentence(group: Sequence[Slack]) -> str:
    shares = [slack.share.mean for slack in group]
    return (
        f"{_describe_replicas(group)} have a slack of {median(shares):.1%} in the median, {min(shares):.1%} to {max(shares):.1%}; "
        f"that on CPU {group[0].cpu} has the least, {_share_text(group[0].share)}"
    )


def _slack_sentence(slack: Slack) -> str:
    clock = "" if slack.is_known else f", {fmean(slack.most):.1%} with what reading the clock adds"
    return f"{describe_worker(slack)} has a slack of {_share_text(slack.share)}{clock}"


def _littles_law(observation: Observation) -> list[str]:
    """Messages in flight by Little's law, beside the budget."""
    windows = [window for windows_of_engine in observation.windows.values() for window in windows_of_engine]
    latencies = [
        workload.latency_sent for window in windows for workload in window.workloads if workload.latency_sent.total
    ]
    total = sum(latency.total for latency in latencies)
    if not total or not observation.budget:
        return []
    mean_ns = sum(latency.sum for latency in latencies) / total
    lasted = sum(window.end_ns - window.start_ns for window in windows if window.workloads)
    per_s = total / lasted * 1e9
    return [
        f"{fmt.rate(per_s)} x {fmt.duration(mean_ns)} = {per_s * mean_ns / 1e9:,.0f} messages in flight, of an in-flight limit of {observation.budget:,}"
    ]


def _fastest_sentence(observation: Observation) -> str:
    return f"the fastest message of a window waits for {observation.in_queues:.0%} of its latency, by the fastest one of the run"


def _full_queue(observation: Observation) -> int:
    drops = add(
        stage.drops for windows in observation.windows.values() for window in windows for stage in window.stages
    )
    return drops.get(QUEUE_FULL, 0)


def _full_ports(observation: Observation) -> list[str]:
    """One sentence for each NIC that refused packets."""
    nics = {e.side for plan in observation.plans for e in plan.endpoints if "nic" in e.port.traits}
    rows = [
        row
        for row in observation.summary.stages
        if row.stage == "nic_tx" and row.endpoint in nics and row.stalled_calls
    ]
    return [f"nic_tx of the {row.endpoint} found the port full in {row.stalled_calls:,} calls" for row in rows]
