"""Streams in a scenario: what is refused, the plan, and the default for calls that take long."""

import pytest
from scenario_tools import finished, refused
from terminal_views import printed

from windtunnel.parts.streams.keys import Stream
from windtunnel.parts.streams.sizes import send_buffer_bytes, writes_in_flight
from windtunnel.results.run_map import run_map_document

SMALL = {"bytes": "8MiB"}
VETH = {"interface": "wt0"}


def scenario(stream=None, *, workload=None, **keys) -> dict:
    return {"workload": [{"stream": stream or {}, "source": SMALL} | (workload or {})]} | keys


def to_kernel(stream=None, **keys) -> dict:
    client = VETH | {"peer_ip": "10.77.0.9", "peer_mac": "resolve", "peer_port": 9000}
    return scenario(stream, wire={"kind": "af_packet"} | keys.pop("wire", {}), client=client, **keys)


def planned(directory, data: dict, *sets: str):
    return finished(directory, data, *sets).plans[0]


def test_a_stream_is_planned_with_its_sizes_and_copies(tmp_path):
    plan = planned(tmp_path, scenario({"write": "1MiB"}))
    [workload] = plan.workloads
    assert workload.name == "stream" and workload.handler is workload.packet_handler is None
    assert (workload.stream.write_bytes, workload.stream.send_buffer_bytes) == (1 << 20, 4 << 20)
    assert workload.stream.receive_buffer_bytes == 4 << 20 and workload.stream.checksums
    assert workload.copies.engine == "cpu" and workload.source.bytes == 8 << 20
    [inflight] = [e.applications[0].inflight for e in plan.endpoints if e.side == "client"]
    assert inflight == 4, "as many writes as the buffer holds"


@pytest.mark.parametrize(
    ("write", "buffer"),
    [("4KiB", 256 << 10), ("64KiB", 256 << 10), ("1MiB", 4 << 20), ("2MiB", 4 << 20), ("4MiB", 8 << 20)],
)
def test_a_send_buffer_has_four_writes_within_bounds_and_at_least_two(write, buffer):
    stream = Stream(write=write)
    assert send_buffer_bytes(stream) == buffer and writes_in_flight(stream) == buffer // stream.write


KEYS_OF_MESSAGES = {
    "handler": "l_app",
    "packet_handler": "echo",
    "options": {"state": "1MiB"},
    "request": "4KiB",
    "response": 86,
    "request_sizes": {"distribution": "imix"},
    "response_sizes": {"distribution": "imix"},
    "timeout": "2s",
    "extra_ticks": 5,
}


@pytest.mark.parametrize("key", KEYS_OF_MESSAGES)
def test_keys_of_messages_are_refused(tmp_path, key):
    said = refused(tmp_path, scenario(workload={key: KEYS_OF_MESSAGES[key]}))
    assert f"{key} has no effect on a stream" in said and f"no {key}, or no table stream" in said


def workers(*stages: list[str]) -> dict:
    return {"worker": [{"core": core, "stages": names} for core, names in enumerate(stages)]}


