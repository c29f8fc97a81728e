"""Runs: plans that the contract accepts, demand that fits, memory, and what people are told about them."""

import json
import struct
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scenario_tools import ECHO, SHIPPED, finished, loaded, machine, machine_for, refused, text

from windtunnel.engine.plan import Plan
from windtunnel.errors import UserError
from windtunnel.scenario import capture, load, resolve
from windtunnel.scenario.keys import Client
from windtunnel.scenario.one_side import OneSide
from windtunnel.scenario.topology import segments

SELF_CONTAINED = sorted(path.name for path in SHIPPED.glob("*.toml") if path.name != "plugin.toml")
PCAPNG = (
    struct.pack("<IIIHHqI", 0x0A0D0D0A, 28, 0x1A2B3C4D, 1, 0, -1, 28)
    + struct.pack("<IIHHII", 1, 20, 1, 0, 0, 20)
    + struct.pack("<III60sI", 3, 76, 60, bytes(60), 76)
    + struct.pack("<IIIIIII60sI", 6, 92, 0, 0, 5, 60, 60, bytes(60), 92)
)
"""A section, an interface, a frame in each of the two kinds of block: without a time, and 5 us later."""


@pytest.mark.parametrize("name", SELF_CONTAINED)
@pytest.mark.parametrize("cpus", [1, 2, 12])
def test_every_shipped_scenario_resolves(name, cpus):
    spec = resolve(load(SHIPPED / name), machine_for(name, cpus))
    assert len(spec.plans) == len(spec.names)
    for plan in spec.plans:
        assert Plan.model_validate_json(plan.model_dump_json()) == plan
    assert all(demand.total <= demand.size for demand in spec.demands.values())


def test_echo_asks_for_little_memory(tmp_path):
    args = finished(tmp_path, ECHO).plans[0].eal.args
    assert int(args[args.index("-m") + 1]) < 150
    assert {"--no-huge", "--no-pci", "--iova-mode=va"} <= set(args)
    assert args[args.index("--lcores") + 1] == "0@(0-1),1@1,2@0"


def test_hugepages_are_taken_where_enough_are_free(tmp_path):
    many, few = machine(2, hugepages_mib=512), machine(2, hugepages_mib=32)
    eal = finished(tmp_path, ECHO, host=many).plans[0].eal
    assert eal.memory == "hugepages"
    assert "--in-memory" in eal.args
    assert "-m" not in eal.args
    assert finished(tmp_path, ECHO, host=few).plans[0].eal.memory == "no-huge"
    assert finished(tmp_path, ECHO, "memory=no-huge", host=many).resolved["memory"] == "no-huge"
    assert "MiB of hugepages needed, 32 MiB are free" in refused(tmp_path, ECHO, "memory=hugepages", host=few)


@pytest.mark.parametrize(
    ("wire", "cores", "cpus", "held"),
    [
        ("ring", "[0]", 2, False),
        ("ring", "[1]", 2, True),
        ("ring", "[1]", 3, False),
        ("af_packet", "[1]", 2, False),  # the kernel does not stand still
    ],
)
def test_windows_are_held_where_no_cpu_is_free_to_read_them(tmp_path, wire, cores, cpus, held):
    sets = [f"wire.kind={wire}", "client.cores=[0]", f"server.cores={cores}"]
    if wire == "af_packet":
        sets += ["client.interface=lo", "server.interface=wt0"]
    plans = finished(tmp_path, ECHO, *sets, host=machine(cpus)).plans
    assert [plan.phases.hold_windows for plan in plans] == [held]


def test_names_of_a_run_are_unique(tmp_path):
    first, second = finished(tmp_path, ECHO).plans[0], finished(tmp_path, ECHO).plans[0]
    assert first.eal.file_prefix != second.eal.file_prefix
    assert first.hash == second.hash
    assert first.hash != finished(tmp_path, ECHO, "seed=2").plans[0].hash


def test_two_processes_meet_at_one_socket():
    spec = resolve(load(SHIPPED / "two-processes.toml"), machine())
    server, client = (plan.endpoints[0].port for plan in spec.plans)
    assert spec.names == ["server", "client"]
    assert server.options == client.options and server.options["role"] == "side"
    assert Path(server.options["socket"]).is_absolute()
    assert [plan.workloads[0].load is None for plan in spec.plans] == [True, False]
    assert len({plan.eal.file_prefix for plan in spec.plans}) == 2
    assert spec.plans[0].hash == spec.plans[1].hash


def test_a_long_socket_name_is_refused(tmp_path):
    assert "107 bytes" in refused(tmp_path, ECHO | {"wire": {"kind": "memif", "socket": "x" * 120}})


