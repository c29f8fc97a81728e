"""epping's configuration and options become scenarios; what has no counterpart is named, what cannot be converted is refused with its line."""

import tomllib
from pathlib import Path

import pytest
from importing import imported, refusal
from scenario_tools import machine

from windtunnel.errors import UserError
from windtunnel.parts.streams.epping import NUMBERS, SKIPPED
from windtunnel.scenario import load, resolve

CONF = (Path(__file__).parent / "data/epping.conf").read_text()


def scenario(directory, *options, text=CONF):
    """The scenario that a configuration becomes, and the notes beside it. It loads, and this machine could run it."""
    (directory / "epping.conf").write_text(text)
    _, notes = imported("epping", directory / "epping.conf", "--out", directory / "scenario.toml", *options)
    resolve(load(directory / "scenario.toml"), machine())
    return tomllib.loads((directory / "scenario.toml").read_text()), notes


@pytest.mark.parametrize(
    ("size", "count", "write"),
    [
        ("4k", 32768, "4KiB"),
        ("8k", 16384, "8KiB"),
        ("32k", 4096, "32KiB"),
        ("256k", 512, "256KiB"),
        ("1m", 128, "1MiB"),
        ("2M", 64, "2MiB"),
    ],
)
@pytest.mark.parametrize(("by", "engine"), [((), "cpu"), (("-d",), "dma")])
def test_each_run_of_the_guide_is_a_stream(tmp_path, size, count, write, by, engine):
    data, notes = scenario(tmp_path, "-l", size, "-n", count, *by)
    [workload] = data["workload"]
    assert workload["stream"] == {"write": write, "send_buffer": "4MiB", "receive_buffer": "4MiB", "checksum": False}
    assert workload["source"] == {"bytes": "128MiB", "order": "rotating"}
    assert workload["copies"] == {"engine": engine}
    assert data["client"]["mtu"] == data["server"]["mtu"] == 1500
    assert "-m was not given: a packet has 1460 bytes" in notes and "-l was not given" not in notes


@pytest.mark.parametrize("payload", [64, 128, 256, 512, 1024, 1460, 4096, 8192])
def test_unpacking_by_the_cpu_is_a_stream_and_by_the_engine_messages(tmp_path, payload):
    stream, notes = scenario(tmp_path, "-d", "-m", payload)
    assert stream["client"] == stream["server"] == {"mtu": payload + 40}
    assert stream["workload"][0]["copies"] == {"engine": "dma"} and "write" not in stream["workload"][0]["stream"]
    assert "-l was not given, and the guide does not name its default" in notes
    (tmp_path / "scenario.toml").unlink()
    messages, notes = scenario(tmp_path, "-du", "-m", payload)
    [workload] = messages["workload"]
    assert messages["client"] == {"mtu": payload + 44, "inflight": 8, "batch": {"app_tx": 8}}
    assert (workload["request"], workload["copies"]) == ("256KiB", {"engine": "dma", "way": "wait_all"})
    assert "stream" not in workload and messages["wire"] == {"kind": "ring", "udp_checksum": False}
    assert "these are messages over UDP" in notes and "-d: the copy to the send buffer is not in this scenario" in notes
    assert "sndbuf = 4194304, rcvbuf = 4194304: messages over UDP have no TCP buffers" in notes


def test_what_has_no_counterpart_is_named_on_stderr_and_in_the_scenario(tmp_path):
    _, notes = scenario(tmp_path, "-l", "1m")
    written = (tmp_path / "scenario.toml").read_text()
    for key in SKIPPED.keys() - {"num_ip", "multiprocess"}:
        assert f"{key} = " in notes and f"{key} = " in written
    assert "Pktgen" in notes and "-n was not given" in notes


def test_cores_are_connections(tmp_path):
    data, _ = scenario(tmp_path, "-l", "1m", text="num_cores=2\n")
    assert data["workload"][0].items() >= {"apps": 2, "dispatchers": 2}.items()


def test_a_count_without_a_size_says_no_bytes(tmp_path):
    data, notes = scenario(tmp_path, "-n", 128)
    assert "bytes" not in data["workload"][0]["source"] and "not converted: -n 128: without -l" in notes


@pytest.mark.parametrize(
    ("text", "options", "expected"),
    [
        ("io = dpdk\nsnbuf = 1\n", (), 'text:2: mTCP has no key "snbuf"'),
        ("sndbuf\n", (), "text:1: sndbuf has no value"),
        ("#\nrcvbuf = 8k\n", (), 'text:2: rcvbuf: "8k"'),
        ("num_cores = 0\n", (), 'text:1: num_cores: "0"'),
        ("sndbuf = 8192\nsndbuf = 8192\n", (), "text:2: sndbuf is given twice"),
        (
            "io = dpdk\nsndbuf = 8192\n",
            ("-l", "1m"),
            "text:2: sndbuf: in the scenario, a send buffer of 8KiB does not hold a write",
        ),
        ("io = dpdk\nrcvbuf = 64\n", (), "text:2: rcvbuf: in the scenario"),
        ("# nothing\n", (), "text: no key"),
        ("io = dpdk\n", ("-l", "8m"), "text: -l: in the scenario"),
        ("io = dpdk\n", ("-m", 9000), "-m: in the scenario, client.mtu is 9040"),
        ("#" * 70_000, (), "more than 65,536 characters"),
    ],
)
def test_what_cannot_be_converted_is_refused_at_its_place(tmp_path, text, options, expected):
    assert expected in refusal(tmp_path, "epping", text, *options)


@pytest.mark.parametrize("size", ["4q", "0k", "-4k", "", "1.5m"])
def test_a_size_that_epping_does_not_take_is_refused(tmp_path, size):
    (tmp_path / "epping.conf").write_text(CONF)
    with pytest.raises(UserError, match="is no size of epping"):
        imported("epping", tmp_path / "epping.conf", f"-l{size}" if size else "-l", *([] if size else [""]))


def test_a_count_that_no_scenario_can_have_is_refused(tmp_path):
    (tmp_path / "epping.conf").write_text(CONF)
    with pytest.raises(SystemExit) as ended:
        imported("epping", tmp_path / "epping.conf", "-n", "9" * 26)
    assert ended.value.code == 2


def test_no_key_has_two_meanings():
    assert not set(NUMBERS) & SKIPPED.keys()
