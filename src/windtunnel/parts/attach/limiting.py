"""What limits an observed application, and what it loses, in sentences."""

from collections.abc import Iterator, Sequence

from windtunnel import format as fmt
from windtunnel.parts.attach.lines import WindowLine, counted
from windtunnel.parts.attach.thread_metrics import Thread
from windtunnel.stats.mean import Estimate

MOST_REFUSED = 1e-4
"""Share of the packets up to which the driver's refusals are not named."""


def limit_sentences(threads: Sequence[Thread]) -> Iterator[str]:
    """Which thread limits, or that none does, with the room that is left."""
    receiving = [thread for thread in threads if thread.asked]
    if not receiving:
        yield "no thread received a packet through DPDK while it was observed"
        return
    saturated, behind = [thread for thread in receiving if thread.saturated], only_sending(threads)
    for thread in saturated:
        yield f"{thread.name} is saturated: its calls find {thread.mean_burst:.1f} of {thread.asked} packets, and {fmt.percent(thread.empty_calls)} find none"
    if saturated and behind:
        yield (
            f"{_all([*saturated, *behind])} share the work: one may be full because another one is, over rings that no probe sees. `--causal` tells "
            "which of them limits"
        )
    elif len(saturated) == 1:
        yield f"{saturated[0].name} limits: what makes its packets cheaper makes the application faster"
    elif saturated:
        yield f"{_all(saturated)} are saturated alike: `--causal` tells which of them limits"
    else:
        yield from _rooms(receiving)


def only_sending(threads: Sequence[Thread]) -> list[Thread]:
    """Threads that send what they have not received from a port: what is behind another thread."""
    return [thread for thread in threads if not thread.asked and thread.sent]


def _rooms(threads: Sequence[Thread]) -> Iterator[str]:
    yield "no thread limits: the load does"
    for thread in threads:
        if thread.capacity is None or thread.rate is None:
            yield (
                f"how much room {thread.name} has is not known: {thread.no_line}. Its busy share is no measure of it, because full bursts are "
                "cheaper. `--headroom` fills the thread for a moment and measures it"
            )
            continue
        used = thread.rate.mean / thread.capacity.mean
        yield (
            f"{thread.name} receives {fmt.rate(thread.rate.mean)} and carries {_rate_with_interval(thread.capacity)} at full bursts: "
            f"{fmt.percent(used, 0)} of its capacity. Predicted from its own bursts"
        )


def loss_sentences(windows: Sequence[WindowLine], threads: Sequence[Thread]) -> Iterator[str]:
    """Packets that the application loses, by where."""
    used = counted(windows)
    for number in sorted({port.port for window in used for port in window.ports}):
        lines = [port for window in used for port in window.ports if port.port == number]
        received, missed, no_mbuf = (
            sum(getattr(p, name) or 0 for p in lines) for name in ("ipackets", "imissed", "rx_nombuf")
        )
        if missed:
            share = missed / (received + missed)
            yield f"port {number} missed {fmt.count(missed)} packets ({fmt.percent(share, 2)}): its receive ring was full. {_why_full(threads, number)}"
        if no_mbuf:
            yield f"port {number} found no mbuf for {fmt.count(no_mbuf)} packets: its pool was empty. A larger pool, or fewer mbufs held elsewhere, ends that"
    for thread in threads:
        handed = sum(
            c.packets + c.refused for w in used for c in w.channels_of.get(thread.number, ()) if not c.receives
        )
        if handed and thread.refused > MOST_REFUSED * handed:
            yield (
                f"{thread.name} handed over {fmt.count(thread.refused)} packets ({fmt.percent(thread.refused / handed, 2)}) that a driver did not "
                "take: the transmit ring was full, because the link or the other end is slower"
            )


def _why_full(threads: Sequence[Thread], port: int) -> str:
    if not threads:
        return "Why, no thread that was seen tells"
    at_port = [
        t
        for t in threads
        if any(c.port == port and c.receives for w in t.windows for c in w.channels_of.get(t.number, ()))
    ]
    if any(thread.saturated for thread in at_port):
        return "The thread that empties it is saturated"
    turns = sum(c.interrupted_turns for t in at_port for w in t.windows for c in w.channels_of.get(t.number, ()))
    if turns:
        return f"The thread that empties it was away for more than 50 µs in {fmt.count(turns)} of its timed turns"
    return "The thread that empties it has room: the packets came in groups larger than the ring"


def _all(threads: Sequence[Thread]) -> str:
    *first, last = [thread.name for thread in threads]
    return f"{', '.join(first)} and {last}"


def _rate_with_interval(estimate: Estimate) -> str:
    if estimate.low is None or estimate.high is None:
        return fmt.rate(estimate.mean)
    return f"{fmt.rate(estimate.mean)} [{fmt.rate(max(estimate.low, 0.0))} .. {fmt.rate(estimate.high)}]"
