"""testpmd's forward statistics become a run. The texts in tests/data are captures of testpmd 22.11 on net_null ports."""

import shutil
import signal
import subprocess

import pytest
from importing import DATA, imported, refusal, run_of
from part_samples import part_samples

from windtunnel.exchange.source import MAX_LISTED
from windtunnel.exchange.testpmd import parse
from windtunnel.runs.summary import summarise

MACSWAP, TORN, QUEUES = ((DATA / f"testpmd-{name}.txt").read_text() for name in ("macswap", "csum-torn", "queues"))

OTHERS = [file for files in part_samples("IMPORTED") for file in files.values()]
"""Texts of other tools."""


def values(run) -> dict:
    return {(value.of, value.name): (value.value, value.unit) for value in run.record.imported.values}


def test_ports_drops_bursts_and_cycles_are_in_the_run(tmp_path):
    run = run_of(tmp_path, "testpmd", MACSWAP)
    summary = summarise(run)
    assert run.record.title == "testpmd macswap"
    assert [(p.endpoint, p.rx_packets, p.tx_packets, p.rx_mpps) for p in summary.ports] == [
        ("port 0", 10810720, 10810720, None),
        ("port 1", 10810720, 10810720, None),
    ]
    assert [(r.endpoint, r.stage, r.objects, r.drops) for r in summary.stages] == [
        (port, stage, 10810720, {}) for port in ("port 0", "port 1") for stage in ("nic_rx", "nic_tx")
    ]
    found = values(run)
    assert found["testpmd", "CPU cycles/packet"] == (204.14, "cycles")
    assert found["testpmd", "clock"] == (2300, "MHz")
    assert found["port 0", "RX-bursts"] == (337835, "calls")
    assert found["port 0", "RX-bursts of 32 packets"] == (100, "%")
    assert found["port 1", "TX-bursts of 0 packets"] == (0, "%")


def test_a_text_with_a_million_faults_keeps_some_of_them():
    text = MACSWAP.splitlines(keepends=True)
    heading = next(n for n, line in enumerate(text) if "Forward statistics for port" in line)
    _, faults = parse("".join(text[: heading + 1]) + "x\n" * 10_000)
    assert len(faults) == MAX_LISTED + 1


def test_the_copy_of_a_text_is_read_by_nobody_who_may_not_read_it(tmp_path):
    text = tmp_path / "testpmd.txt"
    text.write_text(MACSWAP)
    text.chmod(0o600)
    imported("testpmd", text, "--out", tmp_path / "run")
    assert {path.stat().st_mode & 0o777 for path in (tmp_path / "run").iterdir()} == {0o600}


def test_the_last_of_several_reports_counts_with_a_note(tmp_path):
    run = run_of(tmp_path, "testpmd", MACSWAP)
    assert any("the last of 2 reports" in note for note in run.record.notes)


def test_a_prompt_inside_a_line_is_removed(tmp_path):
    assert "Bad-outer-ipcsutestpmd> quit" in TORN
    found = values(run_of(tmp_path, "testpmd", TORN))
    assert found["port 0", "Bad-outer-ipcsum"] == (0, "packets")


def test_bursts_of_queues_belong_to_their_stream(tmp_path):
    found = values(run_of(tmp_path, "testpmd", QUEUES))
    assert found["stream 0:1 -> 1:1", "RX-bursts"] == (66434, "calls")
    assert found["stream 0:0 -> 1:0", "TX-bursts of 32 packets"] == (100, "%")


def test_drops_and_bursts_of_other_sizes_keep_their_names(tmp_path):
    text = QUEUES
    for _ in ("port 1", "all ports"):
        text = text.replace(
            "TX-packets: 4251776        TX-dropped: 0  ", "TX-packets: 4251770        TX-dropped: 6  ", 1
        )
    text = text.replace("[0% of 0 pkts + 100% of 32 pkts]", "[10% of 0 pkts + 60% of 32 pkts + 30% of other]", 1)
    run = run_of(tmp_path, "testpmd", text)
    dropped = {(r.endpoint, r.stage): r.drops for r in summarise(run).stages if r.drops}
    assert dropped == {("port 1", "nic_tx"): {"TX-dropped": 6}}
    assert values(run)["stream 0:0 -> 1:0", "RX-bursts of other sizes"] == (30, "%")


