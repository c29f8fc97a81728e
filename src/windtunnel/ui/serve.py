"""The server of the pages, until Ctrl-C."""

import asyncio
import contextlib
import signal
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

from windtunnel.errors import UserError
from windtunnel.exchange import http_server
from windtunnel.exchange.metrics_server import Address
from windtunnel.index.index import Index
from windtunnel.ui.app import make
from windtunnel.ui.guard import Allowed, Guard
from windtunnel.ui.runs import keep_fresh
from windtunnel.ui.watch import Watch

LOOPBACK = ("127.0.0.1", "::1")


def check(address: Address) -> None:
    """Raises UserError for an address that other hosts reach."""
    if address.host not in LOOPBACK:
        raise UserError(
            f"--listen {address.host}:{address.port}: not loopback, and whoever reaches the pages may stop runs",
            remedy=f"listen on loopback, and from another host: ssh -L {address.port}:127.0.0.1:{address.port} THIS-HOST",
        )


def serve(address: Address | Path, directory: Path, say: Callable[[str], None]) -> None:
    """`directory`: of the runs. Raises UserError where the address cannot be listened at."""
    with _listening(address) as listening:
        index = Index(directory)
        try:
            asyncio.run(_serve(listening, _allowed(listening), index, say))
        finally:
            index.close()


@contextlib.contextmanager
def _listening(address: Address | Path) -> Iterator[socket.socket]:
    if isinstance(address, Path):
        with http_server.unix_socket(address) as listening:
            try:
                yield listening
            finally:
                address.unlink(missing_ok=True)
        return
    check(address)
    text = f"[{address.host}]:{address.port}" if ":" in address.host else f"{address.host}:{address.port}"
    with http_server.tcp_socket(text) as listening:
        yield listening


def _allowed(listening: socket.socket) -> Allowed:
    if listening.family == socket.AF_UNIX:
        return Allowed(())
    port = listening.getsockname()[1]
    return Allowed((f"127.0.0.1:{port}", f"localhost:{port}", f"[::1]:{port}"))


async def _serve(listening: socket.socket, allowed: Allowed, index: Index, say: Callable[[str], None]) -> None:
    loop, end = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, end.set)
    async with Watch() as watch:
        server = http_server.server(Guard(make(watch, allowed, index), allowed))
        fresh = loop.create_task(keep_fresh(index))
        serving = loop.create_task(server.serve(sockets=[listening]))
        shown = http_server.shown(listening)
        say(shown if listening.family == socket.AF_UNIX else f"http://{shown}/")
        ended = loop.create_task(end.wait())
        await asyncio.wait([ended, serving], return_when=asyncio.FIRST_COMPLETED)
        server.should_exit = True
        await serving
        ended.cancel()
        index.ending = True
        fresh.cancel()
