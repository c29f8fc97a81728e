"""What the tests of `windtunnel ui` share: its pages over a directory, and what holds for each page in a browser."""

import asyncio
import logging.handlers
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urljoin

import httpx
import pytest
from command_line import command, environment
from live_tools import awaited

from windtunnel.exchange.address import Address
from windtunnel.index.index import Index
from windtunnel.parts.ui import runs, watch
from windtunnel.parts.ui.binding import Binding, address_text, listen
from windtunnel.parts.ui.edit.scenario_directory import ScenarioDirectory
from windtunnel.parts.ui.serve import serve_until

CHROMIUM = shutil.which("chromium")
in_a_browser = pytest.mark.skipif(CHROMIUM is None, reason="no chromium: apt-get install chromium")
PATIENCE_S = 300
LOOKS = ((360, "dark"), (1280, "light"))
"""A phone and a desk: width of the page, and scheme of its colours."""
OF_LOOKS = ["color-contrast", "target-size", "scrollable-region-focusable"]
"""Rules of axe-core that depend on width and colours."""
PERIODS = ((watch, "LOOK_S"), (watch, "SHARING_S"), (runs, "REFRESH_S"))
"""Of looks for what is new, which cost little. What a browser draws again has the periods of the product."""
PERIOD_S = 0.05
ENTRANCES: dict[str, str] = {}
"""What the servers of `pages_over` print, with their tokens, by the address of their pages."""


@contextmanager
def pages_over(directory: Path) -> Iterator[str]:
    """The address of the pages, served by a thread of this process that looks for news all the time. Runs lie in `runs`, scenarios in the
    directory itself; what announces itself with it as its RUNTIME_DIRECTORY is seen. What was there before is in the index at once."""
    index = Index(directory / "runs", directory / "cache")
    index.refresh()
    loop, end = asyncio.new_event_loop(), asyncio.Event()
    thread = threading.Thread(target=loop.run_forever)
    binding = Binding(Address("127.0.0.1", 0))
    with (
        pytest.MonkeyPatch.context() as patch,
        _nothing_logged(),
        listen(binding) as made,
    ):
        for module, period in PERIODS:
            patch.setattr(module, period, PERIOD_S)
        for name, value in environment("run", RUNTIME_DIRECTORY=str(directory)).items():
            patch.setenv(name, value)
        entrance = address_text(binding, made)
        address = urljoin(entrance, "/")
        ENTRANCES[address] = entrance
        serving = serve_until(end, binding, made, index, ScenarioDirectory(directory), lambda printed: None)
        thread.start()
        served = asyncio.run_coroutine_threadsafe(serving, loop)
        try:
            yield address
        finally:
            loop.call_soon_threadsafe(end.set)
            served.result(60)
            asyncio.run_coroutine_threadsafe(loop.shutdown_default_executor(), loop).result(60)
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()
            index.close()


@contextmanager
def _nothing_logged() -> Iterator[None]:
    """No request and no task may end with an exception, which is logged."""
    handler = logging.handlers.BufferingHandler(1000)
    handler.setLevel(logging.WARNING)
    logging.getLogger().addHandler(handler)
    try:
        yield
    finally:
        logging.getLogger().removeHandler(handler)
    # anyio's stream over a Unix socket, cancelled in the turn of the loop in which there is something to read: nothing is lost
    unfinished = "Exception in callback Future.set_result(None)"
    logged = [record for record in handler.buffer if not record.getMessage().startswith(unfinished)]
    assert [handler.format(record) for record in logged] == []


@contextmanager
def served(cwd: Path, *arguments: str | Path) -> Iterator[str]:
    """What `windtunnel ui` prints as a process of its own, which has nothing to say on stderr."""
    variables = environment("run", RUNTIME_DIRECTORY=str(cwd), XDG_CACHE_HOME=str(cwd / "cache"))
    told = command("ui", *arguments)
    with (
        tempfile.TemporaryFile("w+") as said,
        subprocess.Popen(told, cwd=cwd, env=variables, stdout=subprocess.PIPE, stderr=said, text=True) as server,
    ):
        try:
            assert server.stdout is not None
            yield server.stdout.readline().strip()
        finally:
            server.terminate()
            server.wait(60)
            said.seek(0)
            assert (server.returncode, said.read()) == (0, "")


class Loopback(httpx.HTTPTransport):
    """Names below localhost are this host's, as browsers have it and Python's resolver does not."""

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        here = request.url.copy_with(host="127.0.0.1")
        return super().handle_request(
            httpx.Request(
                request.method, here, headers=request.headers, stream=request.stream, extensions=request.extensions
            )
        )


@contextmanager
def signed_in(entrance: str) -> Iterator[httpx.Client]:
    """A client as a browser that opened the printed address."""
    with httpx.Client(
        base_url=urljoin(entrance, "/"), transport=Loopback(), follow_redirects=True, timeout=PATIENCE_S
    ) as client:
        client.get(entrance).raise_for_status()
        yield client


def text_at(address: str) -> str:
    """What a browser gets there, of a server of `pages_over`."""
    with signed_in(ENTRANCES[urljoin(address, "/")]) as client:
        return client.get(address).text


def without(page, addresses: str):
    """The page, which gets a line of text for what it asks at such addresses: what it would get takes seconds to draw. The line has an
    icon, since Chromium asks for /favicon.ico otherwise, at a moment of its own."""
    page.route(
        addresses,
        lambda route: route.fulfill(body='<link rel="icon" href="data:,">not drawn', content_type="text/html"),
    )
    return page


def until_listed(page, runs: int) -> None:
    """Waits until the server has read so many runs that a search finds, and shows them."""

    def are_found() -> bool:
        return f'role="status">{runs} ' in text_at(page.url)

    awaited(are_found, PATIENCE_S)
    page.reload()


def check_looks(page) -> None:
    """On a phone and on a desk, dark and light, the page is as wide as its window, and has names, labels, roles and contrasts as WCAG 2.2
    AA wants them, by axe-core's rules."""
    from axe_playwright_python.sync_playwright import Axe

    options: dict = {"resultTypes": ["violations"]}
    for width, scheme in LOOKS:
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)
        page.wait_for_function("width => document.documentElement.scrollWidth === width", arg=width)
        violations = Axe().run(page, options=options)
        assert violations.violations_count == 0, violations.generate_report()
        options |= {"runOnly": OF_LOOKS}  # what else there is in the page has been looked at
