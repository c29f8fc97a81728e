"""windtunnel check: placement, demand and memory in words and as JSON; errors without a traceback."""

import json
import subprocess
import sys

import in_process
import pytest
from scenario_tools import ECHO, SHIPPED, machine, written

from windtunnel import scenario


@pytest.fixture(autouse=True)
def here(monkeypatch):
    monkeypatch.setattr(scenario, "here", machine)


def checked(*words):
    """(exit code, stdout, stderr) of the command."""
    done = in_process.run("check", *words)
    return done.exit_code, done.stdout, done.stderr


def test_check_shows_the_placement():
    code, out, err = checked(SHIPPED / "echo.toml")
    assert code == 0
    assert "handlers and their options were not checked" in err  # the tests of scenarios have no engine to ask
    assert "What does one small RPC cost, stage by stage?" in " ".join(out.split())  # a long path breaks the line
    assert "nic_rx:0  disp_rx:0  app_rx:0  disp_tx:0  nic_tx:0" in out
    assert "1024 in flight" in out
    assert "without hugepages" in out


def test_json_is_for_machines():
    code, out, _ = checked(SHIPPED / "echo.toml", SHIPPED / "two-processes.toml", "--json")
    echo, pair = json.loads(out)
    assert code == 0
    assert echo["workers"][0] == {
        "engine": "windtunnel",
        "cpu": 1,
        "stages": {"server": ["nic_rx:0", "disp_rx:0", "app_rx:0", "disp_tx:0", "nic_tx:0"]},
    }
    assert echo["mbufs"]["client"]["by"]["in flight"] == 1024
    assert [worker["engine"] for worker in pair["workers"]] == ["server", "client"]


def test_one_bad_file_among_good_ones(tmp_path):
    bad = written(tmp_path, ECHO | {"duration": "[red]5[/red]"})
    code, out, err = checked(bad, SHIPPED / "echo.toml")
    assert code == 2
    assert "valid scenario" in out
    assert f'{bad}:2: duration: "[red]5[/red]" is not a duration' in err
    code, out, _ = checked(bad, SHIPPED / "echo.toml", "--json")
    assert code == 2
    assert [document["ok"] for document in json.loads(out)] == [False, True]


@pytest.mark.slow
def test_check_imports_nothing_heavy():
    code = "import sys, windtunnel.cli.check; print([m for m in ('pydantic', 'rich.table', 'tomllib') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
