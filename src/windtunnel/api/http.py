"""An HTTP server with limits, its addresses and connections, and OpenMetrics."""

from windtunnel.exchange import address, connections, http_server
from windtunnel.exchange.address import NOT_THIS_HOST, is_no_name
from windtunnel.exchange.connections import ListeningSocket, place_of
from windtunnel.exchange.http_server import Taken
from windtunnel.exchange.openmetrics import NS, Times

__all__ = [
    "NOT_THIS_HOST",
    "NS",
    "ListeningSocket",
    "Taken",
    "Times",
    "address",
    "connections",
    "http_server",
    "is_no_name",
    "place_of",
]
