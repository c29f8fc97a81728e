"""`windtunnel ui` as a process: it serves what lies in its directories, and ends at once and in silence, also under a page that is open."""

import asyncio
import re
import shutil
import signal
import socket
import sys
import threading
from contextlib import ExitStack
from pathlib import Path
from subprocess import PIPE, Popen

import pytest
from command_line import SCENARIO
from comparing import made
from live_tools import awaited, free_port
from ui_tools import served, signed_in

from windtunnel.parts.ui import runs

CHECKOUT = Path(__file__).resolve().parents[3]


@pytest.mark.slow
def test_an_open_page_does_not_hold_up_the_end(tmp_path):
    made(tmp_path / "results" / "one")
    (tmp_path / "scenarios").mkdir()
    (tmp_path / "scenarios" / "mine.toml").write_text(SCENARIO.format(duration="1s"))
    port = free_port()
    with ExitStack() as browser:
        with served(tmp_path, "results", "--listen", f":{port}", "--scenarios", "scenarios") as entrance:
            assert re.fullmatch(rf"http://wt-[0-9a-f]{{16}}\.localhost:{port}/\?access=[\w-]{{43}}", entrance)
            client = browser.enter_context(signed_in(entrance))
            assert "name=mine.toml" in client.get("edit").text
            awaited(lambda: "one/run.json" in client.get("runs").text)
            events = browser.enter_context(client.stream("GET", "events")).iter_raw()
            first = next(events)
            assert first.startswith(b"event: processes")
        assert (first + b"".join(events)).endswith(b"\n\n")  # in order, and not cut off


WHOSE_LOOK_NEVER_ENDS = """
import sys, threading
from windtunnel.index.index import Index
def refresh(self):
    print("looking", file=sys.stderr, flush=True)
    threading.Event().wait()
Index.refresh = refresh
from windtunnel.cli import main
main()
"""


@pytest.mark.slow
def test_a_second_signal_does_not_wait_for_the_look_at_a_directory(tmp_path):
    (tmp_path / "results").mkdir()
    port = free_port()
    command = [sys.executable, "-c", WHOSE_LOOK_NEVER_ENDS, "ui", "results", "--listen", f":{port}"]
    with Popen(command, cwd=tmp_path, stdout=PIPE, stderr=PIPE, text=True) as server:
        try:
            assert server.stderr.readline() == "looking\n"
            awaited(lambda: listens(port))
            server.send_signal(signal.SIGINT)
            awaited(lambda: not listens(port))
            assert server.poll() is None
            awaited(lambda: ended_by_another(server))
            assert server.returncode == -signal.SIGINT
        finally:
            server.kill()


def ended_by_another(server):
    """Whether it has ended, after one more signal."""
    server.send_signal(signal.SIGINT)
    return server.poll() is not None


def listens(port):
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


@pytest.mark.slow
def test_a_run_that_was_removed_a_moment_ago_is_said_on_every_page(tmp_path):
    names = ("one", "two")
    for name in names:
        made(tmp_path / "results" / name)
    with served(tmp_path, "results", "--listen", f":{free_port()}") as entrance, signed_in(entrance) as client:
        awaited(lambda: all(f"{name}/run.json" in client.get("runs").text for name in names))
        page = client.get("notes", params={"path": "one/run.json"})
        (token,) = re.findall(r'name="token" value="([^"]+)"', page.text)
        shutil.rmtree(tmp_path / "results" / "one")
        one = {"path": "one/run.json"}
        responses = [
            client.get("report", params=one),
            client.get("notes", params=one),
            client.get("compare", params={"run": ["one/run.json", "two/run.json"]}),
            client.get("history", params=one),
            client.get("edit", params={"kind": "run", "name": "one/run.json"}),
            client.post(
                "notes", data=one | {"tags": "a", "token": token}, headers={"origin": entrance.partition("/?")[0]}
            ),
        ]
    assert all(response.status_code in (200, 404, 422) for response in responses), responses
    assert any(response.status_code == 404 for response in responses)


def test_a_refresh_that_fails_is_said_once_and_tried_again(monkeypatch, capsys):
    monkeypatch.setattr(runs, "REFRESH_S", 0)
    refreshed = threading.Event()

    class Failing:
        tries = 0

        def refresh(self):
            self.tries += 1
            if self.tries < 3:
                raise IndexError("of a\nrun")
            refreshed.set()

    async def until_refreshed():
        fresh = asyncio.ensure_future(runs.keep_fresh(Failing()))
        await asyncio.to_thread(refreshed.wait, 30)
        fresh.cancel()

    asyncio.run(until_refreshed())
    assert refreshed.is_set()
    assert capsys.readouterr().err == "the list of runs is not up to date: IndexError: of a\\nrun\n"


@pytest.mark.slow
def test_the_pages_open_as_readme_says(tmp_path):
    """With what quickstart and ./test have installed."""
    assert "`./windtunnel ui`" in (CHECKOUT / "README.md").read_text()
    command = [CHECKOUT / "windtunnel", "ui", "--listen", f":{free_port()}"]
    with Popen(command, cwd=tmp_path, stdout=PIPE, text=True) as server:
        (address,) = re.findall(r"http://\S+", server.stdout.readline())
        with signed_in(address) as client:
            assert client.get("/").status_code == 200
        server.send_signal(signal.SIGINT)
        assert server.wait(60) in (0, 130)
