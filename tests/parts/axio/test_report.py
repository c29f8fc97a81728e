"""report.rpt of Axio's monitoring: what it counted, and clear errors for lines that are not understood."""

import pytest

from windtunnel.exchange.recorded import read_recorded
from windtunnel.parts.axio import report

REPORT = """--------------------begin all measurement--------------------
--------------------mem performance--------------------
metric       bandwidth(MB/s)
Node0_rd_bw:  1234.500000
PCIe_rd(wr)_tput: bytes PCIe devices requested to read from(write to) mem through DMA
PCIe_wr_tput:  97.123 Gbps
Socket 1
IO Write Miss Rate: 0.89
--------------------llc performance--------------------
LLC-loads: 1200
LLC-load-misses: 132
LLC-load-misses-rate: 0.11
LLC-stores:
LLC-store-misses-rate: -nan
"""


def values(text):
    found, faults = report.readings(text.splitlines())
    assert faults == []
    return {each.name: each for each in found}


def test_it_is_told_by_what_is_in_it(tmp_path):
    (file := tmp_path / "f").write_text(REPORT)
    assert read_recorded(file).tool == "Axio's report.rpt"


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        (REPORT + "LLC-loads: 7\n", 15, "LLC-loads is given twice, first in line 10"),
        (REPORT + "LLC-loads2: 1200 1300\n", 15, "LLC-loads2 has 2 numbers"),
        (REPORT + "LLC-loads2: about 5\n", 15, 'LLC-loads2: "about" is not a number'),
        (REPORT + "2 loads: 5\n", 15, '"2 loads" is not a name'),
        (REPORT + "LLC-loads:u: 5\n", 15, 'LLC-loads: "u:" is not a number'),
        (REPORT + "LLC-loads2: 1.2.3\n", 15, 'LLC-loads2: "1.2.3" is not a number'),
    ],
)
def test_a_row_that_is_none_is_named_with_its_line(text, line, what):
    (fault,) = report.readings(text.splitlines())[1]
    assert fault.line == line and what in fault.what


def test_its_values():
    found = values(REPORT)
    assert found["LLC-load-misses-rate"].value == 0.11
    assert found["Socket 1 IO Write Miss Rate"].value == 0.89
    assert (found["PCIe_wr_tput"].value, found["PCIe_wr_tput"].unit) == (97.123, "Gbps")
    assert found["LLC-stores"].value is None and found["LLC-store-misses-rate"].value is None
    assert "PCIe_rd(wr)_tput" not in found


@pytest.mark.parametrize(
    ("line", "name", "value", "unit"),
    [
        ("IOTLB/miss: 5", "IOTLB/miss", 5, ""),
        ("very.dotted: 3", "very.dotted", 3, ""),
        ("LLC-loads2: 12 per sec now", "LLC-loads2", 12, "per sec now"),
        ("LLC-loads2:  .5", "LLC-loads2", 0.5, ""),
        ("core 20 : 12.50%", "core 20", 12.5, "%"),  # cpu_util.py
        ("Socket 0 IO Write Miss Rate: 0.5", "Socket 0 IO Write Miss Rate", 0.5, ""),
    ],
)
def test_each_value_of_axios_report_is_read(line, name, value, unit):
    read = values(REPORT + line + "\n")[name]
    assert (read.value, read.unit, read.line) == (value, unit, 15)


def test_a_line_of_a_socket_without_a_number_is_no_head():
    text = "----begin all measurement----\nSocket 0:\nA: 1\nSocket 1 IO Write Miss Rate:\nB: 2\nSocket 2 ==\nB: 3\n"
    read = values(text)
    assert {name: each.value for name, each in read.items()} == {
        "Socket 0 A": 1,
        "Socket 1 IO Write Miss Rate": None,
        "Socket 0 B": 2,
        "Socket 2 B": 3,
    }


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("<not counted>", "the report has <not counted>"),
        ("<not supported>", "the report has <not supported>"),
        ("<not", "the report has <not"),  # awk's first word
        (" Gbps", "the report has Gbps"),  # the number is empty
        ("NaN", "the report has no number"),
    ],
)
def test_a_value_that_axios_report_lacks_is_said(text, words):
    read = values(f"{REPORT}LLC-loads2: {text}\n")["LLC-loads2"]
    assert (read.value, read.words) == (None, words)


@pytest.mark.parametrize("line", ["a:" + " " * 200_000 + "c d e", "-" * 200_000 + "x", "a:" + "1" * 200_000 + "x"])
def test_a_line_that_others_chose_is_read_once(line):
    """Not once for each of its characters: this would not end."""
    assert report.readings([line])[0] == []