TCP, NIC = ["disp_rx:0", "app_rx:0", "app_tx:0", "disp_tx:0"], ["nic_rx:0", "nic_tx:0"]
MESSAGES = {"handler": "l_app"}
LOSS, LINK = {"faults": {"loss": 0.001}}, {"link": {"rate": "1Gbps", "delay": "1ms"}}
BESIDE_OTHERS = 'beside other queues on the wire "af_packet"'
REFUSED = [
    (
        '[[workload]]\n\n[workload.stream]\nwrite = "1000B"\n',
        "test.toml:4: a write of 1000 bytes is not a multiple of 64: writes begin on cache lines of the source; 960 or 1024",
    ),
    (
        scenario({"write": "1MiB", "send_buffer": "512KiB"}),
        "a send buffer of 512KiB does not hold a write of 1MiB",
    ),
    (
        scenario({"write": "1MiB"}, workload={"source": {"bytes": "512KiB"}}),
        "a source of 512KiB does not hold a write of 1MiB",
    ),
    (scenario(workload={"copies": {"way": "wait_all"}}), 'way = "wait_all" is for packets'),
    (scenario(workload={"copies": {"way": "zero"}}), 'way = "zero" is for packets'),
    (
        scenario({"write": "4KiB"}, workload={"copies": {"at_least": "8KiB"}}),
        "no copy of a stream is larger than a write, 4KiB",
    ),
    (scenario(workload={"apps": 2}), "apps = 2, dispatchers = 1: each application of a stream has"),
    (scenario(workload={"dispatchers": 2}), "apps = 1, dispatchers = 2"),
    (scenario(workload={"client": {"apps": 2}}), "apps = 1, client.apps = 2, dispatchers = 1"),
    (scenario(workload={"client": {"dispatchers": 2}}), "apps = 1, client.dispatchers = 2, dispatchers = 1"),
    (scenario(workload={"colocate": False}), "application and dispatcher run on one worker"),
    (scenario(workload={"client": {"colocate": False}}), "application and dispatcher run on one worker"),
    (scenario(client=workers(TCP[:3], TCP[3:] + NIC)), "run on several workers, and TCP belongs to one thread"),
    (scenario(wire={"kind": "null"}, server={}), "there is no TCP peer"),
    (scenario(wire={"kind": "null"}, client={}), "there is no TCP peer"),
    (scenario(wire={"kind": "pcap", "replay": "x.pcap"}, server={}), "there is no TCP peer"),
    (to_kernel({"checksum": False}), "the server is not in this scenario"),
    (to_kernel({"checksum": False}), "checksum = true"),
    (
        to_kernel(workload={"copies": {"verify": True}}),
        "the server checks the bytes, and this scenario has none",
    ),
    (to_kernel(workload={"copies": {"verify": True}}), "stream-to-kernel.py"),
    (to_kernel(workload={"apps": 2, "dispatchers": 2}), BESIDE_OTHERS),
    (to_kernel() | {"workload": [*to_kernel()["workload"], MESSAGES]}, BESIDE_OTHERS),
    (to_kernel(wire=LOSS) | {"workload": [MESSAGES]}, "if all workloads are streams, the peer may be another program"),
    (to_kernel(wire=LINK) | {"workload": [MESSAGES]}, "if all workloads are streams, the peer may be another program"),
]


@pytest.mark.parametrize(("data", "words"), REFUSED, ids=[words for _, words in REFUSED])
def test_what_a_stream_cannot_be_is_refused_with_the_line(tmp_path, data, words):
    said = refused(tmp_path, data)
    assert words in said and "test.toml:" in said


def test_what_only_ends_that_are_ours_can_do(tmp_path):
    assert not planned(tmp_path, scenario({"checksum": False})).workloads[0].stream.checksums
    assert planned(tmp_path, scenario(workload={"copies": {"verify": True}})).workloads[0].copies.verify
    several = planned(tmp_path, scenario(workload={"apps": 2, "dispatchers": 2}))
    assert [application.dispatchers for application in several.endpoints[0].applications] == [[0], [1]]


def test_a_copier_may_be_left_with_whole_writes_alone(tmp_path):
    data = scenario({"write": "4KiB"}, workload={"copies": {"at_least": "4KiB"}})
    assert planned(tmp_path, data).workloads[0].copies.at_least_bytes == 4096


def test_one_connection_stays_on_one_worker(tmp_path):
    assert planned(tmp_path, scenario(client=workers(TCP, NIC))).workers


@pytest.mark.parametrize("planted", [LOSS, LINK])
def test_what_streams_send_to_a_peer_may_be_lost_or_late(tmp_path, planted):
    port = planned(tmp_path, to_kernel(wire=planted)).endpoints[0].port
    assert all(getattr(port, what) for what in planted)


def test_calls_count_as_work_that_copy_a_write(tmp_path):
    def limit(data: dict, *sets: str) -> int:
        return planned(tmp_path, data, *sets).accounting.interrupted_above_ns

    assert limit({"workload": [{"handler": "l_app"}]}) == 50_000
    assert limit(scenario({"write": "4MiB"})) == 50_000 + 4096 * 1000
    assert limit(scenario({"write": "4KiB"})) == 50_000 + 64 * 1000
    assert limit(scenario({"write": "4KiB", "read": "128KiB"})) == 50_000 + 128 * 1000
    assert limit(scenario({"write": "4MiB"}), "accounting.interrupted_above=70us") == 70_000


def test_the_limit_is_kept_with_the_scenario(tmp_path):
    spec = finished(tmp_path, scenario({"write": "1MiB"}))
    assert spec.resolved["accounting"]["interrupted_above"] == "1074us"


def test_check_shows_a_stream_and_no_handler(tmp_path):
    spec = finished(tmp_path, scenario({"write": "1MiB", "receive_buffer": "2MiB"}))
    shown = printed(run_map_document(spec.scenario.source.file, spec), width=200)
    buffers = "buffers 4MiB to send, 2MiB to receive"
    assert f"stream: a TCP stream in writes of 1MiB, {buffers}; closed loop, 4 in flight" in shown
    assert "handled by" not in shown
