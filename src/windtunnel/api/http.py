"""An HTTP server with limits, its addresses and connections, and OpenMetrics."""

from typing import TYPE_CHECKING

from windtunnel.api.lazy import loader_of

if TYPE_CHECKING:
    from windtunnel.exchange import address as address
    from windtunnel.exchange import connections as connections
    from windtunnel.exchange import http_server as http_server
    from windtunnel.exchange.address import NOT_THIS_HOST as NOT_THIS_HOST
    from windtunnel.exchange.address import is_no_name as is_no_name
    from windtunnel.exchange.connections import ListeningSocket as ListeningSocket
    from windtunnel.exchange.connections import place_of as place_of
    from windtunnel.exchange.http_server import Taken as Taken
    from windtunnel.exchange.openmetrics import NS as NS
    from windtunnel.exchange.openmetrics import Times as Times

__getattr__ = loader_of(__name__)
