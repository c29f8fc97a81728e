"""Texts of pcm-iio and pcm-memory, as PCM 202302 and 202604 write them: means over samples, and errors with their lines."""

import pytest

from windtunnel.errors import UserError
from windtunnel.exchange.recorded import pcm_iio, pcm_memory, pcm_pcie, read_recorded
from windtunnel.exchange.recorded.pcm_samples import CUT

IIO = "Socket,Name,Part,IB write,IB read,OB read,OB write,IOTLB Lookup,IOTLB Miss\n"
IIO_SAMPLE = "Socket0,IIO Stack 1 - PCIe0,Part0 (1st x16/x8/x4),100,50,0,7,900,45\nSocket0,IIO Stack 1 - PCIe0,Part1 (2nd x4),2,1,0,0\n"
MEMORY = """ Intel(r) Performance Counter Monitor: Memory Bandwidth Monitoring Utility

,,SKT0,SKT0,SKT0,SKT1,SKT1,SKT1,System,System,System
Date,Time,Mem Read (MB/s),Mem Write (MB/s),Memory (MB/s),Mem Read (MB/s),Mem Write (MB/s),Memory (MB/s),Read,Write,Memory
2026-11-29,10:00:00.125,   1000.00, 500.00,1500.00,    ,,0.00,   1000.00,    500.00,   1500.00
2026-11-29,10:00:01.125,   3000.00, 700.00,3700.00,    ,,0.00,   3000.00,    700.00,   3700.00
Cleaning up
"""


def of_text(tmp_path, text):
    (tmp_path / "text").write_text(text)
    return read_recorded(tmp_path / "text")


def test_pcm_iio_has_each_event_by_part(tmp_path):
    found = of_text(tmp_path, IIO + IIO_SAMPLE + IIO + IIO_SAMPLE.replace("100,50", "300,50"))
    assert found.tool == pcm_iio.TOOL and found.value("IB write") == 202 and found.value(pcm_iio.MISSES) == 45
    (written,) = found.counted(["IB write"])
    assert written.unit == "bytes/s" and list(written.counts.values()) == [200, 2]


def test_pcm_memory_has_the_sums_of_the_host_and_of_each_socket(tmp_path):
    found = of_text(tmp_path, MEMORY)
    assert found.tool == pcm_memory.TOOL
    assert (found.value(pcm_memory.READ), found.value(pcm_memory.WRITTEN)) == (2000, 600)
    assert found.value("SKT0 Mem Write (MB/s)") == 600 and found.value("SKT1 Mem Read (MB/s)") is None


def test_a_sample_of_pcm_memory_that_was_cut_is_left_out(tmp_path):
    whole = MEMORY.removesuffix("Cleaning up\n")
    found = of_text(
        tmp_path, whole + "2026-11-29,10:00:02.125,   9000.00, 500.00,9500.00,    ,,0.00,   9000.00,    500.00,   9"
    )
    assert found.value(pcm_memory.READ) == 2000
    assert {reading.words for reading in found.readings} == {CUT}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (IIO, "no stack follows the head of pcm-iio"),
        (IIO.replace("OB read", "IB read") + IIO_SAMPLE, ":1: the head of pcm-iio names IB read twice"),
        (IIO + IIO_SAMPLE.replace("100", "-1"), ':2: IB write: "-1" is not a count'),
        (IIO + "Socket0,IIO Stack 1\n", ":2: 2 cells in a table of 9"),
        (MEMORY.replace("1500.00\n", "1500.00,1\n"), ":5: 12 cells in a table of 11"),
        (MEMORY + MEMORY.replace("SKT0,SKT0,SKT0,", "").replace("Mem Read (MB/s),Mem Write (MB/s),Memory (MB/s),", "", 1), ":11: another head"),
        (MEMORY + MEMORY.replace("SKT0,SKT0,SKT0,SKT1,SKT1,SKT1", "SKT1,SKT1,SKT1,SKT0,SKT0,SKT0"), ":11: another head"),
        (MEMORY.replace("3000.00,    700", "x,    700"), ':6: System Read: "x" is not a number of MB/s'),
        ("\n".join(MEMORY.splitlines()[:5]), "no whole sample follows the head of pcm-memory"),
        ("\n".join(MEMORY.splitlines()[:4]), "no whole sample follows the head of pcm-memory"),
    ],
)  # fmt: skip
def test_a_damaged_text_is_refused_with_its_line(tmp_path, text, words):
    with pytest.raises(UserError) as refused:
        of_text(tmp_path, text)
    assert words in refused.value.message and refused.value.remedy


TWO = "Socket0,IIO Stack 1 - PCIe0,Part0 (1st x16/x8/x4),300,50,0,7,900,45\n" + IIO_SAMPLE.splitlines(keepends=True)[1]
PCIE = "Skt,PCIRdCur,ItoM\n0,100,5\n1,300,5\n"


@pytest.mark.parametrize("rest", ["", IIO, IIO + TWO[:-2], IIO + TWO[:90]])
def test_a_last_sample_of_pcm_iio_that_was_cut_is_left_out_and_said(tmp_path, rest):
    [written] = of_text(tmp_path, IIO + IIO_SAMPLE + rest).counted(["IB write"])
    assert written.value == 102 and written.words == ("the last sample was cut, and is left out" if rest else "")


@pytest.mark.parametrize(
    "rest", ["Skt,PCIRdCur,ItoM\n", "Skt,PCIRdCur,ItoM\n0,100,5\n", "Skt,PCIRdCur,ItoM\n0,100,5\n1,30"]
)
def test_a_last_sample_of_pcm_pcie_that_was_cut_is_left_out_and_said(tmp_path, rest):
    text = PCIE + PCIE + rest
    recorded = of_text(tmp_path, text)
    assert recorded.value("PCIRdCur (Total)") == 800 and recorded.readings[0].words.startswith(
        "the last sample was cut"
    )
    assert pcm_pcie.seconds(pcm_pcie.whole(text.split("\n")).lines) == 2


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (PCIE[:-1], ":3: the text ends within a line, and so within its first sample"),
        (
            PCIE + PCIE.replace("1,300,5\n", "") + PCIE,
            ":4: the sample that begins here has other rows than the first one",
        ),
        (PCIE + PCIE + "2,300,5\n", ":4: the sample that begins here has other rows than the first one"),
        (IIO + IIO_SAMPLE + IIO + TWO.replace("Socket0", "Socket1"), ":4: the sample that begins here has other rows"),
    ],
)
def test_samples_that_are_not_of_the_same_rows_are_refused(tmp_path, text, words):
    with pytest.raises(UserError) as refused:
        of_text(tmp_path, text)
    assert words in refused.value.message and refused.value.remedy
