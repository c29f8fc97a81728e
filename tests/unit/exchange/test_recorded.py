"""Texts of perf stat, pcm-pcie and ethtool: what they counted, and clear errors for any other text."""

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windtunnel.errors import UserError
from windtunnel.exchange import recorded
from windtunnel.exchange.recorded import ethtool, pcm_pcie, perf_stat, read_recorded, readers
from windtunnel.exchange.source import MOST_LINE

PERF = """# started on Mon Nov 23 10:00:00 2026

1200,,LLC-loads,1000000000,100.00,,
132,,LLC-load-misses,500000000,50.00,11.00,of all LL-cache accesses
<not supported>,,LLC-stores,0,100.00,,
2000.12,msec,task-clock,2000120000,100.00,2.000,CPUs utilized
5,,context-switches:u,2000120000,100.00,2.500,/sec
"""
INTERVALS = """     1.000123456,100,,cycles,900,100.00,,
     1.000123456,<not counted>,,branches,0,0.00,,
     2.000234567,300,,cycles,900,100.00,,
     2.000234567,7,,branches,900,100.00,,
"""
PCM = """Processor Counter Monitor: PCIe Bandwidth Monitoring Utility
Skt,PCIRdCur,ItoM,ItoMCacheNear,PCIe Rd (B),PCIe Wr (B)
0,100,50,10,6400,3840(Total)
0,10,40,9,640,3136(Miss)
0,90,10,1,5760,704(Hit)
1,0,0,0,0,0(Total)
1,0,0,0,0,0(Miss)
1,0,0,0,0,0(Hit)
Skt,PCIRdCur,ItoM,ItoMCacheNear,PCIe Rd (B),PCIe Wr (B)
0,100,50,10,6400,3840(Total)
0,0,0,0,0,0(Miss)
0,0,0,0,0,0(Hit)
1,0,0,0,0,0(Total)
1,0,0,0,0,0(Miss)
1,0,0,0,0,0(Hit)
"""
PCM_LAST = "1,0,0,0,0,0(Hit)\n"
ETHTOOL = "NIC statistics:\n     rx_packets: 12\n     rx_prio0_pause: 3\n     rx[0]: packets: 4\n"
TWICE = ETHTOOL + "     rx_prio0_pause: 0\n"
OTHER = ETHTOOL.replace("rx[0]", "rx-0")
KERNELS = "Pause parameters for {}:\nRX:\t\ton\nStatistics:\n  rx_pause_frames: {}\n"


def values(reader, text):
    found, faults = reader.readings(text.split("\n"))
    assert faults == []
    return {each.name: each for each in found}


def faults(reader, text):
    return [(fault.line, fault.what) for fault in reader.readings(text.split("\n"))[1]]


def test_perf_stat():
    found = values(perf_stat, PERF)
    assert found["LLC-loads"].value == 1200 and found["LLC-loads"].words == ""
    assert found["LLC-load-misses"].value == 132
    assert found["LLC-load-misses"].words == "counted in 50% of the time, and scaled by perf"
    assert found["LLC-stores"].value is None and found["LLC-stores"].words == "perf says: not supported"
    assert (found["task-clock"].value, found["task-clock"].unit, found["task-clock"].line) == (2000.12, "msec", 6)
    assert found["context-switches"].words == "without the kernel's part"


def test_perf_stat_of_intervals_is_added_up():
    found = values(perf_stat, INTERVALS)
    assert found["cycles"].value == 400
    assert found["branches"].value == 7 and found["branches"].words == "not counted in 1 of 2 rows"
    assert found["branches"].counts == {"2.000234567": 7} and found["cycles"].counts.keys() == {
        "1.000123456",
        "2.000234567",
    }


