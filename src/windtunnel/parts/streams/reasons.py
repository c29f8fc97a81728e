"""Why a run with TCP streams may be invalid."""

from windtunnel.engine.reason import Reason

REASONS = {
    "no connection": Reason(
        "The peer sent no response to the request for a TCP connection, or has reset it because no program listens on the port.",
        "Start the server first, and look at `peer_ip` and `peer_port`. If the peer is the kernel behind a veth, `ethtool -K INTERFACE tx off` is needed at its end.",
    ),
    "stream reset": Reason(
        "The peer reset an open TCP connection.",
        "Look at the peer: it closed its socket or ended. A copier that did not end a copy within `timeout` resets its connection, too.",
    ),
}
