"""Bursts of testpmd: percentages without decimals, and what can be known from them."""

import re
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from importing import DATA

from windtunnel.errors import UserError
from windtunnel.exchange.testpmd import Bursts
from windtunnel.parts.pcie.estimate import Settings
from windtunnel.parts.pcie.link import Link
from windtunnel.parts.pcie.nic import load_nic
from windtunnel.parts.pcie.testpmd_estimate import counted, ports_of, read_counted

GENERIC = load_nic("generic")
MACSWAP, QUEUES = DATA / "testpmd-macswap.txt", DATA / "testpmd-queues.txt"


def printed(histogram: dict[int, int]) -> Bursts:
    """As testpmd prints a histogram: none, then the two commonest sizes, then all others; decimals cut, the last one what is left."""
    calls = sum(histogram.values())
    commonest = sorted((size for size in histogram if size), key=lambda size: -histogram[size])[:2]
    shares, left, seen = [], 100, 0
    for size in (0, *commonest):
        seen += histogram.get(size, 0)
        if seen == calls:
            return Bursts("port 0", "RX", calls, [*shares, (size, left)])
        share = histogram.get(size, 0) * 100 // calls
        shares.append((size, share))
        left -= share
    return Bursts("port 0", "RX", calls, [*shares, (None, left)])


@example({0: 1, 1: 1, 2: 1})
@given(st.dictionaries(st.integers(0, 64), st.integers(1, 10**6), min_size=1, max_size=6))
def test_the_true_average_lies_where_it_is_said_to_lie(histogram):
    packets = sum(size * n for size, n in histogram.items())
    made = counted(printed(histogram), packets)
    if not packets:
        assert made is None
        return
    true = packets / sum(n for size, n in histogram.items() if size)
    assert made.low - 1e-9 <= true <= made.high + 1e-9
    assert made.low - 1e-9 <= made.batches.exact <= made.high + 1e-9
    assert made.batches.packets == pytest.approx(packets)
    sizes = {size for size in histogram if size}
    if len(sizes) == 1:
        assert made.batches.exact == pytest.approx(true)  # one size needs no percentage
    assert (made.batches.worded is None) == (len(sizes) > 2)


def test_bursts_of_each_port():
    found, said = read_counted(MACSWAP)
    assert [(one.port, one.queue, one.way, one.packets) for one in found] == [
        ("0", None, "RX", 10810720),
        ("0", None, "TX", 10810720),
        ("1", None, "RX", 10810720),
        ("1", None, "TX", 10810720),
    ]
    assert all(one.batches.exact == 32 for one in found) and said == Settings()


def test_bursts_of_each_queue_and_a_rate_shared_out():
    found, _ = read_counted(QUEUES)
    ports = ports_of(found, GENERIC, Settings(), Link(), 64, 20e6)
    assert [(port.port, [queue.number for queue in port.queues]) for port in ports] == [
        ("port 0", [0, 1]),
        ("port 1", [0, 1]),
    ]
    receiving, sending = ports
    assert receiving.rate.inbound_write == 20e6 * (64 + 32) and receiving.rate.outbound_write == 20e6 * 4 / 32
    assert sending.rate.inbound_read == 20e6 * (64 + 16) and sending.rate.inbound_write == 20e6 * 16 / 32


def test_without_a_rate_there_are_bytes_a_packet_and_no_rates():
    found, _ = read_counted(MACSWAP)
    port, _ = ports_of(found, GENERIC, Settings(), Link(), 64, None)
    [queue] = port.queues
    assert port.rate is None and port.worded is None and queue.estimate.ceiling is None
    assert queue.estimate.packet.inbound_read == 112 and queue.estimate.ceiling_pps > 1e6


def test_thresholds_that_testpmd_says(tmp_path):
    text = MACSWAP.read_text().replace("RX free threshold=0", "RX free threshold=48")
    (tmp_path / "log").write_text(text.replace("RS bit threshold=0", "RS bit threshold=16"))
    assert read_counted(tmp_path / "log")[1] == Settings(rx_free=48, tx_rs=16)


def test_ports_stand_in_the_order_of_their_numbers():
    found = [replace(one, port=port) for port in ("10", "2") for one in read_counted(MACSWAP)[0] if one.port == "0"]
    assert [port.port for port in ports_of(found, GENERIC, Settings(), Link(), 64, None)] == ["port 2", "port 10"]


def test_a_threshold_of_many_digits_is_none(tmp_path):
    (tmp_path / "log").write_text(MACSWAP.read_text().replace("RX free threshold=0", f"RX free threshold={5000 * '9'}"))
    assert read_counted(tmp_path / "log")[1] == Settings()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda text: "nothing of testpmd", "no forward statistics"),
        (lambda text: re.sub(".*-bursts.*\n", "", text), "no bursts in the statistics"),
        (lambda text: text.replace("[0% of 0 pkts + 100% of 32 pkts]", "[x]", 1), "RX-bursts: [x]"),
        (lambda text: text.replace("100% of 32 pkts", "99% of 32 pkts", 1), "that add up to 100%"),
        (lambda text: text.replace("100% of 32", "50% of 32 pkts + 50% of 32", 1), "shares of different sizes"),
        (lambda text: text.replace("0% of 0 pkts + 100% of 32 pkts", "100% of 0 pkts"), "no bursts in the statistics"),
    ],
)
def test_texts_that_are_refused(tmp_path, change, words):
    (tmp_path / "log").write_text(change(MACSWAP.read_text()))
    with pytest.raises(UserError) as error:
        read_counted(tmp_path / "log")
    assert words in error.value.message and error.value.remedy
