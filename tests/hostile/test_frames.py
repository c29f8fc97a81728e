"""Frames that nobody should send: each ends in an answer or in a drop of its name, and every ledger closes."""

import random
import socket
import subprocess
import time
from collections import Counter
from pathlib import Path

import pytest
from hostile_frames import (
    CLIENT_MAC,
    FRAMES,
    GOOD,
    RESPONSE,
    STRANGER,
    arp,
    capture,
    ether,
    ip,
    message,
    ping,
    request,
    udp,
)
from make_frames import SERVER_MAC
from namespace import veth_pair
from real_runs import assert_sound, drops, execute, messages, ports, run_well, scenario, stages

SERVER = {"handler": "l_app", "request": 86, "response": 86}


def replayed(directory: Path, frames: list[bytes], *workloads: dict, **keys):
    """A sound run of a server that is shown the frames over and over."""
    file = capture(directory / "frames.pcap", frames)
    data = scenario(*(workloads or (SERVER,)), wire={"kind": "pcap", "replay": str(file)}, server={}, **keys)
    return run_well(directory, data)


def taken(run, stage: str = "disp_rx") -> int:
    return sum(entry.objects for entry in stages(run, "server", stage))


def of_cycles(frames: list[str], count: int) -> Counter:
    """What the first `count` frames of an endless replay are."""
    whole, rest = divmod(count, len(frames))
    return Counter({name: number * whole for name, number in Counter(frames).items()}) + Counter(frames[:rest])


def test_every_hostile_frame_has_its_expected_outcome(tmp_path):
    run = replayed(tmp_path, [frame for _, frame in FRAMES])
    expected = of_cycles([name for name, _ in FRAMES], taken(run))
    good = expected.pop(GOOD)
    assert min(expected.values()) > 0
    assert drops(run, "server") == expected
    assert ports(run, "server")["tx_packets"] == good


@pytest.mark.parametrize("bad", [1, 4])
def test_good_requests_among_bad_ones_all_get_responses(tmp_path, bad):
    names = [GOOD] * 3 + ["bad_udp_checksum"] * bad
    frames = [request(slot=n) for n in range(3)] + [ether(ip(udp(message(), checksum=1)))] * bad
    run = replayed(tmp_path, frames)
    expected = of_cycles(names, taken(run))
    assert ports(run, "server")["tx_packets"] == expected[GOOD]
    assert drops(run, "server") == {"bad_udp_checksum": expected["bad_udp_checksum"]}


def test_each_queue_drops_frames_of_other_queues(tmp_path):
    frames = [ether(ip(udp(message(), port=port))) for port in (8999, 9000, 9001, 9002)]
    run = replayed(tmp_path, frames, SERVER | {"dispatchers": 2})
    seen = drops(run, "server")
    assert set(seen) == {"misdirected", "unknown_port"}
    for queue in (0, 1):
        mine = [entry for entry in stages(run, "server", "disp_rx") if entry.index == queue]
        expected = of_cycles(
            ["unknown_port", *(GOOD if q == queue else "misdirected" for q in (0, 1)), "unknown_port"],
            sum(entry.objects for entry in mine),
        )
        for reason in seen:
            assert sum(entry.drops.get(reason, 0) for entry in mine) == expected[reason]


def test_a_multi_segment_server_drops_unknown_clients(tmp_path):
    big = SERVER | {"request": 4000}
    run = replayed(
        tmp_path, [request(segments=3, body=bytes(1456)), request(segments=3, segment=2, body=bytes(1072))], big
    )
    assert drops(run, "server") == {"unknown_application": taken(run)}


def test_a_packet_handler_without_a_message_handler_behind_it(tmp_path):
    run = replayed(tmp_path, [request(), ether(bytes(50), kind=0x86DD)], {"packet_handler": "empty", "request": 86})
    expected = of_cycles(["no_message_handler", "not_ipv4"], taken(run))
    assert drops(run, "server") == expected


def test_a_handler_that_drops_everything(tmp_path):
    run = replayed(tmp_path, [frame for _, frame in FRAMES], {"packet_handler": "drop"})
    assert drops(run, "server") == {"by_handler": taken(run)}


@pytest.mark.parametrize("handler", ["l2fwd", "echo"])
def test_packet_handlers_survive_every_frame(tmp_path, handler):
    run = replayed(tmp_path, [frame for _, frame in FRAMES], {"packet_handler": handler})
    assert ports(run, "server")["tx_packets"] + sum(drops(run, "server").values()) == taken(run)


