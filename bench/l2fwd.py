"""How close does `l2fwd` come to testpmd's macswap?

One core, one net_null port that gives frames of 64 bytes and copies them, the same pool, descriptors and burst; accounting
`counts`.
"""

from harness.figures import Figure
from harness.forwarding import beside_testpmd
from harness.main import main
from harness.session import Session

from windtunnel.engine.plan import Port


def device(port: Port) -> str:
    return f"net_null0,size={port.packet_bytes},copy={int(port.copy_bytes)}"


def measure(session: Session) -> list[Figure]:
    return [beside_testpmd(session, "l2fwd", "null", "l2fwd.toml", device)]


if __name__ == "__main__":
    main(__doc__, measure)
