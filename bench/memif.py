"""How many round trips a second do the six stages make between two processes over a memif, beside two testpmd on the same?

`l_app`, 86 bytes each way (128 bytes of frame), 1024 in flight, a core for each process; the same rings, pools and bursts. The
reference: a testpmd in io mode that sends 1024 frames once and passes on what comes back, and one in macswap that sends it back. It
parses, matches and checks nothing: both figures are shown, no goal is set.
"""

from harness import testpmd
from harness.figures import Figure
from harness.main import main
from harness.session import Session, compared

from windtunnel.engine.plan import Port

SCENARIO = "memif.toml"


def device(port: Port) -> str:
    bits = (max(port.rx_descriptors, port.tx_descriptors) - 1).bit_length()
    arguments = f"role={port.memif_role},id=0,socket={port.socket},socket-abstract=no,zero-copy=no"
    return f"net_memif0,{arguments},bsize={port.memif_buffer_bytes},rsize={bits}"


def measure(session: Session) -> list[Figure]:
    if session.other_cpu is None:
        session.say("memif: needs two CPUs, left out")
        return []
    sets = {"client.cores": f"[{session.cpu}]", "server.cores": f"[{session.other_cpu}]"}
    server, client = session.plans(SCENARIO, sets)
    frames = client.endpoints[0].applications[0].inflight
    rounds = session.in_turns(
        {
            "six stages": lambda: session.fly(SCENARIO, sets, of="client").answered(),
            "testpmd io to macswap": lambda: testpmd.echo_pair(server, client, device, frames, session.seconds),
        },
        "M round trips/s",
        1e6,
    )
    return [compared(session, "six stages over memif", rounds, "six stages", "testpmd io to macswap", "M/s", 1e6)]


if __name__ == "__main__":
    main(__doc__, measure)
