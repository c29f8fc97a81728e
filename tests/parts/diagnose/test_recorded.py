"""Causes by the texts of other tools: evidence, no gain, no confidence, and the words that nobody tried them on hardware."""

import json
from dataclasses import replace

import in_process
import pytest
import sample_lines as sample
from diagnosed_runs import made
from terminal_views import printed

from windtunnel.errors import UserError
from windtunnel.parts.diagnose.causes import CAUSES
from windtunnel.parts.diagnose.diagnose import diagnose
from windtunnel.parts.diagnose.document import diagnosis_document
from windtunnel.parts.diagnose.recorded import read_evidence
from windtunnel.runs import RunWriter, Verdict

CODES = {"shared-cache", "memory-traffic", "nic-writes", "nic-reads", "iotlb", "pcie-link", "pause-frames"}
PERF = "1200,,LLC-loads,9,100.00,,\n132,,LLC-load-misses,9,100.00,,\n"
PCM = "Skt,PCIRdCur,ItoM,RFO\n0,9,60,40(Total)\n0,1,20,5(Miss)\n0,8,40,35(Hit)\n"
BYTES = "Skt,PCIRdCur,ItoM,PCIe Rd (B),PCIe Wr (B)\n0,9,60,1000000000,2500000000\n"
IIO = "Socket,Name,Part,IB write,IB read,OB read,OB write,IOTLB Lookup,IOTLB Miss\nSocket0,IIO Stack 1,Part0,4,3,2,1,100,7\n"
MEMORY = ",,System,System,System\nDate,Time,Read,Write,Memory\n2026-11-29,10:00:00.125,90000,90000,180000\n"
ETHTOOL = "NIC statistics:\n     rx_prio0_pause: 12\n     rx_prio0_pause_duration: 99\n     rx_packets: 4\n"


@pytest.fixture
def evidence(tmp_path):
    def of(*texts):
        files = []
        for number, text in enumerate(texts):
            files.append(tmp_path / f"text-{number}")
            files[-1].write_text(text)
        return read_evidence(files)

    return of


def found(evidence, run=None):
    return {cause.code: cause for cause in diagnose(run or made(), recorded=evidence).causes if cause.code in CODES}


def test_they_are_marked_as_recorded_and_have_no_score(evidence):
    assert {code for code, check in CAUSES.items() if check.observable == "recorded"} == CODES
    causes = found(evidence(PERF, PCM, BYTES, IIO, MEMORY, ETHTOOL))
    assert causes.keys() == CODES
    for cause in causes.values():
        assert cause.observable == "recorded" and cause.confidence is None and cause.gain is None
        assert "not tried on hardware" in cause.not_measured and cause.sets == []


def test_without_texts_there_are_none_and_nothing_is_said():
    known = diagnose(made())
    assert not CODES & {cause.code for cause in known.causes}
    assert not any(line.startswith(code) for line in known.not_measured for code in CODES)


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        (PERF, "shared-cache", "11% of loads that reach the last-level cache miss it (perf stat)"),
        (PCM, "nic-writes", "25% of the lines that devices wrote"),
        (
            BYTES,
            "pcie-link",
            "devices read 8.0 Gbit/s and wrote 20.0 Gbit/s (pcm-pcie); the link of generic can carry ",
        ),
    ],
)
def test_the_numbers_of_a_text_are_the_evidence(evidence, text, code, words):
    assert found(evidence(text))[code].evidence.startswith(words)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("9,,LLC-loads,9,100.00,,\n0,,LLC-load-misses,9,100.00,,\n", "shared-cache"),
        (PERF, "pcie-link"),
        (ETHTOOL.replace("12", "0"), "pause-frames"),
    ],
)
def test_a_rate_of_nothing_is_no_cause(evidence, text, code):
    assert code not in found(evidence(text))


def test_they_come_last_and_are_found_in_a_run_without_windows(evidence):
    codes = [
        cause.code for cause in diagnose(made(client=0.7, server=0.6), recorded=evidence(PERF, PCM, ETHTOOL)).causes
    ]
    assert codes[-3:] == [code for code in CAUSES if code in codes[-3:]] and set(codes[-3:]) <= CODES and len(codes) > 3
    run = made()
    bare = replace(run, windows={name: [] for name in run.windows})
    assert {cause.code for cause in diagnose(bare, recorded=evidence(PERF, PCM)).causes} == {
        "shared-cache",
        "nic-writes",
        "nic-reads",
    }


