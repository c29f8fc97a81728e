"""The server of the pages, until Ctrl-C."""

import asyncio
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from windtunnel.exchange import http_server
from windtunnel.exchange.connections import ListeningSocket
from windtunnel.index.index import Index
from windtunnel.ui import doors
from windtunnel.ui.app import Shown, make
from windtunnel.ui.doors import Door
from windtunnel.ui.edit.below import Below
from windtunnel.ui.edit.start import Started
from windtunnel.ui.guard import Guard
from windtunnel.ui.runs import keep_fresh
from windtunnel.ui.sign_in import SignIn
from windtunnel.ui.templates import Pages
from windtunnel.ui.watch import Watch


@dataclass(frozen=True)
class Directories:
    """Of the runs, and of the scenarios that one may begin with."""

    runs: Path
    scenarios: Path


def serve(door: Door, directories: Directories, say: Callable[[str], None]) -> None:
    """Raises UserError where the address cannot be listened at."""
    with doors.listening(door) as listening:
        index = Index(directories.runs)
        try:
            asyncio.run(_until_signalled(door, listening, index, Below(directories.scenarios), say))
        finally:
            index.close()


async def _until_signalled(
    door: Door, listening: list[ListeningSocket], index: Index, below: Below, say: Callable[[str], None]
) -> None:
    end = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, end.set)
    await serve_until(end, door, listening, index, below, say)
    # the look at one more directory may take seconds: a second signal does not wait for it
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)


async def serve_until(
    end: asyncio.Event,
    door: Door,
    listening: list[ListeningSocket],
    index: Index,
    below: Below,
    say: Callable[[str], None],
) -> None:
    """In any thread. `say` is told where the pages are, once they are."""
    loop, started = asyncio.get_running_loop(), Started(index.directory)
    async with Watch(started) as watch:
        allowed = doors.allowed(door, listening)
        pages = Pages(allowed)
        beyond = door.beyond
        sign_in = SignIn(
            door.token, lambda problem: pages.filled("sign_in.html", problem=problem, beyond=beyond), tls=bool(beyond)
        )
        app = make(Shown(watch, pages, index, below, started))
        tls = (beyond.certificate, beyond.key) if beyond else None
        server = http_server.server(Guard(app, allowed, sign_in), tls)
        fresh = loop.create_task(keep_fresh(index))
        serving = loop.create_task(server.serve(sockets=[*listening]))
        say(doors.shown(door, listening))
        ended = loop.create_task(end.wait())
        await asyncio.wait([ended, serving], return_when=asyncio.FIRST_COMPLETED)
        await watch.end()
        server.should_exit = True
        await serving
        ended.cancel()
        index.ending = True
        fresh.cancel()
