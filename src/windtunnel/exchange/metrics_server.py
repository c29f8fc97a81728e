"""Serves a collector's metrics over HTTP from a thread, for as long as the run runs."""

import ipaddress
import re
import socket
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from socketserver import ThreadingMixIn
from typing import Any, Self
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

from prometheus_client import CollectorRegistry, make_wsgi_app
from prometheus_client.openmetrics.exposition import CONTENT_TYPE_LATEST
from prometheus_client.registry import Collector

from windtunnel.errors import UserError

MOST_READERS = 16
"""At once."""

_ADDRESS = re.compile(r"(?:(?P<host>[^:\[\]]*|\[[^\[\]]+\]):)?(?P<port>[0-9]{1,5})", re.ASCII)


@dataclass(frozen=True)
class Address:
    """Where to listen."""

    host: str
    port: int

    @property
    def url(self) -> str:
        return f"http://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}/metrics"


def parse(text: str, option: str = "--metrics") -> Address:
    """ ":9464" and "9464" mean loopback; another address must be named. Raises UserError."""
    match = _ADDRESS.fullmatch(text)
    host = (match["host"] or "127.0.0.1").strip("[]") if match else ""
    host = "127.0.0.1" if host == "localhost" else host
    if not match or not 1 <= int(match["port"]) <= 65535 or not _is_ip(host):
        raise UserError(
            f"{option} {text}: not a port with or without an IP address",
            remedy=f"{option} :9464 listens on loopback, {option} 192.0.2.1:9464 on that address",
        )
    return Address(host, int(match["port"]))


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


def _is_ip(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
