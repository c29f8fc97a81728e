"""Handlers and their options, checked against what an engine says of them."""

import json
import os

import in_process
import pytest
from part_samples import part_samples, use_fixtures
from scenario_tools import SHIPPED, engine, finished, machine_for, refused

from windtunnel.engine.find import find_engine
from windtunnel.errors import UserError
from windtunnel.scenario import load, resolve
from windtunnel.scenario.plugins import code_not_opened, code_refused

KV = {
    "name": "kv",
    "kind": "message",
    "help": "a store",
    "options": [
        {"name": "keys", "type": "count", "default": "100", "choices": [], "help": "how many"},
        {"name": "value", "type": "bytes", "default": "32", "choices": [], "help": "how long"},
        {"name": "order", "type": "choice", "default": "up", "choices": ["up", "down"], "help": "which way"},
        {"name": "where", "type": "text", "default": "", "choices": [], "help": "a place"},
        {"name": "list", "type": "file", "default": "", "choices": [], "help": "a file"},
    ],
}
ECHO = {"name": "echo", "kind": "packet", "help": "back", "options": []}


@pytest.fixture(autouse=True, scope="module")
def no_engine():
    """What an engine says is what these tests are about."""


@pytest.fixture
def fake(tmp_path):
    """An engine that knows kv and echo, and refuses every plug-in but its neighbour good.so."""
    script = tmp_path / "engine"
    script.write_text(
        "#!/bin/sh\n"
        f"case \"$3\" in '') echo '{json.dumps([KV, ECHO])}';; *good.so) echo '{json.dumps([KV])}';;"
        " *) echo 'a library: noise' >&2; echo 'windtunnel-engine: handler ABI 9, this engine has 1' >&2;"
        " echo 'remedy: build it again' >&2; exit 2;; esac\n"
    )
    script.chmod(0o755)
    with engine(str(script)):
        yield


def planned(directory, workload):
    return finished(directory, {"workload": [workload]}).plans[0].workloads[0]


@pytest.mark.usefixtures("fake")
def test_options_become_plain_numbers_and_words(tmp_path):
    options = {"keys": "100k", "value": "1KiB", "order": "down", "where": "64KiB"}
    handler = planned(tmp_path, {"handler": "kv", "options": options}).handler
    assert handler.options == {"keys": "100000", "value": "1024", "order": "down", "where": "64KiB"}


@pytest.mark.usefixtures("fake")
@pytest.mark.parametrize(
    ("workload", "what"),
    [
        ({"handler": "kvs"}, 'no message handler "kvs"; did you mean "kv"?'),
        ({"handler": "echo"}, 'echo is not a message handler; packet_handler = "echo"'),
        ({"packet_handler": "kv"}, 'kv is not a packet handler; handler = "kv"'),
        ({"handler": "kv", "options": {"key": 1}}, 'kv has no option "key"; did you mean "keys"?'),
        ({"packet_handler": "echo", "options": {"x": 1}}, 'echo has no option "x"; it has none'),
        ({"handler": "kv", "packet_handler": "echo", "packet_options": {"x": 1}}, 'echo has no option "x"'),
        (
            {"handler": "kv", "options": {"keys": "many"}},
            'keys: "many" is not a count; units: k, M, G; how many: as in keys = 1000',
        ),
        ({"handler": "kv", "options": {"value": 1.5}}, "value: 1.5 is not a size"),
        ({"handler": "kv", "options": {"order": "left"}}, 'order: "left" is not a choice; one of up, down: which way'),
        ({"handler": "./good.so", "options": {"kees": 1}}, 'has no option "kees"; did you mean "keys"?'),
        ({"packet_handler": "good.so"}, "good.so is not a packet handler"),
        ({"handler": "./old.so"}, "handler ABI 9, this engine has 1; build it again"),
        ({"handler": "./one.so"}, "too many levels of symbolic links: "),
        ({"handler": "kv", "options": {"list": "one.so"}}, "too many levels of symbolic links: "),
        ({"handler": "kv", "options": {"list": "deep"}}, "list: not a regular file: "),
        ({"handler": "kv", "options": {"list": "deep"}}, "/deep; its path is relative to the scenario"),
    ],
)
def test_unknown_handlers_and_options_are_refused(tmp_path, workload, what):
    for library in ("good.so", "old.so"):
        (tmp_path / library).touch()
    (tmp_path / "one.so").symlink_to("two.so")
    (tmp_path / "two.so").symlink_to("one.so")
    (tmp_path / "deep").mkdir()
    said = refused(tmp_path, {"workload": [workload]})
    assert said.startswith(f"{tmp_path / 'test.toml'}:1: ")
    assert what in said


