"""A capture played at its own times: frames enter in their order, none before its time, and the run says how late."""

import itertools
import struct
from bisect import bisect_right
from pathlib import Path

import pytest
from make_frames import frame
from real_runs import assert_sound, execute, ports, recorded, run_well, scenario, stages

from windtunnel.runs.record import Record

GAPS_NS = (0, 1_000, 250_001, 40, 3_000_000, 999_999, 17, 500_000, 123_456)
"""Between frames, from the microsecond burst to the pause of milliseconds."""
SIZES = (60, 61, 1514, 60, 800, 127, 128, 60, 999, 1000)
FIRST_NS = 1_700_000_000_123_456_789
PORT_AT = 36
"""Of the UDP destination port in a frame."""


def capture(file: Path, stamps: list[int], frames: list[bytes]) -> Path:
    """A pcap file with stamps in nanoseconds."""
    out = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 1)
    for stamp, content in zip(stamps, frames, strict=True):
        out += struct.pack("<IIII", *divmod(stamp, 10**9), len(content), len(content)) + content
    file.write_bytes(out)
    return file


def at_its_times(**keys) -> dict:
    wire = {"kind": "pcap", "replay": "timed.pcap", "pace": "capture"}
    return scenario({"packet_handler": "drop"}, wire=wire, server={}, **keys)


def times(gaps=GAPS_NS) -> list[int]:
    return list(itertools.accumulate(gaps, initial=FIRST_NS))


def pacing(record: Record):
    return record.engines[0].result.pacing


def test_frames_enter_in_order_and_never_early(tmp_path):
    frames = [frame(number, size) for number, size in enumerate(SIZES)]
    due = [stamp - FIRST_NS for stamp in times()]
    capture(tmp_path / "timed.pcap", times(), frames)
    run = run_well(tmp_path, at_its_times(record="run.pcap"))
    played, length = pacing(run.record), due[-1] + due[-1] // (len(due) - 1)
    assert played.round_ns == length

    entered = 0
    for window in run.windows["windtunnel"]:
        entered += window.ports[0].rx_packets
        rounds, into = divmod(window.end_ns - played.start_ns + 2, length)  # 2: both times are rounded
        assert entered <= rounds * len(due) + bisect_right(due, into), f"window {window.index}: too early"
    run_ns = run.record.engines[0].result.at_ns - played.start_ns
    assert played.late.max < run_ns, "a frame before its time would be late by 2^64 ns"
    assert entered == played.late.total == ports(run, "server")["rx_packets"] > 3 * len(due)
    assert recorded(run, received=True) == [frames[number % len(frames)] for number in range(entered)]
    [note] = [note for note in run.record.all_notes() if "later than their times" in note]
    assert f"{entered:,} frames" in note


def test_what_a_lone_server_receives_is_recorded_apart_from_what_it_sends(tmp_path):
    capture(tmp_path / "timed.pcap", times(), [frame(number, size) for number, size in enumerate(SIZES)])
    wire = {"kind": "pcap", "replay": "timed.pcap", "pace": "capture"}
    run = run_well(tmp_path, scenario({"packet_handler": "echo"}, wire=wire, server={}, record="run.pcap"))
    sent, received = recorded(run), recorded(run, received=True)
    assert len(received) >= len(sent) > 3 * len(SIZES)
    for response, request in zip(sent, received, strict=False):
        assert (response[:6], response[6:12], response[42:]) == (request[6:12], request[:6], request[42:])
    [note] = [note for note in run.record.all_notes() if "run.pcap" in note]
    assert f"{len(sent):,} frames sent, run-received.pcap: {len(received):,} frames received" in note


def over_ipv6(content: bytes) -> bytes:
    """The same datagram, behind an IPv6 header."""
    addresses = bytes.fromhex("fd" + "00" * 14 + "01" + "fd" + "00" * 14 + "02")
    udp = content[34:]
    return content[:12] + struct.pack(">HIHBB", 0x86DD, 6 << 28, len(udp), 17, 64) + addresses + udp


@pytest.mark.parametrize(
    ("change", "server"),
    [
        (bytes, {}),
        (lambda content: content[:12] + struct.pack(">HH", 0x8100, 100) + content[12:], {"vlan": 100}),
        (over_ipv6, {"ip": "fd00::2"}),
    ],
    ids=["ipv4", "in a vlan", "ipv6"],
)
def test_each_frame_enters_on_the_queue_of_its_port(tmp_path, change, server):
    frames = [bytearray(frame(number, 100)) for number in range(10)]
    for number, content in enumerate(frames):
        content[PORT_AT : PORT_AT + 2] = struct.pack(">H", 9000 + number % 3)
    capture(tmp_path / "timed.pcap", times(), [change(bytes(content)) for content in frames])
    data = at_its_times()
    data["server"] |= server
    data["workload"][0] |= {"packet_handler": "echo", "dispatchers": 2}
    run = execute(tmp_path, data).run
    assert_sound(run)
    entered = [sum(w.objects for w in stages(run, "server", "nic_rx") if w.index == queue) for queue in (0, 1)]
    assert min(entered) > 3 and entered[0] > entered[1], "seven frames a round, and three"
    assert ports(run, "server")["rx_packets"] == pacing(run.record).late.total


def test_full_speed_replay_does_not_report_times(tmp_path):
    capture(tmp_path / "timed.pcap", times(()), [frame(0, 60)])
    data = at_its_times()
    data["wire"]["pace"] = "speed"
    assert pacing(run_well(tmp_path, data).record) is None
