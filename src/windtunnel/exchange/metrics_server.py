"""Serves a collector's metrics over HTTP from a thread, for as long as the run runs."""

import socket
import threading
from collections.abc import Callable, Iterable
from socketserver import ThreadingMixIn
from typing import Any, Self
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

from prometheus_client import CollectorRegistry, make_wsgi_app
from prometheus_client.openmetrics.exposition import CONTENT_TYPE_LATEST
from prometheus_client.registry import Collector

from windtunnel.errors import UserError
from windtunnel.exchange.address import Address

MOST_READERS = 16
"""At once."""


class Server:
    """Context manager; listens from its making on. Raises UserError where it cannot."""

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
        self._server.set_app(_preferring_openmetrics(make_wsgi_app(registry)))
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

    def __init__(self, *arguments: Any):
        self._places = threading.BoundedSemaphore(MOST_READERS)
        super().__init__(*arguments)

    def verify_request(self, *_: object) -> bool:
        """Excess readers are refused: the run needs its CPUs and file descriptors."""
        return self._places.acquire(blocking=False)

    def process_request_thread(self, *arguments: Any) -> None:
        try:
            super().process_request_thread(*arguments)
        finally:
            self._places.release()

    def handle_error(self, *_: object) -> None:
        """Errors of readers are not printed: the terminal belongs to the run."""

    def server_bind(self) -> None:
        """As WSGIServer's, without its look for the host's name in the DNS."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        host, port = self.socket.getsockname()[:2]
        self.server_name, self.server_port = str(host), int(port)
        self.setup_environ()


class _Server6(_Server):
    address_family = socket.AF_INET6


class _Quiet(WSGIRequestHandler):
    timeout = 5.0

    def log_message(self, *_: object) -> None:
        """The terminal belongs to the run."""


def _preferring_openmetrics(app: Callable[..., Iterable[bytes]]) -> Callable[..., Iterable[bytes]]:
    """Without a requested format (a browser, curl) the reply is OpenMetrics; Prometheus and others negotiate."""

    def preferring(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        if environ.get("HTTP_ACCEPT", "*/*") == "*/*":
            environ["HTTP_ACCEPT"] = CONTENT_TYPE_LATEST
        return app(environ, start_response)

    return preferring