@pytest.mark.parametrize(
    "row",
    [
        "CPU3,12,,cycles,900,100.00,,",
        "S0,2,12,,cycles,900,100.00,,",
        "S0-D0-C1,2,12,,cycles,900,100.00,,",
        "dpdk-worker1-4711,12,,cycles,900,100.00,,",
        "     1.000000000,CPU3,12,,cycles,900,100.00,,",
        "12;;cycles;900;100.00;;",
        "12,,cycles,900,100.00",
        "12,,cycles,5.13%,900,100.00,,",  # -r
        "12,,cycles,/machine.slice,900,100.00,,",  # -G
        "12,,cycles,/machine.slice,5.13%,900,100.00,,",
        "12;;cycles;900;99,87;1,5;GHz",
        '{"counter-value" : "12.000000", "unit" : "", "event" : "cycles", "event-runtime" : 900, "pcnt-running" : 100.00}',
        '{"interval" : 1.000123, "counter-value" : "12.000000", "unit" : "", "event" : "cycles", "event-runtime" : 900, "pcnt-running" : 99.87}',
        "     1.000000000,12,,cycles,900,100.00,,\n         summary,12,,cycles,900,100.00,,",
    ],
)
def test_rows_of_other_shapes(row):
    assert values(perf_stat, row)["cycles"].value == 12


def test_terms_of_an_event_are_no_cells():
    found = values(perf_stat, "777,,cpu/event=0x2e,umask=0x41/,900,100.00,,\n7,,cpu_core/cycles/,900,100.00,,\n")
    assert {name: each.value for name, each in found.items()} == {
        "cpu/event=0x2e,umask=0x41/": 777,
        "cycles": 7,
    }


@pytest.mark.parametrize(
    "row",
    [
        "12,34,msec,task-clock,900,100.00,,",  # 12.34 ms
        "12,,cycles,900,100,00,,",
        "12,,cycles,900,99,87,,",
        "     1,000123456,12,,cycles,900,100,00,,",
    ],
)
def test_a_decimal_comma_among_commas_is_named(row):
    ((fault, *_), _) = (perf_stat.readings([row])[1], None)
    assert "decimal comma" in fault.what and fault.line == 1 and "LC_ALL=C" in fault.remedy


@pytest.mark.parametrize(
    ("row", "name", "unit"),
    [
        ("cycles      user.slice", "cycles", ""),  # -G
        ("cycles      /a-1", "cycles", ""),
        ("cycles [cpu_core]", "cycles", ""),  # a hybrid processor
        ("cycles [cpu_core]      user.slice", "cycles", ""),
        ("cycles", "cycles", ""),
        ("Cycles uncore_clock/clockticks/", "uncore_clock/clockticks/", "Cycles"),
        ("Joules power/energy-pkg/      user.slice", "power/energy-pkg/", "Joules"),
    ],
)
def test_a_word_behind_the_event_of_the_table_is_no_event(row, name, unit):
    (found,) = values(perf_stat, f" Performance counter stats for 'x':\n\n    12,345      {row}\n").values()
    assert (found.name, found.value, found.unit) == (name, 12345, unit)


def test_a_row_without_a_time_is_read_if_its_event_has_no_intervals():
    found = values(perf_stat, INTERVALS + "9,,LLC-load-misses,900,100.00,,\n400,,cycles:u,900,100.00,,\n")
    assert found["LLC-load-misses"].value == 9
    assert found["cycles"].value == 400, "the summary of the intervals is left out"


def test_rows_of_one_event_in_two_units_are_a_fault():
    text = "2,GB,mem/x/,1000,100.00,,\n<not counted>,,mem/x/,0,0.00,,\n3,MB,mem/x/,1000,100.00,,\n"
    assert faults(perf_stat, text) == [(3, 'mem/x/: its unit is "MB", and "GB" in a row before')]


KERNEL_LEFT_OUT, USER_LEFT_OUT = "without the kernel's part", "without the part of user space"