def test_the_server_is_told_what_the_client_may_send(tmp_path):
    data = {"workload": [{"handler": "a", "client": {"apps": 3}, "inflight": 100}, {"handler": "b", "inflight": 64}]}
    workloads = finished(tmp_path, data).plans[0].workloads
    assert [(w.client_applications, w.client_slots) for w in workloads] == [(4, 34), (4, 64)]


def test_budget_and_rate_are_shared_out(tmp_path):
    data = {
        "client": {"inflight": 1000, "rate": "1Mpps", "arrivals": "poisson"},
        "workload": [
            {"handler": "a", "share": 1},
            {"handler": "b", "share": 3},
            {"handler": "c", "inflight": 50, "rate": "5pps"},
        ],
    }
    plan = finished(tmp_path, data).plans[0]
    client = next(endpoint for endpoint in plan.endpoints if endpoint.side == "client")
    assert [application.inflight for application in client.applications] == [250, 750, 50]
    assert [w.load.phases[0].rate_per_s for w in plan.workloads] == [250_000, 750_000, 5]
    assert {w.load.phases[0].arrivals for w in plan.workloads} == {"poisson"}


def test_workloads_have_names_of_their_own(tmp_path):
    data = {"workload": [{"handler": "l_app"}, {"handler": "l_app"}, {"handler": "x", "name": "l_app-2"}]}
    names = [w.name for w in finished(tmp_path, data).plans[0].workloads]
    assert names == ["l_app", "l_app-3", "l_app-2"]


def test_peer_addresses_of_the_client(tmp_path):
    def client(data, *sets):
        return next(e for e in finished(tmp_path, ECHO | data, *sets).plans[-1].endpoints if e.side == "client")

    ours = client({"server": {"mac": "02:00:00:00:00:09", "ip": "10.0.0.9", "port": 7}})
    assert (ours.peer_mac, ours.peer_ip, ours.peer_udp_port) == ("02:00:00:00:00:09", "10.0.0.9", 7)
    assert client({}, "client.peer_mac=resolve").peer_mac is None
    assert client({}, "client.peer_mac=02:00:00:00:00:07").peer_mac == "02:00:00:00:00:07"
    stranger = {"wire": {"kind": "af_packet"}, "client": {"interface": "wt0", "peer_ip": "10.0.0.7"}}
    assert (client(stranger).peer_mac, client(stranger).peer_ip) == (None, "10.0.0.7")


def test_a_nics_own_mac_is_not_in_the_plan(tmp_path):
    data = {"wire": {"kind": "af_packet"}, "client": {"interface": "wt0"}} | ECHO
    alone = finished(tmp_path, data, "client.mac=nic").plans[0].endpoints[0]
    assert alone.mac is None
    [plan] = resolve(
        loaded(tmp_path, data | {"server": {"interface": "wt1", "mac": "nic"}}), machine(), OneSide("client")
    ).plans
    assert plan.endpoints[0].peer_mac is None, "the other side's is asked for"


def test_packets_of_a_message():
    assert [segments(size, Client()) for size in (16, 22, 1472, 1473, 100_000)] == [1, 1, 1, 2, 69]
    assert segments(16 + 2 * 1456, Client()) == 2
    assert segments(17 + 2 * 1456, Client()) == 3


def test_a_recording_goes_into_the_run_directory(tmp_path):
    spec = finished(tmp_path, ECHO | {"record": "f.pcap"}).into(tmp_path / "run")
    assert spec.plans[0].record == str(tmp_path / "run" / "f.pcap")
    both = finished(tmp_path, ECHO | {"record": "f.pcap", "wire": {"kind": "memif"}}).into(tmp_path / "run")
    assert [Path(plan.record).name for plan in both.plans] == ["server-f.pcap", "client-f.pcap"]
    assert finished(tmp_path, ECHO).into(tmp_path).plans[0].record is None


@pytest.mark.parametrize(
    ("name", "host", "words", "remedy"),
    [
        ("kernel-ping", machine(root=False), "needs root", ""),
        ("kernel-ping", machine(interfaces=("lo",)), 'no interface "wt0"', "kernel-ping.sh up"),
        ("kernel-af_xdp", machine(root=False), "needs root", ""),
        ("kernel-af_xdp", machine(interfaces=("lo",)), 'no interface "wt0"', ""),
        (
            "kernel-af_xdp",
            machine(xdp_program={"wt0": "my_filter (id 7)"}.get),
            "already has the XDP program my_filter (id 7)",
            "ip link set dev wt0 xdp off",
        ),
        ("kernel-tap", machine(root=False), "creates a network interface, which needs root", ""),
        ("kernel-tap", machine(interfaces=("lo", "wt-tap")), 'an interface "wt-tap" exists', ""),
    ],
)
def test_a_wire_of_the_kernel_states_its_needs(name, host, words, remedy):
    with pytest.raises(UserError) as caught:
        resolve(load(SHIPPED / f"{name}.toml"), host)
    assert words in caught.value.message and remedy in caught.value.remedy