def test_a_text_without_the_counters_is_not_measured(evidence):
    known = diagnose(made(), recorded=evidence("5,,cycles,9,100.00,,\n"))
    assert any(line.startswith("shared-cache: no text has LLC-loads") for line in known.not_measured)
    assert any(line.startswith("nic-writes: no text has misses of the NIC's writes") for line in known.not_measured)


def test_pause_frames_by_who_sent_them(evidence):
    received = found(evidence(ETHTOOL))["pause-frames"]
    assert received.evidence == "rx_prio0_pause 12 (ethtool -S)" and "peer" in received.remedy
    assert "since the driver began" in received.against[0]
    of_this_host = ETHTOOL.replace("rx_prio", "tx_prio")
    sent = found(evidence(of_this_host + of_this_host.replace("12", "15")))["pause-frames"]
    assert sent.evidence == "tx_prio0_pause 3 (ethtool -S)" and "this host" in sent.remedy and sent.against == []


@pytest.mark.parametrize(
    ("name", "others"),
    [
        ("rx_flow_control_xoff", ("tx_flow_control_xoff", "rx_flow_control_xon")),  # ixgbe, igb, e1000e
        ("rx_pb_3_pxoff", ("rx_pb_3_pxon",)),
        ("port.link_xoff_rx", ("port.link_xon_rx", "port.rx_priority_0_xon_2_xoff")),  # i40e
        ("rx_priority_3_xoff.nic", ("tx_priority_0_xoff.nic", "link_xon_rx.nic")),  # ice
        ("rx_pfc_frames", ("tx_pause_frames", "[0]: rx_bytes")),  # bnxt
        (
            "rx_global_pause",
            ("rx_global_pause_duration", "rx_global_pause_transition", "tx_pause_storm_warning_events"),
        ),  # mlx5
        ("rx_prio5_pause", ("rx_prio5_pause_duration",)),
        ("rx_pause_frames", ("be_on_die_temperature",)),  # be2net, bnx2x
        ("RxPauseFrames", ("RxPPP0Frames", "TxPauseFrames")),  # cxgb4
        ("port_rx_pause", ("port_tx_pause",)),  # sfc
        ("rx_xoff_pause_rcvd", ("rx_xon_pause_rcvd", "rx_xoff_entered")),  # tg3
        ("mac_rx_mac_pause_num", ("mac_tx_mac_pause_num",)),  # hns3
        ("mac.rx_pause_frames_class0", ("mac.rx_pause_mac_ctrl_frames",)),  # nfp
    ],
)
def test_every_drivers_pause_frames_are_named(evidence, name, others):
    """4,000 between two texts; of what else is counted about pauses, ends, lengths and alarms grow and are no frames."""

    def text(frames, other):
        rows = [(name, frames), *((each, other if _counts_no_frames(each) else 0) for each in others)]
        return "NIC statistics:\n     rx_packets: 100\n" + "".join(f"     {key}: {value}\n" for key, value in rows)

    (cause,) = found(evidence(text(5, 5) + text(4005, 99))).values()
    assert cause.code == "pause-frames" and cause.evidence == f"{name} 4,000 (ethtool -S)" and "peer" in cause.remedy


def _counts_no_frames(name):
    return any(word in name for word in ("xon", "duration", "transition", "storm", "entered", "temperature", "bytes"))


def test_a_text_without_counters_of_pause_frames_is_not_silence(evidence):
    known = diagnose(made(), recorded=evidence("NIC statistics:\n     rx_packets: 5\n     rx_xon: 7\n"))
    assert "pause-frames: no counter of pause frames in this text of ethtool -S" in known.not_measured


