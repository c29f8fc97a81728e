"""How close does `l2fwd` come to testpmd's macswap?

One core, one net_null port that gives frames of 64 bytes and copies them, the same pool, descriptors and burst; accounting
`counts`.
"""

from harness.forwarding import against_testpmd
from harness.main import main
from harness.results import Result
from harness.session import Session

from windtunnel.engine.plan import Endpoint


def device(endpoint: Endpoint) -> str:
    options = endpoint.port.options
    return f"net_null0,size={options['packet']},copy={int(options['copy'] == 'true')}"


def measure(session: Session) -> list[Result]:
    return against_testpmd(session, "l2fwd", "null", "l2fwd.toml", device)


if __name__ == "__main__":
    main(__doc__, measure)
