"""How many round trips a second do the six stages make between two processes over a memif, compared with two testpmd on the same wire?

`l_app`, 86 bytes each way (128 bytes of frame), 1024 in flight, a core for each process; the same rings, pools and bursts. The
reference: a testpmd in io mode that sends 1024 frames once and passes on what comes back, and one in macswap that sends it back. It
parses, matches and checks nothing: both results are shown, no goal is set.
"""

from harness import testpmd
from harness.main import main
from harness.results import Result
from harness.session import Session, compared

from windtunnel.engine.plan import Endpoint
from windtunnel.scenario.memory import HEADROOM_BYTES

SCENARIO = "memif.toml"


def device(endpoint: Endpoint) -> str:
    port = endpoint.port
    bits = (max(port.rx_descriptors, port.tx_descriptors) - 1).bit_length()
    arguments = f"role={endpoint.side},id=0,socket={port.options['socket']},socket-abstract=no,zero-copy=no"
    return f"net_memif0,{arguments},bsize={endpoint.pool.data_room_bytes - HEADROOM_BYTES},rsize={bits}"


def measure(session: Session) -> list[Result]:
    if session.other_cpu is None:
        session.log("memif: skipped, it needs two CPUs")
        return []
    sets = {"client.cores": f"[{session.cpu}]", "server.cores": f"[{session.other_cpu}]"}
    server, client = session.plans(SCENARIO, sets)
    frames = client.endpoints[0].applications[0].inflight
    rounds = session.in_turns(
        {
            "six stages": lambda: session.run(SCENARIO, sets, of="client").round_trips_per_s(),
            "testpmd io to macswap": lambda: testpmd.echo_pair(server, client, device, frames, session.seconds),
        },
        "M round trips/s",
        1e6,
    )
    return [compared(session, "six stages over memif", rounds, "six stages", "testpmd io to macswap", "M/s", 1e6)]


if __name__ == "__main__":
    main(__doc__, measure)