def test_a_ratio_is_of_what_was_counted_at_the_same_times(evidence):
    row = "     {}.000123680,{},,{},1000000000,100.00,,\n"
    both = "".join(
        row.format(n, of, name)
        for n, one, two in ((1, 600000, 120000), (3, 400000, 80000))
        for of, name in ((one, "LLC-loads"), (two, "LLC-load-misses"))
    )
    gaps = [row.format(2, "<not counted>", name) for name in ("LLC-loads", "LLC-load-misses")]
    assert "20%" in found(evidence(both + "".join(gaps)))["shared-cache"].evidence
    one = row.format(2, 9_000_000, "LLC-loads") + gaps[1]
    assert "20%" in found(evidence(both + one))["shared-cache"].evidence, "of the intervals that have both"
    known = diagnose(
        made(),
        recorded=evidence(row.format(1, 600000, "LLC-loads") + row.format(1, "<not counted>", "LLC-load-misses")),
    )
    (said,) = (line for line in known.not_measured if line.startswith("shared-cache: no text has LLC-loads"))
    assert said.endswith("; LLC-load-misses: perf says: not counted")


def test_bytes_and_misses_of_one_text_are_both_read(evidence):
    text = "Skt,PCIRdCur,ItoM,PCIe Rd (B),PCIe Wr (B)\n0,9,60,1000000000,2500000000(Total)\n0,1,15,1,1(Miss)\n0,8,45,1,1(Hit)\n"
    causes = found(evidence(text))
    assert (
        "read 8.0 Gbit/s and wrote 20.0 Gbit/s" in causes["pcie-link"].evidence
        and "25%" in causes["nic-writes"].evidence
    )


def test_they_are_shown_as_what_they_are(evidence):
    text = printed(diagnosis_document(diagnose(made(), recorded=evidence(PCM))), width=200)
    assert "(nic-writes), recorded by other tools" in text and "not measured: not tried on hardware" in text
    assert "confidence None" not in text


@pytest.mark.parametrize("text", ["hello\n", PCM + "0,1\n"])
def test_a_text_of_no_tool_is_refused_with_its_place(evidence, tmp_path, text):
    with pytest.raises(UserError, match=str(tmp_path / "text-0")):
        evidence(text)


def test_the_command(tmp_path):
    plan = sample.plan()
    writer = RunWriter(tmp_path / "run", sample.spec([plan], ["windtunnel"]), {"hostname": "here"})
    for line in sample.engine_lines(plan):
        writer.line("windtunnel", line, line.model_dump_json())
    writer.finish(Verdict(True))
    (tmp_path / "pcm.csv").write_text(PCM)
    words = ["diagnose", str(tmp_path / "run"), "--recorded", str(tmp_path / "pcm.csv"), "--json"]
    ended = in_process.run(*words)
    assert ended.exit_code == 0, ended.output
    causes = {cause["code"]: cause for cause in json.loads(ended.stdout)["causes"]}
    assert causes["nic-writes"]["confidence"] is None


def test_a_caveat_of_a_count_is_against_the_cause(evidence):
    cause = found(evidence(PERF + PERF + "<not supported>,,LLC-stores,0,0.00,,\n"))["shared-cache"]
    assert any(note.startswith("LLC-loads: the mean of 2 counts at one place") for note in cause.against)
    assert "LLC-stores: perf says: not supported" in cause.not_measured


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (
            "9,,LLC-loads,9,100.00,,\n0,,LLC-load-misses,9,100.00,,\n<not counted>,,LLC-stores,0,0.00,,\n",
            "shared-cache: LLC-stores: perf says: not counted",
        ),
    ],
)
def test_nothing_is_not_said_of_what_was_not_read(evidence, text, line):
    assert line in diagnose(made(), recorded=evidence(text)).not_measured


def test_pause_frames_that_were_not_read_are_said(evidence):
    text = "NIC statistics:\n     rx_packets: {}\n     rx_prio0_pause: {}\n"
    new = text.format(1, 2) + text.format(2, 2) + "     tx_prio0_pause: 100000\n"
    (line,) = (line for line in diagnose(made(), recorded=evidence(new)).not_measured if "pause" in line)
    assert line == "pause-frames: counters of pause frames that were not read: tx_prio0_pause: in 1 of 2 texts"
    cause = found(evidence(new.replace("pause: 2", "pause: 1", 1)))["pause-frames"]
    assert cause.evidence == "rx_prio0_pause 1 (ethtool -S)" and "tx_prio0_pause: in 1 of 2 texts" in cause.not_measured
