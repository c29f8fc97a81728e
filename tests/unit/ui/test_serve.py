"""`windtunnel ui` as a process: it serves what lies in its directories, and ends at once and in silence, also under a page that is open."""

from urllib.request import urlopen

import pytest
from command_line import SCENARIO
from comparing import made
from live_tools import awaited
from ui_tools import free_port, served


@pytest.mark.slow
def test_an_open_page_does_not_hold_up_the_end(tmp_path):
    made(tmp_path / "results" / "one")
    (tmp_path / "scenarios").mkdir()
    (tmp_path / "scenarios" / "mine.toml").write_text(SCENARIO.format(duration="1s"))
    port = free_port()
    with served(tmp_path, "results", "--listen", f":{port}", "--scenarios", "scenarios") as address:
        assert address == f"http://127.0.0.1:{port}/"
        assert b"name=mine.toml" in urlopen(address + "edit").read()
        awaited(lambda: b"one/run.json" in urlopen(address + "runs").read())
        events = urlopen(address + "events", timeout=60)
        assert events.readline().startswith(b"event: processes")
    assert events.read().endswith(b"\n\n")  # in order, and not cut off
