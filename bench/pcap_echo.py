"""How close does `echo` on replayed frames come to testpmd's macswap?

One core, one net_pcap port with infinite_rx=1 that replays 64 UDP frames of 128 bytes, the same pool, descriptors and burst.
`echo` turns IP addresses and ports around too, macswap only the MACs. Packets per second of the time that the core was
ours; accounting `counts`.
"""

from harness import testpmd
from harness.capture import write_udp_capture
from harness.figures import Figure
from harness.main import main
from harness.session import Session, compared
from harness.statistics import Goal

SCENARIO = "pcap-echo.toml"
FRAMES = 64
PAYLOAD_BYTES = 86


def measure(session: Session) -> list[Figure]:
    capture = session.directory / "frames.pcap"
    write_udp_capture(capture, FRAMES, PAYLOAD_BYTES)
    sets = {"server.cores": f"[{session.cpu}]", "wire.replay": str(capture)}
    plan = session.plan(SCENARIO, sets)
    device = f"net_pcap0,infinite_rx=1,rx_pcap={capture}"
    samples = session.in_turns(
        {
            "echo": lambda: session.fly(SCENARIO, sets).forwarded(),
            "testpmd macswap": lambda: testpmd.macswap(plan, device, session.seconds),
        },
        "Mpps",
        1e6,
    )
    goal = Goal(0.97, "at least", aim=1.0)
    return [compared(session, "echo on pcap", samples, "echo", "testpmd macswap", "Mpps", 1e6, goal)]


if __name__ == "__main__":
    main(__doc__, measure)