@pytest.mark.parametrize(
    ("events", "value", "words"),
    [
        ({"cycles:u": 100, "cycles:k": 900}, 1000, ""),
        ({"cycles": 1000, "cycles:u": 100}, 1000, ""),
        ({"cycles:u": 100, "cycles:k": 900, "cycles": 1001}, 1001, ""),
        ({"cpu/cycles/u": 100, "cycles:kpp": 900}, 1000, ""),
        ({"cycles:uk": 1000, "cycles:k": 900}, 1000, ""),
        ({"cpu_core/cycles/u": 1, "cpu_core/cycles/k": 2, "cpu_atom/cycles/": 4}, 7, ""),
        ({"cpu/cycles/": 1000, "cycles": 1002}, 1001, "the mean of 2 counts at one place"),
        ({"cycles:u": 100}, 100, KERNEL_LEFT_OUT),
        ({"cycles:k": 900}, 900, USER_LEFT_OUT),
        ({"cycles:G": 900}, 900, "counted as :G alone"),
        ({"cycles:u": 100, "cycles:G": 900}, None, "counted as :u and :G, which may overlap and are not added"),
    ],
)
def test_a_modifier_names_a_part_of_the_event(events, value, words):
    found = values(perf_stat, "".join(f"{count},,{event},900,100.00,,\n" for event, count in events.items()))
    assert found.keys() == {"cycles"}
    assert found["cycles"].value == value and found["cycles"].words.startswith(words)
    assert words or found["cycles"].words == ""


def test_what_was_cut_is_told_of_the_event_that_lacks_it():
    row = "{}.000000000,1000,,{},900,100.00,,\n"
    whole = "".join(row.format(second, event) for second in (1, 2) for event in ("cycles", "instructions"))
    assert {reading.words for reading in values(perf_stat, whole).values()} == {""}
    lacking = values(perf_stat, whole.removesuffix(row.format(2, "instructions")))
    assert lacking["instructions"].words == "in 1 of 2 intervals" and lacking["cycles"].words == ""
    cut = values(perf_stat, whole.removesuffix("00.00,,\n"))
    assert "nothing ends its last row, which may be cut" in cut["instructions"].words and cut["cycles"].words == ""


def test_a_part_is_not_compared_with_a_whole():
    row = "{},,{},900,100.00,,\n"
    found = values(perf_stat, row.format(5, "LLC-loads:u") + row.format("<not counted>", "LLC-loads:k"))
    assert found["LLC-loads"].words == f"{KERNEL_LEFT_OUT}; not counted in 1 of 2 rows"
    assert found["LLC-loads"].counts == {":u": 5}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("100,,cycles,9,100.00,,\n\n900,,cycles,9,100.00,,\n", "the mean of 2 counts at one place"),
        (INTERVALS + INTERVALS, "of several runs in one text"),
        ("# started on Mon\n100,,cycles,9,100.00,,\n# started on Tue\nx-2,5,,cycles,9,100.00,,\n", "of several runs"),
        (" Performance counter stats for 'x':\n\n  5   cycles\n" * 2, "of several runs in one text"),
    ],
)
def test_several_runs_in_one_text_are_said(text, words):
    assert words in values(perf_stat, text)["cycles"].words


def test_a_gauge_may_fall_while_the_traffic_rises():
    text = "NIC statistics:\n     rx_pause_frames: {}\n     be_on_die_temperature: {}\n"
    found = values(ethtool, text.format(0, 54) + text.format(4000, 53))
    assert found["rx_pause_frames"].value == 4000
    assert found["be_on_die_temperature"].value is None and "fell from 54 to 53" in found["be_on_die_temperature"].words


NO_ROW, NO_COUNT = "no row of perf stat", "not a count, a time in ns and a percentage"


@pytest.mark.parametrize(
    ("reader", "text", "line", "what"),
    [
        (perf_stat, PERF + "hello\n", 8, NO_ROW),
        (perf_stat, PERF + "-5,,cycles,900,100.00,,\n", 8, NO_ROW),
        (perf_stat, PERF + "1e400,,cycles,900,100.00,,\n", 8, NO_ROW),
        (perf_stat, PERF + "5_000,,cycles,900,100.00,,\n", 8, NO_ROW),
        (perf_stat, PERF + "5,,cycles,900,250.00,,\n", 8, NO_COUNT),
        (perf_stat, PERF + "5,,cycles,x,100.00,,\n", 8, NO_COUNT),
        (pcm_pcie, PCM.removesuffix(PCM_LAST) + "1,1,2(Hit)\n", 15, "3 cells in a table of 6"),
        (pcm_pcie, PCM.removesuffix(PCM_LAST) + "1,1,x,3,4,5(Hit)\n", 15, 'ItoM: "x" is not a count'),
        (pcm_pcie, "Skt,ItoM,ItoM\n0,100,200\n", 1, "the head of pcm-pcie names ItoM twice"),
        (perf_stat, " Performance counter stats for 'x':\n  5   cycles\nCPU0   12,3x   cycles\n", 3, NO_ROW),
        (perf_stat, " Performance counter stats for 'x':\n  5   cycles\nS0-D0-C1  2  12,3x  cycles\n", 3, NO_ROW),
        (pcm_pcie, "Skt,PCIRdCur\n", 1, "no socket follows the head of pcm-pcie"),
        (ethtool, TWICE, 5, "rx_prio0_pause is given twice, first in line 3"),
        (
            ethtool,
            ETHTOOL + OTHER,
            8,
            "rx-0: packets is not in the text before, which has rx[0]: packets: another interface",
        ),
        (ethtool, KERNELS.format("eth0", 1) + KERNELS.format("eth1", 2), 5, "another interface"),
    ],
)
def test_a_row_that_is_none_is_named_with_its_line(reader, text, line, what):
    ((number, words),) = faults(reader, text)
    assert number == line and what in words


