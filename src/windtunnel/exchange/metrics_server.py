"""Serves a collector's metrics over HTTP from a thread, for as long as the run runs."""

import io
import socket
import threading
import time
from collections.abc import Callable, Iterable
from socketserver import ThreadingMixIn
from typing import Any, Self
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

from prometheus_client import CollectorRegistry, make_wsgi_app
from prometheus_client.openmetrics.exposition import CONTENT_TYPE_LATEST
from prometheus_client.registry import Collector

from windtunnel.errors import UserError
from windtunnel.exchange.address import NOT_THIS_HOST, Address, is_no_name
from windtunnel.exchange.connections import ListeningSocket, place_of

MOST_READERS = 16
"""Readers at a time: the run needs its CPUs and file descriptors."""
MOST_HEAD, MOST_PIECES, HEAD_S = 8 << 10, 32, 5.0
"""Bounds of a request's head: its bytes, the pieces in which it arrives, and its time."""


class Server:
    """Context manager that listens from its creation on. Raises UserError if it cannot."""

    def __init__(self, address: Address, collector: Collector):
        registry = CollectorRegistry()
        registry.register(collector)
        serving = _Server6 if ":" in address.host else _Server
        try:
            self._server = serving((address.host, address.port), _Quiet)
        except OSError as error:
            raise UserError(
                f"--metrics {address.host}:{address.port}: {error.strerror}",
                remedy="an address of this host, and a port that is not in use",
            ) from error
        app = _preferring_openmetrics(make_wsgi_app(registry))
        self._server.set_app(_for_this_host(app) if address.is_loopback else app)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), name="metrics", daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class _Server(ThreadingMixIn, WSGIServer):
    """A slow or silent reader blocks neither other readers nor the end."""

    daemon_threads = True
    block_on_close = False

    def server_activate(self) -> None:
        super().server_activate()
        self.socket = ListeningSocket(self.socket, MOST_READERS)

    def handle_error(self, *_: object) -> None:
        """Errors of readers are not printed: the terminal belongs to the run."""

    def server_bind(self) -> None:
        """Binds as WSGIServer does, without its DNS query for the host's name."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        host, port = self.socket.getsockname()[:2]
        self.server_name, self.server_port = str(host), int(port)
        self.setup_environ()


class _Server6(_Server):
    address_family = socket.AF_INET6


class _Quiet(WSGIRequestHandler):
    timeout = HEAD_S

    def setup(self) -> None:
        """Reads the head as a whole: the base class reads line by line and has no bound for all lines together."""
        super().setup()
        place = place_of(self.connection.fileno())
        self.rfile = io.BytesIO(head_of(self.connection))
        place.occupy(lambda: None, lambda: None)

    def log_message(self, *_: object) -> None:
        """The terminal belongs to the run."""


def head_of(connected: socket.socket) -> bytes:
    """The head of a request; empty if it is too long, comes in too many pieces, or too late."""
    head, until = b"", time.monotonic() + HEAD_S
    for _ in range(MOST_PIECES):
        connected.settimeout(max(0.001, until - time.monotonic()))
        piece = connected.recv(MOST_HEAD)
        head += piece
        if not piece or len(head) > MOST_HEAD:
            return b""
        if b"\r\n\r\n" in head:
            connected.settimeout(HEAD_S)  # for the response, which has to be read
            return head
    return b""


def _for_this_host(app: Callable[..., Iterable[bytes]]) -> Callable[..., Iterable[bytes]]:
    """Refuses requests to a name that may have been rebound to loopback; HTTP/1.0 needs none."""

    def refusing(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        if is_no_name(environ.get("HTTP_HOST", "localhost")):
            return app(environ, start_response)
        start_response("403 Forbidden", [("Content-Type", "text/plain")])
        return [f"{NOT_THIS_HOST}\n".encode()]

    return refusing


def _preferring_openmetrics(app: Callable[..., Iterable[bytes]]) -> Callable[..., Iterable[bytes]]:
    """Replies with OpenMetrics if the client requests no format (a browser, curl); Prometheus and others negotiate."""

    def preferring(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        if environ.get("HTTP_ACCEPT", "*/*") == "*/*":
            environ["HTTP_ACCEPT"] = CONTENT_TYPE_LATEST
        return app(environ, start_response)

    return preferring