def test_a_wire_of_the_kernel_is_planned():
    xdp, tap = (resolve(load(SHIPPED / f"kernel-{wire}.toml"), machine()) for wire in ("af_xdp", "tap"))
    # beside one descriptor's mbuf each: a full fill ring and a full completion ring
    assert xdp.demands["server"].mbufs["descriptors"] == 2 * 2048 + 1024
    assert tap.plans[0].endpoints[0].port.options["interface"] == "wt-tap"


def test_notes_of_a_resolved_scenario(tmp_path):
    spec = finished(tmp_path, ECHO | {"wire": {"faults": {"loss": 0.5}}, "duration": "300ms"}, host=machine(1))
    assert spec.emulated == ["emulated on what client and server send: loss 50%"]
    notes = " ".join(spec.notes)
    assert "the window of 500ms" in notes and spec.plans[0].phases.window_ns == spec.plans[0].phases.duration_ns
    assert "share CPU 0" in notes
    assert "without hugepages" in notes


def test_a_request_without_a_body_is_noted(tmp_path):
    words = "workload 0: a request of 16B is the message header alone: the handler sees no body"
    assert words in finished(tmp_path, ECHO, "workload.0.request=16B").notes
    assert words not in finished(tmp_path, ECHO, "workload.0.request=17B").notes


def test_a_settle_below_the_duration_is_noted_where_it_was_asked_for(tmp_path):
    def notes(*sets):
        return [note for note in finished(tmp_path, ECHO, "duration=30s", *sets).notes if "settle" in note]

    assert notes() == notes("validity.settle=40s") == notes("validity.settle=0s") == []
    (note,) = notes("validity.settle=10s")
    assert note == "validity.settle of 10s is below the duration of 30s: the run does not go on to settle"


CAPTURE = (SHIPPED / "frames.pcap").read_bytes()
REPLAY = {"wire": {"kind": "pcap", "replay": "x.pcap"}, "server": {}, "workload": [{"packet_handler": "echo"}]}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "no such file"),
        (b"", "is not a capture"),
        (b"#!/bin/sh\n" * 9, "is not a capture"),
        (CAPTURE[:24], "contains no frame"),
        (CAPTURE[:-1], "is truncated in frame 9"),
        (CAPTURE[:30], "is truncated in frame 1"),
        (PCAPNG[:-1], "is truncated in frame 2"),
        (PCAPNG[:28] + b"\x03\0\0\0\0\0\0\0", "is truncated in frame 1"),
    ],
)
def test_a_damaged_capture_is_refused(tmp_path, content, words):
    if content is not None:
        (tmp_path / "x.pcap").write_bytes(content)
    assert words in refused(tmp_path, REPLAY)


@pytest.mark.parametrize(("capture", "frames"), [(PCAPNG, 2), (CAPTURE, 9)])
def test_replayed_frames_are_in_the_demand_unless_they_fall_due_one_by_one(tmp_path, capture, frames):
    (tmp_path / "x.pcap").write_bytes(capture)
    at_once, timed = finished(tmp_path, REPLAY), finished(tmp_path, REPLAY, "wire.pace=capture")
    assert at_once.demands["server"].mbufs["replayed frames"] == frames
    assert "replayed frames" not in timed.demands["server"].mbufs, "they are copied when they fall due"
    ports = [spec.plans[0].endpoints[0].port for spec in (at_once, timed)]
    assert [(port.options["pace"], "timed" in port.traits) for port in ports] == [("speed", False), ("capture", True)]


def test_replayed_frames_fit_the_mtu(tmp_path):
    (tmp_path / "x.pcap").write_bytes(CAPTURE)
    assert "server.mtu = 1500" in refused(tmp_path, REPLAY, "server.mtu=1400")


