"""Time in which a worker had its CPU and that the work of its stages does not show: in the kernel, and in long calls."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from windtunnel.engine.windows import StageWindow, WorkerWindow
from windtunnel.finding import NotMeasured, require
from windtunnel.measure.validity import Slack, parts_of, timed_worker
from windtunnel.parts.diagnose.observation import Observation
from windtunnel.stats.mean import Estimate, mean_of


@dataclass(frozen=True)
class Spent:
    """Time of one worker over the windows of a run."""

    share: Estimate
    """Of the time of the windows."""
    ns_a_message: Estimate

    @property
    def is_shown(self) -> bool:
        """Whether it is more than nothing."""
        return self.share.low is not None and self.share.low > 0


@dataclass(frozen=True)
class LongCalls:
    """The calls of one stage above `accounting.interrupted_above`, of those that were timed."""

    stage: str
    """As in "server app_rx"."""
    share: float
    """Of the stage's calls."""
    mean_ns: float
    """What each of them takes."""


def kernel_time(observation: Observation, slack: Slack) -> tuple[Spent, float]:
    """The worker's time in the kernel, and its page faults a second. Raises NotMeasured."""
    spent, faults = [], 0
    for worker, _ in _timed(observation, slack):
        spent.append(require(worker.system_ns, "time in the kernel: it does not say, or the record is older"))
        faults += (worker.minor_faults or 0) + (worker.major_faults or 0)
    return _spent(observation, slack, spent), faults / observation.lasted_ns * 1e9


def long_time(observation: Observation, slack: Slack) -> Spent:
    """The worker's time in long calls, without that in which others had its CPU. Raises NotMeasured."""
    tick_ns = observation.tick_ns(slack.engine)
    spent = []
    for worker, stages in _timed(observation, slack):
        parts = require(parts_of(worker, stages, 0.0), "long calls: a window has no call that was timed")
        spent.append(parts.interrupted * tick_ns - (worker.preempted_ns or 0) - worker.steal_ns)
    return _spent(observation, slack, spent)


def longest_calls(observation: Observation, slack: Slack) -> LongCalls:
    """The long calls of the stage to which most of their time belongs. Raises NotMeasured if there was none."""
    rows = [row for _, stages in _timed(observation, slack) for row in stages]
    by_stage = {name: [row for row in rows if _name(row) == name] for name in dict.fromkeys(map(_name, rows))}
    stage, of = max(by_stage.items(), key=lambda item: sum(row.interrupted_cycles for row in item[1]))
    long = sum(row.interrupted_calls for row in of)
    if not long:
        raise NotMeasured("which calls are long: none was above accounting.interrupted_above")
    cycles = sum(row.interrupted_cycles for row in of)
    timed = long + sum(row.timed_calls for row in of)
    return LongCalls(stage, long / timed, cycles / long * observation.tick_ns(slack.engine))


def costly_stage(observation: Observation, slack: Slack) -> tuple[str, Estimate] | None:
    """The stage of which most calls are long, and what it takes, ns per message: it is costly, and no ledger has it as work. None: long calls
    are few. Raises NotMeasured without messages."""
    try:
        long = longest_calls(observation, slack)
    except NotMeasured:
        return None
    return (long.stage, long_time(observation, slack).ns_a_message) if long.share > 0.5 else None


def _timed(observation: Observation, slack: Slack) -> Iterator[tuple[WorkerWindow, Sequence[StageWindow]]]:
    return (timed_worker(window, slack.worker) for window in observation.windows[slack.engine])


def _spent(observation: Observation, slack: Slack, ns: Sequence[float]) -> Spent:
    windows = observation.windows[slack.engine]
    shares = [part / (window.end_ns - window.start_ns) for part, window in zip(ns, windows, strict=True)]
    a_message = [part / messages for part, messages in zip(ns, observation.messages, strict=False) if messages]
    if not a_message:
        raise NotMeasured("time per message: there were none")
    return Spent(mean_of(shares), mean_of(a_message))


def _name(row: StageWindow) -> str:
    return f"{row.endpoint} {row.stage}"