def test_a_further_metric_of_an_event_is_no_event():
    assert values(perf_stat, "7,,cycles,900,100.00,1.2,GHz\n,,,900,100.00,0.5,insn per cycle\n").keys() == {"cycles"}


def test_pcm_pcie_sums_over_sockets_and_samples():
    found = values(pcm_pcie, PCM)
    assert found["ItoM (Total)"].value == 100 and found["ItoM (Miss)"].value == 40
    assert found["PCIe Wr (B) (Total)"].unit == "bytes" and found["ItoM (Miss)"].unit == "lines"
    assert found["ItoM (Miss)"].line == 4


def test_ethtool_since_the_driver_began_or_between_two_texts():
    found = values(ethtool, ETHTOOL)
    assert found["rx_prio0_pause"].value == 3 and found["rx_prio0_pause"].words == ethtool.SINCE
    later = values(ethtool, ETHTOOL + ETHTOOL.replace("pause: 3", "pause: 10"))
    assert later["rx_prio0_pause"].value == 7 and later["rx_prio0_pause"].words == ""


ANEW = "the driver was loaded again between two texts: rx_packets is less in line {} than in line {}"
ONE_TEXT = "NIC statistics:\n     rx_packets: {}\n     rx_prio0_pause: {}\n"


@pytest.mark.parametrize(
    ("counts", "value", "words"),
    [
        (((100, 5), (900, 5), (950, 12)), 7, ""),
        (((100, 50000), (0, 0), (500000, 50000)), None, "it fell from 50000 to 0"),
        (((100, 5), (3, 7)), None, ANEW.format(5, 2)),
        (((100, 5), (200, 6), (3, 7), (900, 9)), None, ANEW.format(8, 5)),
        (((100, 50), (900, 5), (1000, 60)), None, "it fell from 50 to 5"),
    ],
)
def test_each_text_of_ethtool_is_compared_with_the_one_before(counts, value, words):
    frames = values(ethtool, "".join(ONE_TEXT.format(*each) for each in counts))["rx_prio0_pause"]
    assert frames.value == value and frames.words.startswith(words) and bool(words) == bool(frames.words)


def test_a_counter_that_a_text_lacks_is_not_read():
    queue = "     tx_prio0_pause: 100000\n"
    for text in (ETHTOOL + ETHTOOL + queue, ETHTOOL + queue + ETHTOOL):
        found = values(ethtool, text)
        assert (found["tx_prio0_pause"].value, found["tx_prio0_pause"].words) == (None, "in 1 of 2 texts")
        assert found["rx_prio0_pause"].value == 0


def test_the_two_forms_of_ethtool_are_texts_of_their_own():
    both = ETHTOOL.replace("prio0_pause", "pause_frames") + KERNELS.format("eth0", 4)
    found, wrong = ethtool.readings((both + both.replace("frames: 4", "frames: 9")).splitlines())
    assert wrong == [] and [each.value for each in found if each.name == "rx_pause_frames"] == [0, 5]


