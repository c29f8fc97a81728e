"""A scenario of a P4 pipeline may name a program, its compiler: this is code of the scenario's own. And what `host doctor` says of gcc."""

import json

import pytest
from command_line import SCENARIO
from scenario_tools import engine, finished, refused

from windtunnel.host.facts import collect
from windtunnel.parts.swx.findings import judge
from windtunnel.scenario.load import scenario_of
from windtunnel.scenario.plugins import code_not_opened, code_of, code_refused

SWX = {
    "name": "swx",
    "kind": "packet",
    "help": "a pipeline",
    "options": [
        {"name": "spec", "type": "file", "default": "", "choices": [], "help": "what it runs"},
        {"name": "compiler", "type": "text", "default": "gcc", "choices": [], "help": "by whom it is compiled"},
    ],
}
KV = {"name": "kv", "kind": "message", "help": "a store", "options": []}


@pytest.fixture(autouse=True, scope="module")
def no_engine():
    """What an engine says is what these tests are about."""


@pytest.fixture
def opened(tmp_path):
    """An engine that leaves this file if it is to do more than list its handlers."""
    script, file = tmp_path / "engine", tmp_path / "opened"
    script.write_text(f"#!/bin/sh\n[ \"$2\" ] && touch {file}; echo '{json.dumps([KV, SWX])}'\n")
    script.chmod(0o755)
    (tmp_path / "a.spec").touch()
    with engine(str(script)):
        yield file


@pytest.mark.parametrize(
    "workload",
    [
        {"packet_handler": "swx", "options": {"compiler": "./mine"}},
        {"handler": "kv", "packet_handler": "swx", "packet_options": {"compiler": "./mine"}},
    ],
)
def test_a_compiler_of_a_scenario_is_code_and_is_refused(tmp_path, opened, workload):
    with code_refused():
        text = refused(tmp_path, {"workload": [workload]})
    assert "./mine is code of its own" in text and "--no-plugins" in text
    assert not opened.exists()


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_a_known_compiler_is_no_code(tmp_path, opened, compiler):
    with code_refused(), code_not_opened():
        options = {"spec": "a.spec", "compiler": compiler}
        plan = finished(tmp_path, {"workload": [{"packet_handler": "swx", "options": options}]}).plans[0]
    assert plan.workloads[0].packet_handler.options["compiler"] == compiler


def test_a_spec_is_planned_and_not_compiled(tmp_path, opened):
    workload = {"packet_handler": "swx", "options": {"spec": "a.spec", "compiler": "./mine"}}
    with code_not_opened():
        plan = finished(tmp_path, {"workload": [workload]}).plans[0]
    assert plan.workloads[0].packet_handler.name == "swx"
    assert not opened.exists()


def test_a_compiler_is_named_before_it_runs(tmp_path):
    text = SCENARIO.format(duration="1s").replace('"l_app"', '"swx"\noptions = {compiler = "./mine.sh"}')
    assert code_of(scenario_of(tmp_path / "mine.toml", text)) == ["./mine.sh"]


def test_the_doctor_looks_for_gcc(tmp_path, monkeypatch):
    facts = collect()
    monkeypatch.setenv("PATH", str(tmp_path))
    [finding] = judge(facts, has_engine=True)
    assert (finding.subject, finding.verdict) == ("compiler", "fair") and "gcc" in finding.remedy
    (tmp_path / "gcc").touch(0o755)
    [finding] = judge(facts, has_engine=True)
    assert (finding.value, finding.verdict) == (str(tmp_path / "gcc"), "good")
