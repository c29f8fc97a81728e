"""What the experiments with delays show: which thread limits, and what each could carry."""

from collections.abc import Iterator, Sequence

from windtunnel import format as fmt
from windtunnel.parts.attach.experiments import DelayLine, NotShownLine, Slope, capacity, is_steady, slopes
from windtunnel.parts.attach.thread_metrics import Thread
from windtunnel.results.document import Block, Section, Sentence, Table, columns_of
from windtunnel.stats.mean import Estimate


def experiment_sections(lines: Sequence[DelayLine | NotShownLine], threads: Sequence[Thread]) -> Iterator[Section]:
    """Nothing without experiments."""
    names = {thread.number: thread.name for thread in threads}
    delayed = [line for line in lines if isinstance(line, DelayLine)]
    if found := slopes(delayed):
        yield Section("Which thread limits, by delays", [*_causal_blocks(found, names)], about=_ABOUT_CAUSAL)
    if filled := [line for line in delayed if line.kind == "headroom"]:
        yield Section("Headroom, by delays", [*_headroom_blocks(filled, names)], about=_ABOUT_HEADROOM)

    if nothing := [line for line in lines if isinstance(line, NotShownLine)]:
        sentences = [Sentence(f"{names.get(line.thread, 'No thread')}: {line.reason}.") for line in nothing]
        yield Section("What the experiments did not show", sentences)


_ABOUT_CAUSAL = (
    "Packets were delayed in one thread at a time, in turn with no delay. Slope: by how many ns all packets were slower, for each ns of delay. It "
    "is 1 in the thread that limits, and 0 elsewhere."
)
_ABOUT_HEADROOM = (
    "Packets of the thread were delayed until hardly a call found none. What is left of the time between two packets, without the delay, is what "
    "one takes in the thread at full bursts."
)


def _causal_blocks(found: Sequence[Slope], names: dict[int, str]) -> Iterator[Block]:
    column = columns_of(found)
    yield Table(
        [
            column("thread", lambda s: names.get(s.thread, f"thread {s.thread}"), words=True),
            column("slope", lambda s: interval(s.slope)),
            column("limits", lambda s: {True: "yes", False: "no", None: "cannot tell"}[s.limits], words=True),
        ]
    )
    limiting = [names.get(slope.thread, f"thread {slope.thread}") for slope in found if slope.limits]
    if len(limiting) == 1:
        yield Sentence(f"{limiting[0]} limits the application.", tone="good")
    elif limiting:
        yield Sentence(f"{' and '.join(limiting)} limit together: making one of them faster alone brings little.")
    elif all(slope.limits is False for slope in found):
        yield Sentence("No thread limits: the load does, or something that no thread of the data path does.")
    else:
        yield Sentence("The intervals do not tell which thread limits: observe it again, with less beside it.")


def _headroom_blocks(lines: Sequence[DelayLine], names: dict[int, str]) -> Iterator[Block]:
    for number in dict.fromkeys(line.thread for line in lines):
        of_thread = [line for line in lines if line.thread == number]
        name, carried = names.get(number, f"thread {number}"), capacity(of_thread)
        if carried is None:
            yield Sentence(f"{name}: it was not filled, so its headroom is not known.")
            continue
        rate = sum(line.packets for line in of_thread) / sum(line.seconds for line in of_thread)
        unsteady = (
            "" if is_steady(of_thread) else " The load varied by more than a tenth meanwhile: the metric is rough."
        )
        yield Sentence(
            f"{name} received {fmt.rate(rate)} and carries {fmt.rate(carried.mean)}{_range(carried)}: {fmt.percent(carried.mean / rate - 1, 0)} more.{unsteady}"
        )


def interval(estimate: Estimate) -> str:
    """A number without a unit, with its interval."""
    if estimate.low is None or estimate.high is None:
        return f"{estimate.mean:.2f}"
    return f"{estimate.mean:.2f} [{estimate.low:.2f} .. {estimate.high:.2f}]"


def _range(estimate: Estimate) -> str:
    if estimate.low is None or estimate.high is None:
        return ""
    return f" [{fmt.rate(max(estimate.low, 0.0))} .. {fmt.rate(estimate.high)}]"
