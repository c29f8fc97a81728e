"""What an observation shows: which thread limits, where the time of its packets goes, bursts, latency inside, losses, the probe's own cost."""

from collections.abc import Callable, Iterator, Sequence
from math import ceil

from windtunnel import format as fmt
from windtunnel.parts.attach.delay_lines import delay_lines_of
from windtunnel.parts.attach.experiment_blocks import experiment_sections
from windtunnel.parts.attach.limiting import limit_sentences, loss_sentences
from windtunnel.parts.attach.lines import WindowLine
from windtunnel.parts.attach.observed_windows import windows_of
from windtunnel.parts.attach.own_cost import own_cost, slowdown
from windtunnel.parts.attach.page import DELAYS
from windtunnel.parts.attach.thread_metrics import Thread, threads
from windtunnel.results.charts.run import cost as cost_chart
from windtunnel.results.document import Chart, Marked, Section, Sentence, Table, columns_of
from windtunnel.runs.reader import Run
from windtunnel.runs.rows import StageRow
from windtunnel.stats.mean import Estimate

BY_TELEMETRY = "what limits is not known: telemetry has rates and losses of ports, and no burst, no time and no thread"


def observed_sections(run: Run) -> Iterator[Section]:
    """Nothing for a run that is no observation."""
    observed = run.record.observed
    if observed is None or not (windows := windows_of(run.path)):
        return
    if observed.by == "telemetry":
        sentences = [BY_TELEMETRY, *loss_sentences(windows, ())]
        yield Section("What limits", [Sentence(f"{text[0].upper()}{text[1:]}.") for text in sentences])
        return
    observed_threads = threads(windows, observed.tsc_hz)
    sentences = [*limit_sentences(observed_threads), *loss_sentences(windows, observed_threads)]
    yield Section("What limits", [Sentence(f"{text[0].upper()}{text[1:]}.") for text in sentences])
    yield from _thread_section(observed_threads, observed.stages)
    yield from experiment_sections(delay_lines_of(run.path), observed_threads)
    yield from _delay_section(observed_threads)
    yield from _cost_section(windows)


def _thread_section(rows: Sequence[Thread], stages: Sequence[StageRow]) -> Iterator[Section]:
    if not rows:
        return
    yield Section(
        "Threads of the data path",
        [*([Chart(plot)] if (plot := cost_chart(list(stages))) else []), thread_table(rows)],
        about="Of turns that received packets: from one receive call to the next. ns per packet = driver rx + application + driver tx, without what "
        "the probe took. Line: the price of a burst and of each packet in it. Rates are of the time in which the probe was present.",
    )


def thread_table(rows: Sequence[Thread]) -> Table:
    """A row for each thread: what it moves, and where the time of its packets goes."""
    column = columns_of(rows)
    return Table(
        [
            column("thread", lambda t: t.name, words=True),
            column("CPU", lambda t: fmt.count(t.cpu)),
            column("received", lambda t: _interval(t.rate, fmt.rate)),
            column("burst", lambda t: fmt.number(t.mean_burst)),
            column("empty calls", lambda t: fmt.percent(t.empty_calls)),
            column("busy", lambda t: fmt.percent(t.busy.mean if t.busy else None, 0), spare=3),
            column("ns per packet", lambda t: _interval(t.cost.all, fmt.number)),
            column("driver rx", lambda t: _mean(t.cost.rx)),
            column("application", lambda t: _mean(t.cost.application)),
            column("driver tx", lambda t: _mean(t.cost.tx)),
            column("line", _line, words=True, spare=2),
            column("refused", lambda t: Marked(fmt.count(t.refused), "loss" if t.refused else "plain"), spare=1),
        ],
        is_main=True,
    )


def _mean(estimate: Estimate | None) -> str:
    return fmt.number(None if estimate is None else estimate.mean)


def _line(thread: Thread) -> str:
    line = None if thread.no_line else thread.line
    if line is None:
        return fmt.DASH
    burst, packet = (ticks * thread.tick_ns for ticks in line)
    return f"{fmt.number(burst)} + {fmt.number(packet)} n"


def _interval(estimate: Estimate | None, shown: Callable[[float], str]) -> str:
    if estimate is None:
        return fmt.DASH
    if estimate.low is None or estimate.high is None:
        return shown(estimate.mean)
    return f"{shown(estimate.mean)} [{shown(max(estimate.low, 0.0))} .. {shown(estimate.high)}]"


def _delay_section(rows: Sequence[Thread]) -> Iterator[Section]:
    """Time from receive to transmit, of packets that leave in the mbuf in which they came."""
    seen = [(thread, delays) for thread in rows if sum((delays := thread.delays()).values())]
    if not seen:
        return
    column = columns_of(seen)
    yield Section(
        "Latency inside the application",
        [
            Table(
                [
                    column("received by", lambda r: r[0].name, words=True),
                    column("packets", lambda r: fmt.count(sum(r[1].values()))),
                    *(
                        column(f"p{p:g}", lambda r, p=p: fmt.duration(_delay(r[1], p) * r[0].tick_ns))
                        for p in (50, 90, 99)
                    ),
                ]
            )
        ],
        about="From the return of the receive call to the transmit call, of one packet at a time that leaves in the mbuf in which it came. Within 6%.",
    )


def _delay(delays: dict[int, int], percent: float) -> float:
    """The upper end, in ticks, of the bin with this percentile."""
    left = ceil(sum(delays.values()) * percent / 100)
    for number, count in sorted(delays.items()):
        left -= count
        if left <= 0:
            return _upper(number)
    return _upper(DELAYS - 1)


def _upper(number: int) -> float:
    """Upper end of a bin of delays: below 16 its own number, else 16 bins to each power of two (wt_attach_delay_bin)."""
    if number < 16:
        return number
    above, sixteenth = divmod(number, 16)
    return float((16 + sixteenth + 1) << (above - 1))


def _cost_section(windows: Sequence[WindowLine]) -> Iterator[Section]:
    cost, slower = own_cost(windows), slowdown(windows)
    if cost is None or slower is None:
        text = "What the probe costs this application is not known: its ports have no statistics, or the probe was never absent."
    else:
        text = (
            f"The probe costs this application {_interval_of_share(cost)} of its packets; while it is present, the application is "
            f"{_interval_of_share(slower)} slower. Measured on its own ports, present and absent by turns."
        )
    yield Section("The probe's own cost", [Sentence(text, tone="quiet")])


def _interval_of_share(estimate: Estimate) -> str:
    if estimate.low is None or estimate.high is None:
        return f"{estimate.mean:.2%}"
    return f"{estimate.mean:.2%} [{estimate.low:.2%} .. {estimate.high:.2%}]"
