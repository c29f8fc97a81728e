"""Streams in a scenario: what is refused, the plan, and the default for calls that take long."""

import io

import pytest
from rich.console import Console
from scenario_tools import finished, machine, written

from windtunnel.errors import UserError
from windtunnel.scenario import load
from windtunnel.scenario.stream_sizes import interrupted_above_ns, send_buffer_bytes, writes_in_flight
from windtunnel.scenario.traffic_keys import Stream
from windtunnel.views.terminal.run_map import run_map

SMALL = {"bytes": "8MiB"}
VETH = {"interface": "wt0"}


def scenario(stream=None, *, workload=None, **keys) -> dict:
    one = {"stream": stream or {}, "source": SMALL} | (workload or {})
    return {"workload": [one]} | keys


def to_kernel(stream=None, **keys) -> dict:
    client = VETH | {"peer_ip": "10.77.0.9", "peer_mac": "resolve", "peer_port": 9000}
    return scenario(stream, wire={"kind": "af_packet"} | keys.pop("wire", {}), client=client, **keys)


def refused(directory, data: dict, *sets: str) -> str:
    with pytest.raises(UserError) as caught:
        finished(directory, data, *sets, host=machine(2))
    return f"{caught.value.message}; {caught.value.remedy}"


def planned(directory, data: dict, *sets: str):
    return finished(directory, data, *sets, host=machine(2)).plans[0]


def test_a_stream_is_planned_with_its_sizes_and_copies(tmp_path):
    [workload] = planned(tmp_path, scenario({"write": "1MiB"})).workloads
    assert workload.name == "stream" and workload.handler is workload.packet_handler is None
    assert (workload.stream.write_bytes, workload.stream.send_buffer_bytes) == (1 << 20, 4 << 20)
    assert workload.stream.receive_buffer_bytes == 4 << 20 and workload.stream.checksums
    assert workload.copies.engine == "cpu" and workload.source.bytes == 8 << 20


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
    "table": [{"kind": "exact", "rules": "8"}],
    "request": "4KiB",
    "response": 86,
    "request_sizes": {"distribution": "imix"},
    "response_sizes": {"distribution": "imix"},
    "timeout": "2s",
    "extra_ticks": 5,
}


@pytest.mark.parametrize("key", KEYS_OF_MESSAGES)
def test_keys_of_messages_are_refused(tmp_path, key):
    words = refused(tmp_path, scenario(workload={key: KEYS_OF_MESSAGES[key]}))
    assert f"{key} has no effect on a stream" in words and f"no {key}, or no table stream" in words


@pytest.mark.parametrize(
    ("stream", "workload", "words"),
    [
        ({"write": 1000}, {}, "a write of 1000 bytes is not a multiple of 64"),
        ({"write": "1MiB", "send_buffer": "512KiB"}, {}, "a send buffer of 512KiB does not hold a write of 1MiB"),
        ({"write": "1MiB"}, {"source": {"bytes": "512KiB"}}, "a source of 512KiB does not hold a write of 1MiB"),
        ({}, {"copies": {"way": "wait_all"}}, 'way = "wait_all" is for packets'),
        ({}, {"copies": {"way": "zero"}}, 'way = "zero" is for packets'),
        ({"write": "4KiB"}, {"copies": {"at_least": "8KiB"}}, "no copy of a stream is larger than a write, 4KiB"),
        ({}, {"apps": 2}, "apps = 2, dispatchers = 1: each application of a stream has"),
        ({}, {"dispatchers": 2}, "apps = 1, dispatchers = 2"),
        ({}, {"client": {"apps": 2}}, "apps = 1, client.apps = 2, dispatchers = 1"),
        ({}, {"colocate": False}, "application and dispatcher run on one worker"),
        ({}, {"client": {"colocate": False}}, "application and dispatcher run on one worker"),
    ],
)
def test_what_a_stream_cannot_be_is_refused(tmp_path, stream, workload, words):
    assert words in refused(tmp_path, scenario(stream, workload=workload))


def test_a_copier_may_be_left_with_whole_writes_alone(tmp_path):
    data = scenario({"write": "4KiB"}, workload={"copies": {"at_least": "4KiB"}})
    assert planned(tmp_path, data).workloads[0].copies.at_least_bytes == 4096


def test_a_refusal_names_the_line(tmp_path):
    file = written(tmp_path, '[[workload]]\n\n[workload.stream]\nwrite = "1000B"\n')
    with pytest.raises(UserError, match=f"{file}:4: a write of 1000 bytes") as caught:
        load(file, [])
    assert caught.value.remedy == "960 or 1024"


