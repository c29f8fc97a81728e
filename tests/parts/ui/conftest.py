"""One page of one Chromium for all tests: each new one costs a second of CPU. What holds for whatever it opens is checked here."""

import asyncio
import os
from typing import Self
from urllib.parse import urljoin

import pytest
from ui_tools import CHROMIUM, ENTRANCES

WAIT_MS = 60_000


class Seen:
    """What one test has seen of its page."""

    def __init__(self, page) -> None:
        self.page = page
        self.failures: list[str] = []
        self._origin = self._expected = ""
        self._entered: set[str] = set()
        self._heard = {
            "console": lambda message: (
                self._note(f"{message.text}: {message.location['url']}") if message.type == "error" else None
            ),
            "pageerror": lambda error: self._note(str(error)),
            "request": lambda request: self._check_origin(request.url),
        }

    def __enter__(self) -> Self:
        self.page.set_viewport_size({"width": 1280, "height": 900})
        self.page.emulate_media(color_scheme="light")
        for event, listener in self._heard.items():
            self.page.on(event, listener)
        return self

    def __exit__(self, *_: object) -> None:
        self.page.unroute_all()
        self.page.goto("about:blank")  # and the server has no reader of its events any more
        for event, listener in self._heard.items():
            self.page.remove_listener(event, listener)

    def open(self, address: str, refused: str = "nothing"):
        """The page at an address. No script of it may fail, nor a request, but with the words `refused`; and it asks nobody else."""
        self._origin, self._expected = urljoin(address, "/"), refused
        if self._origin in ENTRANCES and self._origin not in self._entered:
            self._entered.add(self._origin)
            self.page.goto(ENTRANCES[self._origin])
        self.page.goto(address)
        return self.page

    def _note(self, failure: str) -> None:
        if self._expected not in failure:
            self.failures.append(failure)

    def _check_origin(self, url: str) -> None:
        if not url.startswith((self._origin, "data:", "blob:", "about:")):
            self._note(f"asked elsewhere: {url}")


@pytest.fixture(scope="session")
def chromium():
    """A page, and the event loop that Playwright's calls run. Between two calls Playwright leaves it marked as running in this thread,
    where other tests call asyncio.run: the mark is set only for tests that open pages."""
    from playwright.sync_api import sync_playwright

    flags = ["--in-process-gpu", "--renderer-process-limit=1"]  # fewer processes to start
    flags += ["--no-sandbox"] if os.geteuid() == 0 else []  # Chromium refuses to run as root with one
    with sync_playwright() as play, play.chromium.launch(executable_path=CHROMIUM, args=flags) as browser:
        page = browser.new_page()
        page.set_default_timeout(WAIT_MS)
        loop = asyncio.get_running_loop()
        asyncio._set_running_loop(None)
        yield page, loop
        asyncio._set_running_loop(loop)


@pytest.fixture
def page_of(chromium):
    """Opens an address as Seen.open does."""
    page, loop = chromium
    asyncio._set_running_loop(loop)
    try:
        with Seen(page) as seen:
            yield seen.open
    finally:
        asyncio._set_running_loop(None)
    assert seen.failures == []