@pytest.mark.usefixtures("fake")
def test_a_file_is_relative_to_the_scenario(tmp_path, monkeypatch):
    (tmp_path / "deep").mkdir()
    (tmp_path / "list.txt").touch()
    monkeypatch.chdir("/")
    handler = planned(tmp_path / "deep", {"handler": "kv", "options": {"list": "../list.txt"}}).handler
    assert handler.options == {"list": os.path.realpath(tmp_path / "list.txt")}
    assert planned(tmp_path, {"handler": "kv", "options": {"list": ""}}).handler.options == {"list": ""}


@pytest.mark.usefixtures("fake")
def test_a_plugin_has_its_path_and_its_own_options(tmp_path):
    (tmp_path / "good.so").touch()
    handler = planned(tmp_path, {"handler": "./good.so", "options": {"keys": "1k"}}).handler
    assert (handler.name, handler.options) == (os.path.realpath(tmp_path / "good.so"), {"keys": "1000"})


@pytest.mark.parametrize(
    ("workload", "code"),
    [
        ({"handler": "./good.so"}, "./good.so"),
        ({"handler": "good.so"}, "good.so"),
        *(({"handler": "./good.so"} | keys, "./good.so") for keys in part_samples("WORKLOAD_KEYS")),
        ({"handler": "kv", "packet_handler": "/a/good.so"}, "/a/good.so"),
    ],
)
def test_code_of_a_scenario_is_refused_and_not_opened(tmp_path, workload, code):
    (tmp_path / "good.so").touch()
    opened = tmp_path / "opened"
    script = tmp_path / "engine"
    script.write_text(f"#!/bin/sh\n[ \"$3\" ] && touch {opened}; echo '{json.dumps([KV, ECHO])}'\n")
    script.chmod(0o755)
    with engine(str(script)), code_refused():
        said = refused(tmp_path, {"workload": [workload]})
        assert f"{code} is code of its own" in said and "--no-plugins" in said
        assert planned(tmp_path, {"handler": "kv"}).handler.name == "kv"
    assert not opened.exists()


@pytest.mark.parametrize(
    "workload",
    [
        {"handler": "./good.so", "options": {"any": 1}},
        {"handler": "kv", "packet_handler": "./good.so"},
    ],
)
def test_code_of_a_scenario_is_planned_and_not_opened(tmp_path, workload):
    (tmp_path / "good.so").touch()
    opened = tmp_path / "opened"
    script = tmp_path / "engine"
    script.write_text(f"#!/bin/sh\n[ \"$2\" ] && touch {opened}; echo '{json.dumps([KV])}'\n")
    script.chmod(0o755)
    with engine(str(script)), code_not_opened():
        named = planned(tmp_path, workload)
    assert (named.packet_handler or named.handler).name == str(tmp_path / "good.so")
    assert not opened.exists()


@pytest.mark.slow
def test_every_command_that_runs_a_scenario_can_refuse_code(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "good.so").touch()
    (tmp_path / "test.toml").write_text('[server]\n[client]\n[[workload]]\nhandler = "./good.so"\n')
    (tmp_path / "far.toml").write_text('scenario = "test.toml"\n[[factor]]\nkey = "client.inflight"\nvalues = [32]\n')
    scenario = tmp_path / "test.toml"
    for words in (
        "check",
        "run",
        "run --repeat 2",
        *part_samples("PLANNING_COMMAND"),
        "compare",
        "search",
        "study",
    ):
        command, *options = words.split()
        files = (
            [scenario, scenario]
            if command == "compare"
            else [tmp_path / "far.toml" if command == "study" else scenario]
        )
        done = in_process.run(command, *files, *options, "--no-plugins")
        said = f"{done.output}{done.exception}"
        assert done.exit_code and "is code of its own" in said, (words, said)


def test_without_an_engine_options_are_not_checked(tmp_path):
    with engine("/nonexistent"):
        handler = planned(tmp_path, {"handler": "anything", "options": {"a": "1KiB", "b": True, "c": 2}}).handler
    assert handler.options == {"a": "1KiB", "b": "true", "c": "2"}


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(file.name for file in SHIPPED.glob("*.toml") if file.name != "plugin.toml"))
def test_shipped_scenarios_name_what_the_engine_has(name, request):
    try:
        find_engine()
    except UserError as error:
        pytest.skip(error.message)
    use_fixtures(name.removesuffix(".toml"), request)
    assert resolve(load(SHIPPED / name), machine_for(name)).plans