@pytest.mark.parametrize(("kind", "side"), [("null", "server"), ("null", "client"), ("pcap", "server")])
def test_wires_without_a_peer_are_refused(tmp_path, kind, side):
    wire = {"kind": kind} | ({"replay": "x.pcap"} if kind == "pcap" else {})
    assert "nobody has TCP" in refused(tmp_path, scenario(wire=wire, **{side: {}}))


def test_checksums_are_left_out_only_between_ends_that_are_ours(tmp_path):
    assert not planned(tmp_path, scenario({"checksum": False})).workloads[0].stream.checksums
    words = refused(tmp_path, to_kernel({"checksum": False}))
    assert "the server is not in this scenario" in words and "checksum = true" in words


def test_bytes_are_checked_by_a_server_of_ours(tmp_path):
    assert planned(tmp_path, scenario(workload={"copies": {"verify": True}})).workloads[0].copies.verify
    words = refused(tmp_path, to_kernel(workload={"copies": {"verify": True}}))
    assert "the server checks the bytes, and this scenario has none" in words and "stream-to-kernel.py" in words


def test_several_connections_need_a_wire_that_keeps_queues_apart(tmp_path):
    plan = planned(tmp_path, scenario(workload={"apps": 2, "dispatchers": 2}))
    assert [application.dispatchers for application in plan.endpoints[0].applications] == [[0], [1]]
    words = refused(tmp_path, to_kernel(workload={"apps": 2, "dispatchers": 2}))
    assert 'beside other queues on the wire "af_packet"' in words
    two = to_kernel()
    two["workload"].append({"handler": "l_app"})
    assert 'beside other queues on the wire "af_packet"' in refused(tmp_path, two)


def workers(*stages: list[str]) -> dict:
    return {"worker": [{"core": core, "stages": names} for core, names in enumerate(stages)]}


def test_one_connection_stays_on_one_worker(tmp_path):
    tcp, nic = ["disp_rx:0", "app_rx:0", "app_tx:0", "disp_tx:0"], ["nic_rx:0", "nic_tx:0"]
    assert planned(tmp_path, scenario(client=workers(tcp, nic))).workers
    words = refused(tmp_path, scenario(client=workers(tcp[:3], tcp[3:] + nic)))
    assert "run on several workers, and TCP belongs to one thread" in words and "test.toml:" in words


@pytest.mark.parametrize("what", ["faults", "link"])
def test_what_streams_send_to_a_peer_may_be_lost_or_late(tmp_path, what):
    keys = {"faults": {"loss": 0.001}, "link": {"rate": "1Gbps", "delay": "1ms"}}
    port = planned(tmp_path, to_kernel(wire={what: keys[what]})).endpoints[0].port
    assert getattr(port, what)
    messages = to_kernel(wire={what: keys[what]}) | {"workload": [{"handler": "l_app"}]}
    assert "streams alone go on a wire to a peer too" in refused(tmp_path, messages)


def test_calls_count_as_work_that_copy_a_write(tmp_path):
    def limit(data: dict, *sets: str) -> int:
        return planned(tmp_path, data, *sets).accounting.interrupted_above_ns

    assert limit({"workload": [{"handler": "l_app"}]}) == 50_000
    assert limit(scenario({"write": "4MiB"})) == 50_000 + 4096 * 1000
    assert limit(scenario({"write": "4KiB"})) == 50_000 + 64 * 1000
    assert limit(scenario({"write": "4KiB", "read": "128KiB"})) == 50_000 + 128 * 1000
    assert limit(scenario({"write": "4MiB"}), "accounting.interrupted_above=70us") == 70_000
    assert interrupted_above_ns([]) == 50_000


def test_the_limit_is_kept_with_the_scenario(tmp_path):
    spec = finished(tmp_path, scenario({"write": "1MiB"}), host=machine(2))
    assert spec.resolved["accounting"]["interrupted_above"] == "1074us"


def test_check_shows_a_stream_and_no_handler(tmp_path):
    spec = finished(tmp_path, scenario({"write": "1MiB", "receive_buffer": "2MiB"}), host=machine(2))
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(run_map(spec.scenario.source.file, spec))
    shown = console.export_text()
    assert (
        "stream: a TCP stream in writes of 1MiB, buffers 4MiB to send, 2MiB to receive; closed loop, 4 in flight"
        in shown
    )
    assert "handled by" not in shown


def test_a_stream_has_no_more_writes_in_flight_than_its_buffer_holds(tmp_path):
    plan = planned(tmp_path, scenario({"write": "1MiB"}))
    client = next(endpoint for endpoint in plan.endpoints if endpoint.side == "client")
    assert client.applications[0].inflight == 4
