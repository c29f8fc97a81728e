"""`check` refuses what `run` refuses, in the same words, at the user's own file and line: it opens the handlers as the run would."""

import json
import random
import re
import subprocess
import sys

import pytest
from plugin_tools import handler
from real_runs import execute, scenario
from scenario_tools import SHIPPED, written
from typer.testing import CliRunner

from windtunnel.cli.app import app

NULL = {"wire": {"kind": "null"}, "server": {}}


def checked(file, *words: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["check", str(file), *words])
    assert not done.exception or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, " ".join(done.output.split())


def refused(directory, data: dict) -> str:
    """What `check` says; `run` refuses it too, and neither names a file that the user did not write."""
    code, said = checked(written(directory, data))
    assert code == 2, said
    [reason] = execute(directory, data).run.record.verdict.reasons
    assert reason.startswith("engine refused: ")
    assert "/cache/" not in said + reason
    return said


def tables(table: dict) -> dict:
    return scenario({"packet_handler": "match_action", "table": [table]}, **NULL)


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def test_a_handler_without_room_for_its_response(tmp_path):
    said = refused(tmp_path, scenario({"handler": "kv", "response": 40, "options": {"value": 64}}))
    lines = (tmp_path / "test.toml").read_text().split("\n")
    [line] = [number for number, text in enumerate(lines, start=1) if text.startswith('"workload"')]
    assert f"test.toml:{line}: kv: a response body of" in said and "has no room for its head" in said


def test_a_default_route_by_rte_lpm(tmp_path):
    (tmp_path / "routes.csv").write_text("# routes\n10.0.0.0/8,1\n0.0.0.0/0,2\n")
    said = refused(tmp_path, tables({"kind": "lpm", "method": "lpm", "rules": "routes.csv"}))
    assert f"{tmp_path}/routes.csv:3: rte_lpm has no prefix of 0 bits: take method fib" in said


def test_data_that_no_table_holds(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "routes.csv").write_text("10.0.0.0/8,2147483647\n")
    code, said = checked(written(tmp_path, tables({"kind": "lpm", "rules": "routes.csv"})))
    assert code == 2 and "routes.csv:1: '2147483647' is not a number from 0 to 2147483646" in said


def test_rules_for_which_rte_acl_has_no_memory(tmp_path):
    chance = random.Random(1)
    rules = set()
    while len(rules) < 4000:
        mask = bytes(chance.choice((0, 0xFF, 0xF0, 0xC3)) for _ in range(16))
        key = bytes(chance.getrandbits(8) & bits for bits in mask)
        rules.add(f"{key.hex()}/{mask.hex()},1")
    (tmp_path / "rules.csv").write_text("\n".join(sorted(rules)) + "\n")
    said = refused(tmp_path, tables({"name": "flows", "kind": "ternary", "method": "acl", "rules": "rules.csv"}))
    assert f"table flows: {tmp_path}/rules.csv: rte_acl builds no tries of 4000 rules" in said


def test_more_masks_than_tss_takes(tmp_path):
    rules = [f"{0:032x}/{number:032x},1" for number in range(1, 4098)]
    (tmp_path / "rules.csv").write_text("\n".join(rules) + "\n")
    said = refused(tmp_path, tables({"kind": "ternary", "method": "tss", "rules": "rules.csv"}))
    assert "rules.csv:4097: more than 4096 different masks: methods linear and acl have no such limit" in said


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
