"""A handler from outside the tree, in C and in Rust: built away from it, run, and broken in every way."""

import shutil
import subprocess

import pytest
from plugin_tools import assert_equal_to_header, built, built_with_cargo, cargo, example, handler, rust_copy
from real_runs import after, assert_sound, execute, messages, recorded, run_well, scenario
from scenario_tools import SHIPPED
from short_runs import run_short

from windtunnel.engine import supervisor
from windtunnel.engine.leftovers import runtime_directory
from windtunnel.errors import UserError
from windtunnel.runs import load

HEADERS_BYTES = 14 + 20 + 8 + 16


@pytest.fixture(scope="module", params=["C", "Rust"])
def plugin(request, tmp_path_factory):
    """A skeleton, copied out of the tree and built there."""
    return example(tmp_path_factory.mktemp("away"), "skeleton", request.param)


def bodies(run, kind: int) -> dict[bytes, bytes]:
    """Bodies of the recorded messages of a kind, by slot and generation."""
    frames = recorded(run)
    return {f[46:54]: f[HEADERS_BYTES:] for f in frames if f[42] == kind}


@pytest.mark.parametrize("add", [0, 13, 255])
def test_the_handler_changes_the_bytes(tmp_path, plugin, add):
    shutil.copy(plugin, tmp_path)
    workload = {"handler": "./libmine.so", "options": {"add": add}, "request": 1001, "response": 1001}
    run = run_well(tmp_path, scenario(workload, client={"rate": "2kpps"}, record="run.pcap", **after(200)))
    requests, responses = bodies(run, 0x11), bodies(run, 0x12)
    assert len(responses) == messages(run).responses >= 200
    for key, response in responses.items():
        assert response == bytes((byte + add) % 256 for byte in requests[key])
        assert len(response) == 1001 - 16 and len(set(response)) > 100


def test_large_messages_and_responses_in_new_mbufs(tmp_path, plugin):
    shutil.copy(plugin, tmp_path)
    workload = {"handler": "./libmine.so", "request": "20KiB", "response": "10KiB"}
    run = run_well(tmp_path, scenario(workload, server={"response_mbuf": "new"}, client={"inflight": 64}))
    assert messages(run).responses > 0 and messages(run).lost == 0


def test_shipped_scenario_runs_the_skeleton(tmp_path, plugin):
    (tmp_path / "scenarios").mkdir()
    shutil.copy(SHIPPED / "plugin.toml", tmp_path / "scenarios")
    (tmp_path / "plugins" / "skeleton").mkdir(parents=True)
    shutil.copy(plugin, tmp_path / "plugins" / "skeleton")
    run_short(tmp_path / "scenarios" / "plugin.toml", tmp_path / "run")
    assert_sound(load(tmp_path / "run"))


def test_rust_skeleton_passes_its_own_tests(tmp_path):
    assert "5 passed" in cargo(rust_copy(tmp_path, "skeleton-rust"), "test")


def test_the_rust_bindings_equal_the_header(tmp_path):
    assert_equal_to_header("skeleton-rust", "handler.h", structures=14, constants=24, directory=tmp_path)


def test_rust_plugin_of_another_abi_is_refused(tmp_path):
    crate = rust_copy(tmp_path, "skeleton-rust")
    mirror = crate / "src" / "abi.rs"
    mirror.write_text(mirror.read_text().replace("HANDLER_ABI: u32 = 3", "HANDLER_ABI: u32 = 1"))
    library = built_with_cargo(crate)
    with pytest.raises(UserError, match="was built for handler ABI 1, this engine has 3"):
        execute(tmp_path, scenario({"handler": str(library)}))


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("other_abi", "was built for handler ABI 1, this engine has 3"),
        ("wrong_size", "its table says it has"),
        ("no_message", "the hook `message` is missing: a message handler must have it"),
        ("no_open", "the hook `open` is missing"),
        ("no_symbol", "it has no symbol `wt_handler`"),
        ("unresolved", "cannot be loaded"),
    ],
)
def test_broken_plugin_is_refused_before_the_run(tmp_path, name, words):
    library = built(tmp_path, name)
    with pytest.raises(UserError) as refused:
        execute(tmp_path, scenario({"handler": f"./{library.name}"}))
    assert words in refused.value.message
    assert "test.toml:4" in refused.value.message
    assert refused.value.remedy
    assert not (tmp_path / "run").exists()


def test_a_missing_plugin_is_refused(tmp_path):
    with pytest.raises(UserError, match=r"test.toml:4: no such file: .*/libgone.so") as refused:
        execute(tmp_path, scenario({"handler": "./libgone.so"}))
    assert "build the plug-in first" in refused.value.remedy


def test_the_plugins_own_refusal_at_open_is_shown(tmp_path, plugin):
    shutil.copy(plugin, tmp_path)
    run = execute(tmp_path, scenario({"handler": "./libmine.so", "options": {"add": 256}})).run
    [reason] = run.record.verdict.reasons
    assert reason.startswith("engine refused: ")
    assert "add = 256 does not fit into a byte; the largest value is 255" in reason


def test_a_worker_without_a_cpu_is_reported(tmp_path, monkeypatch):
    """Nobody takes it for a hang of the engine's own; here the handler itself has given its CPU away."""
    monkeypatch.setattr(supervisor, "ORDERLY_END_S", 0.5)
    library = built(tmp_path, "sleeps")
    short = ("duration=1500ms", "warmup=100ms", "window=100ms", "drain=100ms")
    run = execute(tmp_path, scenario({"handler": f"./{library.name}"}, server={"cores": [1]}), *short).run
    [reason] = run.record.verdict.reasons
    assert reason.startswith("engine killed: ")
    assert reason.endswith("while running, though the worker on CPU 1 has not run for a second")


def test_a_crash_at_open_is_named_in_the_verdict(tmp_path):
    library = built(tmp_path, "crashes_at_open")
    run = execute(tmp_path, scenario({"handler": f"./{library.name}"})).run
    assert run.record.verdict.reasons == [f"engine died: SIGSEGV while opening {library}"]
    assert not (runtime_directory() / "dpdk" / run.record.engines[0].plan.eal.file_prefix).exists()


SLOW = """
#define ALLOW_EXPERIMENTAL_API
#include <rte_interrupts.h>
#include <sys/eventfd.h>
static int event;
static void slow(void *file) {
    eventfd_t count;
    if (eventfd_read(event, &count) != 0) return;
    usleep(100000);
    fclose(fopen(file, "w"));
}
static void begin(char *file) {
    struct rte_intr_handle *handle = rte_intr_instance_alloc(RTE_INTR_INSTANCE_F_PRIVATE);
    event = eventfd(1, EFD_NONBLOCK);
    rte_intr_fd_set(handle, event);
    rte_intr_type_set(handle, RTE_INTR_HANDLE_EXT);
    rte_intr_callback_register(handle, slow, file);
}
"""


def test_the_engine_ends_when_dpdks_interrupt_thread_has_caught_up(tmp_path):
    """EAL's cleanup unmaps memory that this thread may still read: an engine died of that."""
    ended = tmp_path / "ended"
    flags = subprocess.run(["pkg-config", "--cflags", "libdpdk"], check=True, capture_output=True, text=True).stdout
    stays = "-Wl,-z,nodelete"  # the callback runs when the handler has been closed and its library dropped
    library = handler(tmp_path / "libslow.so", stays, *flags.split(), beside=SLOW, closed=f'begin("{ended}");')
    run = run_well(tmp_path, scenario({"handler": str(library)}))
    assert ended.exists(), "".join(log.read_text() for log in run.path.glob("*.log"))
