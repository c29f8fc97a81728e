"""A handler from outside the tree: built against the installed header, flown, and broken in every way."""

import shutil
import subprocess

import pytest
from real_flights import assert_sound, fly, fly_well, messages, recorded, scenario
from scenario_tools import SHIPPED
from test_flights import run_short

from windtunnel.engine.leftovers import runtime_directory
from windtunnel.errors import UserError
from windtunnel.runs import load

ROOT = SHIPPED.parent
BROKEN = ROOT / "engine" / "tests" / "plugins"
HEADERS_BYTES = 14 + 20 + 8 + 16


@pytest.fixture(scope="module")
def plugin(tmp_path_factory):
    """The skeleton, copied out of the tree and built with its own Makefile against a header where it is installed."""
    away = tmp_path_factory.mktemp("away")
    shutil.copytree(ROOT / "include", away / "prefix" / "include")
    mine = shutil.copytree(ROOT / "plugins" / "skeleton", away / "mine", ignore=shutil.ignore_patterns("*.so"))
    include = away / "prefix" / "include"
    subprocess.run(["make", "-s", "-C", mine, f"WINDTUNNEL_INCLUDE={include}", "CFLAGS=-O2 -Werror"], check=True)
    return mine / "libmine.so"


def built(directory, name: str):
    """One of the engine's own broken plug-ins."""
    library = directory / f"lib{name}.so"
    include = ["-I", str(ROOT / "include"), "-Wno-override-init"]
    subprocess.run(["cc", "-std=c11", "-shared", "-fPIC", *include, "-o", library, BROKEN / f"{name}.c"], check=True)
    return library


def bodies(run, kind: int) -> dict[bytes, bytes]:
    """Bodies of the recorded messages of a kind, by slot and generation."""
    frames = recorded(run)
    return {f[46:54]: f[HEADERS_BYTES:] for f in frames if f[42] == kind}


@pytest.mark.parametrize("add", [0, 13, 255])
def test_effect_on_the_bytes_is_seen(tmp_path, plugin, add):
    shutil.copy(plugin, tmp_path)
    workload = {"handler": "./libmine.so", "options": {"add": add}, "request": 1001, "response": 1001}
    run = fly_well(tmp_path, scenario(workload, client={"rate": "2kpps"}, record="flight.pcap"))
    requests, answers = bodies(run, 0x11), bodies(run, 0x12)
    assert len(answers) == messages(run).answered > 100
    for key, answer in answers.items():
        assert answer == bytes((byte + add) % 256 for byte in requests[key])
        assert len(answer) == 1001 - 16 and len(set(answer)) > 100


def test_large_messages_and_answers_in_new_mbufs(tmp_path, plugin):
    shutil.copy(plugin, tmp_path)
    workload = {"handler": "./libmine.so", "request": "20KiB", "response": "10KiB"}
    run = fly_well(tmp_path, scenario(workload, server={"answer": "new"}, client={"inflight": 64}))
    assert messages(run).answered > 0 and messages(run).lost == 0


def test_shipped_scenario_flies_the_skeleton(tmp_path, plugin):
    (tmp_path / "scenarios").mkdir()
    shutil.copy(SHIPPED / "plugin.toml", tmp_path / "scenarios")
    (tmp_path / "plugins" / "skeleton").mkdir(parents=True)
    shutil.copy(plugin, tmp_path / "plugins" / "skeleton")
    run_short(tmp_path / "scenarios" / "plugin.toml", tmp_path / "run")
    assert_sound(load(tmp_path / "run"))


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("other_abi", "was built for handler ABI 2, this engine has 1"),
        ("wrong_size", "its table says it has"),
        ("no_message", "the hook `message` is missing, which a message handler must have"),
        ("no_open", "the hook `open` is missing"),
        ("no_symbol", "it has no symbol `wt_handler`"),
        ("unresolved", "cannot be loaded"),
    ],
)
def test_broken_plugin_is_refused_before_the_flight(tmp_path, name, words):
    library = built(tmp_path, name)
    with pytest.raises(UserError) as refused:
        fly(tmp_path, scenario({"handler": f"./{library.name}"}))
    assert words in refused.value.message
    assert "test.toml:4" in refused.value.message
    assert refused.value.remedy
    assert not (tmp_path / "run").exists()


def test_plugin_that_is_not_there(tmp_path):
    with pytest.raises(UserError, match=r"test.toml:4: no such file: .*/libgone.so") as refused:
        fly(tmp_path, scenario({"handler": "./libgone.so"}))
    assert "build the plug-in first" in refused.value.remedy


def test_refusal_at_open_is_shown_in_the_plugins_words(tmp_path, plugin):
    shutil.copy(plugin, tmp_path)
    run = fly(tmp_path, scenario({"handler": "./libmine.so", "options": {"add": 256}})).run
    [reason] = run.record.verdict.reasons
    assert reason.startswith("engine refused: ")
    assert "add = 256 is more than a byte can hold, 255" in reason


def test_crash_at_open_has_a_name(tmp_path):
    library = built(tmp_path, "crashes_at_open")
    run = fly(tmp_path, scenario({"handler": f"./{library.name}"})).run
    assert run.record.verdict.reasons == [f"engine died: SIGSEGV while opening {library}"]
    assert not (runtime_directory() / "dpdk" / run.record.engines[0].plan.eal.file_prefix).exists()
