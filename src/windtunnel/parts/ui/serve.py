"""The server of the pages, until Ctrl-C."""

import asyncio
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from windtunnel.exchange import http_server
from windtunnel.exchange.connections import ListeningSocket
from windtunnel.index.index import Index
from windtunnel.parts.ui.app import Context, make
from windtunnel.parts.ui.binding import Binding, access_rules, address_text, listen
from windtunnel.parts.ui.edit.scenario_directory import ScenarioDirectory
from windtunnel.parts.ui.edit.start import StartedRuns
from windtunnel.parts.ui.guard import Guard
from windtunnel.parts.ui.runs import keep_fresh
from windtunnel.parts.ui.sign_in import SignIn
from windtunnel.parts.ui.templates import Pages
from windtunnel.parts.ui.watch import Watch


@dataclass(frozen=True)
class Directories:
    """The directories of the runs, and of the scenarios that one may begin with."""

    runs: Path
    scenarios: Path


def serve(binding: Binding, directories: Directories, say: Callable[[str], None]) -> None:
    """Serves the pages until a signal. Raises UserError if it cannot listen on the address."""
    with listen(binding) as sockets:
        index = Index(directories.runs)
        try:
            asyncio.run(_until_signalled(binding, sockets, index, ScenarioDirectory(directories.scenarios), say))
        finally:
            index.close()


async def _until_signalled(
    binding: Binding,
    sockets: list[ListeningSocket],
    index: Index,
    scenarios: ScenarioDirectory,
    say: Callable[[str], None],
) -> None:
    end = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, end.set)
    await serve_until(end, binding, sockets, index, scenarios, say)
    # reading one more directory may take seconds: a second signal does not wait for it
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)


async def serve_until(
    end: asyncio.Event,
    binding: Binding,
    sockets: list[ListeningSocket],
    index: Index,
    scenarios: ScenarioDirectory,
    say: Callable[[str], None],
) -> None:
    """Serves the pages, in any thread, until `end` is set. `say` is called with their address once they are reachable."""
    loop, started = asyncio.get_running_loop(), StartedRuns(index.directory)
    async with Watch(started) as watch:
        allowed = access_rules(binding, sockets)
        pages = Pages(allowed)
        remote = binding.remote
        sign_in = SignIn(
            binding.token,
            lambda problem: pages.filled("sign_in.html", problem=problem, remote=remote),
            tls=bool(remote),
        )
        app = make(Context(watch, pages, index, scenarios, started))
        tls = (remote.certificate, remote.key) if remote else None
        server = http_server.server(Guard(app, allowed, sign_in), tls)
        fresh = loop.create_task(keep_fresh(index))
        serving = loop.create_task(server.serve(sockets=[*sockets]))
        say(address_text(binding, sockets))
        ended = loop.create_task(end.wait())
        await asyncio.wait([ended, serving], return_when=asyncio.FIRST_COMPLETED)
        await watch.end()
        server.should_exit = True
        await serving
        ended.cancel()
        index.ending = True
        fresh.cancel()
