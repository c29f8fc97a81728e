"""`check` refuses what `run` refuses, in the same words, at the user's own file and line: it opens the handlers as the run would."""

import json
import re
import subprocess
import sys

import pytest
from check_tools import checked, refused_by_engine
from plugin_tools import handler
from real_runs import scenario
from scenario_tools import SHIPPED, written
from typer.testing import CliRunner

from windtunnel.cli.app import app


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def test_a_handler_without_room_for_its_response(tmp_path):
    said = refused_by_engine(tmp_path, scenario({"handler": "kv", "response": 40, "options": {"value": 64}}))
    lines = (tmp_path / "test.toml").read_text().split("\n")
    [line] = [number for number, text in enumerate(lines, start=1) if text.startswith('"workload"')]
    assert f"test.toml:{line}: kv: a response body of" in said and "has no room for its head" in said


def test_a_plug_in_that_dies_at_its_open(tmp_path):
    """The engine that died was the check's own."""
    handler(tmp_path / "libmine.so", opened="abort();")
    code, said = checked(written(tmp_path, scenario({"handler": "./libmine.so"})))
    assert code == 2
    assert f"the engine ended while opening {tmp_path}/libmine.so: SIGABRT" in said and "libmine.so is code of" in said


def test_a_shorter_response_than_the_scenarios_is_said(tmp_path):
    file = written(tmp_path, scenario({"handler": "l_app", "request": 86, "response": 1400}))
    code, said = checked(file)
    assert code == 0
    note = "l_app responds to a request of 86 B with 86 B, not with the 1400 B of response"
    assert said.count(note) == 1
    assert note in json.loads(CliRunner().invoke(app, ["check", str(file), "--json"]).stdout)[0]["notes"]
    for workload in ({"handler": "l_app", "response": 40}, {"handler": "kv", "response": 64}, {"handler": "t_app"}):
        said = checked(written(tmp_path, scenario(workload)))[1]
        assert "responds to a request" not in said, workload


def test_two_processes_are_tried_one_after_the_other(tmp_path):
    code, said = checked(SHIPPED / "two-processes.toml", "--set", "workload.0.response=1000")
    assert code == 0 and said.count("l_app responds to a request of") == 1


MEASURED = """
import resource, sys
from windtunnel.cli import main
try:
    main()
finally:
    print("most", resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10, "MiB")
"""
"""A command, and how much memory a process of it took at most."""
MOST_MIB = 700


@pytest.mark.parametrize(
    "workload",
    [
        {"handler": "m_app", "options": {"state": "1GiB"}},
        {"handler": "m_app", "apps": 8, "options": {"state": "128MiB"}},
        {"handler": "fs_write", "options": {"file": "1GiB"}},
        {"handler": "fs_read", "options": {"file": "1GiB"}},
        {"handler": "kv", "request": 1100, "response": 1100, "options": {"keys": "1M", "value": "1068B"}},
    ],
    ids=str,
)
def test_a_check_does_not_fill_the_memory_that_a_run_would_take(tmp_path, workload):
    file = written(tmp_path, scenario(workload))
    words = [sys.executable, "-c", MEASURED, "check", file]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "valid scenario" in done.stdout and "not with the" not in done.stdout, done.stdout
    assert int(re.search(r"^most (\d+) MiB$", done.stdout, re.MULTILINE)[1]) < MOST_MIB
