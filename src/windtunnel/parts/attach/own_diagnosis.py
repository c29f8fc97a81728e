"""The diagnosis of an observation: which thread limits, and why, from what a probe sees. A gain is not known of an application whose code
nobody here can change."""

from collections.abc import Iterator, Sequence
from statistics import fmean

from windtunnel import format as fmt
from windtunnel.parts.attach.delay_lines import delay_lines_of
from windtunnel.parts.attach.experiments import DelayLine, Slope, slopes
from windtunnel.parts.attach.limiting import limit_sentences, loss_sentences, only_sending
from windtunnel.parts.attach.lines import WindowLine, counted
from windtunnel.parts.attach.observed_windows import windows_of
from windtunnel.parts.attach.thread_metrics import Thread, threads
from windtunnel.parts.diagnose.model import Cause, Kind, Limit, OwnDiagnosis
from windtunnel.runs.reader import Run

SMALL_BURST = 8
"""A thread that asks for no more packets at a time pays the price of a burst for few of them."""
MOST_OF_IT = 0.5
"""Share of what a packet takes above which one part of the turn takes most of it."""
UNEVEN = 1.5
"""A thread's rate over the mean of all of them, above which queues are uneven."""
OFTEN_EXCLUDED = 0.2
"""Share of the windows that the host spoiled, above which it is a cause."""


def diagnosis_of(run: Run) -> OwnDiagnosis | None:
    """None if the run is no observation. Raises UserError for damaged windows."""
    observed = run.record.observed
    if observed is None:
        return None
    windows = windows_of(run.path)
    seen = threads(windows, observed.tsc_hz)
    delayed = slopes([line for line in delay_lines_of(run.path) if isinstance(line, DelayLine)])
    limit = _by_delays(delayed, seen) or _by_bursts(seen)
    return OwnDiagnosis(
        windows=len(counted(windows)),
        limit=limit,
        causes=list(_causes(windows, seen)),
        not_measured=list(_not_measured(seen, delayed)),
    )


def _by_bursts(seen: Sequence[Thread]) -> Limit:
    saturated = [thread for thread in seen if thread.saturated]
    if not seen:
        return _limit("unknown", "what limits is not known: no thread of the data path was seen")
    first, *evidence = limit_sentences(seen)
    if not any(thread.asked for thread in seen):
        return _limit("unknown", first)
    if not saturated:
        return _limit("offered load", first, evidence)
    sentence = evidence.pop()
    alone = len(saturated) == 1 and not only_sending(seen)
    return _limit("worker" if alone else "tie", sentence, [first, *evidence])


def _by_delays(delayed: Sequence[Slope], seen: Sequence[Thread]) -> Limit | None:
    """What an experiment with delays tells, or None."""
    names = {thread.number: thread.name for thread in seen}
    limiting = [names.get(slope.thread, f"thread {slope.thread}") for slope in delayed if slope.limits]
    evidence = [
        f"a delay in {names.get(s.thread, f'thread {s.thread}')} slows all packets by {s.slope.mean:.2f} of it"
        for s in delayed
    ]
    if len(limiting) == 1:
        return _limit("worker", f"{limiting[0]} limits: a delay there slows all packets", evidence)
    return _limit("tie", f"{' and '.join(limiting)} limit together", evidence) if limiting else None


def _limit(kind: Kind, sentence: str, evidence: Sequence[str] = ()) -> Limit:
    return Limit(kind=kind, workers=[], engines=[], stage=None, words=sentence, evidence=list(evidence))


def _causes(windows: Sequence[WindowLine], seen: Sequence[Thread]) -> Iterator[Cause]:
    """Those of threads that limit first."""
    excluded = sum(window.excluded is not None for window in windows)
    if excluded > OFTEN_EXCLUDED * len(windows):
        evidence = f"the kernel ran something else on the CPUs of the data path in {excluded} of {len(windows)} windows"
        yield _cause(
            "host-time", "the host runs something else", evidence, "isolate these CPUs, and end what runs there"
        )
    for thread in seen:
        if thread.saturated:
            yield from _causes_of_full(thread)
    yield from _uneven(seen)
    for sentence in loss_sentences(windows, seen):
        yield _cause("losses", "packets are lost", sentence, "what the sentence names")


def _causes_of_full(thread: Thread) -> Iterator[Cause]:
    cost = thread.cost
    if 0 < thread.asked <= SMALL_BURST:
        evidence = f"{thread.name} asks for {thread.asked} packets at a time, and finds as many at each call"
        yield _cause("small-batches", "bursts are small", evidence, "ask for 32 packets at a time")
    if not (cost.all and cost.rx and cost.application and cost.tx) or cost.all.mean <= 0:
        return
    share = cost.application.mean / cost.all.mean
    if share > MOST_OF_IT:
        evidence = f"{cost.application.mean:.1f} of {cost.all.mean:.1f} ns per packet of {thread.name} are the application's own ({share:.0%})"
        yield _cause(
            "application",
            "the application's own code",
            evidence,
            "a profile of it; windtunnel twin shows what less would bring",
        )
    drivers = (cost.rx.mean + cost.tx.mean) / cost.all.mean
    if drivers > MOST_OF_IT:
        evidence = f"{cost.rx.mean + cost.tx.mean:.1f} of {cost.all.mean:.1f} ns per packet of {thread.name} are in its drivers ({drivers:.0%})"
        yield _cause(
            "driver",
            "the drivers take most of it",
            evidence,
            "fewer offloads, a vector path, or more queues on more cores",
        )


def _uneven(seen: Sequence[Thread]) -> Iterator[Cause]:
    rates = [(thread.rate.mean, thread) for thread in seen if thread.rate and thread.asked]
    if len(rates) < 2:
        return
    mean = fmean(rate for rate, _ in rates)
    most, first = max(rates, key=lambda rated: rated[0])
    if first.saturated and most > UNEVEN * mean:
        evidence = f"{first.name} receives {fmt.rate(most)}, and {len(rates)} threads {fmt.rate(mean)} in the mean"
        remedy = "another RSS key or more flows, so that all queues get as much"
        yield _cause("uneven-queues", "queues are uneven", evidence, remedy)


def _cause(code: str, title: str, evidence: str, remedy: str) -> Cause:
    return Cause(
        code=code, title=title, evidence=evidence, remedy=remedy, observable="run", against=[], not_measured=[], sets=[],
        parts=[], gain=None, confidence="low",
    )  # fmt: skip


def _not_measured(seen: Sequence[Thread], delayed: Sequence[Slope]) -> Iterator[str]:
    saturated = sum(thread.saturated for thread in seen)
    if saturated and saturated + len(only_sending(seen)) > 1 and not delayed:
        yield "which of the threads limits: windtunnel attach --causal --anyway"
    yield "cache misses: no counter of this observation has them"
    yield "gains: the application is another program; windtunnel twin writes a scenario to try them on"