FAULTY = [
    ("RX-packets: 10810720", "RX-packets: 10810721", "RX-total is 10810720, but 10810721 packets and 0 dropped"),
    ("  RX-packets: 10810720       RX-dropped: 0             RX-total: 10810720\n", "", "lacks RX-packets"),
    ("RX-packets: 10810720", "RX-packets: 18446744073709551606", "the port's counters were reset while it forwarded"),
    ("[0% of 0 pkts + 100% of 32 pkts]", "[0% of 0 pkts & 100%]", "RX-bursts: [0% of 0 pkts & 100%]"),
    ("RX-bursts : 337835", "RX-bursts : x", "is not a line of the statistics of port 0"),
    (
        "RX-packets: 21621440       RX-dropped: 0             RX-total: 21621440",
        "RX-packets: 21621441       RX-dropped: 0             RX-total: 21621441",
        "RX-packets of all ports is 21621441, but that of the ports in the report is 21621440",
    ),
    ("Forward statistics for port 1 ", "Forward statistics for port 0 ", "port 0 is given twice in one report"),
]


@pytest.mark.parametrize(("right", "wrong", "said"), FAULTY, ids=[said[:30] for *_, said in FAULTY])
def test_errors_are_reported_with_their_line(tmp_path, right, wrong, said):
    assert right in MACSWAP
    refused = refusal(tmp_path, "testpmd", MACSWAP.replace(right, wrong, 1))
    assert said in refused and "text:" in refused


def test_a_text_that_ends_in_a_block_is_refused(tmp_path):
    text = MACSWAP[: MACSWAP.rindex("  TX-bursts")]
    assert "the statistics of port 1 that begin in line" in refusal(tmp_path, "testpmd", text)


def test_a_text_that_ends_between_two_blocks_is_refused(tmp_path):
    """Nobody could tell that a port is missing."""
    text = MACSWAP[: MACSWAP.rindex("  ---------------------- Forward statistics for port 1")]
    assert "the report ends before the sums of all ports" in refusal(tmp_path, "testpmd", text)


@pytest.mark.parametrize("text", ["", "hello", *(file.read_text() for file in OTHERS)])
def test_other_text_than_testpmds_is_refused(tmp_path, text):
    assert "no forward statistics of testpmd" in refusal(tmp_path, "testpmd", text)


@pytest.mark.slow
def test_the_testpmd_of_this_machine_is_understood(tmp_path):
    """Counts only: what it printed is what stands in the run."""
    if not shutil.which("dpdk-testpmd"):
        pytest.skip("dpdk-testpmd is not installed")
    eal = ["--no-huge", "--no-pci", "-m", "128", "-l", "0-1", "--vdev", "net_null0", "--vdev", "net_null1"]
    options = ["--record-burst-stats", "--record-core-cycles", "--forward-mode=macswap", "--total-num-mbufs=4096"]
    prefix = f"--file-prefix=wt-test-{tmp_path.name}"
    testpmd = subprocess.Popen(
        ["dpdk-testpmd", *eal, prefix, "--", *options, "--stats-period=1"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    seen = []
    try:
        for line in testpmd.stdout:
            seen.append(line)
            if "NIC statistics for port 1" in line:
                break
        testpmd.send_signal(signal.SIGINT)
        out, _ = testpmd.communicate(timeout=30)
    finally:
        testpmd.kill()
        testpmd.wait()
    text = "".join(seen) + out
    parsed, faults = parse(text)
    assert not faults, text
    assert parsed.mode == "macswap" and [port.endpoint for port in parsed.ports] == ["port 0", "port 1"]
    assert parsed.ports[0].rx_packets > 0
    assert {value.name for value in parsed.values} >= {"CPU cycles/packet", "RX-bursts", "TX-bursts"}


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("cycles/packet=204.14", "cycles/packet=2.0.4", "text:92: "),
        ("cycles=4413858060", "cycles=" + "9" * 400, "is not a line of cycles"),
        ("RX-packets: ", "RX-packets: " + "9" * 5000, "is not a line of the statistics of port 0"),
        ("RX-packets: ", "a" * 300_000, "is not a line of the statistics of port 0"),
    ],
)
def test_huge_numbers_and_endless_lines_are_refused_at_once(tmp_path, old, new, words):
    assert old in MACSWAP
    assert words in refusal(tmp_path, "testpmd", MACSWAP.replace(old, new, 1))