def pcap(*frames: int, link: int = 1, order: str = "<") -> bytes:
    """A capture of frames of these lengths."""
    head = struct.pack(f"{order}IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 1 << 18, link)
    return head + b"".join(struct.pack(f"{order}IIII", 0, 0, length, length) + bytes(length) for length in frames)


def pcapng(*interfaces: tuple[int, int], frames: int = 1) -> bytes:
    """Interfaces by link type and snapshot length."""
    section = struct.pack("<IIIHHqI", 0x0A0D0D0A, 28, 0x1A2B3C4D, 1, 0, -1, 28)
    described = b"".join(struct.pack("<IIHHII", 1, 20, link, 0, snapshot, 20) for link, snapshot in interfaces)
    frame = struct.pack("<IIIIIII", 6, 92, 0, 0, 0, 60, 60) + bytes(60) + struct.pack("<I", 92)
    return section + described + frames * frame


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (pcap(60, 64, 27_042, 60), "frame 3 has 27042 bytes, and no MTU holds it"),
        (pcap(27_042), "gro off"),
        (pcap(60, 9014), "frame 2 of 9014 bytes is longer than the MTU of 1500 allows"),
        (pcap(60, link=276), "has frames of Linux cooked v2 (tcpdump -i any), not of Ethernet"),
        (pcap(60, link=113), "tcpdump -i eth0"),
        (pcap(60, link=101, order=">"), "has frames of raw IP"),
        (pcap(60, link=222), "has frames of link type 222"),
        (pcapng((1, 262_144), (1, 65_535)), "has interfaces with the snapshot lengths 262144 and 65535"),
        (pcapng((1, 262_144), (1, 65_535)), "editcap -F pcap IN OUT"),
        (pcapng((1, 65_535), (113, 65_535)), "has frames of Linux cooked"),
        (pcap(60, 0), "has no byte of frame 2"),
        (pcap(60) + bytes(1 << 20), "has no byte of frame 2"),
        (pcap(60, 60, 60, 60, 60), "has more than 4 frames or other blocks"),
        (pcapng((1, 0), frames=5), "has more than 4 frames or other blocks"),
        (pcapng(*7 * [(1, 0)], frames=1), "has more than 4 frames or other blocks"),
        (pcapng((1, 0), frames=5), "editcap -F pcap -r IN OUT 1-4"),
    ],
    ids=range(16),
)
def test_a_capture_that_cannot_be_played_is_refused_before_the_run(tmp_path, monkeypatch, content, words):
    monkeypatch.setattr(capture, "MOST_FRAMES", 4)
    (tmp_path / "x.pcap").write_bytes(content)
    assert words in refused(tmp_path, REPLAY)


@pytest.mark.parametrize(
    ("content", "frames"),
    [
        (pcap(60, 60), 2),
        (pcap(60, link=0x14000001), 1),
        (pcap(60, order=">"), 1),
        (pcapng((1, 0), (1, 0), frames=3), 3),
    ],
)
def test_other_captures_are_played(tmp_path, content, frames):
    """An FCS of four bytes is told in the highest bits of the link type."""
    (tmp_path / "x.pcap").write_bytes(content)
    assert finished(tmp_path, REPLAY).demands["server"].mbufs["replayed frames"] == frames


@given(st.integers(1, 4096), st.sampled_from(["22B", "86B", "4KiB", "100KB"]), st.sampled_from(["ring", "memif"]))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=40)
def test_the_named_inflight_budget_fits_and_one_more_does_not(tmp_path, inflight, size, kind):
    data = {
        "wire": {"kind": kind},
        "client": {"inflight": inflight, "batch": {"app_tx": 1}, "mempool": {"size": 8191}},
        "workload": [{"handler": "l_app", "request": size, "response": size}],
    }
    scenario = loaded(tmp_path, data)
    try:
        spec = resolve(scenario, machine())
        assert spec.demands["client"].total <= 8191
    except UserError as error:
        assert "the traffic can hold" in error.message
        largest = int(error.remedy.rpartition("at most ")[2])
        assert largest < inflight
        finished(tmp_path, data, f"client.inflight={largest}")
        refused(tmp_path, data, f"client.inflight={largest + 1}")


def test_a_pool_too_small_is_refused_with_file_line_and_remedy(tmp_path):
    data = ECHO | {"server": {"mempool": {"size": 511}}}
    assert f"{tmp_path / 'test.toml'}:2: server: the traffic can hold" in refused(tmp_path, data)
    assert "smaller rings" in refused(tmp_path, data)


def test_the_resolved_scenario_is_a_scenario_again(tmp_path):
    for name in SELF_CONTAINED:
        spec = resolve(load(SHIPPED / name), machine_for(name))
        resolved = json.loads(json.dumps(spec.resolved))
        for beside in ("frames.pcap", "filters.classbench"):
            (tmp_path / beside).write_bytes((SHIPPED / beside).read_bytes())
        again = finished(tmp_path, text(_without_nulls(resolved)), host=machine_for(name))
        assert again.resolved == resolved
        assert [plan.workers for plan in again.plans] == [plan.workers for plan in spec.plans]
        assert [plan.endpoints[0].pool for plan in again.plans] == [plan.endpoints[0].pool for plan in spec.plans]


def _without_nulls(value):
    if isinstance(value, dict):
        return {key: _without_nulls(inner) for key, inner in value.items() if inner is not None}
    return [_without_nulls(item) for item in value] if isinstance(value, list) else value


def test_a_plugin_must_be_there(tmp_path):
    assert "build the plug-in first" in refused(tmp_path, {"workload": [{"handler": "./libmine.so"}]})
    assert f"{tmp_path}" in refused(tmp_path, {"workload": [{"packet_handler": "libmine.so"}]})