def test_names_that_a_driver_has_for_each_queue_are_not_read():
    """vmxnet3."""
    queues = ETHTOOL + "     Tx Queue#: 0\n       ucast pkts tx: 7\n     Tx Queue#: 1\n       ucast pkts tx: 9\n"
    for text in (queues, queues + queues):
        found = values(ethtool, text)
        assert (found["ucast pkts tx"].value, found["ucast pkts tx"].words) == (None, "given several times in one text")
        assert found["rx_prio0_pause"].value is not None


def test_a_file_is_told_by_what_is_in_it(tmp_path):
    for text, tool in (
        (PERF, "perf stat"),
        (INTERVALS, "perf stat"),
        (PCM, "pcm-pcie"),
        (ETHTOOL, "ethtool -S"),
    ):
        (file := tmp_path / "f").write_text(text)
        assert read_recorded(file).tool == tool


@pytest.mark.parametrize("text", ["", "hello\n", "a,b,c\n", "\x00\n", "{}\n"])
def test_another_text_is_refused(tmp_path, text):
    (file := tmp_path / "f").write_text(text)
    with pytest.raises(UserError) as refused:
        read_recorded(file)
    assert str(file) in refused.value.message


@pytest.mark.parametrize("of_parts", [[], ["mine"]])
def test_readers_of_parts_are_asked_first_and_named(monkeypatch, tmp_path, of_parts):
    parts = [
        SimpleNamespace(TOOL=name, is_one=lambda lines: "mine" in lines, readings=lambda lines: ([], []))
        for name in of_parts
    ]
    monkeypatch.setattr(recorded, "part_modules", lambda name: parts)
    (file := tmp_path / "f").write_text(PERF + "mine\n")
    if of_parts:
        assert read_recorded(file).tool == "mine"
    file.write_text("hello\n")
    with pytest.raises(UserError) as refused:
        read_recorded(file)
    assert refused.value.remedy.endswith(", or ".join(("`ethtool -S`", *of_parts)))


def test_all_faults_are_named_with_their_lines(tmp_path):
    (file := tmp_path / "f").write_text(PERF + "hello\nworld\n")
    with pytest.raises(UserError, match="2 faults") as refused:
        read_recorded(file)
    assert f"{file}:8: " in refused.value.message and f"{file}:9: " in refused.value.message


def test_the_difference_of_two_counters_of_64_bits_is_exact():
    texts = [f"NIC statistics:\n     rx_packets: {2**64 - 616 + more}\n" for more in (0, 615)]
    assert values(ethtool, "".join(texts))["rx_packets"].value == 615


@given(st.text(max_size=400))
def test_no_text_is_more_than_refused(text):
    for reader in readers():
        for lead in ("", "Skt,a,b\n", "NIC statistics:\n", "1,,cycles,1,100.00\n", "----begin all measurement----\n"):
            lines = (lead + text).split("\n")
            if reader.is_one(lines):
                found, wrong = reader.readings(lines)
                assert all(1 <= each.line <= len(lines) and (each.value is None or each.value >= 0) for each in found)
                assert all(0 <= fault.line <= len(lines) for fault in wrong)


@given(
    st.dictionaries(st.from_regex(r"[a-zA-Z][a-zA-Z0-9-]{1,20}", fullmatch=True), st.integers(0, 2**63), min_size=1),
    st.sampled_from(perf_stat.SEPARATORS),
)
def test_what_perf_writes_is_read(counts, separator):
    rows = "".join(separator.join((str(n), "", name, "5", "100.00", "", "")) + "\n" for name, n in counts.items())
    found = values(perf_stat, rows)
    assert {name: each.value for name, each in found.items()} == {name: float(n) for name, n in counts.items()}


def test_a_line_of_no_tool_is_too_long_before_it_is_cut(tmp_path, monkeypatch):
    """A table may have no million columns."""
    cut, cells_of = [], pcm_pcie.cells_of
    monkeypatch.setattr(pcm_pcie, "cells_of", lambda line: cut.append(line) or cells_of(line))
    head = "Skt,PCIe Rd (B),PCIe Wr (B)" + ",ItoM" * MOST_LINE
    (tmp_path / "pcm.csv").write_text(f"{head}\n0,1,1{',1' * MOST_LINE}\n")
    with pytest.raises(UserError, match="longer than 65,536 characters"):
        read_recorded(tmp_path / "pcm.csv")
    assert cut == []
