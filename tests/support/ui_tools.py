"""What the tests of `windtunnel ui` share: a server, and Debian's Chromium."""

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from command_line import command, environment

CHROMIUM = shutil.which("chromium")
MOST_LOADS = 300


@contextmanager
def served(cwd: Path, port: int, *arguments: str) -> Iterator[str]:
    """The address of `windtunnel ui`, which has nothing to say on stderr."""
    variables = environment("run", RUNTIME_DIRECTORY=str(cwd))
    told = command("ui", "--listen", f":{port}", *arguments)
    with (
        tempfile.TemporaryFile("w+") as said,
        subprocess.Popen(told, cwd=cwd, env=variables, stdout=subprocess.PIPE, stderr=said, text=True) as server,
    ):
        try:
            assert server.stdout is not None
            yield server.stdout.readline().strip()
        finally:
            server.terminate()
            assert server.wait(60) == 0
            said.seek(0)
            assert said.read() == ""


@contextmanager
def page_of(address: str, refused: str = "nothing", **options) -> Iterator:
    """A page of Chromium at the address, in which no script may fail; nor a request, but with the status `refused`."""
    from playwright.sync_api import sync_playwright

    sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []  # Chromium refuses to run as root with one
    with sync_playwright() as play, play.chromium.launch(executable_path=CHROMIUM, args=sandbox) as browser:
        page = browser.new_context(**options).new_page()
        errors: list[str] = []
        page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(address)
        yield page
        assert [error for error in errors if refused not in error] == []


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def until_listed(page, runs: int) -> None:
    """Loads Runs, as it is searched, until it has found as many: it reads what is new every few seconds."""
    for _ in range(MOST_LOADS):
        if (said := page.get_by_role("status").inner_text()).startswith(f"{runs} "):
            return
        page.wait_for_timeout(200)
        page.reload()
    raise AssertionError(said)


def check_accessibility(page) -> None:
    """The page has names, labels, roles and contrasts as WCAG 2.2 AA wants them, by axe-core's rules."""
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()
