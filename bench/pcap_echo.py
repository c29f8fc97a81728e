"""How close does `echo` on replayed frames come to testpmd's macswap?

One core, one net_pcap port with infinite_rx=1 that replays 64 UDP frames of 128 bytes, the same pool, descriptors and burst;
accounting `counts`. `echo` looks whether a frame is a whole UDP datagram and turns IP addresses and ports around too; macswap
looks at nothing and turns the MACs. Beside it, without a goal: testpmd's 5tswap, which turns around what `echo` does.
"""

from harness.capture import write_udp_capture
from harness.forwarding import against_testpmd
from harness.main import main
from harness.results import Result
from harness.session import Session

FRAMES = 64
PAYLOAD_BYTES = 86


def measure(session: Session) -> list[Result]:
    capture = session.directory / "frames.pcap"
    write_udp_capture(capture, FRAMES, PAYLOAD_BYTES)
    device = f"net_pcap0,infinite_rx=1,rx_pcap={capture}"
    sets = {"wire.replay": str(capture)}
    return against_testpmd(session, "echo", "pcap", "pcap-echo.toml", lambda endpoint: device, sets, beside=("5tswap",))


if __name__ == "__main__":
    main(__doc__, measure)