def mutant(rng: random.Random, frame: bytes) -> bytes:
    """Bits flipped, pieces cut, doubled and overwritten; mostly a little, so that deep checks are reached."""
    data = bytearray(frame)
    for _ in range(rng.choice((1, 1, 1, 2, 8))):
        at = rng.randrange(len(data))
        match rng.randrange(5):
            case 0:
                data[at] ^= 1 << rng.randrange(8)
            case 1:
                data[at] = rng.choice((0, 1, 0x7F, 0x80, 0xFF))
            case 2 if len(data) > 1:
                del data[max(1, at) :]
            case 3:
                data[at:at] = data[at : at + rng.randrange(1, 40)]
            case 4:
                end = min(len(data), at + rng.randrange(1, 9))
                data[at:end] = rng.randbytes(end - at)
    return bytes(data[:1514])


@pytest.mark.parametrize(
    "workload", [SERVER, SERVER | {"request": 4000}, SERVER | {"packet_handler": "empty", "handler": "kv"}]
)
def test_mutated_frames_get_a_response_or_are_dropped_or_held(tmp_path, workload):
    seed = random.randrange(2**32)
    print(f"seed {seed}")  # shown where the test fails
    rng = random.Random(seed)
    frames = [mutant(rng, rng.choice(FRAMES)[1]) for _ in range(400)]
    run = replayed(tmp_path, frames, workload)
    [ledger] = run.record.engines[0].result.mbufs
    held = sum(count for owner, count in ledger.held.items() if owner != "driver")
    port = ports(run, "server")
    assert port["rx_packets"] > len(frames)
    assert port["rx_packets"] == sum(drops(run, "server").values()) + port["tx_packets"] + held


@pytest.fixture
def veth():
    """Both ends of a veth pair in this namespace, silent but for us."""
    ends = ("wthost0", "wthost1")
    made = subprocess.run(["ip", *veth_pair(*ends)], capture_output=True, check=False)
    if made.returncode:
        pytest.skip(f"needs root and veth: {made.stderr.decode().strip()}")
    try:
        for end in ends:
            Path(f"/proc/sys/net/ipv6/conf/{end}/disable_ipv6").write_text("1")
            subprocess.run(["ip", "link", "set", end, "up"], check=True)
        yield ends
    finally:
        subprocess.run(["ip", "link", "del", ends[0]], check=True)


@pytest.mark.root
def test_a_good_client_gets_responses_among_hostile_ones(tmp_path, veth):
    """Crafted frames go in at both ends; those to the server with the client's addresses, as if on a shared link."""
    to_server = [frame for name, frame in FRAMES if name != GOOD] + [ping(), arp(1, bytes([10, 77, 0, 2]))]
    to_client = [frame.replace(SERVER_MAC, CLIENT_MAC, 1) for frame in to_server[:40]]
    forged = ether(ip(udp(message(kind=RESPONSE, slot=2**31))), to=CLIENT_MAC)
    rounds = 20

    def misbehave():
        with (
            socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as a,
            socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as b,
        ):
            a.bind((veth[0], 0))
            b.bind((veth[1], 0))
            for _ in range(rounds):
                for frame in to_server:
                    a.send(frame if len(frame) >= 14 else frame.ljust(14, b"\0"))
                for frame in [*to_client, forged]:
                    b.send(frame if len(frame) >= 14 else frame.ljust(14, b"\0"))
                time.sleep(0.01)

    data = scenario(
        SERVER,
        duration="1s",
        warmup="0s",
        wire={"kind": "af_packet"},
        client={"interface": veth[0], "rate": "2kpps"},
        server={"interface": veth[1]},
    )
    finished = execute(tmp_path, data, beside=misbehave)
    assert_sound(finished.run)
    ledger = messages(finished.run)
    assert ledger.responses == ledger.sent > 1000
    seen = drops(finished.run, "server")
    # net_af_packet asks the kernel to put fragments together; a short frame is padded on its way
    sure = Counter(name for name, frame in FRAMES if len(frame) >= 60) - Counter({GOOD: 10**6, "ip_fragment": 10**6})
    for name, count in sure.items():
        assert seen.get(name, 0) >= count * rounds, name


@pytest.mark.root
def test_frames_to_another_mac_are_not_for_us(tmp_path, veth):
    data = scenario(
        SERVER,
        wire={"kind": "af_packet"},
        client={"interface": veth[0], "rate": "1kpps"},
        server={"interface": veth[1], "mac": "0a:00:00:00:00:01"},
    )
    data["client"]["peer_mac"] = "0a:00:00:00:00:02"  # nobody has it
    finished = execute(tmp_path, data, "workload.0.timeout=10ms")
    [reason] = finished.run.record.verdict.reasons
    assert reason.startswith("no responses")
    assert drops(finished.run, "server") == {"not_for_us": messages(finished.run).sent}
    assert STRANGER.hex(":") == "0a:00:00:00:00:01"
