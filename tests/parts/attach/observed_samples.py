"""Windows of an application whose costs are known: what a perfect probe would have counted of it."""

from collections.abc import Mapping, Sequence

from windtunnel.parts.attach.lines import ChannelLine, PhaseLine, PortLine, ThreadLine, TurnsLine, WindowLine

TSC_HZ = 2e9
WINDOW_NS = 500_000_000
PRESENT_TICKS = 50_000_000
THREAD = 4711


def turns(
    counts: Mapping[int, int], *, burst: int, packet: int, empty: int = 40, driver: int = 10, clock: int = 0
) -> list[TurnsLine]:
    """Timed turns by burst size: a turn of n packets takes `burst` + n x `packet` ticks, of which each driver has n x `driver`; reading the
    clock adds `clock`."""
    lines = []
    for size, count in counts.items():
        ticks = (burst + size * packet if size else empty) + clock
        rx = tx = size * driver
        lines.append(
            TurnsLine(
                packets=size,
                turns=count,
                rx_ticks=count * (rx + clock // 4),
                application_ticks=count * (ticks - rx - tx - clock // 2),
                tx_ticks=count * (tx + clock // 4),
            )
        )
    return lines


def channel(
    calls: Mapping[int, int], timed: Sequence[TurnsLine] = (), *, receives: bool = True, **fields: int
) -> ChannelLine:
    """What a thread did on queue 0 of a port: calls by their packets."""
    values = {"thread": THREAD, "lcore": 1, "port": 0, "queue": 0, "refused": 0, "asked": 32} | fields
    return ChannelLine(
        receives=receives,
        calls=sum(calls.values()),
        packets=sum(size * count for size, count in calls.items()),
        bursts=dict(calls),
        timed=list(timed),
        interrupted_turns=0,
        interrupted_ticks=0,
        sized_packets=0,
        sized_bytes=0,
        delays_lost=0,
        delayed_ticks=0,
        **values,
    )


def port(
    present: float = 1000, absent: float = 19000, *, number: int = 0, imissed: int = 0, rx_nombuf: int = 0
) -> PortLine:
    """A port that received and sent so many packets in each phase: 5% of the ticks were present."""
    phases = {
        name: PhaseLine(phases=5, ticks=ticks, rx_packets=round(packets), tx_packets=round(packets))
        for name, ticks, packets in (("present", PRESENT_TICKS, present), ("absent", 19 * PRESENT_TICKS, absent))
    }
    total = round(present + absent)
    return PortLine(
        port=number, ticks=20 * PRESENT_TICKS, ipackets=total, opackets=total, ibytes=64 * total, obytes=64 * total,
        imissed=imissed, ierrors=0, oerrors=0, rx_nombuf=rx_nombuf, **phases,
    )  # fmt: skip


def window(
    index: int,
    channels: Sequence[ChannelLine],
    ports: Sequence[PortLine] = (),
    *,
    on_cpu: float = 1.0,
    excluded: str | None = None,
    present_ticks: int = PRESENT_TICKS,
) -> WindowLine:
    """A window of 500 ms."""
    numbers = dict.fromkeys(c.thread for c in channels)
    threads = [ThreadLine(thread=n, cpu=1, on_cpu_ns=round(on_cpu * WINDOW_NS), preempted_ns=0) for n in numbers]
    return WindowLine(
        index=index,
        start_ns=index * WINDOW_NS,
        end_ns=(index + 1) * WINDOW_NS,
        present_ticks=present_ticks,
        channels=list(channels),
        ports=list(ports),
        threads=threads,
        excluded=excluded,
    )


def busy_windows(
    shares: Mapping[int, float],
    *,
    burst: int,
    packet: int,
    clock: int = 0,
    count: int = 10,
    extra: int = 0,
    driver: int = 10,
) -> list[WindowLine]:
    """Windows of a thread whose turns have these burst sizes with these shares, that is on its CPU all the time: as many turns as last for
    the presence, of which 1 in 64 is timed."""
    lengths = {size: (burst + size * packet if size else 40) + extra for size in shares}
    mean = sum(share * lengths[size] for size, share in shares.items())
    windows = []
    for index in range(count):
        total = PRESENT_TICKS * (1 + 0.001 * (index % 3 - 1)) / mean
        calls = {size: round(total * share) for size, share in shares.items()}
        timed = turns(
            {size: n // 64 for size, n in calls.items()}, burst=burst, packet=packet, clock=clock, driver=driver
        )
        packets = sum(size * count for size, count in calls.items())
        windows.append(window(index, [channel(calls, timed)], [port(packets, 19 * packets)]))
    return windows
