"""The output of `perf iostat` and `pcm-pcie` in the forms that users have: the bytes a second that it says, or why it says none."""

import pytest
from from_the_world import FILES

from windtunnel.errors import UserError
from windtunnel.parts.pcie.measured import read_measured

HEAD = "   port             Inbound Read(MB)    Inbound Write(MB)    Outbound Read(MB)   Outbound Write(MB)\n"
BOTH = (640e6, 1280e6)


def read(tmp_path, text):
    (tmp_path / "text").write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_measured(tmp_path / "text")


@pytest.mark.parametrize("name", ["iostat-ok.txt", "iostat-de.txt", "pcm-B.csv", "pcm-eB.csv"])
def test_files_of_users(name):
    found = read_measured(FILES / name)
    assert (found.inbound_read, found.inbound_write) == BOTH


def iostat(rows, seconds="10.000000000", head=HEAD):
    return f"\n Performance counter stats for 'system wide':\n\n{head}{rows}\n      {seconds} seconds time elapsed\n\n"


INTERVALS = (
    "#          time    port          Inbound Read(MB)    Inbound Write(MB)    Outbound Read(MB)   Outbound Write(MB)\n"
    "     5.000000000 0000:3a     3000    6000      0    112\n"
    "     5.000000000 0000:5d      200     400      0      0\n"
    "    10.000000000 0000:3a     3200    6400      0    112\n"
    "    10.000000000 0000:5d        0       0      0      0\n"
)
ROW = "    15.000000000 0000:3a     9000    9000      0    112\n"
PCM = "Skt,PCIRdCur,ItoM,PCIe Rd (B),PCIe Wr (B)\n"
SAMPLE = "0,1,1,640000000,1280000000\n1,0,0,0,0\n"


@pytest.mark.parametrize(
    "text",
    [
        iostat("0000:3a      6400    12800      0    112\n"),
        iostat("0000:3a      6,400    12,800      0    112\n"),
        iostat("0000:3a      6.400    12.800      0    112\n", "10,000000000"),
        iostat("10000:e2     6400    12800      0    112\n"),  # a domain of VMD
        iostat("0000:3a      6400    12800      0    112\n").replace("\n", "\r\n"),
        iostat("0000:3a      6400    12800      0    112\n").encode("utf-16"),
        INTERVALS,
        INTERVALS + ROW,  # it was stopped between two rows
        INTERVALS + ROW + "    15.000000000 0000:5d      20",  # and within one
        INTERVALS + "    15.0",
        INTERVALS + "    11.000000000 0000:3a  640  1280  0  0\n    11.000000000 0000:5d  0  0  0  0\n",  # the end of the program
        ("time,port,Inbound Read(MB),Inbound Write(MB),Outbound Read(MB),Outbound Write(MB),\n"
        "    10.000000000,0000:3a,6400,12800,0,112,\n    20.000000000,0000:3a,6400,12800,0,112,\n"),
        "port;Inbound Read(MB);Inbound Write(MB);Outbound Read(MB);Outbound Write(MB);\n".replace("port", "time;port")
        + "    10,000000000;0000:3a;6400;12800;0;112;\n    20,000000000;0000:3a;6400;12800;0;112;\n",
        PCM + SAMPLE,
        PCM + SAMPLE + PCM + SAMPLE,
        PCM + SAMPLE + SAMPLE,  # the heads between the samples were removed
        PCM + SAMPLE + PCM,  # it was stopped
        "Update every 2 seconds\n" + PCM + SAMPLE.replace("640", "1280").replace(",1280000000\n", ",2560000000\n"),
        "Update every 0.5 seconds\n" + PCM + "0,1,1,320000000,640000000(Total)\n0,1,1,9,9(Miss)\n0,0,0,9,9(Hit)\n",
        " Intel(r) Performance Counter Monitor: PCIe Bandwidth Monitoring Utility \n\n" + (PCM + SAMPLE).replace("\n", "\r\n"),
    ],
)  # fmt: skip
def test_each_form_is_read(tmp_path, text):
    found = read(tmp_path, text)
    assert (found.inbound_read, found.inbound_write) == BOTH


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (iostat("0000:3a      6400,5    12800      0    112\n"), ':5: "6400,5" is not a count'),
        (iostat("0000:3a      <not counted>    12800      0    112\n"), "5 values of root port 0000:3a, not 4"),
        ("port,Inbound Read(MB),Inbound Write(MB),Outbound Read(MB),Outbound Write(MB),\n0000:3a,1,2,0,1,\n", "no line with the seconds"),
        ("\n".join(INTERVALS.splitlines()[:2]) + "\n", ":2: one interval alone: whether it is whole cannot be told"),
        ("\n".join(INTERVALS.splitlines()[:3])[:-2], ":2: one interval alone: whether it is whole cannot be told"),
        (INTERVALS + INTERVALS, ":7: the interval that begins here is of another recording"),
        (INTERVALS + INTERVALS.replace(" 5.0", "60.0").replace("10.0", "65.0"), ":7: the interval that begins here is longer than others"),
        (INTERVALS.replace(" 5.0", "60.0").replace("10.0", "65.0"), ":2: the interval that begins here is longer than others"),
        (INTERVALS + "".join(f"{t}.000000000 0000:3a 1 1 1 1\n{t}.000000000 0000:5d 1 1 1 1\n" for t in (20, 25, 35)), ":6: the interval that begins here is longer than others"),
        (INTERVALS + iostat("0000:3a 6200 12400 0 224\n0000:5d 200 400 0 0\n"), ":10: the text has tables of a recording with -I and others"),
        ("Update every 1 seconds\n" + PCM + SAMPLE + "Update every 2 seconds\n" + PCM + SAMPLE, ":5: recordings with samples of unlike lengths"),
        (INTERVALS + INTERVALS.splitlines()[2].replace(" 5.", "15.") + "\n" + ROW.replace("15.", "20."), ":6: the interval that begins here has other root"),
        (INTERVALS + INTERVALS.splitlines()[4] + "\n", ":6: root port 0000:5d stands twice"),
        (iostat("0000:3a      6400    12800      0    112\n") + HEAD + "0000:3a   1   1   0   1\n", "no line with the seconds"),
        (PCM + "0,1,1,9,9(Miss)\n", "no row of pcm-pcie has PCIe Rd (B) of all accesses"),
        ("Skt,PCIRdCur,ItoM\n0,1,1\n", "pcm-pcie without -B"),
        ("Skt |  PCIe Rd (B)  |  PCIe Wr (B)  \n 0      640 M     1280 M  \n", "its numbers are rounded"),
        ("|--     Memory Channel Monitoring     --|\n", "the table of pcm-memory"),
        (PCM + "0,1,1,x,5\n", ':2: PCIe Rd (B): "x" is not a count'),
    ],
)  # fmt: skip
def test_what_is_not_understood_is_refused(tmp_path, text, words):
    with pytest.raises(UserError) as refused:
        read(tmp_path, text)
    assert words in refused.value.message and refused.value.remedy
